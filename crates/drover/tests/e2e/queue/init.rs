//! The tables, and servers that cannot hold them.

use drover_sandbox::Flavour;

use super::Queue;
use crate::client::{sql, value};
use crate::drover::{drover_on, run};
use crate::reach;
use crate::servers::{on_both, source, start, start_of};

on_both!(
    a_second_time_changes_nothing,
    without_a_schema_it_is_refused,
    other_engines_are_refused,
    a_log_of_statements,
);

fn a_second_time_changes_nothing(flavour: Flavour) {
    let queue = Queue::new(flavour, "init");
    queue.run("push 1 2").done();
    let tables = || {
        queue.sql(
            "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() ORDER BY 1",
        )
    };
    let before = tables();
    queue.run("init").done();
    assert_eq!(tables(), before);
    assert_eq!(queue.value("SELECT COUNT(*) FROM queue_inbox"), "2");
}

fn without_a_schema_it_is_refused(flavour: Flavour) {
    let output = run(&mut drover_on(source(flavour), "queue init")).refused(&[
        "no schema is named",
        "hint: ",
        "-D SCHEMA",
    ]);
    assert_eq!(output.stdout, "");
    let queue = Queue::new(flavour, "tables_that_are_gone");
    queue.sql("DROP TABLE queue_inbox");
    queue.run("push 1").refused(&["queue_inbox", "drover queue init"]);
    run(&mut drover_on(source(flavour), "queue stat -D queue_nowhere"))
        .refused(&["Unknown database 'queue_nowhere'", "drover queue init"]);
}

fn other_engines_are_refused(flavour: Flavour) {
    let queue = Queue::new(flavour, "engines");
    queue.sql("ALTER TABLE queue_dead ENGINE = MyISAM");
    let culprits = ["queue_dead", "MyISAM", "transactions", "hint: "];
    queue.run("init").refused(&culprits);
    run(&mut queue.working("--until-empty", ["--exec", "true"])).refused(&culprits);
}

/// Who may not choose another form is told what to do; who may just does it.
fn a_log_of_statements(flavour: Flavour) {
    let server = start(flavour, &["--log-bin", "--server-id=7", "--binlog-format=STATEMENT"]);
    sql(&server, "CREATE DATABASE jobs; CREATE USER app; GRANT ALL ON jobs.* TO app");
    let as_app = |line: &str| run(&mut drover_on(&server, &format!("queue {line} -D jobs -u app")));
    as_app("init").refused(&["STATEMENT", "hint: ", "SET GLOBAL binlog_format = 'ROW'"]);
    assert_eq!(
        value(&server, "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'jobs'"),
        "0"
    );
    let as_root = |line: &str| run(&mut drover_on(&server, &format!("queue {line} -D jobs")));
    as_root("init").done();
    as_app("push 1").refused(&["pushing tasks", "hint: ", "SET GLOBAL binlog_format = 'ROW'"]);
    as_app("work --until-empty --exec true")
        .refused(&["logs statements", "SET GLOBAL binlog_format = 'ROW'"]);
    as_root("push 1").done();
    as_root("work --until-empty --exec true").done();
    sql(&server, "SET GLOBAL binlog_format = 'ROW'");
    as_app("push 1").done();
    as_app("work --until-empty --exec true").done();
}

/// MySQL 5.5 has no fractions of a second, and keeps no schema of a queue that it cannot hold.
#[test]
fn what_a_server_cannot_hold_leaves_nothing() {
    let Some(server) = start_of(Flavour::MySql, "mysql-5.5", &[]) else { return };
    run(&mut drover_on(&server, "queue init -D q")).refused(&["DATETIME(3)", "nothing was made"]);
    assert_eq!(reach::sql(&server, "mysql", "SHOW DATABASES LIKE 'q'"), [[""; 0]; 0]);
}
