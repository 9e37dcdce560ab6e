//! What a statement means to one who goes back in time.

use crate::event::Query;

/// See the variants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// It begins a transaction.
    Begins,
    /// It ends what XA START began, before that is committed.
    EndsXa,
    /// It ends a transaction that stays.
    Commits,
    /// What stands before it in the transaction was rolled back, or a part of that was.
    RollsBack,
    /// It changes neither rows nor definitions that stay.
    Nothing,
    /// It may change anything.
    Changes,
}

/// What statements begin with that change nothing that stays. A server logs that it dropped temporary tables of a session which
/// ended.
const NOTHING: [&str; 12] = [
    "SAVEPOINT ",
    "RELEASE SAVEPOINT ",
    "XA ROLLBACK ",
    "FLUSH ",
    "ANALYZE TABLE ",
    "OPTIMIZE TABLE ",
    "REPAIR TABLE ",
    "CHECK TABLE ",
    "CREATE TEMPORARY TABLE ",
    "CREATE OR REPLACE TEMPORARY TABLE ",
    "DROP TEMPORARY TABLE ",
    "DROP /*!40005 TEMPORARY */ TABLE ",
];

impl Meaning {
    pub(super) fn of(query: &Query<'_>) -> Self {
        let text = query.text.trim_ascii_start();
        let begins_with = |start: &str| {
            text.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start.as_bytes()))
        };
        match text {
            _ if query.is_begin() => Self::Begins,
            _ if text.eq_ignore_ascii_case(b"COMMIT") => Self::Commits,
            _ if text.eq_ignore_ascii_case(b"ROLLBACK") || begins_with("ROLLBACK TO ") => Self::RollsBack,
            _ if begins_with("XA END ") => Self::EndsXa,
            _ if NOTHING.iter().any(|start| begins_with(start)) => Self::Nothing,
            _ => Self::Changes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_statements_mean() {
        for (text, meaning) in [
            ("BEGIN", Meaning::Begins),
            ("XA START X'61',X'',1", Meaning::Begins),
            ("XA END X'61',X'',1", Meaning::EndsXa),
            ("XA COMMIT X'61',X'',1", Meaning::Changes),
            ("commit", Meaning::Commits),
            ("ROLLBACK", Meaning::RollsBack),
            ("ROLLBACK TO `a`", Meaning::RollsBack),
            ("SAVEPOINT `a`", Meaning::Nothing),
            ("flush tables", Meaning::Nothing),
            ("DROP /*!40005 TEMPORARY */ TABLE IF EXISTS `a`", Meaning::Nothing),
            ("DROP TABLE a", Meaning::Changes),
            // It runs the UPDATE (MariaDB).
            ("ANALYZE UPDATE a SET b = 1", Meaning::Changes),
            ("/* */ COMMIT", Meaning::Changes),
        ] {
            let query =
                Query { thread: 1, seconds: 0, error: 0, status: &[], schema: b"", text: text.as_bytes() };
            assert_eq!(Meaning::of(&query), meaning, "{text}");
        }
    }
}
