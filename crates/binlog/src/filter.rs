//! Which transactions are wanted, and what of them.

use globset::{Glob, GlobMatcher};

use crate::chain::Item;
use crate::event::Gtid;
use crate::gtid_set::GtidSet;
use crate::log::{Kind, Short};
use crate::time::Moment;

/// Which transactions are wanted, and what of them. Transactions stay whole: one belongs to a range if it begins in it.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "What to take")]
pub struct FilterArgs {
    /// Begin with the first transaction at or behind this position, in the first log
    #[arg(long, value_name = "POSITION")]
    pub start_position: Option<u64>,

    /// End before the first transaction at or behind this position, in the last log
    #[arg(long, value_name = "POSITION")]
    pub stop_position: Option<u64>,

    /// Begin with the first transaction of this time or later: '2026-11-22 03:15:00' in the time zone of this machine, or with
    /// an offset, as 2026-11-22T02:15:00Z
    #[arg(long, value_name = "TIME")]
    pub start_datetime: Option<Moment>,

    /// End before the first transaction of this time or later
    #[arg(long, value_name = "TIME")]
    pub stop_datetime: Option<Moment>,

    /// Take these transactions only: UUID:1-5:8 (MySQL), 0-1-5 or 0-1-5..9 (MariaDB), several with commas between
    #[arg(long, value_name = "SET")]
    pub include_gtids: Option<GtidSet>,

    /// Leave these transactions out
    #[arg(long, value_name = "SET")]
    pub exclude_gtids: Option<GtidSet>,

    /// Take only what came about on the server with this server_id (repeatable)
    #[arg(long, value_name = "ID")]
    pub server_id: Vec<u32>,

    /// Take only rows and statements of schemas that match this glob (repeatable); a statement is of its default schema
    #[arg(long, value_name = "GLOB")]
    pub database: Vec<NameGlob>,

    /// Take only rows of tables that match this glob on SCHEMA.TABLE, or on TABLE alone (repeatable)
    #[arg(long, value_name = "GLOB")]
    pub table: Vec<NameGlob>,

    /// Take only statements of the session with this number (repeatable)
    #[arg(long, value_name = "ID")]
    pub thread: Vec<u32>,

    /// Take only events of this type, as stat names them (repeatable)
    #[arg(long, value_name = "TYPE")]
    pub event: Vec<EventType>,
}

impl FilterArgs {
    /// Whether everything is wanted.
    pub fn takes_all(&self) -> bool {
        let Self { start_position, stop_position, start_datetime, stop_datetime, .. } = self;
        let Self { include_gtids, exclude_gtids, server_id, database, table, thread, event, .. } = self;
        start_position.is_none()
            && stop_position.is_none()
            && start_datetime.is_none()
            && stop_datetime.is_none()
            && include_gtids.is_none()
            && exclude_gtids.is_none()
            && server_id.is_empty()
            && database.is_empty()
            && table.is_empty()
            && thread.is_empty()
            && event.is_empty()
    }
}

/// A pattern of names.
#[derive(Debug, Clone)]
pub struct NameGlob(GlobMatcher);

impl std::str::FromStr for NameGlob {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Glob::new(text).map(|glob| Self(glob.compile_matcher())).map_err(|error| error.to_string())
    }
}

impl NameGlob {
    fn matches(&self, name: &[u8]) -> bool {
        self.0.is_match(String::from_utf8_lossy(name).as_ref())
    }
}

/// Kinds of events of one name: the vendors share some.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventType(Vec<Kind>);

impl std::str::FromStr for EventType {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let named = |kind: &&Kind| kind.to_string().eq_ignore_ascii_case(text);
        let kinds: Vec<_> = Kind::ALL.iter().filter(named).copied().collect();
        if kinds.is_empty() {
            let known: Vec<_> = Kind::ALL.iter().map(ToString::to_string).collect();
            return Err(format!("no event has that type; known are {}", known.join(", ")));
        }
        Ok(Self(kinds))
    }
}

/// Decides of one event after the other.
#[derive(Debug, Clone)]
pub struct Filter<'a> {
    args: &'a FilterArgs,
    /// How many logs are read.
    logs: usize,
    /// Whether the transaction at hand is wanted.
    wants: bool,
}

/// What to do with an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is in a transaction that is wanted, or between transactions in a range that is.
    Take,
    /// It is not wanted.
    Leave,
    /// Neither it is wanted nor what comes behind it.
    Stop,
}

impl<'a> Filter<'a> {
    /// For so many logs.
    pub fn new(args: &'a FilterArgs, logs: usize) -> Self {
        Self { args, logs, wants: false }
    }

    /// Whether the event's transaction is wanted.
    ///
    /// # Errors
    /// If it is too short for what it should hold.
    pub fn verdict(&mut self, item: &Item<'_>) -> Result<Verdict, Short> {
        use crate::log::Place;
        let verdict = match item.place {
            Place::Inside | Place::Last => {
                return Ok(if self.wants { Verdict::Take } else { Verdict::Leave });
            }
            Place::Outside => self.range(item, None),
            Place::First | Place::Only => {
                let event = &item.event;
                let gtid = Gtid::parse(event.kind, event.body, event.header.server_id)?;
                match self.range(item, gtid.as_ref()) {
                    Verdict::Take if !self.wants_transaction(item, gtid.as_ref()) => Verdict::Leave,
                    verdict => verdict,
                }
            }
        };
        if item.place != Place::Outside {
            self.wants = verdict == Verdict::Take;
        }
        Ok(verdict)
    }

    /// Whether positions and times include what begins with the event.
    fn range(&self, item: &Item<'_>, gtid: Option<&Gtid<'_>>) -> Verdict {
        let FilterArgs { start_position, stop_position, start_datetime, stop_datetime, .. } = self.args;
        let position = item.event.position;
        if item.number + 1 >= self.logs && stop_position.is_some_and(|stop| position >= stop) {
            return Verdict::Stop;
        }
        if item.number == 0 && start_position.is_some_and(|start| position < start) {
            return Verdict::Leave;
        }
        let Some(time) = time_of(item, gtid) else { return Verdict::Take };
        if stop_datetime.is_some_and(|stop| !stop.is_after(time)) {
            return Verdict::Stop;
        }
        if start_datetime.is_some_and(|start| start.is_after(time)) {
            return Verdict::Leave;
        }
        Verdict::Take
    }

    fn wants_transaction(&self, item: &Item<'_>, gtid: Option<&Gtid<'_>>) -> bool {
        let FilterArgs { include_gtids, exclude_gtids, server_id, .. } = self.args;
        let is_in = |set: &GtidSet| gtid.is_some_and(|gtid| set.contains(gtid));
        include_gtids.as_ref().is_none_or(is_in)
            && !exclude_gtids.as_ref().is_some_and(is_in)
            && (server_id.is_empty() || server_id.contains(&item.event.header.server_id))
    }

    /// Whether anything is asked of what is in a transaction.
    pub fn looks_inside(&self) -> bool {
        let FilterArgs { database, table, thread, event, .. } = self.args;
        !(database.is_empty() && table.is_empty() && thread.is_empty() && event.is_empty())
    }

    /// Whether events of this kind are wanted.
    pub fn wants_kind(&self, kind: Kind) -> bool {
        let wanted = &self.args.event;
        wanted.is_empty() || wanted.iter().any(|EventType(kinds)| kinds.contains(&kind))
    }

    /// Whether rows of this table are wanted.
    pub fn wants_table(&self, schema: &[u8], table: &[u8]) -> bool {
        let FilterArgs { database, table: tables, thread, .. } = self.args;
        thread.is_empty() && wants_name(database, tables, schema, table)
    }

    /// Whether a load of a file into this table by this session is wanted; `thread` is `None` where nobody knows it.
    pub fn wants_load(&self, thread: Option<u32>, schema: &[u8], table: &[u8]) -> bool {
        let FilterArgs { database, table: tables, thread: threads, .. } = self.args;
        (threads.is_empty() || thread.is_some_and(|thread| threads.contains(&thread)))
            && wants_name(database, tables, schema, table)
    }

    /// Whether statements of this session with this default schema are wanted. No statement is of one table.
    pub fn wants_statement(&self, thread: u32, schema: &[u8]) -> bool {
        let FilterArgs { database, table, thread: threads, .. } = self.args;
        table.is_empty()
            && (threads.is_empty() || threads.contains(&thread))
            && (database.is_empty() || database.iter().any(|glob| glob.matches(schema)))
    }
}

fn wants_name(databases: &[NameGlob], tables: &[NameGlob], schema: &[u8], table: &[u8]) -> bool {
    let whole = [schema, b".", table].concat();
    (databases.is_empty() || databases.iter().any(|glob| glob.matches(schema)))
        && (tables.is_empty() || tables.iter().any(|glob| glob.matches(&whole) || glob.matches(table)))
}

/// When what begins with an event was done, in microseconds since 1970: when it was committed where that is told, else when the
/// statement began.
fn time_of(item: &Item<'_>, gtid: Option<&Gtid<'_>>) -> Option<u64> {
    if let Some(Gtid::Mysql(gtid)) = gtid
        && let Some(committed) = gtid.committed
    {
        return Some(committed);
    }
    let seconds = item.event.header.timestamp;
    (seconds != 0 && item.event.kind != Kind::FORMAT_DESCRIPTION).then(|| u64::from(seconds) * 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_events_by_name() {
        let both: EventType = "gtid".parse().unwrap();
        assert_eq!(both.0, [Kind::GTID, Kind::MARIADB_GTID]);
        assert!("nothing".parse::<EventType>().unwrap_err().contains("Write_rows_v1"));
    }

    #[test]
    fn tables_by_glob() {
        let glob = |text: &str| vec![text.parse::<NameGlob>().unwrap()];
        let args = FilterArgs { table: glob("shop.ord*"), ..FilterArgs::default() };
        let filter = Filter::new(&args, 1);
        assert!(filter.wants_table(b"shop", b"orders") && !filter.wants_table(b"other", b"orders"));
        assert!(!filter.wants_statement(1, b"shop"));
        let args = FilterArgs { table: glob("orders"), database: glob("s*"), ..FilterArgs::default() };
        let filter = Filter::new(&args, 1);
        assert!(filter.wants_table(b"shop", b"orders") && !filter.wants_table(b"other", b"orders"));
        let args = FilterArgs { thread: vec![7], ..FilterArgs::default() };
        let filter = Filter::new(&args, 1);
        assert!(
            filter.wants_statement(7, b"")
                && !filter.wants_statement(8, b"")
                && !filter.wants_table(b"a", b"b")
        );
        assert!(filter.wants_load(Some(7), b"a", b"b") && !filter.wants_load(None, b"a", b"b"));
    }
}
