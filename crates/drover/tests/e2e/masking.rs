//! Values that are replaced while they are dumped: none of the originals is anywhere in the dump, what belongs together still
//! does, and what cannot be done is refused before anything is locked.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use drover_sandbox::{Flavour, Server};

use crate::client::{run_script, sql, value};
use crate::drover::{NO_HOME, dump, restore, run, verify};
use crate::files::{files_in, manifest, table};
use crate::servers::{on_both, source, target};

on_both!(values_are_replaced, keys_and_partitions, what_is_refused, resumed_with_the_same_key);

const KEY: &str = "key = { env = \"DROVER_TEST_MASK_KEY\" }\n";
const SECRET: &str = "0123456789abcdef0123456789abcdef";

fn rule(table: &str, column: &str, mask: &str) -> String {
    format!("[[rule]]\ntable = \"{table}\"\ncolumn = \"{column}\"\nmask = {mask}\n")
}

fn file(dir: &Path, rules: &[String]) -> PathBuf {
    let path = dir.join("masks.toml");
    fs::write(&path, format!("{KEY}{}", rules.concat())).unwrap();
    path
}

fn masked_dump(server: &Server, line: &str, out: &Path, rules: &Path) -> Command {
    let mut command = dump(server, &format!("{line} --compress none"), out);
    command.arg("--mask").arg(rules).env("DROVER_TEST_MASK_KEY", SECRET);
    command
}

fn make(server: &Server, schema: &str) {
    let script = format!(
        "CREATE DATABASE {schema}; USE {schema};
         CREATE TABLE people (
           id INT PRIMARY KEY, code BIGINT UNSIGNED UNIQUE, email VARCHAR(100) NOT NULL UNIQUE, name TEXT CHARACTER SET latin1,
           phone CHAR(20), born DATE, salary DECIMAL(10,2), rank_ TINYINT, note VARCHAR(50), kind ENUM('private','firm'),
           token BINARY(16), extra JSON, whole VARCHAR(210) AS (CONCAT(email, '/', id)) STORED, twice INT AS (id * 2) STORED);
         INSERT INTO people (id, code, email, name, phone, born, salary, rank_, note, kind, token, extra) VALUES
           (1, 18446744073709551615, 'ann.smith@secret-host.example', CONVERT('Ann Smíth' USING latin1), '+48 600-700-800', '1990-05-06', 12345.67, -128, 'secret-note', 'firm', 'secret-token-001', '{{\"secret-key\": 1.10}}'),
           (2, 0, 'bob@secret-host.example', 'Secret Bob', NULL, NULL, -0.05, 127, NULL, 'private', NULL, NULL),
           (3, 42, 'carol@secret-host.example', '', '', '2000-01-01', 0.00, 0, 'secret-note', NULL, 'secret-token-003', '[]');
         CREATE TABLE visits (id INT PRIMARY KEY, code BIGINT UNSIGNED, email VARCHAR(100), FOREIGN KEY (code) REFERENCES people (code));
         INSERT INTO visits VALUES (1, 42, 'ann.smith@secret-host.example'), (2, 42, NULL), (3, 0, 'carol@secret-host.example');
         CREATE TABLE plain (id INT PRIMARY KEY, v VARCHAR(20)); INSERT INTO plain VALUES (1, 'as it is')"
    );
    run_script(server, None, script.as_bytes()).unwrap();
}

fn values_are_replaced(flavour: Flavour) {
    let (server, target, schema) = (source(flavour), target(flavour), "masked_values");
    make(server, schema);
    let dir = tempfile::tempdir().unwrap();
    let rules = file(
        dir.path(),
        &[
            rule("masked_values.*", "code", "\"hash\""),
            rule("masked_values.*", "email", "\"keep-format\""),
            // Columns' names have no case.
            rule("people", "NAME", "\"hash\""),
            rule("people", "phone", "\"keep-format\""),
            rule("people", "born", "{ fixed = \"1970-01-01\" }"),
            rule("people", "salary", "\"keep-format\""),
            rule("people", "rank_", "\"hash\""),
            rule("people", "note", "{ fixed = \"none\" }"),
            rule("people", "kind", "{ fixed = \"private\" }"),
            rule("people", "token", "\"hash\""),
            rule("people", "extra", "\"null\""),
        ],
    );
    let out = dir.path().join("dump");
    run(&mut masked_dump(server, schema, &out, &rules)).done();
    for path in files_in(&out) {
        let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).to_lowercase();
        for secret in
            ["ann", "carol", "secret", SECRET, "600-700", "12345.67", "1990-05-06", "18446744073709551615"]
        {
            assert!(!text.contains(secret), "{secret} in {}", path.display());
        }
    }
    let found = table(&manifest(&out), schema, "people");
    assert_eq!((&found["masks"]["email"], &found["masks"]["born"]), (&"keep-format".into(), &"fixed".into()));
    assert_eq!(found["generated"].as_array().map(Vec::len), Some(1), "{found}");

    // Loading and reading back finds the same rows, and the server accepts each value as what it is.
    run(&mut restore(target, &out, "")).done();
    let rows = sql(
        target,
        format!(
            "SELECT id, email, phone, born, salary, rank_, note, kind, LENGTH(token), extra, LENGTH(name), twice, whole = CONCAT(email, '/', id) FROM {schema}.people ORDER BY id"
        ),
    );
    let original = ["ann.smith@secret-host.example", "+48 600-700-800", "12345.67"];
    for (masked, original) in [&rows[0][1], &rows[0][2], &rows[0][4]].into_iter().zip(original) {
        let shape = |text: &str| -> String {
            text.chars()
                .map(|c| {
                    if c.is_ascii_digit() {
                        '9'
                    } else if c.is_ascii_alphabetic() {
                        'a'
                    } else {
                        c
                    }
                })
                .collect()
        };
        assert_eq!(shape(masked), shape(original));
        assert_ne!(masked, original);
    }
    assert_eq!(rows[0][3], "1970-01-01");
    assert_eq!((&*rows[0][6], &*rows[1][6], &*rows[2][7]), ("none", "none", "private"));
    assert_eq!((&*rows[0][8], &*rows[1][8], &*rows[0][9]), ("16", "NULL", "NULL"));
    assert_eq!((&*rows[1][2], &*rows[2][2], &*rows[0][10], &*rows[0][11]), ("NULL", "", "32", "2"));
    assert!(rows[1][4].starts_with("-0.") && rows[1][4] != "-0.00", "{rows:?}");
    assert!(rows.iter().all(|row| row[12] == "1"), "{rows:?}");
    // What belonged together still does.
    let joined = format!(
        "SELECT v.id, p.id, q.id FROM {schema}.visits v JOIN {schema}.people p ON p.code = v.code LEFT JOIN {schema}.people q ON q.email = v.email ORDER BY 1"
    );
    assert_eq!(sql(server, &joined), sql(target, &joined));
    // Only a copy can be compared with it; of the source only how many rows there are.
    run(&mut verify(target, &out, "")).done();
    run(&mut verify(server, &out, "")).found(&["people", "masked"]);
    let said = run(&mut verify(server, &out, "--source")).done();
    assert!(said.stdout.contains("`masked_values`.`people`") && said.stdout.contains("masked"), "{said}");
    sql(server, format!("DELETE FROM {schema}.visits WHERE id = 2"));
    run(&mut verify(server, &out, "--source")).found(&["visits", "2 rows, the dump has 3"]);

    // The same key gives the same values again, another one others.
    let again = dir.path().join("again");
    run(&mut masked_dump(
        server,
        &format!("{schema}.plain {schema}.people"),
        &again,
        &file(dir.path(), &[rule("people", "email", "\"keep-format\"")]),
    ))
    .done();
    let row = |out: &Path| {
        let bytes = fs::read(out.join(format!("{schema}/people.00001.tsv"))).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    assert!(row(&again).contains(&rows[0][1]));
    let other = dir.path().join("other");
    let rules = file(dir.path(), &[rule("people", "email", "\"keep-format\"")]);
    run(masked_dump(server, schema, &other, &rules).env("DROVER_TEST_MASK_KEY", "another key of the tests"))
        .done();
    assert!(!row(&other).contains(&rows[0][1]));
}

/// A key that is masked cuts no table: its borders would be the values as they were.
fn keys_and_partitions(flavour: Flavour) {
    let (server, target, schema) = (source(flavour), target(flavour), "masked_keys");
    let script = format!(
        "CREATE DATABASE {schema}; USE {schema};
         CREATE TABLE num (id BIGINT PRIMARY KEY, v VARCHAR(200)) PARTITION BY HASH (id) PARTITIONS 3;
         INSERT INTO num WITH RECURSIVE s(n) AS (SELECT -400 UNION ALL SELECT n + 1 FROM s WHERE n < 500) SELECT n, SHA2(n, 512) FROM s;
         CREATE TABLE named (name VARCHAR(40) PRIMARY KEY, v VARCHAR(200), big LONGTEXT);
         INSERT INTO named SELECT CONCAT('secret-', id), v, NULL FROM num;
         UPDATE named SET big = REPEAT('secret 12 ', 200000) WHERE name = 'secret-7'"
    );
    run_script(server, None, script.as_bytes()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let rules = file(
        dir.path(),
        &[
            rule("num", "id", "\"hash\""),
            rule("named", "name", "\"keep-format\""),
            rule("named", "big", "\"keep-format\""),
            rule("*", "v", "\"hash\""),
        ],
    );
    let out = dir.path().join("dump");
    run(&mut masked_dump(server, &format!("{schema} --chunk-size 16k"), &out, &rules)).done();
    for name in ["num", "named"] {
        let found = table(&manifest(&out), schema, name);
        assert!(found["key"].is_null() && found["partitions"].is_null(), "{found}");
    }
    for path in files_in(&out) {
        assert!(!String::from_utf8_lossy(&fs::read(&path).unwrap()).contains("secret"), "{}", path.display());
    }
    run(&mut restore(target, &out, "")).done();
    let counts = |server: &Server| {
        sql(
            server,
            format!(
                "SELECT COUNT(*), SUM(id < 0), COUNT(DISTINCT v) FROM {schema}.num UNION SELECT COUNT(*), SUM(LENGTH(name)), SUM(LENGTH(big)) FROM {schema}.named"
            ),
        )
    };
    assert_eq!(counts(server), counts(target));
}

fn what_is_refused(flavour: Flavour) {
    let (server, schema) = (source(flavour), "masked_refused");
    sql(
        server,
        format!(
            "CREATE DATABASE {schema}; USE {schema};
             CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, n INT NOT NULL, short CHAR(8) UNIQUE, u VARCHAR(40) UNIQUE, d DOUBLE,
               e ENUM('a','b'), at DATETIME, g INT AS (n + 1) STORED, w VARCHAR(10) CHARACTER SET ucs2, z INT ZEROFILL, m DECIMAL(5,2), j JSON, p TEXT, UNIQUE KEY (p(5)));
             CREATE TABLE parent (k INT PRIMARY KEY); CREATE TABLE child (k INT, FOREIGN KEY (k) REFERENCES parent (k))"
        ),
    );
    let dir = tempfile::tempdir().unwrap();
    let refused = |table: &str, column: &str, mask: &str, culprits: &[&str]| {
        let out = dir.path().join("dump");
        let rules = file(dir.path(), &[rule(table, column, mask)]);
        run(&mut masked_dump(server, schema, &out, &rules)).refused(culprits);
        assert!(!out.exists(), "{column} {mask}");
    };
    refused("t", "emial", "\"null\"", &["rule t: emial", "matches no column"]);
    refused("tt", "n", "\"null\"", &["matches no column"]);
    for (column, mask, why) in [
        ("id", "\"hash\"", "AUTO_INCREMENT"),
        ("n", "\"null\"", "NOT NULL"),
        ("short", "\"hash\"", "unique key and too short"),
        ("p", "\"hash\"", "unique key and too short"),
        ("p", "\"keep-format\"", "only its beginning"),
        ("u", "{ fixed = \"x\" }", "all rows would have the same value"),
        ("d", "\"hash\"", "a hash is no double"),
        ("at", "\"keep-format\"", "keep-format is not for datetime"),
        ("g", "\"null\"", "the server computes it"),
        ("w", "\"hash\"", "no mask writes ucs2"),
        ("w", "\"keep-format\"", "ucs2"),
        ("z", "\"keep-format\"", "ZEROFILL"),
        ("e", "{ fixed = \"c\" }", "is no member"),
        ("at", "{ fixed = \"2020-1-1\" }", "as the server writes it"),
        ("n", "{ fixed = \"007\" }", "as the server writes it"),
        ("n", "{ fixed = \"3000000000\" }", "as the server writes it"),
        ("m", "{ fixed = \"1.5\" }", "as the server writes it"),
        ("d", "{ fixed = \"1\" }", "cannot be checked"),
    ] {
        refused("t", column, mask, &["`masked_refused`.`t`", column, why]);
    }
    refused(
        "parent",
        "k",
        "\"hash\"",
        &["`masked_refused`.`child`", "`masked_refused`.`parent`", "masked alike"],
    );
    refused("child", "k", "\"keep-format\"", &["masked alike"]);
    let rules = file(dir.path(), &[rule("t", "n", "\"hash\"")]);
    let no_key =
        run(masked_dump(server, schema, &dir.path().join("x"), &rules).env_remove("DROVER_TEST_MASK_KEY"));
    no_key.refused(&["DROVER_TEST_MASK_KEY", "not set"]);
    // With the same rule at both ends, and a null at the child's, all is well.
    for child in ["\"hash\"", "\"null\""] {
        let rules = file(dir.path(), &[rule("parent", "k", "\"hash\""), rule("child", "k", child)]);
        let out = tempfile::tempdir().unwrap();
        run(&mut masked_dump(server, schema, out.path(), &rules)).done();
    }
    assert_eq!(value(server, "SELECT 1"), "1");
}

fn resumed_with_the_same_key(flavour: Flavour) {
    let (server, target, schema) = (source(flavour), target(flavour), "masked_resumed");
    let script = format!(
        "CREATE DATABASE {schema}; USE {schema};
         CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(200));
         INSERT INTO t WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 1000) SELECT n, SHA2(n, 512) FROM s"
    );
    run_script(server, None, script.as_bytes()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let rules = file(dir.path(), &[rule("t", "v", "\"keep-format\"")]);
    let out = dir.path().join("dump");
    let line = format!("{schema} --chunk-size 8k --consistent-resume");
    let program = masked_dump(server, &line, &out, &rules);
    let mut ended = Command::new("sh");
    ended
        .args(["-c", "ulimit -f 12; exec \"$0\" \"$@\""])
        .arg(program.get_program())
        .args(program.get_args());
    ended.env("HOME", NO_HOME).env("DROVER_TEST_MASK_KEY", SECRET);
    // The limit is below the journal's size at the end, above that of some files.
    let ended = run(&mut ended);
    assert_ne!(ended.code, Some(0), "{ended}");
    let resumed = || masked_dump(server, &format!("{line} --resume"), &out, &rules);
    run(resumed().env("DROVER_TEST_MASK_KEY", "another key of the tests"))
        .refused(&["begun otherwise: --mask, its rules or its key"]);
    run(&mut resumed()).done();
    let found = manifest(&out);
    assert!(found["earlier_snapshots"].is_null(), "{found}");
    run(&mut restore(target, &out, "")).done();
    assert_eq!(
        value(target, format!("SELECT COUNT(DISTINCT v) FROM {schema}.t WHERE LENGTH(v) = 128")),
        "1000"
    );
}
