//! What `drover doctor` says of what another version does not have.

mod old;
mod snapshot;

use std::collections::BTreeSet;
use std::path::Path;

use drover_doctor::target::{self, Snapshot};
use drover_sandbox::{Flavour, Server, ServerBinaries};
use serde_json::Value;

use super::{check, doctor, findings, state};
use crate::client::sql;
use crate::drover::{drover, drover_on, run};
use crate::servers::{is_wanted, on_both, place, start, start_at};

on_both!(another_version);

const RULES: [&str; 9] = [
    "upgrade.variables",
    "upgrade.sql_mode",
    "upgrade.accounts",
    "upgrade.words",
    "upgrade.syntax",
    "upgrade.types",
    "upgrade.engines",
    "upgrade.collations",
    "upgrade.defaults",
];

/// What stands in the way of another version is found, and nothing else; what an account may not see is unknown.
fn another_version(flavour: Flavour) {
    let (own, options): (_, &[&str]) = match flavour {
        // 11.8 takes the first for nothing, and does not start with the second.
        Flavour::MariaDb => {
            ("mariadb-10.11", &["--innodb-change-buffering=none", "--innodb-change-buffer-max-size=30"])
        }
        Flavour::MySql => ("mysql-9.7", &[]),
    };
    let server = &mut start(flavour, options);
    sql(
        server,
        "CREATE DATABASE shop; CREATE TABLE shop.plain (id BIGINT PRIMARY KEY, name VARCHAR(20) CHARACTER SET latin1)",
    );
    let same = doctor(server, &format!("upgrade --target {own}"));
    for rule in RULES {
        assert_eq!(state(&same, rule), "fine", "{}", check(&same, rule));
    }
    match flavour {
        Flavour::MariaDb => from_mariadb(server),
        Flavour::MySql => from_mysql(server),
    }
    sql(server, "CREATE USER doctor_nobody@localhost IDENTIFIED BY 'a-secret'");
    let unseen = doctor(server, "upgrade -u doctor_nobody --password=a-secret --target mariadb-11.8");
    for rule in [
        "upgrade.sql_mode",
        "upgrade.accounts",
        "upgrade.words",
        "upgrade.types",
        "upgrade.engines",
        "upgrade.collations",
    ] {
        assert!(!check(&unseen, rule)["unknown"].as_array().unwrap().is_empty(), "{}", check(&unseen, rule));
        assert_ne!(state(&unseen, rule), "fine", "{}", check(&unseen, rule));
    }
    let none =
        run(&mut drover("--json doctor upgrade --target mysql-9.7 --no-server --interval 0s")).done().json();
    RULES.iter().for_each(|rule| assert_eq!(state(&none, rule), "unknown", "{none}"));
    if flavour == Flavour::MySql {
        starts_with_any_persisted_variable(server);
    }
}

/// What the check says of those: an unknown one is passed over.
fn starts_with_any_persisted_variable(server: &mut Server) {
    let file = server.datadir().join("mysqld-auto.cnf");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("replica_parallel_workers"), "{text}");
    std::fs::write(&file, text.replace("replica_parallel_workers", "nobody_knows_this")).unwrap();
    server.restart().unwrap();
}

fn from_mariadb(server: &Server) {
    sql(
        server,
        "CREATE TABLE shop.things (id UUID PRIMARY KEY, ip INET6, `rank` INT, vector INT, note VARCHAR(20) COLLATE utf8mb4_uca1400_ai_ci) \
         ENGINE = Aria;
         CREATE SEQUENCE shop.numbers;
         CREATE TABLE shop.prices (price INT) WITH SYSTEM VERSIONING;
         SET sql_mode = 'EMPTY_STRING_IS_NULL,NO_AUTO_CREATE_USER';
         CREATE FUNCTION shop.one() RETURNS INT DETERMINISTIC RETURN 1;
         CREATE USER seller@localhost IDENTIFIED BY 'a-secret', host@localhost IDENTIFIED VIA unix_socket",
    );
    // The newest known version of the vendor is what an examination compares with.
    let report = doctor(server, "upgrade");
    expect(
        &report,
        "upgrade.variables",
        &[("yellow", "innodb_change_buffer_max_size"), ("note", "innodb_change_buffering")],
    );
    for rule in
        ["upgrade.sql_mode", "upgrade.accounts", "upgrade.types", "upgrade.engines", "upgrade.collations"]
    {
        assert_eq!(state(&report, rule), "fine", "{}", check(&report, rule));
    }
    expect(&report, "upgrade.defaults", &[("note", "character_set_collations: none here, utf8mb3=")]);
    let report = doctor(server, "upgrade --target mysql-9.7");
    expect(&report, "upgrade.variables", &[("yellow", "innodb_log_file_size at the start")]);
    expect(&report, "upgrade.sql_mode", &[("yellow", "routine shop.one"), ("note", "NO_AUTO_CREATE_USER")]);
    expect(&report, "upgrade.accounts", &[("yellow", "seller@localhost"), ("yellow", "host@localhost")]);
    expect(&report, "upgrade.words", &[("yellow", "RANK: column shop.things.rank")]);
    expect(&report, "upgrade.types", &[("yellow", "column shop.things.id"), ("yellow", "inet6")]);
    expect(
        &report,
        "upgrade.engines",
        &[("yellow", "ARIA"), ("yellow", "SEQUENCE"), ("yellow", "table shop.prices")],
    );
    expect(&report, "upgrade.collations", &[("yellow", "column shop.things.note")]);
    expect(&report, "upgrade.defaults", &[("note", "performance_schema: OFF here, ON there")]);
    assert!(!report.to_string().contains("a-secret"));
    // A bundle can be compared with any version.
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("bundle.json");
    run(&mut drover_on(server, &format!("--json doctor collect {} --interval 0s", file.display()))).done();
    let elsewhere =
        run(&mut drover(&format!("--json doctor upgrade --target mysql-9.7 --root {}", file.display())))
            .json();
    assert_eq!(elsewhere["checks"], report["checks"]);
}

fn from_mysql(server: &Server) {
    let report = doctor(server, "upgrade");
    for rule in RULES {
        assert_eq!(state(&report, rule), "not_here", "{}", check(&report, rule));
    }
    sql(
        server,
        "SET PERSIST replica_parallel_workers = 3;
         CREATE TABLE shop.things (id INT PRIMARY KEY, `offset` INT, doc JSON, place GEOMETRYCOLLECTION, note VARCHAR(20) \
         CHARACTER SET gb18030);
         SET sql_mode = 'TIME_TRUNCATE_FRACTIONAL';
         CREATE TRIGGER shop.on_plain BEFORE INSERT ON shop.plain FOR EACH ROW SET NEW.id = 1;
         SET sql_mode = DEFAULT;
         CREATE USER seller@localhost IDENTIFIED BY 'a-secret'",
    );
    let report = doctor(server, "upgrade --target mariadb-11.8");
    expect(
        &report,
        "upgrade.variables",
        &[("yellow", "innodb_redo_log_capacity"), ("note", "replica_parallel_workers")],
    );
    expect(&report, "upgrade.sql_mode", &[("note", "trigger shop.on_plain")]);
    expect(&report, "upgrade.accounts", &[("yellow", "seller@localhost")]);
    expect(&report, "upgrade.words", &[("yellow", "OFFSET: column shop.things.offset")]);
    expect(&report, "upgrade.types", &[("yellow", "geometrycollection"), ("note", "json")]);
    assert_eq!(state(&report, "upgrade.engines"), "fine");
    expect(&report, "upgrade.collations", &[("yellow", "no character set gb18030")]);
    expect(&report, "upgrade.defaults", &[("note", "innodb_snapshot_isolation")]);
    assert!(!report.to_string().contains("a-secret"));
}

/// Findings of these weights that tell these texts are there.
fn expect(report: &Value, rule: &str, expected: &[(&str, &str)]) {
    let found = findings(report, rule);
    for (weight, text) in expected {
        let is_it = |(found, whole): &(String, String)| found == weight && whole.contains(text);
        assert!(found.iter().any(is_it), "{rule}: no {weight} finding with {text}: {found:#?}");
    }
}

#[test]
fn a_version_that_nobody_knows() {
    let output = run(&mut drover("doctor upgrade --no-server --target mysql-1.0"));
    assert_eq!(output.code, Some(2));
    assert!(output.stderr.contains("mariadb-10.11, mariadb-11.8, mysql-9.7"), "{}", output.stderr);
}

/// The servers that snapshots are kept of, as far as they are wanted.
fn at_hand() -> Vec<Server> {
    let place = place("mariadb-11.8");
    let servers = [(Flavour::MariaDb, None), (Flavour::MariaDb, Some(place)), (Flavour::MySql, None)];
    let wanted = servers.into_iter().filter(|(flavour, _)| is_wanted(*flavour));
    wanted.map(|(flavour, place)| start_at(flavour, place, &[])).collect()
}

/// With `DROVER_SNAPSHOT` the snapshots are written instead: of `all` servers, or of that in a directory.
#[test]
fn the_snapshots_are_those_of_the_servers() {
    let write = std::env::var("DROVER_SNAPSHOT").ok();
    let servers = match write.as_deref() {
        None | Some("all") => at_hand(),
        Some(place) => {
            let found = ServerBinaries::find(None, Some(Path::new(place))).unwrap();
            vec![start_at(found.flavour(), Some(place.into()), &[])]
        }
    };
    let mut variables: BTreeSet<String> = BTreeSet::new();
    let mut collations: BTreeSet<String> = BTreeSet::new();
    for known in target::known().unwrap() {
        variables.extend(known.variables.iter().cloned());
        collations.extend(known.collations.iter().cloned());
    }
    for server in &servers {
        let mut connection = snapshot::connect(server);
        variables.extend(snapshot::own_variables(&mut connection));
        collations.extend(snapshot::own_collations(&mut connection));
    }
    for server in &servers {
        let fresh = snapshot::take(server, &variables, &collations);
        match write {
            Some(_) => keep(&fresh),
            None => compare(fresh),
        }
    }
}

fn keep(fresh: &Snapshot) {
    let file = format!("{}/../doctor/data/{}.json", env!("CARGO_MANIFEST_DIR"), fresh.name());
    std::fs::write(file, serde_json::to_string_pretty(fresh).unwrap() + "\n").unwrap();
}

/// They may differ in the patch version, and in nothing else.
fn compare(fresh: Snapshot) {
    let kept = target::known().unwrap().iter().find(|kept| kept.name() == fresh.name());
    let kept = kept.unwrap_or_else(|| panic!("no snapshot of {} is kept", fresh.name()));
    let fresh = Snapshot { version: kept.version.clone(), ..fresh };
    let text = |snapshot: &Snapshot| serde_json::to_string_pretty(snapshot).unwrap();
    let (old, new) = (text(kept), text(&fresh));
    let only = |text: &str, other: &str| -> Vec<String> {
        let other: BTreeSet<_> = other.lines().collect();
        text.lines().filter(|line| !other.contains(line)).map(|line| line.trim().to_owned()).collect()
    };
    assert!(
        *kept == fresh,
        "the server is another one than its snapshot {}: scripts/snapshot-target takes it anew\nno longer: {:?}\nnew: {:?}",
        kept.name(),
        only(&old, &new),
        only(&new, &old)
    );
}
