//! Targets that take names of schemas and tables in any case for the same, as on Windows and some managed servers.

use drover_sandbox::Flavour;

use crate::client::{feed, sql, value};
use crate::drover::{copy, dump, restore, run, verify};
use crate::foreign::mysqldump;
use crate::servers::{on_both, source, start_unsynced, target};

on_both!(
    names_with_capitals,
    names_that_become_one,
    what_the_target_has_in_another_case,
    programs_that_name_them_as_typed
);

const LOWER: &str = "--lower-case-table-names=1";

fn names_with_capitals(flavour: Flavour) {
    let (source, target, dir) =
        (source(flavour), start_unsynced(flavour, &[LOWER]), tempfile::tempdir().unwrap());
    sql(
        source,
        "CREATE DATABASE Any_Case; USE Any_Case;
         CREATE TABLE Orders (Id INT PRIMARY KEY, `Of` INT, c VARCHAR(20) COMMENT 'Orders' DEFAULT 'Orders', KEY Many (`Of`),
           CONSTRAINT Own FOREIGN KEY (`Of`) REFERENCES Orders (Id));
         INSERT INTO Orders VALUES (1, 1, 'Orders'), (2, 1, 'x');
         CREATE VIEW Seen AS SELECT o.Id, 'Orders' AS `What` FROM Any_Case.Orders o;
         CREATE TRIGGER Guard BEFORE UPDATE ON Orders FOR EACH ROW SET NEW.c = (SELECT MAX(What) FROM Any_Case.Seen);
         CREATE PROCEDURE Act() SELECT COUNT(*) FROM Any_Case.Orders;
         CREATE EVENT Later ON SCHEDULE EVERY 1 YEAR STARTS '2038-01-01 00:00:00' DO CALL Any_Case.Act()",
    );
    let out = dir.path().join("dump");
    run(&mut dump(source, "Any_Case", &out)).done();
    let rows = || value(&target, "SELECT GROUP_CONCAT(id, c) FROM any_case.ORDERS");
    for options in ["", "--drop-existing", "--resume"] {
        let restored = run(&mut restore(&target, &out, options)).done();
        assert!(restored.stdout.contains("identical"), "{restored}");
        assert_eq!(rows(), "1Orders,2x");
    }
    run(&mut restore(&target, &out, "")).refused(&["`any_case`.`orders`", "nothing was changed"]);
    run(&mut verify(&target, &out, "")).done();
    sql(&target, "ALTER TABLE any_case.orders MODIFY c VARCHAR(20) COMMENT 'orders' DEFAULT 'Orders'");
    run(&mut verify(&target, &out, "")).found(&["`any_case`.`orders`", "definition differs"]);

    for (number, options) in ["--drop-existing", "--drop-existing"].iter().enumerate() {
        let state = dir.path().join(format!("state-{number}"));
        run(&mut copy(source, &target, &format!("Any_Case {options}"), &state)).done();
        assert_eq!(rows(), "1Orders,2x");
    }
    let script = dir.path().join("a.sql");
    std::fs::write(&script, mysqldump(source, "Any_Case")).unwrap();
    run(&mut restore(&target, &script, "")).refused(&["`any_case`.`orders`"]);
    run(&mut restore(&target, &script, "--drop-existing")).done();
    assert_eq!(rows(), "1Orders,2x");
    // What is piped in cannot be looked through before.
    let more = b"INSERT INTO Any_Case.Orders VALUES (3, 1, 'z');";
    let piped = feed(&mut restore(&target, std::path::Path::new("-"), ""), more);
    assert_eq!(piped.status.code(), Some(2), "{}", String::from_utf8_lossy(&piped.stderr));
    assert_eq!(rows(), "1Orders,2x");
    sql(source, "DROP DATABASE Any_Case");
}

/// Rows of two tables would get into one.
fn names_that_become_one(flavour: Flavour) {
    let (source, target, dir) =
        (source(flavour), start_unsynced(flavour, &[LOWER]), tempfile::tempdir().unwrap());
    sql(
        source,
        "CREATE DATABASE Any_One; USE Any_One; CREATE TABLE Orders (id INT PRIMARY KEY); CREATE TABLE orders (id INT PRIMARY KEY);
         INSERT INTO Orders VALUES (1); INSERT INTO orders VALUES (2)",
    );
    let schemas =
        || value(&target, "SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME LIKE 'any%'");
    let out = dir.path().join("dump");
    run(&mut dump(source, "Any_One", &out)).done();
    let culprits = ["`Any_One`.`Orders`", "`Any_One`.`orders`", "lower_case_table_names"];
    run(&mut restore(&target, &out, "")).refused(&culprits);
    run(&mut copy(source, &target, "Any_One", &dir.path().join("state"))).refused(&culprits);
    let script = dir.path().join("a.sql");
    std::fs::write(&script, mysqldump(source, "Any_One")).unwrap();
    run(&mut restore(&target, &script, "")).refused(&culprits);
    assert_eq!(schemas(), "0", "something was made");
    // What the hint says.
    for (table, into) in [("Orders", ""), ("orders", "--into Any_One=any_other")] {
        let out = dir.path().join(table);
        run(&mut dump(source, &format!("Any_One.{table}"), &out)).done();
        run(&mut restore(&target, &out, into)).done();
    }
    let both = value(&target, "SELECT CONCAT(a.id, b.id) FROM any_one.orders a, any_other.orders b");
    assert_eq!(both, "12");
    sql(source, "DROP DATABASE Any_One");
}

/// What is the target's own under a name in another case is not changed.
fn what_the_target_has_in_another_case(flavour: Flavour) {
    let (target, dir) = (start_unsynced(flavour, &[LOWER]), tempfile::tempdir().unwrap());
    sql(
        &target,
        "CREATE DATABASE own; USE own; CREATE TABLE t (a INT PRIMARY KEY); INSERT INTO t VALUES (1), (2); CREATE VIEW v AS SELECT 1 AS a;
         CREATE PROCEDURE p() SELECT 1",
    );
    let held = || {
        value(
            &target,
            "SELECT CONCAT_WS(' ', COUNT(*), (SELECT MAX(VIEW_DEFINITION) FROM information_schema.VIEWS WHERE TABLE_SCHEMA = 'own'),
               (SELECT COUNT(*) FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = 'own')) FROM own.t",
        )
    };
    let before = held();
    let replace = match flavour {
        Flavour::MariaDb => "CREATE OR REPLACE DATABASE OWN;\n",
        Flavour::MySql => "ALTER DATABASE OWN CHARACTER SET latin1;\n",
    };
    for statements in [
        "CREATE TABLE IF NOT EXISTS own.T (a INT PRIMARY KEY);\nDELETE FROM own.T;\n",
        "CREATE TABLE IF NOT EXISTS OWN.t (a INT PRIMARY KEY);\nDROP TABLE OWN.t;\n",
        "CREATE OR REPLACE VIEW own.V AS SELECT 2 AS a;\n",
        "CREATE PROCEDURE OWN.P() SELECT 2;\n",
        "USE Own;\nINSERT INTO T VALUES (3);\n",
        "DELETE FROM OWN.T WHERE a = 1;\n",
        "CREATE TRIGGER OWN.tr BEFORE INSERT ON OWN.T FOR EACH ROW SET @a = 1;\n",
        "CREATE TABLE made LIKE OWN.T;\n",
        replace,
    ] {
        let script = format!("CREATE DATABASE New;\nUSE New;\n{statements}");
        let path = dir.path().join("a.sql");
        std::fs::write(&path, &script).unwrap();
        run(&mut restore(&target, &path, "")).refused(&["hint:"]);
        let piped = feed(&mut restore(&target, std::path::Path::new("-"), ""), script.as_bytes());
        assert_eq!(piped.status.code(), Some(2), "{statements}: {}", String::from_utf8_lossy(&piped.stderr));
        assert_eq!(held(), before, "{statements}");
        sql(&target, "DROP DATABASE IF EXISTS new");
    }
    // Nor is a schema that was restored under a name with capitals.
    let source = source(flavour);
    sql(source, "CREATE DATABASE case_into; CREATE TABLE case_into.t (a INT PRIMARY KEY)");
    let out = dir.path().join("dump");
    run(&mut dump(source, "case_into", &out)).done();
    run(&mut restore(&target, &out, "--into case_into=Case_New")).done();
    run(&mut restore(&target, &out, "--into case_into=Case_New"))
        .refused(&["already", "nothing was changed"]);
    sql(source, "DROP DATABASE case_into");
}

/// Where case counts, DROP TABLE IF EXISTS in a procedure passes over what it names otherwise.
fn programs_that_name_them_as_typed(flavour: Flavour) {
    let (source, target, dir) =
        (start_unsynced(flavour, &[LOWER]), target(flavour), tempfile::tempdir().unwrap());
    sql(
        &source,
        "CREATE DATABASE typed; USE typed; CREATE TABLE orders (id INT PRIMARY KEY); INSERT INTO orders VALUES (1);
         CREATE PROCEDURE other() DROP TABLE IF EXISTS Typed.ORDERS; CREATE PROCEDURE same() DROP TABLE IF EXISTS typed.orders",
    );
    let out = dir.path().join("dump");
    run(&mut dump(&source, "typed", &out)).done();
    let told = "procedure `typed`.`other` names `ORDERS`, which is `orders` here";
    let copied = run(&mut copy(&source, target, "typed", &dir.path().join("state"))).done();
    let restored = run(&mut restore(target, &out, "--drop-existing")).done();
    for output in [copied, restored] {
        assert!(output.stderr.contains(told) && !output.stderr.contains("`same`"), "{output}");
    }
    sql(target, "DROP DATABASE typed");
    // A target that takes any case has nothing to be told of; under another name the texts have it too.
    let restored = run(&mut restore(&source, &out, "--into typed=renamed")).done();
    assert!(!restored.stderr.contains("names `ORDERS`"), "{restored}");
    sql(&source, "CALL renamed.other()");
    assert_eq!(value(&source, "SELECT COUNT(*) FROM typed.orders"), "1");
    let left = "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'renamed'";
    assert_eq!(value(&source, left), "0");
}
