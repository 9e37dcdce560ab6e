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
    without_refused(account, facts);
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

/// What no password has, and the server does not take as a hash either, is no way to log in: MariaDB's `invalid`, and whatever MySQL 5.7 took.
fn without_refused(account: &mut Account, facts: &Facts) {
    let had_some = !account.ways.is_empty();
    account.ways.retain(|way| is_taken(way, facts));
    if had_some && account.ways.is_empty() {
        account.ways = vec![unusable(facts)];
    }
}

/// Whether the server takes the hash, if it has the plugin (seen on MySQL 5.7 and 8.0.33, MariaDB 10.5 to 11.8).
fn is_taken(way: &Factor, facts: &Facts) -> bool {
    const LENGTH: usize = 41; // an asterisk and digits, of which MySQL looks at the first only
    let hash = &way.hash.0;
    let takes_any = facts.lacks_roles() && facts.makes_whole();
    way.plugin != "mysql_native_password"
        || hash.is_empty()
        || hash.len() == LENGTH && hash[0] == b'*'
        || takes_any
        || facts.vendor == Vendor::MariaDb && hash == b"invalid"
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

    const NATIVE: &str = "*0123456789012345678901234567890123456789";

    fn facts(vendor: Vendor, plugins: &[&str]) -> Facts {
        let plugins = plugins.iter().map(|&plugin| plugin.to_owned()).collect();
        let (version, privileges, settings, lacking) = Default::default();
        Facts { vendor, version, privileges, plugins, partial_revokes: false, settings, lacking }
    }

    fn account(ways: &[(&str, &str)]) -> Account {
        let mut account = Account::new(Who::new("a", "%"));
        account.ways = ways.iter().map(|(plugin, hash)| Factor::new(plugin, hash.as_bytes())).collect();
        account
    }

    #[test]
    fn a_hash_that_the_target_cannot_use_locks_the_account() {
        let mysql = facts(Vendor::MySql, &["caching_sha2_password", "sha256_password"]);
        let mut native = account(&[("mysql_native_password", NATIVE)]);
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
    fn a_hash_that_no_password_has_is_no_way_to_log_in() {
        let native = ("mysql_native_password", "invalid");
        let mysql = facts(Vendor::MySql, &["caching_sha2_password", "mysql_native_password"]);
        let mut root = account(&[native, ("unix_socket", "")]);
        let lost = translate(&mut root, &mysql);
        assert!(
            lost.login && root.locked && lost.what == ["the server has no plugin unix_socket"],
            "{lost:?}"
        );
        let mut nobody = account(&[native]);
        assert_eq!(translate(&mut nobody, &mysql), Lost::default(), "nobody logged in before");
        assert!(nobody.ways[0].hash.0.starts_with(b"$A$005$THISIS") && !nobody.locked);
        let mariadb = facts(Vendor::MariaDb, &["mysql_native_password", "unix_socket"]);
        let mut same = account(&[("unix_socket", ""), native]);
        translate(&mut same, &mariadb);
        assert_eq!(same, account(&[("unix_socket", ""), native]));
        let mut of_5_7 = account(&[("mysql_native_password", "disabled")]);
        translate(&mut of_5_7, &mariadb);
        assert_eq!(of_5_7.ways, [Factor::new("mysql_native_password", b"invalid")]);
    }

    #[test]
    fn one_factor_of_two_is_not_enough() {
        let mariadb = facts(Vendor::MariaDb, &["mysql_native_password", "unix_socket"]);
        let mut both = account(&[("mysql_native_password", NATIVE)]);
        both.further = vec![Factor::new("auth_socket", b"")];
        assert!(translate(&mut both, &mariadb).login && both.further.is_empty());
    }
}
