//! What a reader of a dump should know, in words.

use super::catalog::Name;
use crate::format::manifest::{Schema, Snapshot, Table};

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

/// What loading cannot keep is said for each table.
pub(super) fn retyped(schemas: &[Schema]) -> Vec<String> {
    let tables = schemas.iter().flat_map(|schema| schema.tables.iter().map(move |table| (schema, table)));
    let say = |(schema, table): (&Schema, &Table)| {
        let rows: u64 = table.files.iter().map(|file| file.retyped).sum();
        let name = Name::new(&schema.name, &table.name);
        (rows > 0).then(|| format!("table {name}: {rows} rows hold {}", what_is_retyped(table)))
    };
    tables.filter_map(say).collect()
}

fn what_is_retyped(table: &Table) -> String {
    const JSON: &str = "JSON with a DECIMAL inside, which loading makes a DOUBLE: 1.10 becomes 1.1, and digits beyond the 17th \
                        are lost";
    const ZERO: &str = "a negative zero, which MariaDB does not have: it becomes 0";
    let is_read =
        |form: fn(&str) -> bool| table.columns.iter().filter_map(|column| column.read.as_deref()).any(form);
    let json = is_read(|read| read.ends_with(" AS JSON)")).then_some(JSON);
    let zero = is_read(|read| read.contains(", ABS(")).then_some(ZERO);
    json.into_iter().chain(zero).collect::<Vec<_>>().join("; or ")
}

/// That a table's rows are not its own.
pub(super) fn kept_elsewhere(name: &Name) -> String {
    format!("table {name} shows rows that are kept elsewhere: they are not in the dump")
}
