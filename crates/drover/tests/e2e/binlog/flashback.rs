//! `drover binlog sql --flashback`: what it prints, run by the vendor's client, makes a server what it was.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use drover_binlog::log::{Kind, Reader};
use drover_binlog::source::{Counter, Source};
use drover_sandbox::{Flavour, Server};

use super::sql::{logged, logs_of};
use crate::cases::Case;
use crate::client::{client, feed, rows_of, run_script, sql, value};
use crate::compare::{self, Contents};
use crate::drover::{Output, Running, drover, drover_on, run};
use crate::servers::{is_wanted, on_both, start, start_unsynced};

on_both!(
    rows_come_back,
    rows_of_compressed_logs_come_back,
    images_that_lack_something_are_refused,
    images_that_lack_nothing_needed_are_not,
    what_is_no_row_is_refused,
    rows_that_were_rolled_back,
    cases_there_and_back,
    statements_are_passed_over_for_tables,
    what_was_not_committed_is_left_out,
    what_a_foreign_key_did,
    logs_of_a_live_server,
    lines_of_json,
    memory_does_not_grow_with_a_transaction,
);

const FULL: [&str; 3] = ["--log-bin", "--binlog-format=ROW", "--binlog-row-metadata=FULL"];

fn start_logging(flavour: Flavour, more: &[&str]) -> Server {
    start(flavour, &[&FULL, more].concat())
}

/// `drover binlog sql --flashback`, with options, of logs.
fn flashback(options: &str, logs: &[PathBuf]) -> Command {
    let mut command = drover(&format!("binlog sql --flashback {options}"));
    command.args(logs);
    command
}

/// Runs what was printed.
fn undo(server: &Server, printed: &str) {
    let fed = feed(client(server).arg("--binary-mode"), printed.as_bytes());
    assert!(fed.status.success(), "{}\n{printed}", String::from_utf8_lossy(&fed.stderr));
}

/// The log that is written at the moment, and how long it is.
fn now(server: &Server) -> (PathBuf, String) {
    let logs = sql(server, "SHOW BINARY LOGS");
    let last = logs.last().unwrap();
    (server.datadir().join(&last[0]), last[1].clone())
}

/// What undoes all that came behind that place, in any log.
fn undo_since(server: &Server, (log, position): &(PathBuf, String)) {
    let mut logs = logs_of(server);
    let first = logs.iter().position(|other| other == log).unwrap();
    let output = run(&mut flashback(&format!("--start-position {position}"), &logs.split_off(first))).done();
    assert!(output.stderr.is_empty(), "{output}");
    assert!(output.stdout.contains("-- undoes "), "{output}");
    undo(server, &output.stdout);
}

/// Tables of many types, with and without keys.
const TABLES: &str = "
    CREATE DATABASE f; USE f; SET NAMES utf8mb4;
    CREATE TABLE kinds (id BIGINT UNSIGNED PRIMARY KEY, t TINYINT, s SMALLINT UNSIGNED, m MEDIUMINT, de DECIMAL(30,10), fl FLOAT, d DOUBLE,
        b BIT(13), y YEAR, da DATE, ti TIME(3), dt DATETIME(6), ts TIMESTAMP(2) NULL, c CHAR(9), bi BINARY(5), v VARCHAR(300),
        l VARCHAR(20) CHARACTER SET latin1, u VARCHAR(20) CHARACTER SET utf16, te TEXT, bl MEDIUMBLOB, e ENUM('x','y','z'),
        se SET('p','q','r'), j JSON, g POINT);
    CREATE TABLE no_key (a INT, b VARCHAR(40), c FLOAT, d DOUBLE);
    CREATE TABLE two (a INT, b VARCHAR(20), v BLOB, PRIMARY KEY (b, a)) PARTITION BY KEY (a) PARTITIONS 3;
    CREATE TABLE parent (id INT PRIMARY KEY, name VARCHAR(20) UNIQUE);
    CREATE TABLE child (id INT PRIMARY KEY AUTO_INCREMENT, parent INT, FOREIGN KEY (parent) REFERENCES parent (id));
    CREATE TABLE simple (id INT PRIMARY KEY, v VARCHAR(20)) ENGINE=MyISAM;";

const ROWS: &str = r#"
    USE f; SET NAMES utf8mb4;
    INSERT INTO kinds VALUES
        (1, -128, 65535, -8388608, -12345678901234567890.0123456789, 0.1, 1e-300, b'1010101010101', 1901, '1000-01-01', '-838:59:59',
            '9999-12-31 23:59:59.999999', '2038-01-19 03:14:07.5', 'c', X'00ff00', 'ä "quoted" \\ it''s', 'é', '日本', 'text', X'00fe62696e00',
            'y', 'p,r', '{"a": [1, 2.50, null, "é"]}', ST_GeomFromText('POINT(1 -2)')),
        (18446744073709551615, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
            NULL, NULL, NULL, NULL, NULL),
        (3, 0, 0, 0, 0, 0, 0, b'0', 2155, '2026-11-22', '00:00:00', '2026-11-22 03:15:00', '2026-11-22 03:15:00', '', '', '', '', '', '',
            '', 'x', '', '[]', ST_GeomFromText('POINT(0 0)'));
    INSERT INTO no_key VALUES (1, 'twice', 0.1, 0.1), (1, 'twice', 0.1, 0.1), (2, NULL, 1e30, -1e-300), (NULL, '', NULL, 0);
    INSERT INTO two VALUES (1, 'a', 'one'), (2, 'a', NULL), (1, 'b', X'ff');
    INSERT INTO parent VALUES (1, 'one'), (2, 'two'), (3, 'three');
    INSERT INTO child (parent) VALUES (1), (1), (2), (NULL);
    INSERT INTO simple VALUES (1, 'one'), (2, 'two');"#;

/// Transactions that change them, of several tables each.
const CHANGES: &str = r#"
    USE f; SET NAMES utf8mb4;
    BEGIN;
    UPDATE kinds SET t = t + 1, de = de * 2, fl = fl * 3, d = d / 7, v = CONCAT(v, 'x'), u = '😀', bl = REPEAT('blob', 20000) WHERE id = 1;
    DELETE FROM kinds WHERE id > 3;
    INSERT INTO kinds (id, v, e) SELECT 10 + a, b, 'z' FROM no_key WHERE a IS NOT NULL AND b IS NULL;
    UPDATE no_key SET c = c + 1 WHERE a = 1 LIMIT 1;
    SAVEPOINT here;
    DELETE FROM no_key WHERE a = 1 LIMIT 1;
    COMMIT;
    -- Keys change places, one after the other.
    BEGIN;
    UPDATE parent SET name = 'none' WHERE id = 1;
    UPDATE parent SET name = 'one' WHERE id = 2;
    UPDATE parent SET name = 'two' WHERE id = 1;
    COMMIT;
    UPDATE two SET a = a + 1 ORDER BY a DESC;
    UPDATE two SET b = IF(b = 'a', 'c', b), v = 'new';
    BEGIN;
    INSERT INTO parent VALUES (4, 'four'), (5, 'five');
    INSERT INTO child (parent) VALUES (4), (4), (5);
    DELETE FROM child WHERE parent = 1;
    DELETE FROM parent WHERE id = 1;
    UPDATE child SET parent = 5 WHERE parent = 2;
    COMMIT;
    FLUSH BINARY LOGS;
    UPDATE kinds JOIN no_key ON kinds.id = 3 AND no_key.a = 2 SET kinds.j = '{"now": "an object"}', no_key.b = 'both';
    SET foreign_key_checks = 0; INSERT INTO child VALUES (100, 99); SET foreign_key_checks = 1;
    UPDATE simple SET v = 'changed'; DELETE FROM simple WHERE id = 2; INSERT INTO simple VALUES (3, 'three');
    BEGIN; DELETE FROM two; INSERT INTO two VALUES (9, 'i', NULL); UPDATE two SET v = 'a' WHERE a = 9; DELETE FROM two; COMMIT;
    DELETE FROM no_key;
    REPLACE INTO kinds (id, v) VALUES (1, 'replaced'), (77, 'new');
    INSERT INTO kinds (id, v) VALUES (77, 'again') ON DUPLICATE KEY UPDATE v = 'updated';"#;

fn rows_come_back(flavour: Flavour) {
    come_back(&start_logging(flavour, &[]));
}

fn rows_of_compressed_logs_come_back(flavour: Flavour) {
    come_back(&start_logging(
        flavour,
        match flavour {
            Flavour::MariaDb => &["--log-bin-compress=ON", "--log-bin-compress-min-len=10"],
            Flavour::MySql => {
                &["--binlog-transaction-compression=ON", "--gtid-mode=ON", "--enforce-gtid-consistency=ON"]
            }
        },
    ));
}

/// Changes rows, undoes that, and undoes what undid it.
fn come_back(server: &Server) {
    let contents = || compare::rows(server, "f");
    run_script(server, None, TABLES.as_bytes()).unwrap();
    run_script(server, None, ROWS.as_bytes()).unwrap();
    let (first, before) = (contents(), now(server));
    run_script(server, None, CHANGES.as_bytes()).unwrap();
    let (second, middle) = (contents(), now(server));
    differ(&first, &second);
    undo_since(server, &before);
    compare::assert_same(&first, &contents());
    undo_since(server, &middle);
    compare::assert_same(&second, &contents());
    // All of it together: the changes, their undoing, and the undoing of that.
    undo_since(server, &before);
    compare::assert_same(&first, &contents());
}

/// Every table was changed.
fn differ(first: &Contents, second: &Contents) {
    for (title, lines) in first {
        assert_ne!(Some(lines), second.get(title), "{title} was not changed");
    }
}

/// It says why nothing is printed.
fn refused(command: &mut Command, why: &[&str]) {
    let output = run(command);
    assert_eq!(output.stdout, "");
    let output = output.refused(why);
    assert!(output.stderr.contains("hint: "), "{output}");
}

fn images_that_lack_something_are_refused(flavour: Flavour) {
    let server = start_logging(flavour, &[]);
    run_script(&server, None, TABLES.as_bytes()).unwrap();
    run_script(&server, None, ROWS.as_bytes()).unwrap();
    let minimal = "SET binlog_row_image = MINIMAL; USE f;";
    let noblob = "SET binlog_row_image = NOBLOB; USE f;";
    for (statements, why) in [
        (format!("{minimal} DELETE FROM two WHERE a = 1"), "the column v of rows that were deleted"),
        (format!("{minimal} UPDATE two SET v = 'x'"), "the column v as they were before rows were changed"),
        (format!("{noblob} DELETE FROM two WHERE a = 1"), "the column v of rows that were deleted"),
        (format!("{noblob} UPDATE two SET v = 'y'"), "the column v as they were before rows were changed"),
        // What came before is no reason to print it.
        (
            format!("INSERT INTO f.simple VALUES (7, 'seven'); {minimal} DELETE FROM kinds WHERE id = 1"),
            "the columns t, s, m, de, fl and 18 more of rows that were deleted",
        ),
    ] {
        let logs = logged(&server, || drop(sql(&server, &statements)));
        refused(&mut flashback("", &logs), &[&logs[0].display().to_string(), ": at ", "rows of f.", why]);
        run(&mut flashback("--table f.other", &logs)).done();
        run(&mut flashback("--database other", &logs)).done();
        undo(
            &server,
            "DELETE FROM f.simple; DELETE FROM f.two; INSERT INTO f.two VALUES (1, 'a', 'one'), (2, 'a', NULL);",
        );
    }
}

/// Of MySQL: JSON documents of which only the changes are logged, and such of which all is.
#[test]
fn json_that_was_changed_in_part() {
    if !is_wanted(Flavour::MySql) {
        return;
    }
    let server = start_logging(Flavour::MySql, &["--binlog-row-value-options=PARTIAL_JSON"]);
    let setup = r#"CREATE DATABASE f; CREATE TABLE f.d (id INT PRIMARY KEY, j JSON, k JSON);
        INSERT INTO f.d VALUES (1, '{"a": "a long text", "b": 1}', '[]'), (2, NULL, '{"c": 2}')"#;
    sql(&server, setup);
    let first = compare::rows(&server, "f");
    let logs = logged(&server, || {
        let statements = r#"UPDATE f.d SET j = '{"other": [1, 2]}'; UPDATE f.d SET k = NULL WHERE id = 2; UPDATE f.d SET id = id + 10"#;
        sql(&server, statements);
    });
    assert!(kinds(&logs[0]).contains(&Kind::PARTIAL_UPDATE_ROWS));
    undo(&server, &run(&mut flashback("", &logs)).done().stdout);
    compare::assert_same(&first, &compare::rows(&server, "f"));
    let logs = logged(&server, || {
        drop(sql(&server, "UPDATE f.d SET j = JSON_SET(j, '$.a', 'a text') WHERE id = 1"))
    });
    refused(
        &mut flashback("", &logs),
        &["rows of f.d", "the column j but only what changed in its JSON documents"],
    );
}

/// Of MariaDB: its steps are rows that come in, and nobody can delete these.
#[test]
fn sequences_stay_where_they_are() {
    if !is_wanted(Flavour::MariaDb) {
        return;
    }
    let server = start_logging(Flavour::MariaDb, &[]);
    sql(&server, "CREATE DATABASE f; CREATE SEQUENCE f.s; CREATE TABLE f.t (a INT DEFAULT NEXTVAL(f.s))");
    let steps = || drop(sql(&server, "SELECT NEXTVAL(f.s); INSERT INTO f.t VALUES (DEFAULT)"));
    let printed = run(&mut flashback("", &logged(&server, steps))).done().stdout;
    assert!(printed.contains("DELETE FROM `f`.`t`") && !printed.contains("`s`"), "{printed}");
    undo(&server, &printed);
    assert_eq!(value(&server, "SELECT COUNT(*) FROM f.t"), "0");
    sql(&server, "SET GLOBAL binlog_row_metadata = MINIMAL");
    let logs = logged(&server, || drop(sql(&server, "SELECT SETVAL(f.s, 5000)")));
    refused(&mut flashback("", &logs), &["rows of f.s look like those of a sequence"]);
    run(&mut flashback("--table f.t", &logs)).done();
}

fn kinds(log: &Path) -> Vec<Kind> {
    let source = Source::File(log.to_owned());
    let mut reader =
        Reader::new(source.name(), source.open(&Counter::default()).unwrap(), true, None).unwrap();
    let mut kinds = Vec::new();
    while reader.step().unwrap() {
        kinds.push(reader.event().kind);
    }
    kinds
}

fn images_that_lack_nothing_needed_are_not(flavour: Flavour) {
    let server = start_logging(flavour, &[]);
    run_script(&server, None, TABLES.as_bytes()).unwrap();
    run_script(&server, None, ROWS.as_bytes()).unwrap();
    let first = compare::rows(&server, "f");
    let logs = logged(&server, || {
        let statements = "USE f; SET binlog_row_image = MINIMAL;
            INSERT INTO kinds (id, v) VALUES (5, 'five'); INSERT INTO two (a, b) VALUES (5, 'five');
            UPDATE two SET a = 77 WHERE a = 2; UPDATE parent SET id = 33 WHERE id = 3; UPDATE no_key SET a = 5; DELETE FROM no_key LIMIT 1;
            SET binlog_row_image = NOBLOB;
            UPDATE two SET a = a + 100; UPDATE kinds SET t = 1, fl = 0.3, v = 'x' WHERE id = 3;";
        sql(&server, statements);
    });
    undo(&server, &run(&mut flashback("", &logs)).done().stdout);
    compare::assert_same(&first, &compare::rows(&server, "f"));
}

fn what_is_no_row_is_refused(flavour: Flavour) {
    let server = start_logging(flavour, &[]);
    run_script(&server, None, TABLES.as_bytes()).unwrap();
    run_script(&server, None, ROWS.as_bytes()).unwrap();
    let file = server.datadir().join("values");
    fs::write(&file, "50\tfifty\n").unwrap();
    let load = format!("LOAD DATA LOCAL INFILE '{}' INTO TABLE simple", file.display());
    let statements = [
        ("ALTER TABLE two ADD more INT", "a statement cannot be undone: ALTER TABLE two ADD more INT"),
        (
            "SET binlog_format = STATEMENT; INSERT INTO parent VALUES (50, 'fifty')",
            "a statement cannot be undone: INSERT INTO parent",
        ),
        ("TRUNCATE child", "a statement cannot be undone: TRUNCATE child"),
        ("CREATE TABLE made SELECT * FROM parent", "a statement cannot be undone: CREATE TABLE"),
        (
            "XA START 'x'; INSERT INTO parent VALUES (60, 'sixty'); XA END 'x'; XA PREPARE 'x'; XA COMMIT 'x'",
            "XA PREPARE",
        ),
    ];
    for (statement, why) in statements {
        let logs = logged(&server, || {
            drop(sql(&server, format!("USE f; INSERT INTO no_key (a) VALUES (8); {statement}")))
        });
        refused(&mut flashback("", &logs), &[&logs[0].display().to_string(), ": at ", why]);
    }
    sql(&server, "SET GLOBAL local_infile = ON");
    let logs = logged(&server, || {
        let mut client = client(&server);
        client.args(["--local-infile=1", "f"]);
        rows_of(&mut client, &format!("SET binlog_format = STATEMENT; {load}")).unwrap();
    });
    refused(&mut flashback("", &logs), &["a statement cannot be undone: LOAD DATA"]);
}

/// Cases of types and keys, without triggers, generated columns and other things that statements made of rows run into.
const CASES: [&str; 26] = [
    "blob-large",
    "bytes-all",
    "charset-backslash-bytes",
    "charset-columns",
    "decimal-bit-integer",
    "default-expressions",
    "enum-four-byte-members",
    "enum-set",
    "keys-binary",
    "keys-char",
    "keys-composite-skewed",
    "keys-decimal-float-year",
    "keys-enum-set-bit",
    "keys-integer-sparse",
    "keys-none",
    "keys-nullable-unique",
    "keys-temporal",
    "keys-uuid-inet",
    "names-long",
    "on-update-timestamp",
    "partitions",
    "temporal-fractions",
    "text-specials",
    "timestamp-offsets",
    "vector",
    "wide-tables",
];

/// The folders of tests/cases: all rows are deleted and come back, and then all that came in by the case's setup goes.
fn cases_there_and_back(flavour: Flavour) {
    let server = start_unsynced(flavour, &[&FULL[..], &["--max-connections=400"]].concat());
    let mut failures = Vec::new();
    for case in Case::all(flavour).iter().filter(|case| CASES.contains(&&case.name[..])) {
        let setup = logged(&server, || case.build(&server).unwrap());
        if let Err(why) = there_and_back(case, &server, &setup) {
            failures.push(format!("── {} on {flavour}: {why}", case.name));
        }
        case.drop_from(&server).unwrap();
    }
    assert!(failures.is_empty(), "{} cases failed\n{}", failures.len(), failures.join("\n"));
}

fn there_and_back(case: &Case, server: &Server, setup: &[PathBuf]) -> Result<(), String> {
    let names: Vec<_> =
        case.schemas.iter().map(|schema| format!("'{}'", schema.replace('\'', "''"))).collect();
    let tables = sql(
        server,
        format!(
            "SELECT CONCAT('`', REPLACE(TABLE_SCHEMA, '`', '``'), '`.`', REPLACE(TABLE_NAME, '`', '``'), '`') FROM information_schema.TABLES
            WHERE TABLE_SCHEMA IN ({}) AND TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED')",
            names.join(", ")
        ),
    );
    let contents = || case.schemas.iter().map(|schema| compare::rows(server, schema)).collect::<Vec<_>>();
    let first = contents();
    let logs = logged(server, || {
        let delete = |table: &Vec<String>| format!("DELETE FROM {};\n", table[0]);
        let text: String = tables.iter().map(delete).collect();
        sql(server, format!("SET foreign_key_checks = 0, sql_mode = '';\n{text}"));
    });
    try_undo(server, &mut flashback("", &logs)).map_err(|why| format!("back: {why}"))?;
    for (expected, found) in first.iter().zip(contents()) {
        let differences = compare::differences(expected, &found);
        if !differences.is_empty() {
            return Err(differences.join("\n"));
        }
    }
    try_undo(server, flashback("--table *", setup).arg("--event=Write_rows").arg("--event=Write_rows_v1"))
        .map_err(|why| format!("away: {why}"))?;
    for table in &tables {
        let left = value(server, format!("SET sql_mode = ''; SELECT COUNT(*) FROM {}", table[0]));
        if left != "0" {
            return Err(format!("{left} rows left in {}", table[0]));
        }
    }
    Ok(())
}

/// Runs what a command prints.
fn try_undo(server: &Server, command: &mut Command) -> Result<(), String> {
    let printed = feed(command, b"");
    if !printed.status.success() {
        return Err(String::from_utf8_lossy(&printed.stderr).into_owned());
    }
    let fed = feed(client(server).arg("--binary-mode"), &printed.stdout);
    if fed.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&fed.stderr).into_owned()) }
}

/// Rows of tables with transactions that are in the log and were rolled back all the same: MariaDB has them there, MySQL does not.
fn rows_that_were_rolled_back(flavour: Flavour) {
    let server = start_logging(
        flavour,
        match flavour {
            Flavour::MariaDb => &[],
            Flavour::MySql => &["--gtid-mode=OFF", "--enforce-gtid-consistency=OFF"],
        },
    );
    run_script(&server, None, TABLES.as_bytes()).unwrap();
    run_script(&server, None, ROWS.as_bytes()).unwrap();
    let first = compare::rows(&server, "f");
    let logs = logged(&server, || {
        let statements = "USE f; BEGIN; INSERT INTO no_key (a) VALUES (9); SAVEPOINT s; INSERT INTO parent VALUES (61, 'x');
            INSERT INTO simple SELECT id, name FROM parent WHERE id = 61; ROLLBACK TO s; COMMIT";
        sql(&server, statements);
    });
    match flavour {
        Flavour::MariaDb => {
            refused(&mut flashback("", &logs), &["rows before this in the transaction were rolled back"])
        }
        Flavour::MySql => {
            undo(&server, &run(&mut flashback("", &logs)).done().stdout);
            compare::assert_same(&first, &compare::rows(&server, "f"));
        }
    }
}

fn statements_are_passed_over_for_tables(flavour: Flavour) {
    let server = start_logging(flavour, &[]);
    run_script(&server, None, TABLES.as_bytes()).unwrap();
    run_script(&server, None, ROWS.as_bytes()).unwrap();
    let first = compare::rows(&server, "f");
    let logs = logged(&server, || {
        let statements = "USE f; CREATE TABLE other (a INT); INSERT INTO other VALUES (1); INSERT INTO parent VALUES (9, 'nine');
            UPDATE parent SET name = 'ten' WHERE id = 1; SET SESSION binlog_format = STATEMENT; INSERT INTO other VALUES (2);
            UPDATE other SET a = 3; DROP TABLE other; CREATE TEMPORARY TABLE gone (a INT);";
        sql(&server, statements);
    });
    refused(&mut flashback("", &logs), &["CREATE TABLE other"]);
    let output = run(&mut flashback("--table f.parent", &logs)).done();
    assert!(output.stderr.contains("warning: 2 statements were passed over"), "{output}");
    assert!(!output.stdout.contains("`other`"), "{output}");
    undo(&server, &output.stdout);
    compare::assert_same(&first, &compare::rows(&server, "f"));
    // A table that is another one since.
    let logs = logged(&server, || {
        let statements = "USE f; UPDATE parent SET name = 'a' WHERE id = 1; ALTER TABLE parent ADD more INT;
            UPDATE parent SET name = 'b' WHERE id = 1;";
        sql(&server, statements);
    });
    let why = ["a statement cannot be undone: ALTER TABLE parent", "hint: it names a table whose rows"];
    refused(&mut flashback("--table parent", &logs), &why);
}

fn what_was_not_committed_is_left_out(flavour: Flavour) {
    let server = start_logging(flavour, &[]);
    run_script(&server, None, TABLES.as_bytes()).unwrap();
    let logs = logged(&server, || {
        sql(&server, "USE f; INSERT INTO no_key (a) VALUES (111); INSERT INTO no_key (a) VALUES (222)");
    });
    let whole = run(&mut flashback("", &logs)).done().stdout;
    assert!(whole.contains("111") && whole.contains("222"), "{whole}");
    let cut = server.datadir().join("cut.000001");
    let mut bytes = fs::read(&logs[0]).unwrap();
    bytes.truncate(last_end(&logs[0]) as usize);
    fs::write(&cut, bytes).unwrap();
    let output = run(&mut flashback("", &[cut])).done().stdout;
    assert!(output.contains("111") && !output.contains("222"), "{output}");
}

/// Where the last transaction's end begins.
fn last_end(log: &Path) -> u64 {
    let source = Source::File(log.to_owned());
    let mut reader =
        Reader::new(source.name(), source.open(&Counter::default()).unwrap(), true, None).unwrap();
    let mut last = 0;
    while reader.step().unwrap() {
        if reader.event().kind == Kind::XID {
            last = reader.event().position;
        }
    }
    last
}

/// MySQL logs what CASCADE and SET NULL do to other rows (from 9.6 on), MariaDB does not.
fn what_a_foreign_key_did(flavour: Flavour) {
    let server = start_logging(flavour, &[]);
    let setup = "CREATE DATABASE f; USE f; CREATE TABLE parent (id INT PRIMARY KEY);
        CREATE TABLE gone (id INT PRIMARY KEY, parent INT, FOREIGN KEY (parent) REFERENCES parent (id) ON DELETE CASCADE);
        CREATE TABLE freed (id INT PRIMARY KEY, parent INT, FOREIGN KEY (parent) REFERENCES parent (id) ON DELETE SET NULL ON UPDATE CASCADE);
        INSERT INTO parent VALUES (1), (2), (3); INSERT INTO gone VALUES (1, 1), (2, 1), (3, 2); INSERT INTO freed VALUES (1, 1), (2, 2), (3, 3);";
    sql(&server, setup);
    let first = compare::rows(&server, "f");
    let logs = logged(&server, || {
        sql(&server, "USE f; UPDATE parent SET id = 30 WHERE id = 3; DELETE FROM parent WHERE id < 3");
    });
    undo(&server, &run(&mut flashback("", &logs)).done().stdout);
    match flavour {
        Flavour::MySql => compare::assert_same(&first, &compare::rows(&server, "f")),
        Flavour::MariaDb => {
            assert_eq!(sql(&server, "SELECT * FROM f.parent ORDER BY id"), [["1"], ["2"], ["3"]]);
            assert_eq!(value(&server, "SELECT COUNT(*) FROM f.gone"), "0");
            assert_eq!(sql(&server, "SELECT parent FROM f.freed ORDER BY id"), [["NULL"], ["NULL"], ["3"]]);
        }
    }
}

fn logs_of_a_live_server(flavour: Flavour) {
    let server = start_logging(flavour, &[]);
    run_script(&server, None, TABLES.as_bytes()).unwrap();
    run_script(&server, None, ROWS.as_bytes()).unwrap();
    let (first, (log, position)) = (compare::rows(&server, "f"), now(&server));
    run_script(&server, None, CHANGES.as_bytes()).unwrap();
    let names = logs_of(&server).into_iter().skip_while(|other| *other != log);
    let line = format!("binlog sql --flashback --from-server --start-position {position}");
    let mut command = drover_on(&server, &line);
    command.args(names.map(|path| path.file_name().unwrap().to_owned()));
    undo(&server, &run(&mut command).done().stdout);
    compare::assert_same(&first, &compare::rows(&server, "f"));
}

fn lines_of_json(flavour: Flavour) {
    let server = start_logging(flavour, &[]);
    run_script(&server, None, TABLES.as_bytes()).unwrap();
    let logs = logged(&server, || {
        let statements = "USE f; INSERT INTO parent VALUES (1, 'one'), (2, 'two'); UPDATE parent SET name = 'three' WHERE id = 2;
            DELETE FROM parent WHERE id = 1;";
        sql(&server, statements);
    });
    let output = run(&mut flashback("--json", &logs)).done();
    let lines = output.stdout.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let said: Vec<_> = lines
        .map(|line| {
            format!("{} {} {} {}", line["kind"], line["table"], line["before"], line["after"])
                .replace('"', "")
        })
        .collect();
    let expected = [
        "insert parent null {id:1,name:one}",
        "update parent {id:2,name:three} {id:2,name:two}",
        "delete parent {id:2,name:two} null",
        "delete parent {id:1,name:one} null",
    ];
    assert_eq!(said, expected);
    let output = run(&mut flashback("--follow --from-server", &[]));
    assert!(output.code == Some(2) && output.stderr.contains("--follow"), "{output}");
}

/// One transaction with 220 MB of rows.
fn memory_does_not_grow_with_a_transaction(flavour: Flavour) {
    const ROWS: usize = 110_000;
    let server = start_logging(flavour, &["--max-binlog-size=1073741824"]);
    sql(&server, "CREATE DATABASE f; CREATE TABLE f.large (id INT PRIMARY KEY, v VARBINARY(2000))");
    let logs = logged(&server, || {
        let numbers =
            "SELECT a.n + 10 * b.n + 100 * c.n + 1000 * d.n + 10000 * e.n AS n FROM t a, t b, t c, t d, u e";
        let ten = "SELECT 0 n UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5
            UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9";
        sql(
            &server,
            format!(
                "INSERT INTO f.large WITH t AS ({ten}), u AS ({ten} UNION ALL SELECT 10)
                SELECT n, REPEAT(CHAR(65 + n % 26), 2000) FROM ({numbers}) numbers ORDER BY n"
            ),
        );
    });
    assert_eq!(value(&server, "SELECT COUNT(*) FROM f.large"), ROWS.to_string());
    assert!(fs::metadata(&logs[0]).unwrap().len() > 200_000_000);
    let (megabytes, output) = measured(&mut flashback("", &logs));
    let output = output.done().stdout;
    assert_eq!(output.matches("DELETE FROM `f`.`large`").count(), ROWS);
    let first = output.lines().find(|line| line.starts_with("DELETE"));
    assert_eq!(first, Some("DELETE FROM `f`.`large` WHERE `id` = 109999 LIMIT 1;"));
    assert!(megabytes < 60, "{megabytes} MB");
}

/// The most memory that a command held, in MB, and what came of it.
fn measured(command: &mut Command) -> (u64, Output) {
    let (mut running, mut most) = (Running::start(command), 0);
    while !running.has_ended() {
        let status = fs::read_to_string(format!("/proc/{}/status", running.pid())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        most = most.max(kilobytes.unwrap_or(0) / 1000);
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(most > 0);
    (most, running.finish())
}
