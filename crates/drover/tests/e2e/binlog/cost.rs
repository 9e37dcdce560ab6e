//! `drover binlog cost`: what it says a log would take is what a server then writes, and every byte is charged.

use std::fs;
use std::path::{Path, PathBuf};

use drover_sandbox::{Flavour, Server};
use serde_json::Value;

use crate::client::sql;
use crate::drover::{drover, drover_on, run};
use crate::servers::{on_both, start};

use super::sql::logged;

on_both!(what_is_foretold_comes_true);

/// The parts are the whole, by table and by statement.
pub(crate) fn assert_adds_up(cost: &Value, length: u64) {
    let number = |value: &Value| value.as_u64().unwrap_or_else(|| panic!("no number: {value}"));
    let bytes = &cost["bytes"];
    let tables: u64 = bytes["by_table"].as_object().unwrap().values().map(number).sum();
    assert_eq!((number(&bytes["total"]), tables + number(&bytes["other"])), (length, length), "{bytes}");
    let statements: u64 =
        cost["statements"].as_array().unwrap().iter().map(|one| number(&one["bytes"])).sum();
    assert_eq!(statements + number(&cost["without_statement"]), length);
    assert_eq!(number(&cost["cures"][0]["bytes"]), length);
}

fn what_is_foretold_comes_true(flavour: Flavour) {
    let options = match flavour {
        Flavour::MariaDb => ["--binlog-annotate-row-events=ON", "--max-binlog-size=1G"],
        Flavour::MySql => ["--binlog-rows-query-log-events=ON", "--max-binlog-size=1G"],
    };
    let server = start(flavour, &["--log-bin", "--binlog-format=ROW", options[0], options[1]]);
    let full = logged_with(&server, "binlog_row_image = FULL");
    let cost = cost_of(&server, &full);
    let length = fs::metadata(&full).unwrap().len();
    assert_adds_up(&cost, length);
    let names = |cost: &Value| -> Vec<String> {
        cost["cures"].as_array().unwrap().iter().map(|cure| cure["cure"].to_string()).collect()
    };
    assert!(
        ["\"minimal\"", "\"noblob\"", "\"compression\""]
            .iter()
            .all(|name| names(&cost).iter().any(|cure| cure == name)),
        "{cost}"
    );
    let saves_nothing = |cure: &Value| cure["cure"] != "today" && cure["saved"] == 0.0;
    for (cure, setting) in [("minimal", "MINIMAL"), ("noblob", "NOBLOB")] {
        let log = logged_with(&server, &format!("binlog_row_image = {setting}"));
        assert_near(&cost, cure, &log, 0.005);
        // A log is the same whatever it is made of.
        let again = cost_of(&server, &log);
        assert_near(&again, cure, &log, 0.005);
        assert!(!again["cures"].as_array().unwrap().iter().any(saves_nothing), "{again}");
    }
    let compression = match flavour {
        Flavour::MariaDb => "GLOBAL log_bin_compress = ON",
        Flavour::MySql => "binlog_transaction_compression = ON",
    };
    let compressed = logged_with(&server, compression);
    // MariaDB's zlib and drover's do not choose the same matches: 2 % on these few rows, 0.2 % in benchmarks/cost.
    assert_near(&cost, "compression", &compressed, 0.05);
    let again = cost_of(&server, &compressed);
    assert_adds_up(&again, fs::metadata(&compressed).unwrap().len());
    for cure in ["minimal", "noblob", "compression"] {
        let (first, again) = (bytes_of(&cost, cure), bytes_of(&again, cure));
        assert!(first.abs_diff(again) < first / 200, "{cure}: {first}, and of the compressed log {again}");
    }
    let plain = bytes_of(&again, "uncompressed");
    assert!(plain.abs_diff(length) < length / 500, "{plain}, {length}");
    of_the_server(&server);
    the_page(&full);
}

/// The same of a server that sends its logs; that knows the keys too.
fn of_the_server(server: &Server) {
    let sizes = || -> u64 {
        sql(server, "SHOW BINARY LOGS").into_iter().map(|row| row[1].parse::<u64>().unwrap()).sum()
    };
    // MariaDB notes a checkpoint in a log that it has begun, some time after that.
    let (cost, length) = loop {
        let before = sizes();
        let cost = run(&mut drover_on(server, "binlog cost --json --from-server")).done().json();
        if sizes() == before {
            break (cost, before);
        }
    };
    assert_adds_up(&cost, length);
    let tables = cost["tables"].as_array().unwrap();
    assert!(tables.iter().all(|table| table["key"] == "known"), "{tables:?}");
    let key = |name: &str| tables.iter().find(|table| table["table"] == name).unwrap()["has_key"] == true;
    assert_eq!([key("cost.wide"), key("cost.coupon"), key("cost.nokey")], [true, true, false]);
}

/// What is in the page is what was found, and a link that is too slow has a lag.
fn the_page(log: &Path) {
    let dir = tempfile::tempdir().unwrap();
    let page = dir.path().join("page.html");
    let mut command = drover("binlog cost --safety --link 8kbit --html");
    let text = run(command.arg(&page).arg(log)).done().stdout;
    for word in
        ["cost.wide", "row image MINIMAL", "lag ≤", "safe as a statement", "8 kbit/s", "UPDATE wide SET"]
    {
        assert!(text.contains(word), "{word}: {text}");
    }
    let html = fs::read_to_string(&page).unwrap();
    for word in ["cost.wide", "row image MINIMAL", "Lag over time", "Which statements", "Longest lag"] {
        assert!(html.contains(word), "{word}");
    }
}

/// What the log takes, with the tables' keys from the server.
fn cost_of(server: &Server, log: &Path) -> Value {
    let url = format!("mysql://root@/?socket={}", server.socket().display());
    run(drover("binlog cost --json --compression --columns-of").arg(url).arg(log)).done().json()
}

fn bytes_of(cost: &Value, name: &str) -> u64 {
    let cures = cost["cures"].as_array().unwrap();
    // What would change nothing is left out.
    let cure = cures.iter().find(|cure| cure["cure"] == name).unwrap_or(&cures[0]);
    assert_eq!(cure["basis"], "exact", "{cure}");
    cure["bytes"].as_u64().unwrap()
}

/// What was said of a log is what it is, but for such a part.
fn assert_near(cost: &Value, cure: &str, log: &Path, part: f64) {
    let (said, is) = (bytes_of(cost, cure), fs::metadata(log).unwrap().len());
    assert!((said as f64 / is as f64 - 1.0).abs() <= part, "{cure}: {said} was said, it is {is}");
}

/// The log that the traffic makes with this setting.
fn logged_with(server: &Server, setting: &str) -> PathBuf {
    let logs = logged(server, || {
        sql(server, format!("SET {setting}; {}", traffic()));
    });
    if setting.starts_with("GLOBAL") {
        sql(server, "SET GLOBAL log_bin_compress = OFF");
    }
    assert_eq!(logs.len(), 1, "{logs:?}");
    logs[0].clone()
}

/// Wide and narrow rows, with and without keys, blobs and JSON, in statements of one row and of many.
fn traffic() -> String {
    let numbers: Vec<_> = (0..15).map(|number| format!("n{number} INT DEFAULT {number}")).collect();
    let mut script = format!(
        "SET timestamp = 1795000000; DROP DATABASE IF EXISTS cost; CREATE DATABASE cost; USE cost;
         CREATE TABLE wide (id INT PRIMARY KEY AUTO_INCREMENT, {}, a VARCHAR(100), b TEXT, j JSON, at DATETIME DEFAULT NOW());
         CREATE TABLE nokey (a INT, b VARCHAR(300), c BLOB); CREATE TABLE coupon (code CHAR(8) NOT NULL, v VARCHAR(50), n INT, UNIQUE (code));",
        numbers.join(", ")
    );
    for row in 0..60 {
        let text = format!("text number {row} ").repeat(1 + row % 40);
        script += &format!(
            "BEGIN; INSERT INTO wide (n1, a, b, j) VALUES ({row}, 'short {row}', '{text}', '{{\"size\": {row}, \"text\": \"{text}\"}}');
             INSERT INTO nokey VALUES ({row}, 'row {row}', '{text}'), (NULL, NULL, '{text}');
             INSERT INTO coupon VALUES ('c{row}', 'first', NULL); COMMIT;
             UPDATE wide SET n2 = n2 + {row}, a = 'changed {row}' WHERE id <= {row};
             UPDATE coupon SET n = {row} WHERE code = 'c{row}'; UPDATE nokey SET b = 'other' WHERE a = {row};"
        );
    }
    script + "UPDATE wide SET n3 = id; UPDATE nokey SET b = CONCAT(b, 'x'); DELETE FROM nokey WHERE a > 30; DELETE FROM wide WHERE id > 20;
              UPDATE wide SET b = UPPER(b); DELETE FROM coupon"
}
