//! What of the logs the target has applied already, whoever did it: the target itself, as the server that wrote them or as a replica of it, or
//! a replay of another name. Logs are told by what is in them, not by the names of their files.

use std::collections::BTreeMap;

use drover_db::{Connection, er, server};

use crate::chain::Item;
use crate::event::{Gtid, MariadbGtid};
use crate::gtid_set::GtidSet;
use crate::log::{Header, Kind, MAGIC, Short};
use crate::server::ServerLogs;
use crate::source::{are_of_one_list, log_number};
use crate::{Error, Result};

use super::destination::Destination;
use super::position::Found;
use super::transaction::Start;

/// What the target has applied.
#[derive(Debug, Default)]
pub(super) struct Applied {
    /// Nothing where the target was filled anew since.
    known: Option<Known>,
    /// The servers that the target replicates from.
    sources: Vec<Replicated>,
    /// What must be there of the logs before the first, where nothing says where to begin.
    before: Option<Before>,
    log: Log,
}

/// What the target and the replays on it tell.
#[derive(Debug, Default)]
struct Known {
    server_id: u32,
    /// MySQL's `gtid_executed`.
    executed: GtidSet,
    /// MariaDB's `gtid_slave_pos` and `gtid_binlog_state`.
    replicated: GtidSet,
    logged: GtidSet,
    /// Replays of other names, by these.
    others: BTreeMap<String, Found>,
    /// The target's own logs and when each was begun, in seconds since 1970, the oldest first, once it was asked.
    own_logs: Option<Vec<(String, u32)>>,
}

/// A server that the target replicates from.
#[derive(Debug)]
struct Replicated {
    server_id: u32,
    is_running: bool,
    /// Up to where its logs were applied.
    log: String,
    position: u64,
    /// Whether that place was come to.
    is_behind: bool,
}

/// Transactions that may have come before the first log.
#[derive(Debug, Default)]
pub(super) struct Before {
    /// Those that are left out by name.
    pub(super) excluded: GtidSet,
    mysql: Option<GtidSet>,
    mariadb: Option<Vec<MariadbGtid>>,
}

/// The log at hand.
#[derive(Debug, Default)]
struct Log {
    name: String,
    server_id: u32,
    begun: u32,
    /// Whether it is one of the target's own, once that was looked at.
    is_own: Option<bool>,
}

impl Applied {
    /// Asks the target. It was filled `anew` if nothing that it did before counts; `others` are replays of other names that took rows of what is
    /// wanted; `before` is for logs of which nothing says where to begin. An earlier run of one that `goes_on` was where the target had come to
    /// as a replica.
    pub(super) fn of(
        connection: &mut Connection,
        anew: bool,
        goes_on: bool,
        others: BTreeMap<String, Found>,
        before: Option<Before>,
    ) -> drover_db::Result<Self> {
        let known = if anew { None } else { Some(Known::of(connection, others)?) };
        let mut sources = replicated(connection)?;
        sources.iter_mut().for_each(|source| source.is_behind = goes_on);
        Ok(Self { known, sources, before, log: Log::default() })
    }

    /// Takes in what a log tells of itself.
    pub(super) fn see(&mut self, item: &Item<'_>, name: &str) -> Result<(), Short> {
        let event = &item.event;
        if event.kind == Kind::FORMAT_DESCRIPTION {
            let (server_id, begun) = (event.header.server_id, event.header.timestamp);
            self.log = Log { name: name.to_owned(), server_id, begun, is_own: None };
        }
        for source in &mut self.sources {
            source.is_behind |= source.server_id == self.log.server_id
                && source.log == self.log.name
                && event.end >= source.position;
        }
        if let Some(before) = self.before.as_mut().filter(|_| item.number == 0) {
            match event.kind {
                Kind::PREVIOUS_GTIDS => before.mysql = Some(GtidSet::parse_mysql(event.body)?),
                Kind::MARIADB_GTID_LIST => before.mariadb = Some(GtidSet::list(event.body)?),
                _ => {}
            }
        }
        Ok(())
    }

    /// Refuses a transaction that is about to be applied, if it was before; `first` is the head of its first event.
    pub(super) fn check(
        &mut self,
        at: &Start,
        first: &Header,
        gtid: Option<&Gtid<'_>>,
        destination: &Destination,
    ) -> Result<()> {
        let log = &mut self.log;
        let has_gtid = gtid.is_some_and(|gtid| !gtid.is_anonymous());
        for source in &self.sources {
            if source.has(log, at, has_gtid) {
                return Err(source.refusal(at));
            }
        }
        if let Some(before) = self.before.take() {
            before.check(self.known.as_ref(), log, gtid)?;
        }
        let Some(known) = &mut self.known else { return Ok(()) };
        if let Some(gtid) = gtid.filter(|gtid| known.has(gtid, log.server_id)) {
            return Err(refusal(&format!("{at}: the target has executed {gtid} already")));
        }
        if log.server_id == known.server_id && known.is_own(log, destination)? {
            return Err(refusal(&format!("{at}: the target wrote this log itself")));
        }
        let is_replicas = first.server_id == known.server_id && log.server_id != known.server_id;
        if !has_gtid && is_replicas && known.server_id != 0 {
            return Err(refusal(&format!(
                "{at}: the target may have written this itself: it has the server_id {}, as the target has, in the log of another server",
                first.server_id
            )));
        }
        let dumped =
            |(_, other): &(&String, &Found)| other.is_in_its_dump(&log.name, log.server_id, log.begun);
        if let Some((name, _)) = known.others.iter().find(dumped) {
            return Err(refusal(&format!(
                "{at}: the dump that the replay named '{name}' began behind holds this already"
            )));
        }
        let has = |(_, other): &(&String, &Found)| {
            other.provenance.takes(gtid) && other.has(&log.name, log.server_id, log.begun, at.position)
        };
        known.others.iter().find(has).map_or(
            Ok(()),
            |(name, other)| {
                if other.is_at_work {
                    return Err(Error::with_hint(
                        format!("{at}: the replay named '{name}' is at work on the target, on logs of this server"),
                        "wait until it has ended; two that are to work side by side choose different schemas or tables, with --database or --table",
                    ));
                }
                let (log, position) = (&other.mark.log, other.mark.position);
                Err(Error::with_hint(
                    format!(
                        "{at}: the replay named '{name}' has applied this already; it has come to {log} at {position} on the target"
                    ),
                    format!("--resume --name {name} goes on behind it; {ANEW}"),
                ))
            },
        )
    }
}

/// What a person does who knows that it has to be applied again.
const ANEW: &str = "where the target was filled anew since, as from a dump, --restart applies it again";

fn refusal(what: &str) -> Error {
    Error::with_hint(
        what,
        format!("{ANEW}; --flashback undoes what a server did; --exclude-gtids leaves transactions out"),
    )
}

impl Known {
    fn of(connection: &mut Connection, others: BTreeMap<String, Found>) -> drover_db::Result<Self> {
        let mut set = |name: &str| {
            let value = server::variable(connection, name)?;
            // What is no set tells nothing.
            Ok::<GtidSet, drover_db::Error>(value.and_then(|value| value.parse().ok()).unwrap_or_default())
        };
        let executed = set("GLOBAL.gtid_executed")?;
        let (replicated, logged) = (set("GLOBAL.gtid_slave_pos")?, set("GLOBAL.gtid_binlog_state")?);
        let server_id = server::variable(connection, "GLOBAL.server_id")?;
        let server_id = server_id.and_then(|id| id.parse().ok()).unwrap_or(0);
        Ok(Self { server_id, executed, replicated, logged, others, own_logs: None })
    }

    /// Whether the target has executed a transaction of a log of this server. Of MariaDB, another server with the same `server_id` may have
    /// given the same number: what is in logs of that server is told by the logs.
    fn has(&self, gtid: &Gtid<'_>, log_of: u32) -> bool {
        let Gtid::Mariadb(MariadbGtid { domain, server, number, .. }) = *gtid else {
            return self.executed.contains(gtid);
        };
        let reaches = |highest: Option<u64>| highest.is_some_and(|highest| highest >= number);
        let may_be_twin = server == self.server_id && log_of == self.server_id;
        reaches(self.replicated.highest(domain, None))
            || (!may_be_twin && reaches(self.logged.highest(domain, Some(server))))
    }

    /// Whether the target wrote a log itself. Its logs are known by the time at which each was begun; one that it has deleted since, by a
    /// number below those that it has.
    fn is_own(&mut self, log: &mut Log, destination: &Destination) -> Result<bool> {
        if let Some(is_own) = log.is_own {
            return Ok(is_own);
        }
        let own = self.own_logs(destination)?;
        let is_gone = own.first().is_some_and(|(oldest, _)| {
            are_of_one_list(oldest, &log.name) && log_number(&log.name) < log_number(oldest)
        });
        let is_own = is_gone || log.begun != 0 && own.iter().any(|(_, begun)| *begun == log.begun);
        log.is_own = Some(is_own);
        Ok(is_own)
    }

    fn own_logs(&mut self, destination: &Destination) -> Result<&[(String, u32)]> {
        if self.own_logs.is_none() {
            self.own_logs = Some(own_logs(destination)?);
        }
        Ok(self.own_logs.as_deref().unwrap_or_default())
    }
}

/// The target's logs and when each was begun; none if it writes none.
fn own_logs(destination: &Destination) -> Result<Vec<(String, u32)>> {
    let target = destination.as_origin();
    let begun = |name: String| ServerLogs::begun(&target, &name).map(|begun| (name, begun));
    let listed = ServerLogs::names(&target).and_then(|names| names.into_iter().map(begun).collect());
    match listed {
        Err(Error::Server { source, .. })
            if source.is_denied() || source.code() == Some(er::NO_BINARY_LOGGING) =>
        {
            Ok(Vec::new())
        }
        Err(Error::Found { .. }) => Ok(Vec::new()),
        listed => listed,
    }
}

impl Replicated {
    /// Whether it has what begins there, for all that is known: names of files do not tell what comes behind the place, unless it was come to,
    /// but GTIDs do.
    fn has(&self, log: &Log, at: &Start, has_gtid: bool) -> bool {
        if self.server_id != log.server_id {
            return false;
        }
        let is_before = match *self.log == *at.log {
            true => at.position < self.position,
            false if are_of_one_list(&self.log, &at.log) && log_number(&at.log) < log_number(&self.log) => {
                true
            }
            false => !self.is_behind && !has_gtid,
        };
        self.is_running || is_before
    }

    fn refusal(&self, at: &Start) -> Error {
        let Self { server_id, log, position, .. } = self;
        Error::with_hint(
            format!(
                "{at}: the target replicates from the server of this log (server_id {server_id}), and has come to {log} at {position} there"
            ),
            "what a replica applies is not applied by hand too: to take what comes behind, STOP REPLICA (STOP SLAVE on MariaDB) \
             and begin there with --start-position; RESET REPLICA ALL, or RESET SLAVE ALL, makes it no replica",
        )
    }
}

/// The servers that the target replicates from, as far as the account may see them.
fn replicated(connection: &mut Connection) -> drover_db::Result<Vec<Replicated>> {
    for statement in ["SHOW ALL SLAVES STATUS", "SHOW REPLICA STATUS", "SHOW SLAVE STATUS"] {
        let rows = match connection.query(statement) {
            Ok(rows) => rows,
            // Not known to this server, or not allowed to this account.
            Err(error) if error.code().is_some() => continue,
            Err(error) => return Err(error),
        };
        let column = |names: [&str; 2]| names.into_iter().find_map(|name| rows.column(name));
        let server_id = column(["Source_Server_Id", "Master_Server_Id"]);
        let log = column(["Relay_Source_Log_File", "Relay_Master_Log_File"]);
        let position = column(["Exec_Source_Log_Pos", "Exec_Master_Log_Pos"]);
        let sql = column(["Replica_SQL_Running", "Slave_SQL_Running"]);
        let (Some(server_id), Some(log), Some(position), Some(sql)) = (server_id, log, position, sql) else {
            continue;
        };
        let of = |row: &drover_db::Row| Replicated {
            server_id: row.parse(server_id).unwrap_or(0),
            is_running: row.string(sql) != "No",
            log: row.string(log),
            position: row.parse(position).unwrap_or(0),
            is_behind: false,
        };
        return Ok(rows.rows.iter().map(of).collect());
    }
    Ok(Vec::new())
}

impl Before {
    /// Leaves out these; all others must be there.
    pub(super) fn excluding(excluded: Option<GtidSet>) -> Self {
        Self { excluded: excluded.unwrap_or_default(), mysql: None, mariadb: None }
    }

    /// Refuses a first log that is not the first, if the target lacks what came before it.
    fn check(&self, known: Option<&Known>, log: &Log, first: Option<&Gtid<'_>>) -> Result<()> {
        let lacks = |gtid: &&MariadbGtid| {
            let gtid = Gtid::Mariadb(**gtid);
            !self.excluded.contains(&gtid) && !known.is_some_and(|known| known.has(&gtid, log.server_id))
        };
        let has = |set: &GtidSet| {
            self.excluded.contains_all(set) || known.is_some_and(|known| known.executed.contains_all(set))
        };
        let why = match (&self.mysql, &self.mariadb) {
            (Some(set), _) if !has(set) => format!("transactions came before it, up to {set}"),
            (_, Some(list)) if list.iter().any(|gtid| lacks(&gtid)) => {
                let last: Vec<_> = list.iter().map(ToString::to_string).collect();
                format!("transactions came before it, up to {}", last.join(","))
            }
            // Where transactions have identifiers, the log tells all that came before.
            (_, Some(_)) => return Ok(()),
            (Some(_), _) if first.is_some_and(|gtid| !gtid.is_anonymous()) => return Ok(()),
            _ if log_number(&log.name) > 1 => "others came before it".to_owned(),
            _ => return Ok(()),
        };
        Err(Error::with_hint(
            format!("{} is the oldest log there is, and not the first: {why}", log.name),
            format!(
                "--after DUMP begins where a dump was taken, --start-position where you say: {} is the beginning of the oldest log",
                MAGIC.len()
            ),
        ))
    }
}
