//! What accounts may do on a server where the same words mean something else: never more than before, and what is less is listed.

use std::path::Path;
use std::process::Command;

use drover_sandbox::{Flavour, Server};
use serde_json::Value;

use super::across::{about, with_both};
use super::{login, server};
use crate::client::{feed, sql};
use crate::drover::{dump, restore, run, verify};
use crate::reach;
use crate::servers::{start, start_of};

/// Dumps `source` with its accounts; what the target does not hold of them, which a check lists as the restore does. What the server was
/// given is what was meant.
fn moved(source: &Server, target: &Server) -> Vec<Value> {
    let dir = tempfile::tempdir().unwrap();
    run(&mut dump(source, "shop --users", dir.path())).done();
    restored(target, dir.path())
}

fn restored(target: &Server, dir: &Path) -> Vec<Value> {
    let lost =
        |report: &Value| report["users"]["not_held"].as_array().unwrap_or_else(|| panic!("{report}")).clone();
    let check = lost(&run(&mut restore(target, dir, "--users --check --json")).json());
    let report = run(&mut restore(target, dir, "--users --json")).json();
    let differences = report["verify"]["differences"].as_array().map(Vec::len);
    assert_eq!((differences, lost(&report)), (Some(0), check), "{report}");
    lost(&report)
}

fn may(server: &Server, who: &str) -> String {
    sql(server, format!("SHOW GRANTS FOR {who}")).concat().join("\n")
}

/// To MariaDB PUBLIC is everybody.
#[test]
fn a_role_called_public() {
    with_both(|| {
        let (source, target) = (server(Flavour::MySql), start(Flavour::MariaDb, &[]));
        sql(
            &source,
            "CREATE ROLE `Public`, `NONE`, plain; GRANT SELECT ON shop.* TO `Public`; CREATE USER ann@localhost, bob@localhost;
             GRANT `Public`, `NONE`, plain TO ann@localhost; SET DEFAULT ROLE `Public`, plain TO ann@localhost;
             CREATE DEFINER = `Public`@`%` VIEW shop.looks AS SELECT id FROM shop.orders",
        );
        let lost = moved(&source, &target);
        let public = about(&lost, "`Public`@`%`", "no role of MariaDB can be called Public");
        about(&lost, "`NONE`@`%`", "no role of MariaDB can be called NONE");
        for role in ["Public", "NONE"] {
            about(&lost, "`ann`@`localhost`", &format!("the role `{role}`@`%` could not be made"));
        }
        let there = sql(
            &target,
            "SELECT User, default_role FROM mysql.user WHERE is_role = 'Y' OR User = 'ann' ORDER BY 1",
        );
        assert_eq!(there, [["ann", "plain"], ["plain", ""]]);
        assert!(
            login(&target, "bob", "", "SELECT v FROM shop.orders").is_err(),
            "everybody got the role's rights"
        );
        assert!(login(&target, "bob", "", "SELECT id FROM shop.looks").is_err());
        sql(&target, public["statement"].as_str().unwrap());
        assert!(may(&target, "Public_role").contains("SELECT ON `shop`"));
    });
}

/// MySQL has one GRANT OPTION for the older privileges and one for each dynamic one, MariaDB one for all.
#[test]
fn a_grant_option_does_not_spread() {
    with_both(|| {
        let (source, target) = (server(Flavour::MySql), start(Flavour::MariaDb, &[]));
        sql(
            &source,
            "CREATE USER older@localhost, later@localhost, only@localhost, every@localhost, on_schema@localhost;
             GRANT SELECT ON *.* TO older@localhost WITH GRANT OPTION; GRANT CONNECTION_ADMIN, BINLOG_ADMIN ON *.* TO older@localhost;
             GRANT SELECT ON *.* TO later@localhost; GRANT CONNECTION_ADMIN ON *.* TO later@localhost WITH GRANT OPTION;
             GRANT SELECT ON shop.* TO only@localhost; GRANT BINLOG_ADMIN ON *.* TO only@localhost WITH GRANT OPTION;
             GRANT SELECT, BINLOG_ADMIN ON *.* TO every@localhost WITH GRANT OPTION;
             GRANT SELECT ON shop.* TO on_schema@localhost WITH GRANT OPTION; GRANT PROCESS ON *.* TO on_schema@localhost;
             CREATE USER boss@localhost; GRANT ALL ON *.* TO boss@localhost; GRANT SYSTEM_USER ON *.* TO boss@localhost WITH GRANT OPTION",
        );
        let lost = moved(&source, &target);
        for user in ["older", "later", "only", "boss"] {
            let option = about(&lost, &format!("`{user}`@`localhost`"), "one GRANT OPTION for all");
            assert_eq!(
                option["statement"],
                format!("GRANT USAGE ON *.* TO `{user}`@`localhost` WITH GRANT OPTION")
            );
            assert!(!may(&target, &format!("{user}@localhost")).contains("GRANT OPTION"), "{user}");
        }
        assert!(may(&target, "older@localhost").contains("SELECT, CONNECTION ADMIN"));
        assert!(may(&target, "boss@localhost").contains("ALL PRIVILEGES"));
        for user in ["every", "on_schema"] {
            assert!(may(&target, &format!("{user}@localhost")).contains("WITH GRANT OPTION"), "{user}");
            assert!(!lost.iter().any(|one| one["account"] == format!("`{user}`@`localhost`")), "{lost:#?}");
        }
        assert!(login(&target, "only", "", "GRANT SELECT ON shop.* TO every@localhost").is_err());
    });
}

fn of(flavour: Flavour, name: &str) -> Option<Server> {
    start_of(flavour, name, &["--log-bin=bin", "--server-id=1"])
}

/// What an account with SUPER may do where SUPER means all.
const SUPER: [&str; 9] = [
    "SET GLOBAL read_only = 0",
    "SET GLOBAL max_connections = 151",
    "SET SESSION sql_log_bin = 1",
    "SET SESSION binlog_format = 'ROW'",
    "PURGE BINARY LOGS TO 'nope'",
    "SHOW BINARY LOGS",
    "SET GLOBAL event_scheduler = OFF",
    "CREATE SERVER beside FOREIGN DATA WRAPPER mysql OPTIONS (HOST 'x'); DROP SERVER beside",
    "GRANT `any` TO other@localhost",
];

/// Which of these the account `su` may do.
fn superuser(server: &Server) -> Vec<bool> {
    let is_allowed = |statement: &&str| {
        let mut client = Command::new("mariadb");
        client.args(["--no-defaults", "--skip-ssl", "-u", "su", "-S"]).arg(server.socket());
        let output = feed(&mut client, statement.as_bytes());
        let said = String::from_utf8_lossy(&output.stderr);
        let words = ["denied", "not allowed", "read-only option", "syntax"]; // 5.7 has no roles
        output.status.success() || !words.iter().any(|word| said.contains(word))
    };
    SUPER.iter().map(is_allowed).collect()
}

/// Takes an account with SUPER along. It may do nothing that it might not do before, and what it may no longer do is listed; what is listed
/// and what it has then.
fn super_moved(from: (Flavour, &str), to: (Flavour, &str), more: &str) -> Option<(Vec<Value>, String)> {
    let (source, target) = (of(from.0, from.1)?, of(to.0, to.1)?);
    let make = |server: &Server, name: &str| {
        let role = if name == "mysql-5.7" { "" } else { "; CREATE ROLE `any`" };
        reach::sql(server, "mysql", &format!("CREATE USER other@localhost{role}"));
    };
    for server in [&source, &target] {
        let away = "DELETE FROM user WHERE User = '' OR Host NOT IN ('localhost', '%'); FLUSH PRIVILEGES";
        if server.flavour() == Flavour::MySql {
            reach::sql(server, "mysql", away);
        }
    }
    reach::sql(
        &source,
        "mysql",
        &format!("CREATE DATABASE shop; CREATE USER su@localhost; GRANT SUPER{more} ON *.* TO su@localhost"),
    );
    let lost = moved(&source, &target);
    make(&source, from.1);
    make(&target, to.1);
    let (before, after) = (superuser(&source), superuser(&target));
    let lost: Vec<_> = lost.into_iter().filter(|one| one["account"] == "`su`@`localhost`").collect();
    let has_roles = |statement: &str| from.1 != "mysql-5.7" || !statement.starts_with("GRANT");
    for ((statement, before), after) in
        SUPER.iter().zip(before).zip(after).filter(|((statement, _), _)| has_roles(statement))
    {
        assert!(before || !after, "{from:?} to {to:?}: more than before: {statement}: {lost:#?}");
        assert!(after || !before || !lost.is_empty(), "{from:?} to {to:?}: less, in silence: {statement}");
    }
    let has = reach::sql(&target, "mysql", "SHOW GRANTS FOR su@localhost").concat().join("\n");
    Some((lost, has))
}

const MARIADB: Flavour = Flavour::MariaDb;
const MYSQL: Flavour = Flavour::MySql;

#[test]
fn super_of_an_older_mariadb() {
    for from in [(MARIADB, "mariadb-10.5"), (MARIADB, "newest"), (MYSQL, "mysql-5.7")] {
        let Some((lost, has)) = super_moved(from, (MARIADB, "mariadb-11.8"), "") else { continue };
        assert!(
            lost.is_empty() && has.contains("SUPER") && has.contains("BINLOG ADMIN"),
            "{from:?}: {lost:#?} {has}"
        );
    }
    if let Some((lost, has)) = super_moved((MARIADB, "mariadb-10.5"), (MARIADB, "newest"), "") {
        assert!(
            lost.is_empty() && has.contains("SUPER") && has.contains("READ_ONLY ADMIN"),
            "{lost:#?} {has}"
        );
    }
}

#[test]
fn super_of_a_later_mariadb() {
    for to in [(MARIADB, "newest"), (MARIADB, "mariadb-10.5"), (MYSQL, "newest"), (MYSQL, "mysql-5.7")] {
        let Some((lost, has)) = super_moved((MARIADB, "mariadb-11.8"), to, "") else { continue };
        let nearest = if to == (MYSQL, "newest") { "SYSTEM_VARIABLES_ADMIN" } else { "SUPER" };
        let not_granted = about(&lost, "`su`@`localhost`", "also allows what it could not do");
        assert_eq!(not_granted["statement"], format!("GRANT {nearest} ON *.* TO `su`@`localhost`"));
        assert!(!has.contains("SUPER"), "{to:?}: {has}");
    }
    let all = ", BINLOG ADMIN, BINLOG MONITOR, BINLOG REPLAY, CONNECTION ADMIN, FEDERATED ADMIN, REPLICATION MASTER ADMIN, \
               REPLICATION SLAVE ADMIN, SET USER, SLAVE MONITOR";
    if let Some((lost, has)) = super_moved((MARIADB, "mariadb-11.8"), (MARIADB, "newest"), all) {
        assert!(lost.is_empty() && has.contains("SUPER"), "{lost:#?} {has}");
    }
}

#[test]
fn super_of_the_other_vendor() {
    if let Some((lost, has)) = super_moved((MARIADB, "mariadb-10.5"), (MYSQL, "newest"), "") {
        let any = about(&lost, "`su`@`localhost`", "granting any role");
        assert_eq!(any["statement"], "GRANT SUPER ON *.* TO `su`@`localhost`");
        assert!(has.contains("SYSTEM_VARIABLES_ADMIN") && has.contains("XA_RECOVER_ADMIN"), "{has}");
    }
    if let Some((lost, _)) = super_moved((MYSQL, "newest"), (MARIADB, "mariadb-11.8"), "") {
        about(&lost, "`su`@`localhost`", "WITH ADMIN OPTION of each role");
    }
    if let Some((lost, has)) = super_moved((MYSQL, "mysql-5.7"), (MYSQL, "newest"), "") {
        assert!(
            lost.is_empty() && has.contains("SUPER") && has.contains("XA_RECOVER_ADMIN"),
            "{lost:#?} {has}"
        );
    }
}

/// The two privileges of today are one on MySQL before 8.2.
#[test]
fn definers_on_an_older_mysql() {
    let (Some(source), Some(target)) = (of(MYSQL, "newest"), of(MYSQL, "mysql-8.0.33")) else { return };
    reach::sql(
        &source,
        "mysql",
        "CREATE DATABASE shop; CREATE USER two@localhost, one@localhost; GRANT SET_ANY_DEFINER ON *.* TO one@localhost;
         GRANT SET_ANY_DEFINER, ALLOW_NONEXISTENT_DEFINER ON *.* TO two@localhost",
    );
    let lost = moved(&source, &target);
    assert!(
        reach::sql(&target, "mysql", "SHOW GRANTS FOR two@localhost")
            .concat()
            .join(" ")
            .contains("SET_USER_ID")
    );
    let one = about(&lost, "`one`@`localhost`", "SET_ANY_DEFINER");
    assert_eq!(one["statement"], "GRANT SET_USER_ID ON *.* TO `one`@`localhost`");
}

/// MySQL's settings of the whole server decide what accounts may do, too. They are listed, not changed.
#[test]
fn settings_that_decide_for_all_accounts() {
    with_both(|| {
        let set =
            "SET GLOBAL mandatory_roles = '`everyone`@`%`'; SET GLOBAL activate_all_roles_on_login = ON";
        let (source, like, other) = (server(MYSQL), start(MYSQL, &[]), start(MARIADB, &[]));
        let dir = tempfile::tempdir().unwrap();
        sql(
            &source,
            format!(
                "CREATE ROLE everyone; GRANT SELECT ON shop.* TO everyone; CREATE USER ann@localhost; SET GLOBAL check_proxy_users = ON; {set}"
            ),
        );
        run(&mut dump(&source, "shop --users", dir.path())).done();
        let script = std::fs::read_to_string(dir.path().join("@users.sql")).unwrap();
        assert!(
            script.contains("mandatory_roles = '`everyone`@`%`'") && !script.contains("SET PERSIST"),
            "{script}"
        );
        let lost = restored(&like, dir.path());
        assert_eq!(lost.len(), 2, "{lost:#?}");
        about(&lost, "activate_all_roles_on_login", "here it is OFF");
        let roles = about(&lost, "mandatory_roles", "which roles all accounts have: here it is ''");
        assert_eq!(roles["statement"], "SET PERSIST mandatory_roles = '`everyone`@`%`'");
        assert!(login(&like, "ann", "", "SELECT v FROM shop.orders").is_err());
        run(&mut verify(&like, dir.path(), "--users")).found(&["mandatory_roles: not held here"]);
        lost.iter().for_each(|one| drop(sql(&like, one["statement"].as_str().unwrap())));
        assert_eq!(login(&like, "ann", "", "SELECT v FROM shop.orders").as_deref(), Ok("1"));
        run(&mut verify(&like, dir.path(), "--users")).done();

        let lost = restored(&other, dir.path());
        about(&lost, "mandatory_roles", "MariaDB has no such setting");
        about(&lost, "activate_all_roles_on_login", "one default role");

        // What the target gives to all is more than accounts of MariaDB had.
        let (plain, dir) = (server(MARIADB), tempfile::tempdir().unwrap());
        sql(&plain, "CREATE USER bob@localhost");
        run(&mut dump(&plain, "shop --users", dir.path())).done();
        sql(&source, "DROP DATABASE shop");
        let lost = restored(&source, dir.path());
        about(&lost, "mandatory_roles", "it was ''");
    });
}
