//! Logs that go on behind a dump or a copy: what a replay must know of it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use drover_binlog::{After, Compare, Partial};
use drover_db::Stop;
use drover_db::options::ConnectOptions;
use drover_dump::copy_renames;
use drover_dump::manifest::{Manifest, Schema, Snapshot, SourcePosition, Table};

use crate::failure::Failure;

/// Where a dump or a copy was taken, and what it has.
pub(crate) fn of(dump: &Path) -> Result<After, Failure> {
    let manifest = Manifest::load(dump).map_err(drover_dump::Error::from)?;
    must_hold_all(dump, &manifest)?;
    must_have_its_names(dump)?;
    let partial = partial_tables(&manifest);
    let lower_case_table_names =
        manifest.settings.get("lower_case_table_names").and_then(|value| value.parse().ok());
    let Manifest { snapshot, schemas, .. } = manifest;
    let Snapshot {
        binlog_file,
        binlog_position,
        gtid_set,
        server_id,
        server_clock_us,
        query_id,
        replicates_from,
        logs_replicated,
        prepared,
        ..
    } = snapshot;
    let (log, position) = binlog_file.zip(binlog_position).ok_or_else(|| Failure {
        error: format!("{}: its server told no position in a binary log", dump.display()),
        hint: Some(
            "it wrote none, or the account lacked the right to see it; --start-position says where to begin"
                .into(),
        ),
    })?;
    let names = |schema: &Schema| -> Vec<_> {
        schema.tables.iter().map(|table| (schema.name.clone(), table.name.clone())).collect()
    };
    let tables = schemas.iter().flat_map(names).collect();
    let schemas = schemas.into_iter().map(|schema| schema.name).collect();
    let gtids = gtid_set.unwrap_or_default().parse();
    let gtids = gtids.map_err(|why| Failure {
        error: format!("{}: the manifest's gtid_set: {why}", dump.display()),
        hint: None,
    })?;
    let place = |source: SourcePosition| format!("{} at {}", source.file, source.position);
    let replicates_from = replicates_from.into_iter().map(place).collect();
    Ok(After {
        log,
        position,
        gtids,
        server_id,
        clock: server_clock_us,
        query_id,
        replicates_from,
        logs_replicated,
        prepared,
        schemas,
        tables,
        lower_case_table_names,
        partial,
        compare: None,
    })
}

/// Rows of several moments have no one position to go on from, and logs change rows.
fn must_hold_all(dump: &Path, manifest: &Manifest) -> Result<(), Failure> {
    if let Some(mixed) = manifest.mixed() {
        let hint = match manifest.snapshot.inconsistent {
            true => {
                "take the dump again without --inconsistent, by an account that may lock: RELOAD on all, or LOCK TABLES on what is dumped"
            }
            false => {
                "begin anew; with --consistent-resume an interrupted run is resumed to rows of one moment"
            }
        };
        return Err(Failure {
            error: format!("{}: there is no one position to go on from: {mixed}", dump.display()),
            hint: Some(hint.into()),
        });
    }
    if !manifest.contents.has_rows() {
        return Err(Failure {
            error: format!(
                "{}: the dump has no rows (--no-data), which the logs would change",
                dump.display()
            ),
            hint: Some("take a dump with rows".into()),
        });
    }
    Ok(())
}

/// Logs go to schemas of their own names.
fn must_have_its_names(dump: &Path) -> Result<(), Failure> {
    let renames = copy_renames(dump)?;
    if let Some((old, new)) = renames.first() {
        return Err(Failure {
            error: format!(
                "{}: the copy gave the schema '{old}' the name '{new}', and logs go to schemas of their own names only",
                dump.display()
            ),
            hint: Some("what is to be followed has to be copied without --into".into()),
        });
    }
    Ok(())
}

/// Tables whose rows were left out or masked.
fn partial_tables(manifest: &Manifest) -> Vec<Partial> {
    let why = |table: &Table| {
        let masked =
            table.masks.keys().next().map(|column| format!("the column {column} is masked (--mask)"));
        let condition = table.condition.as_ref();
        masked.or_else(|| condition.map(|condition| format!("it has those where {condition} (--where)")))
    };
    let partial = |(schema, table): (&Schema, &Table)| {
        Some(Partial { schema: schema.name.clone(), table: table.name.clone(), why: why(table)? })
    };
    manifest.tables().filter_map(partial).collect()
}

/// Compares the target with the dump that it was filled with.
pub(crate) fn comparing(dump: PathBuf, target: ConnectOptions, stop: Arc<Stop>) -> Compare {
    Compare(Arc::new(move |wants| {
        let progress = &drover_dump::Progress::default();
        match drover_dump::first_unlike(&dump, &target, wants, &stop, progress) {
            Ok(unlike) => Ok(unlike.map(|unlike| format!("{}: {}", unlike.object, unlike.what))),
            Err(error) => Err((error.to_string(), error.hint())),
        }
    }))
}
