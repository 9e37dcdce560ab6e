//! Where a replay is, in a table on the target.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use drover_db::replays::{FILLED, PROVENANCE, TABLE};
use drover_db::{Connection, Row, er, quote};

use super::marks::{LowWaterMark, read_done};
use super::provenance::Provenance;
use super::transaction::Start;

/// The table and the rows in it of one replay: one for each worker.
#[derive(Debug)]
pub(super) struct Positions {
    /// The replay's name.
    name: String,
    clock: Option<Clock>,
    /// The last second, by the target's clock, of which a table may be that the replay found or made itself.
    own: AtomicU64,
}

/// What the target's clock shows, since 1970. Sessions that apply rows have another time set.
#[derive(Debug)]
struct Clock {
    asked: Instant,
    answered: Instant,
    /// What it showed between the two moments; the end of its second where there are no parts of it, as before MySQL 5.6.
    time: Duration,
}

impl Clock {
    fn ask(connection: &mut Connection) -> drover_db::Result<Option<Self>> {
        let asked = Instant::now();
        let row =
            connection.first("SELECT UNIX_TIMESTAMP(), COALESCE(NULLIF(MICROSECOND(NOW(6)), 0), 999999)")?;
        let time = row
            .and_then(|row| Some(Duration::from_secs(row.parse(0)?) + Duration::from_micros(row.parse(1)?)));
        Ok(time.map(|time| Self { asked, answered: Instant::now(), time }))
    }

    /// A second that is not over yet.
    fn second(&self) -> u64 {
        (self.time + self.asked.elapsed()).as_secs()
    }

    /// A second that is over.
    fn second_before(&self) -> u64 {
        (self.time + self.answered.elapsed()).as_secs().saturating_sub(1)
    }
}

/// What earlier runs left.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) mark: LowWaterMark,
    /// Transactions behind the mark that were applied: the log's name and where they begin.
    pub(super) done: HashSet<(String, u64)>,
    /// What was being done that no transaction holds together.
    pub(super) pending: Option<Pending>,
    /// Where the logs came from.
    pub(super) provenance: Provenance,
    /// How many workers there were.
    workers: usize,
    /// Whether it is at work now.
    pub(super) is_at_work: bool,
    /// Its own tables are no younger, in seconds since 1970 by the target's clock; `None` if an older release noted nothing.
    pub(super) noted: Option<u64>,
}

/// An event whose statement may have been run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pending {
    pub(super) log: String,
    pub(super) position: u64,
    /// What the target was like before.
    pub(super) state: String,
}

/// Whether it is this table: what logs say of it is where the server that wrote them was, as a target itself.
pub(super) fn is_own_table(schema: &[u8], table: &[u8]) -> bool {
    schema.eq_ignore_ascii_case(b"drover") && table.eq_ignore_ascii_case(b"replay")
}

/// Whether it is a statement by which a replay notes where it is, in the log of its target.
pub(super) fn is_own_statement(text: &[u8]) -> bool {
    let starts =
        ["INSERT INTO", "REPLACE INTO", "UPDATE", "DELETE FROM", "CREATE TABLE IF NOT EXISTS", "ALTER TABLE"];
    let Ok(text) = std::str::from_utf8(text) else { return false };
    text == CREATE_SCHEMA
        || starts.into_iter().any(|start| {
            let rest = text.strip_prefix(start).and_then(|rest| rest.strip_prefix(' '));
            rest.and_then(|rest| rest.strip_prefix(TABLE)).is_some_and(|rest| rest.starts_with(' '))
        })
}

/// For a table that an older release made.
const ADD_NOTED: &str = "ALTER TABLE `drover`.`replay` ADD COLUMN `noted` BIGINT UNSIGNED";
const CREATE_SCHEMA: &str = "CREATE DATABASE IF NOT EXISTS `drover`";

/// The lock under which a replay begins.
const START: &str = "drover replay start";
/// Seconds to wait for sessions of an earlier run to end, which were told to.
const PATIENCE: u32 = 60;

/// What the name ends with of a replay that undoes.
pub(super) const UNDOING: &str = " flashback";
/// A clock that is set back is not waited for.
const OUTLASTED: Duration = Duration::from_secs(3);

/// What the name ends with under which schemas are noted.
const MADE: &str = "\0made";

impl Found {
    /// Of the rows of one replay: the table's columns from the log to the worker, and when it was noted.
    fn read(rows: impl IntoIterator<Item = Row>) -> Option<Self> {
        let (facts, rows): (Vec<_>, Vec<_>) =
            rows.into_iter().partition(|row| row.parse(5).is_some_and(|worker: u16| worker >= FILLED));
        let fact =
            |worker: u16| facts.iter().find(|row| row.parse(5) == Some(worker)).map(|row| row.string(2));
        let mut provenance = fact(PROVENANCE).map(|text| Provenance::read(&text)).unwrap_or_default();
        provenance.filled =
            fact(FILLED).map(|text| text.lines().map(str::to_owned).collect()).unwrap_or_default();
        let mut found: Option<Found> = None;
        for row in rows {
            let mark = LowWaterMark { log: row.string(0).into(), position: row.parse(1).unwrap_or_default() };
            let done = read_done(&row.string(2));
            let pending = pending(&row.string(3), row.string(4));
            let noted = row.parse(6);
            match &mut found {
                None => {
                    let provenance = Provenance::default();
                    found =
                        Some(Found { mark, done, pending, provenance, workers: 1, is_at_work: false, noted });
                }
                Some(found) => {
                    if later(&mark, &found.mark, &provenance) {
                        found.mark = mark;
                    }
                    found.done.extend(done);
                    found.pending = found.pending.take().or(pending);
                    found.noted = found.noted.max(noted);
                    found.workers += 1;
                }
            }
        }
        found.map(|found| Found { provenance, ..found })
    }

    /// Whether it has applied what begins at this position in a log that its server began then, or may come to it.
    pub(super) fn has(&self, name: &str, server_id: u32, begun: u32, position: u64) -> bool {
        let Self { mark, done, provenance, .. } = self;
        if self.is_at_work && provenance.may_come_to(name, server_id, begun) {
            return true;
        }
        let Some(log) = provenance.log(name, server_id, begun) else { return false };
        let is_before = match log == &*mark.log {
            true => position < mark.position,
            false => !mark.log.is_empty() && provenance.is_later(&mark.log, log),
        };
        is_before || done.contains(&(log.to_owned(), position))
    }

    /// Whether a log is from before the dump that it began behind.
    pub(super) fn is_in_its_dump(&self, name: &str, server_id: u32, begun: u32) -> bool {
        self.provenance.came_before_dump(name, server_id, begun)
    }
}

impl Positions {
    pub(super) fn of(name: &str) -> Self {
        Self { name: name.into(), clock: None, own: AtomicU64::new(0) }
    }

    /// Makes the table, if it is not there, and waits until the second is over that the clock shows then.
    pub(super) fn create(&mut self, connection: &mut Connection) -> drover_db::Result<()> {
        connection.execute(CREATE_SCHEMA)?;
        connection.execute(format!(
            "CREATE TABLE IF NOT EXISTS {TABLE} (`name` VARBINARY(190) NOT NULL, `worker` SMALLINT UNSIGNED NOT NULL, \
             `log` VARBINARY(512) NOT NULL, `position` BIGINT UNSIGNED NOT NULL, `done` MEDIUMBLOB NOT NULL, \
             `pending` VARBINARY(600), `state` VARBINARY(64), `noted` BIGINT UNSIGNED, PRIMARY KEY (`name`, `worker`)) ENGINE = InnoDB"
        ))?;
        match connection.query(format!("SELECT `noted` FROM {TABLE} LIMIT 0")) {
            // An older release made the table.
            Err(error) if error.code() == Some(er::BAD_FIELD) => {
                connection.execute(ADD_NOTED)?;
            }
            there => drop(there?),
        }
        self.clock = Clock::ask(connection)?;
        self.defined();
        self.outlast(connection)
    }

    /// The second behind which a table was made by somebody else, for SQL: one that is over, as the replay may be killed in this one and its
    /// tables filled anew.
    fn noted(&self) -> String {
        let own = self.own.load(Ordering::Relaxed);
        self.clock.as_ref().map_or("NULL".into(), |clock| clock.second_before().max(own).to_string())
    }

    /// A definition was applied: what it made is of this second.
    pub(super) fn defined(&self) {
        let second = self.clock.as_ref().map_or(0, Clock::second);
        self.own.fetch_max(second, Ordering::Relaxed);
    }

    /// Waits until the last second of the replay's own is over by the target's clock: a table that is made from then on is seen to be younger.
    pub(super) fn outlast(&self, connection: &mut Connection) -> drover_db::Result<()> {
        let (own, begun) = (self.own.load(Ordering::Relaxed), Instant::now());
        let is_over = |clock: Option<Clock>| clock.is_none_or(|clock| clock.time.as_secs() > own);
        while !is_over(Clock::ask(connection)?) && begun.elapsed() < OUTLASTED {
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// What earlier runs of this replay left; `None` if there was none. The table need not be there.
    pub(super) fn find(&self, connection: &mut Connection) -> drover_db::Result<Option<Found>> {
        let mut rows = |noted: &str| {
            connection.query(format!(
                "SELECT `log`, `position`, `done`, `pending`, `state`, `worker`, {noted} FROM {TABLE} WHERE `name` = {}",
                self.quoted()
            ))
        };
        let rows = match rows("`noted`") {
            Err(error) if error.code() == Some(er::BAD_FIELD) => rows("NULL"),
            rows => rows,
        };
        let rows = match rows {
            // No such table, no such schema.
            Err(error) if matches!(error.code(), Some(er::NO_SUCH_TABLE | er::BAD_DB)) => return Ok(None),
            rows => rows?,
        };
        Ok(Found::read(rows))
    }

    /// What replays of other names have left, but for those that undid something. The table need not be there.
    pub(super) fn others(&self, connection: &mut Connection) -> drover_db::Result<BTreeMap<String, Found>> {
        let rows = connection.query(format!(
            "SELECT `log`, `position`, `done`, `pending`, `state`, `worker`, NULL, `name` FROM {TABLE} WHERE `name` <> {}",
            self.quoted()
        ));
        let rows = match rows {
            Err(error) if matches!(error.code(), Some(er::NO_SUCH_TABLE | er::BAD_DB)) => {
                return Ok(BTreeMap::new());
            }
            rows => rows?,
        };
        let mut named: BTreeMap<String, Vec<Row>> = BTreeMap::new();
        for row in rows {
            named.entry(row.string(7)).or_default().push(row);
        }
        named.retain(|name, _| !name.ends_with(MADE) && !name.ends_with(UNDOING));
        let found = named.into_iter().filter_map(|(name, rows)| Some((name, Found::read(rows)?)));
        let mut found: BTreeMap<_, _> = found.collect();
        for (name, found) in &mut found {
            let lock = Self::of(name).lock_name("reader");
            let holder = connection.first(format!("SELECT IS_USED_LOCK('{lock}')"))?;
            found.is_at_work = holder.is_some_and(|row| row.text(0).is_some());
        }
        Ok(found)
    }

    /// Has two replays begin one after the other, so that the second sees what the first is about. One that waits for its first transaction
    /// holds the others up for a moment only.
    pub(super) fn lock_start(connection: &mut Connection) -> drover_db::Result<()> {
        connection.execute(format!("DO GET_LOCK('{START}', 5)")).map(drop)
    }

    /// Begins anew, or goes on: one row for each worker. Then the next replay may begin.
    pub(super) fn begin(
        &self,
        connection: &mut Connection,
        found: Option<&Found>,
        provenance: &Provenance,
        mark: &LowWaterMark,
        workers: usize,
    ) -> drover_db::Result<()> {
        let name = self.quoted();
        let mut insert = format!(
            "INSERT INTO {TABLE} (`name`, `worker`, `log`, `position`, `done`, `pending`, `state`, `noted`) VALUES "
        );
        let done = found.map_or_else(String::new, |found| {
            found.done.iter().fold(String::new(), |mut text, (log, position)| {
                let _ = writeln!(text, "{log}:{position}"); // writing to a String cannot fail
                text
            })
        });
        let pending = found.and_then(|found| found.pending.as_ref());
        let provenance = quote::hex(provenance.text().as_bytes());
        for worker in 0..workers {
            let comma = if worker == 0 { "" } else { ", " };
            let (pending, state) = match pending {
                Some(pending) if worker == 0 => {
                    let place = format!("{}:{}", pending.log, pending.position);
                    (quote::hex(place.as_bytes()), quote::hex(pending.state.as_bytes()))
                }
                _ => ("NULL".into(), "NULL".into()),
            };
            let done = if worker == 0 { quote::hex(done.as_bytes()) } else { "''".into() };
            let (log, position, now) = (quote::hex(mark.log.as_bytes()), mark.position, self.noted());
            // Writing to a String cannot fail.
            let _ = write!(
                insert,
                "{comma}({name}, {worker}, {log}, {position}, {done}, {pending}, {state}, {now})"
            );
        }
        let _ = write!(insert, ", ({name}, {PROVENANCE}, '', 0, {provenance}, NULL, NULL, NULL)");
        connection.execute("START TRANSACTION")?;
        // One that goes on is still told of what was filled meanwhile.
        let kept = if found.is_some() { format!(" AND `worker` <> {FILLED}") } else { String::new() };
        connection.execute(format!("DELETE FROM {TABLE} WHERE `name` = {name}{kept}"))?;
        if found.is_none() {
            let schemas = self.quoted_of_schemas();
            connection.execute(format!("DELETE FROM {TABLE} WHERE `name` = {schemas}"))?;
        }
        connection.execute(insert)?;
        connection.execute("COMMIT")?;
        connection.execute(format!("DO RELEASE_LOCK('{START}')"))?;
        Ok(())
    }

    /// The statement that forgets a replay of which nothing was applied.
    pub(super) fn forget(&self) -> String {
        let name = self.quoted();
        format!(
            "DELETE FROM {TABLE} WHERE `name` = {name} AND NOT EXISTS \
             (SELECT 1 FROM (SELECT `pending` FROM {TABLE} WHERE `name` = {name} AND `pending` IS NOT NULL) AS `begun`)"
        )
    }

    /// The statement that notes where logs come from.
    pub(super) fn note_provenance(&self, provenance: &Provenance) -> String {
        let (name, text) = (self.quoted(), quote::hex(provenance.text().as_bytes()));
        format!("UPDATE {TABLE} SET `done` = {text} WHERE `name` = {name} AND `worker` = {PROVENANCE}")
    }

    /// The schemas that the logs have made, where only those of a dump and these are wanted. The table need not be there.
    pub(super) fn made_schemas(&self, connection: &mut Connection) -> drover_db::Result<Vec<String>> {
        let rows = connection
            .query(format!("SELECT `log` FROM {TABLE} WHERE `name` = {}", self.quoted_of_schemas()));
        match rows {
            Err(error) if matches!(error.code(), Some(er::NO_SUCH_TABLE | er::BAD_DB)) => Ok(Vec::new()),
            rows => Ok(rows?.into_iter().map(|row| row.string(0)).collect()),
        }
    }

    /// The statement that notes a schema that the logs make, as the one with this number.
    pub(super) fn note_schema(&self, number: usize, schema: &[u8]) -> Vec<u8> {
        let (name, schema) = (self.quoted_of_schemas(), quote::hex(schema));
        format!(
            "REPLACE INTO {TABLE} (`name`, `worker`, `log`, `position`, `done`) VALUES ({name}, {number}, {schema}, 0, '')"
        )
        .into_bytes()
    }

    /// Schemas are noted under another name, which nobody can give a replay.
    fn quoted_of_schemas(&self) -> String {
        quote::hex([self.name.as_bytes(), MADE.as_bytes()].concat().as_slice())
    }

    /// The statement that notes a worker's position.
    pub(super) fn update(&self, worker: usize, mark: &LowWaterMark, done: &str) -> Vec<u8> {
        let (log, position) = (quote::hex(mark.log.as_bytes()), mark.position);
        let done = if done.is_empty() { "''".into() } else { quote::hex(done.as_bytes()) };
        let (name, now) = (self.quoted(), self.noted());
        format!(
            "UPDATE {TABLE} SET `log` = {log}, `position` = {position}, `done` = {done}, `pending` = NULL, `state` = NULL, `noted` = {now} \
             WHERE `name` = {name} AND `worker` = {worker}"
        )
        .into_bytes()
    }

    /// The statement that notes a mark that is further than what was committed last: nothing lies between them.
    pub(super) fn move_on(&self, mark: &LowWaterMark) -> String {
        let (log, name) = (quote::hex(mark.log.as_bytes()), self.quoted());
        format!(
            "UPDATE {TABLE} SET `log` = {log}, `position` = {} WHERE `name` = {name} AND `worker` = 0",
            mark.position
        )
    }

    /// The statement that notes what is about to be done.
    pub(super) fn pending(&self, worker: usize, at: &Start, position: u64, state: &str) -> Vec<u8> {
        let place = quote::hex(format!("{}:{position}", at.log).as_bytes());
        let state = quote::hex(state.as_bytes());
        let name = self.quoted();
        format!(
            "UPDATE {TABLE} SET `pending` = {place}, `state` = {state} WHERE `name` = {name} AND `worker` = {worker}"
        )
        .into_bytes()
    }

    /// The statement that notes that nothing is being done: what was noted was refused.
    pub(super) fn nothing_pending(&self, worker: usize) -> Vec<u8> {
        let name = self.quoted();
        format!("UPDATE {TABLE} SET `pending` = NULL, `state` = NULL WHERE `name` = {name} AND `worker` = {worker}")
            .into_bytes()
    }

    /// Keeps other replays of this name away. False if there is one. The session of one that was just killed ends in a moment.
    pub(super) fn lock(&self, connection: &mut Connection) -> drover_db::Result<bool> {
        let lock = self.lock_name("reader");
        let row = connection.first(format!("SELECT GET_LOCK('{lock}', 5)"))?;
        Ok(row.is_some_and(|row| row.string(0) == "1"))
    }

    /// Ends sessions of an earlier run that are still at work: their client is gone.
    pub(super) fn end_sessions(&self, connection: &mut Connection, found: &Found) -> drover_db::Result<()> {
        for worker in 0..found.workers {
            let lock = self.lock_name(&worker.to_string());
            let holder = connection.first(format!("SELECT IS_USED_LOCK('{lock}')"))?;
            let Some(id) = holder.and_then(|row| row.text(0)) else { continue };
            match connection.execute(format!("KILL CONNECTION {id}")) {
                // It has ended by itself.
                Err(error) if error.code() == Some(er::NO_SUCH_THREAD) => {}
                killed => drop(killed?),
            }
            connection.execute(format!("DO GET_LOCK('{lock}', {PATIENCE}) AND RELEASE_LOCK('{lock}')"))?;
        }
        Ok(())
    }

    /// Marks a worker's session as one of this replay.
    pub(super) fn lock_worker(&self, connection: &mut Connection, worker: usize) -> drover_db::Result<()> {
        let lock = self.lock_name(&worker.to_string());
        connection.execute(format!("DO GET_LOCK('{lock}', {PATIENCE})")).map(drop)
    }

    /// Of at most 64 characters, as MySQL takes it.
    fn lock_name(&self, who: &str) -> String {
        let digest = ring::digest::digest(&ring::digest::SHA256, self.name.as_bytes());
        let digest = digest.as_ref().iter().take(12).fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}"); // writing to a String cannot fail
            text
        });
        format!("drover replay {digest} {who}")
    }

    fn quoted(&self) -> String {
        quote::hex(self.name.as_bytes())
    }
}

fn pending(place: &str, state: String) -> Option<Pending> {
    let (log, position) = place.rsplit_once(':')?;
    Some(Pending { log: log.into(), position: position.parse().ok()?, state })
}

/// Whether a mark is behind another.
fn later(mark: &LowWaterMark, than: &LowWaterMark, order: &Provenance) -> bool {
    match mark.log == than.log {
        true => mark.position > than.position,
        false => than.log.is_empty() || !mark.log.is_empty() && order.is_later(&mark.log, &than.log),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_replays_note_is_known_in_logs() {
        let positions = Positions::of("shop");
        let mark = LowWaterMark { log: "b.000001".into(), position: 4 };
        let at = Start { log: "b.000001".into(), position: 4 };
        for text in [
            positions.update(0, &mark, ""),
            positions.pending(0, &at, 4, "x"),
            positions.note_schema(0, b"d"),
            positions.note_provenance(&Provenance::default()).into_bytes(),
            ADD_NOTED.into(),
            CREATE_SCHEMA.into(),
        ] {
            assert!(is_own_statement(&text), "{}", String::from_utf8_lossy(&text));
        }
        for text in
            ["UPDATE `drover`.`replays` SET a = 1", "UPDATE `drover`.`replay`s", "CREATE DATABASE drover"]
        {
            assert!(!is_own_statement(text.as_bytes()), "{text}");
        }
        assert!(is_own_table(b"drover", b"replay") && !is_own_table(b"drover", b"tasks"));
    }
}
