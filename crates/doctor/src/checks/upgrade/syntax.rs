//! What programs and views are written with that the other version cannot read: GROUP BY … ASC or DESC, which MySQL took out with 8.0.13.

use drover_db::Vendor;

use super::against::compare;
use super::inventory::{Inventory, Used, told};
use crate::check::{Area, Check, Finding, Outcome, Weight};
use crate::checks::schemas::{OWN, hidden};
use crate::evidence::Seen;
use crate::facts::Facts;
use crate::target::Snapshot;

pub(crate) const CHECK: Check = Check {
    rule: "upgrade.syntax",
    area: Area::Upgrade,
    looks_for: "routines, triggers, events and views with GROUP BY … ASC or DESC, which MySQL from 8.0.13 on cannot read",
    needs: "information_schema.ROUTINES, TRIGGERS, EVENTS and VIEWS (SELECT, TRIGGER and EVENT on all schemas)",
    source: "MySQL 8.0.13 release notes, SQL Syntax Notes",
    refuted_by: "the word stands in a string or in a comment",
    look,
};

/// What has a text, its table in information_schema, the column of the text, and what its columns of names begin with.
const PLACES: [(&str, &str, &str, &str, &str); 4] = [
    ("routine", "ROUTINES", "ROUTINE_DEFINITION", "ROUTINE_SCHEMA", "ROUTINE_NAME"),
    ("trigger", "TRIGGERS", "ACTION_STATEMENT", "TRIGGER_SCHEMA", "TRIGGER_NAME"),
    ("event", "EVENTS", "EVENT_DEFINITION", "EVENT_SCHEMA", "EVENT_NAME"),
    ("view", "VIEWS", "VIEW_DEFINITION", "TABLE_SCHEMA", "TABLE_NAME"),
];

fn look(facts: &Facts) -> Seen<Outcome> {
    compare(
        facts,
        |facts| {
            let statements = PLACES.map(|(by, table, text, schema, name)| {
                let sorted = is_sorted(text);
                let sql = format!(
                    "SELECT 'GROUP BY' AS name, COUNT(*) AS many, MIN(CONCAT({schema}, '.', {name})) AS example FROM \
                     information_schema.{table} WHERE {schema} NOT IN {OWN} AND {sorted} LIMIT 1"
                );
                (by, sql)
            });
            let statements: Vec<_> = statements.iter().map(|(by, sql)| (*by, sql.as_str())).collect();
            Inventory::ask(facts, &statements, hidden(facts, &["SELECT", "TRIGGER", "EVENT"]))
        },
        |programs, target| Ok(outcome(programs, target)),
    )
}

/// Whether the first or the last GROUP BY of a text says in which order, without an ORDER BY of its own. No server looks further.
fn is_sorted(text: &str) -> String {
    let text = format!("REPLACE(REPLACE(REPLACE(UPPER({text}), '\\n', ' '), '\\t', ' '), '  ', ' ')");
    let groups = [
        format!("SUBSTRING_INDEX(SUBSTRING_INDEX({text}, 'GROUP BY', 2), 'GROUP BY', -1)"),
        format!("SUBSTRING_INDEX({text}, 'GROUP BY', -1)"),
    ];
    let is_one = groups.map(|group| {
        format!("SUBSTRING_INDEX(SUBSTRING_INDEX({group}, ';', 1), 'ORDER BY', 1) REGEXP '[^A-Z0-9_](ASC|DESC)([^A-Z0-9_]|$)'")
    });
    format!("{text} LIKE '%GROUP BY%' AND ({})", is_one.join(" OR "))
}

fn outcome(programs: Inventory, target: &Snapshot) -> Outcome {
    if target.vendor != Vendor::MySql {
        return Outcome::fine(format!("{target} reads GROUP BY … ASC and DESC"));
    }
    let used: Vec<_> = programs.used.into_iter().filter(|used| used.many > 0).collect();
    let mut outcome = Outcome { unknown: programs.unknown, ..Outcome::default() };
    match used.is_empty() {
        true => {
            outcome.fine.push("no routine, trigger, event or view that was seen sorts by GROUP BY".into())
        }
        false => outcome.findings.push(finding(&used, target)),
    }
    outcome
}

fn finding(used: &[Used], target: &Snapshot) -> Finding {
    Finding::observed(
        Weight::Yellow,
        format!("{target} cannot read GROUP BY … ASC or DESC"),
        "write the order as ORDER BY, behind GROUP BY without it: both versions read that",
    )
    .about("GROUP BY")
    .seen(told(used))
    .effect("an upgrade in place stops at them or makes them fail when they are called, and they cannot be made there (error 1064)")
    .measure("drover restore --check, with a dump of the schemas that use it")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target;

    fn found(many: u64, to: &str) -> usize {
        let target = target::known().unwrap().iter().find(|one| one.name() == to).unwrap();
        let used =
            Used { name: "GROUP BY".into(), by: "routine", many, example: "s.p".into(), ..Used::default() };
        outcome(Inventory { used: vec![used], unknown: Vec::new() }, target).findings.len()
    }

    #[test]
    fn only_mysql_took_it_out() {
        assert_eq!((found(1, "mysql-9.7"), found(0, "mysql-9.7"), found(1, "mariadb-11.8")), (1, 0, 0));
    }
}
