//! Variables that statements in a log depend on: each has the type and the collation that it had.

use drover_sandbox::Flavour;

use super::sql::logged;
use crate::client::{Session, client, feed, sql};
use crate::drover::{drover, drover_on, run};
use crate::servers::{on_both, start};

on_both!(variables_are_what_they_were, sessions_are_told_where_they_matter);

fn variables_are_what_they_were(flavour: Flavour) {
    let options = ["--log-bin", "--binlog-format=STATEMENT"];
    let (source, target) = (start(flavour, &options), start(flavour, &[]));
    let logs = logged(&source, || {
        let statements = "CREATE DATABASE v; USE v; SET NAMES utf8mb4;
            CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, v VARBINARY(99), c TEXT, same INT);
            SET @a = _latin1 X'E441' COLLATE latin1_german1_ci; INSERT INTO t (v, c, same) VALUES (@a, COLLATION(@a), @a = _latin1 X'C461');
            SET @a = _utf8mb4 'ä' COLLATE utf8mb4_bin; INSERT INTO t (v, c, same) VALUES (@a, COLLATION(@a), @a = 'Ä');
            SET @a = _utf8mb4 'ä' COLLATE utf8mb4_unicode_ci, @`ö` = 'x'; INSERT INTO t (v, c, same) VALUES (@a, COLLATION(@`ö`), @a = 'Ä');
            SET @a = _utf16 X'00e4' COLLATE utf16_general_ci, @b = X'00ff'; INSERT INTO t (v, c, same) VALUES (@b, COLLATION(@a), @a = 'Ä');
            INSERT INTO t (v, c, same) VALUES (@b, COLLATION(@b), COLLATION('a') = 'utf8mb4_bin');
            SET @i = -5, @u = 18446744073709551615, @d = 1.50, @f = 1e300, @n = NULL;
            INSERT INTO t (v, c, same) VALUES (CONCAT(@i, ' ', @u, ' ', @d, ' ', @f), CONCAT(COLLATION(@a), COLLATION(@n)), @n IS NULL);";
        sql(&source, statements);
    });
    let printed = run(drover("binlog sql").args(&logs)).done().stdout;
    let fed = feed(client(&target).arg("--binary-mode"), printed.as_bytes());
    assert!(fed.status.success(), "{}\n{printed}", String::from_utf8_lossy(&fed.stderr));
    let rows = "SELECT id, HEX(v), c, same FROM v.t ORDER BY id";
    let (expected, found) = (sql(&source, rows), sql(&target, rows));
    assert_eq!(expected, found, "{printed}");
    let collations: Vec<_> = found.iter().take(2).map(|row| &row[2][..]).collect();
    assert_eq!(collations, ["latin1_german1_ci", "utf8mb4_bin"]);
}

/// Temporary tables of one name and CONNECTION_ID() depend on the session. Nothing else does, and to set its number takes a privilege.
fn sessions_are_told_where_they_matter(flavour: Flavour) {
    let options = ["--log-bin", "--binlog-format=STATEMENT"];
    let (source, target) = (start(flavour, &options), start(flavour, &[]));
    let logs = logged(&source, || {
        sql(
            &source,
            "CREATE DATABASE s; CREATE TABLE s.t (session INT, v INT); CREATE TABLE s.ids (id BIGINT)",
        );
        let mut sessions = [Session::open(&source), Session::open(&source)];
        let mut in_turns = |statement: &dyn Fn(usize) -> String| {
            sessions.iter_mut().enumerate().for_each(|(number, session)| session.run(&statement(number)));
        };
        in_turns(&|_| "USE s".into());
        in_turns(&|_| "CREATE TEMPORARY TABLE x (v INT)".into());
        in_turns(&|number| format!("INSERT INTO x VALUES ({number}), (10)"));
        in_turns(&|number| format!("INSERT INTO t SELECT {number}, v FROM x"));
        in_turns(&|_| "INSERT INTO ids VALUES (CONNECTION_ID())".into());
    });
    let printed = run(drover("binlog sql").args(&logs)).done().stdout;
    let (plain, behind) = printed.split_once("CREATE TEMPORARY").unwrap();
    let before = plain.rsplit_once("CREATE TABLE").unwrap().0;
    assert!(!before.contains("pseudo_thread_id") && behind.contains("pseudo_thread_id"), "{printed}");
    let rows = |server| {
        ["t ORDER BY session, v", "ids ORDER BY id"].map(|of| sql(server, format!("SELECT * FROM s.{of}")))
    };
    let fed = feed(client(&target).arg("--binary-mode"), printed.as_bytes());
    assert!(fed.status.success(), "{}\n{printed}", String::from_utf8_lossy(&fed.stderr));
    assert_eq!(rows(&target), rows(&source));
    sql(&target, "DROP DATABASE s");
    run(drover_on(&target, "binlog replay").args(&logs)).done();
    assert_eq!(rows(&target), rows(&source));
}
