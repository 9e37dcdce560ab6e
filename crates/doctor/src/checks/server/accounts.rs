//! Accounts that prove nothing, and accounts that may do all and come from anywhere.

use drover_db::Vendor;
use drover_units::show;

use super::told::TOLD;
use crate::check::{Area, Check, Finding, Outcome, Weight};
use crate::evidence::{Answer, Seen, Unseen};
use crate::facts::Facts;

pub(crate) const CHECK: Check = Check {
    rule: "server.accounts",
    area: Area::Server,
    looks_for: "accounts without a password, and accounts with all privileges that may come from any address",
    needs: "mysql.global_priv on MariaDB from 10.4 on, else mysql.user (SELECT on it); variables bind_address and skip_networking. \
            Privileges that an account has by a role are not counted",
    source: "MySQL manual, Securing the Initial MySQL Account, Assigning Account Passwords, and Specifying Account Names; MariaDB manual, \
             CREATE USER, and mysql.global_priv Table",
    refuted_by: "nobody else reaches the server: a firewall or a network of its own lets in no other address, and nobody else logs in to \
                 the host",
    look,
};

/// More are not read.
const MOST: usize = 10_000;

/// Plugins that let in whoever sends no password where none is stored. An account of old servers has no plugin.
const PASSWORDS: &str =
    "('', 'mysql_native_password', 'mysql_old_password', 'sha256_password', 'caching_sha2_password')";

/// Privileges on all schemas that together leave nothing out.
const ALL: [&str; 12] = [
    "Select",
    "Insert",
    "Update",
    "Delete",
    "Create",
    "Drop",
    "Reload",
    "Shutdown",
    "Process",
    "File",
    "Super",
    "Create_user",
];
/// The same as bits of MariaDB's (sql/privilege.h).
const ALL_BITS: u64 = 0x3ff | 1 << 15 | 1 << 25;
/// Further ways to log in that are looked at.
const OTHERS: usize = 4;

/// MariaDB from 10.4 on. Whether a password is stored, never what.
fn of_mariadb() -> String {
    let empty = |plugin: &str, stored: &str| {
        format!("{plugin} IN {PASSWORDS} AND COALESCE(JSON_VALUE(Priv, '$.{stored}'), '') = ''")
    };
    let first = empty("COALESCE(JSON_VALUE(Priv, '$.plugin'), '')", "authentication_string");
    let others = (0..OTHERS).map(|n| {
        let other = format!("auth_or[{n}].authentication_string");
        empty(&format!("JSON_VALUE(Priv, '$.auth_or[{n}].plugin')"), &other)
    });
    let ways: Vec<_> = [first].into_iter().chain(others).map(|way| format!("({way})")).collect();
    let is = |flag: &str| format!("COALESCE(JSON_VALUE(Priv, '$.{flag}'), '0') IN ('1', 'true')");
    format!(
        "SELECT User AS user, Host AS host, {} AS open, JSON_VALUE(Priv, '$.access') & {ALL_BITS} = {ALL_BITS} AS may_all, \
         COALESCE(JSON_VALUE(Priv, '$.ssl_type'), '0') IN ('2', '3') AS certificate FROM mysql.global_priv WHERE NOT {} AND NOT {} LIMIT {MOST}",
        ways.join(" OR "),
        is("is_role"),
        is("account_locked"),
    )
}

/// Others, the newest first: what they have beside the plugin that lets nobody in, and which rows are accounts that may log in.
const OF_OTHERS: [(&str, &str); 4] = [
    ("JSON_EXTRACT(User_attributes, '$.multi_factor_authentication') IS NULL", "account_locked = 'N'"),
    ("TRUE", "account_locked = 'N'"),
    ("Password = ''", "is_role = 'N'"),
    ("Password = ''", "TRUE"),
];

fn of_user(more: &str, rows: &str) -> String {
    let all: Vec<_> = ALL.iter().map(|name| format!("{name}_priv")).collect();
    format!(
        "SELECT User AS user, Host AS host, COALESCE(plugin, '') IN {PASSWORDS} AND COALESCE(authentication_string, '') = '' AND {more} AS \
         open, CONCAT({}) = '{}' AS may_all, ssl_type IN ('X509', 'SPECIFIED') AS certificate FROM mysql.user WHERE {rows} LIMIT {MOST}",
        all.join(", "),
        "Y".repeat(ALL.len())
    )
}

fn ask(facts: &Facts) -> Seen<Answer> {
    if facts.vendor()? == Vendor::MariaDb && facts.version()? >= (10, 4, 0) {
        return facts.ask(&of_mariadb());
    }
    let mut answer = Err(Unseen::Missing);
    for (more, rows) in OF_OTHERS {
        answer = facts.ask(&of_user(more, rows));
        if answer != Err(Unseen::Missing) {
            break;
        }
    }
    answer
}

/// An account that may log in.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Account {
    user: String,
    host: String,
    /// Whether neither a password nor a certificate is asked for.
    is_open: bool,
    may_all: bool,
}

fn accounts(answer: &Answer) -> Vec<Account> {
    let account = |row: &Vec<Option<String>>| {
        let is = |column| answer.value(row, column) == Some("1");
        Some(Account {
            user: answer.value(row, "user")?.to_owned(),
            host: answer.value(row, "host")?.to_owned(),
            is_open: is("open") && !is("certificate"),
            may_all: is("may_all"),
        })
    };
    answer.rows.iter().filter_map(account).collect()
}

fn look(facts: &Facts) -> Seen<Outcome> {
    let answer = ask(facts)?;
    let network = Network::of(facts)?;
    let accounts = accounts(&answer);
    let mut outcome = Outcome::default();
    if answer.rows.len() == MOST {
        outcome.unknown.push(format!("accounts beyond the first {}", show::count(MOST as u64)));
    }
    let mut found: Vec<_> = accounts.iter().flat_map(|account| account.findings(&network)).collect();
    found.sort_by_key(|finding| finding.weight);
    if let Some(next) = found.get(TOLD) {
        outcome.findings.push(more(found.len() - TOLD, next.weight));
    }
    found.truncate(TOLD);
    outcome.findings.splice(0..0, found);
    if outcome == Outcome::default() {
        outcome.fine.push(format!(
            "of {} that may log in, each proves who it is, and none with all privileges may come from anywhere",
            show::things(accounts.len() as u64, "account")
        ));
    }
    Ok(outcome)
}

fn more(findings: usize, weight: Weight) -> Finding {
    let what = format!(
        "{} more about accounts without a password, or with all privileges from anywhere",
        show::things(findings as u64, "finding")
    );
    Finding::observed(weight, what, "begin with those that are listed")
        .seen("mysql.user; the gravest are listed")
}

/// From where the server can be reached.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Network {
    /// Whether from other hosts.
    is_open: bool,
    told: String,
}

impl Network {
    fn of(facts: &Facts) -> Seen<Self> {
        if facts.is_on("skip_networking").unwrap_or(false) {
            return Ok(Self { is_open: false, told: "skip_networking is ON".to_owned() });
        }
        let address = match facts.variable("bind_address") {
            // MariaDB tells none where it listens on all.
            Ok(address) if !address.is_empty() => address,
            Ok(_) | Err(Unseen::Missing) => "*".to_owned(),
            Err(unseen) => return Err(unseen),
        };
        let is_open = !address.split(',').all(|address| is_local(address.trim()));
        Ok(Self { is_open, told: format!("bind_address is {address}") })
    }
}

fn is_local(host: &str) -> bool {
    host == "localhost" || host == "::1" || host.starts_with("127.")
}

/// Whether a pattern of hosts leaves out no address.
fn is_anywhere(host: &str) -> bool {
    ["0.0.0.0/0.0.0.0", "::/0"].contains(&host) || host.chars().all(|c| "%_.:".contains(c))
}

impl Account {
    fn name(&self) -> String {
        format!("{}@{}", if self.user.is_empty() { "(anybody)" } else { &self.user }, self.host)
    }

    fn findings(&self, network: &Network) -> impl Iterator<Item = Finding> {
        let open = self.is_open.then(|| self.without_password(network));
        let all = (self.may_all && is_anywhere(&self.host)).then(|| self.all_from_anywhere(network));
        open.into_iter().chain(all)
    }

    fn without_password(&self, network: &Network) -> Finding {
        let from_far = !is_local(&self.host) && network.is_open;
        let who = match from_far {
            true => "whoever reaches the server's port",
            false => "each user and each program of the host",
        };
        let may = if self.may_all { "may do everything" } else { "may do what the account may" };
        Finding::observed(
            if from_far { Weight::Red } else { Weight::Yellow },
            format!("{} has no password", self.name()),
            "give it a password (ALTER USER … IDENTIFIED BY …) and tell its clients, let the socket prove who it is, lock it, or drop it",
        )
        .about(self.name())
        .seen(format!("mysql.user: {} logs in by a password, and none is stored", self.name()))
        .seen(network.told.clone())
        .effect(format!("{who} {may}"))
    }

    fn all_from_anywhere(&self, network: &Network) -> Finding {
        Finding::observed(
            if network.is_open { Weight::Yellow } else { Weight::Note },
            format!("{} has all privileges, and may come from any address", self.name()),
            "have it come from the addresses that administrators use (RENAME USER), and give applications what they use only",
        )
        .about(self.name())
        .seen(format!("mysql.user: {} privileges on *.*, among them SUPER, FILE and CREATE USER", ALL.len()))
        .seen(network.told.clone())
        .effect("who guesses or finds its password anywhere reads and changes everything, files of the server among it")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_much_it_matters() {
        let weights = |host: &str, is_open, may_all, far| {
            let account = Account { user: "u".into(), host: host.into(), is_open, may_all };
            let network = Network { is_open: far, told: String::new() };
            account.findings(&network).map(|finding| finding.weight).collect::<Vec<_>>()
        };
        assert_eq!(weights("%", true, true, true), [Weight::Red, Weight::Yellow]);
        assert_eq!(weights("%", true, true, false), [Weight::Yellow, Weight::Note]);
        assert_eq!(weights("localhost", true, true, true), [Weight::Yellow]);
        assert_eq!(weights("10.%", true, true, true), [Weight::Red]);
        assert_eq!(weights("10.%", false, true, true), []);
        assert_eq!(weights("%", false, false, true), []);
    }

    #[test]
    fn patterns_of_hosts() {
        for host in ["%", "", "%.%.%.%", "0.0.0.0/0.0.0.0", "::/0"] {
            assert!(is_anywhere(host), "{host}");
        }
        for host in ["10.%", "localhost", "10.0.0.0/255.0.0.0", "%.example.org"] {
            assert!(!is_anywhere(host), "{host}");
        }
        assert!(is_local("127.0.0.1") && !is_local("0.0.0.0"));
    }
}
