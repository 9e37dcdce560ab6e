//! What is dumped: names, globs; and how: compression, workers.

use std::path::Path;

use drover_sandbox::{Flavour, Server};
use serde_json::Value;

use crate::client::sql;
use crate::compare;
use crate::drover::{dump, restore, run};
use crate::files::{manifest, row_files, table};
use crate::servers::{on_both, source, target};

on_both!(names, globs, compressions, workers);

/// Two schemas, one with a dot in its name, with everything in them.
fn make(server: &Server, schema: &str) {
    sql(
        server,
        format!(
            "CREATE DATABASE {schema}; USE {schema};
             CREATE TABLE a (id INT PRIMARY KEY); INSERT INTO a VALUES (1);
             CREATE TABLE log_a (id INT PRIMARY KEY); INSERT INTO log_a VALUES (1), (2);
             CREATE TABLE `b.c` (id INT PRIMARY KEY);
             CREATE VIEW v AS SELECT id FROM a; CREATE PROCEDURE p() SELECT 1;
             CREATE TRIGGER on_a BEFORE INSERT ON a FOR EACH ROW SET @x = 1;
             CREATE EVENT e ON SCHEDULE AT '2037-01-01 00:00:00' DISABLE DO SET @x = 1;
             CREATE DATABASE `{schema}.dot`; USE `{schema}.dot`;
             CREATE TABLE t (id INT PRIMARY KEY); CREATE TABLE `t``.x` (id INT PRIMARY KEY)"
        ),
    );
}

/// Everything that a dump holds, as `schema/kind/name`.
fn contents(dir: &Path) -> Vec<String> {
    let manifest = manifest(dir);
    let mut all = Vec::new();
    for schema in manifest["schemas"].as_array().unwrap() {
        for kind in ["tables", "views", "routines", "triggers", "events"] {
            let objects = schema[kind].as_array().map(Vec::as_slice).unwrap_or_default();
            let path = |object: &Value| format!("{}/{kind}/{}", text(&schema["name"]), text(&object["name"]));
            all.extend(objects.iter().map(path));
        }
    }
    all.sort();
    all
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

/// What a dump with these arguments holds.
fn dumped(server: &Server, arguments: &[&str]) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    run(dump(server, "", dir.path()).args(arguments)).done();
    contents(dir.path())
}

fn names(flavour: Flavour) {
    let server = source(flavour);
    make(server, "names");
    let whole =
        ["events/e", "routines/p", "tables/a", "tables/b.c", "tables/log_a", "triggers/on_a", "views/v"];
    let whole = whole.map(|path| format!("names/{path}")).to_vec();
    assert_eq!(dumped(server, &["names"]), whole);
    assert_eq!(dumped(server, &["`names`"]), whole);
    assert_eq!(dumped(server, &["names.a"]), ["names/tables/a", "names/triggers/on_a"]);
    assert_eq!(dumped(server, &["names.v"]), ["names/views/v"]);
    assert_eq!(dumped(server, &["names.b.c"]), ["names/tables/b.c"]);
    assert_eq!(
        dumped(server, &["names.`b.c`", "names.a"]),
        ["names/tables/a", "names/tables/b.c", "names/triggers/on_a"]
    );
    let dotted = ["names.dot/tables/t", "names.dot/tables/t`.x"];
    assert_eq!(dumped(server, &["names.dot"]), dotted);
    assert_eq!(dumped(server, &["`names.dot`"]), dotted);
    assert_eq!(dumped(server, &["names.dot.t"]), ["names.dot/tables/t"]);
    assert_eq!(dumped(server, &["`names.dot`.`t``.x`"]), ["names.dot/tables/t`.x"]);
    assert_eq!(dumped(server, &["names", "names.a", "names.dot.t"]).len(), whole.len() + 1);
}

fn globs(flavour: Flavour) {
    let server = source(flavour);
    make(server, "globs");
    assert_eq!(dumped(server, &["globs", "--include", "*.log_*"]), ["globs/tables/log_a"]);
    assert_eq!(
        dumped(server, &["--include", "globs.{a,v}"]),
        ["globs/tables/a", "globs/triggers/on_a", "globs/views/v"]
    );
    assert_eq!(dumped(server, &["--include", "globs.*", "--exclude", "v", "--exclude", "globs.b*"]).len(), 3);
    assert_eq!(
        dumped(server, &["--include", "globs\\.dot.*"]),
        ["globs.dot/tables/t", "globs.dot/tables/t`.x"]
    );
    let excluded = dumped(server, &["globs", "--exclude", "globs.log_?"]);
    assert_eq!(excluded.len(), 6, "{excluded:?}");
    assert!(!excluded.contains(&"globs/tables/log_a".to_owned()));
}

fn compressions(flavour: Flavour) {
    let (server, dir) = (source(flavour), tempfile::tempdir().unwrap());
    sql(
        server,
        "CREATE DATABASE compressions; USE compressions; CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(200) NOT NULL);
         INSERT INTO t WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 900)
           SELECT n, REPEAT(n, 20) FROM s;
         CREATE TABLE no_rows (id INT PRIMARY KEY)",
    );
    let mut digests = Vec::new();
    for (compress, ending) in [
        ("none", "tsv"),
        ("zstd", "tsv.zst"),
        ("zstd:19", "tsv.zst"),
        ("zstd:-7", "tsv.zst"),
        ("gzip", "tsv.gz"),
        ("gzip:1", "tsv.gz"),
        ("lz4", "tsv.lz4"),
    ] {
        let out = dir.path().join(compress.replace(':', "_"));
        run(&mut dump(server, &format!("compressions --compress {compress}"), &out)).done();
        for file in row_files(&out) {
            assert!(file.display().to_string().ends_with(ending), "{}", file.display());
        }
        let files = table(&manifest(&out), "compressions", "t")["files"].clone();
        digests.push((files[0]["digest"].clone(), files[0]["bytes"].clone()));
        run(&mut restore(target(flavour), &out, "--drop-existing")).done();
    }
    assert!(digests.iter().all(|digest| *digest == digests[0]), "{digests:?}");
    compare::assert_same(
        &compare::rows(server, "compressions"),
        &compare::rows(target(flavour), "compressions"),
    );
    for wrong in ["zstd:99", "gzip:0", "rar", "none:1", "zstd:x"] {
        let output =
            run(&mut dump(server, &format!("compressions --compress {wrong}"), &dir.path().join("wrong")));
        output.refused(&["--compress"]);
    }
}

fn workers(flavour: Flavour) {
    let (server, dir) = (source(flavour), tempfile::tempdir().unwrap());
    let tables: String = (0..12)
        .map(|n| format!("CREATE TABLE t{n} (id INT PRIMARY KEY); INSERT INTO t{n} VALUES ({n}), (100);"))
        .collect();
    sql(server, format!("CREATE DATABASE workers; USE workers; {tables}"));
    for threads in [1, 16] {
        let out = dir.path().join(threads.to_string());
        run(&mut dump(server, &format!("workers --threads {threads}"), &out)).done();
        for threads in [1, 16] {
            run(&mut restore(target(flavour), &out, &format!("--drop-existing --threads {threads}"))).done();
            compare::assert_same(
                &compare::everything(server, "workers"),
                &compare::everything(target(flavour), "workers"),
            );
        }
    }
    run(&mut dump(server, "workers --threads 0", &dir.path().join("none"))).refused(&["--threads"]);
}
