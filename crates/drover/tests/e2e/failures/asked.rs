//! What an account lacks on the target is asked before the first change, and the hint gives it.

use drover_sandbox::Flavour;

use crate::client::{sql, value};
use crate::drover::{dump, restore, run};
use crate::servers::{on_both, start_unsynced};

on_both!(before_the_first_change);

const ALL: &str = "SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, ALTER, REFERENCES, CREATE VIEW, SHOW VIEW, TRIGGER, EVENT, CREATE ROUTINE, ALTER ROUTINE, EXECUTE";

fn before_the_first_change(flavour: Flavour) {
    let (server, dir) =
        (&start_unsynced(flavour, &["--log-bin-trust-function-creators=ON"]), tempfile::tempdir().unwrap());
    sql(
        server,
        "CREATE DATABASE asked; USE asked; CREATE TABLE a (id INT PRIMARY KEY); INSERT INTO a VALUES (1);
         CREATE TABLE b (id INT PRIMARY KEY, a INT, CONSTRAINT of_a FOREIGN KEY (a) REFERENCES a (id)); INSERT INTO b VALUES (1, 1);
         CREATE VIEW v AS SELECT * FROM a; CREATE PROCEDURE p() SELECT 1;
         CREATE TRIGGER t BEFORE INSERT ON a FOR EACH ROW SET @a = 1; CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO SET @a = 1",
    );
    run(&mut dump(server, "asked", dir.path())).done();
    let by = || {
        let options = "--into asked=asked_back -u asker --definer current-user";
        run(&mut restore(server, dir.path(), options))
    };
    let asked = [
        "SELECT",
        "INSERT",
        "CREATE",
        "DROP",
        "ALTER",
        "REFERENCES",
        "CREATE VIEW",
        "TRIGGER",
        "EVENT",
        "CREATE ROUTINE",
    ];
    for (number, lacking) in asked.into_iter().enumerate() {
        if lacking == "REFERENCES" && flavour == Flavour::MariaDb {
            continue; // which asks nobody for it
        }
        let others: Vec<_> = ALL.split(", ").filter(|privilege| *privilege != lacking).collect();
        let is_there = number % 2 == 0;
        let make = if is_there { "CREATE DATABASE asked_back;" } else { "" };
        sql(
            server,
            format!(
                "DROP DATABASE IF EXISTS asked_back; {make} DROP USER IF EXISTS asker@localhost; CREATE USER asker@localhost;
                 GRANT {} ON `asked\\_back`.* TO asker@localhost",
                others.join(", ")
            ),
        );
        let grant = format!("GRANT {lacking} ON `asked\\_back`.* TO `asker`@`localhost`");
        by().refused(&[
            "lacks privileges",
            &format!("`asked_back`: {lacking}"),
            "nothing was changed",
            &grant,
        ]);
        let there =
            value(server, "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'asked_back'");
        assert_eq!(there, "0", "{lacking}");
        sql(server, grant);
        by().done();
    }
}
