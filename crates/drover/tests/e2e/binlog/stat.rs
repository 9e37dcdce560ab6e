//! `drover binlog stat` of a part of a log: parts add up to the whole.

use std::path::Path;

use drover_sandbox::Flavour;
use serde_json::Value;

use crate::client::{client, feed};
use crate::drover::{drover, run};
use crate::servers::{on_both, start};

use super::sql::logged;

on_both!(a_part_is_what_the_whole_says_of_it);

fn a_part_is_what_the_whole_says_of_it(flavour: Flavour) {
    let server = start(flavour, &["--log-bin", "--binlog-format=ROW", "--local-infile=1"]);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("rows");
    std::fs::write(&file, "7\tseven\n8\teight\n").unwrap();
    let logs = logged(&server, || {
        let text = format!(
            "CREATE DATABASE one; CREATE DATABASE two; CREATE TABLE one.a (id INT PRIMARY KEY, v VARCHAR(100)); CREATE TABLE two.b LIKE one.a;
             INSERT INTO one.a VALUES (1, REPEAT('x', 90)), (2, 'y');
             BEGIN; INSERT INTO one.a VALUES (3, 'z'); UPDATE one.a SET v = 'w'; INSERT INTO two.b VALUES (1, REPEAT('b', 80)); COMMIT;
             DELETE FROM two.b; USE two; SET SESSION binlog_format = STATEMENT; INSERT INTO b VALUES (5, 'text');
             LOAD DATA LOCAL INFILE '{}' INTO TABLE b",
            file.display()
        );
        let fed = feed(client(&server).arg("--local-infile=1"), text.as_bytes());
        assert!(fed.status.success(), "{}", String::from_utf8_lossy(&fed.stderr));
    });
    let log = &logs[0];
    let whole = stat(log, "");
    assert_eq!(number(&whole, "bytes"), std::fs::metadata(log).unwrap().len());

    for table in whole["by_table"].as_array().unwrap() {
        let name = format!("{}.{}", table["schema"].as_str().unwrap(), table["table"].as_str().unwrap());
        let part = stat(log, &format!("--table {name}"));
        assert_eq!(part["by_table"].as_array().unwrap().len(), 1, "{part}");
        let found = &part["by_table"][0];
        for key in ["own_bytes", "insert_events", "update_events", "delete_events", "transactions"] {
            assert_eq!(found[key], table[key], "{name}: {key}");
        }
        // A byte that no table has a whole share of goes to another.
        let (bytes, expected) = (number(found, "bytes"), number(table, "bytes"));
        assert!(bytes.abs_diff(expected) <= number(table, "transactions"), "{name}: {bytes}, {expected}");
        // Statements that name the table are of it too.
        let statements = part["by_statement"].as_array().unwrap();
        let of_statements = |key| statements.iter().map(|one| number(one, key)).sum::<u64>();
        assert_eq!(number(&part, "bytes"), bytes + of_statements("bytes"), "{part}");
        let transactions = number(table, "transactions") + of_statements("transactions");
        assert_eq!(number(&part, "transactions"), transactions, "{name}");
        let mut kinds: Vec<_> = statements.iter().map(|one| one["statement"].as_str().unwrap()).collect();
        kinds.sort_unstable();
        let right: &[_] =
            if name == "one.a" { &["CREATE TABLE"] } else { &["CREATE TABLE", "INSERT", "LOAD"] };
        assert_eq!(kinds, right, "{name}");
    }
    let inserted = stat(log, "--event write_rows --event write_rows_v1");
    let events = inserted["by_event"].as_array().unwrap();
    assert!(
        events.iter().all(|event| event["event"].as_str().unwrap().starts_with("Write_rows")),
        "{events:?}"
    );
    assert_eq!(total(&inserted, "update_events") + total(&inserted, "delete_events"), 0);
    assert_eq!(total(&inserted, "insert_events"), total(&whole, "insert_events"));

    let of_two = stat(log, "--database two");
    let statements = of_two["by_statement"].as_array().unwrap();
    let load = statements.iter().find(|one| one["statement"] == "LOAD").unwrap();
    let insert = statements.iter().find(|one| one["statement"] == "INSERT").unwrap();
    assert!(number(load, "own_bytes") > 16 && number(insert, "statements") == 1, "{statements:?}");

    let middle = number(&whole["largest"][0], "position");
    let halves = ["stop", "start"].map(|end| stat(log, &format!("--{end}-position {middle}")));
    let both = |of: &dyn Fn(&Value) -> u64| halves.iter().map(of).sum::<u64>();
    assert!(halves.iter().all(|half| number(half, "transactions") > 0));
    for key in ["bytes", "transactions", "other_bytes"] {
        // Before its first event a log has four bytes, which are in no range.
        let around = if key == "transactions" { 0 } else { 4 };
        assert_eq!(both(&|half| number(half, key)) + around, number(&whole, key), "{key}");
    }
    for key in ["own_bytes", "insert_events", "update_events", "delete_events"] {
        assert_eq!(both(&|half| total(half, key)), total(&whole, key), "{key}");
    }
}

fn stat(log: &Path, options: &str) -> Value {
    run(drover(&format!("binlog stat --json {options}")).arg(log)).done().json()
}

fn number(value: &Value, key: &str) -> u64 {
    value[key].as_u64().unwrap_or_else(|| panic!("no {key} in {value}"))
}

/// The sum over all tables.
fn total(stat: &Value, key: &str) -> u64 {
    stat["by_table"].as_array().unwrap().iter().map(|table| number(table, key)).sum()
}
