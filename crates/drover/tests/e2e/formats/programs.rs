//! Stored programs as other programs make them: amid several statements of one packet, with which MySQL keeps the `;` behind them.

use drover_sandbox::{Flavour, Server};

use super::sql_cases::by_hand;
use crate::client::sql;
use crate::drover::{copy, dump, restore, run, verify};
use crate::servers::{on_both, source, start_mariadb_11, target};

on_both!(made_amid_several_statements);

const MADE: &str = "CREATE DATABASE amid; USE amid; CREATE TABLE t (a INT PRIMARY KEY, b INT DEFAULT 1);
    CREATE PROCEDURE p() BEGIN SELECT 1; END; CREATE PROCEDURE q() SELECT 2 ; CREATE FUNCTION f() RETURNS INT DETERMINISTIC RETURN 3;
    CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW SET NEW.b = 4; CREATE VIEW v AS SELECT 5 AS five;
    CREATE EVENT e ON SCHEDULE EVERY 1 YEAR STARTS '2037-01-01' DO SET @x = 6; INSERT INTO t (a) VALUES (f())";

/// What came of them works.
fn works(server: &Server) {
    let asked = "USE amid; CALL p(); CALL q(); SELECT f(), five, b FROM t JOIN v";
    assert_eq!(sql(server, asked), [vec!["1"], vec!["2"], vec!["3", "5", "4"]]);
    sql(server, "DROP DATABASE amid");
}

fn made_amid_several_statements(flavour: Flavour) {
    let (source, target, dir) = (source(flavour), target(flavour), tempfile::tempdir().unwrap());
    let [out, script, state] = ["out", "script", "state"].map(|name| dir.path().join(name));
    sql(source, MADE);
    let body = "SELECT ROUTINE_DEFINITION FROM information_schema.ROUTINES WHERE ROUTINE_NAME = 'q' AND ROUTINE_SCHEMA = 'amid'";
    let kept = if flavour == Flavour::MySql { "SELECT 2 ;" } else { "SELECT 2" };
    assert_eq!(sql(source, body), [[kept]]);
    run(&mut dump(source, "amid", &out)).done();
    run(&mut verify(source, &out, "")).done();
    run(&mut restore(target, &out, "")).done();
    run(&mut restore(target, &out, "--drop-existing")).done();
    works(target);
    run(&mut copy(source, target, "amid", &state)).done();
    works(target);
    run(&mut dump(source, "amid --format sql", &script)).done();
    by_hand(target, &script, &[]).unwrap();
    works(target);
    let other = start_mariadb_11(&[]);
    run(&mut copy(source, &other, "amid", &dir.path().join("other"))).done();
    works(&other);
}
