//! Restoring accounts and roles: before what names them as definers, with those of their grants that need a table or
//! routine made again when it is there. The account that restores, its roles and root are never changed.

use std::collections::{BTreeMap, BTreeSet};

use drover_db::grants::{Grant, Scope, Who, like, parse};
use drover_db::server::has_no_function;
use drover_db::{Connection, ServerError, Vendor, er};
use drover_store::Store;
use serde::Serialize;

use super::missing::There;
use super::rename::Renames;
use super::steps::Steps;
use super::verified::{Difference, VerifyReport};
use crate::error::Doing;
use crate::users::compare::{self, Expected};
use crate::users::facts::Facts;
use crate::users::model::RULING;
use crate::users::sql::Form;
use crate::users::translate::{NoLogin, Translated, escaped, translate, unescaped};
use crate::users::{Account, Accounts, read, sql};
use crate::{Error, Result};
use drover_format::NotHeld;
use drover_format::manifest::Manifest;

/// What became of the accounts.
#[derive(Debug, Clone, Default, Serialize)]
pub struct UsersReport {
    /// Accounts and roles that were created, or would be.
    pub created: usize,
    /// Those that were there and already as the dump has them.
    pub same: usize,
    /// Those that were there and keep their password, which cannot be compared with the dump's.
    pub password_kept: Vec<String>,
    /// Those that are never changed: the account that restores, its roles, and root.
    pub left_alone: Vec<String>,
    /// What the target does not hold, with the statement that would be needed.
    pub not_held: Vec<NotHeld>,
}

/// The accounts of a dump on their way.
pub(super) struct Users {
    facts: Facts,
    me: Who,
    /// As they are to be on the target, but for those that are left alone.
    wanted: Vec<Account>,
    without_login: BTreeMap<Who, NoLogin>,
    /// Those that were there and keep their password, whatever it is.
    kept: BTreeSet<Who>,
    /// Which of the wanted ones are made; the others are there already.
    made: BTreeSet<Who>,
    drop: Vec<Account>,
    /// Statements for after the dropping: roles of accounts that stay.
    again: Vec<(Who, String)>,
    /// Grants that have to wait for their table or routine.
    waiting: Vec<(Who, String)>,
    /// Statements that the server refused or will refuse, which are reported once.
    refused: BTreeSet<String>,
    /// Of those, the ones that nothing is there for, with their accounts and the reasons.
    hopeless: Vec<NotHeld>,
    report: UsersReport,
}

impl Users {
    /// Finds out what is to be done; nothing is changed.
    ///
    /// # Errors
    /// If the dump holds no accounts, the target's cannot be read, or it has one of them already, other than in the dump,
    /// that may not be dropped.
    pub(super) fn prepare(
        connection: &mut Connection,
        store: &Store,
        manifest: &Manifest,
        renames: &Renames,
        may_drop: impl Fn(&str) -> bool,
    ) -> Result<Self> {
        let there = read::accounts(connection)?.accounts;
        let mut users = Self::expected(connection, store, manifest, renames, &there)?;
        users.find_hopeless(&There::of(connection, manifest, renames, &users.wanted)?);
        let earlier = manifest.target.iter().flat_map(|target| &target.not_held);
        users.refused.extend(earlier.filter_map(|one| one.statement.clone()));
        let (mut create, mut clash) = (Vec::new(), Vec::new());
        for account in &users.wanted {
            let differences = |now: &Account| users.differences(account, now);
            match there.iter().find(|other| other.who == account.who) {
                Some(now) if differences(now).is_empty() => users.report.same += 1,
                Some(now) if differences(now) == [compare::PASSWORD_UNKNOWN] => {
                    users.kept.insert(account.who.clone());
                }
                Some(now) => clash.push(now.clone()),
                None => create.push(account.who.clone()),
            }
        }
        let refused: Vec<_> = clash.iter().filter(|account| !may_drop(&account.who.to_string())).collect();
        if let Some(first) = refused.first() {
            let (who, others) = (&first.who, refused.len() - 1);
            let more = if others == 0 { String::new() } else { format!(" and {others} more of the dump") };
            return Err(Error::with_hint(
                format!(
                    "the target already has the account {who}{more}, other than in the dump: nothing was changed"
                ),
                "--drop-existing also drops accounts that the dump holds; without --users no accounts are restored",
            ));
        }
        users.again = again(&there, &clash, users.facts.vendor);
        let staying = there.iter().filter(|account| !clash.contains(account));
        users.waiting = staying.flat_map(|account| on_routines(account, manifest, renames)).collect();
        users.made = create.into_iter().chain(clash.iter().map(|account| account.who.clone())).collect();
        users.report.created = users.made.len();
        users.note_logins();
        users.report.not_held.extend(users.hopeless.iter().cloned());
        users.drop = clash;
        Ok(users)
    }

    /// Finds the grants on what will not be there.
    fn find_hopeless(&mut self, there: &There) {
        let grants =
            self.wanted.iter().flat_map(|account| account.grants.iter().map(move |grant| (account, grant)));
        self.hopeless = grants
            .filter_map(|(account, grant)| {
                let statement = grant.statement(&account.who);
                there.refusal(grant).map(|why| NotHeld::new(&account.who, why, Some(statement)))
            })
            .collect();
        self.refused.extend(self.hopeless.iter().filter_map(|one| one.statement.clone()));
    }

    /// Lists the accounts that are there already, other than in the dump: a restore would replace them only if asked.
    pub(super) fn leave_those_in_the_way(&mut self) {
        for now in &self.drop {
            let wanted = self.wanted.iter().find(|account| account.who == now.who);
            let what = wanted.map(|account| self.differences(account, now)).unwrap_or_default();
            let what = format!(
                "the target has it already, other than in the dump; --drop-existing replaces it: {}",
                what.join("; ")
            );
            self.report.not_held.push(NotHeld::new(&now.who, what, None));
        }
        self.report.created -= self.drop.len();
    }

    /// What the dump's accounts should be on this server.
    fn expected(
        connection: &mut Connection,
        store: &Store,
        manifest: &Manifest,
        renames: &Renames,
        there: &[Account],
    ) -> Result<Self> {
        let mut accounts = load(store, manifest)?;
        let facts = Facts::of(connection)?;
        let mut not_held = rename(&mut accounts, manifest, renames);
        let Translated { accounts, not_held: more, without_login } =
            translate(&accounts, &manifest.server, &facts);
        let (me, roles) = current(connection)?;
        let stays = |account: &Account| {
            let is_there = || there.iter().any(|other| other.who == account.who);
            account.who == me || roles.contains(&account.who) || account.who.name == "root" && is_there()
        };
        let (left_alone, wanted): (Vec<_>, Vec<_>) = accounts.into_iter().partition(stays);
        let left_alone: Vec<_> = left_alone.iter().map(|account| account.who.to_string()).collect();
        not_held.extend(more);
        not_held.retain(|one| !left_alone.contains(&one.account));
        let report = UsersReport { left_alone, not_held, ..UsersReport::default() };
        Ok(Self {
            facts,
            me,
            wanted,
            without_login,
            kept: BTreeSet::new(),
            made: BTreeSet::new(),
            drop: Vec::new(),
            again: Vec::new(),
            waiting: Vec::new(),
            refused: BTreeSet::new(),
            hopeless: Vec::new(),
            report,
        })
    }

    /// Of accounts that are there and whose dumped password the target cannot hold: which have one of their own. Of one that is missing
    /// nothing more is to be said.
    fn note_kept(&mut self, there: &[Account]) {
        let now = |who: &Who| there.iter().find(|other| other.who == *who);
        self.without_login.retain(|who, _| now(who).is_some());
        let has_own = |account: &&Account| {
            let now = now(&account.who).map(|now| self.differences(account, now)).unwrap_or_default();
            now.iter().any(|what| what == compare::PASSWORD_UNKNOWN)
        };
        self.kept = self.wanted.iter().filter(has_own).map(|account| account.who.clone()).collect();
    }

    /// Says which accounts are locked, and which keep a password that is perhaps not the dumped one.
    fn note_logins(&mut self) {
        for (who, login) in &self.without_login {
            if !self.wanted.iter().any(|account| account.who == *who) {
                continue;
            }
            let (what, statement) = if self.kept.contains(who) {
                let unknown = compare::PASSWORD_UNKNOWN;
                (format!("{}: it was there already and keeps its password; {unknown}", login.why), None)
            } else {
                let what = match self.facts.makes_whole() {
                    true => format!("{}: it is locked, and has no password", login.why),
                    false => format!("{}: it has a password that nobody knows", login.why),
                };
                (what, Some(login.statement.clone()))
            };
            self.report.not_held.push(NotHeld::new(who, what, statement));
        }
        self.report.password_kept = self.kept.iter().map(Who::to_string).collect();
    }

    fn differences(&self, wanted: &Account, now: &Account) -> Vec<String> {
        let lost = self.without_login.get(&wanted.who);
        let (login, locked) = (lost.is_none(), lost.map_or(wanted.locked, |lost| lost.locked));
        compare::differences(
            &Expected { account: wanted, login, locked, refused: &self.refused },
            now,
            self.facts.vendor,
        )
    }

    /// Notes which accounts are to be made: a restore that goes on may replace what an earlier run made of them.
    pub(super) fn note(&self, connection: &mut Connection, steps: &Steps) -> Result<()> {
        self.made.iter().try_for_each(|who| steps.note(connection, &format!("account {who}")))
    }

    /// Makes the accounts, with all their grants but those on what is not there yet.
    pub(super) fn create(&mut self, connection: &mut Connection) -> Result<()> {
        for account in std::mem::take(&mut self.drop) {
            let sql = sql::drop(&account);
            connection.execute(&sql).doing(|| sql.clone())?;
        }
        let (roles, others): (Vec<_>, Vec<_>) = self
            .wanted
            .iter()
            .filter(|account| self.made.contains(&account.who))
            .cloned()
            .partition(|a| a.is_role);
        let mut made = Vec::new();
        for account in roles.into_iter().chain(others) {
            match self.create_one(connection, &account)? {
                true => made.push(account),
                false => {
                    self.made.remove(&account.who);
                    self.wanted.retain(|wanted| wanted.who != account.who);
                }
            }
        }
        self.report.created = made.len();
        let vendor = self.facts.vendor;
        for account in &made {
            for statement in sql::memberships(account, vendor) {
                self.attempt(connection, &account.who, statement)?;
            }
        }
        for (who, statement) in std::mem::take(&mut self.again) {
            self.attempt(connection, &who, statement)?;
        }
        for account in &made {
            self.grant(connection, account)?;
        }
        Ok(())
    }

    /// Whether the account could be made.
    fn create_one(&mut self, connection: &mut Connection, account: &Account) -> Result<bool> {
        for statement in sql::create(account, self.facts.form()) {
            match connection.execute(&statement) {
                Ok(_) => {}
                Err(error)
                    if !self.facts.makes_whole()
                        && error.code() == Some(er::CANNOT_USER)
                        && statement.starts_with("CREATE ") => {}
                Err(drover_db::Error::Server(error)) => {
                    let what = format!("it was not created: {}", without_secrets(&error, account));
                    let statement = without_hashes(account, self.facts.form());
                    self.report.not_held.push(NotHeld::new(&account.who, what, Some(statement)));
                    return Ok(false);
                }
                Err(error) => return Err(error).doing(|| format!("creating {}", account.who)),
            }
        }
        Ok(true)
    }

    fn grant(&mut self, connection: &mut Connection, account: &Account) -> Result<()> {
        for grant in &account.grants {
            let statement = grant.statement(&account.who);
            if !sql::is_on_object(grant) {
                self.attempt(connection, &account.who, statement)?;
            } else if refusal(connection, &statement)?.is_some() {
                self.waiting.push((account.who.clone(), statement));
            } else {
                self.take_back(&statement);
            }
        }
        Ok(())
    }

    /// A statement that is tried tells itself what comes of it.
    fn take_back(&mut self, statement: &str) {
        if self.refused.remove(statement) {
            self.report.not_held.retain(|one| one.statement.as_deref() != Some(statement));
        }
    }

    /// Runs a statement without secrets; that the server refuses it is reported.
    fn attempt(&mut self, connection: &mut Connection, who: &Who, statement: String) -> Result<()> {
        self.take_back(&statement);
        if let Some(why) = refusal(connection, &statement)? {
            self.report.not_held.push(NotHeld::new(who, why, Some(statement.clone())));
            self.refused.insert(statement);
        }
        Ok(())
    }

    /// Makes the grants that had to wait, when all else is there.
    pub(super) fn finish(&mut self, connection: &mut Connection) -> Result<()> {
        for (who, statement) in std::mem::take(&mut self.waiting) {
            self.attempt(connection, &who, statement)?;
        }
        if self.facts.vendor == Vendor::MariaDb {
            self.give_back_roles(connection)?;
        }
        Ok(())
    }

    /// MariaDB makes who creates a role its admin, without which it could not be granted. If another account has it, the
    /// one that restores need not.
    fn give_back_roles(&mut self, connection: &mut Connection) -> Result<()> {
        for role in self.wanted.iter().filter(|account| account.is_role && self.made.contains(&account.who)) {
            let is_admin =
                |account: &&Account| account.roles.iter().any(|one| one.role == role.who && one.admin);
            let has_other =
                self.wanted.iter().filter(is_admin).any(|account| self.made.contains(&account.who));
            if has_other && !role.who.is_public() {
                let sql = format!("REVOKE {} FROM {}", role.who, self.me);
                connection.execute(&sql).doing(|| sql.clone())?;
            }
        }
        Ok(())
    }

    /// Compares the server's accounts with those of the dump.
    pub(super) fn verify(&self, connection: &mut Connection, report: &mut VerifyReport) -> Result<()> {
        self.compare(&read::accounts(connection)?.accounts, report);
        Ok(())
    }

    fn compare(&self, there: &[Account], report: &mut VerifyReport) {
        report.accounts = self.wanted.len();
        for account in &self.wanted {
            let object = format!("account {}", account.who);
            let what = match there.iter().find(|other| other.who == account.who) {
                Some(now) => {
                    let mut what = self.differences(account, now);
                    what.retain(|what| {
                        !self.kept.contains(&account.who) || what != compare::PASSWORD_UNKNOWN
                    });
                    what
                }
                None => vec!["it is not there".to_owned()],
            };
            let difference = |what| Difference { object: object.clone(), file: None, what };
            report.differences.extend(what.into_iter().map(difference));
        }
    }

    /// Whether the server has warned of a definer that it does not have and will have.
    pub(super) fn comes_as_definer(&self, warning: &str) -> bool {
        warning.contains("definer") && self.made.iter().any(|who| warning.contains(&as_warned_of(who)))
    }

    pub(super) fn report(self) -> UsersReport {
        self.report
    }
}

/// Compares without having restored.
pub(super) fn verify(
    connection: &mut Connection,
    store: &Store,
    manifest: &Manifest,
    renames: &Renames,
    report: &mut VerifyReport,
) -> Result<()> {
    let there = read::accounts(connection)?.accounts;
    let mut users = Users::expected(connection, store, manifest, renames, &there)?;
    users.note_kept(&there);
    users.note_logins();
    users.compare(&there, report);
    let difference = |one: NotHeld| Difference {
        object: if RULING.contains(&&*one.account) {
            one.account
        } else {
            format!("account {}", one.account)
        },
        file: None,
        what: format!("not held here: {}", one.what),
    };
    report.differences.extend(users.report.not_held.into_iter().map(difference));
    report.accounts_left_alone = users.report.left_alone;
    Ok(())
}

/// An account as the servers name it in a warning.
fn as_warned_of(who: &Who) -> String {
    format!("('{}'@'{}')", who.name, who.host.as_deref().unwrap_or_default())
}

fn load(store: &Store, manifest: &Manifest) -> Result<Accounts> {
    let users = manifest.users.as_ref().ok_or_else(|| {
        Error::with_hint("the dump holds no accounts", "leave --users away, or dump again with --users")
    })?;
    let text = store.read(&users.file.file)?;
    // What is wrong is not quoted: it may be a part of a hash.
    serde_json::from_slice(&text).map_err(|error| {
        Error::found(format!(
            "{}: line {} is not as it should be",
            store.path(&users.file.file).display(),
            error.line()
        ))
    })
}

/// The account that is logged in, and its roles that are active.
fn current(connection: &mut Connection) -> Result<(Who, Vec<Who>)> {
    let row = match connection.first("SELECT CURRENT_USER(), CURRENT_ROLE()") {
        Err(error) if has_no_function(&error) => connection.first("SELECT CURRENT_USER(), 'NONE'"),
        row => row,
    };
    let row = row.doing(|| "asking for the account in use")?;
    let (user, roles) = row.map(|row| (row.string(0), row.string(1))).unwrap_or_default();
    let (name, host) = user.rsplit_once('@').unwrap_or((&user, ""));
    // MySQL gives `a`@`%`,`b`@`%`, MariaDB the bare name of one role.
    let quoted = |text: &str| parse(format!("GRANT USAGE ON *.* TO {text}").as_bytes()).map(|(who, _)| who);
    let roles = match roles.starts_with('`') {
        true => roles.split(',').filter_map(quoted).collect(),
        false => vec![Who::role(&roles)],
    };
    Ok((Who::new(name, host), roles))
}

/// Takes grants along to the new names of schemas; what a pattern no longer covers is said.
fn rename(accounts: &mut Accounts, manifest: &Manifest, renames: &Renames) -> Vec<NotHeld> {
    let names = manifest.schemas.iter().map(|schema| (schema.name.as_str(), renames.schema(&schema.name)));
    let renamed: Vec<_> = names.filter(|(old, new)| old != new).collect();
    let literal = accounts.partial_revokes;
    let mut lost = Vec::new();
    for account in &mut accounts.accounts {
        for grant in &mut account.grants {
            let before = grant.clone();
            match &mut grant.on {
                Scope::Global => {}
                Scope::Table(schema, _) | Scope::Routine(_, schema, _) => {
                    *schema = renames.schema(schema).to_owned()
                }
                Scope::Schema(pattern) => {
                    let exact =
                        |old: &str| pattern == old || !literal && unescaped(pattern).as_deref() == Some(old);
                    if let Some((_, new)) = renamed.iter().find(|(old, _)| exact(old)) {
                        *pattern = if literal { (*new).to_owned() } else { escaped(new) };
                    } else if let Some((old, new)) =
                        renamed.iter().find(|(old, _)| !literal && like(pattern, old))
                    {
                        let what =
                            format!("the pattern '{pattern}' covered schema '{old}', which is '{new}' now");
                        let on = Scope::Schema(escaped(new));
                        let statement = Grant { on, ..before }.statement(&account.who);
                        lost.push(NotHeld::new(&account.who, what, Some(statement)));
                    }
                }
            }
        }
    }
    lost
}

/// What accounts that stay hold of roles that are dropped and made again.
fn again(there: &[Account], dropped: &[Account], vendor: Vendor) -> Vec<(Who, String)> {
    let is_dropped = |who: &Who| dropped.iter().any(|account| account.who == *who);
    let staying = there.iter().filter(|account| !is_dropped(&account.who));
    let lost = |account: &Account| {
        let mut lost = Account::new(account.who.clone());
        lost.roles = account.roles.iter().filter(|one| is_dropped(&one.role)).cloned().collect();
        if account.default_roles.iter().any(is_dropped) {
            lost.default_roles = account.default_roles.clone();
        }
        lost.proxies = account.proxies.iter().filter(|one| is_dropped(&one.of)).cloned().collect();
        lost
    };
    let statements = |account: &Account| {
        let who = account.who.clone();
        sql::memberships(&lost(account), vendor).into_iter().map(move |sql| (who.clone(), sql))
    };
    staying.flat_map(statements).collect()
}

/// What an account holds on routines of the dump, which is gone as soon as such a routine is dropped.
fn on_routines(account: &Account, manifest: &Manifest, renames: &Renames) -> Vec<(Who, String)> {
    let is_of_the_dump = |grant: &&Grant| {
        let Scope::Routine(_, schema, name) = &grant.on else { return false };
        let mut routines = super::objects::each(manifest, |schema| &schema.routines);
        routines.any(|(of, routine)| renames.schema(&of.name) == schema && routine.name == *name)
    };
    let grants = account.grants.iter().filter(is_of_the_dump);
    grants.map(|grant| (account.who.clone(), grant.statement(&account.who))).collect()
}

/// Why the server refuses a statement, which it runs otherwise.
fn refusal(connection: &mut Connection, statement: &str) -> Result<Option<String>> {
    match connection.execute(statement) {
        Ok(_) => Ok(None),
        Err(drover_db::Error::Server(error)) => Ok(Some(error.message)),
        Err(error) => Err(error).doing(|| statement.to_owned()),
    }
}

/// The server's words, unless they quote the statement, which holds a hash.
fn without_secrets(error: &ServerError, account: &Account) -> String {
    let message = error.message.as_bytes();
    let shows =
        |secret: &[u8]| !secret.is_empty() && message.windows(secret.len()).any(|window| window == secret);
    match error.code == er::PARSE_ERROR || account.secrets().any(|secret| shows(&secret.0)) {
        true => format!("the server does not take the statement (error {})", error.code),
        false => error.message.clone(),
    }
}

/// The statement that a person would need, with a password in place of the hashes.
fn without_hashes(account: &Account, form: Form) -> String {
    let mut plain = Account { ways: Vec::new(), further: Vec::new(), ..account.clone() };
    plain.older_password.0.clear();
    let who = format!(" {}", account.who);
    let statement = sql::create(&plain, form).join("; ");
    if account.is_role {
        statement
    } else {
        statement.replacen(&who, &format!("{who} IDENTIFIED BY 'a new password'"), 1)
    }
}
