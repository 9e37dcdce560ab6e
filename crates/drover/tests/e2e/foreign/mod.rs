//! Dumps of other tools: made by the real tools, restored by drover, and compared with what the tools themselves restore.

mod default_collations;
mod disguises;
mod failures;
mod kept;
mod mydumper;
mod mysqldump;
mod odd;
mod order;
mod strangers;
mod tables;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use drover_sandbox::{Flavour, Server};

use crate::client::{client, feed, run_script, sql, try_sql};
use crate::compare;
use crate::drover::{Output, restore, run};
use crate::servers::start_unsynced;

/// Two servers that only these tests use: the cases are set up under their own names, which the tests of cases use too.
fn servers(flavour: Flavour) -> (&'static Server, &'static Server) {
    static SERVERS: [OnceLock<[Server; 2]>; 2] = [const { OnceLock::new() }; 2];
    let [source, target] = SERVERS[flavour as usize].get_or_init(|| {
        let options = |zone| ["--max-connections=400", "--event-scheduler=ON", zone];
        [
            start_unsynced(flavour, &options("--default-time-zone=+05:30")),
            start_unsynced(flavour, &options("--default-time-zone=-08:00")),
        ]
    });
    (source, target)
}

/// One test at a time uses a case: they restore it under its own name.
fn only_user(flavour: Flavour) -> MutexGuard<'static, ()> {
    static USED: [Mutex<()>; 2] = [const { Mutex::new(()) }; 2];
    USED[flavour as usize].lock().unwrap_or_else(PoisonError::into_inner)
}

/// Hard cases of tests/cases that both vendors' tools can dump and restore; the largest are left out.
const CASES: [&str; 14] = [
    "bytes-all",
    "charset-columns",
    "enum-set",
    "events",
    "foreign-keys",
    "generated-columns",
    "geometry",
    "names-odd",
    "routines",
    "text-specials",
    "timestamp-offsets",
    "triggers",
    "views-nested",
    "zero-and-invalid-dates",
];

/// Sets a case up and gives its schema.
fn set_up(server: &Server, case: &str) -> String {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases").join(case);
    for file in ["setup.sql".to_owned(), format!("setup.{}.sql", server.flavour())] {
        let Ok(script) = fs::read(dir.join(&file)) else { continue };
        run_script(server, None, &script).unwrap_or_else(|error| panic!("{case}/{file}: {error}"));
    }
    format!("c_{}", case.replace('-', "_"))
}

/// What a tool cannot dump of a case.
struct Beyond {
    case: &'static str,
    /// The statement that takes it out of the case.
    without: &'static str,
    /// Whether the tool ends with an error; else it does not end.
    ends: bool,
}

/// Sets a case up without what the tool cannot dump, after a look whether that is still so.
fn set_up_for(server: &Server, case: &str, beyond: &[Beyond], tool: &dyn Fn(&str) -> Command) -> String {
    let schema = set_up(server, case);
    if let Some(Beyond { without, ends, .. }) = beyond.iter().find(|beyond| beyond.case == case) {
        let tool = tool(&schema);
        let mut limited = Command::new("timeout");
        limited
            .args(["-k", "1", if *ends { "60" } else { "2" }])
            .arg(tool.get_program())
            .args(tool.get_args());
        let code = limited.output().unwrap().status.code();
        assert!(code != Some(0) && (code == Some(124)) != *ends, "{tool:?} can dump {case}: {code:?}");
        sql(server, format!("USE {schema}; {without}"));
    }
    schema
}

/// The vendor's mysqldump.
fn mysqldump_command(server: &Server) -> Command {
    let mut command = server.client("mysqldump");
    if server.flavour() == Flavour::MySql {
        command.arg("--set-gtid-purged=OFF"); // the vendor's client would set it
    }
    command
}

/// Runs the vendor's mysqldump and gives what it wrote.
pub(crate) fn mysqldump(server: &Server, options: &str) -> Vec<u8> {
    let mut command = mysqldump_command(server);
    command.args(options.split_whitespace());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{options}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// A script in a file of its own.
fn written(dir: &tempfile::TempDir, name: &str, script: &[u8]) -> PathBuf {
    let path = dir.path().join(name);
    fs::write(&path, script).unwrap();
    path
}

fn drop_schema(server: &Server, schema: &str) {
    sql(server, format!("SET foreign_key_checks = 0; DROP DATABASE IF EXISTS `{schema}`"));
}

/// Restores; warnings about old ways of writing are fine, differences are not.
fn restored(server: &Server, path: &Path, options: &str) -> Output {
    run(&mut restore(server, path, options)).done()
}

/// An empty schema: dumps of one schema do not tell its character set.
fn create_schema(server: &Server, schema: &str) {
    drop_schema(server, schema);
    sql(server, format!("CREATE DATABASE `{schema}` CHARACTER SET utf8mb4"));
}

/// A restore after which the server may have warned of rows, as the tools' own restores are warned and say nothing.
fn restored_as_tools_do(server: &Server, path: &Path, what: &str) {
    let output = run(&mut restore(server, path, ""));
    let warned =
        output.code == Some(1) && output.stdout.contains("warned") && !output.stdout.contains("differs");
    assert!(output.code == Some(0) || warned, "{what}: {output}");
}

/// Feeds a script to the vendor's client, in a schema that is made for it.
fn by_client(server: &Server, schema: &str, script: &[u8]) {
    create_schema(server, schema);
    let mut client = client(server);
    // A client takes commands in comments and words of its own, unless it is told not to.
    client.args(["--binary-mode", schema]);
    // As drover's sessions have it: without its head a dump does not say so, and creates a table before the one that it refers
    // to; and MySQL from 8.4 on refuses foreign keys to columns that are no key, which it dumps.
    let more =
        if server.flavour() == Flavour::MySql { ", restrict_fk_on_non_standard_key = OFF" } else { "" };
    client.arg(format!("--init-command=SET foreign_key_checks = 0{more}"));
    let output = feed(&mut client, script);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Runs a program of which the tests need the real one.
fn tool(command: &mut Command) -> String {
    let output =
        command.output().unwrap_or_else(|error| panic!("{command:?}: {error}: scripts/setup installs it"));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{command:?}: {said}");
    said
}

/// Compares a schema of two servers, or of one at two times.
fn assert_same_rows(expected: &compare::Contents, server: &Server, schema: &str) {
    compare::assert_same(expected, &compare::rows(server, schema));
}

fn count(server: &Server, table: &str) -> u64 {
    try_sql(server, &format!("SELECT COUNT(*) FROM {table}"))
        .unwrap()
        .first()
        .and_then(|row| row[0].parse().ok())
        .unwrap()
}
