//! What is to be done, before anything is: the statement, the key, the replicas, and what an earlier run of the same command has done.

use std::path::{Path, PathBuf};

use drover_db::options::{ConnectOptions, beside};
use drover_db::session::Isolation;
use drover_db::sql::Dialect;
use drover_db::table::Mark;
use drover_db::{Connection, health, quote, server};

use crate::args::ChunkArgs;
use crate::code::Verb;
use crate::defaults::Moment;
use crate::error::Doing;
use crate::fixed;
use crate::key::{self, Walk};
use crate::report::PlanReport;
use crate::state::{State, Tally, Task};
use crate::statement::{Statement, told};
use crate::table::{self, Given, Table};
use crate::{Error, Result};

/// A run that can begin, or go on.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) statement: Statement,
    pub(crate) table: Table,
    pub(crate) walk: Walk,
    pub(crate) state: State,
    /// `None` for a table without rows.
    pub(crate) task: Option<Task>,
    pub(crate) tally: Tally,
    /// How many parts were done before; `None` for a run that begins.
    pub(crate) parts_before: Option<u64>,
    pub(crate) takes_hints: bool,
    pub(crate) isolation: Isolation,
    pub(crate) replicas: Vec<ConnectOptions>,
    pub(crate) warnings: Vec<String>,
}

impl Plan {
    /// Looks at all that is needed; changes nothing, but keeps others from running the same.
    ///
    /// # Errors
    /// Why the statement cannot be run in parts, or be gone on with.
    pub(crate) fn make(
        connection: &mut Connection,
        args: &ChunkArgs,
        options: &ConnectOptions,
    ) -> Result<Self> {
        let mut warnings = Vec::new();
        let dialect = dialect(connection)?;
        let given = Statement::read(&args.statement, dialect)?;
        if args.archive.is_some() && given.verb != Verb::Delete {
            return Err(Error::with_hint(
                "--archive is for a DELETE: nothing else removes rows",
                "leave it out",
            ));
        }
        let of_tables =
            Given { archives: args.archive.is_some(), allows_hidden_triggers: args.allow_hidden_triggers };
        let table = table::examine(connection, &given, of_tables, &mut warnings)?;
        let state = State::of(&table.name, &told(&args.statement, dialect));
        if !args.dry_run {
            state.lock(connection)?;
        }
        let archive = args.archive.as_deref().map(absolute).transpose()?;
        let earlier = state.read(connection)?;
        let (statement, walk, task, tally, parts_before) = match earlier {
            Some((task, tally, parts)) => {
                check_same_table(args, &table, &task, &state, &mut warnings)?;
                let statement = Statement::read(&task.text, dialect)?;
                let walk = go_on(connection, args, &statement, &table, &task, &state)?;
                (statement, walk, Some(task), tally, Some(parts))
            }
            None => {
                let others = state.others(connection, &table.name)?;
                refuse_beside(&table, &others)?;
                let text =
                    fixed::fixed(connection, &args.statement, &moments(&args.statement, &given, &table))?;
                let statement = Statement::read(&text, dialect)?;
                let walk = Walk::choose(connection, &statement, &table, args.key.as_deref())?;
                let end = walk.last(connection)?;
                let task = end.map(|end| task(&args.statement, text, &walk, end, archive, &table));
                (statement, walk, task, Tally::default(), None)
            }
        };
        take_zero_dates(connection, &walk, statement.verb, &mut warnings)?;
        let replicas = replicas(connection, args, options, &mut warnings)?;
        Ok(Self {
            takes_hints: key::takes_hints(connection)?,
            isolation: isolation(connection)?,
            statement,
            table,
            walk,
            state,
            task,
            tally,
            parts_before,
            replicas,
            warnings,
        })
    }

    /// The text of a part.
    pub(crate) fn part(&self, range: &str) -> String {
        self.statement.part(&self.walk.key.index, range, self.takes_hints)
    }

    /// What would be done.
    ///
    /// # Errors
    /// What the server said.
    pub(crate) fn report(self, connection: &mut Connection, first_rows: u64) -> Result<PlanReport> {
        let end = self.task.as_ref().map(|task| task.end.clone()).unwrap_or_default();
        let first_part = match end.is_empty() {
            true => None,
            false => {
                let last = self.tally.last.as_deref();
                let border = self.walk.border(connection, last, &end, first_rows)?;
                Some(self.part(&self.walk.range(last, &border.values)))
            }
        };
        Ok(PlanReport {
            dry_run: true,
            table: self.table.name.to_string(),
            key: self.walk.key.index.clone(),
            rows: self.table.rows,
            end,
            first_part,
            isolation: self.isolation.to_string(),
            replicas: self.replicas.iter().map(|replica| replica.address.to_string()).collect(),
            parts_before: self.parts_before,
            warnings: self.warnings,
        })
    }
}

/// What tells the time of the statement, in the text's order.
fn moments(text: &str, given: &Statement, table: &Table) -> Vec<Moment> {
    let written =
        given.moments.iter().filter_map(|range| Some((range.clone(), text.get(range.clone())?.into())));
    let mut all: Vec<_> = written.chain(table.moments.iter().cloned()).collect();
    all.sort_by_key(|(range, _)| range.start);
    all
}

fn dialect(connection: &mut Connection) -> Result<Dialect> {
    let mode = server::variable(connection, "sql_mode").doing(|| "reading sql_mode")?;
    Ok(Dialect::of(&mode.unwrap_or_default(), "utf8mb4"))
}

fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).map_err(Error::file(path))
}

fn task(
    given: &str,
    text: String,
    walk: &Walk,
    end: Vec<String>,
    archive: Option<PathBuf>,
    table: &Table,
) -> Task {
    Task {
        statement: given.to_owned(),
        text,
        index: walk.key.index.clone(),
        columns: walk.key.columns.iter().map(|column| column.name.clone()).collect(),
        end,
        archive,
        table: Some(table.name.to_string()),
        created: table.created.clone(),
        mark: match &table.mark {
            Mark::Of(mark) => Some(mark.clone()),
            Mark::Hidden | Mark::NotNumbered => None,
        },
    }
}

/// A key may hold dates with zeros, and borders are written as values: in modes that refuse them a part would end with error 1292.
fn take_zero_dates(
    connection: &mut Connection,
    walk: &Walk,
    verb: Verb,
    warnings: &mut Vec<String>,
) -> Result<()> {
    const REFUSING: [&str; 3] = ["NO_ZERO_DATE", "NO_ZERO_IN_DATE", "TRADITIONAL"];
    let mode = server::variable(connection, "sql_mode").doing(|| "reading sql_mode")?.unwrap_or_default();
    let kept: Vec<_> = mode.split(',').filter(|mode| !REFUSING.contains(mode)).collect();
    if !walk.has_dates() || kept.len() == mode.split(',').count() {
        return Ok(());
    }
    if verb != Verb::Delete {
        warnings.push(format!(
            "the key {} may hold dates with zeros: NO_ZERO_DATE and NO_ZERO_IN_DATE do not hold in this run",
            walk.key.index
        ));
    }
    connection.set("sql_mode", quote::string(&kept.join(","))).doing(|| "setting sql_mode")
}

/// The key of a run that was begun, if it can be gone on with.
fn go_on(
    connection: &mut Connection,
    args: &ChunkArgs,
    statement: &Statement,
    table: &Table,
    task: &Task,
    state: &State,
) -> Result<Walk> {
    let state = state.name();
    let archive = args.archive.as_deref().map(absolute).transpose()?;
    let archive = archive.as_deref();
    let anew = format!("or DROP TABLE {state}, and what was done so far is forgotten");
    if task.archive.as_deref() != archive {
        let kept = task.archive.as_deref().map_or("no archive".into(), |path| path.display().to_string());
        return Err(Error::with_hint(
            format!("an earlier run of this statement was not finished; it had {kept}"),
            format!("resume it with the same --archive, {anew}"),
        ));
    }
    let walk = Walk::choose(connection, statement, table, Some(&task.index))?;
    let is_same = walk.key.columns.iter().map(|column| &column.name).eq(&task.columns);
    let is_wanted = args.key.as_ref().is_none_or(|key| key.eq_ignore_ascii_case(&task.index));
    match is_same && is_wanted {
        true => Ok(walk),
        false => Err(Error::with_hint(
            format!(
                "an earlier run of this statement was not finished; it walked along {} ({})",
                task.index,
                task.columns.join(", ")
            ),
            format!("resume it with the same key, {anew}"),
        )),
    }
}

/// A table that was made anew, or emptied by TRUNCATE and filled again, has other rows, of which the run has changed none.
fn check_same_table(
    args: &ChunkArgs,
    table: &Table,
    task: &Task,
    state: &State,
    warnings: &mut Vec<String>,
) -> Result<()> {
    let what = match (&task.created, &table.created) {
        (Some(then), Some(now)) if then != now => {
            format!("on a table {} that was created at {then}; this one was created at {now}", table.name)
        }
        _ => match is_same_table(task.mark.as_deref(), &table.mark) {
            Ok(true) => return Ok(()),
            Ok(false) => format!("and {} was emptied by TRUNCATE, created anew or rebuilt since", table.name),
            Err(why) => {
                warnings.push(format!(
                    "whether {} was emptied by TRUNCATE since the earlier run is not known: {why}",
                    table.name
                ));
                return Ok(());
            }
        },
    };
    if args.altered {
        return Ok(());
    }
    Err(Error::with_hint(
        format!("an earlier run of this statement was not finished, {what}"),
        format!(
            "if its rows are the same, as after an ALTER or OPTIMIZE, --altered resumes the run; if it has other rows, DROP TABLE {} forgets that run",
            state.name()
        ),
    ))
}

/// By InnoDB's numbers, if both are known and of the same view; else why it is not known.
fn is_same_table(then: Option<&str>, now: &Mark) -> std::result::Result<bool, &'static str> {
    let now = match now {
        Mark::Of(now) => now.as_str(),
        Mark::Hidden => return Err("this account may not see InnoDB's number of it (PROCESS)"),
        Mark::NotNumbered => return Err("the server has no number for it"),
    };
    let then = then.ok_or("the earlier run did not note InnoDB's number of it")?;
    let view = |mark: &str| mark.split(' ').next().map(str::to_owned);
    match view(then) == view(now) {
        true => Ok(then == now),
        false => Err("the server numbered it in another way then"),
    }
}

/// Another statement on the same table that was not finished may be this one, written otherwise: rows would be changed twice.
fn refuse_beside(table: &Table, others: &[(String, u64, String)]) -> Result<()> {
    let Some((statement, parts, state)) = others.first() else { return Ok(()) };
    Err(Error::with_hint(
        format!("a run of another statement on {} was not finished: {statement}", table.name),
        format!(
            "run that statement again to resume it; if it cannot be finished or is no longer wanted, DROP TABLE {state} forgets it, and \
             what its {parts} parts have changed stays"
        ),
    ))
}

/// Statements are safe to log only where reads can be repeated; rows are logged in any level, and lock less in the other.
fn isolation(connection: &mut Connection) -> Result<Isolation> {
    let mut value = |name: &str| server::variable(connection, name).doing(|| format!("reading {name}"));
    let is_logged = value("log_bin")?.is_some_and(|value| value == "1");
    let format = value("binlog_format")?.unwrap_or_else(|| "ROW".into());
    let are_rows = !is_logged || format == "ROW";
    Ok(if are_rows { Isolation::ReadCommitted } else { Isolation::RepeatableRead })
}

/// The replicas that are watched.
fn replicas(
    connection: &mut Connection,
    args: &ChunkArgs,
    options: &ConnectOptions,
    warnings: &mut Vec<String>,
) -> Result<Vec<ConnectOptions>> {
    if args.max_lag.is_none() {
        // Who may not ask is not warned.
        let count = health::registered_replicas(connection).map_or(0, |replicas| replicas.len());
        if count > 0 {
            warnings.push(format!(
                "{count} of this server's replicas are not watched: --max-lag 2s keeps their lag low"
            ));
        }
        return Ok(Vec::new());
    }
    if server::is_tidb(connection).doing(|| "asking for the server's version")? {
        return Err(Error::with_hint(
            "--max-lag watches replicas, and TiDB has none that read a binary log",
            "--max-load and --chunk-time limit the work there",
        ));
    }
    if !args.replica.is_empty() {
        let named = args.replica.iter().map(|url| beside(&args.server, url));
        return named
            .map(|found| found.map_err(|error| Error::found(format!("--replica: {error}"))))
            .collect();
    }
    let found = health::registered_replicas(connection).doing(|| "--max-lag: asking for the replicas")?;
    let addresses = found.into_iter().map(|replica| {
        let address = replica.address.ok_or_else(|| {
            Error::with_hint(
                format!(
                    "--max-lag: the replica with server id {} does not say where it is",
                    replica.server_id
                ),
                "name all replicas with --replica mysql://HOST:PORT, or set report_host there",
            )
        })?;
        Ok(ConnectOptions { address, ..options.clone() })
    });
    let all = addresses.collect::<Result<Vec<_>>>()?;
    match all.is_empty() {
        true => Err(Error::with_hint(
            "--max-lag: the server knows of no replica",
            "name the replicas with --replica mysql://HOST:PORT, or leave --max-lag out",
        )),
        false => Ok(all),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn why_a_table_is_not_known_to_be_the_same() {
        let now = Mark::Of("INNODB_TABLES 7\n".into());
        assert_eq!(is_same_table(Some("INNODB_TABLES 7\n"), &now), Ok(true));
        assert_eq!(is_same_table(Some("INNODB_TABLES 6\n"), &now), Ok(false));
        let why = |then, now| is_same_table(then, now).unwrap_err();
        assert!(why(None, &now).contains("did not note"));
        assert!(why(Some("INNODB_SYS_TABLES 7\n"), &now).contains("another way"));
        assert!(why(Some("INNODB_TABLES 7\n"), &Mark::Hidden).contains("PROCESS"));
        assert!(why(None, &Mark::NotNumbered).contains("no number"));
    }
}
