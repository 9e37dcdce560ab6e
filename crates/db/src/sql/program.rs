//! Statements that create a view or a stored program: what stands before the name, and with which definer.

use std::ops::Range;

use super::{Dialect, Kind, Token, tokens_in_comments};
use crate::grants::Who;
use crate::quote;

/// What is created with a definer, as SQL calls it.
const WORDS: [&str; 6] = ["VIEW", "FUNCTION", "PROCEDURE", "TRIGGER", "EVENT", "PACKAGE"];
/// Words before them: of functions in MariaDB, and of views in MySQL from 9.4 on.
const BEFORE: [&str; 4] = ["AGGREGATE", "JSON", "RELATIONAL", "DUALITY"];

/// The beginning of a statement that creates a view or a stored program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// What it creates, such as `VIEW` or `PACKAGE`.
    pub word: &'static str,
    /// Its definer; `None` if that is the account which creates it.
    pub definer: Option<Who>,
    /// Whether it is a function which says of itself that it does no harm to a log of statements: DETERMINISTIC, NO SQL or READS SQL
    /// DATA. Source: `sql/sp.cc`, `sp_create_routine()`.
    pub is_safe: bool,
    /// Whether it is a function out of a library.
    pub is_loadable: bool,
    /// The bytes of `DEFINER = account`, or where it may stand.
    clause: Range<usize>,
    /// What the name in it is quoted with: a server prints it in double quotes under ANSI_QUOTES.
    quote: u8,
}

impl Program {
    /// Reads a statement; `None` of any other.
    pub fn parse(text: &[u8], dialect: Dialect) -> Option<Self> {
        let mut end = 0;
        let mut code = Vec::new();
        for token in tokens_in_comments(text, dialect) {
            end += token.text.len();
            if token.is_code() {
                code.push((end - token.text.len(), token));
            }
        }
        let is = |at: usize, word: &str| code.get(at).is_some_and(|(_, token)| token.is_word(word));
        if !is(0, "CREATE") {
            return None;
        }
        let (mut at, mut place, mut account) = (1, None, None);
        let word = loop {
            let (start, token) = code.get(at)?;
            if token.is_word("OR") || token.is_word("REPLACE") {
                at += 1;
            } else if token.is_word("ALGORITHM") {
                at += 3;
            } else if token.is_word("DEFINER") {
                let found = Account::parse(&code, at + 1)?;
                place = Some(*start..found.end);
                at = found.next;
                account = Some(found);
            } else {
                place.get_or_insert(*start..*start);
                match WORDS.into_iter().find(|word| token.is_word(word)) {
                    Some(word) => break word,
                    None if token.is_word("SQL") => at += 3,
                    None if BEFORE.iter().any(|word| token.is_word(word)) => at += 1,
                    None => return None,
                }
            }
        };
        let body = &code[at..];
        let quote = account.as_ref().map_or(b'`', |account| account.quote);
        Some(Self {
            word,
            definer: account.and_then(|account| account.who),
            is_safe: word == "FUNCTION" && is_safe(body),
            is_loadable: word == "FUNCTION" && body.iter().any(|(_, token)| token.is_word("SONAME")),
            clause: place?,
            quote,
        })
    }

    /// The statement that it was read from with this definer.
    pub fn with_definer(&self, text: &[u8], who: &Who) -> Vec<u8> {
        let quoted = |name: &str| match self.quote {
            b'"' => format!("\"{}\"", name.replace('"', "\"\"")),
            _ => quote::identifier(name),
        };
        let host = who.host.as_deref().map(|host| format!("@{}", quoted(host))).unwrap_or_default();
        let space = if self.clause.is_empty() { " " } else { "" };
        let clause = format!("DEFINER={}{host}{space}", quoted(&who.name));
        [&text[..self.clause.start], clause.as_bytes(), &text[self.clause.end..]].concat()
    }
}

/// An account behind `DEFINER`.
struct Account {
    /// `None` for the account in use.
    who: Option<Who>,
    quote: u8,
    /// Where it ends, in bytes, and the token behind it.
    end: usize,
    next: usize,
}

impl Account {
    /// `= name @ host`, `= role` (MariaDB) or `= CURRENT_USER`, from the token at `at` on.
    fn parse(code: &[(usize, Token<'_>)], at: usize) -> Option<Self> {
        let is_symbol = |at: usize, symbol| code.get(at).is_some_and(|(_, token)| token.is_symbol(symbol));
        let (_, name) = code.get(at + 1).filter(|_| is_symbol(at, b'='))?;
        let is_current = name.is_word("CURRENT_USER") || name.is_word("CURRENT_ROLE");
        let (who, last) = match () {
            () if is_current && is_symbol(at + 2, b'(') => (None, at + 3),
            () if is_current => (None, at + 1),
            () if is_symbol(at + 2, b'@') => {
                (Some(Who::new(&word(name)?, &word(&code.get(at + 3)?.1)?)), at + 3)
            }
            () => (Some(Who::role(&word(name)?)), at + 1),
        };
        let (start, token) = code.get(last)?;
        let quote = if name.text.starts_with(b"\"") && name.kind == Kind::Quoted { b'"' } else { b'`' };
        Some(Self { who, quote, end: start + token.text.len(), next: last + 1 })
    }
}

fn word(token: &Token<'_>) -> Option<String> {
    let text = match token.kind {
        Kind::String => token.within_quotes()?.to_vec(),
        _ => token.name()?,
    };
    Some(String::from_utf8_lossy(&text).into_owned())
}

/// Whether the head of a function, from its word on, says that it is safe.
fn is_safe(code: &[(usize, Token<'_>)]) -> bool {
    let is = |token: &Token<'_>, words: &[&str]| words.iter().any(|word| token.is_word(word));
    // With the words of Oracle a function's type stands behind RETURN, and its body behind AS or IS.
    let ends: &[&str] = match code.iter().find(|(_, token)| is(token, &["RETURNS", "RETURN"])) {
        Some((_, token)) if token.is_word("RETURN") => &["BEGIN", "AS", "IS"],
        _ => &["BEGIN", "RETURN"],
    };
    let head: Vec<_> = code.iter().map(|(_, token)| token).take_while(|token| !is(token, ends)).collect();
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
    use proptest::prelude::*;

    const ANSI: Dialect =
        Dialect { ansi_quotes: true, no_backslash_escapes: false, lead_bytes: super::super::LeadBytes::None };

    fn parse(text: &str) -> Option<(&'static str, Option<String>)> {
        let program = Program::parse(text.as_bytes(), Dialect::default())?;
        Some((program.word, program.definer.map(|who| who.to_string())))
    }

    fn with(text: &str, dialect: Dialect) -> String {
        let program = Program::parse(text.as_bytes(), dialect).unwrap();
        String::from_utf8(program.with_definer(text.as_bytes(), &Who::new("n`\"w", "%"))).unwrap()
    }

    #[test]
    fn words_and_definers() {
        let some = |word, definer: &str| Some((word, Some(definer.to_owned())));
        let view =
            "CREATE OR REPLACE ALGORITHM=MERGE DEFINER=`a`@`b``c` SQL SECURITY DEFINER VIEW `v` AS select 1";
        assert_eq!(parse(view), some("VIEW", "`a`@`b``c`"));
        let trigger = "/*!50003 CREATE*/ /*!50017 DEFINER=`root`@`localhost`*/ /*!50003 TRIGGER t BEFORE INSERT ON x FOR EACH ROW DO 1 */";
        assert_eq!(parse(trigger), some("TRIGGER", "`root`@`localhost`"));
        assert_eq!(parse("create definer = 'a' @ localhost event e ON x"), some("EVENT", "`a`@`localhost`"));
        assert_eq!(
            parse("CREATE DEFINER=view@trigger PROCEDURE p() DO 1"),
            some("PROCEDURE", "`view`@`trigger`")
        );
        assert_eq!(parse("CREATE DEFINER=admins AGGREGATE FUNCTION f() x"), some("FUNCTION", "`admins`"));
        assert_eq!(parse("CREATE DEFINER=`a`@`b` PACKAGE BODY p AS x"), some("PACKAGE", "`a`@`b`"));
        for own in ["", "DEFINER=CURRENT_USER ", "DEFINER = current_user() "] {
            assert_eq!(parse(&format!("CREATE {own}VIEW v AS SELECT 1")), Some(("VIEW", None)), "{own}");
        }
        for other in [
            "CREATE TABLE t (DEFINER INT)",
            "CREATE USER view@function",
            "DROP VIEW v",
            "CREATE DEFINER=",
            "CREATE DEFINER VIEW v",
            "CREATE",
            "",
        ] {
            assert_eq!(parse(other), None, "{other}");
        }
    }

    #[test]
    fn another_definer_and_nothing_else() {
        let default = Dialect::default();
        assert_eq!(
            with("CREATE DEFINER=`a`@`b` SQL SECURITY DEFINER VIEW v AS select 'DEFINER=`a`@`b`'", default),
            "CREATE DEFINER=`n``\"w`@`%` SQL SECURITY DEFINER VIEW v AS select 'DEFINER=`a`@`b`'"
        );
        assert_eq!(
            with(
                "/*!50001 CREATE ALGORITHM=MERGE */\n/*!50013 SQL SECURITY INVOKER */\n/*!50001 VIEW v AS x */",
                default
            ),
            "/*!50001 CREATE ALGORITHM=MERGE */\n/*!50013 DEFINER=`n``\"w`@`%` SQL SECURITY INVOKER */\n/*!50001 VIEW v AS x */"
        );
        assert_eq!(
            with("CREATE DEFINER=current_user() AGGREGATE FUNCTION f()", default),
            "CREATE DEFINER=`n``\"w`@`%` AGGREGATE FUNCTION f()"
        );
        assert_eq!(with("CREATE FUNCTION f()", default), "CREATE DEFINER=`n``\"w`@`%` FUNCTION f()");
        assert_eq!(
            with("CREATE DEFINER=\"a\"@\"b\" PROCEDURE p()", ANSI),
            "CREATE DEFINER=\"n`\"\"w\"@\"%\" PROCEDURE p()"
        );
    }

    #[test]
    fn functions_that_are_safe_in_a_log() {
        let is_safe = |head: &str| {
            let text = format!("CREATE DEFINER=`a`@`b` FUNCTION `f`() RETURNS int {head}");
            Program::parse(text.as_bytes(), Dialect::default()).unwrap().is_safe
        };
        assert!(is_safe("DETERMINISTIC RETURN 1") && is_safe("READS SQL DATA RETURN 1"));
        assert!(is_safe("NO SQL RETURN 1") && !is_safe("RETURN 'DETERMINISTIC'"));
        let of_oracle =
            "CREATE FUNCTION `f`(a INT) RETURN VARCHAR2(50) DETERMINISTIC AS BEGIN RETURN 'x'; END";
        assert!(Program::parse(of_oracle.as_bytes(), Dialect::default()).unwrap().is_safe);
        assert!(!is_safe("NOT DETERMINISTIC CONTAINS SQL BEGIN RETURN 1; END"));
    }

    proptest! {
        #[test]
        fn the_new_definer_is_read_back(
            name in "[a-z`\"' @é]{1,6}", host in "[a-z%.`]{0,6}", there in "(DEFINER=`x`@`y` |DEFINER=CURRENT_USER |)", ansi: bool,
        ) {
            let (who, text) = (Who::new(&name, &host), format!("CREATE {there}PROCEDURE p() SELECT 1"));
            let dialect = Dialect { ansi_quotes: ansi, ..Dialect::default() };
            let changed = Program::parse(text.as_bytes(), dialect).unwrap().with_definer(text.as_bytes(), &who);
            prop_assert_eq!(Program::parse(&changed, dialect).unwrap().definer, Some(who));
            prop_assert!(changed.ends_with(b"PROCEDURE p() SELECT 1"));
        }

        #[test]
        fn no_bytes_make_it_panic(text in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = Program::parse(&text, Dialect::default());
            let text = [b"CREATE DEFINER=", &text[..]].concat();
            if let Some(program) = Program::parse(&text, ANSI) {
                let _ = program.with_definer(&text, &Who::new("a", "b"));
            }
        }
    }
}
