//! What servers say and what things on them are called does not reach a terminal as something else than text.

use drover_sandbox::{Flavour, Server};

use crate::client::sql;
use crate::drover::{Output, drover_on, dump, run, verify};
use crate::queue::Queue;
use crate::servers::{on_both, source};

/// Clears the screen, is red by a character of C1, turns around, and goes on in a line that looks like ours.
const NAME: &str = "a\u{1b}[2J\u{9b}31m\u{202e}\nverified  identical";
/// The same as it is shown.
const SHOWN: &str = r"a\u{1b}[2J\u{9b}31m\u{202e}\nverified  identical";

fn assert_plain(output: &Output) {
    for said in [&output.stdout, &output.stderr] {
        let obeyed = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
        assert!(!said.contains(obeyed), "{said:?}");
        assert!(said.lines().all(|line| !line.starts_with("verified  identical")), "{said:?}");
    }
}

fn made(flavour: Flavour) -> &'static Server {
    let server = source(flavour);
    sql(
        server,
        format!(
            "CREATE DATABASE terminal; CREATE TABLE terminal.`{NAME}` (id INT PRIMARY KEY);
             INSERT INTO terminal.`{NAME}` VALUES (1)"
        ),
    );
    server
}

fn names_and_errors_are_shown_as_text(flavour: Flavour) {
    let (server, dir) = (made(flavour), tempfile::tempdir().unwrap());
    run(&mut dump(server, "terminal", dir.path())).done();
    sql(server, format!("INSERT INTO terminal.`{NAME}` VALUES (2)"));
    let differs = run(&mut verify(server, dir.path(), "")).found(&["differs", SHOWN]);
    assert_plain(&differs);

    let differs = run(verify(server, dir.path(), "").arg("--json")).found(&[]);
    let is_whole =
        |value: &serde_json::Value| value["object"].as_str().is_some_and(|name| name.contains(NAME));
    assert!(differs.json()["differences"].as_array().unwrap().iter().any(is_whole), "{differs}");
    assert!(!differs.stdout.contains(['\u{9b}', '\u{202e}']), "{differs}");

    let mut command = drover_on(server, "chunk");
    let refused =
        run(command.arg(format!("DELETE FROM terminal.`no {NAME}` WHERE id > 0"))).refused(&["\\u{1b}"]);
    assert_plain(&refused);
}

/// Object ids are others' words, and so is what a worker says when it fails.
fn tasks_are_shown_as_text(flavour: Flavour) {
    let queue = Queue::new(flavour, "terminal");
    queue.run("set --kind 1 --max-attempts 1").done();
    queue.sql(format!("INSERT INTO queue_inbox (kind, object_id) VALUES (1, '{NAME}')"));
    let hands = "printf '%s' \"$DROVER_OBJECT_ID\" >&2; exit 1";
    let mut work = queue.command("work -v --until-empty");
    assert_plain(&run(work.args(["--exec", hands])).found(&[]));
    let error = queue.value("SELECT error FROM queue_dead");
    assert!(error.contains("\\u{1b}") || error.contains('\u{1b}'), "{error:?}");
    let listed = queue.run("dead list").found(&["object a\\u{1b}[2J", "exit status 1: a\\u{1b}"]);
    assert_plain(&listed);
    assert_eq!(listed.stdout.lines().count(), 1, "{listed}");
    assert_plain(&queue.run("stat").done());
    let json = queue.run("dead list --json").found(&[]);
    assert_eq!(json.json()[0]["object_id"], NAME, "{json}");
    assert!(!json.stdout.contains(['\u{1b}', '\u{9b}', '\u{202e}']), "{json}");
}

on_both!(names_and_errors_are_shown_as_text, tasks_are_shown_as_text);
