//! Statements in parts come to the same as in one piece.

use drover_sandbox::{Flavour, Server};

use super::{assert_forgotten, chunk, make};
use crate::client::{sql, value};
use crate::drover::run;
use crate::servers::{on_both, source, start};

on_both!(
    keys,
    statements,
    one_time_for_all,
    plan_changes_nothing,
    archive_is_loaded_again,
    empty_table,
    dates_with_zeros,
    days_that_no_month_has,
    one_time_for_defaults,
    numbers_and_times_of_the_server
);

/// A table `t` and a twin `w` of it with the same 300 rows, the key's values made of the number `n`.
fn twins(server: &Server, schema: &str, columns: &str, key: &str, values: &str) {
    sql(
        server,
        format!(
            "CREATE TABLE {schema}.t ({columns}, n INT NOT NULL, {key}) DEFAULT CHARSET = utf8mb4;
             INSERT INTO {schema}.t WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 300)
               SELECT {values}, n FROM s;
             CREATE TABLE {schema}.w LIKE {schema}.t; INSERT INTO {schema}.w SELECT * FROM {schema}.t"
        ),
    );
}

/// Both tables hold the same rows.
fn assert_twins(server: &Server, schema: &str, what: &str) {
    let rows = |table: &str| sql(server, format!("SELECT * FROM {schema}.{table} ORDER BY n, 1, 2"));
    assert_eq!(rows("t"), rows("w"), "{what}");
}

fn keys(flavour: Flavour) {
    let (server, schema) = (source(flavour), "chunk_keys");
    let keys = [
        ("k BIGINT", "PRIMARY KEY (k)", "n * 12345678901 - 1000000000000"),
        ("k BIGINT UNSIGNED NOT NULL", "UNIQUE KEY (k), KEY (n)", "18446744073709551615 - n"),
        ("k INT NOT NULL, l INT NOT NULL", "PRIMARY KEY (k, l DESC)", "n % 7, n"),
        (
            "k VARCHAR(20) COLLATE utf8mb4_general_ci",
            "PRIMARY KEY (k)",
            "CONCAT(CHAR(64 + n % 26), 'é\\'', n)",
        ),
        ("k CHAR(8) CHARACTER SET latin1", "PRIMARY KEY (k)", "CONCAT(_latin1 X'e4', 301 - n)"),
        ("k VARCHAR(9) CHARACTER SET sjis", "PRIMARY KEY (k)", "CONCAT(n, _utf8mb4'ｱ表')"),
        ("k CHAR(9) CHARACTER SET gbk", "PRIMARY KEY (k)", "CONCAT(_utf8mb4'中', n)"),
        ("k VARCHAR(9) CHARACTER SET utf16", "PRIMARY KEY (k DESC)", "CONCAT(_utf8mb4'😀', n)"),
        ("k VARBINARY(8)", "PRIMARY KEY (k)", "UNHEX(LPAD(HEX(n * 77), 6, '0'))"),
        ("k DECIMAL(20,4)", "PRIMARY KEY (k)", "(n - 150) / 8"),
        ("k DOUBLE", "PRIMARY KEY (k)", "(n - 150) / 7"),
        ("k DATETIME(3)", "PRIMARY KEY (k)", "'2024-10-27 01:00:00.125' + INTERVAL n MINUTE"),
        (
            "k TIMESTAMP(3) NOT NULL DEFAULT '2000-01-01'",
            "PRIMARY KEY (k)",
            "'2024-10-27 01:00:00.125' + INTERVAL n MINUTE",
        ),
        ("k ENUM('z', 'a', 'm') NOT NULL, l INT NOT NULL", "PRIMARY KEY (k, l)", "1 + n % 3, n"),
        ("k BIT(40)", "PRIMARY KEY (k)", "n * 1000000007"),
        ("k TIME(2), l YEAR", "PRIMARY KEY (k, l)", "SEC_TO_TIME(n * 61 - 9000), 2000 + n % 50"),
    ];
    sql(server, format!("CREATE DATABASE {schema}"));
    for (columns, key, values) in keys {
        twins(server, schema, columns, key, values);
        for statement in
            ["UPDATE ? SET n = n + 1000 WHERE n % 3 = 0 OR n % 5 = 0", "DELETE FROM ? WHERE n % 2 = 0"]
        {
            let whole = statement.replace('?', &format!("{schema}.w"));
            sql(server, &whole);
            let json = run(&mut chunk(server, schema, "--json", &statement.replace('?', "t"))).done().json();
            assert_twins(server, schema, columns);
            let parts = json["chunks"].as_u64().unwrap();
            assert!(parts >= 2, "{columns}: {json}");
        }
        sql(server, format!("DROP TABLE {schema}.t, {schema}.w"));
    }
    assert_forgotten(server, schema);
}

fn statements(flavour: Flavour) {
    let (server, schema) = (source(flavour), "chunk_statements");
    make(server, schema, 3);
    sql(
        server,
        format!(
            "USE {schema}; CREATE TABLE few (id INT PRIMARY KEY); INSERT INTO few SELECT id FROM t WHERE id % 3 = 0;
             CREATE TABLE u (id INT PRIMARY KEY, s INT, v TEXT); CREATE TABLE x LIKE u;
             CREATE TABLE w LIKE t; INSERT INTO w SELECT * FROM t"
        ),
    );
    let statements = [
        "UPDATE {t} AS y SET y.a = y.a * 2 + 1, v = CONCAT(v, '; it''s') WHERE y.a > 3 OR v LIKE '%7' -- and no more",
        "UPDATE {t} SET a = -a WHERE id IN (SELECT id FROM few) AND EXISTS (SELECT 1 FROM few f WHERE f.id = {t}.id + 3)",
        "INSERT INTO {u} (id, v, s) SELECT id + 5, UPPER(v), (SELECT COUNT(*) FROM few) FROM {t} WHERE a <> 5",
        "DELETE LOW_PRIORITY FROM {t} WHERE id BETWEEN 500 AND 2500 AND a NOT IN (1, 2, 3);",
        "DELETE FROM {t}",
    ];
    for statement in statements {
        let [whole, parts] =
            [("w", "x"), ("t", "u")].map(|(t, u)| statement.replace("{t}", t).replace("{u}", u));
        let changed = value(
            server,
            format!(
                "USE {schema}; {}; SELECT ROW_COUNT()",
                whole.replace(" -- and no more", "").trim_end_matches(';')
            ),
        );
        let json = run(&mut chunk(server, schema, "--json --chunk-size 8k", &parts)).done().json();
        for (one, other) in [("t", "w"), ("u", "x")] {
            let rows = |table: &str| sql(server, format!("SELECT * FROM {schema}.{table} ORDER BY id"));
            assert_eq!(rows(one), rows(other), "{statement}");
        }
        assert_eq!(json["rows"].to_string(), changed, "{statement}: {json}");
    }
    assert_forgotten(server, schema);
}

fn one_time_for_all(flavour: Flavour) {
    let (server, schema) = (source(flavour), "chunk_times");
    make(server, schema, 3);
    sql(
        server,
        format!("ALTER TABLE {schema}.t ADD ts TIMESTAMP(6) NULL, ADD d DATE, ADD tm TIME, ADD u BIGINT"),
    );
    let statement = "UPDATE t SET ts = NOW(6), d = CURRENT_DATE, tm = CURTIME(), u = UNIX_TIMESTAMP()";
    let json = run(&mut chunk(server, schema, "--json", statement)).done().json();
    assert!(json["chunks"].as_u64().unwrap() >= 3, "{json}");
    let found = value(server, format!("SELECT COUNT(DISTINCT ts, d, tm, u) FROM {schema}.t"));
    assert_eq!(found, "1");
    let is_right = "SELECT MAX(u = UNIX_TIMESTAMP(ts) DIV 1 AND DATE(ts) = d AND ABS(TIMESTAMPDIFF(SECOND, ts, NOW())) < 300)";
    assert_eq!(value(server, format!("{is_right} FROM {schema}.t")), "1");
}

fn plan_changes_nothing(flavour: Flavour) {
    let (server, schema) = (source(flavour), "chunk_plan");
    make(server, schema, 1);
    let plan = run(&mut chunk(server, schema, "--dry-run", "DELETE FROM t WHERE a = 3")).done();
    for words in ["`chunk_plan`.`t`", "PRIMARY", "up to     1000", "WHERE (a = 3"] {
        assert!(plan.stdout.contains(words), "no word of {words}: {plan}");
    }
    assert_eq!(value(server, format!("SELECT COUNT(*) FROM {schema}.t")), "1000");
    assert_forgotten(server, schema);
}

fn archive_is_loaded_again(flavour: Flavour) {
    let server = &start(flavour, &["--local-infile=1", "--default-time-zone=+01:00"]);
    let schema = "chunk_archive";
    sql(
        server,
        format!(
            "CREATE DATABASE {schema}; USE {schema}; SET sql_mode = '';
             CREATE TABLE t (id INT PRIMARY KEY, ts TIMESTAMP NULL, t3 TIMESTAMP(3) NULL, b BLOB, e ENUM('a', 'b'), f FLOAT, j JSON, \
             l TEXT CHARACTER SET latin1, n INT);
             INSERT INTO t WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 900)
               SELECT n, IF(n % 7, '2024-06-01 12:00:00' + INTERVAL n HOUR, '0000-00-00'), NOW(3), UNHEX(HEX(CHAR(n, 10, 9, 92))), \
             1 + n % 2, n / 3, JSON_OBJECT('n', n), CONCAT('ä', n), NULLIF(n % 5, 0) FROM s;
             CREATE TABLE w LIKE t; INSERT INTO w SELECT * FROM t"
        ),
    );
    let dir = tempfile::tempdir().unwrap();
    for (name, statement) in
        [("rows.tsv", "DELETE FROM t WHERE id % 2"), ("more of 'em.zst", "DELETE FROM t WHERE n IS NOT NULL")]
    {
        let file = dir.path().join(name);
        let run_it = || {
            let mut command = chunk(server, schema, "--json", statement);
            command.arg("--archive").arg(&file);
            run(&mut command)
        };
        let deleted = value(
            server,
            format!("SELECT COUNT(*) FROM {schema}.t WHERE {}", statement.split_once("WHERE").unwrap().1),
        );
        let json = run_it().done().json();
        let archive = &json["archive"];
        assert_eq!(
            (archive["rows"].to_string(), json["rows"].to_string()),
            (deleted.clone(), deleted),
            "{json}"
        );
        assert_eq!(archive["bytes"].as_u64().unwrap(), file.metadata().unwrap().len(), "{json}");
        // What the report says is run as it stands there.
        assert_eq!(archive["unpack"].is_string(), name.ends_with(".zst"), "{json}");
        if let Some(unpack) = archive["unpack"].as_str() {
            let unpacked = std::process::Command::new("sh").args(["-c", unpack]).output().unwrap();
            assert!(unpacked.status.success(), "{unpack}: {unpacked:?}");
        }
        let load = archive["load"].as_str().unwrap();
        let mut client = crate::client::client(server);
        client.arg("--local-infile=1");
        let script = format!("SET sql_mode = 'ALLOW_INVALID_DATES'; {load}");
        crate::client::rows_of(&mut client, &script).unwrap();
        let rows = |table: &str| {
            sql(server, format!("SELECT *, HEX(b), UNIX_TIMESTAMP(t3) FROM {schema}.{table} ORDER BY id"))
        };
        assert_eq!(rows("t"), rows("w"), "{name}");
        run_it().refused(&[name, "is there already"]);
    }
    let file = dir.path().join("last.zst");
    let text =
        run(&mut chunk(server, schema, &format!("--archive {}", file.display()), "DELETE FROM t")).done();
    let unpack =
        format!("unpack by zstd -d {}\nloaded by SET time_zone = '+00:00'; LOAD DATA", file.display());
    assert!(text.stdout.contains(&unpack), "{text}");
    assert_forgotten(server, schema);
}

fn empty_table(flavour: Flavour) {
    let (server, schema) = (source(flavour), "chunk_empty");
    sql(server, format!("CREATE DATABASE {schema}; CREATE TABLE {schema}.t (id INT PRIMARY KEY)"));
    let json = run(&mut chunk(server, schema, "--json", "DELETE FROM t")).done().json();
    assert_eq!((json["rows"].as_u64(), json["chunks"].as_u64()), (Some(0), Some(0)), "{json}");
    assert_forgotten(server, schema);
}

fn dates_with_zeros(flavour: Flavour) {
    let (server, schema) = (source(flavour), "chunk_zeros");
    sql(server, format!("CREATE DATABASE {schema}"));
    let day = "CASE WHEN n < 150 THEN '0000-00-00' WHEN n < 250 THEN '2020-00-10' ELSE '2020-01-01' END";
    sql(
        server,
        format!(
            "SET SESSION sql_mode = ''; USE {schema};
             CREATE TABLE t (day DATE, n INT NOT NULL, a INT, PRIMARY KEY (day, n)); CREATE TABLE w LIKE t;
             INSERT INTO t WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 300) SELECT {day}, n, n FROM s;
             INSERT INTO w SELECT * FROM t"
        ),
    );
    for statement in ["UPDATE t SET a = a + 1", "DELETE FROM t WHERE a % 3 = 0"] {
        run(&mut chunk(server, schema, "", statement)).done();
        let twin = statement.replace(" t ", " w ");
        sql(server, format!("SET SESSION sql_mode = ''; USE {schema}; {twin}"));
        assert_twins(server, schema, statement);
    }
}

/// Such as 2021-04-31, of which no literal is taken in the mode of the run; at the end of the key and in its middle.
fn days_that_no_month_has(flavour: Flavour) {
    let (server, schema) = (source(flavour), "chunk_invalid");
    sql(server, format!("CREATE DATABASE {schema}"));
    let day = "CONCAT('2021-0', 1 + n DIV 40, '-', 28 + n % 4, IF(n % 2, ' 01:02:03', ''))";
    for (columns, key) in [
        ("day DATE", "PRIMARY KEY (day, n)"),
        ("day DATE", "PRIMARY KEY (day DESC, n)"),
        ("day DATETIME", "PRIMARY KEY (n, day)"),
        ("day DATETIME", "PRIMARY KEY (day DESC, n DESC)"),
    ] {
        sql(
            server,
            format!(
                "SET SESSION sql_mode = 'ALLOW_INVALID_DATES'; USE {schema};
                 CREATE TABLE t ({columns}, n INT NOT NULL, a INT, v CHAR(90) DEFAULT 'v', {key}); CREATE TABLE w LIKE t;
                 INSERT INTO t (day, n, a) WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 340)
                   SELECT {day}, n, n FROM s;
                 INSERT INTO w SELECT * FROM t"
            ),
        );
        for statement in ["UPDATE t SET a = a + 1", "DELETE FROM t WHERE a % 3 = 0"] {
            let json = run(&mut chunk(server, schema, "--json", statement)).done().json();
            assert!(json["chunks"].as_u64().unwrap() >= 2, "{json}");
            let twin = statement.replace(" t ", " w ");
            sql(server, format!("SET SESSION sql_mode = ''; USE {schema}; {twin}"));
            assert_twins(server, schema, &format!("{key}: {statement}"));
        }
        sql(server, format!("DROP TABLE {schema}.t, {schema}.w"));
    }
    assert_forgotten(server, schema);
}

/// DEFAULT tells the time as NOW() does.
fn one_time_for_defaults(flavour: Flavour) {
    let (server, schema) = (source(flavour), "chunk_default_times");
    make(server, schema, 3);
    sql(
        server,
        format!(
            "ALTER TABLE {schema}.t ADD ts DATETIME(6) DEFAULT CURRENT_TIMESTAMP(6), ADD tn TIMESTAMP NULL DEFAULT CURRENT_TIMESTAMP"
        ),
    );
    let statement = "UPDATE t SET a = DEFAULT(v) IS NULL, ts = DEFAULT, t.`tn` = default WHERE ts <> NOW(6)";
    let json = run(&mut chunk(server, schema, "--json", statement)).done().json();
    assert!(json["chunks"].as_u64().unwrap() >= 3, "{json}");
    let found = sql(
        server,
        format!(
            "SELECT COUNT(DISTINCT ts), COUNT(DISTINCT tn), MIN(ABS(TIMESTAMPDIFF(SECOND, ts, NOW())) < 300) FROM {schema}.t"
        ),
    );
    assert_eq!(found, [["1", "1", "1"]]);
}

/// What no part can get as one statement would is said before.
fn numbers_and_times_of_the_server(flavour: Flavour) {
    let (server, schema) = (source(flavour), "chunk_numbers");
    make(server, schema, 1);
    sql(
        server,
        format!(
            "CREATE TABLE {schema}.u (id INT AUTO_INCREMENT PRIMARY KEY, a INT, made DATETIME DEFAULT CURRENT_TIMESTAMP)"
        ),
    );
    let output = run(&mut chunk(server, schema, "", "INSERT INTO u (a) SELECT a FROM t")).done();
    for column in ["id of", "made of"] {
        assert!(output.stderr.contains(&format!("gives no value for {column}")), "{output}");
    }
}
