//! Collations of the logs' sessions and statements on a server that lacks them: it takes the nearest that it has, in what is applied as in what is
//! printed, and the report names them.

use drover_sandbox::{Flavour, Server};

use super::versions::{logged, pair, sql};
use crate::client::{client, feed};
use crate::drover::{drover, drover_on, run};
use crate::servers::is_wanted;

/// What a session's collations make: a schema that names none, and a column that a query makes.
const MADE: &str = "SELECT DEFAULT_COLLATION_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = 'd';
    SELECT COLLATION_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'd' AND COLUMN_NAME = 'made'";

fn make(connection: &str, server: &str) -> String {
    format!(
        "SET NAMES utf8mb4; SET collation_connection = {connection}; SET collation_server = {server};
         CREATE DATABASE d; CREATE TABLE d.t AS SELECT 'a' AS made"
    )
}

/// The log of this work makes what is expected, in both ways; `told` are collations that the report of a replay names.
fn assert_made((source, target): (Server, Server), work: &str, expected: [&str; 2], told: &[&str]) {
    let log = logged(&source, work);
    let printed = run(drover("binlog sql").arg(&log)).done().stdout;
    let fed = feed(&mut client(&target), printed.as_bytes());
    assert!(fed.status.success(), "{}\n{printed}", String::from_utf8_lossy(&fed.stderr));
    let expected = expected.map(|name| vec![name.to_owned()]);
    assert_eq!(sql(&target, MADE), expected, "{printed}");
    sql(&target, "DROP DATABASE d");
    for options in ["--dry-run", ""] {
        let replayed = run(drover_on(&target, &format!("binlog replay {options}")).arg(&log)).done().stdout;
        for one in told {
            assert!(replayed.contains(&format!("collation {one} on the target")), "{one}: {replayed}");
        }
        let lines = replayed.lines().filter(|line| line.starts_with("collation "));
        assert_eq!(lines.count(), told.len(), "{replayed}");
    }
    assert_eq!(sql(&target, MADE), expected, "replayed");
}

#[test]
fn of_sessions_on_older_servers() {
    for (from, to, expected) in
        [("newest", "mysql-5.7", "utf8mb4_unicode_520_ci"), ("mysql-8.0", "mysql-5.5", "utf8mb4_unicode_ci")]
    {
        let Some(pair) = pair(from, to, &[]) else { continue };
        let work = make("utf8mb4_0900_ai_ci", "utf8mb4_0900_ai_ci");
        let told = format!("utf8mb4_0900_ai_ci is {expected}");
        assert_made(pair, &work, [expected; 2], &[&told, &told]);
    }
    if let Some(pair) = pair("mariadb-11.8", "mariadb-10.5", &[]) {
        let work = make("utf8mb4_uca1400_as_cs", "utf8mb4_uca1400_ai_ci");
        let told =
            ["utf8mb4_uca1400_ai_ci is utf8mb4_unicode_520_ci", "utf8mb4_uca1400_as_cs is utf8mb4_bin"];
        assert_made(pair, &work, ["utf8mb4_unicode_520_ci", "utf8mb4_bin"], &told);
    }
}

#[test]
fn of_a_language_on_the_other_vendor() {
    let work = make("utf8mb4_sv_0900_ai_ci", "utf8mb4_de_pb_0900_as_cs");
    for (to, expected) in [
        ("mariadb-10.11", ["utf8mb4_uca1400_german2_nopad_as_cs", "utf8mb4_uca1400_swedish_nopad_ai_ci"]),
        ("mariadb-10.5", ["utf8mb4_nopad_bin", "utf8mb4_swedish_ci"]),
        ("mariadb-11.8", ["utf8mb4_de_pb_0900_as_cs", "utf8mb4_sv_0900_ai_ci"]),
    ] {
        let Some(pair) = pair("newest", to, &[]) else { continue };
        let told = [
            format!("utf8mb4_de_pb_0900_as_cs is {}", expected[0]),
            format!("utf8mb4_sv_0900_ai_ci is {}", expected[1]),
        ];
        // What is as near is told of schemas only.
        let told: Vec<_> = match to {
            "mariadb-11.8" => Vec::new(),
            "mariadb-10.11" => vec![&*told[0]],
            _ => told.iter().map(|told| &**told).collect(),
        };
        assert_made(pair, &work, expected, &told);
    }
    if let Some(pair) = pair("mariadb-11.8", "newest", &[]) {
        let work = make("utf8mb4_uca1400_swedish_nopad_ai_ci", "utf8mb4_uca1400_german2_as_cs");
        let told = ["utf8mb4_uca1400_german2_as_cs is utf8mb4_de_pb_0900_as_cs"];
        assert_made(pair, &work, ["utf8mb4_de_pb_0900_as_cs", "utf8mb4_sv_0900_ai_ci"], &told);
    }
}

/// MariaDB's `character_set_collations`, on servers that lack it: what a session chose stands in what it made.
#[test]
fn that_a_session_chose_for_character_sets() {
    const WORK: &str = "SET NAMES utf8mb4; SET character_set_collations = 'utf8mb4=utf8mb4_uca1400_swedish_as_cs,latin1=latin1_german2_ci';
        CREATE DATABASE d CHARACTER SET latin1; CREATE TABLE d.t (made VARCHAR(9)) CHARSET utf8mb4";
    for (to, expected) in [
        ("mariadb-10.11", ["latin1_german2_ci", "utf8mb4_uca1400_swedish_as_cs"]),
        ("newest", ["latin1_german2_ci", "utf8mb4_sv_0900_as_cs"]),
        ("mysql-5.7", ["latin1_german2_ci", "utf8mb4_bin"]),
    ] {
        let Some((source, target)) = pair("mariadb-11.8", to, &[]) else { continue };
        let log = logged(&source, WORK);
        let replayed = run(drover_on(&target, "binlog replay").arg(&log)).done();
        assert_eq!(sql(&target, MADE), expected.map(|name| vec![name.to_owned()]), "{to}: {replayed}");
    }
}

/// Statements that change rows name collations, too, and MariaDB's names may leave the character set out.
#[test]
fn that_statements_name() {
    const WORK: &str = "SET NAMES utf8mb4; CREATE DATABASE d CHARSET utf8mb4; USE d;
        CREATE TABLE t (made VARCHAR(9) COLLATE uca1400_as_cs, b VARCHAR(9) CHARACTER SET utf8mb3 COLLATE uca1400_ai_ci) CHARSET utf8mb4;
        INSERT INTO t VALUES ('a', 'x'), ('A', 'x'), ('b', 'x');
        UPDATE t SET b = 'y' WHERE made COLLATE utf8mb4_uca1400_ai_ci = 'á'; DELETE FROM t WHERE made COLLATE uca1400_as_cs = 'B'";
    for (to, expected) in [("mariadb-10.5", "utf8mb4_bin"), ("newest", "utf8mb4_0900_as_cs")] {
        let Some((source, target)) = pair("mariadb-11.8", to, &[]) else { continue };
        let log = logged(&source, WORK);
        for options in ["--dry-run", ""] {
            let replayed = run(drover_on(&target, &format!("binlog replay {options}")).arg(&log)).done();
            for from in ["utf8mb4_uca1400_ai_ci", "utf8mb4_uca1400_as_cs", "utf8mb3_uca1400_ai_ci"] {
                assert!(replayed.stdout.contains(&format!("collation {from} is ")), "{from}: {replayed}");
            }
        }
        assert_eq!(sql(&target, MADE)[1], [expected]);
        let rows = "SELECT HEX(made), b FROM d.t ORDER BY 1";
        assert_eq!(sql(&target, rows), sql(&source, rows));
    }
}

/// Where the server has none that comes near, it is said before the first row.
#[test]
fn that_nothing_comes_near() {
    if !(is_wanted(Flavour::MySql) && is_wanted(Flavour::MariaDb)) {
        return;
    }
    let Some((source, target)) = pair("newest", "mariadb-10.11", &[]) else { return };
    let log = logged(&source, "CREATE DATABASE d; CREATE TABLE d.t (a CHAR(9) COLLATE gb18030_bin)");
    run(drover_on(&target, "binlog replay --dry-run").arg(&log)).found(&["gb18030_bin"]);
}

/// MySQL reads the boundaries of partitions in the character set of the session that opens the table: rows of events come in one that has all
/// letters, whatever statement came before; what a statement does in another one is told.
#[test]
fn that_boundaries_are_read_in() {
    for name in ["newest", "mysql-8.0"] {
        let Some((source, target)) = pair(name, name, &[]) else { continue };
        let definition = "CREATE DATABASE d; CREATE TABLE d.t (id INT, v VARCHAR(9) CHARACTER SET latin1) PARTITION BY RANGE COLUMNS (v)
              (PARTITION p0 VALUES LESS THAN ('ü'), PARTITION p1 VALUES LESS THAN (MAXVALUE)); CREATE TABLE d.other (id INT)";
        for server in [&source, &target] {
            sql(server, &format!("SET NAMES utf8mb4; {definition}"));
        }
        let events = "SET NAMES latin1; INSERT INTO d.other VALUES (1); SET SESSION binlog_format = ROW;
            INSERT INTO d.t VALUES (1, x'FC'), (2, 'a'), (3, x'E9'); DELETE FROM d.t WHERE id = 2";
        let log = logged(&source, events);
        let replayed = run(drover_on(&target, "binlog replay").arg(&log)).done();
        assert!(!replayed.stdout.contains("partitions of"), "{replayed}");
        let placed = "SELECT id FROM d.t PARTITION (p0); SELECT id FROM d.t PARTITION (p1)";
        sql(&target, "FLUSH TABLES");
        assert_eq!(sql(&target, placed), [["3"], ["1"]]);
        assert_eq!(sql(&target, "CHECK TABLE d.t")[0][3], "OK");
        let log = logged(&source, "SET NAMES latin1; INSERT INTO d.t VALUES (4, x'E9')");
        let told = [
            "partitions of `d`.`t`",
            "is in latin1",
            "FLUSH TABLES `d`.`t` and ALTER TABLE `d`.`t` REPAIR PARTITION ALL",
        ];
        for options in ["--name second --dry-run", "--name second"] {
            run(drover_on(&target, &format!("binlog replay {options}")).arg(&log)).found(&told);
        }
        sql(&target, "FLUSH TABLES d.t; ALTER TABLE d.t REPAIR PARTITION ALL; FLUSH TABLES");
        assert_eq!(sql(&target, "CHECK TABLE d.t")[0][3], "OK");
        assert_eq!(sql(&target, "SELECT id FROM d.t PARTITION (p0) ORDER BY id"), [["3"], ["4"]]);
    }
}
