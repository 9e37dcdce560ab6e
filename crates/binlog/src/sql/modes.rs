//! The modes of a log's session for any server: from the 33rd bit on each vendor has others, and some of one do what the other does without.

use drover_db::sql::{Dialect, Token, tokens_in_comments};

use crate::event::Query;
use crate::log::Format;

/// The modes that both vendors have, by the same bits.
const SHARED_MODES: u64 = 0xffff_ffff;
/// MySQL's mode, from 8.0.1 on, and MariaDB's, from 10.4.1 on, by which a server does with more digits of a second than a column has what the
/// other vendor's does without one: MySQL rounds, from 5.6.4 on, and MariaDB cuts.
const TIME_TRUNCATE_FRACTIONAL: u64 = 1 << 32;
const TIME_ROUND_FRACTIONAL: u64 = 1 << 34;
/// More modes of MariaDB, from 10.3 on. MySQL has none that does the same.
const MARIADB_MODES: [(u64, &str); 2] =
    [(1 << 32, "EMPTY_STRING_IS_NULL"), (1 << 33, "SIMULTANEOUS_ASSIGNMENT")];

/// What a log's modes mean depends on who wrote it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Modes {
    is_mariadb: bool,
    /// Whether its server rounded fractions of seconds where no mode said so.
    rounds: bool,
    /// Whether the statement makes a program, which keeps the modes: it gets none that it did not have, as in a copy.
    is_kept: bool,
}

impl Modes {
    pub(super) fn of(query: &Query<'_>, format: &Format) -> Self {
        let is_mariadb = format.is_mariadb();
        let rounds = !is_mariadb && format.numbers() >= (5, 6, 4);
        Self { is_mariadb, rounds, is_kept: makes_program(query.text) }
    }

    /// The modes for any server: without those that MySQL took out with 8.0.5, for servers from there on (NO_AUTO_CREATE_USER, and those that
    /// change what SHOW prints), and with those of the other vendor that do the same. MariaDB's ORACLE and MSSQL, and its modes that MySQL
    /// lacks, change what a statement means: these stay, and such a server refuses them.
    pub(super) fn written(self, bits: u64) -> Vec<u8> {
        const REMOVED: u64 = 0x1003_ff00;
        const ORACLE_AND_MSSQL: u64 = 0x600;
        let removed = if self.is_mariadb { REMOVED & !ORACLE_AND_MSSQL } else { REMOVED };
        let own: Vec<_> =
            MARIADB_MODES.iter().filter(|(mode, _)| self.is_mariadb && bits & mode != 0).collect();
        let base = own.iter().fold(bits & SHARED_MODES, |all, (mode, _)| all | mode);
        let mut text = base.to_string();
        if bits & removed != 0 {
            text += &format!(" /*!80005 & ~{removed:#x} */");
        }
        let (truncates, rounds) = match self.is_mariadb {
            true => (false, bits & TIME_ROUND_FRACTIONAL != 0),
            false => (bits & TIME_TRUNCATE_FRACTIONAL != 0, false),
        };
        let (cuts, rounds_all) = (!(self.rounds || rounds), self.rounds && !truncates);
        if truncates || cuts && !self.is_kept {
            text += &format!(" /*!80001 | {TIME_TRUNCATE_FRACTIONAL} */");
        }
        if rounds || rounds_all && !self.is_kept {
            text += &format!(" /*M!100401 | {TIME_ROUND_FRACTIONAL} */");
        }
        for (_, name) in own {
            text += &format!(" /*!80001 , @@session.sql_mode = '{name}' */");
        }
        text.into_bytes()
    }
}

/// Whether a statement makes or alters a program, which keeps the session's modes.
fn makes_program(text: &[u8]) -> bool {
    const PROGRAMS: [&str; 6] = ["PROCEDURE", "FUNCTION", "TRIGGER", "EVENT", "PACKAGE", "VIEW"];
    // What stands before that: OR REPLACE, an algorithm, a definer, IF NOT EXISTS.
    const BEFORE: usize = 16;
    let mut code = tokens_in_comments(text, Dialect::default()).filter(Token::is_code);
    code.next().is_some_and(|first| first.is_word("CREATE") || first.is_word("ALTER"))
        && code
            .take(BEFORE)
            .take_while(|token| !token.is_word("TABLE") && !token.is_symbol(b'('))
            .any(|token| PROGRAMS.iter().any(|word| token.is_word(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_mean_the_same_on_each_vendors_servers() {
        let mariadb = Modes { is_mariadb: true, ..Modes::default() };
        let mysql = Modes { rounds: true, ..Modes::default() };
        let written = |modes: Modes, bits| String::from_utf8(modes.written(bits)).unwrap();
        assert_eq!(written(mariadb, 2), "2 /*!80001 | 4294967296 */");
        assert_eq!(written(mariadb, 2 | TIME_ROUND_FRACTIONAL), "2 /*M!100401 | 17179869184 */");
        assert_eq!(written(mysql, 2), "2 /*M!100401 | 17179869184 */");
        assert_eq!(written(mysql, 2 | TIME_TRUNCATE_FRACTIONAL), "2 /*!80001 | 4294967296 */");
        for program in [mariadb, mysql].map(|modes| Modes { is_kept: true, ..modes }) {
            assert_eq!(written(program, 2), "2");
        }
        let own = written(mariadb, 1 << 32);
        assert!(own.starts_with("4294967296 ") && own.contains("sql_mode = 'EMPTY_STRING_IS_NULL'"), "{own}");
    }
}
