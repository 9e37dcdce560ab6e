//! Every way that rows come in keeps the bytes of text, also of text that its own character set calls invalid.

use std::fmt::Write as _;

use drover_sandbox::{Flavour, Server};

use crate::chance::{Chance, rounds};
use crate::client::{Rows, sql, value};
use crate::drover::{copy, dump, restore, run};
use crate::servers::{is_wanted, on_both, source, start, start_unsynced, target};

on_both!(bytes_that_nobody_chose, statements_in_the_log);

/// A character set of both vendors: the most bytes that a character has, its space, and what values are put together from; of the
/// last, the first piece is valid.
struct Set {
    name: &'static str,
    longest: usize,
    space: &'static str,
    pieces: &'static [&'static str],
}

/// `a`, signs that lines and strings escape, é, halves of a surrogate pair, an emoji, bytes that begin or go on with nothing.
const BYTES: &[&str] =
    &["61", "27", "5c", "09", "0a", "00", "c3a9", "eda0bd", "f09f9880", "ff", "80", "8e", "fe5c"];
const PAIRS: &[&str] = &["0061", "d83d", "de00", "0027", "5c5c", "0000", "3030", "0a09"];
const QUADS: &[&str] = &["00000061", "0000d800", "0001f600", "00110000", "30303030", "00000000"];

const fn bytes(name: &'static str, longest: usize) -> Set {
    Set { name, longest, space: "20", pieces: BYTES }
}

const SETS: [Set; 14] = [
    bytes("ascii", 1),
    bytes("latin1", 1),
    bytes("cp1251", 1),
    bytes("utf8mb3", 3),
    bytes("utf8mb4", 4),
    bytes("sjis", 2),
    bytes("gbk", 2),
    bytes("big5", 2),
    bytes("euckr", 2),
    bytes("ujis", 3),
    Set { name: "ucs2", longest: 2, space: "0020", pieces: PAIRS },
    Set { name: "utf16", longest: 4, space: "0020", pieces: PAIRS },
    Set { name: "utf16le", longest: 4, space: "2000", pieces: PAIRS },
    Set { name: "utf32", longest: 4, space: "00000020", pieces: QUADS },
];

/// A value, in hexadecimal digits.
fn some_text(chance: &mut Chance, pieces: &[&str]) -> String {
    (0..chance.below(5)).map(|_| pieces[chance.below(pieces.len())]).collect()
}

/// Statements that make the table `t` with such columns, by way of one that calls text what another one calls bytes.
fn some_table(chance: &mut Chance, flavour: Flavour) -> String {
    let count = 1 + chance.below(5);
    let (mut as_bytes, mut as_text, mut columns) = (String::new(), String::new(), Vec::new());
    for index in 0..count {
        let set = &SETS[chance.below(SETS.len())];
        let octets = 20 * set.longest;
        let (binary, text, is_char, pieces) = match chance.below(3) {
            0 => (format!("BINARY({octets})"), "CHAR(20)", true, set.pieces),
            1 => ("BLOB".into(), "TEXT", false, set.pieces),
            // MySQL takes no others into it.
            _ if flavour == Flavour::MySql => {
                (format!("VARBINARY({octets})"), "VARCHAR(20)", false, &set.pieces[..1])
            }
            _ => (format!("VARBINARY({octets})"), "VARCHAR(20)", false, set.pieces),
        };
        write!(as_bytes, ", c{index} {binary}").unwrap();
        write!(as_text, ", c{index} {text} CHARACTER SET {}", set.name).unwrap();
        columns.push((is_char.then_some((octets, set.space)), pieces));
    }
    let mut rows = String::new();
    for id in 1..=8 {
        write!(rows, "{}({id}", if id > 1 { "," } else { "" }).unwrap();
        for (padding, pieces) in &columns {
            let text = format!("x'{}'", some_text(chance, pieces));
            let value = match padding {
                _ if chance.below(8) == 0 => "NULL".into(),
                Some((octets, space)) => format!("RPAD({text}, {octets}, x'{space}')"),
                None => text,
            };
            write!(rows, ", {value}").unwrap();
        }
        rows.push(')');
    }
    let engine = chance.one_of(&["InnoDB", "InnoDB", "MyISAM"]);
    let (of_enum, members) =
        (&SETS[chance.below(SETS.len())].name, ["'a','b','0'", "'a','00','c'"][chance.below(2)]);
    format!(
        "SET sql_mode = ''; CREATE TABLE bytes (id INT NOT NULL{as_bytes}) ENGINE = MyISAM; INSERT INTO bytes VALUES {rows};
         CREATE TABLE texts (id INT NOT NULL{as_text}) ENGINE = MERGE UNION = (bytes);
         CREATE TABLE t (id INT NOT NULL PRIMARY KEY{as_text}, e ENUM({members}) CHARACTER SET {of_enum}) ENGINE = {engine};
         INSERT IGNORE INTO t SELECT texts.*, id % 4 FROM texts; DROP TABLE texts, bytes"
    )
}

/// All bytes of the table `t`.
fn held(server: &Server, schema: &str) -> Rows {
    let names = format!(
        "SELECT COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = '{schema}' AND TABLE_NAME = 't' \
         AND COLUMN_NAME LIKE 'c%' ORDER BY ORDINAL_POSITION"
    );
    let hex: String = sql(server, names).iter().map(|row| format!(", HEX({})", row[0])).collect();
    sql(server, format!("SELECT id{hex}, e + 0 FROM {schema}.t ORDER BY id"))
}

fn bytes_that_nobody_chose(flavour: Flavour) {
    let source = source(flavour);
    let without_files = start_unsynced(flavour, &["--local-infile=0"]);
    let mut chance = Chance::new(61);
    for round in 0..rounds(4) {
        let (schema, dir) = (format!("bytes_{round}"), tempfile::tempdir().unwrap());
        let table = some_table(&mut chance, flavour);
        sql(source, format!("CREATE DATABASE {schema} CHARACTER SET utf8mb4; USE {schema}; {table}"));
        let expected = held(source, &schema);
        let [lines, statements] = ["", " --format sql"].map(|format| {
            let out = dir.path().join(format!("out{format}").trim());
            run(&mut dump(source, &format!("{schema}{format}"), &out)).done();
            out
        });
        for server in [target(flavour), &without_files] {
            let state = tempfile::tempdir().unwrap();
            let ways = [
                copy(source, server, &schema, &state.path().join("state")),
                restore(server, &lines, ""),
                restore(server, &statements, ""),
            ];
            for mut way in ways {
                run(&mut way).done();
                assert_eq!(held(server, &schema), expected, "{way:?}: {table}");
                sql(server, format!("DROP DATABASE {schema}"));
            }
        }
    }
}

/// What a server that logs statements says of them is no word about the rows: it says it of rows in a table whose AUTO_INCREMENT no key begins
/// with, and of those that are copied into one with AUTO_INCREMENT, as text that is invalid is.
fn statements_in_the_log(flavour: Flavour) {
    let logs = ["--log-bin=bin", "--server-id=7", "--binlog-format=STATEMENT", "--local-infile=0"];
    let (server, dir) = (start(flavour, &logs), tempfile::tempdir().unwrap());
    sql(
        &server,
        "CREATE DATABASE unsafe CHARACTER SET utf8mb4; USE unsafe;
         CREATE TABLE parts (a INT, c INT AUTO_INCREMENT, PRIMARY KEY (a, c)) ENGINE = MyISAM; INSERT INTO parts VALUES (1, 1), (1, 2), (2, 7);
         CREATE TABLE bytes (id INT NOT NULL, v BLOB) ENGINE = MyISAM; INSERT INTO bytes VALUES (1, 'a'), (3, 0x41eda0bdedb080);
         CREATE TABLE texts (id INT NOT NULL, v TEXT CHARACTER SET utf8mb4) ENGINE = MERGE UNION = (bytes);
         CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, v TEXT CHARACTER SET utf8mb4); INSERT INTO t SELECT * FROM texts;
         DROP TABLE texts, bytes",
    );
    run(&mut dump(&server, "unsafe", &dir.path().join("d"))).done();
    run(&mut restore(&server, &dir.path().join("d"), "--into unsafe=back")).done();
    let state = dir.path().join("state");
    run(&mut copy(&server, &server, "unsafe --into unsafe=copied", &state)).done();
    for schema in ["back", "copied"] {
        let parts = format!("SELECT GROUP_CONCAT(a, '-', c ORDER BY a, c) FROM {schema}.parts");
        assert_eq!(value(&server, parts), "1-1,1-2,2-7");
        let texts = format!("SELECT GROUP_CONCAT(id, '=', HEX(v) ORDER BY id) FROM {schema}.t");
        assert_eq!(value(&server, texts), "1=61,3=41EDA0BDEDB080");
    }
}

/// MySQL takes such text into columns of TEXT and CHAR, whether it takes files or not, and says why not into others.
#[test]
fn invalid_text_on_mysql() {
    if ![Flavour::MariaDb, Flavour::MySql].into_iter().all(is_wanted) {
        return;
    }
    let source = source(Flavour::MariaDb);
    sql(
        source,
        "CREATE DATABASE sg CHARACTER SET utf8mb4; USE sg; SET sql_mode = '';
         CREATE TABLE t (id INT PRIMARY KEY, b TEXT CHARACTER SET utf8mb4, c CHAR(9) CHARACTER SET ascii, u CHAR(3) CHARACTER SET utf32);
         INSERT INTO t VALUES (1, 0x41eda0bdedb080, 0x636166c3a9, x'0000d800'), (2, 'é', 'a', 'b'), (3, NULL, '', NULL);
         CREATE DATABASE sg_short; CREATE TABLE sg_short.v (id INT PRIMARY KEY, v VARCHAR(9) CHARACTER SET ascii);
         INSERT INTO sg_short.v VALUES (1, 0x636166c3a9)",
    );
    let bytes = "SELECT id, HEX(b), HEX(c), HEX(u) FROM sg.t ORDER BY id";
    assert_eq!(sql(source, bytes)[0], ["1", "41EDA0BDEDB080", "636166C3A9", "0000D800"]);
    let without_files = start_unsynced(Flavour::MySql, &["--local-infile=0"]);
    for server in [target(Flavour::MySql), &without_files] {
        let dir = tempfile::tempdir().unwrap();
        let output = run(&mut copy(source, server, "sg", &dir.path().join("state")));
        assert!(output.stdout.contains("verified  identical"), "{output}");
        assert_eq!(sql(server, bytes), sql(source, bytes));
        // What MySQL holds it takes again.
        run(&mut dump(server, "sg", &dir.path().join("d"))).done();
        run(&mut restore(server, &dir.path().join("d"), "--drop-existing")).done();
        assert_eq!(sql(server, bytes), sql(source, bytes));
        run(&mut copy(source, server, "sg_short", &dir.path().join("short"))).refused(&[
            "the way around failed",
            "hint: MySQL from 8.0 on takes bytes that are invalid",
            "not into VARCHAR",
        ]);
    }
}
