//! Which events make up a transaction. What stands between transactions, such as a rotation, belongs to none.

use super::format::Format;
use super::header::Header;
use super::kind::Kind;
use super::reader::Event;
use crate::event::{Gtid, MariadbGtid, Query, Rows};

/// Where an event stands in a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// It belongs to none.
    Outside,
    /// It begins one.
    First,
    /// It is within one.
    Inside,
    /// It ends one.
    Last,
    /// It is one.
    Only,
}

impl Place {
    /// Whether a transaction begins with it.
    pub fn begins(self) -> bool {
        matches!(self, Self::First | Self::Only)
    }

    /// Whether a transaction ends with it.
    pub fn ends(self) -> bool {
        matches!(self, Self::Last | Self::Only)
    }
}

/// Tells of one event after the other where it stands. Bodies must be unpacked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Grouper {
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    /// In no transaction.
    #[default]
    Outside,
    /// In one that the next statement ends, unless that is a BEGIN.
    Statement,
    /// In one that something commits, rolls back or prepares.
    Open,
}

/// What an event does to the transaction it is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Nothing: it belongs to none, wherever it stands.
    None,
    /// It comes before a statement.
    Before,
    /// It opens one that needs an end.
    Opens,
    /// It is a whole statement.
    Statement,
    /// It is a part of a statement.
    Part,
    /// It ends one.
    Ends,
}

impl Grouper {
    /// Whether the event told last left a transaction open.
    pub fn is_open(&self) -> bool {
        self.state != State::Outside
    }

    /// Where the next event stands. A transaction that was left open by a server that went down ends without a word, with the
    /// format description of the log that its next start begins.
    pub fn place(&mut self, event: &Event<'_>, format: &Format) -> Place {
        if event.kind == Kind::FORMAT_DESCRIPTION && format.started != 0 {
            self.state = State::Outside;
        }
        let role = role(event, format);
        if role == Role::None {
            return Place::Outside;
        }
        let before = self.state;
        self.state = match (before, role) {
            (_, Role::Ends) => State::Outside,
            (_, Role::Opens) | (State::Open, _) => State::Open,
            (State::Outside | State::Statement, Role::Statement) => State::Outside,
            (State::Outside, Role::Part) => State::Outside,
            (State::Statement, Role::Part) | (_, Role::Before) => State::Statement,
            (_, Role::None) => before,
        };
        match (before == State::Outside, self.state == State::Outside) {
            (true, true) => Place::Only,
            (true, false) => Place::First,
            (false, true) => Place::Last,
            (false, false) => Place::Inside,
        }
    }
}

fn role(event: &Event<'_>, format: &Format) -> Role {
    let kind = event.kind;
    if kind.row_change().is_some() {
        return role_of_rows(event, format);
    }
    match kind {
        Kind::QUERY => match Query::parse(event.body, format) {
            Ok(query) if query.is_begin() => Role::Opens,
            Ok(query) if query.is_end() || query.is_xa_end() => Role::Ends,
            _ => Role::Statement,
        },
        Kind::XID | Kind::XA_PREPARE => Role::Ends,
        Kind::MARIADB_GTID => role_of_gtid(event),
        Kind::GTID
        | Kind::ANONYMOUS_GTID
        | Kind::GTID_TAGGED
        | Kind::INTVAR
        | Kind::RAND
        | Kind::USER_VAR
        | Kind::ROWS_QUERY
        | Kind::MARIADB_ANNOTATE_ROWS
        | Kind::TABLE_MAP
        | Kind::TRANSACTION_CONTEXT => Role::Before,
        Kind::EXECUTE_LOAD_QUERY | Kind::EXEC_LOAD | Kind::LOAD | Kind::NEW_LOAD | Kind::VIEW_CHANGE => {
            Role::Statement
        }
        // Blocks of two sessions' files stand between each other's statements where they are not in a transaction.
        Kind::BEGIN_LOAD_QUERY | Kind::APPEND_BLOCK | Kind::CREATE_FILE | Kind::DELETE_FILE => Role::Part,
        Kind::TRANSACTION_PAYLOAD | Kind::MARIADB_PARTIAL_ROW_DATA => Role::Part,
        // What a server does not know and may pass over does not end anything.
        _ => Role::None,
    }
}

/// Rows outside of BEGIN and COMMIT, as tables without transactions had them in 5.1, end with a flag.
fn role_of_rows(event: &Event<'_>, format: &Format) -> Role {
    match Rows::table_and_flags(event.kind, event.body, format) {
        Ok((_, flags)) if flags & Rows::STATEMENT_END == 0 => Role::Before,
        _ => Role::Statement,
    }
}

/// MariaDB's event stands in place of BEGIN too, unless it says that there is one statement only.
fn role_of_gtid(event: &Event<'_>) -> Role {
    let Header { server_id, .. } = event.header;
    match Gtid::parse(event.kind, event.body, server_id) {
        Ok(Some(Gtid::Mariadb(gtid))) if gtid.flags & MariadbGtid::STANDALONE == 0 => Role::Opens,
        Ok(Some(_)) => Role::Before,
        _ => Role::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The places of events that are told as `b` BEGIN, `s` a statement, `c` COMMIT, `x` XID, `i` INTVAR, `m` a description of a table,
    /// `r` rows, `e` the last rows of a statement, `g` MySQL's GTID, `G` and `S` those of MariaDB, `f` a format description.
    fn places(events: &str) -> String {
        let mut format = Format::of_tests("10.11.6-MariaDB");
        format.started = 1;
        let mut grouper = Grouper::default();
        let place = |event: char| {
            let query = |text: &[u8]| [&[0; 13][..], &[0], text].concat();
            let rows = |flags: u8| vec![1, 0, 0, 0, 0, 0, flags, 0];
            let gtid = |flags: u8| [&[0; 12][..], &[flags, 0, 0, 0, 0, 0, 0]].concat();
            let (kind, body) = match event {
                'b' => (Kind::QUERY, query(b"BEGIN")),
                's' => (Kind::QUERY, query(b"INSERT INTO t VALUES (1)")),
                'c' => (Kind::QUERY, query(b"COMMIT")),
                'x' => (Kind::XID, vec![0; 8]),
                'i' => (Kind::INTVAR, vec![2, 0, 0, 0, 0, 0, 0, 0, 0]),
                'm' => (Kind::TABLE_MAP, vec![]),
                'r' => (Kind::WRITE_ROWS_V1, rows(0)),
                'e' => (Kind::WRITE_ROWS_V1, rows(1)),
                'g' => (Kind::GTID, vec![0; 42]),
                'G' => (Kind::MARIADB_GTID, gtid(0)),
                'S' => (Kind::MARIADB_GTID, gtid(1)),
                'f' => (Kind::FORMAT_DESCRIPTION, vec![]),
                other => panic!("{other}"),
            };
            let header = Header { kind, ..Header::default() };
            let event = Event { position: 4, end: 8, header, kind, body: &body, is_packed: false };
            match grouper.place(&event, &format) {
                Place::Outside => '-',
                Place::First => '<',
                Place::Inside => '.',
                Place::Last => '>',
                Place::Only => '=',
            }
        };
        events.chars().map(place).collect()
    }

    #[test]
    fn transactions_of_each_kind() {
        for (events, right) in [
            ("bssc", "<..>"),         // before there were identifiers
            ("siis", "=<.>"),         // statements by themselves
            ("mremre", "<.><.>"),     // rows of tables without transactions
            ("gbmrex", "<....>"),     // MySQL
            ("gsgs", "<><>"),         // MySQL, definitions
            ("gbisx", "<...>"),       // MySQL, statements
            ("GmrexGsc", "<...><.>"), // MariaDB
            ("SisSs", "<.><>"),       // MariaDB, by themselves
            ("fgs", "-<>"),
            ("Gmrfgs", "<..-<>"), // the server went down within the first
        ] {
            assert_eq!(places(events), right, "{events}");
        }
    }
}
