//! Accounts that the target has already.

use drover_sandbox::Flavour;

use super::{assert_same, described, logs_in, server, stays_out};
use crate::client::{sql, value};
use crate::drover::{dump, restore, run};
use crate::servers::{on_both, start};

on_both!(replaced_only_if_asked, who_restores_is_not_locked_out);

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
