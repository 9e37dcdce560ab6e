//! Columns of types that the other version does not have.

use drover_db::Vendor;

use super::against::compare;
use super::inventory::{COLUMNS, Inventory, Used, told};
use crate::check::{Area, Check, Finding, Outcome, Weight};
use crate::checks::schemas::hidden;
use crate::evidence::Seen;
use crate::facts::Facts;
use crate::target::Snapshot;

pub(crate) const CHECK: Check = Check {
    rule: "upgrade.types",
    area: Area::Upgrade,
    looks_for: "columns of types that the other version does not have, or keeps otherwise",
    needs: "information_schema.COLUMNS (SELECT on all schemas)",
    source: "on a server of that version a table was made with a column of each type (scripts/snapshot-target); how drover restore \
             translates them: docs/translation.md",
    refuted_by: "CREATE TABLE with a column of that type succeeds there",
    look,
};

/// What drover makes of types that the other vendor lacks.
const INSTEAD: [(&str, &str); 5] = [
    ("uuid", "char(36): the text that clients see, sorted as text and no longer checked"),
    ("inet6", "varchar(39): the text that clients see, sorted as text and no longer checked"),
    ("inet4", "varchar(15): the text that clients see, sorted as text and no longer checked"),
    ("vector", "blob: the bytes, which are not checked"),
    ("geomcollection", "geometrycollection: the same type by its name there"),
];

/// Types of MySQL that MariaDB has by the same name and keeps otherwise.
const OTHERWISE: [(&str, &str); 2] = [
    ("json", "MariaDB keeps JSON as text, checked when it is written and compared as text"),
    (
        "vector",
        "MariaDB's vectors have as many numbers as their column says, MySQL's up to that: drover restore makes them blobs",
    ),
];

fn look(facts: &Facts) -> Seen<Outcome> {
    compare(
        facts,
        |facts| (facts.vendor(), Inventory::ask(facts, &[("column", COLUMNS)], hidden(facts, &["SELECT"]))),
        |(vendor, columns), target| Ok(outcome(columns, vendor?, target)),
    )
}

fn outcome(columns: Inventory, vendor: Vendor, target: &Snapshot) -> Outcome {
    let moves = vendor == Vendor::MySql && target.vendor == Vendor::MariaDb;
    let mut outcome = Outcome::default();
    for (name, uses) in columns.by_name(|used| Some(used.name.clone())) {
        let otherwise = OTHERWISE.iter().find(|(known, _)| moves && *known == name);
        match (target.types.contains(&name), otherwise) {
            (false, _) => outcome.findings.push(lacking(&name, &uses, target)),
            (true, Some((_, how))) => outcome.findings.push(kept_otherwise(&name, &uses, how, target)),
            (true, None) => {}
        }
    }
    if outcome.findings.is_empty() {
        outcome.fine.push(format!("{target} has the types of all columns that were seen"));
    }
    outcome.unknown = columns.unknown;
    outcome
}

fn lacking(name: &str, uses: &[Used], target: &Snapshot) -> Finding {
    let instead = INSTEAD.iter().find(|(known, _)| *known == name);
    let advice = match instead {
        Some((_, instead)) => format!("decide what it becomes; drover restore makes it {instead}"),
        None => "decide what it becomes, and change the columns before".to_owned(),
    };
    Finding::observed(Weight::Yellow, format!("{target} has no type {name}"), advice)
        .about(name)
        .seen(told(uses))
        .effect("CREATE TABLE with such a column fails there")
        .measure("drover restore --check, with a dump of the schemas that use it")
}

fn kept_otherwise(name: &str, uses: &[Used], how: &str, target: &Snapshot) -> Finding {
    Finding::observed(
        Weight::Note,
        format!("{target} keeps the type {name} otherwise"),
        "see whether the programs that use it still fit",
    )
    .about(name)
    .seen(told(uses))
    .effect(how)
    .measure("drover restore --check, with a dump of the schemas that use it")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target;

    fn findings(vendor: Vendor, name: &str, to: &str) -> Vec<Weight> {
        let target = target::known().unwrap().iter().find(|one| one.name() == to).unwrap();
        let used =
            Used { name: name.into(), by: "column", many: 1, example: "s.t.c".into(), ..Used::default() };
        let outcome = outcome(Inventory { used: vec![used], unknown: Vec::new() }, vendor, target);
        outcome.findings.into_iter().map(|finding| finding.weight).collect()
    }

    #[test]
    fn types_of_the_other_vendor() {
        assert_eq!(findings(Vendor::MariaDb, "uuid", "mysql-9.7"), [Weight::Yellow]);
        assert_eq!(findings(Vendor::MariaDb, "uuid", "mariadb-11.8"), []);
        assert_eq!(findings(Vendor::MySql, "geomcollection", "mariadb-11.8"), [Weight::Yellow]);
        assert_eq!(findings(Vendor::MySql, "json", "mariadb-11.8"), [Weight::Note]);
        assert_eq!(findings(Vendor::MySql, "vector", "mariadb-10.11"), [Weight::Yellow]);
        for plain in [
            "int",
            "bigint",
            "decimal",
            "double",
            "varchar",
            "longtext",
            "enum",
            "set",
            "bit",
            "year",
            "timestamp",
            "point",
        ] {
            for to in target::names() {
                assert_eq!(findings(Vendor::MariaDb, plain, to), [], "{plain} on {to}");
            }
        }
    }
}
