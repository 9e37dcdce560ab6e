//! How an account proves who it is on a server that lacks its plugin. A password's hash serves one plugin only: where the
//! target does not have that one, nobody can log in until a person sets a new password.

use drover_db::Vendor;

use super::facts::Facts;
use super::model::{Account, Factor};

/// Plugins that compare passwords; without a hash they let everybody in.
const PASSWORDS: [&str; 3] = ["mysql_native_password", "caching_sha2_password", "sha256_password"];
/// MariaDB's and MySQL's names of the plugin that asks the system who is at the other end of the socket.
const SOCKET: [&str; 2] = ["unix_socket", "auth_socket"];

/// Hashes that no password has. MySQL's own internal accounts have the first, MariaDB's installer writes the last.
const NO_PASSWORD: [(&str, &str); 3] = [
    ("caching_sha2_password", "$A$005$THISISACOMBINATIONOFINVALIDSALTANDPASSWORDTHATMUSTNEVERBRBEUSED"),
    ("mysql_native_password", "*THISISNOTAVALIDPASSWORDTHATCANBEUSEDHERE"),
    ("mysql_native_password", "invalid"),
];

/// What was lost on the way.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Lost {
    /// For a person, one sentence each.
    pub(crate) what: Vec<String>,
    /// Whether nobody can log in any more who could.
    pub(crate) login: bool,
}

/// Gives the account ways to log in that the target has; one that has none left is locked, with a hash that no password
/// has, so that unlocking it alone lets nobody in. So has one that is locked, for a server that can lock none.
pub(crate) fn translate(account: &mut Account, facts: &Facts) -> Lost {
    let mut lost = Lost::default();
    let held: Vec<_> = account.ways.iter().filter_map(|way| held(way, facts)).collect();
    let further: Vec<_> = account.further.iter().filter_map(|one| held_as_it_is(one, facts)).collect();
    let missing = |factors: &[Factor]| -> Vec<String> {
        factors.iter().filter(|one| self::held(one, facts).is_none()).map(|one| one.plugin.clone()).collect()
    };
    if held.is_empty() && !account.ways.is_empty() {
        lost.what.push(format!("the server has no plugin {}", missing(&account.ways).join(", ")));
        lost.login = true;
    } else if further.len() < account.further.len() || has_one_only(facts) && !further.is_empty() {
        lost.what
            .push("the server cannot ask for all of its factors, and one alone is less than it had".into());
        lost.login = true;
    }
    if account.locked && !facts.makes_whole() && !lost.login {
        lost.what.push("the server cannot lock an account".into());
        lost.login = true;
    }
    if lost.login {
        (account.ways, account.further, account.locked) =
            (vec![unusable(facts)], Vec::new(), facts.makes_whole());
    } else {
        let kept = if facts.vendor == Vendor::MySql { 1 } else { held.len() };
        lost.what.extend(
            missing(&account.ways)
                .iter()
                .map(|plugin| format!("no login by {plugin} any more: the server lacks that plugin")),
        );
        lost.what.extend(
            held.iter()
                .skip(kept)
                .map(|way| format!("no login by {} any more: an account has one way only", way.plugin)),
        );
        (account.ways, account.further) = (held.into_iter().take(kept).collect(), further);
    }
    if !account.older_password.0.is_empty() && (has_one_only(facts) || lost.login) {
        account.older_password.0.clear();
        lost.what.push("its older password, which held beside the current one, is gone".into());
    }
    lost
}

/// Whether an account has one password, and nothing beside it: MariaDB, and MySQL before 8.0.14.
fn has_one_only(facts: &Facts) -> bool {
    facts.vendor == Vendor::MariaDb || facts.lacking.contains("user_attributes")
}

/// The same way to log in by a plugin that the server has.
fn held(way: &Factor, facts: &Facts) -> Option<Factor> {
    let has = |plugin: &&str| facts.plugins.contains(*plugin);
    if let Some(same) = held_as_it_is(way, facts) {
        return Some(same);
    }
    if SOCKET.contains(&way.plugin.as_str()) {
        return SOCKET.iter().find(|plugin| has(plugin)).map(|plugin| Factor::new(plugin, &way.hash.0));
    }
    if way.hash.0.is_empty() && PASSWORDS.contains(&way.plugin.as_str()) {
        return NO_PASSWORD
            .iter()
            .map(|(plugin, _)| plugin)
            .find(|plugin| has(plugin))
            .map(|plugin| Factor::new(plugin, b""));
    }
    None
}

fn held_as_it_is(way: &Factor, facts: &Facts) -> Option<Factor> {
    facts.plugins.contains(&way.plugin).then(|| way.clone())
}

fn unusable(facts: &Facts) -> Factor {
    let known = NO_PASSWORD.iter().filter(|(plugin, _)| facts.plugins.contains(*plugin));
    let mut fitting = known.filter(|(_, hash)| facts.vendor == Vendor::MySql || *hash == "invalid");
    fitting.next().map_or_else(
        || Factor::new("mysql_native_password", b"invalid"),
        |(plugin, hash)| Factor::new(plugin, hash.as_bytes()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use drover_db::grants::Who;

    fn facts(vendor: Vendor, plugins: &[&str]) -> Facts {
        let plugins = plugins.iter().map(|&plugin| plugin.to_owned()).collect();
        let (privileges, lacking) = Default::default();
        Facts { vendor, privileges, plugins, partial_revokes: false, lacking }
    }

    fn account(ways: &[(&str, &str)]) -> Account {
        let mut account = Account::new(Who::new("a", "%"));
        account.ways = ways.iter().map(|(plugin, hash)| Factor::new(plugin, hash.as_bytes())).collect();
        account
    }

    #[test]
    fn a_hash_that_the_target_cannot_use_locks_the_account() {
        let mysql = facts(Vendor::MySql, &["caching_sha2_password", "sha256_password"]);
        let mut native = account(&[("mysql_native_password", "*0A")]);
        let lost = translate(&mut native, &mysql);
        assert!(lost.login && native.locked && lost.what[0].contains("mysql_native_password"));
        assert!(native.ways[0].hash.0.starts_with(b"$A$005$THISIS"));
        let mariadb = facts(Vendor::MariaDb, &["mysql_native_password", "unix_socket"]);
        let mut sha2 = account(&[("caching_sha2_password", "$A$0")]);
        assert!(translate(&mut sha2, &mariadb).login && sha2.locked);
        assert_eq!(sha2.ways, [Factor::new("mysql_native_password", b"invalid")]);
    }

    #[test]
    fn what_the_target_can_use_is_kept() {
        let mysql = facts(Vendor::MySql, &["caching_sha2_password", "auth_socket"]);
        let mut open = account(&[("mysql_native_password", "")]);
        assert_eq!(translate(&mut open, &mysql), Lost::default());
        assert_eq!(open.ways, [Factor::new("caching_sha2_password", b"")]);
        let mut either = account(&[("ed25519", "x"), ("unix_socket", "bob"), ("mysql_native_password", "")]);
        let lost = translate(&mut either, &mysql);
        assert_eq!(
            (either.ways, lost.login, lost.what.len()),
            (vec![Factor::new("auth_socket", b"bob")], false, 2)
        );
    }

    #[test]
    fn one_factor_of_two_is_not_enough() {
        let mariadb = facts(Vendor::MariaDb, &["mysql_native_password", "unix_socket"]);
        let mut both = account(&[("mysql_native_password", "*0A")]);
        both.further = vec![Factor::new("auth_socket", b"")];
        assert!(translate(&mut both, &mariadb).login && both.further.is_empty());
    }
}
