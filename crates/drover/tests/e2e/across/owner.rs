//! Accounts that own one schema on a server of the other vendor, and may do little in it or have few connections.

use std::path::Path;

use drover_sandbox::{Flavour, Server};

use super::{both, make};
use crate::client::{sql, value};
use crate::drover::{Output, dump, restore, run};

const ALL: [&str; 15] = [
    "SELECT",
    "INSERT",
    "UPDATE",
    "DELETE",
    "CREATE",
    "DROP",
    "ALTER",
    "REFERENCES",
    "CREATE VIEW",
    "SHOW VIEW",
    "TRIGGER",
    "EVENT",
    "CREATE ROUTINE",
    "ALTER ROUTINE",
    "EXECUTE",
];

fn dumped(source: &Server, dir: &Path) {
    make(
        source,
        "owned",
        "CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1), (2);
         CREATE TABLE u (id INT PRIMARY KEY, t INT, CONSTRAINT of_t FOREIGN KEY (t) REFERENCES t (id)); INSERT INTO u VALUES (1, 2);
         CREATE VIEW v AS SELECT id FROM t; CREATE PROCEDURE p() SELECT 1",
    );
    run(&mut dump(source, "owned", dir)).done();
    sql(source, "DROP DATABASE owned");
}

fn owner(target: &Server, privileges: &[&str], with: &str) {
    let list = privileges.join(", ");
    sql(
        target,
        format!(
            "DROP DATABASE IF EXISTS mine; CREATE DATABASE mine; DROP USER IF EXISTS owner@localhost;
             CREATE USER owner@localhost {with}; GRANT {list} ON mine.* TO owner@localhost"
        ),
    );
}

fn by_owner(target: &Server, dir: &Path, options: &str) -> Output {
    let options = format!("--into owned=mine -u owner --definer current-user {options}");
    run(&mut restore(target, dir, &options))
}

fn held(target: &Server) -> String {
    value(
        target,
        "SELECT (SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'mine') +
           (SELECT COUNT(*) FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = 'mine')",
    )
}

/// What an account lacks is no reason to leave a key out, and is known before anything is made.
#[test]
fn what_the_owner_lacks() {
    let Some([mariadb, mysql]) = both() else { return };
    for (source, target) in [(&mariadb, &mysql), (&mysql, &mariadb)] {
        let dir = tempfile::tempdir().unwrap();
        dumped(source, dir.path());
        for lacking in ["SELECT", "DROP", "ALTER", "REFERENCES", "CREATE VIEW", "CREATE ROUTINE"] {
            if lacking == "REFERENCES" && target.flavour() == Flavour::MariaDb {
                continue; // which asks nobody for it
            }
            let others: Vec<_> = ALL.into_iter().filter(|privilege| *privilege != lacking).collect();
            owner(target, &others, "");
            let grant = format!("GRANT {lacking} ON `mine`.* TO `owner`@`localhost`");
            let is_of_programs = lacking.starts_with("CREATE ");
            match is_of_programs {
                true => drop(by_owner(target, dir.path(), "--check").found(&["refused", &grant])),
                false => {
                    drop(by_owner(target, dir.path(), "--check").refused(&["nothing was changed", &grant]))
                }
            }
            assert_eq!(held(target), "0", "{lacking}");
            by_owner(target, dir.path(), "").refused(&[
                "nothing was changed",
                &format!("`mine`: {lacking}"),
                &grant,
            ]);
            assert_eq!(held(target), "0", "{lacking}");
            if is_of_programs {
                by_owner(target, dir.path(), "--skip-refused").found(&[
                    "refused",
                    &grant,
                    "verified  identical",
                ]);
                sql(target, "DROP DATABASE mine; CREATE DATABASE mine");
            }
            sql(target, grant);
            by_owner(target, dir.path(), "").done();
        }
    }
}

/// The connection that proves which server it is, the one that leads, and the trial's: no further one is needed to drop what was tried.
#[test]
fn with_three_connections() {
    let Some([mariadb, mysql]) = both() else { return };
    for (source, target) in [(&mariadb, &mysql), (&mysql, &mariadb)] {
        let dir = tempfile::tempdir().unwrap();
        dumped(source, dir.path());
        owner(target, &["ALL"], "WITH MAX_USER_CONNECTIONS 3");
        by_owner(target, dir.path(), "--check --connect-timeout 2").done();
        assert_eq!(held(target), "0");
        by_owner(target, dir.path(), "--connect-timeout 2").done();
        assert_eq!(held(target), "4");
        owner(target, &["ALL"], "WITH MAX_USER_CONNECTIONS 2");
        by_owner(target, dir.path(), "--connect-timeout 2").refused(&["(error 1226", "three connections"]);
        assert_eq!(held(target), "0");
    }
}
