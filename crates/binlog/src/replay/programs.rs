//! Programs that the target does not let the account make, told before they are tried.

use std::collections::BTreeSet;

use drover_db::grants::Held;
use drover_db::sql::program::Program;
use drover_db::sql::{Dialect, Token, tokens_in_comments};
use drover_db::{Connection, Server, Vendor};

use super::definitions::stands_in;

/// What the account may do on the target, as far as programs depend on it.
#[derive(Debug)]
pub(super) struct Rights {
    /// Its name and host.
    account: (String, String),
    /// Whether it may make programs that run as others.
    sets_definers: bool,
    has_super: bool,
    /// What lets it.
    definer_hint: &'static str,
    accounts_rights: AccountRights,
    /// Whether the target writes no binary log, or trusts who makes functions and triggers.
    trusts: bool,
    /// The target's accounts, name and host; `None` where this one may not see them.
    accounts: Option<BTreeSet<(String, String)>>,
    /// What the logs say of accounts that they make, in lower case.
    made: String,
    /// The plugins by which accounts of the target log in, in lower case.
    plugins: BTreeSet<String>,
}

/// What the account may do to accounts.
#[derive(Debug, Clone, Copy)]
struct AccountRights {
    /// Whether it may make, change and drop them.
    makes: bool,
    makes_roles: bool,
    /// Whether it may grant anything, and whether on all schemas.
    grants: (bool, bool),
}

impl AccountRights {
    fn of(held: &Held) -> Self {
        let has = |privilege| held.on_all(privilege).is_some();
        let makes = has("CREATE USER") || held.on_schema("INSERT", "mysql");
        Self {
            makes,
            makes_roles: makes || has("CREATE ROLE") || has("DROP ROLE"),
            grants: held.grant_options(),
        }
    }

    /// Why a statement on accounts, of these first words and others, would be refused.
    fn refusal(self, code: &[Token<'_>]) -> Option<Refusal> {
        let is = |at: usize, words: &[&str]| {
            code.get(at).is_some_and(|token| words.iter().any(|word| token.is_word(word)))
        };
        if is(0, &["GRANT", "REVOKE"]) {
            let on = code.iter().position(|token| token.is_word("ON"))?;
            let is_symbol =
                |at: usize, symbol| code.get(at).is_some_and(|token: &Token<'_>| token.is_symbol(symbol));
            let is_on_all = is_symbol(on + 1, b'*') && is_symbol(on + 2, b'.') && is_symbol(on + 3, b'*');
            let (any, on_all) = self.grants;
            let may = if is_on_all { on_all } else { any };
            return (!may && !is(1, &["PROXY"])).then(|| (NO_GRANT.into(), GRANT_OPTION));
        }
        let (user, role) = (is(1, &["USER"]) || is(3, &["USER"]), is(1, &["ROLE"]) || is(3, &["ROLE"]));
        let may = self.makes || !user && self.makes_roles;
        (!may && (user || role)).then(|| (NO_ACCOUNT.into(), CREATE_USER))
    }
}

const NO_GRANT: &str = "the account may not grant that (1044, 1045, 1227)";
const GRANT_OPTION: &str =
    "GRANT it … WITH GRANT OPTION there, or leave the transaction out with --exclude-gtids";
const NO_ACCOUNT: &str = "the account may not make, change or drop accounts (1227)";
const CREATE_USER: &str =
    "GRANT CREATE USER ON *.* TO the account, or leave the transaction out with --exclude-gtids";

/// What lets an account of this server make programs that run as others.
fn definer_hint(server: &Server) -> &'static str {
    match (server.vendor, server.numbers()) {
        (Vendor::MySql, (8, 2.., _) | (9.., ..)) => {
            "GRANT SET_ANY_DEFINER ON *.* TO the account, and SYSTEM_USER for a definer that has it"
        }
        (Vendor::MySql, (8, 0, 16..) | (8, 1, _)) => {
            "GRANT SET_USER_ID ON *.* TO the account, and SYSTEM_USER for a definer that has it"
        }
        (Vendor::MySql, (8, ..)) => "GRANT SET_USER_ID ON *.* TO the account",
        (Vendor::MariaDb, (10, 5.., _) | (11.., ..)) => "GRANT SET USER ON *.* TO the account",
        _ => "GRANT SUPER ON *.* TO the account",
    }
}

/// Why a program cannot be made, and what to do about it.
pub(super) type Refusal = (String, &'static str);

const TRUST: &str = "SET GLOBAL log_bin_trust_function_creators = ON there";

impl Rights {
    /// Asks the target.
    ///
    /// # Errors
    /// If it does not tell.
    pub(super) fn of(connection: &mut Connection) -> drover_db::Result<Self> {
        let row = connection
            .first("SELECT CURRENT_USER(), @@GLOBAL.log_bin, @@GLOBAL.log_bin_trust_function_creators")?;
        let value = |index| row.as_ref().map(|row| row.string(index)).unwrap_or_default();
        let account = value(0);
        let (name, host) = account.rsplit_once('@').unwrap_or((&account, ""));
        let held = Held::of(connection)?;
        let has = |privilege| held.on_all(privilege).is_some();
        let has_super = has("SUPER");
        let sets_definers = ["SET_ANY_DEFINER", "SET_USER_ID", "SET USER"].into_iter().any(has) || has_super;
        Ok(Self {
            account: (name.into(), host.to_lowercase()),
            sets_definers,
            has_super,
            definer_hint: definer_hint(&Server::of(connection)?),
            accounts_rights: AccountRights::of(&held),
            trusts: value(1) != "1" || value(2) == "1",
            accounts: accounts(connection)?,
            made: String::new(),
            plugins: plugins(connection)?,
        })
    }

    /// What the target would refuse of a statement, or later of the program that it makes, as far as that can be told.
    pub(super) fn refusals(&mut self, text: &[u8], dialect: Dialect) -> Vec<Refusal> {
        let code: Vec<_> = tokens_in_comments(text, dialect).filter(Token::is_code).take(4).collect();
        let is = |at: usize, words: &[&str]| {
            code.get(at).is_some_and(|token| words.iter().any(|word| token.is_word(word)))
        };
        let account = ["USER", "ROLE"];
        let is_account = is(1, &account) || is(1, &["OR"]) && is(3, &account);
        if is(0, &["GRANT", "REVOKE"]) || is(0, &["CREATE", "RENAME", "ALTER", "DROP"]) && is_account {
            if !is(0, &["REVOKE", "DROP"]) {
                self.made.push_str(&String::from_utf8_lossy(text).to_lowercase());
            }
            let code: Vec<_> = tokens_in_comments(text, dialect).filter(Token::is_code).collect();
            let refusal = self.accounts_rights.refusal(&code);
            return refusal.into_iter().chain(self.plugin_refusal(text, dialect)).collect();
        }
        let Some(program) = Program::parse(text, dialect) else { return Vec::new() };
        // A role of MariaDB has no host.
        let definer = program
            .definer
            .as_ref()
            .and_then(|who| Some((who.name.clone(), who.host.as_ref()?.to_lowercase())));
        let definer = definer.and_then(|definer| self.definer_refusal(definer));
        definer.into_iter().chain(self.trust_refusal(&program)).collect()
    }

    /// What follows IDENTIFIED WITH (MySQL) or VIA (MariaDB).
    fn plugin_refusal(&self, text: &[u8], dialect: Dialect) -> Option<Refusal> {
        let code: Vec<_> = tokens_in_comments(text, dialect).filter(Token::is_code).collect();
        let named = code.windows(3).filter(|words| {
            words[0].is_word("IDENTIFIED") && (words[1].is_word("WITH") || words[1].is_word("VIA"))
        });
        let named = named
            .filter_map(|words| words[2].within_quotes().map(<[u8]>::to_vec).or_else(|| words[2].name()));
        let mut names = named.map(|name| String::from_utf8_lossy(&name).into_owned());
        let missing =
            names.find(|name| !self.plugins.is_empty() && !self.plugins.contains(&name.to_lowercase()))?;
        let what = format!("the target has no plugin '{missing}', by which the account would log in (1524)");
        Some((
            what,
            "leave the transaction out with --exclude-gtids, or go on behind it with --start-position, and make the account there by another \
             plugin; drover restore --users makes the accounts of a dump",
        ))
    }

    fn definer_refusal(&self, definer: (String, String)) -> Option<Refusal> {
        let (name, host) = &definer;
        if !self.sets_definers && definer != self.account {
            let what = format!(
                "it is made for the definer '{name}'@'{host}', and the account may make none for others (1227)"
            );
            return Some((what, self.definer_hint));
        }
        let is_there = self.accounts.as_ref().is_none_or(|accounts| accounts.contains(&definer));
        if is_there || stands_in(&self.made, name) {
            return None;
        }
        let what = format!(
            "the target has no account '{name}'@'{host}', its definer: whatever uses it there is refused (1449)"
        );
        Some((what, "CREATE USER it there; drover restore --users makes the accounts of a dump"))
    }

    fn trust_refusal(&self, program: &Program) -> Option<Refusal> {
        let is_function = program.word == "FUNCTION";
        if self.trusts || !(is_function || program.word == "TRIGGER") || program.is_loadable {
            return None;
        }
        if is_function && !program.is_safe {
            let what = "the target writes a binary log, and takes no function that is neither DETERMINISTIC nor NO SQL nor \
                        READS SQL DATA (1418)";
            return Some((what.into(), TRUST));
        }
        let what = "the target writes a binary log, and takes functions and triggers from accounts with SUPER only (1419)";
        (!self.has_super).then(|| (what.into(), TRUST))
    }
}

/// The target's accounts, if this one may see them.
fn accounts(connection: &mut Connection) -> drover_db::Result<Option<BTreeSet<(String, String)>>> {
    match connection.query("SELECT User, Host FROM mysql.user") {
        Ok(rows) => {
            Ok(Some(rows.into_iter().map(|row| (row.string(0), row.string(1).to_lowercase())).collect()))
        }
        Err(drover_db::Error::Server(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

fn plugins(connection: &mut Connection) -> drover_db::Result<BTreeSet<String>> {
    let rows = connection.query(
        "SELECT LOWER(PLUGIN_NAME) FROM information_schema.PLUGINS WHERE PLUGIN_TYPE = 'AUTHENTICATION' AND PLUGIN_STATUS = 'ACTIVE'",
    )?;
    Ok(rows.into_iter().map(|row| row.string(0)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rights(sets_definers: bool, has_super: bool, trusts: bool) -> Rights {
        let account = ("me".to_owned(), "localhost".to_owned());
        let (made, plugins) = (String::new(), ["p".to_owned()].into());
        let accounts_rights = AccountRights { makes: true, makes_roles: true, grants: (true, true) };
        let definer_hint = "";
        Rights {
            account,
            sets_definers,
            has_super,
            definer_hint,
            accounts_rights,
            trusts,
            accounts: None,
            made,
            plugins,
        }
    }

    fn refused(text: &str, sets_definers: bool, has_super: bool, trusts: bool) -> Option<String> {
        let refusals = rights(sets_definers, has_super, trusts).refusals(text.as_bytes(), Dialect::default());
        refusals.into_iter().next().map(|(what, _)| what)
    }

    #[test]
    fn definers_that_a_target_lacks() {
        let accounts = Some([("There".to_owned(), "localhost".to_owned())].into());
        let mut rights = Rights { accounts, ..rights(true, true, false) };
        let mut refused = |text: &str| -> Vec<String> {
            let refusals = rights.refusals(text.as_bytes(), Dialect::default());
            refusals.into_iter().map(|(what, _)| what).collect()
        };
        let gone = refused("CREATE DEFINER=`gone`@`%` FUNCTION f() RETURNS INT RETURN 1");
        assert!(gone[0].contains("'gone'@'%'") && gone[1].contains("1418") && gone.len() == 2, "{gone:?}");
        assert_eq!(refused("CREATE DEFINER=`There`@`LOCALHOST` VIEW v AS SELECT 1"), [""; 0]);
        assert_eq!(refused("CREATE DEFINER=CURRENT_USER VIEW v AS SELECT 1"), [""; 0]);
        assert_eq!(refused("CREATE USER IF NOT EXISTS 'Gone'@'%'"), [""; 0]);
        assert_eq!(refused("CREATE DEFINER='Gone'@'%' VIEW v AS SELECT 1"), [""; 0]);
    }

    #[test]
    fn plugins_that_a_target_lacks() {
        let refused = |text: &str| refused(text, true, true, true);
        for text in [
            "CREATE USER 'a'@'%' IDENTIFIED WITH 'gone' AS '*0'",
            "ALTER USER a IDENTIFIED VIA gone USING 'x'",
            "GRANT USAGE ON *.* TO a IDENTIFIED WITH `gone`",
        ] {
            assert!(refused(text).is_some_and(|what| what.contains("'gone'")), "{text}");
        }
        for text in [
            "CREATE USER 'a'@'%' IDENTIFIED WITH 'P' AS 'IDENTIFIED WITH gone'",
            "CREATE USER a IDENTIFIED BY PASSWORD '*0'",
            "GRANT SELECT ON *.* TO a",
        ] {
            assert_eq!(refused(text), None, "{text}");
        }
    }

    #[test]
    fn statements_on_accounts_that_a_target_refuses() {
        let refused = |text: &str, lines: &[&str]| {
            let held = Held::told(lines.iter().map(|line| line.as_bytes()), false);
            let mut rights = Rights { accounts_rights: AccountRights::of(&held), ..rights(true, true, true) };
            rights.refusals(text.as_bytes(), Dialect::default()).into_iter().next().map(|(what, _)| what)
        };
        let all = "GRANT ALL PRIVILEGES ON *.* TO `u`@`%`";
        for text in ["GRANT SELECT ON *.* TO 'a'@'%'", "REVOKE ALL ON d.* FROM a", "GRANT SELECT ON d.t TO a"]
        {
            assert_eq!(refused(text, &[all]).as_deref(), Some(NO_GRANT), "{text}");
            assert_eq!(refused(text, &[&format!("{all} WITH GRANT OPTION")]), None, "{text}");
        }
        let of_one = "GRANT SELECT ON `d`.* TO `u`@`%` WITH GRANT OPTION";
        assert_eq!(refused("GRANT SELECT ON d.t TO a", &[of_one]), None);
        assert_eq!(refused("GRANT SELECT ON *.* TO a", &[of_one]).as_deref(), Some(NO_GRANT));
        for text in [
            "CREATE USER a",
            "DROP USER IF EXISTS a",
            "ALTER USER a ACCOUNT LOCK",
            "CREATE OR REPLACE ROLE a",
        ] {
            assert_eq!(refused(text, &[of_one]).as_deref(), Some(NO_ACCOUNT), "{text}");
            assert_eq!(refused(text, &["GRANT CREATE USER ON *.* TO `u`@`%`"]), None, "{text}");
        }
        assert_eq!(refused("CREATE ROLE a", &["GRANT CREATE ROLE ON *.* TO `u`@`%`"]), None);
        assert_eq!(refused("GRANT 'role' TO 'a'@'%'", &[of_one]), None);
    }

    #[test]
    fn programs_that_a_target_refuses() {
        let is = |text: &str, rights: [bool; 3], code: &str| {
            let refused = refused(text, rights[0], rights[1], rights[2]);
            assert!(refused.as_ref().is_some_and(|what| what.contains(code)), "{text}: {refused:?}");
        };
        let taken = |text: &str, rights: [bool; 3]| {
            assert_eq!(refused(text, rights[0], rights[1], rights[2]), None, "{text}");
        };
        let all = [true, true, false];
        is("CREATE DEFINER=`a`@`b` FUNCTION `f`() RETURNS int\nRETURN 1", all, "1418");
        is("CREATE FUNCTION f() RETURNS INT NOT DETERMINISTIC CONTAINS SQL BEGIN RETURN 1; END", all, "1418");
        taken("CREATE FUNCTION f() RETURNS INT DETERMINISTIC RETURN 1", all);
        taken("CREATE FUNCTION f() RETURNS INT READS SQL DATA RETURN 1", all);
        taken("CREATE FUNCTION f() RETURNS INT NO SQL RETURN 1", all);
        taken("CREATE FUNCTION f() RETURNS INT RETURN 1", [true, true, true]);
        taken("CREATE FUNCTION f RETURNS STRING SONAME 'f.so'", all);
        taken("CREATE TRIGGER t BEFORE INSERT ON a FOR EACH ROW SET @a = 1", all);
        is("CREATE TRIGGER t BEFORE INSERT ON a FOR EACH ROW SET @a = 1", [true, false, false], "1419");
        is("CREATE DEFINER=`a`@`b` VIEW v AS SELECT 1", [false, false, true], "'a'@'b'");
        taken("CREATE DEFINER='me'@'localhost' VIEW v AS SELECT 1", [false, false, true]);
        taken("CREATE DEFINER=CURRENT_USER() VIEW v AS SELECT 1", [false, false, true]);
        taken("CREATE TABLE t (DEFINER INT)", [false, false, false]);
    }
}
