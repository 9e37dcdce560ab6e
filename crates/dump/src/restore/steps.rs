//! How far a restore or a copy has come, noted in a table on the target: the step of a file or chunk is committed with its rows,
//! so that it was loaded if and only if the table says so. The table is there from the first change of the target to the last; `--resume`
//! goes on from it.
//!
//! Sessions of one that was killed may still be at work, on an index for one. Each worker holds a lock by name, which
//! tells them from all others: who goes on ends them first.

use std::collections::BTreeSet;
use std::hash::{BuildHasher as _, RandomState};
use std::ops::RangeInclusive;
use std::time::Duration;

use drover_db::{Cluster, Connection, er, quote};

use super::rename::Renames;
use crate::dump::catalog::{self, Name};
use crate::error::Doing;
use crate::translate::Finding;
use crate::{Error, Result};
use drover_format::digest::Digest;
use drover_format::manifest::Manifest;

/// The steps of a restore or a copy.
#[derive(Debug)]
pub(crate) struct Steps {
    /// Which of the two, for messages.
    work: &'static str,
    table: Name,
    /// Not where no schema is filled, which could hold the table: then there are accounts alone, which are made anew.
    are_kept: bool,
    /// What an earlier run did.
    done: BTreeSet<String>,
    /// Whether there was one, and it did not come to its end.
    pub(crate) is_there: bool,
    /// What other dumps and copies have left in the schema that did not come to their end.
    others: Vec<Name>,
    /// The step that stands for this run, and no other one.
    own: String,
}

/// What the step that stands for a run begins with.
const RUN: &str = "run ";

const RESTORE: &str = "restore";

/// What a step begins with that holds what the server warned of.
const WARNING: &str = "warning ";

/// The step that comes behind all that a run notes before it changes a schema.
const BEGUN: &str = "begun";

/// What a step begins with that holds what a trial found.
const FOUND: &str = "found ";

/// Bytes of the longest step.
const LONGEST: usize = 700;

/// Locks by name hold on one server: of another node of its cluster nobody is kept out by them.
const BY_ANOTHER_NODE: &str = "let one run at a time fill a schema, through one node of a cluster; when the other one has ended, --drop-existing \
                               begins anew";

/// What the names of the tables begin with; so many digits of a digest follow.
const BEGINNINGS: [&str; 3] = ["drover_restore_", "drover_copy_", "drover_check_"];
const DIGITS: usize = 12;

/// Whether a table has the name of one that notes how far a restore or a copy into its schema is, or that it is tried.
pub(crate) fn is_note(table: &str) -> bool {
    BEGINNINGS.iter().any(|begin| has_digits(table, begin, DIGITS))
}

/// The same for any of drover's: an unfinished `drover chunk` has such a table beside the one that it changes.
pub(crate) fn is_any_note(table: &str) -> bool {
    const CHUNK_DIGITS: usize = 16;
    is_note(table) || has_digits(table, "drover_chunk_", CHUNK_DIGITS)
}

fn has_digits(table: &str, begin: &str, count: usize) -> bool {
    let digits = table.strip_prefix(begin);
    digits.is_some_and(|digits| digits.len() == count && digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// The lock of the session that all others follow.
const COORDINATOR: usize = 0;
/// As many as `--threads` takes.
const MOST_WORKERS: usize = 512;

/// Keeps others out of the schemas that are filled, until this session ends: whatever dump or server their rows are from.
/// Before MySQL 5.7 a session holds one lock at a time, which the last schema gets and then the steps.
///
/// # Errors
/// If another run fills one of them.
pub(crate) fn lock_schemas(
    coordinator: &mut Connection,
    manifest: &Manifest,
    renames: &Renames,
) -> Result<()> {
    for schema in &manifest.schemas {
        let schema = renames.schema(&schema.name);
        // Some servers take names that differ in case alone for one.
        let digest = Digest::of(schema.to_lowercase().as_bytes()).to_string();
        let name = quote::string(&format!("drover_into_{}", &digest[..12]));
        let doing = || format!("taking the lock {name}");
        // The session of a client that was just killed ends in a moment.
        let sql = format!("SELECT GET_LOCK({name}, 3), IS_USED_LOCK({name})");
        let row = coordinator.first(sql).doing(doing)?;
        if row.as_ref().and_then(|row| row.parse::<u8>(0)) == Some(1) {
            continue;
        }
        let id =
            row.as_ref().and_then(|row| row.parse::<u64>(1)).map_or_else(|| "?".into(), |id| id.to_string());
        return Err(Error::with_hint(
            format!("another run that fills `{schema}` is at work, as connection {id}: nothing was changed"),
            format!("wait for it; or, if its client is gone for good, KILL {id}"),
        ));
    }
    Ok(())
}

/// The table of the steps of the work that this text tells from all others. `schema` holds them; it is empty where none is filled.
pub(crate) fn note(work: &str, schema: &str, id: &str) -> Name {
    let id = Digest::of(id.as_bytes()).to_string();
    Name::new(schema, &format!("drover_{work}_{}", &id[..DIGITS]))
}

/// That of a dump's restore.
pub(super) fn note_of_restore(manifest: &Manifest, renames: &Renames) -> Name {
    let schema = manifest.schemas.first().map_or("", |schema| renames.schema(&schema.name));
    note(RESTORE, schema, &format!("{}{}{schema}", manifest.finished_at, manifest.snapshot.taken_at))
}

/// The table that stands in a schema while a trial makes and drops there what a dump holds.
pub(super) fn mark_of_trial(schema: &str) -> Name {
    note("check", schema, schema)
}

/// What the trial of the run found that keeps its steps in this table; `None` if it was ended before it had noted that.
pub(super) fn findings(connection: &mut Connection, note: &Name) -> Result<Option<Vec<Finding>>> {
    let sql = format!("SELECT step FROM {note} WHERE step = '{BEGUN}' OR step LIKE '{FOUND}%' ORDER BY step");
    let rows = connection.query(sql).doing(|| format!("reading {note}"))?;
    let texts: Vec<_> = rows.into_iter().map(|row| row.string(0)).collect();
    let finding = |text: &String| Finding::parse(text.strip_prefix(FOUND)?);
    Ok(texts.iter().any(|text| text == BEGUN).then(|| texts.iter().filter_map(finding).collect()))
}

impl Steps {
    /// Looks for the steps of an earlier restore of a dump.
    pub(super) fn of_restore(
        connection: &mut Connection,
        manifest: &Manifest,
        renames: &Renames,
    ) -> Result<Self> {
        if manifest.schemas.is_empty() && manifest.users.is_none() {
            return Err(Error::found("the dump holds no schema"));
        }
        Self::find(connection, RESTORE, note_of_restore(manifest, renames))
    }

    /// Looks for the steps of an earlier run of this work in its table.
    pub(crate) fn find(connection: &mut Connection, work: &'static str, table: Name) -> Result<Self> {
        let schema = table.schema.clone();
        let there = catalog::relations(connection)?.into_iter().map(|relation| relation.name);
        let is_noted = |name: &Name| name.schema == schema && is_note(&name.name);
        let (own, others): (Vec<_>, Vec<_>) = there.filter(is_noted).partition(|name| *name == table);
        let is_there = !own.is_empty();
        let are_kept = !schema.is_empty();
        let own = format!("{RUN}{:016x}", RandomState::new().hash_one(connection.id()));
        let mut steps = Self { work, table, are_kept, done: BTreeSet::new(), is_there, others, own };
        if is_there {
            steps.read(connection)?;
        }
        Ok(steps)
    }

    /// Refuses to resume the restore of another dump, whose files may have the same names.
    ///
    /// # Errors
    /// If another restore or copy was not finished there.
    pub(super) fn refuse_others(&self) -> Result<()> {
        let Some(other) = self.others.first() else { return Ok(()) };
        Err(Error::with_hint(
            format!(
                "what was begun in `{}` is of another dump: {other} notes how far it is",
                self.table.schema
            ),
            format!("resume with that dump; or --drop-existing begins anew; DROP TABLE {other} forgets it"),
        ))
    }

    /// Forgets what others have begun whose tables come anew: they would take them for their own.
    pub(super) fn forget_others(&self, connection: &mut Connection) -> Result<()> {
        self.others.iter().try_for_each(|other| {
            let sql = format!("DROP TABLE IF EXISTS {other}");
            connection.execute(&sql).map(drop).doing(|| sql)
        })
    }

    fn read(&mut self, connection: &mut Connection) -> Result<()> {
        let rows = connection
            .query(format!("SELECT step FROM {}", self.table))
            .doing(|| format!("reading {}", self.table))?;
        let steps = rows.into_iter().map(|row| row.string(0));
        self.done = steps.filter(|step| !step.starts_with(RUN)).collect();
        Ok(())
    }

    /// Begins to note steps.
    pub(super) fn begin(&mut self, connection: &mut Connection) -> Result<()> {
        if !self.are_kept {
            return Ok(());
        }
        if self.is_there {
            self.end(connection)?;
        }
        match connection.execute(format!(
            "CREATE TABLE {} (step VARBINARY({LONGEST}) PRIMARY KEY) ENGINE = InnoDB",
            self.table
        )) {
            // ER_TABLE_EXISTS_ERROR: it was not there a moment ago.
            Err(error) if error.code() == Some(er::TABLE_EXISTS) => {
                return Err(self.taken("this one has loaded nothing"));
            }
            made => drop(
                made.doing(|| format!("creating {}, which notes how far the {} is", self.table, self.work))?,
            ),
        }
        self.done.clear();
        self.is_there = false;
        Ok(())
    }

    /// Whether all was noted that is known before the first change of a schema.
    pub(super) fn have_begun(&self) -> bool {
        self.has(BEGUN)
    }

    /// Notes that it was. MariaDB locks all of a table that is empty when rows come: so it never is.
    pub(super) fn note_begun(&self, connection: &mut Connection) -> Result<()> {
        self.note(connection, BEGUN)
    }

    /// Ends: there is nothing to go on with.
    pub(crate) fn end(&self, connection: &mut Connection) -> Result<()> {
        if !self.are_kept {
            return Ok(());
        }
        let sql = format!("DROP TABLE IF EXISTS {}", self.table);
        connection.execute(&sql).map(drop).doing(|| sql)
    }

    fn taken(&self, what: &str) -> Error {
        let what = format!(
            "another run fills `{}` too, through another node of the cluster: {what}",
            self.table.schema
        );
        Error::with_hint(what, BY_ANOTHER_NODE)
    }

    /// Whether no other run has begun since: the steps are not to be found then, or stand for that one.
    fn are_own(&self, connection: &mut Connection) -> Result<bool> {
        if !self.are_kept {
            return Ok(true);
        }
        let sql = format!("SELECT 1 FROM {} WHERE step = {}", self.table, quote::string(&self.own));
        match connection.first(sql) {
            // ER_NO_SUCH_TABLE, ER_BAD_DB_ERROR
            Err(error) if matches!(error.code(), Some(er::NO_SUCH_TABLE | er::BAD_DB)) => Ok(false),
            // Who may load need not be one who may read.
            Err(drover_db::Error::Server(_)) => Ok(true),
            row => Ok(row.doing(|| format!("reading {}", self.table))?.is_some()),
        }
    }

    /// Makes sure that all of it was this run's work.
    ///
    /// # Errors
    /// If another run has begun to fill the schema meanwhile.
    pub(crate) fn check_own(&self, connection: &mut Connection) -> Result<()> {
        match self.are_own(connection)? {
            true => Ok(()),
            false => Err(self.taken("what is there may be of both")),
        }
    }

    /// The same error, with its cause where that is another run.
    pub(crate) fn explained(&self, connection: &mut Connection, error: Error) -> Error {
        match self.are_own(connection) {
            Ok(false) => self.taken(&error.to_string()),
            // Another one that began before goes on without knowing of this one.
            Ok(true) => self.maybe_of_others(connection, error),
            Err(_) => error,
        }
    }

    /// The same error; what may come of another run's work on another node of a cluster has that as a hint.
    pub(super) fn maybe_of_others(&self, connection: &mut Connection, error: Error) -> Error {
        /// What comes of rows and tables that others make and drop.
        const OF_OTHERS: [&str; 5] =
            ["Duplicate entry", "doesn't exist", "already exists", "database exists", "Deadlock found"];
        let text = error.to_string();
        if !OF_OTHERS.iter().any(|words| text.contains(words))
            || !matches!(Cluster::of(connection), Ok(Some(_)))
        {
            return error;
        }
        let own =
            error.hint().or_else(|| text.contains("Deadlock found").then(|| "--resume resumes it".into()));
        let hint = own.map_or_else(String::new, |hint| hint + "; ");
        let if_so =
            format!("if another run fills `{}` through another node: {BY_ANOTHER_NODE}", self.table.schema);
        Error::with_hint(text, hint + &if_so)
    }

    /// Whose they are, in words.
    pub(super) fn whose(&self) -> &'static str {
        if self.work == "copy" { "run of this copy" } else { "restore of this dump" }
    }

    /// Whether an earlier run did this.
    pub(crate) fn has(&self, step: &str) -> bool {
        self.done.contains(step)
    }

    /// What an earlier run did.
    pub(crate) fn done(&self) -> impl Iterator<Item = &str> {
        self.done.iter().map(String::as_str)
    }

    /// Forgets what an earlier run did, as far as it is undone.
    pub(crate) fn undo(
        &mut self,
        connection: &mut Connection,
        is_undone: impl Fn(&str) -> bool,
    ) -> Result<()> {
        let (undone, done) = std::mem::take(&mut self.done).into_iter().partition(|step| is_undone(step));
        self.done = done;
        self.forget(connection, &undone)
    }

    /// Forgets steps, all at once, in the transaction that is open, if there is one.
    pub(crate) fn forget(&self, connection: &mut Connection, steps: &BTreeSet<String>) -> Result<()> {
        if steps.is_empty() || !self.are_kept {
            return Ok(());
        }
        let list: Vec<_> = steps.iter().map(|step| quote::string(step)).collect();
        let sql = format!("DELETE FROM {} WHERE step IN ({})", self.table, list.join(", "));
        connection.execute(sql).map(drop).doing(|| format!("undoing steps in {}", self.table))
    }

    /// Notes a step in the transaction that is open, if there is one.
    pub(crate) fn note(&self, connection: &mut Connection, step: &str) -> Result<()> {
        if !self.are_kept {
            return Ok(());
        }
        let sql = format!("INSERT IGNORE INTO {} VALUES ({})", self.table, quote::string(step));
        connection.execute(sql).map(drop).doing(|| format!("noting a step in {}", self.table))
    }

    /// Notes what the server warned of: a run that goes on does not hear it again.
    pub(super) fn note_warnings(&self, connection: &mut Connection, warnings: &[String]) -> Result<()> {
        warnings.iter().try_for_each(|warning| self.note_text(connection, WARNING, warning))
    }

    /// Notes what a trial found: where an account has no schemas of its own to try things in, a run that goes on cannot try it again.
    pub(super) fn note_findings(&self, connection: &mut Connection, findings: &[Finding]) -> Result<()> {
        findings.iter().try_for_each(|finding| self.note_text(connection, FOUND, &finding.to_text()))
    }

    fn note_text(&self, connection: &mut Connection, begin: &str, text: &str) -> Result<()> {
        let end = text.floor_char_boundary(LONGEST - begin.len());
        self.note(connection, &format!("{begin}{}", &text[..end]))
    }

    /// What the server warned of in earlier runs.
    pub(super) fn warnings(&self) -> impl Iterator<Item = String> {
        self.done().filter_map(|step| step.strip_prefix(WARNING)).map(str::to_owned)
    }

    /// Ends what is left of the sessions of an earlier run, and reads what they did to the last.
    ///
    /// # Errors
    /// If that run is still alive.
    pub(super) fn end_sessions(&mut self, connection: &mut Connection) -> Result<()> {
        self.end_sessions_of(connection, &self.table)?;
        // A commit that was on its way when the client was killed is done by now.
        self.read(connection)
    }

    /// Ends what is left of the sessions of all whose tables come anew: a run that has lost the connection that leads it goes on to load for a
    /// while.
    ///
    /// # Errors
    /// If one of them is still alive.
    pub(super) fn end_all_sessions(&self, connection: &mut Connection) -> Result<()> {
        let own = self.is_there.then_some(&self.table);
        own.into_iter().chain(&self.others).try_for_each(|table| self.end_sessions_of(connection, table))
    }

    fn end_sessions_of(&self, connection: &mut Connection, table: &Name) -> Result<()> {
        // A session that waits for its client knows at once that this is gone.
        for _ in 0..10 {
            if holders(connection, table, COORDINATOR..=COORDINATOR)?.is_empty() {
                break;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        if let Some((_, id)) = holders(connection, table, COORDINATOR..=COORDINATOR)?.first() {
            return Err(Error::with_hint(
                format!(
                    "another run of this {} into {} is at work: connection {id}",
                    self.work, self.table.schema
                ),
                format!("wait for it; or, if its client is gone for good, KILL {id}"),
            ));
        }
        for (worker, id) in holders(connection, table, 1..=MOST_WORKERS)? {
            let _ = connection.execute(format!("KILL {id}")); // it may have ended by itself
            let name = quote::string(&lock(table, worker));
            connection
                .query(format!("SELECT GET_LOCK({name}, 600), RELEASE_LOCK({name})"))
                .doing(|| format!("waiting for connection {id} of an earlier run to end"))?;
        }
        Ok(())
    }

    /// Marks the sessions that load as those of this restore.
    pub(crate) fn mark(&self, workers: &mut [Connection]) -> Result<()> {
        let mut numbered = workers.iter_mut().zip(1..);
        numbered.try_for_each(|(connection, number)| self.take_lock(connection, number))
    }

    /// Marks the session that leads.
    pub(super) fn lead(&self, coordinator: &mut Connection) -> Result<()> {
        self.take_lock(coordinator, COORDINATOR)?;
        if !self.are_kept {
            return Ok(());
        }
        if self.is_there {
            let sql = format!("DELETE FROM {} WHERE step LIKE '{RUN}%'", self.table);
            coordinator.execute(&sql).map(drop).doing(|| sql)?;
        }
        self.note(coordinator, &self.own)
    }

    fn take_lock(&self, connection: &mut Connection, number: usize) -> Result<()> {
        let name = quote::string(&lock(&self.table, number));
        connection
            .query(format!("SELECT GET_LOCK({name}, 10)"))
            .map(drop)
            .doing(|| format!("taking the lock {name}"))
    }
}

/// Which of the locks are held, and by which connections.
fn holders(
    connection: &mut Connection,
    table: &Name,
    numbers: RangeInclusive<usize>,
) -> Result<Vec<(usize, u64)>> {
    let locks =
        numbers.clone().map(|number| format!("IS_USED_LOCK({})", quote::string(&lock(table, number))));
    let sql = format!("SELECT {}", locks.collect::<Vec<_>>().join(", "));
    let row = connection.first(sql).doing(|| "looking for sessions of an earlier run")?;
    let holder = |(at, number)| Some((number, row.as_ref()?.parse(at)?));
    Ok(numbers.enumerate().filter_map(holder).collect())
}

fn lock(table: &Name, number: usize) -> String {
    format!("{}_{number}", table.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_notes() {
        assert!(is_note("drover_restore_0123456789ab") && is_note("drover_copy_ffffffffffff"));
        assert!(is_note(&mark_of_trial("own").name));
        for other in ["drover_restore_", "drover_restore_orders", "drover_copy_0123456789abc", "t"] {
            assert!(!is_note(other), "{other}");
        }
        let of_chunk = "drover_chunk_0123456789abcdef";
        assert!(is_any_note(of_chunk) && is_any_note("drover_copy_ffffffffffff") && !is_note(of_chunk));
        assert!(!is_any_note("drover_chunk_orders") && !is_any_note("drover_chunk_0123456789ab"));
    }
}
