//! Literals in expressions of tables, from MySQL to MariaDB, which keeps expressions as text and misreads many of them: whatever the
//! character set and the bytes, both servers compute the same.

use drover_sandbox::{Flavour, Server};

use crate::across::{both, both_with_mariadb_11};
use crate::chance::{Chance, rounds};
use crate::client::{mariadb_dump, sql, try_sql, value};
use crate::drover::{Output, copy, drover_on, restore, run};
use crate::reach::old;
use crate::servers::{is_wanted, start};

/// Character sets that introducers name, with characters that each has.
const SETS: [(&str, &str); 9] = [
    ("utf8mb4", "aé€😀"),
    ("utf8mb3", "aéü€"),
    ("latin1", "aéü€"),
    // Compared with a column in utf8mb3, MariaDB refuses bytes that are none of it.
    ("binary", "aé€"),
    ("cp1251", "aЖя"),
    ("sjis", "aソ表"),
    ("gbk", "a中誠"),
    ("ucs2", "aé✧ħ"),
    ("utf16", "aé😀"),
];

/// What MySQL escapes, what looks like an escape, and what MariaDB writes otherwise.
const ASCII: &str = "'\\\"%_nx0{\u{0}\n\r\t\u{1a} Z";

/// An introducer and a literal of a few characters: as one that MySQL prints, in hexadecimal, and its text in MySQL's own words.
fn literal(source: &Server, chance: &mut Chance) -> String {
    let (set, own) = SETS[chance.below(SETS.len())];
    let all: Vec<char> = own.chars().chain(ASCII.chars()).collect();
    let mut text: String = (0..1 + chance.below(6)).map(|_| all[chance.below(all.len())]).collect();
    if chance.below(12) == 0 {
        text = text.repeat(100);
    }
    let hex: String = text.bytes().map(|byte| format!("{byte:02X}")).collect();
    let hex = value(source, format!("SELECT HEX(CONVERT(_utf8mb4 X'{hex}' USING {set}))"));
    format!("_{set} X'{hex}'")
}

/// A table whose columns, default and constraint each have a literal, within these expressions; the columns' character sets are some other.
fn table(at: usize, literals: &[String; 3], mix: &[&str; 3], chance: &mut Chance) -> String {
    let set = chance.one_of(&["utf8mb4", "utf8mb3", "utf8mb4 COLLATE utf8mb4_bin"]);
    let [generated, default, check] = literals;
    let [virtual_one, stored] = [mix[0], mix[1]].map(|within| within.replace("{}", generated));
    let default = mix[2].replace("{}", default);
    format!(
        "CREATE TABLE t{at} (id INT PRIMARY KEY AUTO_INCREMENT, g VARCHAR(9000) CHARACTER SET utf8mb4 AS (HEX({virtual_one})) VIRTUAL,
           s VARBINARY(4000) AS ({stored}) STORED,
           d VARBINARY(4000) DEFAULT ({default}), c VARCHAR(2000) CHARACTER SET {set}, CHECK (c <> {check}))"
    )
}

/// What both servers must compute alike, and whether each takes the text that its constraint is against.
fn computed(server: &Server, schema: &str, at: usize, check: &str) -> Vec<String> {
    let insert = |values: &str| try_sql(server, &format!("INSERT INTO {schema}.t{at} (c) VALUES ({values})"));
    let other = insert("'other'").map(drop);
    let same = insert(&format!("CONVERT({check} USING utf8mb4)"));
    let rows = sql(server, format!("SELECT g, HEX(s), HEX(d) FROM {schema}.t{at} LIMIT 1"));
    let refused = |result: &Result<_, String>| {
        result.as_ref().err().map(|error| error.contains("4025") || error.contains("3819"))
    };
    vec![format!("{other:?}"), format!("{:?}", refused(&same.map(drop))), format!("{rows:?}")]
}

fn copied(source: &Server, target: &Server) -> Output {
    let dir = tempfile::tempdir().unwrap();
    run(&mut copy(source, target, "l", dir.path()))
}

/// By what another tool dumped.
fn restored(source: &Server, target: &Server) -> Output {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("l.sql");
    mariadb_dump(source, "l", &file);
    run(&mut restore(target, &file, ""))
}

/// By the statements of the log.
fn replayed(source: &Server, target: &Server) -> Output {
    let log = source.datadir().join(&sql(source, "SHOW BINARY LOGS").last().unwrap()[0]);
    run(drover_on(target, "binlog replay --restart --start-position 4 --database l").arg(&log))
}

/// Tables of random literals on the source, and these.
fn tables(source: &Server, which: u64, mix: &[&str; 3]) -> Vec<[String; 3]> {
    let mut chance = Chance::new(which);
    sql(source, "CREATE DATABASE l CHARACTER SET utf8mb4");
    let mut made = Vec::new();
    while made.len() < rounds(40) as usize {
        let literals = [0; 3].map(|_| literal(source, &mut chance));
        let table = table(made.len(), &literals, mix, &mut chance);
        match try_sql(source, &format!("USE l; {table}")) {
            Ok(_) => made.push(literals),
            // A constraint with a character that its column's character set does not have.
            Err(error) => {
                assert!(error.contains("ERROR 3854") || error.contains("ERROR 1267"), "{table}: {error}")
            }
        }
    }
    made
}

fn storm(source: &Server, target: &Server, which: u64, over: fn(&Server, &Server) -> Output) {
    let made = tables(source, which, &["CONCAT('', {})", "CONCAT({}, '!')", "CONCAT({}, '?')"]);
    over(source, target).done();
    // Definitions that are in a cache are those that were given, not those that are kept.
    sql(target, "FLUSH TABLES");
    for (at, [.., check]) in made.iter().enumerate() {
        let [there, here] = [source, target].map(|server| computed(server, "l", at, check));
        let [was, is] = [source, target].map(|server| sql(server, format!("SHOW CREATE TABLE l.t{at}")));
        assert_eq!(here, there, "{check}: {was:?} {is:?}");
    }
}

/// A statement of a log has the meaning that the target gives it: what it would be if it were computed at once. Of mixtures of character sets it
/// makes others than the source.
fn storm_of_logs(source: &Server, target: &Server, which: u64) {
    let made = tables(source, which, &["{}"; 3]);
    replayed(source, target).done();
    sql(target, "FLUSH TABLES");
    for (at, [generated, default, check]) in made.iter().enumerate() {
        let meant = format!("SELECT HEX({generated}), HEX({generated}), HEX({default})");
        let insert = |text: &str| try_sql(target, &format!("INSERT INTO l.t{at} (c) VALUES ({text})"));
        insert("'other'").unwrap();
        let kept = sql(target, format!("SELECT g, HEX(s), HEX(d) FROM l.t{at}"));
        assert_eq!(
            kept,
            sql(target, &meant),
            "{meant}: {:?}",
            sql(target, format!("SHOW CREATE TABLE l.t{at}"))
        );
        let same = insert(&format!("CONVERT({check} USING utf8mb4)"));
        assert!(same.unwrap_err().contains("4025"), "{check}");
    }
}

#[test]
fn any_literal_to_mariadb_10_11() {
    let Some([target, source]) = both() else { return };
    storm(&source, &target, 0, copied);
}

#[test]
fn any_literal_to_mariadb_11() {
    let Some([target, source]) = both_with_mariadb_11() else { return };
    storm(&source, &target, 1, copied);
}

#[test]
fn any_literal_to_mariadb_10_5() {
    if [Flavour::MariaDb, Flavour::MySql].into_iter().all(is_wanted) {
        storm(&start(Flavour::MySql, &[]), &old("mariadb-10.5", Flavour::MariaDb), 2, copied);
    }
}

#[test]
fn in_scripts_of_other_tools() {
    let Some([target, source]) = both_with_mariadb_11() else { return };
    storm(&source, &target, 3, restored);
}

#[test]
fn in_logs() {
    let Some([target, source]) = both_with_mariadb_11() else { return };
    storm_of_logs(&source, &target, 5);
    sql(&source, "DROP DATABASE l; FLUSH LOGS");
    storm_of_logs(&source, &old("mariadb-10.5", Flavour::MariaDb), 6);
}

/// As people write them, in a session whose character set is another one.
#[test]
fn in_logs_of_other_sessions() {
    let Some([target, source]) = both_with_mariadb_11() else { return };
    for names in ["utf8mb4", "latin1", "sjis"] {
        sql(
            &source,
            format!(
                "FLUSH LOGS; CREATE DATABASE l CHARACTER SET utf8mb4; USE l; SET NAMES {names};
                 CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(99) AS (HEX(CONCAT(_utf8mb3'its\\t', '\\n', id))),
                   b VARCHAR(99) AS (HEX(_latin1'é\\t')) STORED, CHECK (id <> CHAR_LENGTH(_binary'\\0\\%')));
                 ALTER TABLE t ADD c VARCHAR(99) AS (HEX(CONCAT(_utf8mb4'é', id)))"
            ),
        );
        replayed(&source, &target).done();
        sql(&target, "FLUSH TABLES");
        let taken = |server: &Server| {
            [1, 2, 3, 4].map(|id| try_sql(server, &format!("INSERT INTO l.t (id) VALUES ({id})")).is_ok())
        };
        assert_eq!(taken(&target), taken(&source), "{names}");
        let rows = "SELECT id, a, b, c FROM l.t ORDER BY id";
        assert_eq!(sql(&target, rows), sql(&source, rows), "{names}");
        for server in [&source, &target] {
            sql(server, "DROP DATABASE l");
        }
    }
}

/// What people write who never heard of introducers: MySQL prints them for who had SET NAMES utf8, and for tables in utf8mb3.
#[test]
fn nobody_names_a_character_set() {
    let Some([target, source]) = both_with_mariadb_11() else { return };
    sql(
        &source,
        "CREATE DATABASE l CHARACTER SET utf8mb4; USE l; SET NAMES utf8mb3;
         CREATE TABLE t (id INT PRIMARY KEY, w VARCHAR(10), CHECK (w <> 'ü'), CHECK (w <> 'it\\'s' COLLATE utf8mb3_bin));
         CREATE TABLE old (id INT PRIMARY KEY, w VARCHAR(10), v VARCHAR(30) AS (CONCAT(w, 'é')) VIRTUAL) CHARACTER SET utf8mb3;
         INSERT INTO old (id, w) VALUES (1, 'a')",
    );
    copied(&source, &target).done();
    sql(&target, "FLUSH TABLES");
    assert_eq!(value(&target, "SELECT HEX(v) FROM l.old"), "61C3A9");
    for (text, is_taken) in [("'ü'", false), ("'it\\'s'", false), ("'IT\\'S'", true)] {
        let insert = format!("SET NAMES utf8mb4; INSERT INTO l.t VALUES (1, {text})");
        assert_eq!(try_sql(&target, &insert).is_ok(), is_taken, "{text}");
    }
}

/// MariaDB 10.5 keeps literals in utf8mb3, also those that 11.8 keeps as they are.
#[test]
fn four_bytes_to_an_older_mariadb() {
    if !is_wanted(Flavour::MariaDb) {
        return;
    }
    let (source, target) = (crate::servers::start_mariadb_11(&[]), old("mariadb-10.5", Flavour::MariaDb));
    sql(
        &source,
        "CREATE DATABASE l CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci; USE l;
         CREATE TABLE t (id INT PRIMARY KEY, w VARCHAR(10) COMMENT 'x', v VARCHAR(30) AS (CONCAT(w, '😀')) VIRTUAL,
           d VARCHAR(30) DEFAULT CONCAT('😀', 1), e VARCHAR(9) DEFAULT '😀', n ENUM('😀', 'a'), CHECK (w <> '😀'))",
    );
    copied(&source, &target);
    sql(&target, "FLUSH TABLES");
    sql(&target, "INSERT INTO l.t (id, w, n) VALUES (1, 'a', 1)");
    assert_eq!(
        sql(&target, "SELECT HEX(v), HEX(d), HEX(e), HEX(n) FROM l.t"),
        [["61F09F9880", "F09F988031", "F09F9880", "F09F9880"]]
    );
    assert!(try_sql(&target, "INSERT INTO l.t (id, w) VALUES (2, '😀')").is_err());
}

/// MySQL keeps no character set of CHAR(), which is what they are written as for MariaDB: they come back as literals.
#[test]
fn there_and_back() {
    let Some([mariadb, mysql]) = both() else { return };
    let made = tables(&mysql, 5, &["CONCAT('', {})", "CONCAT({}, '!')", "CONCAT({}, '?')"]);
    copied(&mysql, &mariadb).done();
    let dir = tempfile::tempdir().unwrap();
    let back = run(&mut copy(&mariadb, &mysql, "l --into l=back", dir.path()));
    assert!(back.code.is_some_and(|code| code < 2), "{back}");
    for (at, literals) in made.iter().enumerate() {
        let of = |schema| computed(&mysql, schema, at, &literals[2]);
        assert_eq!(of("back"), of("l"), "table {at}: {literals:?}");
    }
    sql(&mysql, "DROP DATABASE l; DROP DATABASE back");
    sql(&mariadb, "DROP DATABASE l");
}
