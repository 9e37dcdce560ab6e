//! What differs between an account as it should be and as it is, in words that give no secret away.

use std::collections::BTreeSet;

use drover_db::Vendor;

use super::model::{Account, PasswordRules};
use super::sql;

/// An account as it should be.
pub(crate) struct Expected<'a> {
    pub(crate) account: &'a Account,
    /// Whether the server can hold the dumped password; otherwise a new account is locked.
    pub(crate) login: bool,
    /// Whether it is locked in the dump.
    pub(crate) locked: bool,
    /// Statements that the server refused, which is reported elsewhere.
    pub(crate) refused: &'a BTreeSet<String>,
}

/// That an account whose dumped password the server cannot hold is not locked as a new one would be.
pub(crate) const PASSWORD_UNKNOWN: &str = "whether its password is the dumped one cannot be told";

/// What differs; empty if the account is as it should be.
pub(crate) fn differences(expected: &Expected<'_>, now: &Account, vendor: Vendor) -> Vec<String> {
    let (then, mut all) = (expected.account, Vec::new());
    let mut differs =
        |differs: bool, what: &str| all.extend(differs.then(|| format!("its {what} is not the dumped one")));
    if expected.login {
        let other_plugin = plugins(then) != plugins(now);
        differs(other_plugin, "authentication plugin");
        differs(!other_plugin && then.secrets().ne(now.secrets()), "password");
    }
    let as_made = || now.locked == then.locked && (&then.ways, &then.further) == (&now.ways, &now.further);
    let is_unknown = !expected.login && !as_made();
    if expected.login || is_unknown {
        differs(expected.locked != now.locked || then.is_role != now.is_role, "ACCOUNT LOCK");
        differs(then.password.expired != now.password.expired, "PASSWORD EXPIRE");
    }
    differs(then.require != now.require, "REQUIRE");
    differs(then.limits != now.limits, "resource limit");
    let rules = PasswordRules { expired: now.password.expired, ..then.password.clone() };
    differs(rules != now.password, "rule for passwords");
    differs(then.attribute != now.attribute, "comment or attribute");
    let (then, now) = (rights(then, vendor), rights(now, vendor));
    let lacks = then.iter().filter(|right| !now.contains(right) && !expected.refused.contains(*right));
    all.extend(lacks.map(|right| format!("it lacks {right}")));
    all.extend(is_unknown.then(|| PASSWORD_UNKNOWN.to_owned()));
    let more = now.iter().filter(|right| !then.contains(right));
    all.extend(more.map(|right| format!("the dump does not have {right}")));
    all
}

fn plugins(account: &Account) -> Vec<&str> {
    account.ways.iter().chain(&account.further).map(|factor| factor.plugin.as_str()).collect()
}

/// Everything that is granted, as statements.
fn rights(account: &Account, vendor: Vendor) -> Vec<String> {
    let granted = account.grants.iter().map(|grant| grant.statement(&account.who));
    sql::memberships(account, vendor).into_iter().chain(granted).collect()
}

#[cfg(test)]
mod tests {
    use drover_db::grants::Who;

    use super::super::model::Factor;
    use super::*;

    #[test]
    fn a_lock_is_compared_also_where_the_password_cannot_be() {
        let mut then = Account::new(Who::new("a", "%"));
        (then.ways, then.locked) = (vec![Factor::new("p", b"unusable")], true);
        let differ = |was_locked: bool, now: &Account| {
            let refused = BTreeSet::new();
            let expected = Expected { account: &then, login: false, locked: was_locked, refused: &refused };
            differences(&expected, now, Vendor::MySql)
        };
        let own = |locked: bool, expired: bool| {
            let mut now = Account { ways: vec![Factor::new("p", b"its own")], locked, ..then.clone() };
            now.password.expired = expired;
            now
        };
        let lock = "its ACCOUNT LOCK is not the dumped one";
        assert_eq!(differ(false, &then), [""; 0]);
        assert_eq!(differ(false, &own(false, false)), [PASSWORD_UNKNOWN]);
        assert_eq!(differ(true, &own(true, false)), [PASSWORD_UNKNOWN]);
        assert_eq!(differ(true, &own(false, false)), [lock, PASSWORD_UNKNOWN]);
        assert_eq!(differ(false, &own(true, false)), [lock, PASSWORD_UNKNOWN]);
        let expired = "its PASSWORD EXPIRE is not the dumped one";
        assert_eq!(differ(false, &own(false, true)), [expired, PASSWORD_UNKNOWN]);
    }
}
