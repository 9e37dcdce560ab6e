//! No number comes twice, also where the server forgets with which it went on: MySQL before 8.0 and MariaDB before 10.2.4 do when they are
//! started anew, and any server after the table was emptied by TRUNCATE.

use drover_sandbox::{Flavour, Server};

use super::Queue;
use crate::drover::{drover_on, run};
use crate::reach::{old, sql};
use crate::servers::{is_wanted, on_both};

on_both!(
    tasks_after_the_inbox_was_forgotten,
    shepherds_after_their_table_was_forgotten,
    an_older_queue_goes_on_above
);

fn tasks_after_the_inbox_was_forgotten(flavour: Flavour) {
    let queue = Queue::new(flavour, "numbering_tasks");
    queue.run("set --kind 1 --max-attempts 1").done();
    for round in 0..2 {
        queue.run(&format!("push --kind 1 {round}a {round}b {round}c")).done();
        let stat = queue.run("stat --json").done().json();
        assert_eq!(stat["shards"][0]["inbox"], 3, "{stat}");
        assert_eq!(queue.work("", ["--exec", "false"])["dead"], 3);
        queue.sql("ALTER TABLE queue_inbox AUTO_INCREMENT = 1");
    }
    assert_eq!(queue.sql("SELECT COUNT(*), COUNT(DISTINCT task) FROM queue_dead"), [["6", "6"]]);
    queue.run("dead drop --id 1").done();
    assert_eq!(queue.dead(), "5");
    queue.run("dead retry").done();
    queue.run("push --kind 1 --not-before 1s last").done();
    assert_eq!(queue.work("", ["--exec", "false"])["dead"], 5);
    assert_eq!(queue.sql("SELECT COUNT(*), COUNT(DISTINCT task) FROM queue_dead"), [["5", "5"]]);
}

fn shepherds_after_their_table_was_forgotten(flavour: Flavour) {
    let queue = Queue::new(flavour, "numbering_shepherds");
    for _ in 0..2 {
        queue.run("push 1 2 3").done();
        assert_eq!(queue.work("", ["--json-lines", "cat"])["done"], 3);
        queue.sql("ALTER TABLE queue_shepherd AUTO_INCREMENT = 1");
    }
    assert_eq!(queue.sql("SELECT SUM(done), COUNT(DISTINCT shepherd) FROM queue_count"), [["6", "2"]]);
}

/// Tables of the second version, in which numbers have been given.
fn an_older_queue_goes_on_above(flavour: Flavour) {
    let queue = Queue::new(flavour, "numbering_older");
    queue.sql(
        "ALTER TABLE queue_shepherd DROP lease_ms, MODIFY shepherd INT UNSIGNED NOT NULL AUTO_INCREMENT; \
         ALTER TABLE queue_meta DROP next_shepherd; UPDATE queue_meta SET version = 2; \
         INSERT INTO queue_dead (task, kind, object_id, attempts, error) VALUES (50, 1, 'x', 1, 'y'), (17592186044417, 1, 'x', 1, 'y'); \
         INSERT INTO queue_count (minute, shepherd, kind, done) VALUES (FLOOR(UNIX_TIMESTAMP() / 60), 9, 1, 7)",
    );
    queue.run("set --kind 1 --max-attempts 1").done();
    queue.run("stat").done();
    queue.run("push --kind 1 z").done();
    assert_eq!(queue.work("", ["--exec", "false"])["dead"], 1);
    assert_eq!(queue.sql("SELECT version, next_shepherd > 9 FROM queue_meta"), [["3", "1"]]);
    assert_eq!(queue.value("SELECT task FROM queue_dead WHERE object_id = 'z'"), "51");
    assert_eq!(queue.value("SELECT shepherd > 9 FROM queue_count WHERE failed > 0"), "1");
}

/// What MySQL 5.7 forgets by itself.
#[test]
fn a_server_that_forgets() {
    if !is_wanted(Flavour::MySql) {
        return;
    }
    let mut server = old("mysql-5.7", Flavour::MySql);
    let queue =
        |server: &Server, line: &str| run(&mut drover_on(server, &format!("queue {line} -D jobs"))).done();
    sql(&server, "mysql", "CREATE DATABASE jobs");
    queue(&server, "init");
    queue(&server, "set --max-attempts 1 --kind 1");
    for round in 1..=2 {
        queue(&server, "push --kind 1 a b c");
        queue(&server, "push d e f");
        let stat = queue(&server, "stat --json").json();
        assert_eq!(stat["shards"][0]["inbox"], 6, "{stat}");
        let mut work = drover_on(&server, "--json queue work -D jobs --until-empty");
        let worked = run(work.args(["--exec", "exit $DROVER_KIND"]));
        assert_eq!((&worked.json()["done"], &worked.json()["dead"]), (&3.into(), &3.into()), "{worked}");
        let counted = sql(&server, "jobs", "SELECT SUM(done) FROM queue_count");
        assert_eq!(counted, [[(3 * round).to_string()]]);
        server.stop();
        server.restart().unwrap();
    }
    assert_eq!(sql(&server, "jobs", "SELECT COUNT(DISTINCT task) FROM queue_dead"), [["6"]]);
    assert_eq!(sql(&server, "jobs", "SELECT COUNT(DISTINCT shepherd) FROM queue_count"), [["2"]]);
}
