//! `drover binlog extract` of loads that were logged as rows: files made of the rows fill the same tables.

use std::fs;

use drover_sandbox::Flavour;
use serde_json::Value;
use tempfile::TempDir;

use super::extract::{assert_same, extracted, log_of};
use crate::client::{client, feed, sql};
use crate::drover::{drover, run};
use crate::servers::{on_both, start};

on_both!(rows_become_files, without_the_columns_names);

const FILES: [&str; 3] = ["--secure-file-priv=", "--local-infile=1", "--default-time-zone=+05:30"];

fn options(flavour: Flavour, metadata: &'static str) -> Vec<&'static str> {
    let mut options = [&FILES[..], &["--log-bin", "--binlog-format=ROW", metadata]].concat();
    if flavour == Flavour::MySql {
        options.extend(["--binlog-rows-query-log-events=ON", "--binlog-transaction-compression=ON"]);
    } else {
        options.push("--log-bin-compress");
    }
    options
}

/// A column of each type, and what a load puts into it from its line, which is a number.
fn columns(flavour: Flavour) -> Vec<(&'static str, &'static str)> {
    let mut columns = vec![
        ("TINYINT", "-@n"),
        ("TINYINT UNSIGNED", "255 - @n"),
        ("MEDIUMINT UNSIGNED", "16777215 - @n"),
        ("BIGINT", "-9223372036854775808 + @n"),
        ("BIGINT UNSIGNED", "18446744073709551615 - @n"),
        ("DECIMAL(65,30)", "-1.000000000000000000000000000001 * @n"),
        ("FLOAT", "RAND(@n) * POW(10, @n)"),
        ("DOUBLE", "RAND(@n) * POW(10, 30 - @n)"),
        ("BIT(13)", "@n * 257"),
        ("YEAR", "IF(@n = 1, 0, 1990 + @n)"),
        ("DATE", "'2024-02-29' + INTERVAL @n DAY"),
        ("TIME(3)", "SEC_TO_TIME(-@n * 1000.125)"),
        ("DATETIME(6)", "'2024-02-29 12:00:00.5' + INTERVAL @n MICROSECOND"),
        ("TIMESTAMP(2) NULL", "FROM_UNIXTIME(1700000000.25 + @n)"),
        ("CHAR(9) CHARACTER SET latin1", "CONCAT('gr\u{fc}\u{df}e', @n)"),
        ("VARCHAR(900) CHARACTER SET utf16", "REPEAT('\u{1f600}\\\\a\\t', @n)"),
        (
            "TEXT CHARACTER SET utf8mb4",
            "CONCAT('\\\\N', @n, '\\n\\t\\\\', CHAR(0 USING utf8mb4), '\u{2192}\\r')",
        ),
        ("BINARY(9)", "CHAR(@n, 0, 9, 10, 92, 255, 0 USING binary)"),
        ("VARBINARY(300)", "CONCAT(CHAR(0, 9, 10, 13, 26, 39, 92, 255 USING binary), CAST(@n AS BINARY))"),
        ("BLOB", "IF(@n % 3 = 0, NULL, UNHEX(SHA2(@n, 512)))"),
        ("ENUM('', 'b;\\t', '\u{fc}', '2', '1') CHARACTER SET latin1", "1 + @n % 5"),
        ("SET('a', 'b', '\u{fc}', '8')", "@n % 16"),
        ("POINT", "ST_GeomFromText(CONCAT('POINT(', @n, ' -1.5)'))"),
        ("VARCHAR(9) CHARACTER SET utf8mb4 DEFAULT 'left'", "IF(@n % 2, DEFAULT(c23), '')"),
        ("SET('a', 'b', '\u{fc}') CHARACTER SET utf16", "@n % 8"),
        ("SET('', 'b', 'c', 'd') CHARACTER SET utf32", "@n % 16"),
    ];
    if flavour == Flavour::MySql {
        columns.push((
            "JSON",
            "JSON_OBJECT('n', @n, 'text', '\u{1f600}\\\\\\n\"', 'list', JSON_ARRAY(1.5e0, TRUE, NULL))",
        ));
        columns.push(("JSON", "CAST(IF(@n = 2, 'null', '[]') AS JSON)"));
    } else {
        columns.push(("UUID", "CONCAT('123e4567-e89b-12d3-a456-4266141740', LPAD(@n, 2, '0'))"));
        columns.push(("INET6", "CONCAT('2001:db8::', HEX(@n), ':0')"));
        columns.push(("TEXT COMPRESSED", "REPEAT(@n, 1000)"));
        columns.push(("JSON", "JSON_OBJECT('n', @n, 'text', '\u{1f600}')"));
    }
    columns
}

/// All types, with all that the log may tell of them.
fn rows_become_files(flavour: Flavour) {
    let source = start(flavour, &options(flavour, "--binlog-row-metadata=FULL"));
    let target = start(flavour, &FILES[..2]);
    let columns = columns(flavour);
    let list: Vec<_> = columns.iter().enumerate().map(|(at, (of, _))| format!("c{at} {of}")).collect();
    let sets: Vec<_> = columns.iter().enumerate().map(|(at, (_, set))| format!("c{at} = {set}")).collect();
    let ddl = format!(
        "SET sql_log_bin = 0; CREATE DATABASE r; USE r;
         CREATE TABLE `t;``x` (id INT AUTO_INCREMENT PRIMARY KEY, {}); CREATE TABLE log (n INT);
         CREATE TABLE k (id INT PRIMARY KEY, v VARCHAR(20) NOT NULL); INSERT INTO k VALUES (1, 'old'), (2, 'old');
         CREATE TRIGGER k_in AFTER INSERT ON k FOR EACH ROW INSERT INTO log VALUES (NEW.id)",
        list.join(", ")
    );
    [&source, &target].iter().for_each(|server| drop(sql(server, &ddl)));
    let files = TempDir::new().unwrap();
    let file = files.path().join("numbers");
    fs::write(&file, (1..=30).map(|number| format!("{number}\n")).collect::<String>()).unwrap();
    let file = file.display();
    let replaced = files.path().join("replaced");
    fs::write(&replaced, "2\tnew\n3\tnew\n").unwrap();
    let replaced = replaced.display();
    // No row of another statement is taken for the load's.
    sql(
        &source,
        format!(
            "USE r; SET sql_mode = ''; INSERT INTO log VALUES (0); BEGIN;
             LOAD DATA INFILE '{file}' INTO TABLE `t;``x` CHARACTER SET utf8mb4 (@n) SET {};
             /* nightly */ LOAD DATA INFILE '{replaced}' REPLACE INTO TABLE r.k; INSERT INTO k VALUES (9, 'LOAD DATA'); COMMIT",
            sets.join(", ")
        ),
    );
    let out = TempDir::new().unwrap();
    let loads = extracted(&log_of(&source), out.path(), "");
    let told: Vec<_> = loads
        .iter()
        .map(|load| (load["table"].as_str().unwrap(), load["is_rebuilt"].as_bool(), load["rows"].as_u64()))
        .collect();
    assert_eq!(told, [("t;`x", Some(true), Some(30)), ("k", Some(true), Some(2))], "{loads:#?}");
    // In one payload they have one position: they are numbered.
    let is_numbered = |load: &Value| load["file"].as_str().unwrap().contains("-2-r.");
    assert_eq!((is_numbered(&loads[0]), is_numbered(&loads[1])), (false, flavour == Flavour::MySql));
    for load in &loads {
        assert!(load["file"].as_str().unwrap().ends_with(".rebuilt.data"));
        let statement = fs::read(load["statement_file"].as_str().unwrap()).unwrap();
        let output = feed(client(&target).args(["--local-infile=1", "--show-warnings"]), &statement);
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "", "{}", String::from_utf8_lossy(&statement));
    }
    let rows = |server| {
        let select: Vec<_> = (0..columns.len()).map(|at| format!("HEX(c{at}), c{at} + 0")).collect();
        sql(
            server,
            format!(
                "SET time_zone = '+00:00'; SELECT id, {} FROM r.`t;``x` ORDER BY id",
                shown(&select, &columns)
            ),
        )
    };
    let (expected, found) = (rows(&source), rows(&target));
    for (expected, found) in expected.iter().zip(&found) {
        assert_eq!(expected, found);
    }
    assert_eq!((expected.len(), found.len()), (30, 30));
    sql(&target, "INSERT INTO r.k VALUES (9, 'LOAD DATA')");
    assert_same(&source, &target, "r.k");
}

/// Of types that have no number there is the text only.
fn shown(select: &[String], columns: &[(&str, &str)]) -> String {
    let numeric =
        |of: &str| ["INT", "ENUM", "SET", "BIT", "FLOAT", "DOUBLE"].iter().any(|word| of.contains(word));
    let plain = |of: &str| of.starts_with("JSON") || of.starts_with("POINT");
    let parts = select.iter().zip(columns).enumerate().map(|(at, (part, (of, _)))| match of {
        _ if plain(of) => format!("HEX(CAST(c{at} AS CHAR CHARACTER SET binary))"),
        _ if numeric(of) && !of.starts_with("POINT") => part.clone(),
        _ => format!("HEX(c{at})"),
    });
    parts.collect::<Vec<_>>().join(", ")
}

/// What the log tells by default: no names. A statement without a list of columns does. The tables tell the rest.
fn without_the_columns_names(flavour: Flavour) {
    let off = if flavour == Flavour::MySql { "MINIMAL" } else { "NO_LOG" };
    let source =
        start(flavour, &options(flavour, Box::leak(format!("--binlog-row-metadata={off}").into_boxed_str())));
    let target = start(flavour, &FILES[..2]);
    let ddl = "SET sql_log_bin = 0; CREATE DATABASE r; USE r; CREATE TABLE t (id INT PRIMARY KEY, v TEXT, w BLOB, s SMALLINT,
          e ENUM('\u{fc}', 'b') CHARACTER SET latin1, f SET('\u{fc}', 'b') CHARACTER SET latin1);
        CREATE TABLE u (id INT UNSIGNED PRIMARY KEY, v TEXT)";
    [&source, &target].iter().for_each(|server| drop(sql(server, ddl)));
    let files = TempDir::new().unwrap();
    let file = files.path().join("file");
    fs::write(&file, "1\tgr\u{fc}\u{df}e\t\\0\\\\x\t-5\t\u{fc}\t\u{fc},b\n2\t\\N\ty\t7\tb\tb\n").unwrap();
    let large = files.path().join("large");
    fs::write(&large, "4294967295\tx\n").unwrap();
    sql(
        &source,
        format!(
            "USE r; LOAD DATA INFILE '{}' INTO TABLE t CHARACTER SET utf8mb4; LOAD DATA INFILE '{}' INTO TABLE u",
            file.display(),
            large.display()
        ),
    );
    let log = log_of(&source);
    let out = TempDir::new().unwrap();
    let output = run(drover("binlog extract --json --out").arg(out.path()).arg(&log));
    // MariaDB does not tell which numbers have signs.
    let is_doubtful = flavour == Flavour::MariaDb;
    assert_eq!(output.code, Some(i32::from(is_doubtful)), "{output}");
    let loads = output.json()["loads"].as_array().unwrap().clone();
    let doubtful: Vec<_> = loads.iter().map(|load| load["doubtful_values"].as_u64().unwrap_or(0)).collect();
    assert_eq!(doubtful, if is_doubtful { [1, 1] } else { [0, 0] });
    let loads_again = |load: &Value| {
        let statement = fs::read(load["statement_file"].as_str().unwrap()).unwrap();
        let output = feed(client(&target).args(["--local-infile=1", "--show-warnings"]), &statement);
        assert!(output.status.success() && output.stdout.is_empty(), "{output:?}");
        assert_same(&source, &target, &format!("r.{}", load["table"].as_str().unwrap()));
    };
    loads.iter().take(if is_doubtful { 1 } else { 2 }).for_each(loads_again);
    let again = TempDir::new().unwrap();
    let tables = format!("--columns-of mysql://root@/?socket={}", source.socket().display());
    let loads = extracted(&log, again.path(), &tables);
    assert!(loads.iter().all(|load| load["doubtful_values"].is_null()), "{loads:?}");
    sql(&target, "DELETE FROM r.t; DELETE FROM r.u");
    loads.iter().for_each(loads_again);
}
