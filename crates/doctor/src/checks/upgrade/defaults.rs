//! Defaults that are others in the other version, of variables that nobody has set.

use std::collections::BTreeSet;

use drover_units::show::things;

use super::against::compare;
use super::settings::settings;
use crate::check::{Area, Check, Finding, Outcome, Weight};
use crate::evidence::Seen;
use crate::facts::Facts;
use crate::target::{DEFAULTS, Snapshot};

pub(crate) const CHECK: Check = Check {
    rule: "upgrade.defaults",
    area: Area::Upgrade,
    looks_for: "variables that nobody has set and whose default is another one in the other version, of those that people rely on",
    needs: "the server's variables; information_schema.SYSTEM_VARIABLES on MariaDB, performance_schema.variables_info on MySQL",
    source: "the values of a server of that version that nobody has set (scripts/snapshot-target)",
    refuted_by: "the other server is set up with the value of here",
    look,
};

/// What MariaDB before 11.1 calls it.
const OLD_NAMES: [(&str, &str); 1] = [("transaction_isolation", "tx_isolation")];

/// What it means that a server does not have a variable.
const ABSENT: [(&str, &str); 3] = [
    ("character_set_collations", ""),
    ("innodb_snapshot_isolation", "OFF"),
    ("restrict_fk_on_non_standard_key", "OFF"),
];

/// What is otherwise there.
struct Change {
    name: &'static str,
    here: String,
    there: String,
    means: &'static str,
}

fn look(facts: &Facts) -> Seen<Outcome> {
    compare(
        facts,
        |facts| (facts.variable("version"), settings(facts)),
        |(version, settings), target| {
            version?;
            let set: BTreeSet<_> = settings?.into_iter().map(|setting| setting.name).collect();
            Ok(outcome(&changes(facts, &set, target), target))
        },
    )
}

fn changes(facts: &Facts, set: &BTreeSet<String>, target: &Snapshot) -> Vec<Change> {
    let change = |&(name, means): &(&'static str, &'static str)| {
        let there = target.defaults.get(name)?.clone();
        let old = OLD_NAMES.iter().find(|(new, _)| *new == name).map(|(_, old)| *old);
        let is_set = [Some(name), old].into_iter().flatten().any(|name| set.contains(name));
        let here = [Some(name), old].into_iter().flatten().find_map(|name| facts.variable(name).ok());
        let absent =
            || ABSENT.iter().find(|(absent, _)| *absent == name).map(|(_, value)| (*value).to_owned());
        let here = here.or_else(absent)?;
        let is_changed = !is_set && comparable(&here) != comparable(&there);
        is_changed.then_some(Change { name, here, there, means })
    };
    DEFAULTS.iter().filter_map(change).collect()
}

/// Without case, `1` for `ON`, and without the order of what is listed.
fn comparable(value: &str) -> BTreeSet<String> {
    let part = |part: &str| match part.trim().to_ascii_uppercase().as_str() {
        "ON" => "1".to_owned(),
        "OFF" => "0".to_owned(),
        other => other.to_owned(),
    };
    value.split(',').map(part).collect()
}

fn outcome(changes: &[Change], target: &Snapshot) -> Outcome {
    if changes.is_empty() {
        return Outcome::fine(format!("the defaults that people rely on are those of {target}"));
    }
    let value = |value: &str| if value.is_empty() { "none".to_owned() } else { value.to_owned() };
    let finding = Finding::observed(
        Weight::Note,
        format!(
            "{target} has other defaults for {} that nobody has set",
            things(changes.len() as u64, "variable")
        ),
        "read the list; write the value of here into the settings where something relies on it",
    );
    let told = |change: &Change| {
        format!(
            "{}: {} here, {} there: {}",
            change.name,
            value(&change.here),
            value(&change.there),
            change.means
        )
    };
    Outcome::found(changes.iter().map(told).fold(finding, Finding::seen))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_are_the_same() {
        assert_eq!(comparable("ON"), comparable("1"));
        assert_eq!(comparable("A,b"), comparable("B,A"));
        assert_ne!(comparable("A"), comparable(""));
    }
}
