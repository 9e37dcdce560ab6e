//! The locks that a worker has on the tables it reads. Every reader of a transaction has one on the definition of each table: it keeps the
//! table's name to it, and makes whoever renames, alters or locks the table wait, and behind these all other readers. So workers take
//! them table by table, let go of them where they can, and give way to who has waited for long.

use std::sync::Arc;
use std::time::{Duration, Instant};

use drover_db::{Connection, Stop};
use drover_throttle::Throttle;

use super::catalog::Name;
use super::identity::{Identity, Look};
use super::job::explain;
use super::ranges::{Range, Ranges};
use super::waits::{self, Blockers};
use crate::error::Doing;
use crate::progress::Progress;
use crate::session;
use crate::{Error, Result};

/// A worker's next ranges.
pub(crate) type Group<'a> = Vec<Arc<Range<'a>>>;

/// Tables of fewer bytes are read by the group.
const SMALL: u64 = 64 << 10;

/// Ranges as they are given out: each by itself, or up to `most` of small tables.
pub(crate) fn in_groups(ranges: Vec<Arc<Range<'_>>>, most: usize) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for range in ranges {
        let is_small = |range: &Range<'_>| range.kept().is_empty() && range.weight() < SMALL;
        let takes = |group: &&mut Group<'_>| group.len() < most && group.iter().all(|other| is_small(other));
        match groups.last_mut().filter(takes) {
            Some(group) if is_small(&range) => group.push(range),
            _ => groups.push(vec![range]),
        }
    }
    groups
}

/// How long a worker waits for a table that somebody else has locked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience<'a> {
    /// One attempt, in seconds; the workers' lock_wait_timeout. Who waits for as long for a worker is given way to.
    pub(crate) lock_timeout: u64,
    /// Connections of drover's own, which are in nobody's way.
    pub(crate) own: &'a [u32],
    /// What makes workers wait.
    pub(crate) throttle: &'a Throttle<'a>,
    /// Which tables had the names when the snapshot was taken.
    pub(crate) identity: &'a Identity,
    /// Ends what is waited for.
    pub(crate) stop: &'a Stop,
    pub(crate) progress: &'a Progress,
    /// What is being done, in a word.
    pub(crate) phase: &'static str,
}

/// The longest that tables are held which one look has told to be those of the snapshot, in case they are larger than the server says.
const HELD_AT_MOST: Duration = Duration::from_secs(1);

impl Patience<'_> {
    /// So many times as long as for the snapshot: nobody else waits meanwhile.
    const ATTEMPTS: u64 = 30;

    /// Takes the lock on the definition of a table, and waits for it.
    fn open(self, connection: &mut Connection, range: &Range<'_>) -> Result<()> {
        let (name, begun) = (range.job.name(), Instant::now());
        let longest = self.lock_timeout.max(1) * Self::ATTEMPTS;
        while begun.elapsed() < Duration::from_secs(longest) {
            if self.try_to_open(connection, range)? {
                self.progress.phase(self.phase);
                return Ok(());
            }
            self.progress.phase(&format!("waiting for a lock on {name}"));
        }
        let blockers = Blockers::find(connection, self.own);
        Err(Error::with_hint(
            format!(
                "table {name} was locked for {longest} s after the snapshot was taken; in the way:\n  {}",
                blockers.who
            ),
            format!("{}, and try again; --lock-timeout makes drover wait longer", blockers.way_out),
        ))
    }

    /// Whether it has the lock: once it has waited for long, or lets somebody else go first, it has not.
    fn try_to_open(self, connection: &mut Connection, range: &Range<'_>) -> Result<bool> {
        let name = range.job.name();
        match open(connection, name, "") {
            Err(error) if waits::has_timed_out(&error) => Ok(false),
            Err(error) => Err(error),
            Ok(()) if range.job.plan.is_locked => Ok(true),
            Ok(()) => self.check(connection, &[name]),
        }
    }

    /// Takes the locks of the first tables of `ranges`, up to one that would have to be waited for; tells how many. Who waits for one
    /// while others are held can be ended by the server as one of a deadlock, and with it goes the snapshot.
    fn open_at_once(self, connection: &mut Connection, ranges: &[Arc<Range<'_>>]) -> Result<usize> {
        let mut opened = Vec::new();
        for range in ranges {
            let name = range.job.name();
            match open(connection, name, session::WITHOUT_WAITING) {
                Err(error) if waits::has_timed_out(&error) => break,
                other => other?,
            }
            opened.push(name);
        }
        let are_kept = self.check(connection, &opened)?;
        Ok(if are_kept { opened.len() } else { 0 })
    }

    /// Looks whether tables that are open are those which had these names when the snapshot was taken. Where somebody waits for one of
    /// them it lets go of all: the look would wait behind whoever does, who would wait for the worker. Whether they are open still.
    fn check(self, connection: &mut Connection, names: &[&Name]) -> Result<bool> {
        match self.identity.look(connection, self.stop, names)? {
            Look::Same => Ok(true),
            Look::Other(name) => Err(is_another_table(connection, name)),
            Look::IsWaitedFor => release(connection).map(|()| false),
        }
    }
}

fn open(connection: &mut Connection, name: &Name, how: &str) -> Result<()> {
    let opened = connection.query(format!("{how}SELECT 1 FROM {name} LIMIT 0"));
    opened.map(drop).doing(|| format!("opening table {name}")).map_err(|error| explain(error, name))
}

/// Why a table that has another one's name cannot be read.
fn is_another_table(connection: &mut Connection, name: &Name) -> Error {
    // The server itself tells of a table that is new since then, in better words.
    let opened = connection.query(format!("SELECT 1 FROM {name} LIMIT 1"));
    match opened.doing(|| format!("opening table {name}")) {
        Err(error) => explain(error, name),
        Ok(_) => Error::with_hint(
            format!(
                "table {name} was renamed after the snapshot was taken: it, or a partition of it, is another table now, whose rows \
                 are not what is asked for"
            ),
            "try again, or --resume, at a time when no table is being renamed",
        ),
    }
}

/// Has ranges read one after the other, each while the lock on its table is held.
pub(crate) fn read_all(
    connection: &mut Connection,
    ranges: &[Arc<Range<'_>>],
    patience: Patience<'_>,
    mut read: impl FnMut(&mut Connection, &Range<'_>, &mut Hold<'_>) -> Result<()>,
) -> Result<()> {
    let (mut rest, mut may_wait) = (ranges, ranges.len() == 1);
    while let Some(first) = rest.first() {
        patience.throttle.pass()?;
        let mut read_some = |connection: &mut Connection| {
            let opened = match may_wait {
                true => patience.open(connection, first).map(|()| 1)?,
                false => patience.open_at_once(connection, rest)?,
            };
            let mut hold =
                Hold { patience, since: Instant::now(), looked: Instant::now(), has_let_go: false };
            for (done, range) in rest[..opened].iter().enumerate() {
                if done > 0 && (hold.has_let_go || hold.since.elapsed() > HELD_AT_MOST) {
                    return Ok(done);
                }
                read(connection, range, &mut hold)?;
            }
            Ok(opened)
        };
        // What is locked is in no transaction, and there is nothing to let go of.
        let done = match first.job.plan.is_locked {
            true => read_some(connection)?,
            false => and_let_go(connection, read_some)?,
        };
        rest = &rest[done..];
        may_wait = done == 0 || rest.len() == 1;
    }
    Ok(())
}

/// Tables that are open, one of which is read.
pub(crate) struct Hold<'a> {
    patience: Patience<'a>,
    since: Instant,
    /// When it was last looked whether somebody waits.
    looked: Instant,
    /// Whether the other tables are open no more.
    has_let_go: bool,
}

impl<'a> Hold<'a> {
    pub(crate) fn throttle(&self) -> &'a Throttle<'a> {
        self.patience.throttle
    }

    /// To be called between statements. Waits while a limit is exceeded, and holds nothing meanwhile; also lets go where somebody has
    /// waited for a table for as long as drover itself would. Whoever did goes first, and what became of the table is looked at again.
    pub(crate) fn pass(&mut self, connection: &mut Connection, range: &Range<'_>) -> Result<()> {
        let throttle = self.throttle();
        if range.job.plan.is_locked || !(throttle.has_reason_to_pause() || self.is_waited_for(connection)?) {
            return Ok(throttle.pass()?);
        }
        release(connection)?;
        self.has_let_go = true;
        throttle.pass()?;
        self.patience.open(connection, range)?;
        self.looked = Instant::now();
        Ok(())
    }

    fn is_waited_for(&mut self, connection: &mut Connection) -> Result<bool> {
        let longest = self.patience.lock_timeout.max(1);
        if self.looked.elapsed() < Duration::from_secs(longest) {
            return Ok(false);
        }
        self.looked = Instant::now();
        waits::has_waiter(connection, longest)
    }
}

/// Undoing a savepoint gives back the locks on tables' definitions, so that DDL need not wait until all is read.
pub(crate) fn and_let_go<T>(
    connection: &mut Connection,
    work: impl FnOnce(&mut Connection) -> Result<T>,
) -> Result<T> {
    connection.execute("SAVEPOINT drover").doing(|| "setting a savepoint")?;
    let result = work(connection)?;
    release(connection)?;
    Ok(result)
}

/// Takes a part of what another worker has before it, if there is one to take.
pub(crate) fn take<'r>(connection: &mut Connection, ranges: &Ranges<'r>) -> Result<Option<Arc<Range<'r>>>> {
    match ranges.to_cut() {
        Some(cut) => and_let_go(connection, |connection| ranges.take(connection, cut)),
        None => Ok(None),
    }
}

fn release(connection: &mut Connection) -> Result<()> {
    connection.execute("ROLLBACK TO SAVEPOINT drover").map(drop).doing(|| "undoing a savepoint")
}
