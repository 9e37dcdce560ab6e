//! A replica that a service keeps: it can be read, and what would write to it is refused in its words.

use drover_sandbox::Server;

use super::{MARIADB_10_5, MYSQL_5_7, MYSQL_9_7, Place};
use crate::drover::{drover_on, dump, restore, run, verify};
use crate::reach::sql;

/// What the page gives to an account, but for what tells the texts of routines, of which there are none.
const ACCOUNT: &str = "CREATE DATABASE shop; CREATE TABLE shop.t (id INT PRIMARY KEY); INSERT INTO shop.t VALUES (1), (2);
    CREATE USER drover@localhost; GRANT ALL ON shop.* TO drover@localhost; GRANT ALL ON jobs.* TO drover@localhost;
    GRANT ALL ON tpcc.* TO drover@localhost; GRANT PROCESS, REPLICATION CLIENT ON *.* TO drover@localhost";

fn read_only(place: Place, setting: &str) {
    if !place.is_wanted() {
        return;
    }
    let server: &Server = &place.start(&[]);
    sql(server, "mysql", ACCOUNT);
    let dir = tempfile::tempdir().unwrap();
    run(&mut dump(server, "shop -u drover", &dir.path().join("before"))).done();
    sql(server, "mysql", &format!("SET GLOBAL {setting} = 1"));
    let backup = dir.path().join("backup");
    run(&mut dump(server, "shop -u drover", &backup)).done();
    run(&mut verify(server, &backup, "--source -u drover")).done();
    let refused = |command: &mut std::process::Command| drop(run(command).refused(&["read-only"]));
    refused(&mut restore(server, &backup, "--drop-existing -u drover"));
    run(&mut drover_on(server, "queue init -D jobs -u drover"))
        .refused(&["takes no writes (read_only is on)"]);
    refused(&mut drover_on(server, "bench tpcc load -D tpcc -w 1 -u drover"));
    refused(drover_on(server, "chunk -D shop -u drover").arg("DELETE FROM t WHERE id > 0"));
    assert_eq!(sql(server, "shop", "SELECT COUNT(*) FROM t"), [["2"]]);
    assert_eq!(sql(server, "mysql", "SHOW DATABASES LIKE 'jobs'"), [[""; 0]; 0]);
    assert_eq!(sql(server, "shop", "SHOW TABLES"), [["t"]]);
}

#[test]
fn replica_of_mysql_5_7() {
    read_only(MYSQL_5_7, "super_read_only");
}

#[test]
fn replica_of_mysql_9_7() {
    read_only(MYSQL_9_7, "super_read_only");
}

#[test]
fn replica_of_mariadb_10_5() {
    read_only(MARIADB_10_5, "read_only");
}
