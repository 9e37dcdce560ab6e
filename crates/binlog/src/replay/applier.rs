//! Hands transactions on to workers, and notes on the target what goes on.

use std::sync::mpsc::SyncSender;

use drover_throttle::Throttle;

use crate::{Error, Result};

use super::destination::SideSession;
use super::position::Positions;
use super::provenance::Provenance;
use super::queue::Queue;
use super::transaction::{Piece, Start, Transaction};

/// Where transactions go that are applied.
pub(super) struct Applier<'a> {
    queue: &'a Queue,
    positions: &'a Positions,
    throttle: &'a Throttle<'a>,
    /// Whether a signal ends what is read, and not what is applied.
    follows: bool,
    /// How many schemas of the logs were noted.
    made_schemas: usize,
}

impl<'a> Applier<'a> {
    pub(super) fn new(
        queue: &'a Queue,
        positions: &'a Positions,
        throttle: &'a Throttle<'a>,
        follows: bool,
    ) -> Self {
        Self { queue, positions, throttle, follows, made_schemas: 0 }
    }

    /// Something that cannot be applied: the end, behind all before it.
    pub(super) fn problem(&self, at: &Start, what: &str, hint: &str) -> Result<()> {
        self.queue.drain()?;
        let what = format!("{at}: {what}");
        Err(match hint {
            "" => Error::found(what),
            hint => Error::with_hint(what, hint),
        })
    }

    pub(super) fn note_provenance(
        &self,
        session: &mut SideSession<'_>,
        provenance: &Provenance,
        doing: &str,
    ) -> Result<()> {
        session.execute(doing, self.positions.note_provenance(provenance))
    }

    /// A schema is made that is wanted from then on, also by a run that goes on later.
    pub(super) fn note_schema(&mut self, session: &mut SideSession<'_>, schema: &[u8]) -> Result<()> {
        self.queue.drain()?;
        if self.made_schemas == 0 {
            let made = |connection: &mut _| self.positions.made_schemas(connection);
            self.made_schemas = session.with("asking for schemas", made)?.len();
        }
        let note = self.positions.note_schema(self.made_schemas, schema);
        self.made_schemas += 1;
        session.execute("noting a schema", note)
    }

    /// Says beforehand that a transaction is being applied whose position cannot be committed with it.
    pub(super) fn note_begun(&self, session: &mut SideSession<'_>, at: &Start) -> Result<()> {
        session.execute(&format!("{at}: noting it"), self.positions.pending(0, at, at.position, ""))
    }

    /// Hands on a transaction, or the beginning of one, when the limits let it pass.
    pub(super) fn submit(&self, transaction: Transaction) -> Result<()> {
        match self.throttle.pass() {
            Err(drover_throttle::Error::Stopped) if self.follows => {}
            passed => passed?,
        }
        self.throttle.spend(transaction.size as u64);
        self.queue.submit(transaction)
    }

    /// Hands on a piece of one that was begun: it holds locks, and waits for no limit but the rate.
    pub(super) fn send(&self, sender: &SyncSender<Piece>, piece: Piece) -> Result<()> {
        self.throttle.check()?;
        self.throttle.spend(piece.size() as u64);
        match sender.send(piece) {
            Ok(()) => Ok(()),
            // The worker is gone, and has said why.
            Err(_) => Err(self.queue.drain().err().unwrap_or(Error::Stopped)),
        }
    }

    /// A transaction of which nothing is to be applied.
    pub(super) fn pass(&self, transaction: Transaction, end: u64) {
        self.queue.pass(transaction.ordinal, transaction.at, end);
    }

    /// Waits until all was applied.
    pub(super) fn drain(&self) -> Result<()> {
        self.queue.drain()
    }
}
