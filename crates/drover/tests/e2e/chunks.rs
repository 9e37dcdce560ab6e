//! Tables with keys of all kinds, cut into many small pieces by several workers: every row is in exactly one of them.
//!
//! The tables are drawn at random from the seed that is printed when a test fails; DROVER_TEST_SEED repeats one.

use std::fmt::Write as _;
use std::io::Write as _;

use drover_sandbox::{Flavour, Server};

use crate::client::{run_script, sql, value};
use crate::compare;
use crate::drover::{dump, restore, run, verify};
use crate::files::{manifest, table};
use crate::servers::{on_both, source, target};

on_both!(random_keys, awkward_keys);

const TABLES: usize = 40;

/// A generator of numbers that are random enough (Knuth's MMIX).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }

    fn text(&mut self) -> String {
        const LETTERS: [&str; 20] = [
            "a", "A", "b", "B", "é", "E", "ß", "s", "Z", "''", "%", "_", "\\\\", "\"", "`", " ", "0", "9",
            "-", "~",
        ];
        (0..self.below(5)).map(|_| *self.pick(&LETTERS)).collect()
    }
}

/// Says the seed if the test fails.
struct SaidOnFailure(u64);

impl Drop for SaidOnFailure {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let _ = writeln!(std::io::stderr(), "DROVER_TEST_SEED={}", self.0);
        }
    }
}

/// A column's type, and whether a table can be partitioned by its hash.
fn column_type(random: &mut Random, flavour: Flavour) -> (String, bool) {
    let types: &[(&str, bool)] = &[
        ("INT", true),
        ("BIGINT", true),
        ("BIGINT UNSIGNED", true),
        ("SMALLINT(5) UNSIGNED ZEROFILL", true),
        ("YEAR", true),
        ("DECIMAL(20,5)", false),
        ("DOUBLE", false),
        ("FLOAT", false),
        ("DATE", false),
        ("DATETIME(6)", false),
        ("TIMESTAMP(3)", false),
        ("TIME(2)", false),
        ("BIT(20)", false),
        ("BINARY(3)", false),
        ("VARBINARY(5)", false),
        ("ENUM('z','a','M','b','é','it''s')", false),
        ("ENUM('2','10','1')", false),
        ("SET('x','y','z','w')", false),
        ("CHAR(5) CHARACTER SET latin1", false),
        ("CHAR(5) CHARACTER SET latin1 COLLATE latin1_german2_ci", false),
        ("VARCHAR(5) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci", false),
        ("VARCHAR(5) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", false),
        ("VARCHAR(5) CHARACTER SET utf8mb3 COLLATE utf8mb3_unicode_ci", false),
        ("VARCHAR(5) CHARACTER SET ucs2", false),
    ];
    if flavour == Flavour::MariaDb && random.chance(8) {
        return ((*random.pick(&["UUID", "INET6"])).into(), false);
    }
    let (name, hashes) = random.pick(types);
    ((*name).into(), *hashes)
}

/// A value of a type, as SQL. `few` gives one of a few, as skewed keys have.
fn value_of(random: &mut Random, kind: &str, few: bool) -> String {
    let mut number = |limit: usize| random.below(if few { 3.min(limit) } else { limit });
    match kind.split(['(', ' ']).next().unwrap_or(kind) {
        "INT" => format!("{}", number(100_000) as i64 - 50_000),
        "BIGINT" if kind.contains("UNSIGNED") => ["0", "1", "18446744073709551615", "9223372036854775808"]
            .get(number(40))
            .map_or_else(|| format!("{}", (number(1 << 30) as u64) << 34), |&value| value.to_owned()),
        "BIGINT" => ["-9223372036854775808", "9223372036854775807", "-1", "0"].get(number(40)).map_or_else(
            || format!("{}", number(1 << 30) as i64 * 8_000_000_000 - (1 << 62)),
            |&value| value.to_owned(),
        ),
        "SMALLINT" => format!("{}", number(65_536)),
        "YEAR" => format!("{}", 1901 + number(255)),
        "DECIMAL" => format!("{}.{:05}", number(1 << 30) as i64 - (1 << 29), number(100_000)),
        "DOUBLE" => format!("{}e{}", number(1 << 20) as i64 - (1 << 19), number(60) as i64 - 30),
        "FLOAT" => format!("{}e{}", number(1000) as i64 - 500, number(20) as i64 - 10),
        "DATE" => format!("'{:04}-{:02}-{:02}'", 1000 + number(9000), 1 + number(12), 1 + number(28)),
        "DATETIME" | "TIMESTAMP" => format!(
            "'{}-{:02}-{:02} 12:{:02}:{:02}.{:06}'",
            1971 + number(60),
            1 + number(12),
            1 + number(28),
            number(60),
            number(60),
            number(1_000_000)
        ),
        "TIME" => {
            format!("'{}:{:02}:{:02}.{:02}'", number(1600) as i64 - 800, number(60), number(60), number(100))
        }
        "BIT" => format!("{}", number(1 << 20)),
        "BINARY" | "VARBINARY" => format!("X'{:06x}'", number(1 << 24)),
        "ENUM" | "SET" => format!("{}", 1 + number(6)),
        "UUID" => format!("'{:08x}-0000-4000-8000-{:012x}'", number(1 << 30), number(1 << 30)),
        "INET6" => format!("'2001:db8::{:x}:{:x}'", number(65_536), number(65_536)),
        _ if few => format!("'{}'", random.pick(&["é", "E", "x%"])),
        _ => format!("'{}'", random.text()),
    }
}

/// The statements that make and fill a table.
fn table_script(random: &mut Random, flavour: Flavour, name: &str) -> String {
    let columns: Vec<_> = (0..1 + random.below(3)).map(|_| column_type(random, flavour)).collect();
    let mut sql = format!("CREATE TABLE {name} (");
    for (index, (kind, _)) in columns.iter().enumerate() {
        let _infallible = write!(sql, "k{index} {kind} NOT NULL, ");
    }
    let order: Vec<_> = (0..columns.len())
        .rev()
        .map(|index| format!("k{index}{}", if random.chance(3) { " DESC" } else { "" }))
        .collect();
    let unique = *random.pick(&["PRIMARY KEY", "PRIMARY KEY", "UNIQUE KEY u", "KEY plain"]);
    let _infallible = write!(sql, "payload VARCHAR(100), {unique} ({})) ENGINE = InnoDB", order.join(", "));
    let hashed = columns.iter().position(|(_, hashes)| *hashes).filter(|_| random.chance(2));
    if let Some(index) = hashed {
        let way = if columns[index].0.starts_with("YEAR") { "KEY" } else { "HASH" };
        let _infallible = write!(sql, " PARTITION BY {way} (k{index}) PARTITIONS 3");
    }
    let rows = *random.pick(&[0, 1, 60, 400, 400]);
    let few: Vec<_> = columns.iter().map(|_| columns.len() > 1 && random.chance(2)).collect();
    sql.push_str(";\n");
    for _ in 0..rows {
        let values: Vec<_> =
            columns.iter().zip(&few).map(|((kind, _), &few)| value_of(random, kind, few)).collect();
        let payload = "p".repeat(random.below(100));
        let _infallible =
            writeln!(sql, "INSERT IGNORE INTO {name} VALUES ({}, '{payload}');", values.join(", "));
    }
    sql
}

fn random_keys(flavour: Flavour) {
    let seed = std::env::var("DROVER_TEST_SEED").ok().and_then(|text| text.parse().ok());
    let now = || std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos() as u64;
    let seed = seed.unwrap_or_else(now);
    let mut random = Random(seed);
    let _said = SaidOnFailure(seed);
    let schema = "random_keys";
    let mut script =
        format!("SET NAMES utf8mb4; CREATE DATABASE {schema}; USE {schema}; SET autocommit = 0;\n");
    for number in 0..TABLES {
        script.push_str(&table_script(&mut random, flavour, &format!("t{number}")));
    }
    run_script(source(flavour), None, format!("{script}COMMIT;\n").as_bytes()).unwrap();
    let cut = survives(flavour, schema);
    assert!(cut >= TABLES / 10, "only {cut} tables were cut: the test proves little");
    sql(source(flavour), format!("DROP DATABASE {schema}"));
    sql(target(flavour), format!("DROP DATABASE {schema}"));
}

/// Dumps in pieces of a kilobyte and restores; every row must be in one piece and come back. Gives how many tables were cut.
fn survives(flavour: Flavour, schema: &str) -> usize {
    let (server, dir) = (source(flavour), tempfile::tempdir().unwrap());
    run(&mut dump(server, &format!("{schema} --threads 5 --chunk-size 1k"), dir.path())).done();
    let mut cut = 0;
    let names = sql(
        server,
        format!("SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{schema}'"),
    );
    for name in names.iter().map(|row| row[0].as_str()) {
        let files = table(&manifest(dir.path()), schema, name)["files"].as_array().unwrap().clone();
        let rows: u64 = files.iter().map(|file| file["rows"].as_u64().unwrap()).sum();
        assert_eq!(rows.to_string(), count(server, schema, name), "rows of {name}: {files:?}");
        cut += usize::from(files.iter().any(|file| file.get("up_to").is_some()));
    }
    // Each piece is read again between its borders, and holds what it held.
    run(&mut verify(server, dir.path(), "--threads 4")).done();
    run(&mut restore(target(flavour), dir.path(), "--threads 4")).done();
    compare::assert_same(&compare::rows(server, schema), &compare::rows(target(flavour), schema));
    cut
}

fn count(server: &Server, schema: &str, name: &str) -> String {
    value(server, format!("SELECT COUNT(*) FROM {schema}.{name}"))
}

/// Keys of which some values cannot be written as literals: text that its character set calls invalid, an ENUM's error
/// value; and rows larger than the receive buffer, whose keys pass in pieces.
fn awkward_keys(flavour: Flavour) {
    let schema = "awkward_keys";
    let script = format!(
        "SET NAMES utf8mb4; CREATE DATABASE {schema}; USE {schema};
         CREATE TABLE numbers (n INT PRIMARY KEY);
         INSERT INTO numbers WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 200) SELECT n FROM s;
         CREATE TABLE gbk (k VARCHAR(9) CHARACTER SET gbk PRIMARY KEY, v VARCHAR(200));
         INSERT INTO gbk SELECT CONCAT('你', n), REPEAT('v', n) FROM numbers;
         CREATE TABLE error_values (e ENUM('b', 'a') NOT NULL, n INT NOT NULL, v VARCHAR(200), PRIMARY KEY (e, n));
         INSERT IGNORE INTO error_values SELECT ELT(1 + n % 3, 'a', 'b', 'neither'), n, REPEAT('v', n) FROM numbers;
         CREATE TABLE empty_members (e ENUM('b', '', 'a') NOT NULL, n INT NOT NULL, v VARCHAR(200), PRIMARY KEY (e, n));
         INSERT IGNORE INTO empty_members SELECT ELT(1 + n % 4, 'a', 'b', '', 'neither'), n, REPEAT('v', n) FROM numbers;
         CREATE TABLE large_rows (v LONGBLOB, k VARCHAR(20) PRIMARY KEY);
         INSERT INTO large_rows SELECT REPEAT(CHAR(n), 400000), CONCAT('key ', n) FROM numbers WHERE n < 20;
         CREATE TABLE large_by_number (v LONGBLOB, k BIGINT PRIMARY KEY);
         INSERT INTO large_by_number SELECT REPEAT(CHAR(n), 60000 * n), n * n FROM numbers WHERE n < 20"
    );
    run_script(source(flavour), None, script.as_bytes()).unwrap();
    survives(flavour, schema);
}
