//! Making accounts of one server into what another can hold. Nothing is ever allowed that was not allowed before: what has
//! no equal on the target is left away and listed, with the statement that comes nearest.

use std::collections::{BTreeMap, BTreeSet};

use drover_db::Vendor;
use drover_db::grants::{Grant, Privilege, Scope, Who};
use serde::Serialize;

use super::facts::Facts;
use super::grants::together;
use super::model::{Account, Accounts, PasswordRules};
use super::privileges::{ALL_OF_MYSQL, There, elsewhere};
use super::{authentication, sql};

/// Something of an account that the target does not hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NotHeld {
    /// The account or role, as SQL names it.
    pub account: String,
    /// What is missing, and why.
    pub what: String,
    /// What a person may run to make up for it, where there is such a statement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub statement: Option<String>,
}

impl NotHeld {
    pub(crate) fn new(who: &Who, what: impl Into<String>, statement: Option<String>) -> Self {
        Self { account: who.to_string(), what: what.into(), statement }
    }
}

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

/// Makes what a server with these facts can hold.
pub(crate) fn translate(from: &Accounts, facts: &Facts) -> Translated {
    let mut work = Work { from, facts, not_held: Vec::new(), without_login: BTreeMap::new() };
    let accounts = from.accounts.iter().filter_map(|account| work.account(account)).collect();
    Translated { accounts, not_held: work.not_held, without_login: work.without_login }
}

struct Work<'a> {
    from: &'a Accounts,
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
        if self.from.vendor == self.facts.vendor || !account.is_role {
            return Ok(who.clone());
        }
        let others =
            || self.from.accounts.iter().filter(|other| other.who.name == who.name && other.who != *who);
        match &who.host {
            None if who.is_public() => {
                Err("MySQL grants nothing to everybody; a mandatory role comes nearest".into())
            }
            None if others().any(|other| other.who.host.as_deref() == Some("%")) => {
                Err(format!("MySQL keeps roles among the accounts, and there is an account {}@`%`", who))
            }
            None => Ok(Who::new(&who.name, "%")),
            Some(_) if others().any(|other| other.is_role) => {
                Err("roles of MariaDB have no host, and there is another role of this name".into())
            }
            Some(_) => Ok(Who::role(&who.name)),
        }
    }

    /// The statements for a role that cannot have its name on the target.
    fn by_another_name(&self, role: &Account) -> String {
        let name = if role.who.is_public() { "PUBLIC".to_owned() } else { format!("{}_role", role.who.name) };
        let who = match self.facts.vendor {
            Vendor::MariaDb => Who::role(&name),
            Vendor::MySql => Who::new(&name, "%"),
        };
        let mandatory = role.who.is_public().then(|| format!("SET PERSIST mandatory_roles = '{who}'"));
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

    fn grants(&mut self, account: &Account) -> Vec<Grant> {
        let who = &account.who;
        let mut grants = Vec::new();
        let (revokes, granted): (Vec<_>, Vec<_>) =
            account.grants.iter().cloned().partition(|grant| grant.revoked);
        let is_new = self.from.vendor == Vendor::MySql && self.facts.vendor == Vendor::MariaDb;
        let granted = if is_new && revokes.is_empty() { collapsed(granted) } else { granted };
        for mut grant in granted.clone() {
            if grant.on == Scope::Global && !self.facts.partial_revokes {
                self.without_revoked(who, &mut grant, &revokes);
            }
            if let Some(on) = self.scope(who, &grant) {
                let privileges = self.privileges(who, &grant, &granted);
                grants.push(Grant { on, privileges, ..grant });
            }
        }
        if self.facts.partial_revokes {
            grants.extend(revokes);
        }
        let grants = together(grants.into_iter().filter(|grant| !grant.privileges.is_empty()));
        match self.facts.vendor == Vendor::MySql && self.facts.lacking.contains("create_role_priv") {
            true => grants.into_iter().map(|grant| self.as_all(grant)).collect(),
            false => grants,
        }
    }

    /// MySQL before 8.0 shows all of its privileges on everything as ALL PRIVILEGES.
    fn as_all(&self, grant: Grant) -> Grant {
        let has = |name: &String| grant.privileges.iter().any(|privilege| privilege.name == *name);
        match grant.on == Scope::Global && !grant.revoked && self.facts.privileges.iter().all(has) {
            true => Grant { privileges: vec![Privilege::new("ALL PRIVILEGES")], ..grant },
            false => grant,
        }
    }

    /// A privilege on all schemas but some is not granted at all where it would be one on all.
    fn without_revoked(&mut self, who: &Who, grant: &mut Grant, revokes: &[Grant]) {
        let name = |privilege: &Privilege| privilege.name.clone();
        let revoked: BTreeSet<_> =
            revokes.iter().flat_map(|revoke| revoke.privileges.iter().map(name)).collect();
        let is_hit = |privilege: &Privilege| privilege.is_all() || revoked.contains(&privilege.name);
        if revoked.is_empty() || !grant.privileges.iter().any(is_hit) {
            return;
        }
        let (hit, kept): (Vec<_>, Vec<_>) =
            std::mem::take(&mut grant.privileges).into_iter().partition(is_hit);
        grant.privileges = kept;
        let statement = Grant { privileges: hit.clone(), ..grant.clone() }.statement(who);
        let hit: Vec<_> = hit.iter().map(name).collect();
        let but: Vec<_> = revokes.iter().map(|revoke| revoke.statement(who)).collect();
        let what = format!(
            "{} on all schemas but some ({}) needs partial_revokes: not granted; the statement gives it on those too",
            hit.join(", "),
            but.join("; ")
        );
        self.lost(who, what, Some(statement));
    }

    /// With partial_revokes `_` and `%` in a schema's name stand for themselves, without it for any characters.
    fn scope(&mut self, who: &Who, grant: &Grant) -> Option<Scope> {
        let Scope::Schema(name) = &grant.on else { return Some(grant.on.clone()) };
        let literal = match (self.from.partial_revokes, self.facts.partial_revokes) {
            (true, false) => Some(escaped(name)),
            (false, true) => unescaped(name),
            _ => Some(name.clone()),
        };
        if literal.is_none() {
            let what = "the target has partial_revokes: it takes no patterns for names of schemas";
            self.lost(who, what, Some(grant.statement(who)));
        }
        literal.map(Scope::Schema)
    }

    fn privileges(&mut self, who: &Who, grant: &Grant, granted: &[Grant]) -> Vec<Privilege> {
        let (mut found, mut unknown, mut nearest) = (Vec::new(), Vec::new(), BTreeSet::new());
        for privilege in &grant.privileges {
            let name = privilege.name.as_str();
            if name == "USAGE" || privilege.is_all() || self.facts.privileges.contains(name) {
                found.extend(self.spelled_out(grant, privilege));
                continue;
            }
            match elsewhere(name, self.facts) {
                // Those with a line below are MySQL's dynamic ones, which are global only.
                There::Is(names)
                    if grant.on == Scope::Global || !names.iter().any(|name| name.contains('_')) =>
                {
                    let columns = &privilege.columns;
                    found.extend(
                        names
                            .iter()
                            .map(|name| Privilege { columns: columns.clone(), ..Privilege::new(name) }),
                    );
                }
                There::Nearest(other) if holds_globally(granted, other) => {}
                There::Nearest(other) => {
                    nearest.insert(other);
                    unknown.push(name);
                }
                _ => unknown.push(name),
            }
        }
        if !unknown.is_empty() {
            let more = if nearest.is_empty() { "" } else { "; the statement comes nearest, and allows more" };
            let privileges: Vec<_> = nearest.iter().map(|name| Privilege::new(name)).collect();
            let instead = Grant { on: Scope::Global, privileges, grant_option: false, revoked: false };
            let statement = (!nearest.is_empty()).then(|| instead.statement(who));
            let what = format!("{} knows no privilege {}{more}", self.facts.vendor, unknown.join(", "));
            self.lost(who, what, statement);
        }
        found
    }

    /// MySQL shows ALL PRIVILEGES on everything as the privileges that it means.
    fn spelled_out(&self, grant: &Grant, privilege: &Privilege) -> Vec<Privilege> {
        match privilege.is_all() && grant.on == Scope::Global && self.facts.vendor == Vendor::MySql {
            true => self.facts.privileges.iter().map(|name| Privilege::new(name)).collect(),
            false => vec![privilege.clone()],
        }
    }
}

/// An account that has all of MySQL's privileges has all of MariaDB's.
fn collapsed(granted: Vec<Grant>) -> Vec<Grant> {
    if !ALL_OF_MYSQL.iter().all(|name| holds_globally(&granted, name)) {
        return granted;
    }
    let (global, mut grants): (Vec<_>, Vec<_>) =
        granted.into_iter().partition(|grant| grant.on == Scope::Global);
    let grant_option =
        global.iter().any(|grant| grant.grant_option && grant.privileges.iter().any(|p| p.name == "SELECT"));
    let privileges = vec![Privilege::new("ALL PRIVILEGES")];
    grants.push(Grant { on: Scope::Global, revoked: false, grant_option, privileges });
    grants
}

fn holds_globally(granted: &[Grant], name: &str) -> bool {
    let mut global = granted.iter().filter(|grant| grant.on == Scope::Global);
    global.any(|grant| grant.privileges.iter().any(|privilege| privilege.name == name || privilege.is_all()))
}

/// Whether a host is an address with the number of its bits, `10.0.0.0/8`.
fn is_prefix(host: &str) -> bool {
    host.split_once('/')
        .is_some_and(|(_, bits)| !bits.is_empty() && bits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// A schema's name as a pattern that matches nothing else.
pub(crate) fn escaped(name: &str) -> String {
    name.replace('_', "\\_").replace('%', "\\%")
}

/// The one name that a pattern matches; `None` if it may match several.
pub(crate) fn unescaped(pattern: &str) -> Option<String> {
    let (mut name, mut rest) = (String::new(), pattern.chars());
    while let Some(c) = rest.next() {
        match c {
            '%' | '_' => return None,
            '\\' => match rest.next() {
                Some(escaped @ ('%' | '_' | '\\')) => name.push(escaped),
                Some(other) => name.extend(['\\', other]),
                None => name.push('\\'),
            },
            other => name.push(other),
        }
    }
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::users::model::{Factor, Membership};
    use proptest::prelude::*;

    fn facts(vendor: Vendor, partial_revokes: bool, privileges: &[&str]) -> Facts {
        let set = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        let plugins = set(&["mysql_native_password", "caching_sha2_password"]);
        Facts { vendor, privileges: set(privileges), plugins, partial_revokes, lacking: BTreeSet::new() }
    }

    fn grant(on: Scope, names: &[&str]) -> Grant {
        let privileges = names.iter().map(|name| Privilege::new(name)).collect();
        Grant { on, revoked: false, grant_option: false, privileges }
    }

    fn account(grants: Vec<Grant>) -> Account {
        let ways = vec![Factor::new("mysql_native_password", b"*0A")];
        Account { ways, grants, ..Account::new(Who::new("a", "%")) }
    }

    fn accounts(vendor: Vendor, accounts: Vec<Account>) -> Accounts {
        Accounts { vendor, partial_revokes: false, accounts }
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
