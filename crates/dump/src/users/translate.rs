//! Making accounts of one server into what another can hold. Nothing is ever allowed that was not allowed before: what has
//! no equal on the target is left away and listed, with the statement that comes nearest.

mod rights;
mod settings;
mod superuser;

use drover_format::NotHeld;
use std::collections::BTreeMap;

use drover_db::grants::Who;
use drover_db::{Server, Vendor};

use super::facts::Facts;
use super::model::{Account, Accounts, PasswordRules};
use super::{authentication, sql};

pub(crate) use rights::{escaped, unescaped};

/// Accounts as the target can hold them.
#[derive(Debug)]
pub(crate) struct Translated {
    pub(crate) accounts: Vec<Account>,
    pub(crate) not_held: Vec<NotHeld>,
    /// Those whose way to log in the target does not hold.
    pub(crate) without_login: BTreeMap<Who, NoLogin>,
}

/// A way to log in that the target does not hold: an account that is made for it is locked.
#[derive(Debug)]
pub(crate) struct NoLogin {
    /// Why it is lost.
    pub(crate) why: String,
    /// What gives a new account a password.
    pub(crate) statement: String,
    /// Whether the account was locked before it lost its way to log in.
    pub(crate) locked: bool,
}

/// Makes what a server with these facts can hold of the accounts of `server`.
pub(crate) fn translate(from: &Accounts, server: &Server, facts: &Facts) -> Translated {
    let source = server.numbers();
    let mut work = Work { from, source, facts, not_held: Vec::new(), without_login: BTreeMap::new() };
    let accounts = from.accounts.iter().filter_map(|account| work.account(account)).collect();
    work.settings();
    Translated { accounts, not_held: work.not_held, without_login: work.without_login }
}

struct Work<'a> {
    from: &'a Accounts,
    /// The version of the server that they are from.
    source: (u32, u32, u32),
    facts: &'a Facts,
    not_held: Vec<NotHeld>,
    without_login: BTreeMap<Who, NoLogin>,
}

impl Work<'_> {
    fn account(&mut self, original: &Account) -> Option<Account> {
        let who = match self.name(original) {
            Ok(who) => who,
            Err(why) => {
                let statement = self.by_another_name(original);
                self.not_held.push(NotHeld::new(&original.who, why, Some(statement)));
                return None;
            }
        };
        let mut account = Account { who, ..original.clone() };
        match self.facts.vendor {
            Vendor::MariaDb => self.rules_of_mysql(&mut account),
            Vendor::MySql => {
                self.limits_of_mariadb(&mut account);
                self.rules_of_later_mysql(&mut account);
            }
        }
        self.login(&mut account);
        self.memberships(&mut account);
        self.proxies(&mut account);
        account.grants = self.grants(&account);
        Some(account)
    }

    fn lost(&mut self, who: &Who, what: impl Into<String>, statement: Option<String>) {
        self.not_held.push(NotHeld::new(who, what, statement));
    }

    /// The name of an account or role on the target, or why it can have none.
    fn name(&self, account: &Account) -> Result<Who, String> {
        let who = &account.who;
        if who.is_public() {
            return self.public(who);
        }
        if self.from.vendor == self.facts.vendor || !account.is_role {
            return Ok(who.clone());
        }
        let others =
            || self.from.accounts.iter().filter(|other| other.who.name == who.name && other.who != *who);
        match &who.host {
            None if others().any(|other| other.who.host.as_deref() == Some("%")) => {
                Err(format!("MySQL keeps roles among the accounts, and there is an account {}@`%`", who))
            }
            None => Ok(Who::new(&who.name, "%")),
            Some(_) if is_word_of_mariadb(&who.name) => {
                Err(format!("no role of MariaDB can be called {}", who.name))
            }
            Some(_) if others().any(|other| other.is_role) => {
                Err("roles of MariaDB have no host, and there is another role of this name".into())
            }
            Some(_) => Ok(Who::role(&who.name)),
        }
    }

    fn public(&self, who: &Who) -> Result<Who, String> {
        match self.facts.vendor {
            Vendor::MySql => Err("MySQL grants nothing to everybody; a mandatory role comes nearest".into()),
            Vendor::MariaDb if self.facts.version < PUBLIC_SINCE => {
                Err("MariaDB before 10.11 grants nothing to everybody".into())
            }
            Vendor::MariaDb => Ok(who.clone()),
        }
    }

    /// The statements for a role that cannot have its name on the target.
    fn by_another_name(&self, role: &Account) -> String {
        let is_mandatory = role.who.is_public() && self.facts.vendor == Vendor::MySql;
        let name = if is_mandatory { "PUBLIC".to_owned() } else { format!("{}_role", role.who.name) };
        let who = match self.facts.vendor {
            Vendor::MariaDb => Who::role(&name),
            Vendor::MySql => Who::new(&name, "%"),
        };
        let mandatory = is_mandatory.then(|| format!("SET PERSIST mandatory_roles = '{who}'"));
        let role = Account { is_role: true, grants: role.grants.clone(), ..Account::new(who) };
        let statements = sql::script(&Accounts { accounts: vec![role], ..self.from.clone() });
        statements.into_iter().chain(mandatory).collect::<Vec<_>>().join("; ")
    }

    /// The name on the target of a role or account that another one names.
    fn named(&self, who: &Who) -> Option<Who> {
        match self.from.accounts.iter().find(|account| account.who == *who) {
            Some(account) => self.name(account).ok(),
            None => Some(who.clone()),
        }
    }

    fn login(&mut self, account: &mut Account) {
        if account.is_role {
            return;
        }
        let was_locked = account.locked;
        let lost = authentication::translate(account, self.facts);
        let unlock = if was_locked { "" } else { " ACCOUNT UNLOCK" };
        let statement = match self.facts.makes_whole() {
            true => format!("ALTER USER {} IDENTIFIED BY 'a new password'{unlock}", account.who),
            false => format!("SET PASSWORD FOR {} = PASSWORD('a new password')", account.who),
        };
        if lost.login {
            let login = NoLogin { why: lost.what.join("; "), statement, locked: was_locked };
            self.without_login.insert(account.who.clone(), login);
        } else {
            lost.what.iter().for_each(|what| self.lost(&account.who, what, None));
        }
    }

    fn rules_of_mysql(&mut self, account: &mut Account) {
        let rules = &account.password;
        let mut gone = Vec::new();
        let mut note = |is_set: bool, name: &'static str| gone.extend(is_set.then_some(name));
        note(rules.history.is_some(), "PASSWORD HISTORY");
        note(rules.reuse_interval.is_some(), "PASSWORD REUSE INTERVAL");
        note(rules.require_current.is_some(), "PASSWORD REQUIRE CURRENT");
        note(
            rules.failed_logins.is_some(),
            "FAILED_LOGIN_ATTEMPTS (max_password_errors holds for everybody)",
        );
        note(account.attribute.is_some(), "COMMENT or ATTRIBUTE");
        account.password =
            PasswordRules { expired: rules.expired, lifetime: rules.lifetime, ..PasswordRules::default() };
        account.attribute = None;
        if !gone.is_empty() {
            self.lost(&account.who, format!("MariaDB has no {}", gone.join(", ")), None);
        }
        if account.who.host.as_deref().is_some_and(is_prefix) {
            self.lost(
                &account.who,
                "MariaDB takes an address with /BITS for a name that no host has; write a netmask",
                None,
            );
        }
    }

    /// What the server has no column for.
    fn rules_of_later_mysql(&mut self, account: &mut Account) {
        let mut gone = Vec::new();
        let mut without = |column: &str, was_set: &mut dyn FnMut() -> bool, name: &'static str| {
            if self.facts.lacking.contains(column) && was_set() {
                gone.push(name);
            }
        };
        let rules = &mut account.password;
        without("password_expired", &mut || std::mem::take(&mut rules.expired), "PASSWORD EXPIRE");
        without("password_lifetime", &mut || rules.lifetime.take().is_some(), "PASSWORD EXPIRE INTERVAL");
        without("password_reuse_history", &mut || rules.history.take().is_some(), "PASSWORD HISTORY");
        without(
            "password_reuse_time",
            &mut || rules.reuse_interval.take().is_some(),
            "PASSWORD REUSE INTERVAL",
        );
        without(
            "password_require_current",
            &mut || rules.require_current.take().is_some(),
            "PASSWORD REQUIRE CURRENT",
        );
        without("user_attributes", &mut || rules.failed_logins.take().is_some(), "FAILED_LOGIN_ATTEMPTS");
        without("user_attributes", &mut || account.attribute.take().is_some(), "COMMENT or ATTRIBUTE");
        if !gone.is_empty() {
            self.lost(&account.who, format!("the server has no {}", gone.join(", ")), None);
        }
    }

    fn limits_of_mariadb(&mut self, account: &mut Account) {
        if let Some(time) = account.limits.statement_time.take() {
            let what = format!(
                "MySQL has no MAX_STATEMENT_TIME {time}; max_execution_time limits everybody's SELECTs"
            );
            self.lost(&account.who, what, None);
        }
        if account.limits.user_connections < 0 {
            account.limits.user_connections = 0;
            account.locked = true;
            self.lost(
                &account.who,
                "MySQL has no MAX_USER_CONNECTIONS -1, which lets nobody in: it is locked",
                None,
            );
        }
    }

    fn memberships(&mut self, account: &mut Account) {
        let who = account.who.clone();
        let is_role = |role: &Who| self.from.accounts.iter().any(|other| other.who == *role && other.is_role);
        let (possible, not): (Vec<_>, Vec<_>) =
            std::mem::take(&mut account.roles).into_iter().partition(|membership| {
                self.facts.vendor == Vendor::MySql
                    || is_role(&membership.role)
                    || membership.role.host.is_none()
            });
        for membership in not {
            self.lost(&who, format!("MariaDB cannot grant the account {} as a role", membership.role), None);
        }
        for membership in possible {
            match self.named(&membership.role) {
                Some(role) => account.roles.push(super::model::Membership { role, ..membership }),
                None => self.lost(&who, format!("the role {} could not be made", membership.role), None),
            }
        }
        let mut roles: Vec<_> = account.default_roles.iter().filter_map(|role| self.named(role)).collect();
        if self.facts.vendor == Vendor::MariaDb && roles.len() > 1 {
            let more = roles.split_off(1);
            let more: Vec<_> = more.iter().map(Who::to_string).collect();
            let what = format!(
                "MariaDB has one default role for an account: {} is not active by itself",
                more.join(", ")
            );
            self.lost(&who, what, None);
        }
        account.default_roles = roles;
        account.roles.sort();
        account.default_roles.sort();
    }

    /// MariaDB writes `%` for the host of those who are meant by ''@''.
    fn proxies(&mut self, account: &mut Account) {
        for proxy in &mut account.proxies {
            if self.facts.vendor == Vendor::MariaDb && proxy.of == Who::new("", "") {
                proxy.of = Who::new("", "%");
            }
        }
        account.proxies.sort();
    }
}

/// MariaDB's first version with PUBLIC.
const PUBLIC_SINCE: (u32, u32, u32) = (10, 11, 0);

/// Names that MariaDB takes for no role, in capitals or not, quoted or not (seen on 10.5 to 11.8). `PUBLIC` is everybody.
fn is_word_of_mariadb(name: &str) -> bool {
    ["", "PUBLIC", "NONE"].iter().any(|word| name.eq_ignore_ascii_case(word))
}

/// Whether a host is an address with the number of its bits, `10.0.0.0/8`.
fn is_prefix(host: &str) -> bool {
    host.split_once('/')
        .is_some_and(|(_, bits)| !bits.is_empty() && bits.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::users::model::{Factor, Membership};
    use crate::users::privileges::ALL_OF_MYSQL;
    use drover_db::grants::{Grant, Privilege, Scope};
    use proptest::prelude::*;

    fn facts(vendor: Vendor, partial_revokes: bool, privileges: &[&str]) -> Facts {
        let set = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        let plugins = set(&["mysql_native_password", "caching_sha2_password"]);
        let (version, settings, lacking) = Default::default();
        Facts { vendor, version, privileges: set(privileges), plugins, partial_revokes, settings, lacking }
    }

    fn translate(from: &Accounts, facts: &Facts) -> Translated {
        between((0, 0), from, facts)
    }

    /// With the source's version.
    fn between((major, minor): (u32, u32), from: &Accounts, facts: &Facts) -> Translated {
        let (vendor, version) = (from.vendor, format!("{major}.{minor}.1"));
        super::translate(from, &Server { vendor, version, comment: String::new() }, facts)
    }

    fn grant(on: Scope, names: &[&str]) -> Grant {
        let privileges = names.iter().map(|name| Privilege::new(name)).collect();
        Grant { on, revoked: false, grant_option: false, privileges }
    }

    fn account(grants: Vec<Grant>) -> Account {
        let ways = vec![Factor::new("mysql_native_password", b"*0123456789012345678901234567890123456789")];
        Account { ways, grants, ..Account::new(Who::new("a", "%")) }
    }

    fn accounts(vendor: Vendor, accounts: Vec<Account>) -> Accounts {
        Accounts {
            vendor,
            partial_revokes: false,
            settings: BTreeMap::new(),
            accounts,
            passed_over: Vec::new(),
        }
    }

    #[test]
    fn a_server_like_the_first_gets_all_as_it_was() {
        for vendor in [Vendor::MariaDb, Vendor::MySql] {
            let mut one = account(vec![
                grant(Scope::Global, &["PROCESS"]),
                grant(Scope::Schema("s\\_%".into()), &["SELECT"]),
            ]);
            one.limits.statement_time = (vendor == Vendor::MariaDb).then(|| "1.5".into());
            one.password.history = (vendor == Vendor::MySql).then_some(3);
            let from = accounts(vendor, vec![one]);
            let facts = facts(vendor, false, &["PROCESS", "SELECT"]);
            let there = translate(&from, &facts);
            assert_eq!((there.accounts, there.not_held), (from.accounts, Vec::new()));
        }
    }

    #[test]
    fn no_account_may_do_more_than_before() {
        let mut revoke = grant(Scope::Schema("secret".into()), &["SELECT"]);
        revoke.revoked = true;
        let one =
            account(vec![grant(Scope::Global, &["SELECT", "PROCESS", "SYSTEM_VARIABLES_ADMIN"]), revoke]);
        let there = translate(
            &accounts(Vendor::MySql, vec![one]),
            &facts(Vendor::MariaDb, false, &["SELECT", "PROCESS", "SUPER"]),
        );
        assert_eq!(there.accounts[0].grants, [grant(Scope::Global, &["PROCESS"])]);
        let statements: Vec<_> = there.not_held.iter().filter_map(|one| one.statement.clone()).collect();
        assert_eq!(statements, ["GRANT SELECT ON *.* TO `a`@`%`", "GRANT SUPER ON *.* TO `a`@`%`"]);
    }

    #[test]
    fn super_never_allows_more_and_less_only_where_it_is_listed() {
        let moved = |held: &[&str], from: (Vendor, (u32, u32)), to: (Vendor, (u32, u32)), knows: &[&str]| {
            let facts = Facts { version: (to.1.0, to.1.1, 1), ..facts(to.0, false, knows) };
            let there =
                between(from.1, &accounts(from.0, vec![account(vec![grant(Scope::Global, held)])]), &facts);
            let names = there.accounts[0].grants.iter().flat_map(|grant| &grant.privileges);
            let names: Vec<_> = names.map(|privilege| privilege.name.clone()).collect();
            (names.join(", "), there.not_held.len())
        };
        let (mariadb, mysql) = (Vendor::MariaDb, Vendor::MySql);
        let every = ["X", "READ_ONLY ADMIN", "SET USER", "SUPER"];
        for (from, to, expected, lost) in [
            ((10, 5), (10, 6), "SUPER", 0),
            ((10, 4), (10, 11), "READ_ONLY ADMIN, SUPER", 0),
            ((10, 11), (10, 11), "SUPER", 0),
            ((10, 5), (11, 8), "READ_ONLY ADMIN, SET USER, SUPER", 0),
            ((10, 11), (11, 8), "SET USER, SUPER", 0),
            ((11, 4), (11, 8), "SUPER", 0),
            ((11, 8), (10, 11), "", 1),
            ((10, 11), (10, 5), "SET USER", 1),
        ] {
            let found = moved(&["SUPER"], (mariadb, from), (mariadb, to), &every);
            assert_eq!(found, (expected.to_owned(), lost), "{from:?} to {to:?}");
        }
        let both = moved(&["READ_ONLY ADMIN", "SUPER"], (mariadb, (10, 11)), (mariadb, (10, 5)), &every);
        assert_eq!(both, ("READ_ONLY ADMIN, SUPER".into(), 0));
        let of_8 = ["ROLE_ADMIN", "SET_USER_ID", "SUPER", "SYSTEM_VARIABLES_ADMIN", "XA_RECOVER_ADMIN"];
        let to_8 = |from| moved(&["SUPER"], from, (mysql, (8, 0)), &of_8);
        assert_eq!(to_8((mysql, (5, 7))), ("SUPER, XA_RECOVER_ADMIN".into(), 0));
        assert_eq!(to_8((mysql, (8, 0))), ("SUPER".into(), 0));
        assert_eq!(
            to_8((mariadb, (10, 5))),
            ("SET_USER_ID, SYSTEM_VARIABLES_ADMIN, XA_RECOVER_ADMIN".into(), 1)
        );
        assert_eq!(to_8((mariadb, (11, 8))), ("XA_RECOVER_ADMIN".into(), 1));
        assert_eq!(moved(&["SUPER"], (mysql, (5, 7)), (mariadb, (11, 8)), &every).1, 0);
        assert_eq!(moved(&["SUPER"], (mysql, (9, 7)), (mariadb, (11, 8)), &every).1, 1);
        assert_eq!(
            moved(&["SUPER"], (mariadb, (10, 5)), (mysql, (5, 7)), &["SUPER", "X"]),
            ("SUPER".into(), 0)
        );
        assert_eq!(
            moved(&["SUPER"], (mariadb, (11, 8)), (mysql, (5, 7)), &["SUPER", "X"]),
            (String::new(), 1)
        );
    }

    #[test]
    fn all_privileges_stay_all() {
        let every = facts(Vendor::MySql, false, &ALL_OF_MYSQL);
        let all = accounts(Vendor::MariaDb, vec![account(vec![grant(Scope::Global, &["ALL PRIVILEGES"])])]);
        let mut there = translate(&all, &every);
        assert_eq!(there.accounts[0].grants, [grant(Scope::Global, &ALL_OF_MYSQL)]);
        let back = translate(
            &accounts(Vendor::MySql, vec![there.accounts.remove(0)]),
            &facts(Vendor::MariaDb, false, &[]),
        );
        assert_eq!(back.accounts[0].grants, all.accounts[0].grants);
    }

    proptest! {
        #[test]
        fn a_grant_option_on_everything_is_kept_or_listed(
            names in prop::sample::subsequence(ALL_OF_MYSQL.to_vec(), 1..=ALL_OF_MYSQL.len()),
            is_all: bool,
            from in 0..4_usize,
            to in 0..2_usize,
        ) {
            let servers = [(Vendor::MySql, (5, 7)), (Vendor::MySql, (8, 4)), (Vendor::MariaDb, (10, 1)), (Vendor::MariaDb, (11, 8))];
            let (vendor, version) = servers[from];
            let names = if is_all { vec!["ALL PRIVILEGES"] } else { names };
            let granted = Grant { grant_option: true, ..grant(Scope::Global, &names) };
            let accounts = accounts(vendor, vec![account(vec![granted])]);
            let facts = facts([Vendor::MySql, Vendor::MariaDb][to], false, &ALL_OF_MYSQL);
            let there = between(version, &accounts, &facts);
            let grants = &there.accounts[0].grants;
            let has_option = grants.iter().any(|grant| grant.on == Scope::Global && grant.grant_option);
            prop_assert!(has_option || !there.not_held.is_empty(), "{grants:?}");
        }
    }

    #[test]
    fn roles_change_their_names_wherever_they_stand() {
        let role = Account { is_role: true, ..Account::new(Who::role("r")) };
        let mut user = account(Vec::new());
        user.roles = vec![Membership { role: Who::role("r"), admin: true }];
        user.default_roles = vec![Who::role("r")];
        let there = translate(
            &accounts(Vendor::MariaDb, vec![role.clone(), user.clone()]),
            &facts(Vendor::MySql, false, &[]),
        );
        assert_eq!(there.accounts[0].who, Who::new("r", "%"));
        assert_eq!(
            (&there.accounts[1].roles[0].role, &there.accounts[1].default_roles[0]),
            (&Who::new("r", "%"), &Who::new("r", "%"))
        );
        let namesake = Account { who: Who::new("r", "%"), ..account(Vec::new()) };
        let there = translate(
            &accounts(Vendor::MariaDb, vec![role, user, namesake]),
            &facts(Vendor::MySql, false, &[]),
        );
        assert_eq!(there.accounts.len(), 2);
        assert_eq!(there.not_held.len(), 2, "{:?}", there.not_held);
        assert!(there.accounts[0].roles.is_empty() && there.accounts[0].default_roles.is_empty());
    }

    proptest! {
        #[test]
        fn a_name_as_a_pattern_is_that_name(name in "[a_%é$]{0,6}") {
            prop_assert_eq!(unescaped(&escaped(&name)), Some(name.clone()));
            prop_assert!(drover_db::grants::like(&escaped(&name), &name));
        }
    }
}
