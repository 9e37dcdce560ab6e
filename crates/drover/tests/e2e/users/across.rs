//! From one vendor to the other.

use drover_sandbox::{Flavour, Server};
use serde_json::Value;

use super::{login, logs_in, server, stays_out};
use crate::client::{sql, value};
use crate::drover::{dump, restore, run, verify};
use crate::servers::{is_wanted, start};

/// Runs a test that needs both vendors, if both are asked for.
pub(super) fn with_both(test: fn()) {
    if is_wanted(Flavour::MariaDb) && is_wanted(Flavour::MySql) {
        test();
    }
}

#[test]
fn to_mysql() {
    with_both(mariadb_to_mysql);
}

#[test]
fn to_mariadb() {
    with_both(mysql_to_mariadb);
}

/// Restores a dump of `source` with its accounts; what the target does not hold.
fn moved(source: &Server, target: &Server, dir: &std::path::Path) -> Vec<Value> {
    run(&mut dump(source, "shop --users", dir)).done();
    let check = run(&mut restore(target, dir, "--users --check --json"));
    assert_eq!(check.code, Some(1), "{check}");
    assert!(check.json()["users"]["not_held"].as_array().is_some_and(|lost| lost.len() > 3), "{check}");
    assert_eq!(
        value(target, "SELECT COUNT(*) FROM mysql.user WHERE User = 'ann'"),
        "0",
        "a check made accounts"
    );
    let text = run(&mut restore(target, dir, "--users --drop-existing"));
    assert_eq!(text.code, Some(1), "{text}");
    assert!(text.stdout.contains("not held  `"), "{text}");
    let report = run(&mut restore(target, dir, "--users --drop-existing --json"));
    assert_eq!(report.code, Some(1), "{report}");
    let report = report.json();
    assert_eq!(report["verify"]["differences"].as_array().map(Vec::len), Some(0), "{report}");
    report["users"]["not_held"].as_array().unwrap().clone()
}

/// The entry about `account` whose text holds `word`.
pub(super) fn about<'a>(lost: &'a [Value], account: &str, word: &str) -> &'a Value {
    let fits = |one: &&Value| one["account"] == account && one["what"].as_str().unwrap().contains(word);
    lost.iter().find(fits).unwrap_or_else(|| panic!("no {word} about {account}: {lost:#?}"))
}

fn mariadb_to_mysql() {
    let (source, target, dir) =
        (server(Flavour::MariaDb), start(Flavour::MySql, &[]), tempfile::tempdir().unwrap());
    sql(
        &source,
        "CREATE USER ann@localhost IDENTIFIED BY 's3cret' WITH MAX_STATEMENT_TIME 2; CREATE USER open@localhost;
         CREATE USER sock@localhost IDENTIFIED VIA unix_socket USING 'root' OR mysql_native_password USING PASSWORD('s3cret');
         CREATE USER off@localhost IDENTIFIED BY 's3cret' ACCOUNT LOCK;
         CREATE ROLE readers; GRANT SELECT ON shop.* TO readers;
           GRANT readers TO ann@localhost WITH ADMIN OPTION; GRANT readers TO open@localhost;
         SET DEFAULT ROLE readers FOR open@localhost; CREATE ROLE ann_too; GRANT INSERT ON shop.orders TO PUBLIC;
         GRANT BINLOG MONITOR, SLAVE MONITOR, SET USER, READ_ONLY ADMIN, DELETE HISTORY ON *.* TO ann@localhost;
         CREATE USER boss@localhost; GRANT ALL ON *.* TO boss@localhost WITH GRANT OPTION;
         GRANT SELECT ON mysql.global_priv TO open@localhost",
    );
    let lost = moved(&source, &target, dir.path());

    let ann = about(&lost, "`ann`@`localhost`", "mysql_native_password");
    assert_eq!(
        ann["statement"],
        "ALTER USER `ann`@`localhost` IDENTIFIED BY 'a new password' ACCOUNT UNLOCK"
    );
    assert_eq!(
        about(&lost, "`off`@`localhost`", "locked")["statement"],
        "ALTER USER `off`@`localhost` IDENTIFIED BY 'a new password'"
    );
    about(&lost, "`ann`@`localhost`", "MAX_STATEMENT_TIME 2");
    assert_eq!(
        about(&lost, "`ann`@`localhost`", "READ_ONLY ADMIN")["statement"],
        "GRANT CONNECTION_ADMIN ON *.* TO `ann`@`localhost`"
    );
    about(&lost, "`sock`@`localhost`", "unix_socket, mysql_native_password");
    let public = about(&lost, "PUBLIC", "mandatory role")["statement"].as_str().unwrap();
    assert!(login(&target, "open", "", "INSERT INTO shop.orders VALUES (7, 7)").is_err());
    sql(&target, public);
    assert!(login(&target, "open", "", "INSERT INTO shop.orders VALUES (7, 7)").is_ok(), "{public}");
    sql(&target, "DELETE FROM shop.orders WHERE id = 7");
    about(&lost, "`open`@`localhost`", "mysql.global_priv");
    assert!(!lost.iter().any(|one| one["account"] == "`boss`@`localhost`"), "{lost:#?}");

    stays_out(&target, "ann", "s3cret");
    stays_out(&target, "ann", "");
    logs_in(&target, "open", "");
    assert_eq!(
        login(&target, "open", "", "SELECT v FROM shop.orders").as_deref(),
        Ok("1"),
        "by its default role"
    );
    let may = sql(&target, "SHOW GRANTS FOR ann@localhost").concat().join("\n");
    for privilege in ["REPLICATION CLIENT", "SET_ANY_DEFINER", "`readers`@`%`", "ADMIN OPTION"] {
        assert!(may.contains(privilege), "{privilege}: {may}");
    }
    assert!(!may.contains("CONNECTION_ADMIN"), "more than it had: {may}");
    assert_eq!(
        sql(&target, "SHOW GRANTS FOR boss@localhost")[0],
        sql(&target, "SHOW GRANTS FOR root@localhost")[0]
            .iter()
            .map(|line| line.replace("`root`", "`boss`"))
            .collect::<Vec<_>>()
    );

    run(&mut verify(&target, dir.path(), "--users")).found(&["`ann`@`localhost`", "it is locked"]);

    // Unlocked without a password it still lets nobody in; with the statement that is named it does.
    sql(&target, "ALTER USER ann@localhost ACCOUNT UNLOCK");
    stays_out(&target, "ann", "");
    sql(&target, ann["statement"].as_str().unwrap().replace("a new password", "n3w"));
    logs_in(&target, "ann", "n3w");
    run(&mut verify(&target, dir.path(), "--users")).found(&["mysql`.`global_priv`"]);
    keeps_its_password(&target, dir.path(), "ann");
}

/// An account that is there with a password of its own is neither the same nor said to be locked.
fn keeps_its_password(target: &Server, dir: &std::path::Path, user: &str) {
    logs_in(target, user, "n3w");
    let report = run(&mut restore(target, dir, "--users --drop-existing --json"));
    assert_eq!(report.code, Some(1), "{report}");
    let (report, name) = (report.json(), format!("`{user}`@`localhost`"));
    let kept = report["users"]["password_kept"].as_array().unwrap();
    assert_eq!(kept, &[Value::from(name.clone())], "{report}");
    let lost = report["users"]["not_held"].as_array().unwrap();
    assert!(about(lost, &name, "keeps its password")["statement"].is_null(), "{report}");
    let is_locked = |one: &Value| one["account"] == name && one["what"].to_string().contains("it is locked");
    assert!(!lost.iter().any(is_locked), "{report}");
    logs_in(target, user, "n3w");
    let text = run(&mut restore(target, dir, "--users --check --drop-existing"));
    assert!(text.stdout.contains("1 there already whose passwords cannot be compared"), "{text}");
    run(&mut verify(target, dir, "--users")).found(&[&name, "its password is the dumped one cannot be told"]);
}

/// An account that is locked in the dump and open on the target, or the other way round, is another one, also where its password cannot be
/// compared.
#[test]
fn locks_are_compared() {
    with_both(|| {
        for (from, to) in [(Flavour::MariaDb, Flavour::MySql), (Flavour::MySql, Flavour::MariaDb)] {
            let (source, target, dir) = (server(from), start(to, &[]), tempfile::tempdir().unwrap());
            let make = |server: &Server, shut: &str, free: &str, old: &str| {
                sql(
                    server,
                    format!(
                        "CREATE USER shut@localhost IDENTIFIED BY 'p' {shut}; CREATE USER free@localhost IDENTIFIED BY 'p' {free};
                         CREATE USER old@localhost IDENTIFIED BY 'p' {old}; CREATE USER same@localhost IDENTIFIED BY 'p' ACCOUNT LOCK"
                    ),
                );
            };
            make(&source, "ACCOUNT LOCK", "", "PASSWORD EXPIRE");
            make(&target, "", "ACCOUNT LOCK", "");
            run(&mut dump(&source, "shop --users", dir.path())).done();
            let verified = run(&mut verify(&target, dir.path(), "--users --json")).json();
            let differences = verified["differences"].as_array().unwrap();
            let differs = |user: &str, word: &str| {
                let account = format!("account `{user}`@`localhost`");
                let is =
                    |one: &&Value| one["object"] == account && one["what"].as_str().unwrap().contains(word);
                differences.iter().any(|one| is(&one))
            };
            let lock = "its ACCOUNT LOCK is not the dumped one";
            assert!(differs("shut", lock) && differs("free", lock) && !differs("same", lock), "{verified}");
            assert!(differs("old", "its PASSWORD EXPIRE is not the dumped one"), "{verified}");
            run(&mut restore(&target, dir.path(), "--users")).refused(&[
                "already has the account",
                "2 more of the dump",
                "hint: --drop-existing",
            ]);
            // One that takes its place is locked, whatever was there.
            assert_eq!(run(&mut restore(&target, dir.path(), "--users --drop-existing")).code, Some(1));
            stays_out(&target, "shut", "p");
        }
    });
}

fn mysql_to_mariadb() {
    let (source, target, dir) =
        (server(Flavour::MySql), start(Flavour::MariaDb, &[]), tempfile::tempdir().unwrap());
    sql(
        &source,
        "SET GLOBAL partial_revokes = ON;
          CREATE USER ann@localhost IDENTIFIED BY 's3cret' PASSWORD HISTORY 5 COMMENT 'x';
            CREATE USER open@localhost;
         CREATE ROLE readers, writers, far@'10.%', far; GRANT SELECT ON shop.* TO readers;
           GRANT INSERT ON shop.* TO writers;
         GRANT readers, writers, far TO open@localhost; SET DEFAULT ROLE readers, writers TO open@localhost;
         CREATE USER boss@localhost; GRANT ALL ON *.* TO boss@localhost WITH GRANT OPTION;
         CREATE USER part@localhost; GRANT SELECT, PROCESS ON *.* TO part@localhost;
           REVOKE SELECT ON shop.* FROM part@localhost;
         CREATE USER lit@localhost; GRANT SELECT ON `a_b`.* TO lit@localhost;
         GRANT REPLICATION CLIENT, SYSTEM_VARIABLES_ADMIN, SET_ANY_DEFINER, AUDIT_ADMIN ON *.* TO ann@localhost;
         CREATE USER two@localhost; ALTER USER two@localhost IDENTIFIED BY 'a';
           ALTER USER two@localhost IDENTIFIED BY 'b' RETAIN CURRENT PASSWORD;
         CREATE USER net@'10.0.0.0/8'; GRANT ann@localhost TO open@localhost",
    );
    let lost = moved(&source, &target, dir.path());
    about(&lost, "`ann`@`localhost`", "caching_sha2_password");
    about(&lost, "`ann`@`localhost`", "PASSWORD HISTORY, COMMENT or ATTRIBUTE");
    assert_eq!(
        about(&lost, "`ann`@`localhost`", "SYSTEM_VARIABLES_ADMIN")["statement"],
        "GRANT SUPER ON *.* TO `ann`@`localhost`"
    );
    about(&lost, "`open`@`localhost`", "one default role");
    about(&lost, "`open`@`localhost`", "cannot grant the account `ann`@`localhost` as a role");
    about(&lost, "`far`@`10.%`", "no host");
    about(&lost, "`two`@`localhost`", "older password");
    about(&lost, "`net`@`10.0.0.0/8`", "netmask");
    assert_eq!(
        about(&lost, "`part`@`localhost`", "partial_revokes")["statement"],
        "GRANT SELECT ON *.* TO `part`@`localhost`"
    );
    assert!(!lost.iter().any(|one| one["account"] == "`boss`@`localhost`"), "{lost:#?}");

    stays_out(&target, "ann", "s3cret");
    stays_out(&target, "ann", "");
    sql(&target, "ALTER USER ann@localhost ACCOUNT UNLOCK");
    stays_out(&target, "ann", "");
    sql(&target, "ALTER USER ann@localhost IDENTIFIED BY 'n3w' ACCOUNT UNLOCK");
    logs_in(&target, "ann", "n3w");
    assert_eq!(login(&target, "open", "", "SELECT v FROM shop.orders").as_deref(), Ok("1"));
    assert!(
        login(&target, "part", "", "SELECT v FROM shop.orders").is_err(),
        "what was revoked was given back"
    );
    sql(&target, "CREATE DATABASE aXb; CREATE TABLE aXb.t (i INT)");
    assert!(login(&target, "lit", "", "SELECT * FROM aXb.t").is_err(), "an underscore became a pattern");
    let may = |who: &str| sql(&target, format!("SHOW GRANTS FOR {who}")).concat().join("\n");
    assert!(
        may("boss@localhost").contains("ALL PRIVILEGES ON *.*")
            && may("boss@localhost").contains("WITH GRANT OPTION")
    );
    assert!(may("ann@localhost").contains("BINLOG MONITOR") && may("ann@localhost").contains("SET USER"));
    assert!(!may("ann@localhost").contains("SUPER"));
    assert_eq!(value(&target, "SELECT COUNT(*) FROM mysql.user WHERE is_role = 'Y'"), "2");
    keeps_its_password(&target, dir.path(), "ann");
}
