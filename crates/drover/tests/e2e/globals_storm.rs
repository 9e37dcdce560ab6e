//! What each variable of a session is at its extremes, as a global setting of others: a storm picks some of the server's own list, and
//! nothing of what comes over may be another. `DROVER_STORM_ROUNDS` goes further than `make test` does.

use std::io::Write as _;

use drover_sandbox::{Flavour, Server};

use crate::chance::{Chance, rounds};
use crate::client::{Session, sql, try_sql};
use crate::compare;
use crate::drover::{copy, dump, restore, run, verify};
use crate::globals::SHOP;
use crate::servers::{on_both, start_unsynced};

on_both!(a_storm_of_settings);

/// What no session can help, each with the reason.
const NOT_OURS: [(&str, &str); 2] = [
    ("max_allowed_packet", "longer rows do not come at all, and no session may set it"),
    (
        "innodb_default_encryption_key_id",
        "what a target has new tables encrypted with is its own; verification says so",
    ),
];

/// At both of its ends MariaDB 10.11.19 ends by signal 11 when anybody connects, in `my_malloc`, where the first memory of a session is too
/// much already: always at the upper one, which it takes for -1, and now and then at the lower one.
const ENDS_THE_SERVER: &str = "max_session_mem_used";

struct ToldIfItFails(String);

impl Drop for ToldIfItFails {
    fn drop(&mut self) {
        if std::thread::panicking() {
            drop(writeln!(std::io::stderr(), "{}", self.0));
        }
    }
}

/// A variable and the values at its ends.
struct Variable {
    name: String,
    extremes: Vec<String>,
}

fn a_storm_of_settings(flavour: Flavour) {
    let options = ["--log-bin-trust-function-creators=1", "--local-infile=1"];
    let servers = [&start_unsynced(flavour, &options), &start_unsynced(flavour, &options)];
    sql(servers[0], SHOP);
    let before = compare::everything(servers[0], "shop");
    let rows = compare::rows(servers[0], "shop");
    let mut variables = variables(servers[0]);
    let mut chance = Chance::new(flavour as u64);
    let mut calm = servers.map(Session::open);
    calm.iter_mut().for_each(|session| session.run("SET SESSION wait_timeout = 86400"));
    for round in 0..rounds(4) {
        let mut settings = Vec::new();
        let many = 1 + chance.below(3);
        while settings.len() < many {
            let at = chance.below(variables.len());
            let extremes: Vec<_> = variables[at].extremes.iter().map(String::as_str).collect();
            let (name, value) = (variables[at].name.clone(), chance.one_of(&extremes).to_owned());
            // Set twice, what it was would be forgotten.
            settings.retain(|(other, _)| *other != name);
            if can_be_set(servers[0], &name, &value) {
                settings.push((name, value));
            } else {
                variables.swap_remove(at);
            }
        }
        let _told = ToldIfItFails(format!("round {round}: {settings:?}"));
        for session in &mut calm {
            for (name, value) in &settings {
                session.run(&format!("SET @was_{name} = @@GLOBAL.{name}"));
                session.run(&format!("SET GLOBAL {name} = {value}"));
            }
        }
        bring_over(servers);
        for session in &mut calm {
            for (name, _) in &settings {
                session.run(&format!("SET GLOBAL {name} = @was_{name}"));
            }
        }
        compare::assert_same(&before, &compare::everything(servers[1], "shop"));
        compare::assert_same(&rows, &compare::rows(servers[1], "copied"));
        sql(servers[1], "DROP DATABASE shop; DROP DATABASE copied");
    }
}

fn bring_over([source, target]: [&Server; 2]) {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("dump");
    run(&mut dump(source, "shop", &out)).done();
    run(&mut restore(target, &out, "")).done();
    run(&mut verify(target, &out, "")).done();
    run(&mut copy(source, target, "shop --into shop=copied", &dir.path().join("state"))).done();
}

/// All that have a smallest and a largest value, a list of values, or are on or off.
fn variables(server: &Server) -> Vec<Variable> {
    let list = match server.flavour() {
        Flavour::MariaDb => {
            "SELECT LOWER(VARIABLE_NAME), COALESCE(NUMERIC_MIN_VALUE, ''), COALESCE(NUMERIC_MAX_VALUE, ''), COALESCE(ENUM_VALUE_LIST, '') \
             FROM information_schema.SYSTEM_VARIABLES WHERE VARIABLE_SCOPE = 'SESSION' AND READ_ONLY = 'NO' \
             AND VARIABLE_TYPE NOT IN ('SET', 'FLAGSET')"
        }
        Flavour::MySql => {
            "SELECT i.VARIABLE_NAME, IF(i.MIN_VALUE = i.MAX_VALUE, '', i.MIN_VALUE), IF(i.MIN_VALUE = i.MAX_VALUE, '', i.MAX_VALUE), \
             IF(g.VARIABLE_VALUE IN ('ON', 'OFF'), 'ON,OFF', '') FROM performance_schema.variables_info i \
             JOIN performance_schema.global_variables g USING (VARIABLE_NAME)"
        }
    };
    let variable = |row: Vec<String>| {
        let [name, least, most, words] = <[String; 4]>::try_from(row).unwrap();
        let words = words.split(',').map(|word| format!("'{word}'"));
        let is_meant = |value: &String| !["", "''"].contains(&&**value) && name != ENDS_THE_SERVER;
        let extremes: Vec<_> = [least, most].into_iter().chain(words).filter(is_meant).collect();
        Variable { name, extremes }
    };
    let is_ours = |variable: &Variable| {
        !variable.extremes.is_empty() && NOT_OURS.iter().all(|(name, _)| *name != variable.name)
    };
    sql(server, list).into_iter().map(variable).filter(is_ours).collect()
}

/// Whether sessions have it, and new ones this value.
fn can_be_set(server: &Server, name: &str, value: &str) -> bool {
    let there_and_back = format!(
        "SELECT @@SESSION.{name}; SET @was = @@GLOBAL.{name}; SET GLOBAL {name} = {value}; SET GLOBAL {name} = @was"
    );
    try_sql(server, &there_and_back).is_ok()
}
