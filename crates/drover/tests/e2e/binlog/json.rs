//! JSON in row events of MySQL: its text is what the server shows, its SQL makes the very same document again, and the SQL of
//! what changed makes the same changes.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;

use drover_binlog::event::{Rows, TableMap};
use drover_binlog::json::{Diffs, write_sql, write_text};
use drover_binlog::log::{Kind, Reader, Unpacked};
use drover_binlog::rows::{Field, Row, RowReader, Tables, Value};
use drover_binlog::source::{Counter, Source};
use drover_sandbox::{Flavour, Server};

use crate::client::{run_script, sql};
use crate::servers::{is_wanted, start};

/// Expressions of documents with all that JSON can hold.
const DOCUMENTS: [&str; 34] = [
    "'null'",
    "'true'",
    "'[true, false, null, [], {}, \"\", [[[]]], {\"\": {}}]'",
    "'[0, 1, -1, 32767, 32768, -32768, -32769, 2147483647, 2147483648, -2147483648, -2147483649]'",
    "'[9223372036854775807, -9223372036854775808, 9223372036854775808, 18446744073709551615]'",
    "'18446744073709551616'",
    "CAST(5 AS JSON)",
    "CAST(CAST(5 AS UNSIGNED) AS JSON)",
    "JSON_ARRAY(CAST(0 AS UNSIGNED), CAST(65535 AS UNSIGNED), CAST(65536 AS UNSIGNED), CAST(4294967296 AS UNSIGNED))",
    "'[0.0, -0.0, 0.1, 1.0, 1e300, 1e-300, 1e15, 1e14, 1e-15, 1e-16, 5e-324, 1.7976931348623157e308, 1e-10, 123456.789e3]'",
    "'\"a string\"'",
    r#"'"quotes \\" \\\\ \\/ \\b\\f\\n\\r\\t \\u0000\\u001f\\u007f it''s é 日本 😀 \\ud83d\\ude00"'"#,
    r#"'{"b": 1, "a": 2, "aa": 3, "é": 4, "😀": 5, "it''s": 6, "with \\"quotes\\"": 7, "": 8, "new\\nline": 9}'"#,
    "JSON_ARRAY(1.0, 1.50, -0.05, 0.5, 7., 12345678901234567890123456789012345.123456789012345678901234567890, -99999999999.)",
    "CAST(1.50 AS JSON)",
    "JSON_ARRAY(DATE'2020-02-29', TIME'838:59:59', TIME'-12:34:56.789012', TIME'00:00:00', TIMESTAMP'9999-12-31 23:59:59.999999')",
    "CAST(DATE'1000-01-01' AS JSON)",
    "CAST(TIMESTAMP'2026-11-22 03:15:00' AS JSON)",
    "JSON_OBJECT('x', X'00ff', 'empty', X'', 'long', REPEAT(X'f0', 300))",
    "JSON_ARRAY(REPEAT(X'61', 57), REPEAT(X'61', 58), REPEAT(X'61', 114), REPEAT(X'61', 115))",
    "(SELECT JSON_ARRAY(b, m, l, bi, vb, bt, e, s, w, y, ts, dt, f, d, dc, whole, tx, ch) FROM kinds)",
    "(SELECT JSON_OBJECT('b', b, 'plain', CAST('[1, {\"deep\": [2.5]}]' AS JSON), 'bt', JSON_ARRAY(bt, NULL, TRUE)) FROM kinds)",
    "(SELECT CAST(ts AS JSON) FROM kinds)",
    "(SELECT CAST(bt AS JSON) FROM kinds)",
    "JSON_ARRAY(_utf16'ab', _utf32'xyz', CONVERT('' USING utf16))",
    "ST_AsGeoJSON(ST_GeomFromText('POLYGON((0 0, 10 0.5, 10 10, 0 0))'))",
    "CONCAT(REPEAT('[', 100), REPEAT(']', 100))",
    "CONCAT(REPEAT('{\"a\":', 99), '[1]', REPEAT('}', 99))",
    "CONCAT('[\"', REPEAT('x', 127), '\", \"', REPEAT('y', 128), '\", \"', REPEAT('z', 16384), '\"]')",
    "CONCAT('[\"', REPEAT('é', 40000), '\", 1, -70000, 70000, {\"in\": [1, 70000]}]')",
    "CONCAT('[', REPEAT('1, ', 30000), '70000, true, null, 1.5, \"end\"]')",
    "CONCAT('{\"', REPEAT('k', 65535), '\": 70000, \"a\": [100000, 4294967296]}')",
    "JSON_OBJECT('large', REPEAT('x', 70000), 'uint', CAST(70000 AS UNSIGNED), 'int', 70000, 'date', DATE'2020-01-01')",
    "CONCAT('[', REPEAT('{\"name\": \"some text\", \"value\": 1.25},', 3000), '[]]')",
];

const SETUP: &str = "
    CREATE DATABASE j; USE j; SET NAMES utf8mb4;
    CREATE TABLE kinds (b BLOB, m MEDIUMBLOB, l LONGBLOB, bi BINARY(2), vb VARBINARY(9), bt BIT(13), y YEAR,
        e ENUM('x','y') CHARACTER SET binary, s SET('x','y') CHARACTER SET binary, w ENUM('x','y'),
        ts TIMESTAMP(3) NULL, dt DATETIME(2), f FLOAT, d DOUBLE, dc DECIMAL(31,30), whole DECIMAL(1,0), tx TEXT, ch CHAR(3));
    INSERT INTO kinds VALUES (X'62ff', 'm', 'l', X'ff00', X'00', b'1010101010101', 2020, 'x', 'x,y', 'y',
        '2020-01-01 10:00:00.123', '2020-01-01 10:00:00.12', 0.1, 0.1, -1.5, 7, 't', 'c');
    CREATE TABLE doc (id INT PRIMARY KEY AUTO_INCREMENT, doc JSON, n INT DEFAULT 0);
    CREATE TABLE made (id INT PRIMARY KEY, doc JSON);";

/// What a row event says of a row's document.
enum Logged {
    Document(Vec<u8>),
    Changes(Vec<u8>),
}

/// What came of the documents of a table of two columns or more, of which these are the first: `id` and `doc`.
fn logged(server: &Server, table: &str) -> Vec<(i64, Logged)> {
    let mut found = Vec::new();
    for source in Source::find(&[server.datadir().to_owned()]).unwrap() {
        let mut log = Unpacked::new(
            Reader::new(source.name(), source.open(&Counter::default()).unwrap(), true, None).unwrap(),
        );
        let mut tables = Tables::default();
        while log.step().unwrap() {
            let (event, format) = (log.event(), log.format());
            if event.kind == Kind::TABLE_MAP {
                tables.learn(&TableMap::parse(event.body, format).unwrap(), event.body, format).unwrap();
            } else if event.kind.row_change().is_some() {
                let rows = Rows::parse(event.kind, event.body, format).unwrap();
                let described = tables.get(rows.table).unwrap().unwrap();
                if described.name == table.as_bytes() {
                    read_rows(RowReader::new(described, rows).unwrap(), &mut found);
                }
            }
        }
    }
    found
}

fn read_rows<'a>(mut reader: RowReader<'_, 'a>, into: &mut Vec<(i64, Logged)>) {
    let mut row = Row::default();
    while reader.next(&mut row).unwrap() {
        let Field::Value(Value::Integer(id, _)) = row.after[0] else { panic!("{row:?}") };
        let logged = match row.after[1] {
            Field::Value(Value::Json(document)) => Logged::Document(document.to_vec()),
            Field::JsonDiffs(changes) => Logged::Changes(changes.to_vec()),
            other => panic!("{other:?}"),
        };
        into.push((id, logged));
    }
}

/// The documents that came into a table.
fn documents_in(server: &Server, table: &str) -> Vec<(i64, Vec<u8>)> {
    let document = |(id, logged)| match logged {
        Logged::Document(document) => (id, document),
        Logged::Changes(changes) => panic!("{table} {id}: {changes:x?}"),
    };
    logged(server, table).into_iter().map(document).collect()
}

fn text_of(document: &[u8]) -> String {
    let mut out = Vec::new();
    write_text(document, &mut out).unwrap_or_else(|error| panic!("{error}: {document:x?}"));
    String::from_utf8(out).unwrap()
}

/// The documents' texts, as the server shows them.
fn shown(server: &Server, table: &str) -> BTreeMap<i64, String> {
    let rows = sql(server, format!("SELECT id, doc FROM j.{table}"));
    rows.into_iter().map(|row| (row[0].parse().unwrap(), row[1].clone())).collect()
}

/// Doubles of all sizes, and integers near where one type ends.
fn numbers() -> Vec<String> {
    let mut state = 5_u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state ^ state >> 29
    };
    let mut numbers = Vec::new();
    for index in 0..20_000_u64 {
        let bits = random();
        let number = match index % 4 {
            0 => f64::from_bits(bits),
            1 => (bits >> 11) as f64 / 10_f64.powi((random() % 40) as i32),
            2 => (bits >> (random() % 64)) as f64,
            _ => f64::from((bits >> 40) as u32) / 100.0,
        };
        if number.is_finite() {
            numbers.push(format!("{number:e}"));
        }
    }
    numbers
}

fn fill(server: &Server) {
    let mut script = SETUP.to_owned();
    for document in DOCUMENTS {
        write!(script, "INSERT INTO doc (doc) VALUES ({document});").unwrap();
    }
    for chunk in numbers().chunks(500) {
        let arrays = format!("('[{}]'), (JSON_ARRAY({}))", chunk.join(","), chunk.join(","));
        write!(script, "INSERT INTO doc (doc) VALUES {arrays};").unwrap();
    }
    run_script(server, None, script.as_bytes()).unwrap();
}

#[test]
fn documents() {
    if !is_wanted(Flavour::MySql) {
        return;
    }
    let server = start(Flavour::MySql, &["--max-allowed-packet=64M"]);
    fill(&server);
    let documents = documents_in(&server, "doc");
    let shown = shown(&server, "doc");
    assert_eq!(documents.len(), shown.len());
    for (id, document) in &documents {
        assert_eq!(text_of(document), shown[id], "document {id}");
    }

    let mut script = b"USE j; SET sql_mode = '';".to_vec();
    for (id, document) in &documents {
        write!(script, "INSERT INTO made VALUES ({id}, ").unwrap();
        write_sql(document, &mut script).unwrap();
        script.extend_from_slice(b");\n");
    }
    run_script(&server, None, &script).unwrap();
    let made = documents_in(&server, "made");
    assert_eq!(made.len(), documents.len());
    for ((id, document), (_, made)) in documents.iter().zip(&made) {
        assert!(document == made, "document {id}: {}", text_of(document));
    }
}

/// A document to change.
const CHANGED: &str = r#"{"a": 1, "b": "text", "list": [1, 2, 3], "in": {"x": 1.5}}"#;

/// What statements make of it.
const CHANGES: [&str; 32] = [
    "JSON_SET(doc, '$.a', 5)",
    "JSON_SET(doc, '$.a', 5, '$.n', 'new')",
    "JSON_SET(doc, '$.list[1]', 'a string that is longer', '$.list[99]', NULL)",
    "JSON_SET(doc, '$.list[last]', 1.0, '$.list[99]', 1e0, '$.list[99]', TRUE)",
    "JSON_REMOVE(doc, '$.list[0]')",
    "JSON_REMOVE(doc, '$.list[last]', '$.list[0]', '$.in.x')",
    "JSON_REPLACE(JSON_REMOVE(JSON_SET(doc, '$.a', 7, '$.z', 8), '$.b'), '$.in.x', '2')",
    "JSON_SET(doc, '$.a[1]', 'wrapped')",
    "JSON_SET(doc, '$.a[0]', 'in place of what is no array')",
    "JSON_SET(doc, '$.in', CAST('{\"deep\": [{\"er\": 1.25}]}' AS JSON), '$.in.deep[0].er', 2)",
    "JSON_SET(doc, '$.\"a b\"', 1, '$.\"it''s\"', 2, '$.\"q\\\\\"]\"', 3, '$.é', 4, '$.\"]\"', 5)",
    "JSON_SET(doc, '$.\"日本 😀\"', '日本 😀', '$.\"new\\\\nline\"', 'new\nline')",
    "JSON_SET(doc, '$.a', DATE'2020-02-29', '$.b', TIME'-12:00:00.5', '$.c', TIMESTAMP'2020-01-01 00:00:00')",
    "JSON_SET(doc, '$.a', 1.50, '$.b', 7., '$.c', 1.5e0, '$.d', -0.0e0, '$.e', 1e300)",
    "JSON_SET(doc, '$.a', X'00ff', '$.b', CAST(5 AS UNSIGNED), '$.c', FALSE, '$.d', NULL)",
    "JSON_SET(doc, '$.a', (SELECT bt FROM kinds), '$.b', (SELECT b FROM kinds), '$.c', (SELECT bi FROM kinds))",
    "JSON_SET(doc, '$.a', (SELECT ts FROM kinds), '$.b', (SELECT m FROM kinds), '$.c', (SELECT l FROM kinds))",
    "JSON_SET(doc, '$.a', JSON_OBJECT('d', DATE'2020-02-29', 'n', JSON_ARRAY(1.50, NULL, 'it''s \\\\ é')))",
    "JSON_SET(doc, '$.a', JSON_ARRAY(CAST(18446744073709551615 AS UNSIGNED), -9223372036854775808, CAST('[]' AS JSON)))",
    "JSON_SET(doc, '$.a', 1)",
    "JSON_SET(doc, '$.a', CONVERT('é' USING utf16))",
    "JSON_SET(doc, '$.a', REPEAT('x', 70000))",
    "JSON_SET(doc, '$.a', JSON_OBJECT('large', REPEAT('é', 40000), 'd', 1.0))",
    "JSON_REMOVE(doc, '$.b', '$.list', '$.in', '$.a')",
    "JSON_REMOVE(doc, '$.none')",
    "JSON_REPLACE(doc, '$.none', 1)",
    "JSON_SET(doc, '$', JSON_OBJECT('whole', 1))",
    "JSON_ARRAY_INSERT(doc, '$.list[1]', 'not logged as a change')",
    "JSON_SET(JSON_SET(doc, '$.a', 'x'), '$.a', 'yy', '$.list[0]', CAST('[1, 2]' AS JSON))",
    "JSON_SET(doc, '$.b', 'x', '$.in.x', 2, '$.list[2]', 3, '$.a', 2)",
    "JSON_SET(JSON_REMOVE(doc, '$.list[0]', '$.list[0]', '$.list[0]'), '$.list[last]', 'x')",
    "JSON_SET(doc, '$.list[last-9]', 'x')",
];

/// A document that was changed where it lies has gaps, and values in another order than what points at them.
#[test]
fn documents_that_were_changed() {
    if !is_wanted(Flavour::MySql) {
        return;
    }
    let server = start(Flavour::MySql, &[]);
    let script = SETUP.to_owned() + "SET binlog_row_value_options = '';" + &changing();
    run_script(&server, None, script.as_bytes()).unwrap();
    let shown = shown(&server, "doc");
    let documents: BTreeMap<_, _> = documents_in(&server, "doc").into_iter().collect();
    assert_eq!(documents.len(), CHANGES.len());
    for (id, document) in &documents {
        let text = text_of(document);
        // Of text in UTF-16 the server shows the bytes, which may be no text in UTF-8.
        assert!(text == shown[id] || text.contains("base64:type253:"), "{text}, {}", shown[id]);
    }
}

/// Statements that make all changes, each in a row of its own, of which its place in the list is the `id`.
fn changing() -> String {
    let mut script = String::new();
    for (id, change) in (1..).zip(CHANGES) {
        write!(script, "INSERT INTO doc (id, doc) VALUES ({id}, '{CHANGED}');").unwrap();
        // Twice: the second one finds a document that was changed, often to what it sets.
        for _ in 0..2 {
            write!(script, "UPDATE doc SET n = n + 1, doc = {change} WHERE id = {id};").unwrap();
        }
    }
    script
}

#[test]
fn changes() {
    if !is_wanted(Flavour::MySql) {
        return;
    }
    let server = start(Flavour::MySql, &[]);
    let script = SETUP.to_owned() + "SET binlog_row_value_options = PARTIAL_JSON;" + &changing();
    run_script(&server, None, script.as_bytes()).unwrap();
    let ids: Vec<_> = (1..=CHANGES.len()).map(|id| format!("({id}, '{CHANGED}')")).collect();
    let was = format!("USE j; CREATE TABLE was LIKE doc; INSERT INTO was (id, doc) VALUES {}", ids.join(","));
    run_script(&server, None, was.as_bytes()).unwrap();

    let mut script = b"USE j; SET sql_mode = '';".to_vec();
    let mut lists = 0;
    for (id, logged) in logged(&server, "doc") {
        script.extend_from_slice(b"UPDATE was SET doc = ");
        match logged {
            Logged::Document(document) => write_sql(&document, &mut script).unwrap(),
            Logged::Changes(changes) => {
                Diffs::new(&changes).write_sql(b"`doc`", &mut script).unwrap();
                is_json(&changes);
                lists += 1;
            }
        }
        writeln!(script, " WHERE id = {id};").unwrap();
    }
    assert!(lists > CHANGES.len(), "only {lists} lists of changes");
    run_script(&server, None, &script).unwrap();
    // In an array each is written anew, without the gaps that changes leave.
    let anew = "USE j; INSERT INTO made SELECT id, JSON_ARRAY(doc) FROM was;
        INSERT INTO made SELECT id + 1000, JSON_ARRAY(doc) FROM doc;";
    run_script(&server, None, anew.as_bytes()).unwrap();
    let made: BTreeMap<_, _> = documents_in(&server, "made").into_iter().collect();
    for (id, change) in (1..).zip(CHANGES) {
        let (was, changed) = (&made[&id], &made[&(id + 1000)]);
        assert!(was == changed, "{change}: {}, {}", text_of(was), text_of(changed));
    }
}

/// Checks that the changes are valid JSON, one object each.
fn is_json(changes: &[u8]) {
    let mut out = Vec::new();
    Diffs::new(changes).write_json(&mut out).unwrap();
    let list: Vec<serde_json::Value> = serde_json::from_slice(&out).unwrap();
    assert_eq!(list.len(), Diffs::new(changes).count());
    for (object, change) in list.iter().zip(Diffs::new(changes)) {
        assert_eq!(object["path"], change.unwrap().path);
    }
}
