//! Values of sql_mode that the other version does not know: the server's own, and those that programs are kept with.

use super::against::compare;
use super::inventory::{Inventory, Used, told};
use super::settings::{Setting, settings};
use crate::check::{Area, Check, Finding, Outcome, Weight};
use crate::checks::schemas::hidden;
use crate::evidence::Seen;
use crate::facts::Facts;
use crate::target::Snapshot;

pub(crate) const CHECK: Check = Check {
    rule: "upgrade.sql_mode",
    area: Area::Upgrade,
    looks_for: "values of sql_mode that the other version does not know, of the server and of its routines, triggers and events",
    needs: "the server's variables; information_schema.ROUTINES, TRIGGERS and EVENTS (SELECT, TRIGGER and EVENT on all schemas)",
    source: "a server of that version was asked for all modes that it knows (scripts/snapshot-target); MySQL manual, Server SQL Modes; \
             MariaDB documentation, SQL_MODE",
    refuted_by: "SET sql_mode with that value succeeds there",
    look,
};

const ROUTINES: &str = "SELECT SQL_MODE AS name, COUNT(*) AS many, MIN(CONCAT(ROUTINE_SCHEMA, '.', ROUTINE_NAME)) AS example FROM \
     information_schema.ROUTINES WHERE ROUTINE_SCHEMA NOT IN ('mysql', 'sys') GROUP BY SQL_MODE LIMIT 1000";
const TRIGGERS: &str = "SELECT SQL_MODE AS name, COUNT(*) AS many, MIN(CONCAT(TRIGGER_SCHEMA, '.', TRIGGER_NAME)) AS example FROM \
     information_schema.TRIGGERS WHERE TRIGGER_SCHEMA NOT IN ('mysql', 'sys') GROUP BY SQL_MODE LIMIT 1000";
const EVENTS: &str = "SELECT SQL_MODE AS name, COUNT(*) AS many, MIN(CONCAT(EVENT_SCHEMA, '.', EVENT_NAME)) AS example FROM \
     information_schema.EVENTS WHERE EVENT_SCHEMA NOT IN ('mysql', 'sys') GROUP BY SQL_MODE LIMIT 1000";

/// Modes without which all stays as it was, and why.
const HARMLESS: [(&str, &str); 13] = {
    const LISTED: &str = "what it stands for is listed beside it";
    [
        ("NO_AUTO_CREATE_USER", "no GRANT makes an account there in any case"),
        ("IGNORE_BAD_TABLE_OPTIONS", "only CREATE and ALTER TABLE look at it"),
        ("TIME_ROUND_FRACTIONAL", "fractions of seconds are always rounded there"),
        ("TIME_TRUNCATE_FRACTIONAL", "fractions of seconds are always cut there"),
        ("MSSQL", LISTED),
        ("POSTGRESQL", LISTED),
        ("DB2", LISTED),
        ("MAXDB", LISTED),
        ("MYSQL323", LISTED),
        ("MYSQL40", LISTED),
        ("NO_KEY_OPTIONS", "it only changed what SHOW CREATE TABLE prints"),
        ("NO_TABLE_OPTIONS", "it only changed what SHOW CREATE TABLE prints"),
        ("NO_FIELD_OPTIONS", "it only changed what SHOW CREATE TABLE prints"),
    ]
};

fn look(facts: &Facts) -> Seen<Outcome> {
    compare(
        facts,
        |facts| {
            let hidden = hidden(facts, &["SELECT", "TRIGGER", "EVENT"]);
            let programs = [("routine", ROUTINES), ("trigger", TRIGGERS), ("event", EVENTS)];
            (facts.variable("sql_mode"), settings(facts), Inventory::ask(facts, &programs, hidden))
        },
        |(server, settings, mut programs), target| {
            add_server(&server?, &settings, &mut programs);
            Ok(outcome(programs, target))
        },
    )
}

/// The server's own mode counts unless it is known to be the default: only what somebody has written down goes with an upgrade.
fn add_server(modes: &str, settings: &Seen<Vec<Setting>>, programs: &mut Inventory) {
    let is_set = |settings: &Vec<Setting>| settings.iter().any(|setting| setting.name == "sql_mode");
    if settings.as_ref().map_or(true, is_set) {
        let by = "server's setting";
        programs.used.push(Used {
            name: modes.into(),
            by,
            many: 1,
            example: "sql_mode".into(),
            ..Used::default()
        });
    }
}

fn outcome(programs: Inventory, target: &Snapshot) -> Outcome {
    let mut each = Inventory { used: Vec::new(), unknown: programs.unknown };
    for used in programs.used {
        let modes = used.name.split(',').filter(|mode| !mode.is_empty());
        each.used.extend(modes.map(|mode| Used { name: mode.to_ascii_uppercase(), ..used.clone() }));
    }
    let unknown = each.by_name(|used| (!target.sql_modes.contains(&used.name)).then(|| used.name.clone()));
    let mut outcome = Outcome { unknown: each.unknown, ..Outcome::default() };
    outcome.findings = unknown.iter().map(|(mode, uses)| finding(mode, uses, target)).collect();
    if outcome.findings.is_empty() {
        outcome.fine.push(format!("{target} knows all values of sql_mode that were seen"));
    }
    outcome
}

fn finding(mode: &str, uses: &[Used], target: &Snapshot) -> Finding {
    let what = format!("{target} does not know the sql_mode {mode}");
    let advice = "leave it out of the settings, and make anew without it what was made with it";
    let harmless = HARMLESS.iter().find(|(known, _)| *known == mode);
    let finding = match harmless {
        Some((_, why)) => Finding::observed(Weight::Note, what, advice).effect(format!("nothing is lost without it: {why}")),
        None => Finding::observed(Weight::Yellow, what, advice).effect(
            "a server does not start with it, SET sql_mode fails, and what was made with it behaves otherwise without it",
        ),
    };
    finding
        .about(mode)
        .seen(told(uses))
        .measure("drover restore --check, with a dump of the schemas that use it")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target;

    fn findings(modes: &str, by: &'static str, to: &str) -> Vec<(Option<String>, Weight)> {
        let target = target::known().unwrap().iter().find(|one| one.name() == to).unwrap();
        let used = Used { name: modes.into(), by, many: 2, example: "s.p".into(), ..Used::default() };
        let outcome = outcome(Inventory { used: vec![used], unknown: Vec::new() }, target);
        outcome.findings.into_iter().map(|finding| (finding.subject, finding.weight)).collect()
    }

    #[test]
    fn modes_one_by_one() {
        let modes = "STRICT_TRANS_TABLES,NO_AUTO_CREATE_USER,EMPTY_STRING_IS_NULL";
        let (empty, account) = ("EMPTY_STRING_IS_NULL".to_owned(), "NO_AUTO_CREATE_USER".to_owned());
        let expected = [(Some(empty), Weight::Yellow), (Some(account), Weight::Note)];
        assert_eq!(findings(modes, "routine", "mysql-9.7"), expected);
        assert_eq!(findings(modes, "routine", "mariadb-11.8"), []);
        assert_eq!(findings("", "routine", "mysql-9.7"), []);
    }

    #[test]
    fn a_default_goes_with_no_upgrade() {
        let mut inventory = Inventory::default();
        add_server("ORACLE", &Ok(Vec::new()), &mut inventory);
        assert_eq!(inventory.used, []);
        add_server("ORACLE", &Err(crate::Unseen::Missing), &mut inventory);
        assert_eq!(inventory.used.len(), 1);
    }
}
