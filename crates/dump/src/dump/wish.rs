//! What a snapshot is asked for, and what it is when it was taken.

use std::time::Duration;

use drover_db::options::ConnectOptions;
use drover_db::wire::Batch;
use drover_db::{Connection, Server, Stop, er};
use drover_format::manifest::Snapshot;

use super::catalog::{self, Name};
use super::identity::{Identity, Numbering, Numbers};
use crate::Result;
use crate::error::Doing;

/// What a snapshot needs to know.
#[derive(Clone, Copy)]
pub(crate) struct Wish<'a> {
    pub(crate) options: &'a ConnectOptions,
    pub(crate) server: &'a Server,
    pub(crate) threads: usize,
    /// In seconds.
    pub(crate) lock_timeout: u64,
    /// All tables that will be read.
    pub(crate) tables: &'a [Name],
    /// Those of them whose engine has no transactions.
    pub(crate) without_transactions: &'a [Name],
    /// Connections of drover's own, which are in nobody's way: [`super::snapshot::take`] adds those that it opens.
    pub(crate) own: &'a [u32],
    /// Ends the wait for a lock.
    pub(crate) stop: &'a Stop,
    /// Whether these are still all tables that were listed to be read; asked while nobody can create, drop or rename one, where that can
    /// be had.
    pub(crate) is_as_listed: &'a dyn Fn(Now) -> Result<bool>,
    /// What tells tables apart whose names are exchanged.
    pub(crate) numbering: Option<Numbering>,
    /// The longest that writers may be held back.
    pub(crate) max_lock_time: Duration,
    /// Whether to go on where the account may lock nothing and rows may belong to different moments.
    pub(crate) inconsistent: bool,
}

/// The tables that exist when it is asked for, and their numbers.
pub(crate) struct Now {
    pub(crate) names: Vec<Name>,
    pub(crate) numbers: Option<Numbers>,
}

/// A snapshot that was taken.
pub(crate) struct Taken {
    /// Connections that all see the same rows.
    pub(crate) workers: Vec<Connection>,
    /// Holds a read lock on the tables without transactions, and is the one to read them: another session that opens
    /// them might have to wait for a third one's global lock, which waits for this lock to go.
    pub(crate) table_locks: Option<Connection>,
    pub(crate) snapshot: Snapshot,
    /// Which tables had the names at that moment.
    pub(crate) identity: Identity,
    pub(crate) warnings: Vec<String>,
}

/// Error numbers that say that the account may not do this, or the server does not have it: another way may work.
pub(super) fn is_refusal(error: &drover_db::Error) -> bool {
    error.is_denied()
        || matches!(
            error.code(),
            Some(
                er::PARSE_ERROR
                    | er::NOT_SUPPORTED_YET
                    | er::OPTION_PREVENTS_STATEMENT
                    | er::NOT_ALLOWED_COMMAND
            )
        )
}

/// Asks for both.
pub(super) fn now(connection: &mut Connection, numbering: Option<Numbering>) -> Result<Now> {
    let mut batch = Batch::default();
    ask_for_now(&mut batch, numbering);
    connection.send_batch(&mut batch).doing(|| LISTING)?;
    receive_now(connection, numbering)
}

const LISTING: &str = "listing the tables' names";

pub(super) fn ask_for_now(batch: &mut Batch, numbering: Option<Numbering>) {
    batch.query(catalog::names());
    if let Some(numbering) = numbering {
        batch.query(numbering.all());
    }
}

/// Both answers are read, whatever came of the first one.
pub(super) fn receive_now(connection: &mut Connection, numbering: Option<Numbering>) -> Result<Now> {
    let names = connection.next_rows();
    let numbers = numbering.map(|_| connection.next_rows()).transpose();
    let names = catalog::named(&names.doing(|| LISTING)?);
    Ok(Now { names, numbers: numbers.doing(|| LISTING)?.map(|rows| Numbers::read(&rows)) })
}
