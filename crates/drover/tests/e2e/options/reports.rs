//! What the commands print: text, and the JSON of docs/json.md.

use drover_sandbox::Flavour;
use serde_json::Value;

use crate::client::sql;
use crate::drover::{drover, dump, restore, run, verify};
use crate::files::manifest;
use crate::servers::{on_both, source, target};

on_both!(json_documents, texts, nowhere_to_print);

fn assert_fields(document: &Value, fields: &[&str]) {
    let object = document.as_object().unwrap();
    fields.iter().for_each(|field| assert!(object.contains_key(*field), "no {field} in {document}"));
}

fn make(flavour: Flavour, schema: &str) {
    sql(
        source(flavour),
        format!(
            "CREATE DATABASE {schema}; CREATE TABLE {schema}.t (id INT PRIMARY KEY); INSERT INTO {schema}.t VALUES (1), (2)"
        ),
    );
}

fn json_documents(flavour: Flavour) {
    let dir = tempfile::tempdir().unwrap();
    make(flavour, "json_documents");
    let dumped = run(dump(source(flavour), "json_documents", dir.path()).arg("--json")).done().json();
    assert_fields(
        &dumped,
        &[
            "directory",
            "server",
            "schemas",
            "tables",
            "rows",
            "bytes",
            "stored_bytes",
            "seconds",
            "threads",
            "snapshot",
            "warnings",
        ],
    );
    assert_eq!((&dumped["schemas"], &dumped["tables"], &dumped["rows"]), (&1.into(), &1.into(), &2.into()));
    assert_eq!(dumped["server"]["vendor"], flavour.as_str());
    assert_eq!(dumped["snapshot"], manifest(dir.path())["snapshot"]);
    assert_fields(
        &dumped["snapshot"],
        &["taken_at", "lock", "lock_held_ms", "binlog_file", "binlog_position", "gtid_set"],
    );

    let restored = run(restore(target(flavour), dir.path(), "").arg("--json")).done().json();
    assert_fields(
        &restored,
        &["server", "tables", "rows", "bytes", "seconds", "load_seconds", "warnings", "verify"],
    );
    let verified = run(verify(target(flavour), dir.path(), "").arg("--json")).done().json();
    for document in [&verified, &restored["verify"]] {
        assert_fields(document, &["tables", "rows", "bytes", "seconds", "definitions", "differences"]);
        assert_eq!(document["differences"], Value::Array(vec![]));
    }
    let unverified =
        run(restore(target(flavour), dir.path(), "--no-verify --drop-existing").arg("--json")).done().json();
    assert!(unverified.get("verify").is_none(), "{unverified}");

    sql(target(flavour), "DELETE FROM json_documents.t WHERE id = 2");
    let found = run(verify(target(flavour), dir.path(), "").arg("--json"));
    assert_eq!(found.code, Some(1), "{found}");
    let differences = found.json()["differences"].clone();
    assert_fields(&differences[0], &["object", "file", "what"]);
    assert_eq!(differences.as_array().unwrap().len(), 1, "{differences}");
}

fn texts(flavour: Flavour) {
    let dir = tempfile::tempdir().unwrap();
    make(flavour, "texts");
    let dumped = run(&mut dump(source(flavour), "texts", dir.path())).done();
    assert!(
        dumped.stdout.contains("1 table of 1 schema from") && dumped.stdout.contains("binlog.0"),
        "{dumped}"
    );
    assert_eq!(dumped.stderr, "", "a dump without a flaw says nothing on stderr: {dumped}");
    let restored = run(&mut restore(target(flavour), dir.path(), "")).done();
    assert!(restored.stdout.contains("1 table into") && restored.stdout.contains("verified"), "{restored}");
    assert_eq!(restored.stderr, "", "{restored}");
    for (line, text) in [
        ("--version", "drover "),
        ("--help", "Commands:"),
        ("dump --help", "--lock-timeout"),
        ("restore -?", "--drop-existing"),
    ] {
        assert!(run(&mut drover(line)).done().stdout.contains(text), "{line}");
    }
    run(&mut drover("no-such-command")).refused(&["no-such-command"]);
    let nothing = run(&mut drover(""));
    assert!(nothing.code == Some(2) && nothing.stderr.contains("Usage:"), "{nothing}");
}

/// A result that cannot be printed is a failure, one that nobody reads to its end is none, and neither is a panic.
fn nowhere_to_print(flavour: Flavour) {
    let dir = tempfile::tempdir().unwrap();
    make(flavour, "nowhere");
    let dump_to = |name: &str, redirect: &str| {
        let command = dump(source(flavour), "nowhere", &dir.path().join(name));
        let mut shell = std::process::Command::new("sh");
        shell
            .args(["-c", &format!("\"$@\" {redirect}"), "sh"])
            .arg(command.get_program())
            .args(command.get_args());
        run(&mut shell)
    };
    dump_to("full", "> /dev/full").refused(&["printed", "No space left"]);
    assert_eq!(dump_to("closed", "| true").stderr, "");
    dump_to("silent", ">&- 2>&-").done();
    assert!(dir.path().join("silent/manifest.json").exists());
}
