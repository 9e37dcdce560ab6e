//! A transaction of a log, as it is applied.

use std::sync::Arc;
use std::sync::mpsc::Receiver;

use drover_db::sql::{Dialect, tokens};

use crate::loads::Spool;
use crate::sql::Session;

/// A transaction.
#[derive(Debug)]
pub(super) struct Transaction {
    /// Its place among those that are applied, from 0.
    pub(super) ordinal: u64,
    pub(super) at: Start,
    pub(super) order: Order,
    pub(super) mode: Mode,
    /// Whether it changes tables that keep no transactions: what was done of it when the replay is ended cannot be told.
    pub(super) is_guarded: bool,
    pub(super) pieces: Vec<Piece>,
    /// What the session is set to before its first statement, for which its pieces tell only what differs.
    pub(super) session: Option<Session>,
    /// What follows of one that is too large to be held as a whole.
    pub(super) rest: Option<Receiver<Piece>>,
    /// About what the pieces take, in bytes.
    pub(super) size: usize,
}

/// Where a transaction begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Start {
    /// The log's name, without a path.
    pub(super) log: Arc<str>,
    /// In bytes.
    pub(super) position: u64,
}

impl std::fmt::Display for Start {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: at {}", self.log, self.position)
    }
}

/// What it has to wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// All before it, and all behind it for it.
    Serial,
    /// Those of its log whose sequence number is not above `last_committed`.
    Clocked {
        /// The log's number.
        log: usize,
        sequence_number: u64,
        last_committed: u64,
    },
}

/// How it is committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// It holds rows only, and is committed with the position.
    Rows,
    /// It holds statements, and is committed with the position.
    Statements,
    /// It holds a statement that commits by itself: the position is written behind it.
    Definitions,
    /// It is prepared, or what was prepared is ended: the position is written behind it.
    Prepared,
}

/// What is to be done for it.
#[derive(Debug)]
pub(super) enum Piece {
    /// Settings of the session: statements with `;` between, and how many.
    Settings(Vec<u8>, usize),
    /// A BINLOG statement.
    Rows(Vec<u8>),
    /// One of a single row, which may be missing on the target, and what that is called.
    Row(Vec<u8>, String),
    /// A statement that does what happened to one row.
    RowStatement(RowStatement),
    /// A statement of the log, and the error with which it ended there.
    Statement(Vec<u8>, u16),
    /// One that commits by itself.
    Definition(Definition),
    /// A statement that loads a file.
    Load(Vec<u8>, Option<Spool>),
    /// The end.
    End {
        /// What ends it.
        text: Vec<u8>,
        /// Where the log goes on.
        position: u64,
    },
}

/// A statement that does what happened to one row.
#[derive(Debug)]
pub(super) struct RowStatement {
    pub(super) text: Vec<u8>,
    /// What the row is called.
    pub(super) name: String,
    /// Whether it may be missing on the target.
    pub(super) may_be_missing: bool,
}

/// A statement that commits by itself.
#[derive(Debug)]
pub(super) struct Definition {
    /// Where its event begins, in bytes.
    pub(super) position: u64,
    /// The default schema.
    pub(super) schema: Vec<u8>,
    pub(super) text: Vec<u8>,
    pub(super) error: u16,
    /// Whether it leaves a transaction open that takes rows of the new table only.
    pub(super) opens_transaction: bool,
}

impl Piece {
    /// Settings of these lines, if there are any.
    pub(super) fn settings(mut text: Vec<u8>) -> Option<Self> {
        text.truncate(text.trim_ascii_end().len());
        if text.last() == Some(&b';') {
            text.pop();
        }
        if text.is_empty() {
            return None;
        }
        // They are in the ways of writing that a session begins with.
        let ends = tokens(&text, Dialect::default()).filter(|token| token.is_symbol(b';')).count();
        Some(Self::Settings(text, ends + 1))
    }

    /// What it takes in memory, in bytes.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Settings(text, _)
            | Self::Rows(text)
            | Self::Row(text, _)
            | Self::Statement(text, _)
            | Self::Load(text, _)
            | Self::End { text, .. } => text.len(),
            Self::RowStatement(row) => row.text.len(),
            Self::Definition(definition) => definition.text.len(),
        }
    }
}
