//! Programs that the target does not let the account make, told before they are tried.

use std::collections::BTreeSet;

use drover_db::Connection;
use drover_db::grants::Held;
use drover_db::sql::program::Program;
use drover_db::sql::{Dialect, Token, tokens_in_comments};

use super::definitions::stands_in;

/// What the account may do on the target, as far as programs depend on it.
#[derive(Debug)]
pub(super) struct Rights {
    /// Its name and host.
    account: (String, String),
    /// Whether it may make programs that run as others.
    sets_definers: bool,
    has_super: bool,
    /// Whether the target writes no binary log, or trusts who makes functions and triggers.
    trusts: bool,
    /// The target's accounts, name and host; `None` where this one may not see them.
    accounts: Option<BTreeSet<(String, String)>>,
    /// What the logs say of accounts that they make, in lower case.
    made: String,
    /// The plugins by which accounts of the target log in, in lower case.
    plugins: BTreeSet<String>,
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
        if is(0, &["GRANT"]) || is(0, &["CREATE", "RENAME", "ALTER"]) && is_account {
            self.made.push_str(&String::from_utf8_lossy(text).to_lowercase());
            return self.plugin_refusal(text, dialect).into_iter().collect();
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
            return Some((
                what,
                "GRANT SET_ANY_DEFINER (MySQL; SET_USER_ID before 8.2) or SET USER (MariaDB) ON *.* TO the account",
            ));
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
        Rights { account, sets_definers, has_super, trusts, accounts: None, made, plugins }
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
