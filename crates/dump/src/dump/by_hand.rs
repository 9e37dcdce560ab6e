//! What lets a dump in SQL be restored with nothing but the servers' own client: what stands before the rows in a file, and a
//! shell script that runs all files in an order in which they can be.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use drover_db::Vendor;
use drover_db::table::column::SET_NEVER;
use drover_store::Store;

use super::catalog::Name;
use super::tables::TablePlan;
use super::view_order;
use crate::Result;
use drover_format::manifest::{Manifest, Object, Schema, Script, Table};
use drover_format::script::use_line;

/// The name of the shell script.
const SCRIPT: &str = "restore.sh";

/// What stands before the rows of a table: what creates it, and the settings under which the rows mean the same everywhere.
pub(crate) fn head(vendor: Vendor, plan: &TablePlan, table: &Table) -> Vec<u8> {
    let mut settings = vec![
        // What the table's own expressions are read in, when it is opened; values say themselves that they are bytes.
        "NAMES utf8mb4 COLLATE utf8mb4_bin",
        "time_zone = '+00:00'",
        "sql_mode = 'NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES,STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'",
        "foreign_key_checks = 0",
        "unique_checks = 0",
    ];
    if vendor == Vendor::MariaDb {
        // Rows that were there before a constraint are restored all the same.
        settings.push("check_constraint_checks = OFF");
    }
    if table.with_history {
        settings.push("system_versioning_insert_history = ON");
    }
    let mut head = plan.script_text.clone();
    if head.is_empty() {
        head.extend(use_line(&plan.relation.name.schema).into_bytes());
    }
    head.extend(settings.iter().flat_map(|setting| format!("SET {setting};\n").into_bytes()));
    if table.with_history {
        head.extend(format!("{SET_NEVER};\n").into_bytes());
    }
    head
}

/// Writes the shell script. `views` are the statements of all views.
pub(crate) fn write(store: &Store, manifest: &Manifest, views: &BTreeMap<Name, Vec<u8>>) -> Result<Script> {
    let client = match manifest.server.vendor {
        Vendor::MariaDb => "mariadb",
        Vendor::MySql => "mysql",
    };
    let mut text = BEGIN.replace("CLIENT", client);
    for file in files(&manifest.schemas, views) {
        let _ = writeln!(text, "{file}"); // writing to a String cannot fail
    }
    text.push_str(END);
    store.write(SCRIPT, text.as_bytes())?;
    Ok(Script::of(SCRIPT.into(), text.as_bytes()))
}

const BEGIN: &str = r#"#!/bin/sh
# Restores this dump with nothing but the client, file by file, in an order in which that works:
#
#   sh restore.sh CLIENT --defaults-extra-file=login.cnf
#
# Behind restore.sh stands the client, with its options. Each file can be run by itself too: CLIENT < FILE
# Tables that are there already are an error, and the first error ends it, with the name of the file.
# `drover restore` does the same in parallel, and `drover verify` proves that every row is there.
set -eu
[ $# -gt 0 ] || set -- CLIENT
cd "$(dirname "$0")"

run() {
    path=./$1
    shift
    case $path in
    *.zst) zstd --test --quiet "$path" && zstd --decompress --stdout --quiet "$path" | "$@" ;;
    *.gz) gzip --test "$path" && gzip --decompress --stdout "$path" | "$@" ;;
    *.lz4) lz4 --test --quiet "$path" && lz4 --decompress --stdout --quiet "$path" | "$@" ;;
    *) "$@" < "$path" ;;
    esac
}

# Comments are a part of stored programs.
set -- "$@" --comments --max-allowed-packet=1073741824
while read -r file; do
    case $file in '#'*) continue ;; esac
    echo "${file#? }"
    run "${file#? }" "$@" && continue
    case $file in
    '? '*) echo "restore.sh: ${file#? } could not be used when it was dumped either" >&2 ;;
    *) echo "restore.sh: $file failed" >&2; exit 1 ;;
    esac
done <<'FILES'
"#;

const END: &str = "FILES\n";

/// The files and some comments, in order.
fn files(schemas: &[Schema], views: &BTreeMap<Name, Vec<u8>>) -> Vec<String> {
    let mut lines = Vec::new();
    let mut part = |title: &str, files: Vec<String>| {
        if !files.is_empty() {
            lines.push(format!("# {title}"));
            lines.extend(files);
        }
    };
    let of = |objects: fn(&Schema) -> &Vec<Object>| {
        schemas.iter().flat_map(objects).map(|object| object.script.file.clone()).collect::<Vec<_>>()
    };
    let scripts = schemas.iter().map(|schema| &schema.script).filter(|script| !script.is_absent());
    part("schemas", scripts.map(|script| script.file.clone()).collect());
    part("sequences", of(|schema| &schema.sequences));
    part(
        "tables with their rows",
        schemas.iter().flat_map(|schema| &schema.tables).filter_map(table).collect(),
    );
    part("routines", of(|schema| &schema.routines));
    part("views, each after those that it reads", in_order(schemas, views));
    part("triggers", of(|schema| &schema.triggers));
    part("events", of(|schema| &schema.events));
    lines
}

fn table(table: &Table) -> Option<String> {
    let rows = table.files.first().map(|chunk| chunk.file.clone());
    rows.or_else(|| (!table.script.is_absent()).then(|| table.script.file.clone()))
}

/// The views of all schemas; those that could not be used when they were dumped are only tried.
fn in_order(schemas: &[Schema], statements: &BTreeMap<Name, Vec<u8>>) -> Vec<String> {
    let named = |schema: &Schema, view: &Object| (Name::new(&schema.name, &view.name), view.clone());
    let views: BTreeMap<_, _> =
        schemas.iter().flat_map(|schema| schema.views.iter().map(move |view| named(schema, view))).collect();
    let line = |name: Name| {
        let view = views.get(&name)?;
        let file = &view.script.file;
        Some(if view.broken { format!("? {file}") } else { file.clone() })
    };
    view_order::in_order(statements).into_iter().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_of_all_schemas_follow_those_that_they_read() {
        let view = |schema: &str, name: &str, broken| Object {
            kind: "VIEW".into(),
            name: name.into(),
            script: Script::of(format!("{schema}/{name}.view.sql"), b""),
            broken,
            catalogue: None,
        };
        let schema = |name: &str, views: Vec<Object>| Schema {
            name: name.into(),
            script: Script::of(format!("{name}/@schema.sql"), b""),
            tables: vec![],
            sequences: vec![],
            views,
            routines: vec![],
            triggers: vec![],
            events: vec![],
        };
        let schemas = [
            schema("a", vec![view("a", "v", false), view("a", "gone", true)]),
            schema("b", vec![view("b", "v", false)]),
        ];
        let statements = BTreeMap::from([
            (Name::new("a", "v"), b"CREATE VIEW `v` AS select 1 from `b`.`v`".to_vec()),
            (Name::new("a", "gone"), b"CREATE VIEW `gone` AS select 1 from `t`".to_vec()),
            (Name::new("b", "v"), b"CREATE VIEW `v` AS select 1".to_vec()),
        ]);
        let expected = [
            "# schemas",
            "a/@schema.sql",
            "b/@schema.sql",
            "# views, each after those that it reads",
            "? a/gone.view.sql",
            "b/v.view.sql",
            "a/v.view.sql",
        ];
        assert_eq!(files(&schemas, &statements), expected);
    }
}
