//! Accounts that the target has already.

use drover_sandbox::Flavour;

use super::{assert_same, described, logs_in, server, stays_out};
use crate::client::{sql, value};
use crate::drover::{Output, copy, dump, restore, run};
use crate::servers::{on_both, run as run_on, start};

on_both!(replaced_only_if_asked, who_restores_is_not_locked_out, what_was_lost_is_known_to_the_next_run);

fn replaced_only_if_asked(flavour: Flavour) {
    let (source, target, dir) = (server(flavour), start(flavour, &[]), tempfile::tempdir().unwrap());
    let accounts = "CREATE ROLE readers; CREATE USER ann@localhost IDENTIFIED BY 'old';
      CREATE USER same@localhost IDENTIFIED BY ''; GRANT readers TO same@localhost";
    sql(
        &source,
        format!(
            "{accounts}; GRANT SELECT ON shop.* TO readers; ALTER USER ann@localhost IDENTIFIED BY 'new';
              GRANT readers TO ann@localhost"
        ),
    );
    sql(
        &target,
        format!(
            "{accounts}; CREATE USER stays@localhost; GRANT readers TO stays@localhost;
              GRANT SELECT ON *.* TO ann@localhost"
        ),
    );
    run(&mut dump(&source, "shop --users", dir.path())).done();
    let before = described(&target);

    let in_the_way = "the target has it already, other than in the dump; --drop-existing replaces it";
    let check =
        run(&mut restore(&target, dir.path(), "--users --check")).found(&["accounts  0 to be created"]);
    assert_eq!(check.stdout.matches(in_the_way).count(), 2, "{check}");
    run(&mut restore(&target, dir.path(), "--users"))
        .refused(&["account `ann`@`localhost` and 1 more", "hint: --drop-existing"]);
    assert_same(&described(&target), &before);
    assert_eq!(
        value(&target, "SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = 'shop'"),
        "0"
    );

    let report = run(&mut restore(&target, dir.path(), "--users --drop-existing --json")).done().json();
    assert_eq!(
        (report["users"]["created"].clone(), report["users"]["same"].clone()),
        (2.into(), 1.into()),
        "{report}"
    );
    logs_in(&target, "ann", "new");
    stays_out(&target, "ann", "old");
    let after = described(&target).join("\n");
    assert!(!after.contains("SELECT ON *.* TO `ann`"), "{after}");
    let stays = sql(&target, "SHOW GRANTS FOR stays@localhost").concat().join("\n");
    assert!(stays.contains("`readers`"), "an account that is not in the dump lost its role: {stays}");
}

/// A grant on what is not restored cannot be made: the check says so, the restore, and the run that finds all done.
fn what_was_lost_is_known_to_the_next_run(flavour: Flavour) {
    let (source, target, dir) = (server(flavour), start(flavour, &[]), tempfile::tempdir().unwrap());
    sql(
        &source,
        "CREATE DATABASE other; CREATE TABLE other.t (id INT PRIMARY KEY); CREATE TABLE other.made (id INT PRIMARY KEY);
         CREATE USER report@localhost IDENTIFIED BY 'p'; GRANT SELECT ON shop.orders TO report@localhost;
         GRANT SELECT ON other.t TO report@localhost; GRANT CREATE, SELECT ON other.made TO report@localhost",
    );
    let (out, state) = (dir.path().join("dump"), dir.path().join("state"));
    run(&mut dump(&source, "shop --users", &out)).done();
    let lost =
        |output: Output| output.found(&["GRANT SELECT ON `other`.`t`"]).json()["users"]["not_held"].clone();
    let restored =
        |options: &str| lost(run(&mut restore(&target, &out, &format!("--users --json {options}"))));
    let first = restored("--check");
    assert_eq!(first.as_array().map(Vec::len), Some(1), "{first}");
    assert_eq!(restored(""), first);
    assert_eq!(restored("--resume"), first);
    sql(&target, "DROP DATABASE shop; DROP USER report@localhost");
    let copied = |options: &str| {
        lost(run(&mut copy(&source, &target, &format!("shop --users --json {options}"), &state)))
    };
    assert_eq!(copied(""), first);
    assert_eq!(copied("--resume"), first);
}

/// Not the account in use, nor root, even if the dump has other passwords for them.
fn who_restores_is_not_locked_out(flavour: Flavour) {
    let (source, target, dir) = (server(flavour), start(flavour, &[]), tempfile::tempdir().unwrap());
    let make = |server, password: &str| {
        sql(
            server,
            format!(
                "CREATE USER moves@localhost IDENTIFIED BY '{password}';
                  GRANT ALL ON *.* TO moves@localhost WITH GRANT OPTION"
            ),
        );
    };
    make(&source, "theirs");
    make(&target, "mine");
    sql(
        &source,
        "CREATE USER ann@localhost; CREATE USER root@'10.%' IDENTIFIED BY 'x';
          ALTER USER root@localhost IDENTIFIED BY 'x'; REVOKE INSERT ON *.* FROM moves@localhost",
    );
    run(&mut dump(&source, "shop --users -u moves --password=theirs", dir.path())).done();
    let options = "--users --drop-existing -u moves --password=mine --json";
    let report = run(&mut restore(&target, dir.path(), options)).done().json();
    let alone = report["users"]["left_alone"].as_array().unwrap();
    assert_eq!(alone, &["`moves`@`localhost`", "`root`@`localhost`"], "{report}");
    logs_in(&target, "moves", "mine");
    logs_in(&target, "root", "");
    assert_eq!(value(&target, "SELECT COUNT(*) FROM mysql.user WHERE User = 'root'"), "2");
}

/// MariaDB's PUBLIC is there already, as another account may be: all who log in to the target get what is granted to it.
#[test]
fn public_is_changed_only_if_asked() {
    run_on(Flavour::MariaDb, |flavour| {
        let (source, target, dir) = (server(flavour), server(flavour), tempfile::tempdir().unwrap());
        sql(&source, "CREATE ROLE readers; GRANT SELECT ON shop.* TO PUBLIC; GRANT readers TO PUBLIC");
        sql(
            &target,
            "CREATE ROLE theirs; GRANT DELETE ON shop.* TO PUBLIC; GRANT theirs TO PUBLIC; CREATE USER stays@localhost",
        );
        run(&mut dump(&source, "shop --users", dir.path())).done();
        let public = || {
            let mut grants = sql(&target, "SHOW GRANTS FOR PUBLIC").concat();
            grants.sort(); // MariaDB's order is any
            grants.join("\n")
        };
        let before = public();
        let check = run(&mut restore(&target, dir.path(), "--users --check"));
        assert!(
            check.stdout.contains("not held  PUBLIC: the target has it already, other than in the dump"),
            "{check}"
        );
        sql(&target, "DROP DATABASE shop");
        run(&mut restore(&target, dir.path(), "--users"))
            .refused(&["the target already has the account PUBLIC", "hint: --drop-existing"]);
        assert_eq!(public(), before);
        assert_eq!(
            value(&target, "SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = 'shop'"),
            "0"
        );

        run(&mut restore(&target, dir.path(), "--users --drop-existing")).done();
        let after = public();
        assert!(after.contains("SELECT ON `shop`") && after.contains("`readers`"), "{after}");
        assert!(!after.contains("DELETE") && !after.contains("`theirs`"), "{after}");
        let again = run(&mut restore(&target, dir.path(), "--users --drop-existing --json")).done().json();
        assert_eq!(
            (again["users"]["created"].clone(), again["users"]["same"].clone()),
            (0.into(), 2.into()),
            "{again}"
        );

        // One that nothing is granted to any more is as good as none.
        sql(
            &target,
            "REVOKE ALL PRIVILEGES, GRANT OPTION FROM PUBLIC; DROP ROLE readers; DROP DATABASE shop",
        );
        run(&mut restore(&target, dir.path(), "--users")).done();
        assert_eq!(public(), after);
    });
}
