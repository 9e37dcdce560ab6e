//! Variables that somebody has set and that the other version does not have.

use std::collections::BTreeSet;

use drover_units::show::things;

use super::against::{compare, first};
use super::settings::{Origin, Setting, settings};
use crate::check::{Area, Check, Finding, Outcome, Weight};
use crate::evidence::Seen;
use crate::facts::Facts;
use crate::target::Snapshot;

pub(crate) const CHECK: Check = Check {
    rule: "upgrade.variables",
    area: Area::Upgrade,
    looks_for: "variables that somebody has set and that the other version does not have",
    needs: "information_schema.SYSTEM_VARIABLES on MariaDB, performance_schema.variables_info on MySQL from 8.0 on",
    source: "a server of that version was started with each of these options (scripts/snapshot-target); MySQL manual, Program Option \
             Modifiers: loose",
    refuted_by: "the option is written with loose- in front of it, or a plugin that the other server is to load brings the variable",
    look,
};

/// Parts of names that were renamed.
const RENAMED: [(&str, &str); 3] = [("slave", "replica"), ("master", "source"), ("tx_", "transaction_")];

/// Plugins that were loaded from a library: their variables are there if they are loaded there.
const PLUGINS: &str = "SELECT LOWER(PLUGIN_NAME) AS name FROM information_schema.PLUGINS WHERE PLUGIN_LIBRARY IS NOT NULL LIMIT 1000";

fn look(facts: &Facts) -> Seen<Outcome> {
    compare(
        facts,
        |facts| (settings(facts), plugins(facts)),
        |(settings, plugins), target| Ok(outcome(&settings?, &plugins?, target)),
    )
}

fn plugins(facts: &Facts) -> Seen<BTreeSet<String>> {
    let answer = facts.ask(PLUGINS)?;
    Ok(answer.rows.iter().filter_map(|row| answer.value(row, "name").map(ToOwned::to_owned)).collect())
}

/// What the other version makes of a variable that it does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Refused,
    Ignored,
    /// The variable is one of a plugin or component, which may be there.
    OfPlugin,
    /// Nobody has tried.
    Untried,
}

fn fate(name: &str, plugins: &BTreeSet<String>, target: &Snapshot) -> Option<Fate> {
    let is_of_plugin = || {
        let of =
            |plugin: &String| name.strip_prefix(plugin.as_str()).is_some_and(|rest| rest.starts_with('_'));
        name.contains('.') || plugins.iter().any(of)
    };
    match () {
        () if target.variables.contains(name) || target.options.contains(name) => None,
        () if target.ignored.contains(name) => Some(Fate::Ignored),
        () if is_of_plugin() => Some(Fate::OfPlugin),
        () if target.refused.contains(name) => Some(Fate::Refused),
        () => Some(Fate::Untried),
    }
}

fn outcome(settings: &[Setting], plugins: &BTreeSet<String>, target: &Snapshot) -> Outcome {
    let mut outcome = Outcome::default();
    let with = |fate_of: Fate, is_it: fn(&Origin) -> bool| -> Vec<&Setting> {
        let wanted = |one: &&Setting| is_it(&one.origin) && fate(&one.name, plugins, target) == Some(fate_of);
        settings.iter().filter(wanted).collect()
    };
    let at_start = |origin: &Origin| matches!(origin, Origin::Start(_));
    let not_persisted = |origin: &Origin| !matches!(origin, Origin::Persisted);
    let mut add = |settings: Vec<&Setting>, finding: fn(&[&Setting], &Snapshot) -> Finding| {
        if !settings.is_empty() {
            let seen = first(settings.iter().map(|setting| told(setting, target)));
            outcome.findings.push(seen.into_iter().fold(finding(&settings, target), Finding::seen));
        }
    };
    add(with(Fate::Refused, at_start), refused);
    add(with(Fate::Untried, at_start), untried);
    let lost =
        [Fate::Refused, Fate::Untried].map(|fate| with(fate, |origin| matches!(origin, Origin::Persisted)));
    add(lost.concat(), persisted);
    let lost =
        [Fate::Refused, Fate::Untried].map(|fate| with(fate, |origin| matches!(origin, Origin::Running)));
    add(lost.concat(), running);
    add(with(Fate::OfPlugin, not_persisted), of_plugin);
    add(with(Fate::Ignored, not_persisted), ignored);
    if outcome.findings.is_empty() {
        outcome
            .fine
            .push(format!("{target} has all of the {} variables that somebody has set", settings.len()));
    }
    outcome
}

/// Where it was set, and its other name if it has one there.
fn told(setting: &Setting, target: &Snapshot) -> String {
    let renamed = RENAMED.iter().map(|(from, to)| setting.name.replace(from, to));
    match renamed.into_iter().find(|name| *name != setting.name && target.variables.contains(name)) {
        Some(name) => format!("{setting}; there it is {name}"),
        None => setting.to_string(),
    }
}

/// `3 variables`
fn many(settings: &[&Setting]) -> String {
    things(settings.len() as u64, "variable")
}

fn refused(settings: &[&Setting], target: &Snapshot) -> Finding {
    Finding::observed(
        Weight::Yellow,
        format!("the server is started with {} that {target} does not know", many(settings)),
        "take them out of the settings before the upgrade, or write loose- in front of them",
    )
    .effect(format!("{target} does not start with them"))
}

fn untried(settings: &[&Setting], target: &Snapshot) -> Finding {
    Finding::observed(
        Weight::Yellow,
        format!("the server is started with {} that {target} does not have", many(settings)),
        "take them out of the settings before the upgrade, or write loose- in front of them",
    )
    .effect("a server does not start with an option that it does not know; of some old ones it only warns, which nobody has tried here")
}

fn persisted(settings: &[&Setting], target: &Snapshot) -> Finding {
    Finding::observed(
        Weight::Note,
        format!("SET PERSIST has set {} that {target} does not have", many(settings)),
        "see whether anybody still wants what they do; RESET PERSIST takes them out",
    )
    .effect("the server starts, and passes them over")
}

fn running(settings: &[&Setting], target: &Snapshot) -> Finding {
    Finding::observed(
        Weight::Note,
        format!(
            "somebody has set {} since the server was started that {target} does not have",
            many(settings)
        ),
        "look for the program or file that sets them",
    )
    .effect("whoever sets them there gets an error")
}

fn of_plugin(settings: &[&Setting], target: &Snapshot) -> Finding {
    Finding::observed(
        Weight::Note,
        format!("{} that are set come with plugins, which {target} has to load too", many(settings)),
        "see whether those plugins are there, and load them before, or write loose- in front of the options",
    )
    .effect("without its plugin, a server does not start with such an option")
}

fn ignored(settings: &[&Setting], target: &Snapshot) -> Finding {
    Finding::observed(
        Weight::Note,
        format!("{} that are set do nothing on {target}", many(settings)),
        "see whether anybody still wants what they did, and take them out",
    )
    .effect("the server starts with them, and warns")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target;
    use crate::testing::{is_unknown, on_host};

    #[test]
    fn what_becomes_of_a_variable() {
        let known = target::known().unwrap();
        let new = known.iter().find(|one| one.name() == "mariadb-11.8").unwrap();
        let plugins = BTreeSet::from(["server_audit".to_owned()]);
        let of = |name| fate(name, &plugins, new);
        assert_eq!(of("max_connections"), None);
        assert_eq!(of("debug_no_thread_alarm"), Some(Fate::Refused));
        assert_eq!(of("innodb_change_buffering"), Some(Fate::Ignored));
        assert_eq!(of("server_audit_logging"), Some(Fate::OfPlugin));
        assert_eq!(of("validate_password.policy"), Some(Fate::OfPlugin));
        assert_eq!(of("nobody_knows_it"), Some(Fate::Untried));
    }

    #[test]
    fn without_a_server_nothing_is_known() {
        assert!(is_unknown(&on_host(&CHECK, &[])));
    }
}
