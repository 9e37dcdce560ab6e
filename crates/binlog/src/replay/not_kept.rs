//! What a target reads in definitions and does not keep, without an error. A copy compares what it has made (`translate/ignored.rs`); a dry run makes
//! nothing, so it goes by what versions are known to keep.

use drover_db::sql::phrase::Phrase;
use drover_db::sql::{Dialect, Kind, tokens_in_comments};
use serde::Serialize;

use crate::log::Format;

use super::events::Target;
use super::keeper::Keeper;
use super::{constraints, passwords};

/// Something that the logs' server has and the target does not keep.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NotKept {
    /// Where it is in the logs, as LOG: at POSITION; the first place of several.
    pub at: String,
    /// What is not kept, as the statement has it, or of which column.
    pub what: String,
    /// What the target does in place of it.
    pub reason: String,
}

const UNCHECKED: &str = "the target reads it and keeps none: it checks no row";
const ASCENDING: &str = "the target keeps keys in ascending order only";
const PASSED_OVER: &str = "the target passes over this comment, which the logs' server ran";

/// What of a statement that changes definitions the target does not keep, and what it does instead. `text` is as the target takes it.
pub(super) fn told_of(
    logged: &[u8],
    text: &[u8],
    dialect: Dialect,
    format: &Format,
    target: &Target,
) -> Vec<(String, &'static str)> {
    not_kept(logged, text, dialect, Keeper::of_logs(format), Keeper::of_target(target))
}

/// The statement with the constraints and passwords that the logs' server kept of it.
pub(super) fn as_there(text: Vec<u8>, dialect: Dialect, format: &Format, target: &Target) -> Vec<u8> {
    let (from, to) = (Keeper::of_logs(format), Keeper::of_target(target));
    let text = constraints::as_kept(&text, dialect, from, to).unwrap_or(text);
    passwords::as_logged(&text, dialect, to).unwrap_or(text)
}

fn not_kept(
    logged: &[u8],
    text: &[u8],
    dialect: Dialect,
    from: Keeper,
    to: Keeper,
) -> Vec<(String, &'static str)> {
    let mut all: Vec<_> =
        comments(logged, dialect, from, to).into_iter().map(|what| (what, PASSED_OVER)).collect();
    let (checks, descending) = (
        from.keeps_checks() && !to.keeps_checks(),
        from.keeps_descending_keys() && !to.keeps_descending_keys(),
    );
    if !checks && !descending {
        return all;
    }
    let phrase = Phrase::in_comments(text, dialect);
    if !defines_table(&phrase) {
        return all;
    }
    for open in (0..phrase.len()).filter(|&at| phrase.token(at).is_symbol(b'(')) {
        let Some(before) = phrase.before(open) else { continue };
        if checks && phrase.token(before).is_word("CHECK") {
            all.push((shown(&phrase, before, open), UNCHECKED));
        }
        if descending
            && is_descending(&phrase, open)
            && let Some(start) = key_before(&phrase, open)
        {
            all.push((shown(&phrase, start, open), ASCENDING));
        }
    }
    all
}

/// What begins there, up to the end of the parenthesis that is opened behind it.
fn shown(phrase: &Phrase, start: usize, open: usize) -> String {
    phrase.part(start..phrase.closed(open))
}

/// CREATE and ALTER of a table or of an index.
fn defines_table(phrase: &Phrase) -> bool {
    let mut code = (0..phrase.len()).map(|at| phrase.token(at)).filter(|token| token.is_code()).take(8);
    let begins = code.next().is_some_and(|first| first.is_word("CREATE") || first.is_word("ALTER"));
    begins && code.any(|token| token.is_word("TABLE") || token.is_word("INDEX"))
}

/// Where what is in a parenthesis is called a key, on its left: `KEY k (`, `INDEX i ON s.t (`.
fn key_before(phrase: &Phrase, open: usize) -> Option<usize> {
    const FARTHEST: usize = 10;
    let mut at = open;
    for _ in 0..FARTHEST {
        at = phrase.before(at)?;
        let token = phrase.token(at);
        if [b',', b'(', b')'].iter().any(|&symbol| token.is_symbol(symbol)) {
            return None;
        }
        if ["KEY", "INDEX", "UNIQUE"].iter().any(|word| token.is_word(word)) {
            return Some(at);
        }
    }
    None
}

/// Whether a part of the list ends with DESC.
fn is_descending(phrase: &Phrase, open: usize) -> bool {
    let (mut depth, close) = (0usize, phrase.closed(open));
    (open + 1..close).any(|at| {
        let token = phrase.token(at);
        match () {
            () if token.is_symbol(b'(') => depth += 1,
            () if token.is_symbol(b')') => depth = depth.saturating_sub(1),
            () => {}
        }
        depth == 0 && token.kind == Kind::Word && token.is_word("DESC")
    })
}

/// Comments that the one server runs and the other passes over. That a schema is not encrypted is so without saying.
fn comments(text: &[u8], dialect: Dialect, from: Keeper, to: Keeper) -> Vec<String> {
    let (mut all, mut open) = (Vec::new(), None::<Vec<u8>>);
    for token in tokens_in_comments(text, dialect) {
        let is_comment = token.kind == Kind::Comment;
        if let Some(mut comment) = open.take() {
            comment.extend_from_slice(token.text);
            if is_comment && token.text == b"*/" {
                all.push(String::from_utf8_lossy(&comment).into_owned());
            } else {
                open = Some(comment);
            }
        } else if is_comment && (token.text.starts_with(b"/*!") || token.text.starts_with(b"/*M!")) {
            open = (from.runs(token.text) && !to.runs(token.text)).then(|| token.text.to_vec());
        }
    }
    let is_plain = |comment: &String| {
        let comment = comment.to_uppercase();
        comment.contains("ENCRYPTION") && comment.contains("'N'")
    };
    all.retain(|comment| !is_plain(comment));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use drover_db::Vendor;

    const MYSQL_9: Keeper = Keeper { vendor: Vendor::MySql, version: (9, 7, 0) };
    const MYSQL_57: Keeper = Keeper { vendor: Vendor::MySql, version: (5, 7, 44) };
    const MARIADB: Keeper = Keeper { vendor: Vendor::MariaDb, version: (10, 11, 9) };
    const MARIADB_101: Keeper = Keeper { vendor: Vendor::MariaDb, version: (10, 1, 48) };

    fn told(text: &str, from: Keeper, to: Keeper) -> Vec<String> {
        let found = not_kept(text.as_bytes(), text.as_bytes(), Dialect::default(), from, to);
        found.into_iter().map(|(what, _)| what).collect()
    }

    #[test]
    fn checks_order_and_comments() {
        let text = "create table t(id int primary key, a int check(a>0), b int, key k(b desc), key l USING BTREE (a, b), constraint nn check (b>a), \
            h int /*!80023 INVISIBLE */, d varchar(9) default 'check (1) desc') /*!50100 PARTITION BY HASH (id) */";
        let all = ["/*!80023 INVISIBLE */", "check(a>0)", "key k(b desc)", "check (b>a)"];
        assert_eq!(told(text, MYSQL_9, MYSQL_57), all);
        assert_eq!(told(text, MYSQL_9, MARIADB), all[..1]);
        assert_eq!(told(text, MYSQL_9, MYSQL_9), [""; 0]);
        assert_eq!(told(text, MYSQL_57, MYSQL_57), [""; 0]);
        assert_eq!(
            told("ALTER TABLE t ADD CONSTRAINT c CHECK (a <> 9)", MARIADB, MARIADB_101),
            ["CHECK (a <> 9)"]
        );
        assert_eq!(
            told("CREATE INDEX i ON s.t (a, (b + 1) DESC)", MYSQL_9, MYSQL_57),
            ["INDEX i ON s.t (a, (b + 1) DESC)"]
        );
        for same in [
            "ALTER TABLE t DROP CHECK c",
            "CREATE TABLE t SELECT * FROM (SELECT a FROM u ORDER BY a DESC) v",
            "ALTER TABLE t ORDER BY a DESC",
            "CREATE VIEW v AS SELECT 1 WITH CHECK OPTION",
            "CREATE DATABASE d /*!80016 DEFAULT ENCRYPTION='N' */",
            "CREATE TABLE t (a INT) /* DESC */ /*!40100 DEFAULT CHARSET=utf8 */",
        ] {
            assert_eq!(told(same, MYSQL_9, MYSQL_57), [""; 0], "{same}");
        }
        assert_eq!(
            told("CREATE TABLE t (a TEXT /*M!100301 COMPRESSED*/)", MARIADB, MYSQL_9),
            ["/*M!100301 COMPRESSED*/"]
        );
    }
}
