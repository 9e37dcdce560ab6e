//! Accounts that log in by a plugin that the other version does not have.

use std::collections::{BTreeMap, BTreeSet};

use drover_units::show::things;

use super::against::{compare, first};
use crate::check::{Area, Check, Finding, Outcome, Weight};
use crate::evidence::{Answer, Seen, Unseen};
use crate::facts::Facts;
use crate::target::Snapshot;

pub(crate) const CHECK: Check = Check {
    rule: "upgrade.accounts",
    area: Area::Upgrade,
    looks_for: "accounts that log in by plugins which the other version does not have",
    needs: "mysql.global_priv on MariaDB from 10.4 on, else mysql.user (SELECT on it)",
    source: "a server of that version was asked for its plugins (scripts/snapshot-target); MySQL manual, Native Pluggable \
             Authentication: removed in 9.0",
    refuted_by: "the plugin is loaded on the other server: information_schema.PLUGINS lists it",
    look,
};

/// What may be read of accounts; never what proves who somebody is. Further ways to log in are one JSON array.
const ACCOUNTS: [&str; 3] = [
    "SELECT User AS user, Host AS host, JSON_VALUE(Priv, '$.plugin') AS plugin, JSON_EXTRACT(Priv, '$.auth_or[*].plugin') AS others \
     FROM mysql.global_priv WHERE COALESCE(JSON_VALUE(Priv, '$.is_role'), '0') NOT IN ('1', 'true') AND \
     COALESCE(JSON_VALUE(Priv, '$.account_locked'), '0') NOT IN ('1', 'true') LIMIT 10000",
    "SELECT User AS user, Host AS host, plugin AS plugin, NULL AS others FROM mysql.user WHERE account_locked = 'N' LIMIT 10000",
    // MySQL 5.5 names no plugin for its own passwords, and 5.6 none for some accounts.
    "SELECT User AS user, Host AS host, COALESCE(NULLIF(plugin, ''), 'mysql_native_password') AS plugin, NULL AS others FROM mysql.user \
     LIMIT 10000",
];

/// What is behind plugins that this server has loaded from a library.
const LIBRARIES: &str = "SELECT PLUGIN_NAME AS name, PLUGIN_LIBRARY AS library FROM information_schema.PLUGINS WHERE PLUGIN_TYPE = \
                         'AUTHENTICATION' AND PLUGIN_LIBRARY IS NOT NULL LIMIT 1000";

/// Names of the same plugin: MariaDB's and MySQL's, which asks the system who is at the other end of the socket.
const SOCKET: [&str; 2] = ["unix_socket", "auth_socket"];

fn look(facts: &Facts) -> Seen<Outcome> {
    compare(
        facts,
        |facts| (accounts(facts), libraries(facts)),
        |(accounts, libraries), target| Ok(outcome(&accounts?, &libraries.unwrap_or_default(), target)),
    )
}

/// An account, and the plugins any of which lets it in.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Account {
    name: String,
    plugins: Vec<String>,
}

fn accounts(facts: &Facts) -> Seen<Vec<Account>> {
    let mut answer = Err(Unseen::Missing);
    for sql in ACCOUNTS {
        answer = facts.ask(sql);
        // A table that is not there is denied, too, to who may see nothing.
        if !matches!(answer, Err(Unseen::Missing | Unseen::Denied(_))) {
            break;
        }
    }
    let answer = answer?;
    Ok(answer.rows.iter().map(|row| account(&answer, row)).collect())
}

fn account(answer: &Answer, row: &[Option<String>]) -> Account {
    let text = |column| answer.value(row, column).unwrap_or_default();
    // Old versions leave the plugin out where a password is all there is.
    let plugin = Some(text("plugin")).filter(|plugin| !plugin.is_empty()).unwrap_or("mysql_native_password");
    let others: Vec<String> = serde_json::from_str(text("others")).unwrap_or_default();
    Account {
        name: format!("{}@{}", text("user"), text("host")),
        plugins: [vec![plugin.to_owned()], others].concat(),
    }
}

fn libraries(facts: &Facts) -> Seen<BTreeMap<String, String>> {
    let answer = facts.ask(LIBRARIES)?;
    let pair = |row: &Vec<Option<String>>| {
        Some((answer.value(row, "name")?.to_owned(), answer.value(row, "library")?.to_owned()))
    };
    Ok(answer.rows.iter().filter_map(pair).collect())
}

fn has(target: &Snapshot, plugin: &str) -> bool {
    let there = |name: &str| target.authentication.contains(name);
    there(plugin) || SOCKET.contains(&plugin) && SOCKET.into_iter().any(there)
}

fn outcome(accounts: &[Account], libraries: &BTreeMap<String, String>, target: &Snapshot) -> Outcome {
    let mut shut_out: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for account in accounts {
        if !account.plugins.iter().any(|plugin| has(target, plugin)) {
            shut_out.entry(account.plugins.join(" or ")).or_default().push(&account.name);
        }
    }
    if shut_out.is_empty() {
        let plugins: BTreeSet<_> = accounts.iter().flat_map(|account| &account.plugins).collect();
        let plugins = plugins.into_iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        let many = things(accounts.len() as u64, "account");
        return Outcome::fine(format!("{target} can let in all of {many} that are not locked ({plugins})"));
    }
    let findings =
        shut_out.iter().map(|(plugin, names)| finding(plugin, names, libraries.get(plugin), target));
    Outcome { findings: findings.collect(), ..Outcome::default() }
}

fn finding(plugin: &str, names: &[&str], library: Option<&String>, target: &Snapshot) -> Finding {
    let many = things(names.len() as u64, "account");
    let log = if names.len() == 1 { "logs" } else { "log" };
    let advice = match library {
        Some(library) => format!(
            "see whether {target} comes with {library} too and have it loaded there, or give the accounts another plugin before"
        ),
        None => format!(
            "give them a plugin that both have, with new passwords, or plan to do so right after it; {target} has {}",
            target.authentication.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
        ),
    };
    Finding::observed(
        Weight::Yellow,
        format!("{many} {log} in by {plugin}, which {target} does not have by itself"),
        advice,
    )
    .about(plugin)
    .seen(first(names).join(", "))
    .effect("they cannot log in there; a password's hash serves one plugin only")
    .measure("drover restore --check --users, with a dump of them")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target;

    fn findings(accounts: &[(&str, &[&str])], to: &str) -> Vec<String> {
        let target = target::known().unwrap().iter().find(|one| one.name() == to).unwrap();
        let account = |(name, plugins): &(&str, &[&str])| Account {
            name: (*name).into(),
            plugins: plugins.iter().map(|&plugin| plugin.to_owned()).collect(),
        };
        let accounts: Vec<_> = accounts.iter().map(account).collect();
        let found = outcome(&accounts, &BTreeMap::new(), target).findings;
        found.into_iter().map(|finding| finding.subject.unwrap()).collect()
    }

    #[test]
    fn one_logs_in_and_two_log_in() {
        let target = target::known().unwrap().iter().find(|one| one.name() == "mysql-9.7").unwrap();
        let said = |names: &[&str]| finding("ed25519", names, None, target).what;
        assert!(said(&["a@%"]).starts_with("1 account logs in by ed25519"));
        assert!(said(&["a@%", "b@%"]).starts_with("2 accounts log in by ed25519"));
    }

    #[test]
    fn any_way_that_is_left_will_do() {
        let accounts: [(&str, &[&str]); 3] = [
            ("a@%", &["mysql_native_password"]),
            ("b@%", &["mysql_native_password", "caching_sha2_password"]),
            ("c@%", &["ed25519"]),
        ];
        assert_eq!(findings(&accounts, "mysql-9.7"), ["ed25519", "mysql_native_password"]);
        let accounts: [(&str, &[&str]); 2] = [("a@%", &["mysql_native_password"]), ("b@%", &["auth_socket"])];
        assert_eq!(findings(&accounts, "mariadb-11.8"), [""; 0]);
    }
}
