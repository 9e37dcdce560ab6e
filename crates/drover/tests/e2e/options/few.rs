//! An account that may have few connections at once, as hosters give them, or that may lock nothing.

use std::path::Path;

use drover_sandbox::{Flavour, Server};

use crate::client::sql;
use crate::drover::{drover, drover_on, dump, restore, run};
use crate::files::manifest;
use crate::servers::{is_wanted, on_both, source, start_unsynced};

on_both!(connections, connections_for_tables_without_transactions, tables_that_cannot_be_locked);

/// An account with everything on one schema, and what else is given.
fn owner(server: &Server, schema: &str, with: &str) {
    sql(
        server,
        format!(
            "DROP DATABASE IF EXISTS {schema}; CREATE DATABASE {schema}; USE {schema}; DROP USER IF EXISTS {schema}@localhost; \
             CREATE USER {schema}@localhost {with}"
        ),
    );
    for name in [schema, &format!("{schema}_back")] {
        sql(server, format!("GRANT ALL ON {name}.* TO {schema}@localhost"));
    }
}

fn connections(flavour: Flavour) {
    let (server, dir) = (source(flavour), tempfile::tempdir().unwrap());
    owner(server, "few", "WITH MAX_USER_CONNECTIONS 2");
    sql(
        server,
        "USE few; CREATE TABLE a (id INT PRIMARY KEY); INSERT INTO a VALUES (1), (2); CREATE TABLE b LIKE a; CREATE TABLE c LIKE a",
    );
    let by = |path: &Path| dump(server, "few -u few --threads 3 --connect-timeout 1", path);
    run(&mut by(&dir.path().join("two"))).refused(&["(error 1226", "three connections"]);
    let allowed = |connections: u32| {
        let account = match flavour {
            Flavour::MariaDb => "few@localhost",
            Flavour::MySql => "few@localhost IDENTIFIED BY ''",
        };
        sql(server, format!("ALTER USER {account} WITH MAX_USER_CONNECTIONS {connections}"));
    };
    for (number, are_fewer) in [(3, true), (4, true), (7, false)] {
        allowed(number);
        let out = dir.path().join(number.to_string());
        let dumped = run(&mut by(&out)).done();
        assert_eq!(dumped.stderr.contains(": 1 worker instead of 3"), are_fewer, "{dumped}");
        // In the server's words.
        let may_not = "may not hold back all writers (FLUSH TABLES WITH READ LOCK: Access denied; you need";
        assert!(dumped.stderr.contains(may_not), "{dumped}");
        let options = "--into few=few_back --drop-existing -u few --threads 3";
        let restored = run(&mut restore(server, &out, options)).done();
        assert_eq!(restored.stderr.contains("worker instead of"), are_fewer, "{restored}");
        let verify = format!("verify {} --into few=few_back -u few --threads 3", out.display());
        let verified = run(&mut drover_on(server, &verify)).done();
        assert_eq!(verified.stderr.contains("worker instead of 3"), are_fewer, "{verified}");
        let url =
            |schema: &str| format!("mysql://few@localhost/{schema}?socket={}", server.socket().display());
        let state = dir.path().join(format!("state{number}"));
        let copy = format!(
            "copy few --no-defaults --into few=few_back --drop-existing --threads 3 --from {0} --to {0} --state {1}",
            url(""),
            state.display()
        );
        // The same account is source and target.
        if number == 7 {
            run(&mut drover(&copy)).done();
        }
    }
}

/// One of them keeps the tables locked.
fn connections_for_tables_without_transactions(flavour: Flavour) {
    let (server, dir) = (source(flavour), tempfile::tempdir().unwrap());
    for (number, is_enough) in [(3, false), (4, true)] {
        owner(server, "few_myisam", &format!("WITH MAX_USER_CONNECTIONS {number}"));
        sql(
            server,
            "CREATE TABLE few_myisam.m (id INT PRIMARY KEY) ENGINE = MyISAM; INSERT INTO few_myisam.m VALUES (1)",
        );
        let out = dir.path().join(number.to_string());
        let dumped = run(&mut dump(server, "few_myisam -u few_myisam --connect-timeout 1", &out));
        match is_enough {
            true => drop(dumped.done()),
            false => drop(dumped.refused(&["(error 1226", "(MyISAM) needs four"])),
        }
    }
}

/// Without transactions only a lock shows them as they were.
fn tables_that_cannot_be_locked(flavour: Flavour) {
    let (server, dir) = (source(flavour), tempfile::tempdir().unwrap());
    owner(server, "lockless", "");
    sql(
        server,
        "USE lockless; CREATE TABLE a (id INT PRIMARY KEY) ENGINE = InnoDB; INSERT INTO a VALUES (1); \
         CREATE TABLE m (id INT PRIMARY KEY) ENGINE = MyISAM; INSERT INTO m VALUES (1), (2); \
         REVOKE LOCK TABLES ON lockless.* FROM lockless@localhost",
    );
    let by = |options: &str, out: &str| {
        run(&mut dump(server, &format!("{options} -u lockless --threads 2"), &dir.path().join(out)))
    };
    let words = ["`lockless`.`m` has no transactions", "--inconsistent"];
    by("lockless", "refused").refused(&words);
    by("lockless.a", "one").done();
    assert_eq!(manifest(&dir.path().join("one"))["snapshot"]["inconsistent"], serde_json::Value::Null);
    let dumped = by("lockless --inconsistent", "all").done();
    assert!(dumped.stdout.contains("may belong to different moments"), "{dumped}");
    let snapshot = &manifest(&dir.path().join("all"))["snapshot"];
    assert_eq!((&snapshot["inconsistent"], &snapshot["lock"]), (&true.into(), &"no lock".into()));
    assert_eq!(snapshot["binlog_file"], serde_json::Value::Null);
    let mut after = drover_on(server, "binlog replay --dry-run");
    run(after.arg("--after").arg(dir.path().join("all")).arg("nowhere.000001"))
        .refused(&["no one position to go on from", "without --inconsistent"]);
    let into = "--into lockless=lockless_back -u lockless";
    run(&mut restore(server, &dir.path().join("all"), into)).done();
    run(&mut dump(server, "lockless --inconsistent", &dir.path().join("root"))).done();
    assert_ne!(manifest(&dir.path().join("root"))["snapshot"]["lock"], "no lock");
}

/// As Azure has it: a table without a key gets one from the server, which the account may not refuse.
#[test]
fn a_key_of_the_servers_own() {
    let flavour = Flavour::MySql;
    if !is_wanted(flavour) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let source = source(flavour);
    owner(source, "keyless", "");
    sql(
        source,
        "USE keyless; CREATE TABLE t (v INT); INSERT INTO t VALUES (1), (1), (NULL); CREATE TABLE k (id INT PRIMARY KEY)",
    );
    run(&mut dump(source, "keyless", dir.path())).done();
    let server = start_unsynced(flavour, &["--sql-generate-invisible-primary-key=ON"]);
    owner(&server, "keyless", "");
    let said = "key added `keyless_back`.`t`: my_row_id";
    let restored = run(&mut restore(&server, dir.path(), "--into keyless=keyless_back -u keyless")).done();
    assert!(restored.stdout.contains(said), "{restored}");
    let verify = format!("verify {} --into keyless=keyless_back -u keyless", dir.path().display());
    let verified = run(&mut drover_on(&server, &verify)).done();
    assert!(verified.stdout.contains(said) && !verified.stdout.contains("`k`"), "{verified}");
}
