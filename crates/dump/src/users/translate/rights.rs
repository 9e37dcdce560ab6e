//! What an account may do, as the target can hold it.

use std::collections::BTreeSet;

use drover_db::Vendor;
use drover_db::grants::{Grant, Privilege, Scope, Who};

use super::Work;
use crate::users::grants::together;
use crate::users::model::Account;
use crate::users::privileges::{ALL_OF_MYSQL, There, elsewhere};

impl Work<'_> {
    pub(super) fn grants(&mut self, account: &Account) -> Vec<Grant> {
        let who = &account.who;
        let mut grants = Vec::new();
        let (revokes, granted): (Vec<_>, Vec<_>) =
            account.grants.iter().cloned().partition(|grant| grant.revoked);
        let is_new = self.from.vendor == Vendor::MySql && self.facts.vendor == Vendor::MariaDb;
        let spreads = is_new && option_would_spread(&granted);
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
        if spreads {
            self.without_option(who, &mut grants);
        }
        let grants = together(grants.into_iter().filter(|grant| !grant.privileges.is_empty()));
        match self.facts.vendor == Vendor::MariaDb || self.facts.lacks_roles() {
            true => grants.into_iter().map(|grant| self.as_all(grant)).collect(),
            false => grants,
        }
    }

    /// One GRANT OPTION for more than had it is none.
    fn without_option(&mut self, who: &Who, grants: &mut [Grant]) {
        for grant in grants.iter_mut().filter(|grant| grant.on == Scope::Global) {
            grant.grant_option = false;
        }
        let privileges = vec![Privilege::new("USAGE")];
        let option = Grant { on: Scope::Global, revoked: false, grant_option: true, privileges };
        let what = "MariaDB has one GRANT OPTION for all privileges on everything, and it had it for some only: left out; the statement \
                    gives it for all";
        self.lost(who, what, Some(option.statement(who)));
    }

    /// MariaDB, and MySQL before 8.0, show all of their privileges on everything as ALL PRIVILEGES.
    fn as_all(&self, grant: Grant) -> Grant {
        let has = |name: &String| grant.privileges.iter().any(|privilege| privilege.name == *name);
        let all = &self.facts.privileges;
        match grant.on == Scope::Global && !grant.revoked && !all.is_empty() && all.iter().all(has) {
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
            if name == "SUPER" {
                found.extend(self.superuser(who, granted).into_iter().map(Privilege::new));
                continue;
            }
            if let Some(both) = self.as_one(name, granted) {
                found.push(Privilege::new(both));
                continue;
            }
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
            let (major, minor, _) = self.facts.version;
            let server = format!("{} {major}.{minor}", self.facts.vendor);
            let what = format!("{server} knows no privilege {}{more}", unknown.join(", "));
            self.lost(who, what, statement);
        }
        found
    }

    /// The one privilege that an older MySQL has for two that the account has.
    fn as_one(&self, name: &str, granted: &[Grant]) -> Option<&'static str> {
        const BOTH: [&str; 2] = ["SET_ANY_DEFINER", "ALLOW_NONEXISTENT_DEFINER"];
        let knows = |name: &str| self.facts.privileges.contains(name);
        let is_so = BOTH.contains(&name) && !knows(name) && knows("SET_USER_ID");
        (is_so && BOTH.iter().all(|one| holds_globally(granted, one))).then_some("SET_USER_ID")
    }

    /// MySQL shows ALL PRIVILEGES on everything as the privileges that it means.
    fn spelled_out(&self, grant: &Grant, privilege: &Privilege) -> Vec<Privilege> {
        match privilege.is_all() && grant.on == Scope::Global && self.facts.vendor == Vendor::MySql {
            true => self.facts.privileges.iter().map(|name| Privilege::new(name)).collect(),
            false => vec![privilege.clone()],
        }
    }
}

/// Whether MariaDB's GRANT OPTION on everything, which holds for all privileges there and on schemas, would be more than MySQL's, which has
/// one for the older privileges together and one for each dynamic one.
fn option_would_spread(granted: &[Grant]) -> bool {
    let is_dynamic = |privilege: &Privilege| privilege.name.contains('_');
    let global = || granted.iter().filter(|grant| grant.on == Scope::Global);
    let of_older = |grant: &Grant| grant.grant_option && !grant.privileges.iter().all(is_dynamic);
    let is_without =
        |grant: &Grant| !grant.grant_option && grant.privileges.iter().any(|one| one.name != "USAGE");
    global().any(|grant| grant.grant_option) && (!global().any(of_older) || global().any(is_without))
}

/// An account that has all of MySQL's privileges has all of MariaDB's.
fn collapsed(granted: Vec<Grant>) -> Vec<Grant> {
    if !ALL_OF_MYSQL.iter().all(|name| holds_globally(&granted, name)) {
        return granted;
    }
    let (global, mut grants): (Vec<_>, Vec<_>) =
        granted.into_iter().partition(|grant| grant.on == Scope::Global);
    // MySQL before 8.0 shows them as ALL PRIVILEGES.
    let is_older = |privilege: &Privilege| privilege.name == "SELECT" || privilege.is_all();
    let grant_option = global.iter().any(|grant| grant.grant_option && grant.privileges.iter().any(is_older));
    let privileges = vec![Privilege::new("ALL PRIVILEGES")];
    grants.push(Grant { on: Scope::Global, revoked: false, grant_option, privileges });
    grants
}

pub(super) fn holds_globally(granted: &[Grant], name: &str) -> bool {
    let mut global = granted.iter().filter(|grant| grant.on == Scope::Global);
    global.any(|grant| grant.privileges.iter().any(|privilege| privilege.name == name || privilege.is_all()))
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
