//! Scheduled events in statements: a server that follows another one must not run them, since what they change comes to it anyway.

use super::{Dialect, Kind, Token, tokens_in_comments};

/// `text`, a CREATE EVENT or ALTER EVENT statement, as a replica keeps it: with DISABLE ON SLAVE (which MySQL from 8.2 on and MariaDB
/// from 10.5 on also call DISABLE ON REPLICA) where the event would run; with the event's name as it stands there. None of other
/// statements, and of those after which it does not run.
pub fn off_as_on_a_replica(text: &[u8], dialect: Dialect) -> Option<(Vec<u8>, Vec<u8>)> {
    let tokens: Vec<_> = tokens_in_comments(text, dialect).collect();
    let code: Vec<_> = (0..tokens.len()).filter(|at| tokens[*at].is_code()).collect();
    let head = Head::parse(&tokens, &code)?;
    let name = head.name.clone().flat_map(|at| tokens[at].text.iter().copied()).collect();
    let mut out = Vec::with_capacity(text.len() + 16);
    let mut is_done = false;
    for (at, token) in tokens.iter().enumerate() {
        match &head.status {
            Status::Enabled(there) if *there == at => out.extend_from_slice(OFF),
            Status::AbsentBefore(there) if *there == at => {
                out.extend_from_slice(OFF);
                out.push(b' ');
                out.extend_from_slice(token.text);
            }
            Status::Off => return None,
            _ => {
                out.extend_from_slice(token.text);
                continue;
            }
        }
        is_done = true;
    }
    is_done.then_some((out, name))
}

const OFF: &[u8] = b"DISABLE ON SLAVE";

/// What stands before an event's body.
struct Head {
    /// Places of the name's tokens.
    name: std::ops::Range<usize>,
    status: Status,
}

enum Status {
    /// ENABLE stands there.
    Enabled(usize),
    /// It is enabled, as none stands there; one may stand before this place.
    AbsentBefore(usize),
    /// It does not run, or the statement leaves it as it is.
    Off,
}

impl Head {
    /// `code` are the places of all tokens that are code.
    fn parse(tokens: &[Token<'_>], code: &[usize]) -> Option<Self> {
        let is = |at: usize, word: &str| code.get(at).is_some_and(|at| tokens[*at].is_word(word));
        let is_symbol = |at: usize, symbol| code.get(at).is_some_and(|at| tokens[*at].is_symbol(symbol));
        let is_new = is(0, "CREATE");
        if !is_new && !is(0, "ALTER") {
            return None;
        }
        let mut at = 1;
        while !is(at, "EVENT") {
            let is_before_it = is(at, "OR") || is(at, "REPLACE") || is(at, "DEFINER");
            let is_of_account = (1..=4).any(|back| at > back && is(at - back, "DEFINER"));
            let is_other = ["TRIGGER", "FUNCTION", "PROCEDURE", "VIEW", "PACKAGE", "AGGREGATE", "SQL"];
            let is_other = is_other.iter().any(|word| is(at, word)) && !is_symbol(at - 1, b'@');
            if at >= code.len() || is_other || !(is_before_it || is_of_account) {
                return None;
            }
            // The account may be called anything.
            at += if is_symbol(at, b'=') { 2 } else { 1 };
        }
        at += 1;
        if is(at, "IF") {
            at += if is(at + 1, "NOT") { 3 } else { 2 };
        }
        let first = at;
        at += if is_symbol(at + 1, b'.') { 3 } else { 1 };
        let name = *code.get(first)?..*code.get(at - 1)? + 1;
        let mut comment = None;
        while at < code.len() && !is(at, "DO") {
            if is(at, "ENABLE") {
                return Some(Self { name, status: Status::Enabled(code[at]) });
            }
            if is(at, "DISABLE") {
                return Some(Self { name, status: Status::Off });
            }
            if is(at, "RENAME") {
                at += if is_symbol(at + 3, b'.') { 4 } else { 2 };
            }
            if is(at, "COMMENT") && code.get(at + 1).is_some_and(|next| tokens[*next].kind == Kind::String) {
                comment = Some(code[at]);
            }
            at += 1;
        }
        let status = match (is_new, comment.or(code.get(at).copied())) {
            (true, Some(before)) => Status::AbsentBefore(before),
            _ => Status::Off,
        };
        Some(Self { name, status })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn off(text: &str) -> Option<(String, String)> {
        let utf8 = |bytes| String::from_utf8(bytes).unwrap();
        off_as_on_a_replica(text.as_bytes(), Dialect::default()).map(|(text, name)| (utf8(text), utf8(name)))
    }

    #[test]
    fn events_that_would_run_do_not() {
        let cases = [
            (
                "CREATE EVENT e ON SCHEDULE EVERY 1 SECOND DO UPDATE t SET a = 'ENABLE'",
                "CREATE EVENT e ON SCHEDULE EVERY 1 SECOND DISABLE ON SLAVE DO UPDATE t SET a = 'ENABLE'",
                "e",
            ),
            (
                "CREATE OR REPLACE DEFINER=`event`@`%` EVENT IF NOT EXISTS `s`.`enable` ON SCHEDULE AT NOW() ON COMPLETION PRESERVE \
                 ENABLE COMMENT 'DO' DO SET @a = 1",
                "CREATE OR REPLACE DEFINER=`event`@`%` EVENT IF NOT EXISTS `s`.`enable` ON SCHEDULE AT NOW() ON COMPLETION PRESERVE \
                 DISABLE ON SLAVE COMMENT 'DO' DO SET @a = 1",
                "`s`.`enable`",
            ),
            (
                "/*!50106 CREATE*/ /*!50117 DEFINER=event@localhost*/ /*!50106 EVENT e ON SCHEDULE EVERY 1 DAY COMMENT 'x' DO DO 1 */",
                "/*!50106 CREATE*/ /*!50117 DEFINER=event@localhost*/ /*!50106 EVENT e ON SCHEDULE EVERY 1 DAY DISABLE ON SLAVE COMMENT 'x' DO DO 1 */",
                "e",
            ),
            ("alter event e rename to enable enable", "alter event e rename to enable DISABLE ON SLAVE", "e"),
        ];
        for (text, expected, name) in cases {
            assert_eq!(off(text), Some((expected.to_owned(), name.to_owned())), "{text}");
        }
    }

    #[test]
    fn others_stay() {
        for text in [
            "CREATE EVENT e ON SCHEDULE EVERY 1 DAY DISABLE DO DO 1",
            "CREATE EVENT e ON SCHEDULE EVERY 1 DAY DISABLE ON REPLICA DO DO 1",
            "ALTER EVENT e ON SCHEDULE EVERY 2 DAY",
            "ALTER EVENT e DISABLE",
            "CREATE TABLE event (enable INT)",
            "CREATE DEFINER=admins TRIGGER event AFTER INSERT ON t FOR EACH ROW SET @a = 1",
            "CREATE DEFINER=a@b TRIGGER event BEFORE INSERT ON t FOR EACH ROW SET @a = 1",
            "DROP EVENT e",
            "CREATE EVENT",
            "",
        ] {
            assert_eq!(off(text), None, "{text}");
        }
    }
}
