//! Dumps of a part: rows for which a condition holds, definitions without rows, rows without definitions.

use std::path::Path;

use drover_sandbox::{Flavour, Server};

use crate::client::{run_script, sql, try_sql, value};
use crate::compare;
use crate::drover::{NO_HOME, dump, restore, run, verify};
use crate::files::{files_in, manifest, row_files, table};
use crate::servers::{on_both, source, start, target};

on_both!(
    rows_with_a_condition,
    conditions_that_are_wrong,
    conditions_and_resume,
    one_moment_for_now,
    definitions_only,
    rows_only,
    rows_only_refused,
    rows_only_into_another_engine
);

/// Tables that are cut by a key, by a key of text, by partitions, not at all, and one of the past.
fn make(server: &Server, schema: &str) {
    let versioned = match server.flavour() {
        Flavour::MariaDb => {
            "CREATE TABLE past (id INT PRIMARY KEY, n INT) WITH SYSTEM VERSIONING; INSERT INTO past SELECT id, n FROM keyed; \
             UPDATE past SET n = 1;"
        }
        Flavour::MySql => "",
    };
    let script = format!(
        "CREATE DATABASE {schema}; USE {schema};
         CREATE TABLE keyed (id INT PRIMARY KEY, n INT, v VARCHAR(200));
         INSERT INTO keyed WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 1000)
           SELECT n * 7, n % 10, SHA2(n, 512) FROM s;
         INSERT INTO keyed SELECT id + 7000, n, v FROM keyed; INSERT INTO keyed SELECT id + 14000, n, v FROM keyed;
         CREATE TABLE named (name VARCHAR(140) COLLATE utf8mb4_general_ci PRIMARY KEY, n INT);
         INSERT INTO named SELECT CONCAT(v, id), n FROM keyed;
         CREATE TABLE keyless (n INT, v VARCHAR(200)); INSERT INTO keyless SELECT n, v FROM keyed;
         CREATE TABLE parts (a INT, n INT, v VARCHAR(200), PRIMARY KEY (a)) PARTITION BY HASH (a) PARTITIONS 4;
         INSERT INTO parts SELECT id, n, v FROM keyed;
         CREATE TABLE myisam (id INT PRIMARY KEY, n INT, v VARCHAR(200)) ENGINE = MyISAM; INSERT INTO myisam SELECT * FROM keyed;
         {versioned}
         CREATE TABLE whole (id INT PRIMARY KEY); INSERT INTO whole VALUES (1), (2);
         CREATE VIEW view AS SELECT id FROM keyed; CREATE PROCEDURE p() SELECT 1;
         ANALYZE TABLE keyed, named, parts"
    );
    run_script(server, None, script.as_bytes()).unwrap();
}

fn dumped_with(server: &Server, line: &str, dir: &Path, arguments: &[&str]) -> String {
    run(dump(server, line, dir).args(arguments)).done().to_string()
}

fn rows_with_a_condition(flavour: Flavour) {
    let (server, target, schema) = (source(flavour), target(flavour), "chosen_rows");
    make(server, schema);
    let dir = tempfile::tempdir().unwrap();
    // One holds for some rows, one for none, a third is added to it; the comment must not eat what follows.
    let arguments = [
        "--where=chosen_rows.*:n IN (3, 5) OR n = 7 -- odd",
        "--where=named:name > '5'",
        "--where=par?s:n > 100",
        "--exclude=whole",
    ];
    dumped_with(server, &format!("{schema} --chunk-size 32k --threads 3"), dir.path(), &arguments);
    let found = manifest(dir.path());
    assert_eq!(table(&found, schema, "keyed")["condition"], "n IN (3, 5) OR n = 7 -- odd");
    assert!(
        table(&found, schema, "keyed")["files"].as_array().unwrap().len() > 4,
        "it was not cut: the test proves nothing"
    );
    run(&mut restore(target, dir.path(), "--into chosen_rows=chosen_there")).done();

    // The same as the client finds.
    let condition = "n IN (3, 5) OR n = 7";
    sql(server, format!("USE {schema}; DELETE FROM parts; DELETE FROM named WHERE NOT (({condition}) AND name > '5');
        DELETE FROM keyed WHERE NOT ({condition}); DELETE FROM keyless WHERE NOT ({condition}); DELETE FROM myisam WHERE NOT ({condition});
        DROP TABLE whole"));
    if flavour == Flavour::MariaDb {
        let past = |server: &Server, schema: &str, more: &str| {
            sql(server, format!("SELECT id, n FROM {schema}.past FOR SYSTEM_TIME ALL {more} ORDER BY id, n"))
        };
        assert_eq!(past(server, schema, "WHERE n IN (3, 5, 7)"), past(target, "chosen_there", ""));
        sql(server, format!("DROP TABLE {schema}.past"));
        sql(target, "DROP TABLE chosen_there.past");
    }
    compare::assert_same(&compare::rows(server, schema), &compare::rows(target, "chosen_there"));
}

fn conditions_that_are_wrong(flavour: Flavour) {
    let (server, schema) = (source(flavour), "wrong_condition");
    sql(
        server,
        format!(
            "CREATE DATABASE {schema}; CREATE TABLE {schema}.t (id INT PRIMARY KEY); CREATE VIEW {schema}.v AS SELECT 1 AS id"
        ),
    );
    let refused = |arguments: &[&str], culprits: &[&str]| {
        let dir = tempfile::tempdir().unwrap();
        run(dump(server, schema, dir.path()).args(arguments)).refused(culprits);
        assert!(row_files(dir.path()).is_empty());
    };
    refused(&["--where=t:nosuch > 1"], &["`wrong_condition`.`t`", "nosuch > 1", "Unknown column 'nosuch'"]);
    refused(&["--where=t:id >"], &["`wrong_condition`.`t`", "syntax"]);
    refused(&["--where=t:id > 1 LIMIT 3"], &["`wrong_condition`.`t`", "syntax"]);
    refused(&["--where=tt:id > 1"], &["no table that is dumped matches 'tt'"]);
    refused(&["--where=v:id > 1"], &["no table that is dumped matches 'v'"]);
    refused(&["--where=t:id > 1) OR (id < 1"], &["parenthesis"]);
    refused(&["--where=t:id > 1", "--no-data"], &["--no-data"]);
}

/// What was dumped before is kept only under the same conditions, and compared with them.
fn conditions_and_resume(flavour: Flavour) {
    let (server, schema) = (&start(flavour, &[]), "chosen_resumed");
    make(server, schema);
    let whole = tempfile::tempdir().unwrap();
    let line = format!("{schema} --chunk-size 32k --consistent-resume");
    let condition = ["--where=*:n = 3", "--exclude=whole"];
    dumped_with(server, &line, whole.path(), &condition);
    for kept in [1, 3] {
        let dir = tempfile::tempdir().unwrap();
        // A dump that a full disk ended: a limit on the size of files stands for it.
        let mut ended = std::process::Command::new("sh");
        let program = dump(server, &line, dir.path());
        ended.args(["-c", &format!("ulimit -f {kept}; exec \"$0\" \"$@\"")]).arg(program.get_program());
        ended.args(program.get_args()).args(condition).arg("--compress=none").env("HOME", NO_HOME);
        let ended = run(&mut ended);
        assert_ne!(ended.code, Some(0), "{ended}");
        let others = ["--where=*:n = 4", "--exclude=whole", "--compress=none"];
        run(dump(server, &format!("{line} --resume"), dir.path()).args(others))
            .refused(&["begun otherwise: --where"]);
        let same = ["--where=*:n = 3", "--exclude=whole", "--compress=none"];
        run(dump(server, &format!("{line} --resume"), dir.path()).args(same)).done();
        let rows = |dir: &Path, name: &str| -> u64 {
            let files = table(&manifest(dir), schema, name)["files"].as_array().unwrap().clone();
            files.iter().map(|file| file["rows"].as_u64().unwrap()).sum()
        };
        for name in ["keyed", "named", "keyless", "parts", "myisam"] {
            assert_eq!(rows(dir.path(), name), rows(whole.path(), name), "{name}");
            assert_eq!(rows(dir.path(), name), 400, "{name}");
        }
        run(&mut verify(server, dir.path(), "--source")).done();
    }
    run(&mut verify(server, whole.path(), "")).found(
        &["keyed", "4000 rows", "--source"]
            .map(|word| if word == "4000 rows" { "rows, the dump has" } else { word }),
    );
    run(&mut verify(server, whole.path(), "--source")).done();
    sql(
        server,
        format!(
            "UPDATE {schema}.keyed SET v = 'x' WHERE id = 21; UPDATE {schema}.keyed SET v = 'x' WHERE n = 4"
        ),
    );
    let found = run(&mut verify(server, whole.path(), "--source")).found(&["keyed"]);
    assert_eq!(found.stdout.matches("differs ").count(), 1, "{found}");
}

fn one_moment_for_now(flavour: Flavour) {
    let (server, schema) = (source(flavour), "chosen_now");
    sql(
        server,
        format!(
            "CREATE DATABASE {schema}; CREATE TABLE {schema}.t (id INT PRIMARY KEY, at TIMESTAMP);
             INSERT INTO {schema}.t VALUES (1, NOW() - INTERVAL 2 DAY), (2, NOW() - INTERVAL 1 DAY + INTERVAL 1 HOUR), (3, NOW())"
        ),
    );
    let dir = tempfile::tempdir().unwrap();
    run(dump(server, schema, dir.path()).arg("--where=t:at > NOW() - INTERVAL 1 DAY AND SLEEP(1) = 0"))
        .done();
    assert_eq!(table(&manifest(dir.path()), schema, "t")["files"][0]["rows"], 2);
    // One row a statement, each of which takes a second: the first one's NOW() is remembered, and all others have the same.
    let slow = "t:COALESCE(@first, @first := NOW()) = NOW() AND SLEEP(1) = 0";
    let later = tempfile::tempdir().unwrap();
    run(dump(server, &format!("{schema} --threads 1 --chunk-size 1k"), later.path()).args(["--where", slow]))
        .done();
    assert_eq!(table(&manifest(later.path()), schema, "t")["files"][0]["rows"], 3);
    run(&mut verify(server, dir.path(), "--source")).done();
}

fn definitions_only(flavour: Flavour) {
    let (server, target, schema) = (source(flavour), target(flavour), "definitions_only");
    make(server, schema);
    let dir = tempfile::tempdir().unwrap();
    let said = dumped_with(server, schema, dir.path(), &["--no-data"]);
    assert!(said.contains("definitions only"), "{said}");
    assert_eq!(manifest(dir.path())["contents"], "definitions");
    assert!(row_files(dir.path()).is_empty());
    let restored = run(&mut restore(target, dir.path(), "")).done();
    assert!(restored.stdout.contains("rows not compared: the dump holds none"), "{restored}");
    assert!(!restored.stdout.contains(" 0 rows of "), "{restored}");
    assert_eq!(value(target, format!("SELECT COUNT(*) FROM {schema}.keyed")), "0");

    // Rows are nothing that this dump knows of; a definition is.
    sql(target, format!("INSERT INTO {schema}.keyed VALUES (1, 1, 'x')"));
    let json = run(verify(target, dir.path(), "").arg("--json")).done().json();
    assert_eq!(
        (json["contents"].as_str(), json["tables"].as_u64()),
        (Some("definitions"), Some(0)),
        "{json}"
    );
    sql(target, format!("ALTER TABLE {schema}.keyed ADD x INT"));
    run(&mut verify(target, dir.path(), "")).found(&["keyed", "definition differs"]);
}

fn rows_only(flavour: Flavour) {
    let (server, target, schema) = (source(flavour), target(flavour), "rows_only");
    make(server, schema);
    let (definitions, rows) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    dumped_with(server, schema, definitions.path(), &["--no-data"]);
    dumped_with(server, &format!("{schema} --chunk-size 32k"), rows.path(), &["--no-schema"]);
    assert_eq!(manifest(rows.path())["contents"], "rows");
    assert!(files_in(rows.path()).iter().all(|file| file.extension().is_none_or(|end| end != "sql")));
    run(&mut restore(target, rows.path(), ""))
        .refused(&["has no table `rows_only`.`keyed`", "more of the dump"]);
    run(&mut restore(target, definitions.path(), "")).done();
    let restored = run(&mut restore(target, rows.path(), "")).done();
    assert!(restored.stdout.contains("definitions not compared: the dump holds none"), "{restored}");
    compare::assert_same(&compare::everything(server, schema), &compare::everything(target, schema));
    run(&mut verify(target, rows.path(), "")).done();
    sql(target, format!("UPDATE {schema}.keyless SET v = 'x' LIMIT 1"));
    run(&mut verify(target, rows.path(), "")).found(&["keyless"]);
}

fn rows_only_refused(flavour: Flavour) {
    let (server, target, schema) = (source(flavour), target(flavour), "rows_refused");
    sql(
        server,
        format!(
            "CREATE DATABASE {schema}; CREATE TABLE {schema}.t (id INT PRIMARY KEY, v INT); INSERT INTO {schema}.t VALUES (1, 1), (2, 1)"
        ),
    );
    let dir = tempfile::tempdir().unwrap();
    dumped_with(server, schema, dir.path(), &["--no-schema"]);
    sql(
        target,
        format!(
            "CREATE DATABASE {schema}; CREATE TABLE {schema}.t (id INT PRIMARY KEY, v INT); INSERT INTO {schema}.t VALUES (5, 5)"
        ),
    );
    let table = "`rows_refused`.`t`";
    run(&mut restore(target, dir.path(), "")).refused(&[table, "holds rows already", "TRUNCATE"]);
    run(&mut restore(target, dir.path(), "--drop-existing")).refused(&["--drop-existing", "rows only"]);
    assert_eq!(value(target, format!("SELECT COUNT(*) FROM {schema}.t")), "1");
    sql(
        target,
        format!(
            "TRUNCATE TABLE {schema}.t; CREATE TRIGGER {schema}.tr BEFORE INSERT ON {schema}.t FOR EACH ROW SET NEW.v = 9"
        ),
    );
    run(&mut restore(target, dir.path(), "")).refused(&[table, "trigger"]);
    // A unique key that the dumped table has not: neither row may be lost in silence.
    sql(target, format!("DROP TRIGGER {schema}.tr; ALTER TABLE {schema}.t ADD UNIQUE KEY (v)"));
    run(&mut restore(target, dir.path(), "")).refused(&[table]);
    assert_eq!(value(target, format!("SELECT COUNT(*) FROM {schema}.t")), "0");
    sql(target, format!("ALTER TABLE {schema}.t DROP KEY v"));
    run(&mut restore(target, dir.path(), "")).done();
    assert!(try_sql(target, &format!("SELECT * FROM {schema}.drover_restore")).is_err());
}

/// The target's engine says whether a file and its step can be committed together.
fn rows_only_into_another_engine(flavour: Flavour) {
    let (server, target, schema) = (source(flavour), target(flavour), "rows_engine");
    sql(
        server,
        format!(
            "CREATE DATABASE {schema}; CREATE TABLE {schema}.t (id INT PRIMARY KEY) ENGINE = InnoDB;
             INSERT INTO {schema}.t VALUES (1), (2)"
        ),
    );
    let dir = tempfile::tempdir().unwrap();
    dumped_with(server, schema, dir.path(), &["--no-schema"]);
    sql(
        target,
        format!("CREATE DATABASE {schema}; CREATE TABLE {schema}.t (id INT PRIMARY KEY) ENGINE = MyISAM"),
    );
    run(&mut restore(target, dir.path(), "")).done();
    assert_eq!(value(target, format!("SELECT COUNT(*) FROM {schema}.t")), "2");
}
