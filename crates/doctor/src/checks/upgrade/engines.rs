//! Tables of storage engines and kinds that the other version does not have.

use drover_db::Vendor;

use super::against::compare;
use super::inventory::{Inventory, TABLES, Used, told};
use crate::check::{Area, Check, Finding, Outcome, Weight};
use crate::checks::schemas::hidden;
use crate::evidence::Seen;
use crate::facts::Facts;
use crate::target::Snapshot;

pub(crate) const CHECK: Check = Check {
    rule: "upgrade.engines",
    area: Area::Upgrade,
    looks_for: "tables of storage engines that the other version does not have, sequences and tables with a history where it has none, \
                partitioned tables of engines that it does not partition",
    needs: "information_schema.TABLES (SELECT on all schemas)",
    source: "a server of that version was asked for its engines, and a table of each kind was made (scripts/snapshot-target); MySQL 8.0 \
             manual, Restrictions and Limitations on Partitioning",
    refuted_by: "the engine's plugin is loaded there: information_schema.ENGINES lists it",
    look,
};

fn look(facts: &Facts) -> Seen<Outcome> {
    compare(
        facts,
        |facts| {
            let tables = Inventory::ask(facts, &[("table", TABLES)], hidden(facts, &["SELECT"]));
            (tables, Inventory::ask(facts, &[("table", PARTITIONED)], None))
        },
        |(tables, partitioned), target| Ok(outcome(tables, partitioned, target)),
    )
}

/// Partitioned tables by engine, but for those that MySQL partitions from 8.0 on.
const PARTITIONED: &str = "\
    SELECT ENGINE AS name, COUNT(*) AS many, MIN(CONCAT(TABLE_SCHEMA, '.', TABLE_NAME)) AS example FROM information_schema.TABLES \
    WHERE TABLE_SCHEMA NOT IN ('mysql', 'information_schema', 'performance_schema', 'sys') AND CREATE_OPTIONS LIKE '%partitioned%' \
    AND UPPER(ENGINE) NOT IN ('INNODB', 'NDBCLUSTER') GROUP BY ENGINE LIMIT 1000";

fn outcome(tables: Inventory, partitioned: Inventory, target: &Snapshot) -> Outcome {
    let engine = |used: &Used| Some(used.name.to_ascii_uppercase()).filter(|name| !name.is_empty());
    let engines = tables.by_name(|used| engine(used).filter(|name| !target.engines.contains(name)));
    let kinds = tables.by_name(|used| used.form.clone().filter(|form| !target.tables.contains(form)));
    let mut findings: Vec<_> = engines.iter().map(|(name, uses)| of_engine(name, uses, target)).collect();
    findings.extend(kinds.iter().map(|(name, uses)| of_kind(name, uses, target)));
    if target.vendor == Vendor::MySql {
        let engines = partitioned.by_name(engine);
        findings.extend(engines.iter().map(|(name, uses)| of_partitions(name, uses, target)));
    }
    let unknown = [tables.unknown, partitioned.unknown].concat();
    let mut outcome = Outcome { findings, unknown, ..Outcome::default() };
    if outcome.findings.is_empty() {
        outcome.fine.push(format!("{target} has the engines of all tables that were seen"));
    }
    outcome
}

fn of_engine(name: &str, uses: &[Used], target: &Snapshot) -> Finding {
    Finding::observed(
        Weight::Yellow,
        format!("{target} does not have the storage engine {name} by itself"),
        "see whether its plugin is to be had there, or change the tables to InnoDB before; drover restore makes them InnoDB",
    )
    .about(name)
    .seen(told(uses))
    .effect("such tables cannot be opened there, or cannot be made")
    .measure("drover restore --check, with a dump of the schemas that use it")
}

fn of_partitions(name: &str, uses: &[Used], target: &Snapshot) -> Finding {
    Finding::observed(
        Weight::Yellow,
        format!("{target} partitions no tables of the storage engine {name}"),
        "change them to InnoDB before, or take the partitions away; drover restore makes them InnoDB",
    )
    .about(format!("partitions of {name}"))
    .seen(told(uses))
    .effect("an upgrade in place stops at them, and they cannot be made there (error 1178)")
    .measure("drover restore --check, with a dump of the schemas that use it")
}

fn of_kind(name: &str, uses: &[Used], target: &Snapshot) -> Finding {
    let advice = match name {
        "SEQUENCE" => {
            "make the columns that take numbers of it AUTO_INCREMENT, or let the program give the numbers"
        }
        "SYSTEM VERSIONED" => {
            "keep a dump of the rows of the past, or write them into a table of their own with triggers"
        }
        _ => "decide what they become",
    };
    Finding::observed(Weight::Yellow, format!("{target} has no tables of the kind {name}"), advice)
        .about(name)
        .seen(told(uses))
        .effect("they cannot be made there")
        .measure("drover restore --check, with a dump of the schemas that use it")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target;

    fn findings(engine: &str, form: &str, to: &str) -> Vec<String> {
        let target = target::known().unwrap().iter().find(|one| one.name() == to).unwrap();
        let form = Some(form.to_owned());
        let used = Used {
            name: engine.into(),
            form,
            by: "table",
            many: 1,
            example: "s.t".into(),
            ..Used::default()
        };
        let tables = Inventory { used: vec![used], unknown: Vec::new() };
        let outcome = outcome(tables, Inventory::default(), target);
        outcome.findings.into_iter().map(|finding| finding.subject.unwrap()).collect()
    }

    #[test]
    fn what_only_one_vendor_has() {
        assert_eq!(findings("Aria", "BASE TABLE", "mysql-9.7"), ["ARIA"]);
        assert_eq!(findings("InnoDB", "SYSTEM VERSIONED", "mysql-9.7"), ["SYSTEM VERSIONED"]);
        for to in target::names() {
            for (engine, form) in [("InnoDB", "BASE TABLE"), ("MyISAM", "BASE TABLE"), ("", "VIEW")] {
                assert_eq!(findings(engine, form, to), [""; 0], "{engine} {form} on {to}");
            }
        }
    }
}
