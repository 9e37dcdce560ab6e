//! What a reader of a dump should know, in words.

use std::collections::BTreeMap;

use drover_db::{Server, Vendor, quote};
use drover_units::show::things;

use super::catalog::Name;
use super::select::LeftOut;
use crate::restore::steps::is_note;
use drover_format::Rewrite;
use drover_format::manifest::{Chunk, Manifest, RowFormat, Schema, Table};

/// What loading cannot keep is said for each table; of zeros a copy says more ([`lost_zeros`]).
fn retyped(server: &Server, schemas: &[Schema]) -> Vec<String> {
    const JSON: &str = "JSON with a DECIMAL inside, which loading makes a DOUBLE: 1.10 becomes 1.1, and digits beyond the 17th \
                        are lost";
    const OR_DOUBLE: &str =
        "; or with a DOUBLE without a fraction, which this server prints as a whole number: 3.0 becomes 3";
    let say = |(name, table): (Name, &Table)| {
        let rows = rows_retyped(table);
        let or_double =
            if server.vendor == Vendor::MySql && server.numbers() < (8, 0, 0) { OR_DOUBLE } else { "" };
        let or_zero = if has_zeros_read(table) { "; or a negative zero" } else { "" };
        (rows > 0 && is_read(table, |read| read.ends_with(" AS JSON)")))
            .then(|| format!("table {name}: {} of {JSON}{or_double}{or_zero}", things(rows, "row")))
    };
    tables(schemas).filter_map(say).collect()
}

fn rows_retyped(table: &Table) -> u64 {
    table.files.iter().map(|file| file.retyped).sum()
}

fn is_read(table: &Table, form: fn(&str) -> bool) -> bool {
    table.columns.iter().filter_map(|column| column.read.as_deref()).any(form)
}

fn has_zeros_read(table: &Table) -> bool {
    is_read(table, |read| read.contains(", ABS("))
}

/// The tables in which a copy read zeros without their sign, and how many of their rows have such; or JSON that loading changes, which is
/// counted with them.
pub(crate) fn lost_zeros(schemas: &[Schema]) -> impl Iterator<Item = (Name, u64)> {
    let with_zeros = tables(schemas).filter(|(_, table)| has_zeros_read(table));
    with_zeros.map(|(name, table)| (name, rows_retyped(table))).filter(|(_, rows)| *rows > 0)
}

/// What is known of the rows when they have been read.
pub(super) fn about_rows(manifest: &Manifest) -> Vec<String> {
    let Manifest { schemas, row_format, server, copied, .. } = manifest;
    let invalid = invalid_text(*row_format, schemas);
    let retyped = retyped(server, schemas).into_iter();
    // A copy has lost them: that is said by itself.
    let untold = untold_documents(schemas).filter(|_| !copied);
    retyped.chain(untold).chain(invalid).chain(long_statements(schemas)).collect()
}

/// What loading makes of documents whose text does not tell all.
const UNTOLD: &str = "text does not tell a DATE, TIME, DATETIME, BLOB or BIT, of which loading makes a string, or a DECIMAL of more digits than the \
                      DOUBLE that becomes of it (JSON_TYPE tells)";

/// Documents that are others when their text has been loaded, though that is the same.
fn untold_documents(schemas: &[Schema]) -> impl Iterator<Item = String> {
    counted(schemas, |file| &file.untold_documents).map(|(table, column, count)| {
        format!(
            "table {table}: {} of column {column} would be others when loaded: {UNTOLD}",
            things(count, "document")
        )
    })
}

/// The same as what a restore or a copy into a server loses that has JSON as a type of its own: others keep the text.
pub(crate) fn lost_documents(manifest: &Manifest, server: &Server) -> impl Iterator<Item = Rewrite> {
    let has_types = server.vendor == Vendor::MySql;
    counted(&manifest.schemas, |file| &file.untold_documents).filter(move |_| has_types).map(
        |(table, column, count)| Rewrite {
            object: format!("table {table}"),
            from: format!("JSON in {column} (documents: {count})"),
            to: "what its text tells".into(),
            reason: UNTOLD.into(),
            loses: true,
        },
    )
}

/// Columns with what the files count of each, if it is anything.
fn counted<'a>(
    schemas: &'a [Schema],
    count: fn(&'a Chunk) -> &'a BTreeMap<String, u64>,
) -> impl Iterator<Item = (Name, String, u64)> + 'a {
    let of_table = move |(name, table): (Name, &'a Table)| {
        table.columns.iter().map(move |column| {
            let counts = table.files.iter().filter_map(|file| count(file).get(&column.name));
            (name.clone(), quote::identifier(&column.name), counts.sum())
        })
    };
    tables(schemas).flat_map(of_table).filter(|(.., count)| *count > 0)
}

/// What is no text in its own character set, and what of it the row files cannot hold.
fn invalid_text(format: RowFormat, schemas: &[Schema]) -> Vec<String> {
    let what = match format {
        RowFormat::Csv => {
            "are not valid text in its character set, or have characters that Unicode has not, and are not whole"
        }
        _ => {
            "are not valid text in its character set: the client's INSERT ends with an error there, and only `drover restore` \
             keeps them"
        }
    };
    counted(schemas, |file| &file.invalid_text)
        .map(|(table, column, count)| format!("table {table}: {count} values of column {column} {what}"))
        .collect()
}

/// Which tables have rows that neither servers nor clients take by default.
fn long_statements(schemas: &[Schema]) -> Vec<String> {
    let longest = |(name, table): (Name, &Table)| {
        let longest =
            table.files.iter().map(|file| file.longest_statement).max().filter(|bytes| *bytes > 0)?;
        Some(format!(
            "table {name}: its longest statement has {longest} bytes: to run it by hand, set max_allowed_packet above that, \
             both on the server and for the client"
        ))
    };
    tables(schemas).filter_map(longest).collect()
}

fn tables(schemas: &[Schema]) -> impl Iterator<Item = (Name, &Table)> {
    let tables = schemas.iter().flat_map(|schema| schema.tables.iter().map(move |table| (schema, table)));
    tables.map(|(schema, table)| (Name::new(&schema.name, &table.name), table))
}

/// That nothing tells these tables from others of the same definition that take their names while rows are read.
pub(super) fn not_told_apart(tables: &[Name], are_hidden: bool) -> String {
    let first: Vec<_> = tables.iter().take(3).map(Name::to_string).collect();
    let more = tables.len().saturating_sub(first.len());
    let more = if more == 0 { String::new() } else { format!(" and {more} more tables") };
    let which = match are_hidden {
        true => "does not show this account the numbers (the privilege PROCESS does)",
        false => "shows no numbers",
    };
    format!(
        "the server {which} of {}{more}: if a table takes the name of \
         another one of the same definition (RENAME TABLE, EXCHANGE PARTITION) while rows are read, its rows are taken for that one's",
        first.join(", ")
    )
}

/// That rows of the past are left out.
pub(super) fn without_history(name: &Name) -> String {
    format!(
        "table {name} tells its rows of the past by numbers of transactions (BIGINT UNSIGNED … AS ROW START), which no other server \
         understands: the rows of now are in the dump, those of the past are not"
    )
}

/// That a schema was not named, and is left out.
pub(super) fn left_out(schema: &str, why: LeftOut) -> String {
    let why = match why {
        LeftOut::OddDirectory => {
            "it is a directory in the server's data directory that no CREATE DATABASE made, and holds no tables (the server's option \
             ignore_db_dirs hides it)"
        }
        LeftOut::Scratch => {
            "drover made it to try definitions in (restore --check, restore or copy to another server); name it to dump it"
        }
        LeftOut::ReplayPositions => {
            "it holds how far drover binlog replay has come on this server, and nothing else; name it to dump it"
        }
    };
    format!("schema '{schema}' is not in the dump: {why}")
}

/// That a schema is as a restore or a copy has left it that did not come to its end.
pub(super) fn unfinished(note: &Name) -> String {
    if !is_note(&note.name) {
        return format!(
            "a run of drover chunk in schema '{}' has not come to its end, as {note} notes, which is not in the dump; DROP TABLE {note} where \
             nobody will resume it",
            note.schema
        );
    }
    format!(
        "schema '{}' may not be complete: a restore or a copy into it has not come to its end, as {note} notes, which is not in the dump; DROP \
         TABLE {note} where nobody will resume it",
        note.schema
    )
}

/// That a table's rows are not its own.
pub(super) fn kept_elsewhere(name: &Name) -> String {
    format!("table {name} shows rows that are kept elsewhere: they are not in the dump")
}
/// What prepared transactions change is in no dump.
pub(super) fn prepared(names: &[String]) -> Option<String> {
    let first = names.first()?;
    Some(format!(
        "{} prepared (XA RECOVER) when the snapshot was taken, as {first:?}: their changes are not in it, and logs cannot be applied behind it",
        match names.len() {
            1 => "1 transaction was".to_owned(),
            many => format!("{many} transactions were"),
        }
    ))
}
