//! The files of a dump, compared with what the manifest says of them: disks and copies of disks rot.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use drover_db::{Connection, Stop};
use drover_store::Store;

use super::args::VerifyArgs;
use super::verified::{Difference, VerifyReport};
use crate::dump::catalog::Name;
use crate::pool::{self, Worker};
use crate::progress::Progress;
use crate::{Error, Result};
use drover_format::digest::Digest;
use drover_format::files;
use drover_format::manifest::{Chunk, Manifest, Schema, Script};

/// Compares the files of a dump with its manifest, without a server.
///
/// # Errors
/// If there is no dump; a damaged file is no error but part of the report.
pub(super) fn verify_alone(args: &VerifyArgs, stop: &Stop, progress: &Progress) -> Result<VerifyReport> {
    let started = Instant::now();
    let store = &Store::open(&args.dir, &args.store)?;
    let _store_watched = store.watch(stop);
    let manifest = Manifest::read_alone(store)?;
    let mut report =
        VerifyReport { contents: manifest.contents, files_only: true, ..VerifyReport::default() };
    progress.expect(work(&manifest));
    compare(store, &manifest, threads(args), stop, progress, &mut report)?;
    report.seconds = started.elapsed().as_secs_f64();
    Ok(report)
}

/// Hashing is bound by the disk, or by the network.
pub(super) fn threads(args: &VerifyArgs) -> usize {
    args.threads.map_or_else(|| std::thread::available_parallelism().map_or(4, usize::from), usize::from)
}

/// The work in the progress's unit, in which a row file's text counts a quarter.
pub(super) fn work(manifest: &Manifest) -> u64 {
    if manifest.copied { 0 } else { manifest.stored_bytes() / 4 }
}

/// One file: rows, or a script, which may be the beginning of a file of rows.
enum Part<'a> {
    Rows(&'a Chunk),
    Script(&'a Script),
    /// A script in a file that was to hold rows, and has none.
    Alone(&'a Script),
}

struct Hasher;

impl Worker for Hasher {
    fn connections(&self) -> Vec<&Connection> {
        Vec::new()
    }
}

/// Adds to `report` how many files were read, and those that are not as they were written.
pub(super) fn compare(
    store: &Store,
    manifest: &Manifest,
    threads: usize,
    stop: &Stop,
    progress: &Progress,
    report: &mut VerifyReport,
) -> Result<()> {
    progress.phase("reading the files");
    let mut tasks: Vec<_> = parts(manifest).collect();
    tasks.sort_by_key(|(_, part)| match part {
        Part::Rows(chunk) => chunk.stored_bytes,
        Part::Script(_) | Part::Alone(_) => 0,
    });
    let found = Mutex::new((BTreeMap::new(), Vec::new()));
    let work = |_: &mut Hasher, (object, part): (String, Part<'_>)| {
        let (file, bytes, what) = match part {
            Part::Rows(chunk) => {
                (&chunk.file, chunk.stored_bytes, rows_damage(store, chunk, stop, progress)?)
            }
            Part::Script(script) => script_damage(store, script, false)?,
            Part::Alone(script) => script_damage(store, script, true)?,
        };
        let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
        found.0.entry(file.clone()).and_modify(|known: &mut u64| *known = bytes.max(*known)).or_insert(bytes);
        found.1.extend(what.map(|what| Difference { object, file: Some(file.clone()), what }));
        Ok(Vec::new())
    };
    let mut workers: Vec<_> = (0..threads.max(1)).map(|_| Hasher).collect();
    pool::run(&mut workers, tasks, stop, work, pool::nothing_to_seek)?;
    let (read, damaged) = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    report.files += read.len();
    report.file_bytes += read.values().sum::<u64>();
    report.differences.extend(damaged);
    report.differences.sort_by(|a, b| (&a.object, &a.file).cmp(&(&b.object, &b.file)));
    Ok(())
}

/// All files that the manifest names, each with the object whose it is.
fn parts(manifest: &Manifest) -> impl Iterator<Item = (String, Part<'_>)> {
    let users = manifest.users.iter().flat_map(|users| [&users.file, &users.script]);
    let users = users.map(|script| ("accounts".to_owned(), Part::Script(script)));
    let by_hand = manifest.by_hand.iter().map(|script| ("all schemas".to_owned(), Part::Script(script)));
    let schemas = manifest.schemas.iter().flat_map(move |schema| {
        let own = (format!("`{}`", schema.name.replace('`', "``")), Part::Script(&schema.script));
        let tables = schema.tables.iter().flat_map(|table| {
            let name = Name::new(&schema.name, &table.name).to_string();
            let rows = table.files.iter().filter(|_| !manifest.copied).map(Part::Rows);
            let script = match table.files.is_empty() && table.script.bytes.is_some() {
                true => Part::Alone(&table.script),
                false => Part::Script(&table.script),
            };
            rows.chain([script]).map(move |part| (name.clone(), part))
        });
        [own].into_iter().chain(tables).chain(objects(schema))
    });
    users
        .chain(by_hand)
        .chain(schemas)
        .filter(|(_, part)| !matches!(part, Part::Script(script) if script.is_absent()))
}

fn objects(schema: &Schema) -> impl Iterator<Item = (String, Part<'_>)> {
    let kinds = [&schema.sequences, &schema.views, &schema.routines, &schema.triggers, &schema.events];
    kinds
        .into_iter()
        .flatten()
        .map(|object| (Name::new(&schema.name, &object.name).to_string(), Part::Script(&object.script)))
}

/// In what a file of rows is not as it was written.
fn rows_damage(store: &Store, chunk: &Chunk, stop: &Stop, progress: &Progress) -> Result<Option<String>> {
    let read = files::stored(store, &chunk.file, |bytes| {
        progress.done(bytes / 4);
        if stop.is_requested() { Err(Error::Stopped) } else { Ok(()) }
    });
    Ok(match read {
        Err(Error::File { source, .. }) => Some(format!("the file cannot be read: {source}")),
        Err(error) => return Err(error),
        Ok(stored) if stored.bytes != chunk.stored_bytes => {
            Some(format!("the file has {} bytes, the manifest says {}", stored.bytes, chunk.stored_bytes))
        }
        Ok(stored) => differs(stored.checksum, chunk.checksum),
    })
}

/// The same for a script, with its file and bytes.
fn script_damage<'a>(
    store: &Store,
    script: &'a Script,
    is_alone: bool,
) -> Result<(&'a String, u64, Option<String>)> {
    let text = script
        .read(store)
        .and_then(|text| if is_alone { script.read_to_end(store).map(|()| text) } else { Ok(text) });
    let (bytes, what) = match text.map_err(Error::from) {
        Err(Error::File { source, .. }) => (0, Some(format!("the file cannot be read: {source}"))),
        Err(error) => return Err(error),
        Ok(text) => (text.len() as u64, differs(Digest::of(&text), script.checksum)),
    };
    Ok((&script.file, bytes, what))
}

fn differs(now: Digest, then: Digest) -> Option<String> {
    (now != then).then(|| format!("the file is damaged: its checksum is {now}, the manifest says {then}"))
}
