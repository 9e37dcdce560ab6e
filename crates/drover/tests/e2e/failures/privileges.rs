//! Accounts that may not see or make everything: what they cannot see must not be missing without a word.

use std::path::Path;
use std::process::Command;

use drover_sandbox::{Flavour, Server};

use crate::client::{sql, value};
use crate::drover::{dump, restore, run};
use crate::files::manifest;
use crate::servers::{on_both, source, start, start_unsynced, target};

on_both!(
    one_table_hidden,
    one_schema_hidden,
    one_column_hidden,
    view_without_privilege,
    trigger_hidden,
    event_and_routine_hidden,
    numbers_of_tables_hidden,
    may_not_create,
    restored_with_what_the_docs_list
);

/// A schema of two tables, and an account of its name that may take snapshots and look into the server, but read nothing.
fn schema_and_account(server: &Server, name: &str) {
    sql(
        server,
        format!(
            "DROP DATABASE IF EXISTS {name}; CREATE DATABASE {name}; USE {name};
             CREATE TABLE open (id INT PRIMARY KEY, v INT); INSERT INTO open VALUES (1, 1);
             CREATE TABLE secret (id INT PRIMARY KEY, v INT); INSERT INTO secret VALUES (1, 1);
             DROP USER IF EXISTS {name}@localhost; CREATE USER {name}@localhost;
             GRANT RELOAD, PROCESS, REPLICATION CLIENT ON *.* TO {name}@localhost"
        ),
    );
}

/// By an account that has the privileges that docs/dump.md lists, and no others.
fn restored_with_what_the_docs_list(flavour: Flavour) {
    let server = &start_unsynced(flavour, &["--log-bin-trust-function-creators=ON"]);
    let dir = tempfile::tempdir().unwrap();
    sql(
        server,
        "CREATE USER boss@localhost; CREATE USER restorer@localhost; CREATE DATABASE listed; GRANT ALL ON listed.* TO boss@localhost; USE listed;
         CREATE TABLE a (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(20)); INSERT INTO a (v) VALUES ('x'), ('y');
         CREATE TABLE b (id INT PRIMARY KEY, a INT, KEY (a), CONSTRAINT fk FOREIGN KEY (a) REFERENCES a (id)); INSERT INTO b VALUES (1, 1);
         CREATE TABLE m (id INT) ENGINE = MyISAM; INSERT INTO m VALUES (1);
         CREATE DEFINER = boss@localhost VIEW v AS SELECT * FROM a;
         CREATE DEFINER = boss@localhost FUNCTION f(x INT) RETURNS INT DETERMINISTIC RETURN x * 2;
         CREATE DEFINER = boss@localhost VIEW w AS SELECT f(id) AS g FROM v;
         CREATE DEFINER = boss@localhost PROCEDURE p() SELECT 1;
         CREATE DEFINER = boss@localhost TRIGGER t BEFORE INSERT ON a FOR EACH ROW SET NEW.v = UPPER(NEW.v);
         CREATE DEFINER = boss@localhost EVENT e ON SCHEDULE EVERY 1 DAY DO SET @a = 1",
    );
    const DOCS: &str = include_str!("../../../../../docs/dump.md");
    let list =
        DOCS.split("**What a restore needs.** ").nth(1).unwrap().split(" on each schema").next().unwrap();
    let (definers, texts) = match flavour {
        Flavour::MariaDb => ("SET USER", "SELECT ON mysql.proc"),
        Flavour::MySql => ("SET_ANY_DEFINER", "SHOW_ROUTINE ON *.*"),
    };
    for of_others in [definers, texts.trim_end_matches(" ON *.*")] {
        assert!(DOCS.to_lowercase().contains(&of_others.to_lowercase()), "{of_others}");
    }
    sql(
        server,
        format!(
            "GRANT {list} ON listed.* TO restorer@localhost; GRANT {definers} ON *.* TO restorer@localhost; GRANT {texts} TO restorer@localhost"
        ),
    );
    run(&mut dump(server, "listed", dir.path())).done();
    for options in ["--drop-existing", "--resume"] {
        run(&mut restore(server, dir.path(), &format!("{options} -u restorer"))).done();
    }
    sql(server, "DROP DATABASE listed");
    run(&mut restore(server, dir.path(), "-u restorer")).done();
}

fn dump_as(server: &Server, account: &str, what: &str, out: &Path) -> Command {
    dump(server, &format!("{what} -u {account}"), out)
}

fn one_table_hidden(flavour: Flavour) {
    let (server, dir) = (source(flavour), tempfile::tempdir().unwrap());
    schema_and_account(server, "hidden_table");
    sql(server, "GRANT SELECT, SHOW VIEW, TRIGGER ON hidden_table.open TO hidden_table@localhost");
    let out = dir.path().join("out");
    let refused = |what: &str, culprit: &str| {
        run(&mut dump_as(server, "hidden_table", what, &out)).refused(&[culprit]);
        assert!(!out.exists(), "a directory was made");
    };
    refused("hidden_table", "`hidden_table`.`secret`");
    refused("hidden_table.open hidden_table.secret", "'hidden_table.secret'");
    refused("hidden_table.secret", "'hidden_table.secret'");
    run(&mut dump_as(server, "hidden_table", "hidden_table.open", &out)).done();
}

/// They tell a table from another one of the same definition that takes its name.
fn numbers_of_tables_hidden(flavour: Flavour) {
    let (server, dir) = (source(flavour), tempfile::tempdir().unwrap());
    schema_and_account(server, "hidden_number");
    sql(
        server,
        "GRANT SELECT, SHOW VIEW, TRIGGER, EVENT, EXECUTE ON hidden_number.* TO hidden_number@localhost",
    );
    let is_said = |out: &str| {
        let output =
            run(&mut dump_as(server, "hidden_number", "hidden_number", &dir.path().join(out))).done();
        output.stderr.contains(
            "the numbers (the privilege PROCESS does) of `hidden_number`.`open`, `hidden_number`.`secret`: ",
        )
    };
    assert!(!is_said("with"), "a warning without need");
    sql(server, "REVOKE PROCESS ON *.* FROM hidden_number@localhost");
    assert!(is_said("without"), "no warning");
}

/// All schemas are asked for, and one is not shown: by partial revokes, too, where there are such; `_` in a name is no pattern then.
fn one_schema_hidden(flavour: Flavour) {
    let options: &[&str] = if flavour == Flavour::MySql { &["--partial-revokes=ON"] } else { &[] };
    let (server, dir) = (&start(flavour, options), tempfile::tempdir().unwrap());
    sql(
        server,
        "CREATE DATABASE shop_a; CREATE TABLE shop_a.t (id INT PRIMARY KEY); CREATE DATABASE secret; CREATE USER d@localhost;
         GRANT RELOAD, REPLICATION CLIENT ON *.* TO d@localhost;
         GRANT SELECT, SHOW VIEW, TRIGGER, EVENT, EXECUTE ON shop_a.* TO d@localhost",
    );
    let warned = |out: &str| {
        let output = run(&mut dump_as(server, "d", "", &dir.path().join(out))).done();
        output.stderr.contains("no privilege on")
    };
    assert!(warned("two"));
    if flavour == Flavour::MySql {
        sql(
            server,
            "CREATE DATABASE shopXa; CREATE TABLE shopXa.a (id INT PRIMARY KEY); CREATE TABLE shopXa.b (id INT PRIMARY KEY);
             GRANT SELECT ON shopXa.a TO d@localhost",
        );
        run(&mut dump_as(server, "d", "shopXa", &dir.path().join("pattern")))
            .refused(&["the whole of schema 'shopXa'"]);
        sql(
            server,
            "GRANT SELECT, SHOW VIEW, TRIGGER, EVENT, EXECUTE ON *.* TO d@localhost;
             REVOKE SELECT, SHOW VIEW, TRIGGER, EVENT, EXECUTE ON secret.* FROM d@localhost",
        );
        assert!(warned("revoked"));
    }
    sql(server, "DROP DATABASE secret; GRANT SHOW DATABASES ON *.* TO d@localhost");
    assert!(!warned("all"));
}

fn one_column_hidden(flavour: Flavour) {
    let (server, dir) = (source(flavour), tempfile::tempdir().unwrap());
    schema_and_account(server, "hidden_column");
    sql(
        server,
        "GRANT SELECT, SHOW VIEW, TRIGGER ON hidden_column.open TO hidden_column@localhost;
         GRANT SELECT (id) ON hidden_column.secret TO hidden_column@localhost",
    );
    let out = dir.path().join("out");
    let output = run(&mut dump_as(server, "hidden_column", "hidden_column.open hidden_column.secret", &out));
    output.refused(&["secret"]);
    super::assert_unfinished(flavour, &out);
}

fn view_without_privilege(flavour: Flavour) {
    let (server, dir) = (source(flavour), tempfile::tempdir().unwrap());
    schema_and_account(server, "hidden_view");
    sql(
        server,
        "USE hidden_view; CREATE VIEW looks AS SELECT id FROM secret;
         GRANT SELECT, TRIGGER, EVENT ON hidden_view.* TO hidden_view@localhost",
    );
    run(&mut dump_as(server, "hidden_view", "hidden_view", &dir.path().join("whole")))
        .refused(&["SHOW VIEW", "hidden_view"]);
    run(&mut dump_as(server, "hidden_view", "hidden_view.looks", &dir.path().join("named")))
        .refused(&["looks"]);
}

/// An account without TRIGGER on a table is shown none of its triggers.
fn trigger_hidden(flavour: Flavour) {
    let (server, dir) = (source(flavour), tempfile::tempdir().unwrap());
    schema_and_account(server, "hidden_trigger");
    sql(
        server,
        "USE hidden_trigger; CREATE TRIGGER counts BEFORE INSERT ON open FOR EACH ROW SET NEW.v = NEW.v + 1;
         GRANT SELECT, SHOW VIEW ON hidden_trigger.* TO hidden_trigger@localhost",
    );
    run(&mut dump_as(server, "hidden_trigger", "hidden_trigger", &dir.path().join("whole")))
        .refused(&["TRIGGER"]);
    run(&mut dump_as(server, "hidden_trigger", "hidden_trigger.open", &dir.path().join("named")))
        .refused(&["TRIGGER"]);
}

fn event_and_routine_hidden(flavour: Flavour) {
    let (server, dir) = (source(flavour), tempfile::tempdir().unwrap());
    schema_and_account(server, "hidden_event");
    sql(
        server,
        "USE hidden_event; CREATE EVENT later ON SCHEDULE AT '2037-01-01 00:00:00' DISABLE DO SET @x = 1;
         CREATE PROCEDURE does() SET @x = 1;
         GRANT SELECT, SHOW VIEW, TRIGGER ON hidden_event.* TO hidden_event@localhost",
    );
    run(&mut dump_as(server, "hidden_event", "hidden_event", &dir.path().join("event"))).refused(&["EVENT"]);
    // The hint names what is enough.
    let to_grant = match flavour {
        Flavour::MariaDb => "GRANT EVENT ON `hidden_event`.* and GRANT SELECT ON mysql.proc to",
        Flavour::MySql => "GRANT EVENT ON `hidden_event`.* and GRANT SHOW_ROUTINE ON *.* to",
    };
    run(&mut dump_as(server, "hidden_event", "hidden_event", &dir.path().join("event"))).refused(&[to_grant]);
    for grant in to_grant.trim_end_matches(" to").split(" and ") {
        sql(server, format!("{grant} TO hidden_event@localhost"));
    }
    run(&mut dump_as(server, "hidden_event", "hidden_event", &dir.path().join("all"))).done();
    assert_eq!(manifest(&dir.path().join("all"))["schemas"][0]["routines"].as_array().unwrap().len(), 1);
    let enough = to_grant.trim_end_matches(" to").split(" and GRANT ").nth(1).unwrap();
    sql(server, format!("REVOKE {enough} FROM hidden_event@localhost"));
    sql(server, "GRANT EXECUTE ON hidden_event.* TO hidden_event@localhost");
    let out = dir.path().join("routine");
    let output = run(&mut dump_as(server, "hidden_event", "hidden_event", &out));
    let is_in_it = || manifest(&out)["schemas"][0]["routines"].as_array().is_some_and(|list| list.len() == 1);
    assert!(
        output.code == Some(2) && output.error().contains("does") || is_in_it(),
        "the procedure is missing: {output}"
    );
}

fn may_not_create(flavour: Flavour) {
    let (server, dir) = (source(flavour), tempfile::tempdir().unwrap());
    schema_and_account(server, "may_not_create");
    run(&mut dump(server, "may_not_create", dir.path())).done();
    let target = target(flavour);
    sql(
        target,
        "DROP USER IF EXISTS poor@localhost; CREATE USER poor@localhost; DROP DATABASE IF EXISTS may_not_create",
    );
    run(&mut restore(target, dir.path(), "-u poor")).refused(&["may_not_create"]);
    sql(target, "GRANT CREATE, SELECT ON may_not_create.* TO poor@localhost");
    run(&mut restore(target, dir.path(), "-u poor")).refused(&["may_not_create", "INSERT"]);
    let tables = "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'may_not_create' AND TABLE_NAME = 'open'";
    assert_eq!(value(target, tables), "0", "the restore began though it could not note its steps");
}
