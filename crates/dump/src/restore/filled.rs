//! Whether a server is filled with a dump, by some rows of each table: logs are applied behind a dump only where its rows are.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use drover_db::options::ConnectOptions;
use drover_db::session::Use;
use drover_db::{Server, Stop};
use drover_store::{Store, StoreArgs};

use super::rename::{Case, Renames};
use super::verified::{Difference, Verify, VerifyReport};
use crate::definer::Definers;
use crate::error::Doing;
use crate::progress::Progress;
use crate::session;
use crate::translate::Translator;
use crate::{Result, pool};
use drover_format::digest::Digest;
use drover_format::manifest::{Contents, Manifest, Table};

/// Compares the rows of the smallest file of each table that is wanted (of schema, table) with those that the server has between its borders;
/// all rows of tables without a key, and whether those are empty that are so in the dump. Columns that the server computes are left out.
///
/// # Errors
/// If the comparison could not be made; what differs first is no error.
pub fn first_unlike(
    dir: &Path,
    options: &ConnectOptions,
    wants: &dyn Fn(&str, &str) -> bool,
    stop: &Stop,
    progress: &Progress,
) -> Result<Option<Difference>> {
    let store = &Store::open(dir, &StoreArgs::default())?;
    let _store_watched = store.watch(stop);
    let dumped = Manifest::read(store)?;
    let mut connection = session::open(options, Use::Dump)?;
    let renames = &Renames::new(&[], &dumped, Case::of(&mut connection)?)?;
    let threads = session::default_threads(&mut connection)?;
    let server = Server::of(&mut connection).doing(|| "asking for the server's version")?;
    let translator = Translator::for_reading(options, store, &dumped, &server)?;
    let translator = translator.as_ref();
    let mut whole = match translator {
        Some(translator) => translator.manifest(&dumped)?,
        None => dumped,
    };
    whole.contents = Contents::Rows;
    for schema in &mut whole.schemas {
        schema.tables.retain(|table| wants(&schema.name, &table.name));
        schema.tables.iter_mut().for_each(without_computed);
    }
    let mut some = whole.clone();
    some.schemas.iter_mut().flat_map(|schema| &mut schema.tables).for_each(only_smallest);
    let definers = &Definers::default();
    let verify =
        |manifest| Verify { store, manifest, renames, definers, translator, is_source: false, progress };
    let report = Mutex::new(VerifyReport::default());
    let mut connections = session::open_many(options, Use::Dump, threads)?;
    for connection in &mut connections {
        session::begin_snapshot(connection)?;
    }
    let some = verify(&some);
    let compare = |connection: &mut _, part| {
        some.compare_rows(connection, &part, false, &report)?;
        Ok(Vec::new())
    };
    pool::run(&mut connections, some.parts(), stop, compare, pool::nothing_to_seek)?;
    let mut found = report.into_inner().unwrap_or_else(PoisonError::into_inner).differences;
    if server.vendor != whole.server.vendor && !found.is_empty() {
        // Other rows may lie between the borders there.
        for schema in &mut whole.schemas {
            let name = |table: &Table| renames.relation(&schema.name, &table.name).to_string();
            schema.tables.retain(|table| found.iter().any(|one| one.object == name(table)));
        }
        found = verify(&whole).run(options, threads, stop)?.differences;
    }
    Ok(found.into_iter().next())
}

fn without_computed(table: &mut Table) {
    table.generated.clear();
    table.files.iter_mut().for_each(|file| file.generated = Digest::default());
}

fn only_smallest(table: &mut Table) {
    if table.key.is_some() {
        table.files.sort_by_key(|file| file.bytes);
        table.files.truncate(1);
    }
    if table.files.is_empty() {
        table.key = None;
    }
}
