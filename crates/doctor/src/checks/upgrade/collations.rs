//! Collations that the other version does not have.

use super::against::{compare, first};
use super::inventory::{COLUMNS, Inventory, TABLES, Used, told};
use crate::check::{Area, Check, Finding, Outcome, Weight};
use crate::checks::schemas::hidden;
use crate::evidence::Seen;
use crate::facts::Facts;
use crate::target::Snapshot;

pub(crate) const CHECK: Check = Check {
    rule: "upgrade.collations",
    area: Area::Upgrade,
    looks_for: "collations of schemas, tables and columns that the other version does not have",
    needs: "information_schema.SCHEMATA, TABLES and COLUMNS (SELECT on all schemas)",
    source: "on a server of that version a text was compared with each collation (scripts/snapshot-target); how drover restore \
             translates them: docs/translation.md",
    refuted_by: "SELECT '' COLLATE with that collation succeeds there",
    look,
};

const SCHEMAS: &str = "SELECT '' AS name, DEFAULT_COLLATION_NAME AS collation, COUNT(*) AS many, MIN(SCHEMA_NAME) AS example FROM \
     information_schema.SCHEMATA WHERE SCHEMA_NAME NOT IN ('mysql', 'information_schema', 'performance_schema', 'sys') GROUP BY \
     DEFAULT_COLLATION_NAME LIMIT 1000";

fn look(facts: &Facts) -> Seen<Outcome> {
    compare(
        facts,
        |facts| {
            let places = [("schema", SCHEMAS), ("table", TABLES), ("column", COLUMNS)];
            Inventory::ask(facts, &places, hidden(facts, &["SELECT"]))
        },
        |used, target| Ok(outcome(used, target)),
    )
}

fn outcome(used: Inventory, target: &Snapshot) -> Outcome {
    let lacks = |name: &String| !target.collations.contains(&in_full(name));
    let lacking = used.by_name(|used| used.collation.clone().filter(lacks));
    let mut outcome = Outcome { unknown: used.unknown, ..Outcome::default() };
    if lacking.is_empty() {
        outcome.fine.push(format!("{target} has all collations that were seen"));
        return outcome;
    }
    outcome.findings = lacking.iter().map(|(name, uses)| finding(name, uses, target)).collect();
    outcome
}

/// Old versions call utf8mb3 by a shorter name.
fn in_full(name: &str) -> String {
    name.strip_prefix("utf8_").map_or_else(|| name.to_owned(), |rest| format!("utf8mb3_{rest}"))
}

fn finding(name: &str, uses: &[Used], target: &Snapshot) -> Finding {
    let name_there = in_full(name);
    let set = name_there.split('_').next().unwrap_or(name);
    let there = target.collations.iter().filter(|other| other.split('_').next() == Some(set));
    let advice = match target.character_sets.contains(set) {
        true => format!(
            "choose another one, such as the one that drover restore puts in its place; keys must be as unique under it ({target} has {})",
            first(there.take(3)).join(", ")
        ),
        false => format!("{target} has no character set {set} either: make the columns utf8mb4"),
    };
    Finding::observed(Weight::Yellow, format!("{target} has no collation {name}"), advice)
        .about(name)
        .seen(told(uses))
        .effect("CREATE and ALTER TABLE with it fail there; under another one other texts are equal")
        .measure("drover restore --check, with a dump of the schemas that use it")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target;

    fn findings(collation: &str, to: &str) -> usize {
        let target = target::known().unwrap().iter().find(|one| one.name() == to).unwrap();
        let collation = Some(collation.to_owned());
        let used = Used { collation, by: "column", many: 1, example: "s.t.c".into(), ..Used::default() };
        outcome(Inventory { used: vec![used], unknown: Vec::new() }, target).findings.len()
    }

    #[test]
    fn collations_of_one_vendor() {
        assert_eq!(findings("utf8mb4_uca1400_ai_ci", "mysql-9.7"), 1);
        assert_eq!(findings("utf8mb4_0900_ai_ci", "mariadb-10.11"), 1);
        for to in target::names() {
            for common in
                ["utf8mb4_general_ci", "utf8mb4_bin", "latin1_swedish_ci", "utf8_general_ci", "binary"]
            {
                assert_eq!(findings(common, to), 0, "{common} on {to}");
            }
        }
    }
}
