//! Rows that are hard to send on while they come.

use drover_sandbox::Flavour;

use super::{assert_finished, assert_same, assert_same_rows, make, recursion};
use crate::client::{sql, value};
use crate::drover::{copy, dump, restore, run, verify};
use crate::servers::{on_both, source, target};

on_both!(
    many_chunks,
    large_rows,
    invalid_text,
    documents_that_text_does_not_tell,
    computed_values_that_warn,
    one_table_and_all_workers,
    keys_that_numbers_need
);

fn many_chunks(flavour: Flavour) {
    let (source, target, dir) = (source(flavour), target(flavour), tempfile::tempdir().unwrap());
    make(source, "cp_chunks", 20_000);
    let output = run(&mut copy(source, target, "cp_chunks --chunk-size 64k --threads 4", dir.path())).done();
    assert!(output.stdout.contains("verified  identical"), "{output}");
    assert_same(source, target, "cp_chunks");
    assert_finished(dir.path());
    run(&mut verify(target, dir.path(), "")).done();
    run(&mut verify(source, dir.path(), "--source")).done();
    sql(target, "UPDATE cp_chunks.keyless SET v = 'x' LIMIT 1");
    run(&mut verify(target, dir.path(), "")).found(&["`cp_chunks`.`keyless`"]);
}

/// Larger than the receive buffer, than a packet, and than a chunk.
fn large_rows(flavour: Flavour) {
    let (source, target, dir) = (source(flavour), target(flavour), tempfile::tempdir().unwrap());
    sql(
        source,
        "CREATE DATABASE cp_large; USE cp_large; CREATE TABLE t (id INT PRIMARY KEY, b LONGBLOB, c LONGTEXT);
         INSERT INTO t VALUES (1, REPEAT('\\\\\\0\\n\\t', 1500000), 'a'), (2, NULL, REPEAT('é', 1000000)),
           (3, REPEAT('x', 3000000), NULL), (4, '', ''), (5, REPEAT('y', 200000), 'b');
         CREATE TABLE u (b LONGBLOB); INSERT INTO u SELECT b FROM t",
    );
    run(&mut copy(source, target, "cp_large --chunk-size 1M", dir.path())).done();
    assert_same(source, target, "cp_large");
}

/// A DATE in a document of MySQL has the text of a string, and is one when that is loaded: each such document is counted, whatever the size
/// of its row. MariaDB's documents are text.
fn documents_that_text_does_not_tell(flavour: Flavour) {
    let (source, target, dir) = (source(flavour), target(flavour), tempfile::tempdir().unwrap());
    let plain = "CREATE DATABASE cp_untold; USE cp_untold; CREATE TABLE keyed (id INT PRIMARY KEY AUTO_INCREMENT, j JSON, k JSON);
         INSERT INTO keyed (j, k) VALUES ('[\"2020-01-02\", \"10:00:00.000000\", 1.1, 3.0, 18446744073709551615, null]', NULL),
           ('\"base64:type15:BQ==\"', '{\"b\": 1, \"a\": {}}')";
    sql(source, plain);
    let typed = "USE cp_untold; INSERT INTO keyed (j, k) VALUES (JSON_ARRAY(1.10), JSON_ARRAY(DATE'2020-01-02')), (JSON_ARRAY(TIME'10:00:00'), NULL),
           (JSON_ARRAY('a', JSON_OBJECT('at', TIMESTAMP'2020-01-02 10:00:00')), 'null'), (JSON_ARRAY(b'101'), JSON_ARRAY(_binary'abc')),
           (JSON_ARRAY(CAST('12345678901234567890.12' AS DECIMAL(30,2))), NULL), (CAST(DATE'2020-01-02' AS JSON), '[]'),
           (JSON_ARRAY(REPEAT('x', 1500000), DATE'2020-01-02'), JSON_ARRAY(REPEAT('y', 1500000)));
         CREATE TABLE keyless (j JSON); INSERT INTO keyless SELECT j FROM keyed";
    let lost = |flavour| {
        if flavour == Flavour::MySql {
            [("keyed", "j", 6), ("keyed", "k", 2), ("keyless", "j", 6)].as_slice()
        } else {
            &[]
        }
    };
    if flavour == Flavour::MySql {
        sql(source, typed);
    }
    let copied = run(&mut copy(source, target, "cp_untold --chunk-size 64k", dir.path()));
    let out = dir.path().join("dump");
    let dumped = run(&mut dump(source, "cp_untold --chunk-size 64k", &out)).done();
    let restored = run(&mut restore(target, &out, "--into cp_untold=cp_untold_back"));
    let checked = run(&mut restore(target, &out, "--into cp_untold=cp_untold_more --check"));
    for output in [&copied, &restored, &checked] {
        assert_eq!(output.code, Some(i32::from(flavour == Flavour::MySql)), "{output}");
    }
    for (table, column, count) in lost(flavour) {
        let expected = format!("table `cp_untold`.`{table}`: {count} documents of column `{column}`");
        assert!(dumped.stderr.contains(&expected), "{expected}: {dumped}");
        for output in [&copied, &restored, &checked] {
            let expected = format!("JSON in `{column}` (documents: {count})");
            assert!(output.to_string().contains(&expected), "{expected}: {output}");
        }
    }
    assert_eq!(dumped.stderr.matches("text does not tell").count(), lost(flavour).len(), "{dumped}");
}

/// A server warns of a generated column, too, whose expression cuts a value: as it did where the row was written.
fn computed_values_that_warn(flavour: Flavour) {
    let (source, target, dir) = (source(flavour), target(flavour), tempfile::tempdir().unwrap());
    sql(
        source,
        "SET sql_mode = ''; CREATE DATABASE cp_warns; USE cp_warns;
         CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20), n INT AS (CAST(v AS SIGNED)) VIRTUAL, s DOUBLE AS (v + 0) STORED, KEY (n));
         INSERT INTO t (id, v) VALUES (1, '12abc'), (2, ''), (3, '7'), (4, NULL)",
    );
    run(&mut copy(source, target, "cp_warns", dir.path())).done();
    let out = dir.path().join("dump");
    run(&mut dump(source, "cp_warns", &out)).done();
    for options in ["--into cp_warns=cp_warns_back", "--into cp_warns=cp_warns_more --threads 1 --no-verify"]
    {
        run(&mut restore(target, &out, options)).done();
    }
    let rows = |schema: &str| {
        format!("SELECT GROUP_CONCAT(CONCAT_WS(',', id, v, n, s) ORDER BY id SEPARATOR ';') FROM {schema}.t")
    };
    for schema in ["cp_warns", "cp_warns_back", "cp_warns_more"] {
        assert_eq!(value(target, rows(schema)), value(source, rows("cp_warns")));
    }
}

/// A chunk that is refused for its text comes again: that of a table with a key from where it began, and of one without, which
/// had chunks committed before, all. MySQL checks text on every way in.
fn invalid_text(flavour: Flavour) {
    if flavour == Flavour::MySql {
        return;
    }
    let (source, target, dir) = (source(flavour), target(flavour), tempfile::tempdir().unwrap());
    let deep = recursion(source);
    sql(
        source,
        format!(
            "SET SESSION {deep} = 10000000; CREATE DATABASE cp_invalid; USE cp_invalid; SET sql_mode = '';
             CREATE TABLE bytes (id INT PRIMARY KEY, v VARBINARY(900)) ENGINE = MyISAM;
             INSERT INTO bytes WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 6000)
               SELECT n, SHA2(n, 512) FROM s;
             UPDATE bytes SET v = CONCAT('a', X'FF', 'b') WHERE id IN (4000, 5999);
             CREATE TABLE texts (id INT PRIMARY KEY, v VARCHAR(300) CHARACTER SET utf8mb3) ENGINE = MERGE UNION = (bytes);
             CREATE TABLE keyed (id INT PRIMARY KEY, v VARCHAR(300) CHARACTER SET utf8mb3); INSERT INTO keyed SELECT * FROM texts;
             CREATE TABLE keyless (id INT, v VARCHAR(300) CHARACTER SET utf8mb3); INSERT INTO keyless SELECT * FROM texts;
             DROP TABLE texts, bytes"
        ),
    );
    assert_eq!(value(source, "SELECT HEX(v) FROM cp_invalid.keyless WHERE id = 4000"), "61FF62");
    let output =
        run(copy(source, target, "cp_invalid --chunk-size 64k --threads 3", dir.path()).arg("--json"));
    let json = output.done().json();
    assert!(json["sent_again"].as_u64().unwrap() >= 2, "{json}");
    assert_eq!(json["verify"]["differences"].as_array().map(Vec::len), Some(0));
    assert_same(source, target, "cp_invalid");
}

/// Also when several workers load into one table, nothing is twice and nothing lost; on MariaDB the first chunk locks it.
fn one_table_and_all_workers(flavour: Flavour) {
    let (source, target, dir) =
        (crate::big::big_source(flavour), target(flavour), tempfile::tempdir().unwrap());
    let line = "big --into big=cp_big --chunk-size 1M --threads 8";
    let json = run(copy(source, target, line, dir.path()).arg("--json")).done().json();
    assert_eq!((json["rows"].as_u64(), json["threads"].as_u64()), (Some(100_000), Some(8)));
    assert_same_rows(source, target, "big", "cp_big");
    sql(target, "DROP DATABASE cp_big");
}

/// The keys of large tables come after their rows, but not the one that leads with the AUTO_INCREMENT column: here it is no primary key.
fn keys_that_numbers_need(flavour: Flavour) {
    let (source, target, dir) = (source(flavour), target(flavour), tempfile::tempdir().unwrap());
    sql(
        source,
        "CREATE DATABASE cp_tenants; USE cp_tenants; CREATE TABLE t (tenant INT, id INT AUTO_INCREMENT, v VARCHAR(2000), n INT,
           PRIMARY KEY (tenant, id), KEY (n), KEY (id), KEY (n, id));
         INSERT INTO t (tenant, v, n) WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 900)
           SELECT n % 3, REPEAT('x', 2000), n FROM s;
         INSERT INTO t (tenant, v, n) SELECT * FROM (SELECT n % 7, a.v, b FROM t a JOIN (SELECT 1 b UNION SELECT 2 UNION SELECT 3
           UNION SELECT 4 UNION SELECT 5) bs) more; ANALYZE TABLE t",
    );
    run(&mut copy(source, target, "cp_tenants", dir.path())).done();
    assert_same(source, target, "cp_tenants");
    // The numbers go on behind those that are there; where exactly, servers forget (FLUSH TABLES).
    let last = "SELECT MAX(id) FROM cp_tenants.t";
    let number = |sql: &str| value(target, sql).parse::<u64>().unwrap();
    let before = number(last);
    assert!(number(&format!("INSERT INTO cp_tenants.t (tenant) VALUES (1); {last}")) > before);
}
