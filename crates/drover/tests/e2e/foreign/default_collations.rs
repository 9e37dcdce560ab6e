//! Scripts of an older server, in which a character set without a collation has the one that it had there.

use drover_sandbox::{Flavour, Server};

use crate::client::mariadb_dump;
use crate::drover::{restore, run};
use crate::reach::{old, sql};
use crate::servers::{is_wanted, start, start_mariadb_11};

const WORK: &str = "SET sql_mode = ''; CREATE DATABASE d CHARACTER SET utf8mb4; USE d; CREATE TABLE t (w VARCHAR(9) PRIMARY KEY) CHARSET=utf8mb4;
    INSERT INTO t VALUES ('ß'), ('ss'); CREATE TABLE o (v VARCHAR(9) CHARACTER SET utf8mb4, l CHAR(9), KEY (v)) CHARSET=latin1;
    CREATE VIEW w AS SELECT CONVERT(l USING utf8mb4) FROM o;
    CREATE FUNCTION same(a VARCHAR(9) CHARSET utf8mb4) RETURNS INT DETERMINISTIC
      RETURN (SELECT COUNT(*) FROM (SELECT 'ss' AS w) x WHERE x.w = a);
    CREATE FUNCTION converted(a CHAR(9)) RETURNS INT DETERMINISTIC RETURN CONVERT(a USING utf8mb4) = 'b'";

fn stays(from: &Server, to: &Server) {
    sql(from, "mysql", WORK);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("d.sql");
    mariadb_dump(from, "d", &file);
    let restored = run(&mut restore(to, &file, "")).done();
    let told = restored.stdout.clone() + &restored.stderr;
    assert!(told.contains("CONVERT(a USING utf8mb4) has the collation"), "{restored}");
    let columns = "SELECT TABLE_NAME, COLUMN_NAME, COLLATION_NAME FROM information_schema.COLUMNS \
         WHERE TABLE_SCHEMA = 'd' AND COLLATION_NAME NOT LIKE 'latin1%' ORDER BY 1, 2";
    for question in
        [columns, "SELECT @@collation_database", "SELECT COUNT(*) FROM t", "SELECT same('ß'), same('ss')"]
    {
        assert_eq!(sql(to, "d", question), sql(from, "d", question), "{question}");
    }
}

#[test]
fn of_5_7_on_the_newest() {
    if is_wanted(Flavour::MySql) {
        let target = start(Flavour::MySql, &["--log-bin-trust-function-creators=1"]);
        stays(&old("mysql-5.7", Flavour::MySql), &target);
    }
}

#[test]
fn of_10_2_on_11() {
    if is_wanted(Flavour::MariaDb) {
        stays(&old("mariadb-10.2", Flavour::MariaDb), &start_mariadb_11(&[]));
    }
}
