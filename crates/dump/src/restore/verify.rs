//! Comparing a server with a dump: every row by the digest of its file, and the definition of every object.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use drover_db::options::ConnectOptions;
use drover_db::{Connection, Server, Stop, quote};
use serde::Serialize;

use super::args::VerifyArgs;
use super::objects::{Scripts, each};
use super::rename::Renames;
use crate::ddl::without_auto_increment;
use crate::dump::catalog::{self, Name};
use crate::dump::programs::{definition, schema_collation};
use crate::dump::tables::{self, Bounds};
use crate::dump::views;
use crate::error::Doing;
use crate::format::manifest::{Chunk, Manifest, Object, Schema, Script, Table};
use crate::progress::{Progress, Share};
use crate::rows::{self, Meter, Sums};
use crate::session::{self, Purpose};
use crate::{Error, Result, pool};

/// Something that is not as the dump has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The table or other object, with its schema on the server.
    pub object: String,
    /// The file whose rows differ; absent if the difference is not in the rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// What differs.
    pub what: String,
}

/// What a verification found.
#[derive(Debug, Clone, Default, Serialize)]
pub struct VerifyReport {
    /// Tables that were read.
    pub tables: usize,
    /// Rows that were read.
    pub rows: u64,
    /// Bytes of those rows' text.
    pub bytes: u64,
    /// Definitions that were compared; 0 if the server is of another vendor or version than the dumped one, which writes
    /// them differently.
    pub definitions: usize,
    /// Wall-clock time.
    pub seconds: f64,
    /// What is not as the dump has it, sorted by object; empty if all is proved to be the same.
    pub differences: Vec<Difference>,
}

/// Compares a server with a dump.
///
/// # Errors
/// If the comparison could not be made; a difference is no error but part of the report.
pub fn verify(
    args: &VerifyArgs,
    options: &ConnectOptions,
    stop: &Stop,
    progress: &Progress,
) -> Result<VerifyReport> {
    let manifest = Manifest::load(&args.dir)?;
    let renames = Renames::new(&args.into, &manifest)?;
    let mut connection = session::open(options, Purpose::Dump)?;
    let threads = match args.threads {
        Some(threads) => usize::from(threads),
        None => session::default_threads(&mut connection)?,
    };
    progress.expect(work(&manifest));
    let verify = Verify { dir: &args.dir, manifest: &manifest, renames: &renames, progress };
    verify.run(options, threads, stop)
}

/// The work of a verification, in the progress's unit.
pub(super) fn work(manifest: &Manifest) -> u64 {
    manifest.tables().map(|(_, table)| weight(table)).sum()
}

fn weight(table: &Table) -> u64 {
    table.bytes() / 4
}

pub(super) struct Verify<'a> {
    pub(super) dir: &'a Path,
    pub(super) manifest: &'a Manifest,
    pub(super) renames: &'a Renames,
    pub(super) progress: &'a Progress,
}

/// A part of a table that is read with one statement: one file's rows, or all.
struct Part<'a> {
    table: &'a Table,
    target: Name,
    chunk: Option<&'a Chunk>,
}

impl Verify<'_> {
    pub(super) fn run(&self, options: &ConnectOptions, threads: usize, stop: &Stop) -> Result<VerifyReport> {
        let started = Instant::now();
        self.progress.phase("verifying");
        let mut connections = session::open_many(options, Purpose::Dump, threads)?;
        for connection in &mut connections {
            connection
                .execute("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
                .doing(|| "starting a worker's transaction")?;
        }
        let report =
            Mutex::new(VerifyReport { tables: self.manifest.tables().count(), ..VerifyReport::default() });
        pool::run(
            &mut connections,
            self.parts(),
            stop,
            |connection, part| {
                self.compare_rows(connection, &part, &report)?;
                Ok(Vec::new())
            },
            pool::nothing_to_seek,
        )?;
        drop(connections);
        let mut report = report.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut connection = session::open(options, Purpose::Dump)?;
        self.compare_definitions(&mut connection, &mut report)?;
        report.differences.sort_by(|a, b| (&a.object, &a.file).cmp(&(&b.object, &b.file)));
        report.seconds = started.elapsed().as_secs_f64();
        Ok(report)
    }

    /// The smallest part first: the pool begins at the end.
    fn parts(&self) -> Vec<Part<'_>> {
        let mut parts = Vec::new();
        for (schema, table) in self.manifest.tables().filter(|(_, table)| !table.rows_elsewhere) {
            let target = Name::new(self.renames.schema(&schema.name), &table.name);
            let part = |chunk| Part { table, target: target.clone(), chunk };
            match table.key.is_none() {
                true => parts.push(part(None)),
                false => parts.extend(table.files.iter().map(|chunk| part(Some(chunk)))),
            }
        }
        parts.sort_by_key(|part| part.chunk.map_or_else(|| part.table.bytes(), |chunk| chunk.bytes));
        parts
    }

    fn compare_rows(
        &self,
        connection: &mut Connection,
        part: &Part<'_>,
        report: &Mutex<VerifyReport>,
    ) -> Result<()> {
        let files = part.chunk.map_or(part.table.files.as_slice(), std::slice::from_ref);
        let expected = Sums::of(files);
        let share = Share::new(self.progress, expected.bytes / 4, expected.rows);
        let mut meter = Meter::new(&share);
        let found = match read(connection, part, &mut meter) {
            // The table or a column of it is not there.
            Err(Error::Server { source: drover_db::Error::Server(error), .. }) if is_missing(error.code) => {
                Err(error.message)
            }
            Err(error) => return Err(error),
            Ok(found) => Ok(found),
        };
        let what = row_difference(part.table, &expected, &found);
        let mut report = report.lock().unwrap_or_else(PoisonError::into_inner);
        let found = found.unwrap_or_default();
        report.rows += found.rows;
        report.bytes += found.bytes;
        let file = part.chunk.map(|chunk| chunk.file.clone());
        report.differences.extend(what.map(|what| Difference {
            object: part.target.to_string(),
            file,
            what,
        }));
        Ok(())
    }

    /// Compares the statements that the server gives now with those in the scripts.
    fn compare_definitions(&self, connection: &mut Connection, report: &mut VerifyReport) -> Result<()> {
        let server = Server::of(connection).doing(|| "asking for the server's version")?;
        let version = |server: &Server| (server.vendor, server.numbers().0, server.numbers().1);
        if version(&server) != version(&self.manifest.server) {
            return Ok(());
        }
        for (schema, table) in self.manifest.tables() {
            let name = Name::new(self.renames.schema(&schema.name), &table.name);
            let shown = |create: &[u8]| vec![as_shown(&without_auto_increment(create))];
            let now = catalog::create_table(connection, &name).map(|create| shown(&create));
            let then = self.script(&table.script)?.pop().map(|create| shown(&create));
            self.compare(report, &name, now, then.unwrap_or_default())?;
        }
        let kinds: [fn(&Schema) -> &Vec<Object>; 4] =
            [|s| &s.views, |s| &s.routines, |s| &s.triggers, |s| &s.events];
        for kind in kinds {
            for (schema, object) in each(self.manifest, kind) {
                let name = Name::new(self.renames.schema(&schema.name), &object.name);
                let now = session::use_schema(connection, &name.schema)
                    .and_then(|()| schema_collation(connection))
                    .and_then(|collation| definition(connection, &object.kind, &name, &collation));
                let then = self.script(&object.script)?;
                if now.as_ref().is_ok_and(|now| *now == then)
                    || !self.is_same_view(connection, &name, object)?
                {
                    self.compare(report, &name, now, then)?;
                } else {
                    report.definitions += 1;
                }
            }
        }
        Ok(())
    }

    /// Whether a view that the server cannot show as it was dumped is the same in the catalogue.
    fn is_same_view(&self, connection: &mut Connection, name: &Name, object: &Object) -> Result<bool> {
        let Some(then) = &object.catalogue else { return Ok(false) };
        let then = self.renames.script(vec![then.clone().into_bytes()]).concat();
        Ok(views::from_catalogue(connection, name)?.is_some_and(|now| now.into_bytes() == then))
    }

    fn script(&self, script: &Script) -> Result<Vec<Vec<u8>>> {
        Scripts { dir: self.dir, renames: self.renames }.read(script)
    }

    fn compare(
        &self,
        report: &mut VerifyReport,
        name: &Name,
        now: Result<Vec<Vec<u8>>>,
        then: Vec<Vec<u8>>,
    ) -> Result<()> {
        report.definitions += 1;
        let what = match now {
            Ok(now) if now == then => return Ok(()),
            Ok(now) => format!("its definition differs: {}", first_difference(&now, &then)),
            Err(Error::Server { source: drover_db::Error::Server(error), .. }) => error.message,
            Err(error) => return Err(error),
        };
        report.differences.push(Difference { object: name.to_string(), file: None, what });
        Ok(())
    }
}

/// What differs between the rows as they were dumped and as they are found.
fn row_difference(
    table: &Table,
    expected: &Sums,
    found: &std::result::Result<Sums, String>,
) -> Option<String> {
    let found = match found {
        Ok(found) => found,
        Err(message) => return Some(message.clone()),
    };
    if found.rows != expected.rows {
        return Some(format!("{} rows, the dump has {}", found.rows, expected.rows));
    }
    if found.digest != expected.digest {
        let (now, then) = (found.digest, expected.digest);
        return Some(format!("the {} rows differ: digest {now}, the dump has {then}", found.rows));
    }
    let columns = || quote::identifiers(table.generated.iter().map(|column| column.name.as_str()));
    (found.generated != expected.generated)
        .then(|| format!("the server computes other values than the dump has for {}", columns()))
}

/// The servers print `?` for a character of four bytes in a definition; the scripts have the true ones.
fn as_shown(create: &[u8]) -> Vec<u8> {
    match std::str::from_utf8(create) {
        Ok(text) => {
            text.chars().map(|c| if c.len_utf8() == 4 { '?' } else { c }).collect::<String>().into_bytes()
        }
        Err(_) => create.to_vec(),
    }
}

/// Unknown schema, table, column or routine; no such index to force.
fn is_missing(code: u16) -> bool {
    matches!(code, 1049 | 1054 | 1146 | 1176 | 1305 | 1360 | 1539)
}

fn read(connection: &mut Connection, part: &Part<'_>, meter: &mut Meter<'_>) -> Result<Sums> {
    let what = format!("reading {} back", part.target);
    let sql =
        tables::select(part.table, &part.target, part.chunk.map_or_else(Bounds::default, Bounds::of), &[]);
    let stream = connection.stream(sql).doing(|| what.clone())?;
    rows::sum(stream, &tables::shape(part.table), meter, &what)
}

/// The first line in which two definitions differ.
fn first_difference(now: &[Vec<u8>], then: &[Vec<u8>]) -> String {
    let lines = |statements: &[Vec<u8>]| -> Vec<String> {
        let text = String::from_utf8_lossy(&statements.join(&b"\n"[..])).into_owned();
        text.lines().map(|line| line.trim().to_owned()).collect()
    };
    let (now, then) = (lines(now), lines(then));
    let at = now.iter().zip(&then).position(|(a, b)| a != b).unwrap_or(now.len().min(then.len()));
    let line = |lines: &[String]| lines.get(at).map_or("nothing".to_owned(), |line| quote::string(line));
    format!("{} instead of {}", line(&now), line(&then))
}
