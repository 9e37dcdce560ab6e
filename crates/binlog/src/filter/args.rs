//! The options that say which transactions are wanted, and what of them.

use drover_db::server;

use super::names::{NameGlob, Names};
use crate::gtid_set::GtidSet;
use crate::log::Kind;
use crate::server::Origin;
use crate::time::Moment;
use crate::{Error, Result};

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

    /// Take only rows and statements of schemas that match this glob (repeatable). A statement is of the schemas of what it changes;
    /// of its session's schema if it changes no table or program
    #[arg(long, value_name = "GLOB")]
    pub database: Vec<NameGlob>,

    /// Take only rows and statements of tables that match this glob on SCHEMA.TABLE, or on TABLE alone (repeatable)
    #[arg(long, value_name = "GLOB")]
    pub table: Vec<NameGlob>,

    /// What the logs' server has as lower_case_table_names: with 1 or 2, --database, --table and --after take names in any case. Asked of
    /// the server, or told by the dump, where there is one; of files alone nothing tells, and a name in another case is an error
    #[arg(long, value_name = "0|1|2", value_parser = clap::value_parser!(u8).range(0..=2))]
    pub lower_case_table_names: Option<u8>,

    /// Take only statements of the session with this number (repeatable)
    #[arg(long, value_name = "ID")]
    pub thread: Vec<u32>,

    /// Take only events of this type, as stat names them (repeatable)
    #[arg(long, value_name = "TYPE")]
    pub event: Vec<EventType>,
}

impl FilterArgs {
    /// Whether something of this schema may be wanted.
    pub(crate) fn takes_schema(&self, schema: &[u8]) -> bool {
        Names::of(self, None, self.may_fold()).may_take_of(schema)
    }

    /// Whether names in any case may be the same on the logs' server.
    pub(crate) fn may_fold(&self) -> bool {
        self.lower_case_table_names != Some(0)
    }

    /// The same, with the lower_case_table_names of the logs' server where that is known and looked at.
    ///
    /// # Errors
    /// If the option says otherwise, or the server cannot be asked.
    pub(crate) fn of_server(&self, origin: Option<&Origin>) -> Result<Self> {
        let has_names = !self.database.is_empty() || !self.table.is_empty();
        self.of_logs(origin.filter(|_| has_names), None)
    }

    /// The same, with the lower_case_table_names of the logs' server where that is known: `origin` is that server,
    /// `dumped` what a dump of it tells.
    ///
    /// # Errors
    /// If the option says otherwise, or the server cannot be asked.
    pub(crate) fn of_logs(&self, origin: Option<&Origin>, dumped: Option<u8>) -> Result<Self> {
        let known = match origin {
            Some(origin) => asked(origin)?,
            None => dumped,
        };
        let folds = |value: Option<u8>| value.map(|value| value != 0);
        match (known, self.lower_case_table_names) {
            (Some(known), Some(given)) if folds(Some(known)) != folds(Some(given)) => Err(Error::with_hint(
                format!("--lower-case-table-names {given}: the logs' server has {known}"),
                "leave out the option: what the server has is known",
            )),
            (known, given) => Ok(Self { lower_case_table_names: known.or(given), ..self.clone() }),
        }
    }

    /// What of each transaction is wanted, as options.
    pub(crate) fn selection(&self) -> Vec<String> {
        let Self { server_id, database, table, thread, event, .. } = self;
        let globs = |name: &'static str, globs: &[NameGlob]| {
            globs.iter().map(|glob| format!("{name} {:?}", glob.text())).collect::<Vec<_>>()
        };
        let numbers = |name: &'static str, numbers: &[u32]| {
            numbers.iter().map(|number| format!("{name} {number}")).collect::<Vec<_>>()
        };
        let kinds = |event: &EventType| event.0.iter().map(Kind::to_string).collect::<Vec<_>>().join("/");
        let mut events: Vec<_> = event.iter().map(|event| format!("--event {}", kinds(event))).collect();
        events.extend(globs("--database", database));
        events.extend(globs("--table", table));
        events.extend(numbers("--server-id", server_id));
        events.extend(numbers("--thread", thread));
        events.sort();
        events
    }

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

fn asked(origin: &Origin) -> Result<Option<u8>> {
    let (mut connection, _watched) = origin.connect()?;
    let value = server::variable(&mut connection, "GLOBAL.lower_case_table_names");
    let value = value.map_err(|source| origin.failed("reading lower_case_table_names", source))?;
    Ok(value.and_then(|value| value.parse().ok()))
}

/// Kinds of events of one name: the vendors share some.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventType(Vec<Kind>);

impl EventType {
    pub(super) fn contains(&self, kind: Kind) -> bool {
        self.0.contains(&kind)
    }
}

impl std::str::FromStr for EventType {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let named = |kind: &&Kind| kind.to_string().eq_ignore_ascii_case(text);
        let kinds: Vec<_> = Kind::ALL.iter().filter(named).copied().collect();
        if kinds.is_empty() {
            let known: Vec<_> = Kind::ALL.iter().map(ToString::to_string).collect();
            return Err(format!("no event has that type; known are {}", known.join(", ")));
        }
        Ok(Self(kinds))
    }
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
    fn what_the_server_has_is_not_gainsaid() {
        let given = |value| FilterArgs { lower_case_table_names: value, ..FilterArgs::default() };
        for (option, dump, right) in [
            (None, None, Ok(None)),
            (None, Some(1), Ok(Some(1))),
            (Some(1), None, Ok(Some(1))),
            (Some(1), Some(2), Ok(Some(2))),
            (Some(0), Some(1), Err(())),
            (Some(2), Some(0), Err(())),
        ] {
            let found = given(option).of_logs(None, dump);
            assert_eq!(found.map(|args| args.lower_case_table_names).map_err(drop), right);
        }
    }
}
