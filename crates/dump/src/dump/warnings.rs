//! What a reader of a dump should know, in words.

use super::catalog::Name;
use crate::format::manifest::{Schema, Snapshot};

/// That rows belong to different moments is said, and to which.
pub(super) fn mixed(earlier: &[Snapshot], snapshot: &Snapshot, schemas: &[Schema]) -> Option<String> {
    let first = earlier.first()?;
    let chunks = || schemas.iter().flat_map(|schema| &schema.tables).flat_map(|table| &table.files);
    let old = chunks().filter(|chunk| chunk.earlier.is_some()).count();
    Some(format!(
        "this dump was ended before its time and went on with a new snapshot: {old} of {} files hold rows of an earlier \
         moment, from {} on, the others of {}; rows that were changed meanwhile may not fit together",
        chunks().count(),
        first.taken_at,
        snapshot.taken_at
    ))
}

/// What text cannot keep is said for each table.
pub(super) fn retyped(schemas: &[Schema]) -> Vec<String> {
    let tables = schemas.iter().flat_map(|schema| schema.tables.iter().map(move |table| (schema, table)));
    let rows = tables.map(|(schema, table)| {
        (Name::new(&schema.name, &table.name), table.files.iter().map(|file| file.retyped).sum::<u64>())
    });
    let say = |(name, rows): (Name, u64)| {
        format!(
            "table {name}: {rows} rows hold JSON with a DECIMAL inside, which loading makes a DOUBLE: 1.10 becomes 1.1, and \
             digits beyond the 17th are lost"
        )
    };
    rows.filter(|(_, rows)| *rows > 0).map(say).collect()
}

/// That a table's rows are not its own.
pub(super) fn kept_elsewhere(name: &Name) -> String {
    format!("table {name} shows rows that are kept elsewhere: they are not in the dump")
}
