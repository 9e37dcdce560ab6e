//! Programs that the target does not let the account make, told before they are tried.

use drover_db::Connection;
use drover_db::grants::Held;
use drover_db::sql::{Dialect, Kind, Token, tokens_in_comments};

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
            account: (name.into(), host.into()),
            sets_definers,
            has_super,
            trusts: value(1) != "1" || value(2) == "1",
        })
    }

    /// Why the target would refuse a statement; `None` if it would not, or if that cannot be told.
    pub(super) fn refusal(&self, text: &[u8], dialect: Dialect) -> Option<Refusal> {
        let code: Vec<_> = tokens_in_comments(text, dialect).filter(Token::is_code).collect();
        if !code.first()?.is_word("CREATE") {
            return None;
        }
        let kinds = ["FUNCTION", "TRIGGER", "PROCEDURE", "EVENT", "VIEW", "PACKAGE"];
        let kind = code.iter().position(|token| kinds.iter().any(|kind| token.is_word(kind)))?;
        if let Some((name, host)) = definer(&code[..kind])
            && !self.sets_definers
            && (&name, &host) != (&self.account.0, &self.account.1)
        {
            let what = format!(
                "it is made for the definer '{name}'@'{host}', and the account may make none for others (1227)"
            );
            return Some((
                what,
                "GRANT SET_ANY_DEFINER (MySQL; SET_USER_ID before 8.2) or SET USER (MariaDB) ON *.* TO the account",
            ));
        }
        let is_function = code[kind].is_word("FUNCTION");
        if self.trusts || !(is_function || code[kind].is_word("TRIGGER")) || is_loadable(&code) {
            return None;
        }
        if is_function && !is_safe(&code[kind..]) {
            let what = "the target writes a binary log, and takes no function that is neither DETERMINISTIC nor NO SQL nor \
                        READS SQL DATA (1418)";
            return Some((what.into(), TRUST));
        }
        let what = "the target writes a binary log, and takes functions and triggers from accounts with SUPER only (1419)";
        (!self.has_super).then(|| (what.into(), TRUST))
    }
}

/// `DEFINER = name @ host`.
fn definer(code: &[Token<'_>]) -> Option<(String, String)> {
    let at = code.iter().position(|token| token.is_word("DEFINER"))?;
    let [_, name, separator, host] = code.get(at + 1..at + 5)? else { return None };
    // A role of MariaDB has no host.
    if !separator.is_symbol(b'@') {
        return None;
    }
    Some((word(name)?, word(host)?))
}

fn word(token: &Token<'_>) -> Option<String> {
    let text = match token.kind {
        Kind::String => token.text.get(1..token.text.len().checked_sub(1)?)?.to_vec(),
        _ => token.name()?,
    };
    Some(String::from_utf8_lossy(&text).into_owned())
}

/// A function out of a library: it is in no log's way.
fn is_loadable(code: &[Token<'_>]) -> bool {
    code.iter().any(|token| token.is_word("SONAME"))
}

/// Whether a function's head says that it does no harm to a log of statements. Source: `sql/sp.cc`, `sp_create_routine()`.
fn is_safe(code: &[Token<'_>]) -> bool {
    let head = code.iter().take_while(|token| !token.is_word("BEGIN") && !token.is_word("RETURN"));
    let head: Vec<_> = head.collect();
    let follows = |at: usize, word: &str| head.get(at + 1).is_some_and(|token| token.is_word(word));
    head.iter().enumerate().any(|(at, token)| {
        let is_negated =
            at.checked_sub(1).and_then(|at| head.get(at)).is_some_and(|before| before.is_word("NOT"));
        token.is_word("DETERMINISTIC") && !is_negated
            || token.is_word("NO") && follows(at, "SQL")
            || token.is_word("READS") && follows(at, "SQL")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str, sets_definers: bool, has_super: bool, trusts: bool) -> Option<String> {
        let account = ("me".to_owned(), "localhost".to_owned());
        let rights = Rights { account, sets_definers, has_super, trusts };
        rights.refusal(text.as_bytes(), Dialect::default()).map(|(what, _)| what)
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
