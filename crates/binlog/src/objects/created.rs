//! CREATE TABLE … SELECT as MySQL logs it from 8.0.21 on: the table, in a transaction with its rows.

use std::ops::Range;

use drover_db::sql::{Dialect, Token, tokens};

/// Where the clause START TRANSACTION stands in a CREATE TABLE, behind the columns and before the options: then rows of the new table
/// follow in the same transaction. Source: MySQL `sql/sql_show.cc`, `store_create_info()`.
pub(crate) fn rows_follow(text: &[u8], dialect: Dialect) -> Option<Range<usize>> {
    let (mut at, mut depth, mut is_behind_columns) = (0, 0_u32, false);
    let mut start: Option<usize> = None;
    let mut is_first = true;
    for token in tokens(text, dialect) {
        let begin = at;
        at += token.text.len();
        if !token.is_code() {
            continue;
        }
        if std::mem::take(&mut is_first) && !token.is_word("CREATE") {
            return None;
        }
        if let (Some(start), true) = (start, token.is_word("TRANSACTION")) {
            return Some(start..at);
        }
        depth = depth_behind(&token, depth);
        is_behind_columns |= depth == 0 && token.is_symbol(b')');
        start = (depth == 0 && is_behind_columns && token.is_word("START")).then_some(begin);
    }
    None
}

/// The statement without that clause, which servers take from a log only, and MariaDB not at all: the rows that follow then need a
/// transaction of their own. `None` where it has none.
pub(crate) fn without_rows(text: &[u8], dialect: Dialect) -> Option<Vec<u8>> {
    let clause = rows_follow(text, dialect)?;
    Some([&text[..clause.start], &text[clause.end..]].concat())
}

fn depth_behind(token: &Token<'_>, depth: u32) -> u32 {
    match token {
        token if token.is_symbol(b'(') => depth + 1,
        token if token.is_symbol(b')') => depth.saturating_sub(1),
        _ => depth,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clause_is_found_where_it_is() {
        let found =
            |text: &str| rows_follow(text.as_bytes(), Dialect::default()).map(|range| text[range].to_owned());
        for text in [
            "CREATE TABLE `t` (\n  `id` int\n) START TRANSACTION",
            "CREATE TABLE `t` (`a` char(3) COMMENT ')') START TRANSACTION ENGINE=InnoDB COMMENT='START TRANSACTION'",
            "CREATE TABLE `t` (`a` int) start  transaction ENGINE=InnoDB /*!50100 PARTITION BY KEY () */",
        ] {
            assert!(
                found(text).is_some_and(
                    |clause| clause.eq_ignore_ascii_case("start transaction") || clause.len() == 18
                )
            );
        }
        let without =
            without_rows(b"CREATE TABLE `t` (`a` int) START TRANSACTION ENGINE=InnoDB", Dialect::default());
        assert_eq!(without.as_deref(), Some(&b"CREATE TABLE `t` (`a` int)  ENGINE=InnoDB"[..]));
        for text in [
            "START TRANSACTION",
            "CREATE TABLE t (a INT) COMMENT 'START TRANSACTION'",
            "CREATE TABLE t (`START` INT, `TRANSACTION` INT)",
            "CREATE PROCEDURE p(a INT) COMMENT ''",
            "",
        ] {
            assert_eq!(found(text), None, "{text}");
        }
    }
}
