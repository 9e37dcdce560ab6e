//! The dump that the target was filled with, and whether a log is the one that it was taken at: names and positions are the same on many
//! servers, and come again where a server begins its logs anew.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;

use crate::chain::{Chain, Item};
use crate::event::{Gtid, MariadbGtid, MysqlGtid, xid};
use crate::filter::{Filter, FilterArgs};
use crate::gtid_set::GtidSet;
use crate::log::{Kind, Place, Short};
use crate::source::log_number;
use crate::{Error, Result};

/// What the target was filled with before.
#[derive(Debug, Clone, Default)]
pub struct After {
    /// The log and the position in it where the dump was taken.
    pub log: String,
    /// In bytes.
    pub position: u64,
    /// The transactions that it holds: MySQL's `gtid_executed` or MariaDB's `gtid_binlog_pos` of that moment.
    pub gtids: GtidSet,
    /// The server's `server_id`; `None` if the dump does not tell it, as of the next.
    pub server_id: Option<u32>,
    /// What the server's clock showed, in microseconds since 1970.
    pub clock: Option<u64>,
    /// A number above those of MariaDB's transactions (XID) up to there.
    pub query_id: Option<u64>,
    /// If the server was a replica, where it was in its sources' logs, as LOG at POSITION.
    pub replicates_from: Vec<String>,
    /// Whether its own logs hold what it replicated; `None` if it is no replica, or the dump does not tell.
    pub logs_replicated: Option<bool>,
    /// Transactions that were prepared (XA) when it was taken: their rows are not in it.
    pub prepared: Vec<String>,
    /// The schemas that it has.
    pub schemas: Vec<String>,
    /// The tables that it has, each with its schema.
    pub tables: BTreeSet<(String, String)>,
    /// What its server has as `lower_case_table_names`, if it tells that.
    pub lower_case_table_names: Option<u8>,
    /// Tables whose rows are not all there, or not as they were.
    pub partial: Vec<Partial>,
    /// Compares rows of the target with it; none where they are known to be alike.
    pub compare: Option<Compare>,
}

/// Whether a table is wanted, by its schema and its name.
pub type Wants<'a> = dyn Fn(&str, &str) -> bool + 'a;

/// What compares the target's rows with a dump's in the tables that are wanted, and tells what differs first; or the error that ended it, with a
/// hint.
#[derive(Clone)]
pub struct Compare(pub Arc<Comparing>);
type Comparing = dyn Fn(&Wants<'_>) -> Result<Option<String>, (String, Option<String>)> + Send + Sync;

impl fmt::Debug for Compare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Compare")
    }
}

/// A table whose rows are not those of the server.
#[derive(Debug, Clone)]
pub struct Partial {
    /// Its schema.
    pub schema: String,
    /// Its name.
    pub table: String,
    /// What was done to its rows.
    pub why: String,
}

impl After {
    /// Refuses what the logs cannot be applied to: rows that were left out cannot be changed, and masked ones would get what was masked.
    pub(super) fn check_rows(&self, filter: &FilterArgs) -> Result<()> {
        let filter = Filter::new(filter, 1);
        let is_wanted =
            |partial: &&Partial| filter.wants_table(partial.schema.as_bytes(), partial.table.as_bytes());
        match self.partial.iter().find(is_wanted) {
            None => Ok(()),
            Some(Partial { schema, table, why }) => Err(Error::with_hint(
                format!("--after: the dump does not have the rows of {schema}.{table} as they were: {why}"),
                "take a dump of all rows as they are; or leave such tables out, with --database or --table for the others",
            )),
        }
    }

    /// Refuses a target whose rows are not those of the dump: it was not restored there, or under other names, or the rows were changed since.
    pub(super) fn check_target(&self, filter: &FilterArgs) -> Result<()> {
        let Some(Compare(compare)) = &self.compare else { return Ok(()) };
        let filter = Filter::new(filter, 0);
        let wants = |schema: &str, table: &str| filter.wants_table(schema.as_bytes(), table.as_bytes());
        match compare(&wants) {
            Ok(None) => Ok(()),
            Ok(Some(unlike)) => Err(Error::with_hint(
                format!("--after: the target does not hold the rows of the dump: {unlike}"),
                "restore the dump first, without --into: logs go to schemas of their own names; --database and --table leave out what was not \
                 restored; --start-position begins without the dump, at the manifest's binlog_position, where the rows are known to be right",
            )),
            Err((what, hint)) => Err(Error::Found {
                what: format!("--after: comparing the target with the dump: {what}"),
                hint,
            }),
        }
    }

    /// Refuses a dump whose server's logs lack something: that of a replica that does not log what it replicates, and one amid prepared
    /// transactions, which are in the logs before it.
    pub(super) fn check_source(&self) -> Result<()> {
        if let Some(first) = self.prepared.first() {
            return Err(Error::with_hint(
                format!(
                    "--after: {} prepared (XA) while the dump was taken, as {first:?}: their changes are not in it, and not in the logs behind it",
                    match self.prepared.len() {
                        1 => "1 transaction was".to_owned(),
                        many => format!("{many} transactions were"),
                    }
                ),
                "end them, with XA COMMIT or XA ROLLBACK, and take the dump when XA RECOVER shows none; where they are of nothing that is wanted, \
                 --start-position says where to begin: the manifest's binlog_position",
            ));
        }
        let Self { log, position, replicates_from, .. } = self;
        match self.logs_replicated {
            Some(false) if replicates_from.is_empty() => Err(Error::with_hint(
                "--after: the dump seems to be of a replica that does not log what it replicates (log_slave_updates), and does not tell where \
                 it is in its source's logs",
                "take the dump by an account that may see it (REPLICA MONITOR), or of a server that logs what it replicates",
            )),
            Some(false) => Err(Error::with_hint(
                "--after: the dump is of a replica that does not log what it replicates (log_replica_updates, log_slave_updates): its own logs \
                 do not hold that",
                format!(
                    "take the logs of its source, in which the dump is at {}: {} in place of --after; where only what was written on the \
                     replica itself is wanted, --start-position {position} in its {log}",
                    replicates_from.join(", "),
                    self.beginning()
                ),
            )),
            _ => Ok(()),
        }
    }

    /// Refuses logs of which the first is not the one that the dump was taken at. `chain` reads it from its beginning.
    pub(super) fn check_log(&self, mut chain: Chain) -> Result<()> {
        let mut seen = Seen::default();
        let mut end = 0;
        while chain.step()? {
            let Some(item) = chain.item() else { break };
            if item.number > 0 {
                break;
            }
            let is_over = self.see(&item, &mut seen).map_err(|trouble| match trouble {
                Wrong::Malformed => chain.malformed(),
                Wrong::Other(why) => self.refusal(&why),
            })?;
            if is_over {
                return Ok(());
            }
            end = item.event.end;
        }
        if end < self.position {
            let why = format!("it ends at {end}, and the dump was taken at {}", self.position);
            return Err(self.refusal(&why));
        }
        self.check_gtids(&seen).map_err(|why| self.refusal(&why))
    }

    /// Takes in an event of the log; true where no more is to be looked at.
    fn see(&self, item: &Item<'_>, seen: &mut Seen) -> Result<bool, Wrong> {
        let event = &item.event;
        let gtid = Gtid::parse(event.kind, event.body, event.header.server_id)?;
        if event.position >= self.position {
            if !seen.is_behind {
                self.check_place(item)?;
                self.check_gtids(seen)?;
                self.check_second(seen)?;
                seen.is_behind = true;
            }
            return match gtid {
                Some(gtid) if self.gtids.contains(&gtid) => Err(Wrong::Other(format!(
                    "the transaction at {} in it is {gtid}, which the dump has already",
                    event.position
                ))),
                gtid => Ok(gtid.is_some()),
            };
        }
        match event.kind {
            Kind::FORMAT_DESCRIPTION => {
                self.check_server(item)?;
                seen.begun = item.event.header.timestamp;
            }
            Kind::XID => {
                self.check_number(item)?;
                seen.is_untold |= self.query_id.is_none();
            }
            Kind::PREVIOUS_GTIDS => seen.set = GtidSet::parse_mysql(event.body)?,
            Kind::MARIADB_GTID_LIST => {
                seen.last.extend(GtidSet::list(event.body)?.into_iter().map(|gtid| (gtid.domain, gtid)));
            }
            _ => {}
        }
        match gtid {
            Some(Gtid::Mariadb(gtid)) => drop(seen.last.insert(gtid.domain, gtid)),
            Some(gtid) => seen.set.insert(&gtid),
            None => {}
        }
        if let Some(Gtid::Mysql(MysqlGtid { committed: Some(_), .. })) = gtid {
            seen.is_told = true;
        }
        if let Some(Gtid::Mysql(MysqlGtid { committed: Some(committed), .. })) = gtid
            && self.clock.is_some_and(|clock| clock < committed)
        {
            let (at, then) = (event.position, shown(committed));
            let why = format!("the transaction at {at} in it was committed at {then}, {}", self.taken());
            return Err(Wrong::Other(why));
        }
        Ok(false)
    }

    fn check_server(&self, item: &Item<'_>) -> Result<(), Wrong> {
        let header = &item.event.header;
        if let Some(server_id) = self.server_id.filter(|id| *id != header.server_id) {
            return Err(Wrong::Other(format!(
                "it is of the server with server_id {}, and the dump of the one with {server_id}",
                header.server_id
            )));
        }
        let begun = u64::from(header.timestamp) * 1_000_000;
        match self.clock.is_some_and(|clock| clock < begun) {
            true => Err(Wrong::Other(format!("it was begun at {}, {}", shown(begun), self.taken()))),
            false => Ok(()),
        }
    }

    /// A server may have begun its first log anew within the second in which the dump was taken: then transactions have to tell that it is the
    /// one that the dump was taken at.
    fn check_second(&self, seen: &Seen) -> Result<(), Wrong> {
        let is_of_that_second = self.clock.is_some_and(|clock| clock / 1_000_000 == u64::from(seen.begun));
        match is_of_that_second && log_number(&self.log) == 1 && seen.is_untold && !seen.is_told {
            true => Err(Wrong::Other(
                "it was begun in the second in which the dump was taken, and nothing in it tells whether before or after that".into(),
            )),
            false => Ok(()),
        }
    }

    fn check_number(&self, item: &Item<'_>) -> Result<(), Wrong> {
        let number = xid(item.event.body, item.format)?;
        match self.query_id.is_some_and(|query_id| query_id < number) {
            true => Err(Wrong::Other(format!(
                "the transaction that ends at {} in it came after the dump was taken (XID {number})",
                item.event.end
            ))),
            false => Ok(()),
        }
    }

    fn taken(&self) -> String {
        format!("and the dump was taken before, at {} by the server's clock", shown(self.clock.unwrap_or(0)))
    }

    /// The dump was taken between two transactions.
    fn check_place(&self, item: &Item<'_>) -> Result<(), Wrong> {
        let is_inside = matches!(item.place, Place::Inside | Place::Last);
        match item.event.position != self.position || is_inside {
            true => Err(Wrong::Other(format!("no transaction ends at {} in it", self.position))),
            false => Ok(()),
        }
    }

    /// What the log holds up to the position must be in the dump: of MariaDB the last of each domain is what its position tells.
    fn check_gtids(&self, seen: &Seen) -> Result<(), String> {
        let gtids = &self.gtids;
        let others = seen.last.values().filter(|gtid| !gtids.contains(&Gtid::Mariadb(**gtid)));
        let mut others: Vec<_> = others.map(ToString::to_string).collect();
        if !gtids.contains_all(&seen.set) {
            others.push(seen.set.to_string());
        }
        if others.is_empty() {
            return Ok(());
        }
        let dumped = if gtids.is_empty() { "none".to_owned() } else { gtids.to_string() };
        Err(format!(
            "up to {} it has the transactions {}, and the dump {dumped} (GTIDs)",
            self.position,
            others.join(",")
        ))
    }

    /// The options that begin in the logs of a replica's source. MySQL's parallel appliers may be ahead of the place that the replica tells.
    fn beginning(&self) -> String {
        match self.gtids.to_string() {
            gtids if gtids.contains(':') => format!("--start-position and --exclude-gtids {gtids}"),
            _ => "--start-position".into(),
        }
    }

    fn refusal(&self, why: &str) -> Error {
        let Self { log, position, replicates_from, .. } = self;
        let what = format!("--after: this {log} is not the log that the dump was taken at: {why}");
        Error::with_hint(
            what,
            match &replicates_from[..] {
                [] => format!(
                    "take the logs of the server that was dumped, from that {log} on; where these are known to go on from the dump, \
                     --start-position tells where in the first of them, in place of --after"
                ),
                places => format!(
                    "take the logs of the server that was dumped, from that {log} at {position} on; it was a replica, and in the logs of \
                     its source the dump is at {}: name these, with {} in place of --after",
                    places.join(", "),
                    self.beginning()
                ),
            },
        )
    }
}

/// What was seen of the log.
#[derive(Debug, Default)]
struct Seen {
    /// Transactions of MySQL up to here.
    set: GtidSet,
    /// The last one of each domain of MariaDB.
    last: BTreeMap<u32, MariadbGtid>,
    /// Whether the dump's position was come to.
    is_behind: bool,
    /// When the log was begun, in seconds since 1970.
    begun: u32,
    /// Whether a transaction has told that it came before the dump, and whether one could not.
    is_told: bool,
    is_untold: bool,
}

/// Why it is not the log.
enum Wrong {
    /// An event does not hold what it should.
    Malformed,
    Other(String),
}

impl From<Short> for Wrong {
    fn from(_: Short) -> Self {
        Self::Malformed
    }
}

impl From<String> for Wrong {
    fn from(why: String) -> Self {
        Self::Other(why)
    }
}

/// A time in microseconds since 1970.
fn shown(microseconds: u64) -> String {
    let timestamp = i64::try_from(microseconds).ok().and_then(|time| Timestamp::from_microsecond(time).ok());
    timestamp.map(|timestamp| timestamp.to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_log_of_the_second_of_the_dump_has_to_be_told() {
        let is_taken = |log: &str, begun: u32, is_told: bool, is_untold: bool| {
            let after = After { log: log.into(), clock: Some(100_500_000), ..After::default() };
            after.check_second(&Seen { begun, is_told, is_untold, ..Seen::default() }).is_ok()
        };
        assert!(!is_taken("b.000001", 100, false, true));
        // An earlier second, another number, transactions with their times, and none at all.
        assert!(is_taken("b.000001", 99, false, true) && is_taken("b.000002", 100, false, true));
        assert!(is_taken("b.000001", 100, true, true) && is_taken("b.000001", 100, false, false));
    }
}
