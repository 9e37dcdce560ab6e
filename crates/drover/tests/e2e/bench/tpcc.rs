//! `drover bench tpcc`: load, run, check, clean. What is in the tables is asked, and changed, by the vendor's own client.

use std::fmt::Display;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use drover_sandbox::{Flavour, Server};
use serde_json::Value;

use crate::browser::Browser;
use crate::client::{self, wait_until};
use crate::drover::{Output, Running, drover, drover_on, run};
use crate::servers::{on_both, source, start, start_unsynced};

on_both!(
    loaded_run_and_consistent,
    each_planted_violation_is_named,
    a_seed_loads_the_same_rows_however_many_threads_there_are,
    a_server_that_stands_still_shows_in_an_open_loop,
    a_load_that_was_not_finished_is_told,
    others_tables_are_left_alone,
    a_server_that_takes_no_files,
    nothing_measured,
);

/// Tables in a schema of their own.
struct Tpcc<'a> {
    server: &'a Server,
    schema: &'a str,
}

impl Tpcc<'_> {
    fn command(&self, line: &str) -> Command {
        drover_on(self.server, &format!("bench tpcc {line} -D {}", self.schema))
    }

    fn run(&self, line: &str) -> Output {
        run(&mut self.command(line))
    }

    fn json(&self, line: &str) -> Value {
        self.run(&format!("{line} --json")).done().json()
    }

    fn sql(&self, text: impl Display) -> client::Rows {
        client::sql(self.server, format!("USE {}; {text}", self.schema))
    }

    fn value(&self, text: impl Display) -> String {
        self.sql(text)[0][0].clone()
    }

    /// The conditions that a check finds violated.
    fn violated(&self) -> Vec<String> {
        let output = self.run("check --json");
        let violated: Vec<_> = conditions(&output.json())
            .into_iter()
            .filter(|condition| condition["violations"] != 0)
            .map(|condition| condition["id"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(output.code, Some(i32::from(!violated.is_empty())), "{output}");
        violated
    }
}

fn conditions(check: &Value) -> Vec<Value> {
    check["conditions"].as_array().unwrap().clone()
}

fn of_kind<'a>(run: &'a Value, kind: &str) -> &'a Value {
    let all = run["transactions"].as_array().unwrap();
    all.iter().find(|of_kind| of_kind["kind"] == kind).unwrap()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("no number: {value}"))
}

fn loaded_run_and_consistent(flavour: Flavour) {
    let tpcc = Tpcc { server: source(flavour), schema: "tpcc_whole" };
    let dir = tempfile::tempdir().unwrap();
    let load = tpcc.json("load -w 1 --threads 3");
    assert_eq!(
        (&load["bench"], &load["warehouses"], &load["threads"]),
        (&"tpcc load".into(), &1.into(), &3.into())
    );
    assert_eq!(load["environment"]["server"]["is_local"], true);
    counts_are_right(&tpcc, &load);
    let check = tpcc.json("check");
    assert!(
        conditions(&check)
            .iter()
            .all(|condition| condition["violations"] == 0 && condition["not_checked"].is_null()),
        "{check}"
    );

    let page = dir.path().join("run.html");
    let mut command = tpcc.command("run -c 4 --seconds 3 --warm-up 0 --repeat 2 --json");
    let output = run(command.arg("--html").arg(&page)).done();
    let report = output.json();
    run_is_told(&tpcc, &report);
    page_is_readable(dir.path(), &page);
    let check = tpcc.json("check");
    assert!(conditions(&check).iter().all(|condition| condition["violations"] == 0), "{check}");
    let left_out: Vec<_> =
        conditions(&check).into_iter().filter(|condition| !condition["not_checked"].is_null()).collect();
    assert!(left_out.len() == 1 && left_out[0]["id"] == "11" && check["runs"] == 1, "{check}");

    sweep_has_a_curve(&tpcc);
    results_are_compared(dir.path(), &output.stdout);
    let text = tpcc.run("run -c 2 --seconds 1 --warm-up 0").done().stdout;
    for words in [
        "New-Orders a minute with 2 connections",
        "Stock-Level",
        "deviates from the specification",
        "READ COMMITTED",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let cleaned = tpcc.json("clean");
    assert_eq!(cleaned["dropped_schema"], true);
    let schemas = "SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = 'tpcc_whole'";
    assert_eq!(client::value(tpcc.server, schemas), "0");
}

fn counts_are_right(tpcc: &Tpcc<'_>, load: &Value) {
    let lines: u64 = tpcc.value("SELECT COUNT(*) FROM order_line").parse().unwrap();
    assert_eq!(tpcc.value("SELECT SUM(o_ol_cnt) FROM orders"), lines.to_string());
    let others = 1 + 10 + 30_000 + 30_000 + 9000 + 30_000 + 100_000 + 100_000;
    assert_eq!(load["rows"], others + lines);
    for (table, rows) in [
        ("warehouse", 1),
        ("district", 10),
        ("customer", 30_000),
        ("history", 30_000),
        ("new_orders", 9000),
        ("orders", 30_000),
    ] {
        assert_eq!(tpcc.value(format!("SELECT COUNT(*) FROM {table}")), rows.to_string(), "{table}");
    }
    // What is drawn of a tenth, a name that each district has, and a zip code.
    let bad: u64 = tpcc.value("SELECT COUNT(*) FROM customer WHERE c_credit = 'BC'").parse().unwrap();
    assert!((2700..3300).contains(&bad), "{bad}");
    assert_eq!(tpcc.value("SELECT COUNT(DISTINCT c_d_id) FROM customer WHERE c_last = 'BARBARBAR'"), "10");
    assert_eq!(tpcc.value("SELECT COUNT(*) FROM customer WHERE c_zip NOT REGEXP '^[0-9]{4}11111$'"), "0");
    let indexes = "SELECT COUNT(DISTINCT INDEX_NAME) FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE()";
    assert_eq!(
        tpcc.value(format!("{indexes} AND INDEX_NAME <> 'PRIMARY' AND TABLE_NAME IN ('customer', 'orders')")),
        "2"
    );
}

fn run_is_told(tpcc: &Tpcc<'_>, report: &Value) {
    assert_eq!(
        (&report["bench"], &report["load"], &report["warehouses"]),
        (&"tpcc run".into(), &"closed".into(), &1.into())
    );
    let runs = report["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 2);
    let mut done = 0;
    for run in runs {
        assert_eq!(run["new_orders"].as_array().unwrap().len(), 3);
        let shares = ["new_order", "payment", "order_status", "delivery", "stock_level"]
            .map(|kind| number(&of_kind(run, kind)["share"]));
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9 && shares[1] > 0.4, "{run}");
        let order = of_kind(run, "new_order");
        done += order["done"].as_u64().unwrap();
        assert!(number(&order["service"]["p50_ms"]) > 0.0);
        assert!(number(&order["from_intended"]["p99_ms"]) >= number(&order["service"]["p50_ms"]));
        assert!(order["errors"].as_array().unwrap().is_empty(), "{run}");
        assert!(number(&run["nopm"]) > 0.0 && number(&run["client"]["microseconds_per_transaction"]) > 0.0);
    }
    // All orders that came in are those that were done and not rolled back, but for those at the edges of what was measured.
    let inserted: u64 = tpcc.value("SELECT SUM(d_next_o_id) - 30010 FROM district").parse().unwrap();
    assert!(inserted <= done + 8 && inserted * 10 > done * 9, "{inserted} of {done}");
    let measures = report["measures"].as_array().unwrap();
    let names: Vec<_> = measures.iter().map(|measure| measure["name"].as_str().unwrap()).collect();
    assert_eq!(names[..3], ["NOPM", "New-Order p90", "New-Order p99"]);
    assert!(measures[0]["values"].as_array().unwrap().len() == 2 && !measures[0]["interval"].is_null());
    let card = report["card"].as_array().unwrap();
    let says = |words: &str| {
        card.iter().any(|line| line["is_kept"] == false && line["text"].as_str().unwrap().contains(words))
    };
    assert!(
        says("one warehouse only") && says("innodb_flush_log_at_trx_commit is 2") && says("no keying"),
        "{card:?}"
    );
}

/// It needs no network and is not wider than a phone, on light paper and on dark.
fn page_is_readable(dir: &Path, page: &Path) {
    let mut browser = Browser::open(dir, &format!("file://{}", page.display()));
    browser.wait_for("body", "Compliance card");
    browser.assert_fits();
    browser.wait_for("body", "New-Orders a minute, second by second");
    assert!(browser.value("document.querySelectorAll('path.curve').length").as_u64().unwrap() > 5);
}

fn sweep_has_a_curve(tpcc: &Tpcc<'_>) {
    let report = tpcc.json("run --sweep 1,3 --seconds 1 --warm-up 200ms");
    let runs = report["runs"].as_array().unwrap();
    assert_eq!(runs.iter().map(|run| run["connections"].as_u64().unwrap()).collect::<Vec<_>>(), [1, 3]);
    let measures = report["measures"].as_array().unwrap();
    assert!(measures.iter().any(|measure| measure["name"] == "Payment p90, 3 connections"), "{report}");
}

/// A result differs from itself in nothing, and from one of half the throughput in that.
fn results_are_compared(dir: &Path, result: &str) {
    let with_throughput = |values: [f64; 2], name: &str| {
        let mut report: Value = serde_json::from_str(result).unwrap();
        report["measures"][0]["values"] = values.as_slice().into();
        let file = dir.join(name);
        fs::write(&file, report.to_string()).unwrap();
        file
    };
    let compare = |a: &Path, b: &Path| run(drover("bench compare --json").args([a, b]));
    let (whole, half) =
        (with_throughput([1000.0, 1010.0], "a.json"), with_throughput([500.0, 505.0], "b.json"));
    let same = compare(&whole, &whole).done().json();
    assert_eq!(same["measures"][0]["verdict"], "same", "{same}");
    // Of so few repeats some are too far apart to tell anything.
    let nothing_claimed = |verdict: &Value| verdict == "same" || verdict == "too_few_repeats";
    assert!(
        same["measures"].as_array().unwrap().iter().all(|measure| nothing_claimed(&measure["verdict"])),
        "{same}"
    );
    let wide = compare(
        &with_throughput([16410.0, 31455.0], "c.json"),
        &with_throughput([15555.0, 31455.0], "d.json"),
    )
    .done()
    .json();
    assert_eq!(wide["measures"][0]["verdict"], "too_few_repeats", "{wide}");
    assert!(number(&wide["measures"][0]["change"]["low"]) > -1.0, "{wide}");
    let told = run(drover("bench compare").args([dir.join("c.json"), dir.join("d.json")])).done().stdout;
    let line = told.lines().next().unwrap();
    assert!(line.contains("too few repeats to tell") && !line.contains(" % to "), "{told}");
    let worse = compare(&whole, &half).found(&["worse"]).json();
    assert_eq!(worse["measures"][0]["verdict"], "worse", "{worse}");
}

/// What is done to freshly loaded tables, what undoes it, and the conditions that it violates. `kept` holds rows meanwhile.
const VIOLATIONS: [(&str, &str, &[&str]); 19] = [
    ("UPDATE warehouse SET w_ytd = w_ytd + 1", "UPDATE warehouse SET w_ytd = w_ytd - 1", &["1", "8"]),
    (
        "UPDATE district SET d_next_o_id = 3000 WHERE d_id = 3",
        "UPDATE district SET d_next_o_id = 3001 WHERE d_id = 3",
        &["2"],
    ),
    (
        "DELETE FROM new_orders WHERE no_d_id = 2 AND no_o_id = 2500",
        "INSERT INTO new_orders (no_o_id, no_d_id, no_w_id) VALUES (2500, 2, 1)",
        &["3", "5", "11"],
    ),
    (
        "UPDATE orders SET o_ol_cnt = o_ol_cnt + 1 WHERE o_d_id = 4 AND o_id = 10",
        "UPDATE orders SET o_ol_cnt = o_ol_cnt - 1 WHERE o_d_id = 4 AND o_id = 10",
        &["4", "6"],
    ),
    (
        "CREATE TABLE kept AS SELECT * FROM orders WHERE o_d_id = 1 AND o_id = 5; UPDATE orders SET o_carrier_id = NULL WHERE o_d_id = 1 AND o_id = 5",
        "REPLACE INTO orders SELECT * FROM kept; DROP TABLE kept",
        &["5", "7"],
    ),
    (
        "UPDATE orders SET o_ol_cnt = o_ol_cnt + IF(o_id = 7, 1, -1) WHERE o_d_id = 9 AND o_id IN (7, 8)",
        "UPDATE orders SET o_ol_cnt = o_ol_cnt - IF(o_id = 7, 1, -1) WHERE o_d_id = 9 AND o_id IN (7, 8)",
        &["6"],
    ),
    (
        "CREATE TABLE kept AS SELECT * FROM order_line WHERE ol_d_id = 1 AND ol_o_id = 5; \
         UPDATE order_line SET ol_delivery_d = NULL WHERE ol_d_id = 1 AND ol_o_id = 5 AND ol_number = 1",
        "REPLACE INTO order_line SELECT * FROM kept; DROP TABLE kept",
        &["7"],
    ),
    (
        "INSERT INTO history (h_w_id, h_amount) VALUES (1, 5)",
        "DELETE FROM history WHERE h_c_id IS NULL",
        &["8"],
    ),
    (
        "UPDATE history SET h_d_id = 2 WHERE h_c_d_id = 1 AND h_c_id = 1",
        "UPDATE history SET h_d_id = 1 WHERE h_c_d_id = 1 AND h_c_id = 1",
        &["9"],
    ),
    (
        "UPDATE customer SET c_balance = c_balance + 1, c_ytd_payment = c_ytd_payment - 1 WHERE c_d_id = 5 AND c_id = 6",
        "UPDATE customer SET c_balance = -10, c_ytd_payment = 10 WHERE c_d_id = 5 AND c_id = 6",
        &["10"],
    ),
    (
        "CREATE TABLE kept AS SELECT * FROM orders WHERE o_d_id = 6 AND o_id = 1; \
         CREATE TABLE kept_lines AS SELECT * FROM order_line WHERE ol_d_id = 6 AND ol_o_id = 1; \
         DELETE FROM orders WHERE o_d_id = 6 AND o_id = 1; DELETE FROM order_line WHERE ol_d_id = 6 AND ol_o_id = 1",
        "INSERT INTO orders SELECT * FROM kept; INSERT INTO order_line SELECT * FROM kept_lines; DROP TABLE kept, kept_lines",
        &["11"],
    ),
    (
        "UPDATE customer SET c_ytd_payment = c_ytd_payment + 1 WHERE c_d_id = 5 AND c_id = 7",
        "UPDATE customer SET c_ytd_payment = 10 WHERE c_d_id = 5 AND c_id = 7",
        &["12"],
    ),
    (
        "UPDATE stock SET s_ytd = 1 WHERE s_i_id = 5",
        "UPDATE stock SET s_ytd = 0 WHERE s_i_id = 5",
        &["s_ytd"],
    ),
    (
        "UPDATE stock SET s_order_cnt = 1 WHERE s_i_id = 5",
        "UPDATE stock SET s_order_cnt = 0 WHERE s_i_id = 5",
        &["s_order_cnt"],
    ),
    (
        "UPDATE stock SET s_remote_cnt = 1 WHERE s_i_id = 5",
        "UPDATE stock SET s_remote_cnt = 0 WHERE s_i_id = 5",
        &["s_remote_cnt"],
    ),
    (
        "UPDATE customer SET c_payment_cnt = 2 WHERE c_d_id = 8 AND c_id = 9",
        "UPDATE customer SET c_payment_cnt = 1 WHERE c_d_id = 8 AND c_id = 9",
        &["c_payment_cnt"],
    ),
    (
        "UPDATE customer SET c_delivery_cnt = 1 WHERE c_d_id = 8 AND c_id = 9",
        "UPDATE customer SET c_delivery_cnt = 0 WHERE c_d_id = 8 AND c_id = 9",
        &["c_delivery_cnt"],
    ),
    (
        "CREATE TABLE kept AS SELECT * FROM item WHERE i_id = 7; DELETE FROM item WHERE i_id = 7",
        "INSERT INTO item SELECT * FROM kept; DROP TABLE kept",
        &["rows"],
    ),
    // What is NULL is nothing that could be the same.
    (
        "UPDATE customer SET c_balance = NULL WHERE c_d_id = 5 AND c_id = 8",
        "UPDATE customer SET c_balance = -10 WHERE c_d_id = 5 AND c_id = 8",
        &["10", "12"],
    ),
];

fn each_planted_violation_is_named(flavour: Flavour) {
    let tpcc = Tpcc { server: source(flavour), schema: "tpcc_planted" };
    tpcc.run("load -w 1").done();
    for (plant, repair, expected) in VIOLATIONS {
        tpcc.sql(plant);
        assert_eq!(tpcc.violated(), expected, "{plant}");
        tpcc.sql(repair);
    }
    assert!(tpcc.violated().is_empty());
    tpcc.sql(
        "UPDATE customer SET c_ytd_payment = c_ytd_payment + 1 WHERE c_d_id = 5 AND c_id BETWEEN 11 AND 17",
    );
    let output = tpcc.run("check").found(&["violated  12 in 7 rows", "and 2 more"]);
    let example =
        "customer c_w_id 1, c_d_id 5, c_id 11: c_balance + c_ytd_payment is 1.00, sum(ol_amount) is 0.00";
    assert!(output.stdout.contains(example), "{output}");
    tpcc.run("clean").done();
}

fn a_seed_loads_the_same_rows_however_many_threads_there_are(flavour: Flavour) {
    let tpcc = Tpcc { server: source(flavour), schema: "tpcc_seeds" };
    let tables = "warehouse, district, customer, new_orders, orders, order_line, item, stock";
    // The rows of `history` have no order.
    let digest = |tpcc: &Tpcc<'_>| {
        let sums = tpcc.sql(format!("CHECKSUM TABLE {tables}"));
        (
            sums,
            tpcc.value(
                "SELECT SUM(CRC32(CONCAT_WS('#', h_c_id, h_c_d_id, h_d_id, h_amount, h_data))) FROM history",
            ),
        )
    };
    tpcc.run("load -w 1 --threads 1 --seed 5").done();
    let first = digest(&tpcc);
    tpcc.run("load -w 1 --threads 4 --seed 5 --drop-existing").done();
    assert_eq!(digest(&tpcc), first);
    tpcc.run("load -w 1 --threads 4 --seed 6 --drop-existing").done();
    let other = digest(&tpcc);
    let changed = first.0.iter().zip(&other.0).filter(|(one, other)| one != other).count();
    // Those that only have keys are the same.
    assert_eq!((changed, first.1 == other.1), (7, false));
    tpcc.run("clean").done();
}

fn a_server_that_stands_still_shows_in_an_open_loop(flavour: Flavour) {
    let server = start_unsynced(flavour, &[]);
    let tpcc = Tpcc { server: &server, schema: "tpcc" };
    tpcc.run("load -w 1").done();
    let stopped_amid = |line: &str| {
        let runs = || tpcc.value("SELECT value FROM drover_tpcc WHERE name = 'runs'");
        let before = runs();
        let running =
            Running::start(&mut tpcc.command(&format!("run {line} --seconds 6 --warm-up 0 --json")));
        wait_until("the run has begun", || runs() != before);
        sleep(Duration::from_secs(2));
        signal(&server, "STOP");
        sleep(Duration::from_secs(2));
        signal(&server, "CONT");
        running.finish().done().json()["runs"][0].clone()
    };
    let open = stopped_amid("-c 4 --rate 50");
    let order = of_kind(&open, "new_order");
    assert!(number(&order["from_intended"]["p99_ms"]) > 1000.0, "{order}");
    assert!(number(&order["from_intended"]["p90_ms"]) > 500.0, "{order}");
    let closed = stopped_amid("-c 2");
    let order = of_kind(&closed, "new_order");
    assert!(number(&order["service"]["p90_ms"]) < 500.0, "{order}");
    let longest = |kind: &str| number(&of_kind(&closed, kind)["service"]["max_ms"]);
    let longest = ["new_order", "payment", "order_status", "delivery", "stock_level"].map(longest);
    assert!(longest.iter().any(|ms| *ms > 1500.0), "{closed}");
}

fn signal(server: &Server, name: &str) {
    let status =
        Command::new("sh").args(["-c", &format!("kill -s {name} {}", server.pid())]).status().unwrap();
    assert!(status.success());
}

fn a_load_that_was_not_finished_is_told(flavour: Flavour) {
    let tpcc = Tpcc { server: source(flavour), schema: "tpcc_broken_off" };
    let tables = "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'tpcc_broken_off'";
    let begun = || {
        let running = Running::start(&mut tpcc.command("load -w 3 --threads 2 -q"));
        wait_until("all tables are there", || client::value(tpcc.server, tables) == "10");
        running
    };
    // Ctrl-C leaves nothing behind.
    let running = begun();
    running.signal("INT");
    running.finish().refused(&["stopped by a signal"]);
    assert_eq!(client::value(tpcc.server, tables), "0");

    let running = begun();
    running.signal("KILL");
    assert_eq!(running.finish().code, None);
    for line in ["run -c 1 --seconds 1", "check"] {
        tpcc.run(line).refused(&["its load was not finished", "--drop-existing"]);
    }
    tpcc.run("load -w 1").refused(&["holds such tables already", "drover_tpcc", "--drop-existing"]);
    tpcc.run("load -w 1 --drop-existing").done();
    assert!(tpcc.violated().is_empty());
    // The load that was killed had made the schema.
    assert_eq!(tpcc.json("clean")["dropped_schema"], true);
}

fn others_tables_are_left_alone(flavour: Flavour) {
    let tpcc = Tpcc { server: source(flavour), schema: "tpcc_of_others" };
    tpcc.run("check").refused(&["there is no schema tpcc_of_others", "load"]);
    client::sql(
        tpcc.server,
        "CREATE DATABASE tpcc_of_others; CREATE TABLE tpcc_of_others.item (i_id INT); INSERT INTO tpcc_of_others.item VALUES (1)",
    );
    tpcc.run("load -w 1").refused(&["holds such tables already: item", "--drop-existing"]);
    tpcc.run("clean").refused(&["holds nothing that `drover bench tpcc load` made"]);
    tpcc.run("run -c 1 --seconds 1").refused(&["was not loaded by"]);
    assert_eq!(tpcc.value("SELECT COUNT(*) FROM item"), "1");
    tpcc.sql("DROP TABLE item; CREATE TABLE mine (id INT)");
    tpcc.run("load -w 1").done();
    let cleaned = tpcc.json("clean");
    assert_eq!(
        (&cleaned["dropped_schema"], cleaned["tables"].as_array().unwrap().len()),
        (&false.into(), 10)
    );
    assert_eq!(tpcc.sql("SHOW TABLES"), [["mine"]]);
    let nowhere = drover_on(tpcc.server, "bench tpcc check").output().unwrap();
    assert_eq!(nowhere.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&nowhere.stderr).contains("-D SCHEMA"));
}

fn a_server_that_takes_no_files(flavour: Flavour) {
    let server = start(flavour, &["--local-infile=0"]);
    let tpcc = Tpcc { server: &server, schema: "tpcc" };
    let output = tpcc.run("load -w 1").done();
    assert!(output.stderr.contains("local_infile is OFF"), "{output}");
    tpcc.run("check").done();
}

/// Others hold the rows that most transactions change: all connections have come to one of these before the time of measuring.
fn nothing_measured(flavour: Flavour) {
    let server = start_unsynced(flavour, &["--innodb-lock-wait-timeout=1"]);
    let tpcc = Tpcc { server: &server, schema: "tpcc_locked" };
    tpcc.run("load -w 1").done();
    let mut holder = client::Session::open(&server);
    holder.run("BEGIN");
    holder.run("UPDATE tpcc_locked.warehouse SET w_tax = w_tax + 0.1");
    holder.run("UPDATE tpcc_locked.district SET d_tax = d_tax + 0.1");
    tpcc.run("run -q --seconds 1 --warm-up 3s --connections 2").refused(&[
        "nothing was measured",
        "hint: SHOW PROCESSLIST",
        "--seconds",
    ]);
}
