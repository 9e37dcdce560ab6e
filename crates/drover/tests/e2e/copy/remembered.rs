//! What a first run of a copy or a restore reported of the target, a resumed one reports, too, wherever the first one was killed.

use std::path::Path;
use std::time::Duration;

use drover_sandbox::Server;
use serde_json::Value;

use crate::across::{both, make};
use crate::client::sql;
use crate::drover::{Output, Running, copy_as, dump, restore, run, verify};

const KILLS: u64 = 12;

/// A table that the other vendor refuses, and what names it.
const ORDERS: &str = "CREATE TABLE orders (id INT PRIMARY KEY, c INT, CONSTRAINT of_customer FOREIGN KEY (c) REFERENCES customers (id));
    INSERT INTO customers (id) VALUES (1); INSERT INTO orders VALUES (1, 1);
    CREATE TRIGGER counts BEFORE INSERT ON orders FOR EACH ROW SET @c = (SELECT COUNT(*) FROM customers);
    CREATE PROCEDURE forget() DELETE FROM customers; CREATE PROCEDURE plain() SELECT 'customers'";

/// What the other vendor cannot hold, or not as it is, and what it warns of.
fn lossy(server: &Server) -> &'static str {
    match server.flavour() {
        drover_sandbox::Flavour::MariaDb => {
            "CREATE SEQUENCE numbers;
             CREATE TABLE versioned (id INT PRIMARY KEY, v INT) WITH SYSTEM VERSIONING;
             INSERT INTO versioned VALUES (1, 1); UPDATE versioned SET v = 2;
             CREATE TABLE checked (id INT PRIMARY KEY, v VARCHAR(9), KEY of_v (v), CONSTRAINT odd CHECK (CHR(id) <> 'x'));
             CREATE TABLE customers (id INT PRIMARY KEY, v VARCHAR(9), k VARCHAR(90) AS (NATURAL_SORT_KEY(v)))"
        }
        drover_sandbox::Flavour::MySql => {
            "CREATE TABLE zeros (id INT PRIMARY KEY, d DOUBLE); INSERT INTO zeros VALUES (1, -0e0);
             CREATE TABLE keyed (id INT PRIMARY KEY, v VARCHAR(9), UNIQUE KEY lowered ((LOWER(v))));
             INSERT INTO keyed VALUES (1, 'A'), (2, 'B');
             CREATE TABLE checked (id INT PRIMARY KEY, v VARCHAR(9), CONSTRAINT odd CHECK (NOT IS_UUID(v)));
             CREATE PROCEDURE odd() SELECT * FROM keyed, LATERAL (SELECT keyed.id) AS x;
             CREATE TABLE customers (id INT PRIMARY KEY, v VARCHAR(40) DEFAULT (BIN_TO_UUID(UUID_TO_BIN(UUID()))))"
        }
    }
}

/// What the report says of the target beside how much there was to do.
fn told(output: &Output) -> Value {
    let report = output.json();
    let mut warnings: Vec<_> = report["warnings"].as_array().unwrap().clone();
    let of_run = ["all of it was there already", "the schema is not tried again"];
    warnings.retain(|warning| !of_run.iter().any(|words| warning.as_str().unwrap().starts_with(words)));
    let users = &report["users"]["not_held"];
    let listed = ["refused", "rewrites", "definers_changed", "events_off"].map(|name| report[name].clone());
    serde_json::json!([listed, warnings, users])
}

struct Two<'a> {
    source: &'a Server,
    target: &'a Server,
    writer: &'static str,
}

impl Two<'_> {
    fn copy(&self, options: &str, state: &Path) -> std::process::Command {
        let definer = if self.writer == "root" { "" } else { "--definer current-user" };
        let what = format!("told --skip-refused {definer} {options}");
        copy_as(("root", self.source), (self.writer, self.target), &what, state)
    }

    fn copied(&self, options: &str, state: &Path) -> Output {
        run(&mut self.copy(&format!("--json {options}"), state))
    }

    /// A run that is killed after so many milliseconds, if it has not ended by then.
    fn killed(&self, after: u64, state: &Path) {
        let mut copying = Running::start(&mut self.copy("--threads 1", state));
        let begun = std::time::Instant::now();
        while begun.elapsed() < Duration::from_millis(after) && !copying.has_ended() {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

#[test]
fn what_the_target_lacks() {
    resumed_as("root");
}

/// Who has no schema to try things in tries them in the empty one: that can be done once.
#[test]
fn what_a_trial_found_in_the_schema_itself() {
    resumed_as("teller");
}

fn resumed_as(writer: &'static str) {
    let Some([mariadb, mysql]) = both() else { return };
    for (source, target) in [(&mariadb, &mysql), (&mysql, &mariadb)] {
        make(source, "told", &format!("{}; {ORDERS}", lossy(source)));
        let (two, dir) = (Two { source, target, writer }, tempfile::tempdir().unwrap());
        let fresh =
            "DROP DATABASE IF EXISTS told; CREATE DATABASE told; DROP USER IF EXISTS teller@localhost;
                     CREATE USER teller@localhost; GRANT ALL ON told.* TO teller@localhost";
        let empty = || sql(target, if writer == "root" { "DROP DATABASE IF EXISTS told" } else { fresh });
        empty();
        let whole = dir.path().join("whole");
        let first = two.copied("", &whole).found(&["\"loses\": true"]);
        let told_first = told(&first);
        assert_ne!(first.json()["refused"], Value::Array(Vec::new()), "{first}");
        let again = two.copied("--resume", &whole).found(&["already"]);
        assert_eq!(told(&again), told_first);
        run(&mut verify(target, &whole, "")).found(&["not copied: refused: ", "difference"]);
        // The source has all of it: nothing has changed there.
        run(&mut verify(source, &whole, "--source")).done();
        for number in 0..KILLS {
            empty();
            let state = dir.path().join(number.to_string());
            two.killed(number * 61 % 500, &state);
            let resumed = two.copied("--resume", &state);
            assert_eq!(
                (resumed.code, told(&resumed)),
                (Some(1), told_first.clone()),
                "kill {number}: {resumed}"
            );
        }
        sql(source, "DROP DATABASE told");
        sql(target, "DROP DATABASE told");
    }
}

/// A foreign key to a table that is not there refuses every new row. It is left out, and the report says so.
#[test]
fn what_names_a_refused_table() {
    let Some([mariadb, mysql]) = both() else { return };
    for (source, target) in [(&mariadb, &mysql), (&mysql, &mariadb)] {
        make(source, "named", &format!("{}; {ORDERS}", lossy(source)));
        let dir = tempfile::tempdir().unwrap();
        run(&mut dump(source, "named", dir.path())).done();
        let restored = run(&mut restore(target, dir.path(), "--skip-refused"))
            .found(&["refused   table `named`.`customers`", "verified  identical"]);
        for lost in [
            "table `named`.`orders`: CONSTRAINT `of_customer` FOREIGN KEY (`c`) REFERENCES `customers` (`id`) is left out: table \
             `named`.`customers` cannot be made",
            "procedure `named`.`forget` and 1 more: table `named`.`customers` is left out",
        ] {
            assert!(restored.stderr.contains(lost), "no word of {lost}: {restored}");
        }
        assert!(!restored.stderr.contains("`plain`"), "{restored}");
        sql(target, "DROP TRIGGER named.counts; INSERT INTO named.orders VALUES (2, 2)");
        for server in [source, target] {
            sql(server, "DROP DATABASE named");
        }
    }
}

/// The moment at which all is done and nothing was said yet.
#[test]
fn killed_before_it_could_say_so() {
    let Some([source, target]) = both() else { return };
    make(&source, "told", lossy(&source));
    let two = Two { source: &source, target: &target, writer: "root" };
    let dir = tempfile::tempdir().unwrap();
    let mut copying = Running::start(&mut two.copy("--threads 1", dir.path()));
    while !dir.path().join("manifest.json").exists() {
        assert!(!copying.has_ended() || dir.path().join("manifest.json").exists(), "it failed");
        std::thread::yield_now();
    }
    copying.signal("KILL");
    copying.finish();
    two.copied("--resume", dir.path()).found(&["sequence `told`.`numbers`", "history (rows: 1)"]);
}
