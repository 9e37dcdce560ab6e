//! Dumps in SQL: compressed, of a part, gone on with, with what a client cannot restore, and to the other vendor.

use std::fs;
use std::process::Command;

use drover_sandbox::{Flavour, Server};

use super::sql_cases::by_hand;
use crate::client::{run_script, sql, value};
use crate::compare;
use crate::drover::{NO_HOME, dump, restore, run, verify};
use crate::files::{files_in, manifest, table};
use crate::servers::{is_wanted, on_both, source, start_of, target};

on_both!(one_file_a_table, compressed, parts_of_it, gone_on_with, broken_views, long_rows, refused);

fn make(server: &Server, schema: &str) {
    let script = format!(
        "CREATE DATABASE {schema}; USE {schema};
         CREATE TABLE keyed (id INT PRIMARY KEY, n INT, v VARCHAR(200), twice INT AS (n * 2) STORED);
         INSERT INTO keyed (id, n, v) WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 1000)
           SELECT n * 7, n % 10, CONCAT(SHA2(n, 512), '''\\\\\\n') FROM s;
         INSERT INTO keyed (id, n, v) SELECT id + 7000, n, v FROM keyed;
         INSERT INTO keyed (id, n, v) SELECT id + 14000, n, v FROM keyed;
         INSERT INTO keyed (id, n, v) SELECT id + 28000, n, v FROM keyed;
         CREATE TABLE parts (id INT PRIMARY KEY, v VARCHAR(200)) PARTITION BY HASH (id) PARTITIONS 4;
         INSERT INTO parts SELECT id, v FROM keyed;
         CREATE TABLE keyless (n INT, v VARCHAR(200)); INSERT INTO keyless SELECT n, v FROM keyed;
         CREATE TABLE nothing (id INT PRIMARY KEY AUTO_INCREMENT);
         CREATE VIEW ids AS SELECT id FROM keyed; CREATE PROCEDURE p() SELECT 1;
         CREATE TRIGGER upper BEFORE INSERT ON keyless FOR EACH ROW SET NEW.v = UPPER(NEW.v);
         ANALYZE TABLE keyed, parts"
    );
    run_script(server, None, script.as_bytes()).unwrap();
}

fn assert_same(server: &Server, target: &Server, schema: &str) {
    compare::assert_same(&compare::everything(server, schema), &compare::everything(target, schema));
    sql(target, format!("DROP DATABASE {schema}"));
}

fn one_file_a_table(flavour: Flavour) {
    let (server, target, schema, dir) =
        (source(flavour), target(flavour), "sql_files", tempfile::tempdir().unwrap());
    make(server, schema);
    run(&mut dump(server, &format!("{schema} --format sql --threads 4"), dir.path())).done();
    let names: Vec<_> = files_in(dir.path())
        .iter()
        .map(|file| file.strip_prefix(dir.path()).unwrap().display().to_string())
        .collect();
    let expected = [
        "manifest.json",
        "restore.sh",
        "sql_files/@schema.sql",
        "sql_files/ids.view.sql",
        "sql_files/keyed.sql",
        "sql_files/keyless.sql",
        "sql_files/nothing.sql",
        "sql_files/p.procedure.sql",
        "sql_files/parts.sql",
        "sql_files/upper.trigger.sql",
    ];
    assert_eq!(names, expected);
    assert_eq!(manifest(dir.path())["row_format"], "sql");
    for name in ["keyed", "parts"] {
        let text = fs::read_to_string(dir.path().join(format!("{schema}/{name}.sql"))).unwrap();
        let statements: Vec<_> = text.lines().filter(|line| line.starts_with("INSERT INTO ")).collect();
        assert_eq!(statements.len(), 2, "{statements:?}");
        let id = |line: &str| line.strip_prefix('(')?.split_once(',')?.0.parse::<u32>().ok();
        let ids: Vec<_> = text.lines().filter_map(id).collect();
        assert_eq!(ids.len(), 8000);
        assert!(ids.is_sorted(), "not in the order of the key");
    }
    // One table by itself, with nothing but the client and whatever that is set to.
    sql(
        target,
        format!("CREATE DATABASE {schema}; SET GLOBAL max_allowed_packet = @@GLOBAL.max_allowed_packet"),
    );
    let mut client = target.client("mysql");
    client.args(["--default-character-set=latin1"]);
    let file = fs::read(dir.path().join(format!("{schema}/keyed.sql"))).unwrap();
    assert!(crate::client::feed(&mut client, &file).status.success());
    assert_eq!(value(target, format!("SELECT COUNT(*) FROM {schema}.keyed")), "8000");
    sql(target, format!("DROP DATABASE {schema}"));

    by_hand(target, dir.path(), &[]).unwrap();
    run(&mut verify(target, dir.path(), "")).done();
    let again = by_hand(target, dir.path(), &[]).unwrap_err();
    assert!(again.contains("already exists") && again.contains("sql_files/keyed.sql failed"), "{again}");
    sql(target, format!("UPDATE {schema}.keyed SET v = 'x' WHERE id = 7"));
    run(&mut verify(target, dir.path(), "")).found(&["`sql_files`.`keyed`", "differ"]);
    run(&mut restore(target, dir.path(), "")).refused(&["already has", "keyed"]);
    run(&mut restore(target, dir.path(), "--drop-existing")).done();
    assert_same(server, target, schema);
    run(&mut restore(target, dir.path(), "--into sql_files=sql_files_there")).done();
    sql(target, "DROP DATABASE sql_files_there");
}

fn compressed(flavour: Flavour) {
    let (server, target, schema) = (source(flavour), target(flavour), "sql_compressed");
    make(server, schema);
    for (method, extension) in [("zstd", "sql.zst"), ("gzip:1", "sql.gz"), ("lz4", "sql.lz4")] {
        let dir = tempfile::tempdir().unwrap();
        run(&mut dump(server, &format!("{schema} --format sql --compress {method}"), dir.path())).done();
        assert!(dir.path().join(format!("{schema}/keyed.{extension}")).exists());
        assert!(dir.path().join(format!("{schema}/ids.view.sql")).exists());
        run(&mut restore(target, dir.path(), "")).done();
        assert_same(server, target, schema);
        if Command::new(method.split(':').next().unwrap()).arg("--version").output().is_ok() {
            by_hand(target, dir.path(), &[]).unwrap();
            assert_same(server, target, schema);
        }
        let file = dir.path().join(format!("{schema}/keyed.{extension}"));
        let mut bytes = fs::read(&file).unwrap();
        let at = bytes.len() / 2;
        bytes[at] ^= 1;
        fs::write(&file, bytes).unwrap();
        run(&mut restore(target, dir.path(), "")).refused(&["keyed"]);
        sql(target, format!("DROP DATABASE {schema}"));
    }
}

fn parts_of_it(flavour: Flavour) {
    let (server, target, schema) = (source(flavour), target(flavour), "sql_parts");
    make(server, schema);
    let dumped = |options: &[&str]| {
        let dir = tempfile::tempdir().unwrap();
        run(dump(server, &format!("{schema} --format sql"), dir.path()).args(options)).done();
        dir
    };
    let dir = dumped(&["--where=keyed:n = 3"]);
    by_hand(target, dir.path(), &[]).unwrap();
    assert_eq!(
        value(target, format!("SELECT CONCAT(COUNT(*), MIN(n), MAX(n)) FROM {schema}.keyed")),
        "80033"
    );
    run(&mut verify(target, dir.path(), "")).done();
    sql(target, format!("DROP DATABASE {schema}"));

    let dir = dumped(&["--no-data"]);
    by_hand(target, dir.path(), &[]).unwrap();
    assert_eq!(value(target, format!("SELECT COUNT(*) FROM {schema}.keyed")), "0");
    sql(target, format!("DROP TRIGGER {schema}.upper"));
    let dir = dumped(&["--no-schema"]);
    by_hand(target, dir.path(), &[]).unwrap();
    run(&mut verify(target, dir.path(), "")).done();
    for table in ["keyed", "parts", "keyless"] {
        sql(target, format!("TRUNCATE TABLE {schema}.{table}"));
    }
    run(&mut restore(target, dir.path(), "")).done();
    sql(target, format!("DROP DATABASE {schema}"));

    let rules = dir.path().join("rules.toml");
    fs::write(
        &rules,
        "[[rule]]\ntable = \"keyed\"\ncolumn = \"v\"\nmask = { fixed = \"it's \\\\ masked\" }\n",
    )
    .unwrap();
    let dir = dumped(&["--mask", rules.to_str().unwrap()]);
    by_hand(target, dir.path(), &[]).unwrap();
    assert_eq!(
        value(target, format!("SELECT COUNT(*) FROM {schema}.keyed WHERE v = 'it''s \\\\ masked'")),
        "8000"
    );
    run(&mut verify(target, dir.path(), "")).done();
    sql(target, format!("DROP DATABASE {schema}"));
}

/// Whole tables are kept, the others are read again.
fn gone_on_with(flavour: Flavour) {
    let (server, target, schema, dir) =
        (source(flavour), target(flavour), "sql_resumed", tempfile::tempdir().unwrap());
    make(server, schema);
    let line = format!("{schema} --format sql --threads 1");
    // A limit on the size of files ends it, as a full disk would. MyISAM is read first, and the small table is whole by then.
    sql(
        server,
        format!(
            "USE {schema}; CREATE TABLE small (id INT PRIMARY KEY) ENGINE = MyISAM; INSERT INTO small VALUES (1), (2)"
        ),
    );
    let program = dump(server, &line, dir.path());
    let mut ended = Command::new("sh");
    ended.args(["-c", "ulimit -f 400; exec \"$0\" \"$@\""]).arg(program.get_program());
    let ended = run(ended.args(program.get_args()).env("HOME", NO_HOME));
    assert_ne!(ended.code, Some(0), "{ended}");
    run(&mut restore(target, dir.path(), "")).refused(&["never finished"]);
    run(&mut dump(server, &format!("{schema} --resume"), dir.path())).refused(&["format"]);
    run(&mut dump(server, &line, dir.path())).refused(&["unfinished"]);
    let small = dir.path().join(format!("{schema}/small.sql"));
    let before = fs::metadata(&small).unwrap().modified().unwrap();
    run(&mut dump(server, &format!("{line} --resume"), dir.path())).done();
    assert_eq!(fs::metadata(&small).unwrap().modified().unwrap(), before);
    let file = |name: &str| table(&manifest(dir.path()), schema, name)["files"][0].clone();
    assert_eq!((&file("small")["earlier"], file("keyed").get("earlier")), (&0.into(), None));
    by_hand(target, dir.path(), &[]).unwrap();
    run(&mut verify(target, dir.path(), "")).done();
    assert_same(server, target, schema);
}

/// A view that could not be used on the source either is no reason to stop before what follows it.
fn broken_views(flavour: Flavour) {
    let (server, target, schema) = (source(flavour), target(flavour), "sql_broken");
    let script = format!(
        "CREATE DATABASE {schema}; USE {schema}; CREATE TABLE gone (id INT); CREATE TABLE t (id INT PRIMARY KEY);
         CREATE VIEW broken AS SELECT id FROM gone; CREATE VIEW whole AS SELECT id FROM t; DROP TABLE gone;
         CREATE TRIGGER bi BEFORE INSERT ON t FOR EACH ROW SET NEW.id = 1"
    );
    run_script(server, None, script.as_bytes()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let said = run(&mut dump(server, &format!("{schema} --format sql"), dir.path())).done();
    assert!(said.stderr.contains("view `sql_broken`.`broken` cannot be used"), "{said}");
    by_hand(target, dir.path(), &[]).unwrap();
    sql(target, format!("INSERT INTO {schema}.t VALUES (7)"));
    assert_eq!(value(target, format!("SELECT id FROM {schema}.whole")), "1");
    [server, target].iter().for_each(|server| drop(sql(server, format!("DROP DATABASE {schema}"))));
}

/// What a client does not take by default is said when it is dumped.
fn long_rows(flavour: Flavour) {
    let (server, schema, dir) = (source(flavour), "sql_long", tempfile::tempdir().unwrap());
    let script = format!(
        "CREATE DATABASE {schema}; USE {schema}; CREATE TABLE t (id INT PRIMARY KEY, a LONGTEXT, b LONGTEXT);
         INSERT INTO t VALUES (1, REPEAT('a', 9000000), NULL), (2, 'x', 'y'); UPDATE t SET b = a WHERE id = 1"
    );
    run_script(server, None, script.as_bytes()).unwrap();
    let said = run(&mut dump(server, &format!("{schema} --format sql"), dir.path())).done();
    assert!(said.stderr.contains("`sql_long`.`t`") && said.stderr.contains("max_allowed_packet"), "{said}");
    run(&mut restore(target(flavour), dir.path(), "")).done();
    sql(target(flavour), format!("DROP DATABASE {schema}"));
    sql(server, format!("DROP DATABASE {schema}"));
}

fn refused(flavour: Flavour) {
    let (server, schema, dir) = (source(flavour), "sql_refused", tempfile::tempdir().unwrap());
    sql(server, format!("CREATE DATABASE {schema}"));
    for format in ["sql", "csv"] {
        run(&mut dump(server, &format!("{schema} --format {format} --chunk-size 1M"), dir.path()))
            .refused(&["--chunk-size is for --format tsv"]);
    }
    assert!(files_in(dir.path()).is_empty());
}

const INVALID: &str = "CREATE DATABASE sql_invalid CHARACTER SET utf8mb4; USE sql_invalid;
    CREATE TABLE bytes (id INT, u VARBINARY(80), g VARBINARY(40), n VARBINARY(20)) ENGINE = MyISAM;
    INSERT INTO bytes VALUES (1, 'fine', 0xD55C, 'fine'), (2, 0xFFFE, 0x8120, 'x'), (3, 0xC3, NULL, 'x'), (4, '', 0xD5, 'x');
    CREATE TABLE merged (id INT, u VARCHAR(20) CHARACTER SET utf8mb4, g VARCHAR(20) CHARACTER SET gbk,
      n VARCHAR(20) CHARACTER SET latin1) ENGINE = MERGE UNION = (bytes);
    CREATE TABLE invalid (id INT PRIMARY KEY, u VARCHAR(20) CHARACTER SET utf8mb4, g VARCHAR(20) CHARACTER SET gbk,
      n VARCHAR(20) CHARACTER SET latin1);
    INSERT INTO invalid SELECT * FROM merged; DROP TABLE merged, bytes;";

/// Only on MariaDB can a test put such text into a table.
#[test]
fn invalid_text_is_told_and_restored_by_drover() {
    if !is_wanted(Flavour::MariaDb) {
        return;
    }
    let (server, target, dir) =
        (source(Flavour::MariaDb), target(Flavour::MariaDb), tempfile::tempdir().unwrap());
    run_script(server, None, INVALID.as_bytes()).unwrap();
    let said = run(&mut dump(server, "sql_invalid --format sql", dir.path())).done();
    for column in ["2 values of column `u`", "2 values of column `g`"] {
        assert!(said.stderr.contains(&format!("table `sql_invalid`.`invalid`: {column}")), "{said}");
    }
    assert!(!said.stderr.contains("column `n`"), "{said}");
    let invalid = &table(&manifest(dir.path()), "sql_invalid", "invalid")["files"][0]["invalid_text"];
    assert_eq!(invalid, &serde_json::json!({"u": 2, "g": 2}));
    let error = by_hand(target, dir.path(), &[]).unwrap_err();
    assert!(error.contains("Incorrect string value") && error.contains("invalid.sql failed"), "{error}");
    run(&mut restore(target, dir.path(), "--drop-existing")).done();
    assert_same(server, target, "sql_invalid");
    sql(server, "DROP DATABASE sql_invalid");
}

/// The way of drover's own rows is that of lines, so everything that knows these serves here too.
#[test]
fn to_the_other_vendor() {
    if !is_wanted(Flavour::MariaDb) || !is_wanted(Flavour::MySql) {
        return;
    }
    let schema = "sql_over";
    make(source(Flavour::MariaDb), schema);
    sql(
        source(Flavour::MariaDb),
        format!(
            "CREATE TABLE {schema}.past (id INT PRIMARY KEY, d DOUBLE) WITH SYSTEM VERSIONING;
        INSERT INTO {schema}.past VALUES (1, -0e0), (2, 0.5); UPDATE {schema}.past SET d = 1 WHERE id = 2"
        ),
    );
    let dir = tempfile::tempdir().unwrap();
    run(&mut dump(source(Flavour::MariaDb), &format!("{schema} --format sql"), dir.path())).done();
    let found = run(&mut restore(target(Flavour::MySql), dir.path(), "")).found(&["with a loss"]);
    assert!(found.stderr.contains("MySQL keeps no history"), "{found}");
    let rows = |server: &Server| sql(server, format!("SELECT id, d FROM {schema}.past ORDER BY id"));
    assert_eq!(rows(target(Flavour::MySql)).len(), 2);
    assert_eq!(value(target(Flavour::MySql), format!("SELECT COUNT(*) FROM {schema}.keyed")), "8000");
    sql(target(Flavour::MySql), format!("DROP DATABASE {schema}"));
    sql(source(Flavour::MariaDb), format!("DROP DATABASE {schema}"));
}

/// Servers read expressions of a table in the character set of the session that opens it: rows must get into their partitions, and generated
/// values be what they were.
#[test]
fn text_in_definitions() {
    for (flavour, name) in [
        (Flavour::MySql, "newest"),
        (Flavour::MySql, "mysql-8.0"),
        (Flavour::MySql, "mysql-5.7"),
        (Flavour::MariaDb, "newest"),
    ] {
        let Some(server) = start_of(flavour, name, &[]) else { continue };
        let script = "SET NAMES utf8mb4; CREATE DATABASE boundaries; USE boundaries;
            CREATE TABLE ranges (id INT, v VARCHAR(9) CHARACTER SET latin1) PARTITION BY RANGE COLUMNS (v)
              (PARTITION p0 VALUES LESS THAN ('ü'), PARTITION p1 VALUES LESS THAN (MAXVALUE));
            INSERT INTO ranges VALUES (1, 'ü'), (2, 'a'), (3, 'é');
            CREATE TABLE lists (id INT, v VARCHAR(9) CHARACTER SET latin1) PARTITION BY LIST COLUMNS (v)
              (PARTITION p0 VALUES IN ('ü', 'é'), PARTITION p1 VALUES IN ('a'));
            INSERT INTO lists VALUES (1, 'ü'), (2, 'a');
            CREATE TABLE computed (id INT PRIMARY KEY, w VARCHAR(9) CHARACTER SET cp1251, g INT AS (CHAR_LENGTH(CONCAT('üé', id))) STORED)
              CHARACTER SET utf8mb4;
            INSERT INTO computed (id, w) VALUES (1, 'ж'), (2, '')";
        run_script(&server, None, script.as_bytes()).unwrap();
        let placed = "SELECT id FROM boundaries.ranges PARTITION (p0) ORDER BY id; SELECT id FROM boundaries.ranges PARTITION (p1);
            SELECT id FROM boundaries.lists PARTITION (p0); SELECT id, HEX(w), g FROM boundaries.computed";
        let (expected, dir) = (sql(&server, placed), tempfile::tempdir().unwrap());
        run(&mut dump(&server, "boundaries --format sql", dir.path())).done();
        let again = "DROP DATABASE boundaries; FLUSH TABLES";
        sql(&server, again);
        by_hand(&server, dir.path(), &[]).unwrap();
        assert_eq!(sql(&server, placed), expected, "{name}");
        assert_eq!(sql(&server, "CHECK TABLE boundaries.ranges")[0][3], "OK", "{name}");
        sql(&server, again);
        run(&mut restore(&server, dir.path(), "")).done();
        assert_eq!(sql(&server, placed), expected, "{name}");
    }
}
