//! Accounts whose hash or plugin lets nobody in.

use drover_sandbox::{Flavour, Server};

use super::across::about;
use crate::drover::{dump, restore, run, verify};
use crate::reach::sql;
use crate::servers::{is_wanted, start, start_of};

fn mysql(version: &str) -> Option<Server> {
    start_of(Flavour::MySql, version, &["--log-bin=bin", "--server-id=1"])
}

/// What MariaDB's installer gives to root and others, which MySQL takes for no hash.
#[test]
fn a_password_that_is_none() {
    let Some(target) = mysql("mysql-8.0.33") else { return };
    if !is_wanted(Flavour::MariaDb) {
        return;
    }
    let (source, dir) = (start(Flavour::MariaDb, &[]), tempfile::tempdir().unwrap());
    sql(
        &source,
        "mysql",
        "CREATE DATABASE shop; CREATE TABLE shop.orders (id INT PRIMARY KEY); INSERT INTO shop.orders VALUES (1);
         CREATE USER sock@localhost IDENTIFIED VIA unix_socket OR mysql_native_password USING 'invalid';
         CREATE USER first@localhost IDENTIFIED VIA mysql_native_password USING 'invalid' OR unix_socket;
         CREATE USER nobody@localhost IDENTIFIED VIA mysql_native_password USING 'invalid';
         GRANT SELECT ON shop.* TO sock@localhost, first@localhost, nobody@localhost",
    );
    run(&mut dump(&source, "shop --users", dir.path())).done();
    let report = run(&mut restore(&target, dir.path(), "--users --json"));
    assert_eq!(report.code, Some(1), "{report}");
    let lost = report.json()["users"]["not_held"].as_array().unwrap().clone();
    for user in ["sock", "first"] {
        let locked = about(&lost, &format!("`{user}`@`localhost`"), "no plugin unix_socket: it is locked");
        assert_eq!(
            locked["statement"],
            format!("ALTER USER `{user}`@`localhost` IDENTIFIED BY 'a new password' ACCOUNT UNLOCK")
        );
    }
    assert_eq!(lost.len(), 2, "nobody logged in as the third: {lost:#?}");
    assert_eq!(report.json()["verify"]["differences"].as_array().map(Vec::len), Some(0), "{report}");
    let granted = "SELECT COUNT(*) FROM db WHERE Db = 'shop' AND User IN ('sock', 'first', 'nobody')";
    assert_eq!(sql(&target, "mysql", granted), [["3"]]);
    let unlocked = "SELECT User FROM user WHERE User IN ('sock', 'first', 'nobody') AND account_locked = 'N'";
    assert_eq!(sql(&target, "mysql", unlocked), [["nobody"]]);
}

/// A server passes over an account without a plugin, for which all others were not dumped.
#[test]
fn a_plugin_that_is_empty() {
    let (Some(source), Some(target)) = (mysql("mysql-5.7"), mysql("mysql-5.7")) else { return };
    let dir = tempfile::tempdir().unwrap();
    for server in [&source, &target] {
        sql(
            server,
            "mysql",
            "DELETE FROM user WHERE User = '' OR Host NOT IN ('localhost', '%'); CREATE USER empty@localhost IDENTIFIED BY 'x';
             UPDATE user SET plugin = '' WHERE User = 'empty'; FLUSH PRIVILEGES",
        );
    }
    sql(
        &source,
        "mysql",
        "CREATE DATABASE shop; CREATE TABLE shop.orders (id INT PRIMARY KEY); CREATE USER ann@localhost;
         GRANT SELECT ON shop.* TO ann@localhost",
    );
    let dumped = run(&mut dump(&source, "shop --users", &dir.path().join("a"))).done();
    let warning = dumped.stderr.lines().find(|line| line.contains("account `empty`@`localhost` is left out"));
    let warning = warning.unwrap_or_else(|| panic!("{dumped}"));
    assert!(warning.contains("its plugin is empty"), "{warning}");
    run(&mut restore(&target, &dir.path().join("a"), "--users")).done();
    assert_eq!(sql(&target, "mysql", "SELECT COUNT(*) FROM user WHERE User = 'ann'"), [["1"]]);
    run(&mut verify(&target, &dir.path().join("a"), "--users")).done();

    // What the warning says helps.
    let (_, mend) = warning.split_once("; UPDATE").unwrap();
    sql(&source, "mysql", &format!("UPDATE{}", mend.trim_end_matches(" mends it")));
    let dumped = run(&mut dump(&source, "shop --users", &dir.path().join("b"))).done();
    assert!(!dumped.stderr.contains("left out"), "{dumped}");
    let users = std::fs::read_to_string(dir.path().join("b/@users.json")).unwrap();
    assert!(users.contains("empty"), "{users}");
    sql(&target, "mysql", "DROP USER `empty`@`localhost`");
    assert_eq!(sql(&target, "mysql", "SELECT COUNT(*) FROM user WHERE User = 'empty'"), [["0"]]);
}
