//! CSV as another program reads it: Python's csv module, and line by line where that cannot tell NULL from an empty text.

use std::fs;
use std::path::Path;
use std::process::Command;

use drover_sandbox::{Flavour, Server};

use crate::client::{run_script, sql};
use crate::drover::{dump, restore, run, verify};
use crate::files::manifest;
use crate::servers::{is_wanted, on_both, source, target};

on_both!(awkward_values, many_rows, definitions_and_masks, restore_is_refused);

/// The records of a file, without the header; each field in hexadecimal.
fn read_by_python(file: &Path) -> Vec<Vec<String>> {
    const PROGRAM: &str = "import csv, sys\n\
        with open(sys.argv[1], newline='', encoding='utf-8') as file:\n\
        \u{20}   for record in csv.reader(file, strict=True):\n\
        \u{20}       print('|'.join(field.encode().hex() for field in record))\n";
    let output = Command::new("python3")
        .args(["-c", PROGRAM])
        .arg(file)
        .output()
        .expect("the program python3 is needed");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().skip(1).map(|line| line.split('|').map(str::to_owned).collect()).collect()
}

/// What the server says that the columns hold, in hexadecimal.
fn told_by_server(server: &Server, table: &str, columns: &[(&str, &str)]) -> Vec<Vec<String>> {
    let shown: Vec<_> = columns
        .iter()
        .map(|(_, shown)| format!("LOWER(HEX(COALESCE(CONVERT({shown} USING utf8mb4), '')))"))
        .collect();
    sql(server, format!("SET time_zone = '+00:00'; SELECT {} FROM {table} ORDER BY id", shown.join(", ")))
}

/// Columns, and how the server shows their values as CSV is to have them.
fn columns(flavour: Flavour) -> Vec<(&'static str, &'static str)> {
    let mut columns = vec![
        ("id INT PRIMARY KEY", "id"),
        ("l VARCHAR(20) CHARACTER SET latin1", "l"),
        ("u TEXT CHARACTER SET utf8mb4", "u"),
        ("s VARCHAR(10) CHARACTER SET sjis", "s"),
        ("w VARCHAR(10) CHARACTER SET utf16", "w"),
        ("b VARBINARY(20)", "CONCAT('0x', LOWER(HEX(b)))"),
        ("bits BIT(9)", "bits + 0"),
        ("n DECIMAL(20,10)", "n"),
        ("d DOUBLE", "d"),
        ("big BIGINT UNSIGNED", "big"),
        ("e ENUM('a','it''s','é') CHARACTER SET latin1", "e"),
        ("t SET('x','y') CHARACTER SET utf8mb4", "t"),
        ("z DATE", "z"),
        ("at TIMESTAMP(3) NULL", "at"),
        ("j JSON", "j"),
        (
            "g GEOMETRY",
            "LOWER(HEX(IF(ST_SRID(g) = 0, SUBSTR(CAST(g AS BINARY), 5), \
          CONCAT(SUBSTR(CAST(g AS BINARY), 5, 4), x'20', SUBSTR(CAST(g AS BINARY), 1, 4), SUBSTR(CAST(g AS BINARY), 10)))))",
        ),
        ("twice INT AS (id * 2) VIRTUAL", "twice"),
    ];
    if flavour == Flavour::MariaDb {
        columns.push(("i INET6", "i"));
    }
    columns
}

fn awkward_values(flavour: Flavour) {
    let (server, schema, dir) = (source(flavour), "csv_awkward", tempfile::tempdir().unwrap());
    let columns = columns(flavour);
    let definitions: Vec<_> = columns.iter().map(|(definition, _)| *definition).collect();
    let script = format!(
        r#"CREATE DATABASE {schema}; USE {schema}; SET sql_mode = 'ALLOW_INVALID_DATES', time_zone = '+03:00';
        CREATE TABLE t ({});
        INSERT INTO t (id, l, u, s, w, b, bits, n, d, big, e, t, z, at, j, g) VALUES
          (1, 'é"ü"', 'quote " comma , 日本 😀', '表', 'é😀', 0x00FF22, b'100000001', -1.5, 0.1, 18446744073709551615, 'it''s', 'x,y',
            '0000-00-00', '2024-02-29 01:02:03.456', '{{"a": [1, "b\\"c"]}}', ST_GeomFromText('POINT(1 0.1)', 4326)),
          (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
          (3, '', '', '', '', '', 0, 0, -1e300, 0, 'é', '', '2023-02-31', '1970-01-01 03:00:01', '[]', ST_GeomFromText('LINESTRING(0 0,1 1)')),
          (4, '\\N', 'line\nfeed\r\nand\ttab \\ back', 'ソ\\', ' spaces ', '\t\n\\', 1, 1, 1, 1, 'a', 'x', '2024-01-01', NULL, 'null',
            ST_GeomFromText('GEOMETRYCOLLECTION(POINT(1 2),LINESTRING(0 0,1 1))', 4326));"#,
        definitions.join(", ")
    );
    run_script(server, None, script.as_bytes()).unwrap();
    let said = run(&mut dump(server, &format!("{schema} --format csv"), dir.path())).done();
    assert!(!said.stderr.contains("warning"), "{said}");
    let file = dir.path().join(format!("{schema}/t.csv"));
    assert_eq!(read_by_python(&file), told_by_server(server, &format!("{schema}.t"), &columns));
    let text = fs::read_to_string(&file).unwrap();
    let header = text.lines().next().unwrap();
    assert!(header.starts_with("id,l,u,s,w,b,bits,n,d,big,e,t,z,at,j,g,twice"), "{header}");
    let ends = if flavour == Flavour::MariaDb { ",4,\n" } else { ",4\n" };
    assert!(text.contains(&format!("\n2{}{ends}", ",".repeat(15))), "NULL is nothing at all: {text}");
    assert!(text.contains("\n3,\"\",\"\",\"\",\"\",0x,0,0.0000000000,"), "an empty text has quotes: {text}");
    assert_eq!(manifest(dir.path())["row_format"], "csv");
    run(&mut verify(server, dir.path(), "--source")).done();
    sql(server, format!("UPDATE {schema}.t SET l = 'other' WHERE id = 1"));
    run(&mut verify(server, dir.path(), "--source")).found(&["`csv_awkward`.`t`"]);
    sql(server, format!("DROP DATABASE {schema}"));
}

/// Rows of many packets, in several statements, compressed, and in the order of the key.
fn many_rows(flavour: Flavour) {
    let (server, schema, dir) = (source(flavour), "csv_many", tempfile::tempdir().unwrap());
    let script = format!(
        "CREATE DATABASE {schema}; USE {schema};
         CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(200)) PARTITION BY HASH (id) PARTITIONS 3;
         INSERT INTO t WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 1000)
           SELECT n, CONCAT(SHA2(n, 512), '\"') FROM s;
         INSERT INTO t SELECT id + 1000, v FROM t; INSERT INTO t SELECT id + 2000, v FROM t;
         CREATE TABLE large (id INT PRIMARY KEY, b LONGBLOB, u LONGTEXT);
         INSERT INTO large VALUES (1, REPEAT('\\\\\"', 4000000), REPEAT('é\"', 3000000)), (2, NULL, '')"
    );
    run_script(server, None, script.as_bytes()).unwrap();
    run(&mut dump(server, &format!("{schema} --format csv --compress gzip:1"), dir.path())).done();
    let unpacked = |name: &str| {
        let file = dir.path().join(format!("{schema}/{name}.csv"));
        let packed = file.with_extension("csv.gz");
        assert!(
            Command::new("gzip").args(["--decompress", "--keep"]).arg(&packed).status().unwrap().success()
        );
        file
    };
    let found = read_by_python(&unpacked("t"));
    assert_eq!(found, told_by_server(server, &format!("{schema}.t"), &[("", "id"), ("", "v")]));
    assert_eq!(found.len(), 4000);
    let large = fs::read_to_string(unpacked("large")).unwrap();
    let expected =
        format!("id,b,u\n1,0x{},\"{}\"\n2,,\"\"\n", "5c22".repeat(4_000_000), "é\"\"".repeat(3_000_000));
    assert!(large == expected, "the large row differs");
    sql(server, format!("DROP DATABASE {schema}"));
}

fn definitions_and_masks(flavour: Flavour) {
    let (server, target, schema) = (source(flavour), target(flavour), "csv_masked");
    let script = format!(
        "CREATE DATABASE {schema} CHARACTER SET utf8mb4; USE {schema};
         CREATE TABLE t (id INT PRIMARY KEY, l VARCHAR(40) CHARACTER SET latin1, k VARCHAR(40) CHARACTER SET latin1,
           upper VARCHAR(40) AS (UPPER(l)) VIRTUAL);
         INSERT INTO t (id, l, k) VALUES (1, 'geheim é', 'é')"
    );
    run_script(server, None, script.as_bytes()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    run(&mut dump(server, &format!("{schema} --format csv --no-data"), dir.path())).done();
    let script = fs::read(dir.path().join(format!("{schema}/t.sql"))).unwrap();
    sql(target, format!("CREATE DATABASE {schema} CHARACTER SET utf8mb4"));
    run_script(target, None, &script).unwrap();
    sql(target, format!("DROP DATABASE {schema}"));

    let rules = dir.path().join("rules.toml");
    fs::write(&rules, "[[rule]]\ntable = \"t\"\ncolumn = \"l\"\nmask = { fixed = \"masked\" }\n").unwrap();
    let masked = tempfile::tempdir().unwrap();
    let mut command = dump(server, &format!("{schema} --format csv --no-schema"), masked.path());
    let said = run(command.arg("--mask").arg(&rules)).done();
    assert!(said.stderr.contains("`upper` is left out"), "{said}");
    let text = fs::read_to_string(masked.path().join(format!("{schema}/t.csv"))).unwrap();
    assert_eq!(text, "id,l,k\n1,\"masked\",\"é\"\n");
    sql(server, format!("DROP DATABASE {schema}"));
}

fn restore_is_refused(flavour: Flavour) {
    let (server, schema, dir) = (source(flavour), "csv_restored", tempfile::tempdir().unwrap());
    sql(server, format!("CREATE DATABASE {schema}; CREATE TABLE {schema}.t (id INT PRIMARY KEY)"));
    run(&mut dump(server, &format!("{schema} --format csv"), dir.path())).done();
    let output = run(&mut restore(target(flavour), dir.path(), "")).refused(&["CSV", "are not restored"]);
    assert!(output.stderr.contains("hint: dump with --format tsv or sql"), "{output}");
    sql(server, format!("DROP DATABASE {schema}"));
}

/// Text that has no place in UTF-8 is told, with its column and how often.
#[test]
fn text_that_is_lost_is_told() {
    if !is_wanted(Flavour::MariaDb) {
        return;
    }
    let (server, dir) = (source(Flavour::MariaDb), tempfile::tempdir().unwrap());
    let script = "CREATE DATABASE csv_lost CHARACTER SET utf8mb4; USE csv_lost;
        CREATE TABLE t (id INT PRIMARY KEY, c VARCHAR(9) CHARACTER SET cp1250, u VARCHAR(9) CHARACTER SET utf8mb4,
          g VARCHAR(9) CHARACTER SET gbk, l VARCHAR(9) CHARACTER SET latin1);
        INSERT INTO t VALUES (1, x'81', _utf8mb4 x'EDA080', _gbk x'FEFE', x'81'), (2, '?', '?', '?', '?'), (3, 'ž', 'é', '中', 'é'),
          (4, NULL, NULL, NULL, NULL);";
    run_script(server, None, script.as_bytes()).unwrap();
    let said = run(&mut dump(server, "csv_lost --format csv", dir.path())).done();
    for column in ["c", "u", "g"] {
        let expected = format!("warning: table `csv_lost`.`t`: 1 values of column `{column}`");
        assert!(said.stderr.contains(&expected), "{said}");
    }
    assert!(!said.stderr.contains("column `l`"), "{said}");
    let text = fs::read_to_string(dir.path().join("csv_lost/t.csv")).unwrap();
    assert!(text.contains("\n2,\"?\",\"?\",\"?\",\"?\"\n3,\"ž\",\"é\",\"中\",\"é\"\n4,,,,\n"), "{text}");
    sql(server, "DROP DATABASE csv_lost");
}
