//! One consistent snapshot over all workers: while a short lock holds writers back, each worker begins a transaction and
//! the binary log's position is read; then the lock is released.

mod tidb;

use std::sync::mpsc;
use std::time::{Duration, Instant};

use drover_db::session::Use;
use drover_db::wire::{Batch, Breaker};
use drover_db::{Connection, Vendor, Watched, er};

use super::catalog::Name;
use super::identity::Identity;
use super::lockless;
use super::position::Asks;
use super::waits::{self, Blockers};
use super::wish::{Taken, Wish, ask_for_now, is_refusal, now, receive_now};
use crate::error::Doing;
use crate::session;
use crate::{Error, Result};
use drover_format::manifest::Snapshot;

enum Lock {
    /// MariaDB: commits are held back, reads and uncommitted writes go on.
    BackupStage(Connection),
    /// Everywhere else, if the account may.
    GlobalRead,
    /// Read locks on the tables that will be read.
    Tables,
    /// The account may have none; the server's words.
    Nothing(String),
}

impl Lock {
    fn name(&self) -> &'static str {
        match self {
            Self::BackupStage(_) => "BACKUP STAGE BLOCK_COMMIT",
            Self::GlobalRead => "FLUSH TABLES WITH READ LOCK",
            Self::Tables => "LOCK TABLES … READ",
            Self::Nothing(_) => "no lock",
        }
    }
}

/// Takes the snapshot. `coordinator` holds LOCK INSTANCE FOR BACKUP afterwards, where the server has it. None, and nothing
/// is held, if there are other tables than were listed.
pub(crate) fn take(coordinator: &mut Connection, wish: &Wish<'_>) -> Result<Option<Taken>> {
    if wish.server.is_tidb() {
        return tidb::take(coordinator, wish);
    }
    let mut workers = session::open_many(wish.options, Use::Dump, wish.threads)?;
    let needs_locks = !wish.without_transactions.is_empty();
    let mut table_locks = needs_locks.then(|| session::open(wish.options, Use::Dump)).transpose()?;
    let _watched = table_locks.as_ref().map(|connection| watch(connection, wish)).transpose()?;
    let own = workers.iter().chain(&table_locks).map(Connection::id).chain([coordinator.id()]);
    let own: Vec<_> = own.chain(wish.options.one_server.anchor(&wish.options.address)).collect();
    let wish = &Wish { own: &own, ..*wish };
    session::limit_lock_wait(coordinator, wish.lock_timeout)?;
    let mut warnings: Vec<_> = session::fewer(wish.threads, &workers).into_iter().collect();
    // BLOCK_COMMIT keeps others from locking tables, a global lock waits for those who have: each in turn.
    let tables_first = wish.server.vendor == Vendor::MariaDb && knows_backup_stages(coordinator)?;
    if tables_first {
        lock_tables_of(table_locks.as_mut(), wish)?;
    }
    let asks = Asks::prepare(coordinator, wish.server.vendor, &mut warnings)?;
    let holds_ddl = may_hold_ddl(coordinator)?;
    let Some(lock) = lock(coordinator, wish, &mut warnings)? else { return Ok(None) };
    let refusal = match &lock {
        Lock::Nothing(refusal) => Some(refusal.clone()),
        _ => None,
    };
    let held = Held { lock, since: Instant::now(), holds_ddl, asks };
    let taken_at = jiff::Timestamp::now();
    let to_lock = table_locks.as_mut().filter(|_| !tables_first);
    let bound = held.bound(coordinator, &workers, wish)?;
    let seen = held.within(coordinator, &mut workers, to_lock, wish);
    drop(bound);
    let (mut snapshot, is_as_listed) = held.release(coordinator, wish, seen)?;
    limit_silence(coordinator, PATIENCE)?;
    snapshot.taken_at = taken_at.to_string();
    if !is_as_listed || holds_ddl && !(wish.is_as_listed)(now(coordinator, wish.numbering)?)? {
        release_ddl(coordinator)?;
        return Ok(None);
    }
    match refusal {
        Some(refusal) => warnings.push(lockless::settle(&mut workers, &mut snapshot, wish, &refusal)?),
        None => prove_same(&mut workers, wish.server.vendor)?,
    }
    for worker in &mut workers {
        session::limit_lock_wait(worker, wish.lock_timeout)?;
    }
    Ok(Some(Taken { workers, table_locks, snapshot, identity: Identity::default(), warnings }))
}

/// Whether DDL can be held off until the definitions have been read: MySQL has a lock for that from 8.0 on. Without it, or without the
/// privilege, a definition that changes meanwhile is found when the rows are read. It is taken under the global lock: before it, a DDL
/// statement that waits for it would hold what the global lock waits for.
fn may_hold_ddl(coordinator: &mut Connection) -> Result<bool> {
    match coordinator.execute("UNLOCK INSTANCE") {
        Err(error) if is_refusal(&error) => Ok(false),
        other => other.map(|_| true).doing(|| "UNLOCK INSTANCE"),
    }
}

/// A longer statement is sent by itself, in bytes.
const MOST_AT_ONCE: usize = 32 << 10;

const HOLD_DDL: &str = "LOCK INSTANCE FOR BACKUP";

/// Ends a watch over time when it is dropped.
struct Bound {
    _done: mpsc::Sender<()>,
}

/// Has the server itself end a session that holds writers back and is not heard of any more, as when the way to it is broken. Other
/// sessions work while it waits, so it is asked for right before the lock, and taken back behind it. To the server an answer is on its way
/// longer than to drover, which gives up first.
fn limit_silence(connection: &mut Connection, time: Duration) -> Result<()> {
    connection.set("wait_timeout", time.as_secs() + 2).doing(|| "setting wait_timeout")
}

/// As long as other sessions may work while one waits for them, in seconds: a week.
const PATIENCE: Duration = Duration::from_secs(604_800);

/// The lock that holds writers back, while it is held.
struct Held {
    lock: Lock,
    since: Instant,
    holds_ddl: bool,
    asks: Asks,
}

impl Held {
    /// What has to be done under the lock, in one round trip: all that is to be said is sent before an answer is waited for. The snapshot,
    /// and whether the tables are still those that were listed.
    fn within(
        &self,
        coordinator: &mut Connection,
        workers: &mut [Connection],
        mut table_locks: Option<&mut Connection>,
        wish: &Wish<'_>,
    ) -> Result<(Snapshot, bool)> {
        const DOING: &str = "taking the snapshot";
        let mut batch = Batch::default();
        for worker in workers.iter_mut() {
            batch.query(session::BEGIN_SNAPSHOT);
            worker.send_batch(&mut batch).doing(|| DOING)?;
        }
        let tables = lock_statement(wish.without_transactions);
        if let Some(connection) = table_locks.take_if(|_| tables.len() > MOST_AT_ONCE) {
            lock_tables(connection, wish.without_transactions, wish)?;
        }
        if let Some(connection) = &mut table_locks {
            batch.query(&tables);
            connection.send_batch(&mut batch).doing(|| DOING)?;
        }
        // Under MariaDB's own lock they were looked at when DDL was held off; under MySQL's they are when writers go on.
        let looks = !self.holds_ddl && !matches!(self.lock, Lock::BackupStage(_));
        if self.holds_ddl {
            batch.query(HOLD_DDL);
        }
        self.asks.send(&mut batch);
        if looks {
            ask_for_now(&mut batch, wish.numbering);
        }
        coordinator.send_batch(&mut batch).doing(|| DOING)?;

        // All answers are read before one of them may end it: then the lock can be given back.
        let held = if self.holds_ddl { coordinator.next_rows().map(drop).doing(|| HOLD_DDL) } else { Ok(()) };
        let snapshot = self.asks.receive(coordinator);
        let now = looks.then(|| receive_now(coordinator, wish.numbering));
        held?;
        let (snapshot, now) = (snapshot?, now.transpose()?);
        for worker in workers {
            worker.next_rows().doing(|| "starting a worker's transaction")?;
        }
        if let Some(connection) = table_locks {
            let locked = connection.next_rows().map(drop);
            locked_or_why(connection, locked, wish)?;
        }
        let is_as_listed = now.map_or(Ok(true), wish.is_as_listed)?;
        Ok((snapshot, is_as_listed))
    }

    /// Breaks the connections when the time is over, so that nothing waits for an answer that does not come.
    fn bound(&self, coordinator: &Connection, workers: &[Connection], wish: &Wish<'_>) -> Result<Bound> {
        let own = match &self.lock {
            Lock::BackupStage(connection) => Some(connection),
            Lock::GlobalRead | Lock::Tables | Lock::Nothing(_) => None,
        };
        let all = workers.iter().chain([coordinator]).chain(own);
        let breakers: drover_db::Result<Vec<_>> = all.map(Connection::breaker).collect();
        let breakers = breakers.doing(|| "watching a connection")?;
        let (done, is_done) = mpsc::channel::<()>();
        let max = wish.max_lock_time;
        std::thread::spawn(move || {
            if is_done.recv_timeout(max) == Err(mpsc::RecvTimeoutError::Timeout) {
                breakers.iter().for_each(Breaker::break_connection);
            }
        });
        Ok(Bound { _done: done })
    }

    /// Lets writers go on, whatever came of it.
    fn release(
        self,
        coordinator: &mut Connection,
        wish: &Wish<'_>,
        seen: Result<(Snapshot, bool)>,
    ) -> Result<(Snapshot, bool)> {
        let name = self.lock.name();
        let released = release(coordinator, self.lock);
        let released = seen.and_then(|seen| released.map(|()| seen));
        let held = self.since.elapsed();
        if held > wish.max_lock_time {
            return Err(Error::with_hint(
                format!(
                    "{name} held writers back for {:.1} s, and --max-lock-time allows {} s: the snapshot was given up",
                    held.as_secs_f64(),
                    wish.max_lock_time.as_secs()
                ),
                "is the way to the server slow? run drover nearer to it, or allow more",
            ));
        }
        let (mut snapshot, is_as_listed) = released?;
        snapshot.lock = name.into();
        snapshot.lock_held_ms = u64::try_from(held.as_millis()).unwrap_or(u64::MAX);
        Ok((snapshot, is_as_listed))
    }
}

/// Lets DDL go on.
pub(crate) fn release_ddl(coordinator: &mut Connection) -> Result<()> {
    match coordinator.execute("UNLOCK INSTANCE") {
        Err(error) if is_refusal(&error) => Ok(()),
        other => other.map(drop).doing(|| "UNLOCK INSTANCE"),
    }
}

/// None if there are other tables than were listed.
fn lock(coordinator: &mut Connection, wish: &Wish<'_>, warnings: &mut Vec<String>) -> Result<Option<Lock>> {
    match backup_stage(coordinator, wish)? {
        Staged::Held(connection) => return Ok(Some(Lock::BackupStage(connection))),
        Staged::OtherTables => return Ok(None),
        Staged::Refused => {}
    }
    limit_silence(coordinator, wish.max_lock_time)?;
    let Some(refusal) = global_read_lock(coordinator, wish)? else { return Ok(Some(Lock::GlobalRead)) };
    session::limit_lock_wait(coordinator, wish.lock_timeout)?;
    if !wish.tables.is_empty() {
        match coordinator.execute(lock_statement(wish.tables)).map(drop) {
            Err(error)
                if is_refusal(&error) && (wish.inconsistent || wish.without_transactions.is_empty()) =>
            {
                return Ok(Some(Lock::Nothing(format!("LOCK TABLES: {error}"))));
            }
            locked => locked_or_why(coordinator, locked, wish)?,
        }
    }
    warnings.push(format!(
        "the account may not hold back all writers ({refusal}): the tables that are dumped were locked instead"
    ));
    Ok(Some(Lock::Tables))
}

/// Tries for a second at a time, with pauses: while it waits all writers wait, and among them one may hold the row that
/// another's statement waits for, which the lock waits for. Where the account may not have it at all, the server's words.
fn global_read_lock(coordinator: &mut Connection, wish: &Wish<'_>) -> Result<Option<String>> {
    const LOCK: &str = "FLUSH TABLES WITH READ LOCK";
    let give_up = Instant::now() + Duration::from_secs(wish.lock_timeout);
    session::limit_lock_wait(coordinator, 1)?;
    loop {
        match coordinator.execute(LOCK) {
            Ok(_) => break,
            Err(error) if waits::is_timeout(&error) && Instant::now() < give_up => {
                std::thread::sleep(Duration::from_millis(200));
            }
            Err(error) if waits::is_timeout(&error) => return Err(in_the_way(coordinator, LOCK, wish)),
            Err(error) if is_refusal(&error) => return Ok(Some(format!("{LOCK}: {error}"))),
            Err(error) => return Err(error).doing(|| LOCK),
        }
    }
    session::limit_lock_wait(coordinator, wish.lock_timeout)?;
    Ok(None)
}

/// Whether the server has MariaDB's own lock for backups, which came with 10.4, allowed or not: of a stage that was not begun only
/// a server that knows none says that it cannot read the statement.
fn knows_backup_stages(coordinator: &mut Connection) -> Result<bool> {
    match coordinator.execute("BACKUP STAGE END") {
        Err(drover_db::Error::Server(error)) => Ok(error.code != er::PARSE_ERROR),
        other => other.map(|_| true).doing(|| "BACKUP STAGE END"),
    }
}

/// What came of MariaDB's own lock for backups.
enum Staged {
    Held(Connection),
    /// Not allowed or not known, or there is no connection for it.
    Refused,
    /// There are other tables than were listed.
    OtherTables,
}

/// MariaDB's own lock for backups, which needs a session for itself. The tables are looked at where DDL is held off and commits
/// are not yet.
fn backup_stage(coordinator: &mut Connection, wish: &Wish<'_>) -> Result<Staged> {
    if wish.server.vendor != Vendor::MariaDb {
        return Ok(Staged::Refused);
    }
    let Some(mut connection) = session::open_if_any(wish.options, Use::Dump)? else {
        return Ok(Staged::Refused);
    };
    session::limit_lock_wait(&mut connection, wish.lock_timeout)?;
    let _watched = watch(&connection, wish)?;
    for stage in ["START", "FLUSH", "BLOCK_DDL", "BLOCK_COMMIT"] {
        if stage == "BLOCK_COMMIT" {
            limit_silence(&mut connection, wish.max_lock_time)?;
        }
        match connection.execute(format!("BACKUP STAGE {stage}")) {
            Ok(_) if stage == "BLOCK_DDL" && !(wish.is_as_listed)(now(coordinator, wish.numbering)?)? => {
                release(coordinator, Lock::BackupStage(connection))?;
                return Ok(Staged::OtherTables);
            }
            Ok(_) => {}
            Err(error) if waits::is_timeout(&error) => {
                let own: Vec<_> = wish.own.iter().copied().chain([connection.id()]).collect();
                return Err(in_the_way(
                    coordinator,
                    &format!("BACKUP STAGE {stage}"),
                    &Wish { own: &own, ..*wish },
                ));
            }
            Err(error) if is_refusal(&error) => return Ok(Staged::Refused),
            Err(error) => return Err(error).doing(|| format!("BACKUP STAGE {stage}")),
        }
    }
    Ok(Staged::Held(connection))
}

fn watch<'a>(connection: &Connection, wish: &Wish<'a>) -> Result<Watched<'a>> {
    wish.stop.watch(connection).doing(|| "watching a connection")
}

/// Locks the tables without transactions, if there are any.
fn lock_tables_of(connection: Option<&mut Connection>, wish: &Wish<'_>) -> Result<()> {
    let Some(connection) = connection else { return Ok(()) };
    session::limit_lock_wait(connection, wish.lock_timeout)?;
    lock_tables(connection, wish.without_transactions, wish)
}

fn lock_statement(tables: &[Name]) -> String {
    let list = tables.iter().map(|table| format!("{table} READ")).collect::<Vec<_>>().join(", ");
    format!("LOCK TABLES {list}")
}

fn lock_tables(connection: &mut Connection, tables: &[Name], wish: &Wish<'_>) -> Result<()> {
    if tables.is_empty() {
        return Ok(());
    }
    let locked = connection.execute(lock_statement(tables)).map(drop);
    locked_or_why(connection, locked, wish)
}

fn locked_or_why(connection: &mut Connection, locked: drover_db::Result<()>, wish: &Wish<'_>) -> Result<()> {
    match locked {
        Ok(_) => Ok(()),
        Err(error) if waits::is_timeout(&error) => Err(in_the_way(connection, "LOCK TABLES … READ", wish)),
        Err(error) if is_refusal(&error) && wish.inconsistent => Ok(()),
        Err(error) if is_refusal(&error) => Err(no_snapshot(&error, wish)),
        Err(error) => Err(error).doing(|| "LOCK TABLES … READ"),
    }
}

/// Of tables without transactions a lock is all that shows them as they were at one moment.
fn no_snapshot(error: &drover_db::Error, wish: &Wish<'_>) -> Error {
    let tables = match wish.without_transactions {
        [] => String::new(),
        [table] => format!(", and {table} has no transactions"),
        [table, others @ ..] => format!(", and {table} and {} more have no transactions", others.len()),
    };
    Error::with_hint(
        format!(
            "no consistent snapshot can be taken: the account may neither FLUSH TABLES nor LOCK TABLES{tables}: {error}"
        ),
        "grant it RELOAD (best, also BACKUP_ADMIN on MySQL), or LOCK TABLES on the schemas to be dumped; --inconsistent takes tables as \
         they are when each is read",
    )
}

fn in_the_way(connection: &mut Connection, lock: &str, wish: &Wish<'_>) -> Error {
    let blockers = Blockers::find(connection, wish.own);
    Error::with_hint(
        format!("{lock} did not get through in {} s; in its way:\n  {}", wish.lock_timeout, blockers.who),
        format!(
            "{}, or give --lock-timeout more seconds; all writers wait as long as it waits",
            blockers.way_out
        ),
    )
}

fn release(coordinator: &mut Connection, lock: Lock) -> Result<()> {
    // If the connection that holds the lock was lost, so was the lock: then the workers may not see the same rows.
    match lock {
        Lock::BackupStage(mut connection) => connection.execute("BACKUP STAGE END").map(drop),
        Lock::GlobalRead | Lock::Tables => coordinator.execute("UNLOCK TABLES").map(drop),
        Lock::Nothing(_) => Ok(()),
    }
    .doing(|| "releasing the lock under which the snapshot was taken")
}

/// MariaDB tells each transaction where in the binary log its snapshot lies: they must all say the same.
fn prove_same(workers: &mut [Connection], vendor: Vendor) -> Result<()> {
    if vendor != Vendor::MariaDb {
        return Ok(());
    }
    let mut seen: Option<Vec<String>> = None;
    for worker in workers {
        let rows = worker
            .query("SHOW STATUS LIKE 'binlog_snapshot_%'")
            .doing(|| "comparing the workers' snapshots")?;
        let now: Vec<_> = rows.into_iter().map(|row| row.string(1)).collect();
        if seen.get_or_insert_with(|| now.clone()) != &now {
            return Err(Error::found(
                "the workers do not see the same snapshot: a commit passed while the lock was held",
            ));
        }
    }
    Ok(())
}
