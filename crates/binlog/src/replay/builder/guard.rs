//! What is said before a transaction is applied whose position cannot be committed with all that it does.

use memchr::memmem;

use crate::Result;
use crate::chain::{Item, Trouble};
use crate::event::Query;
use crate::log::Header;
use crate::shortened::shortened_for_error;

use super::super::transaction::{Mode, Order, Piece};
use super::Builder;

const TEMPORARY_IN_XA: &str = "a transaction that is prepared (XA) uses a temporary table of its session, and this target prepares it in another session";
const TEMPORARY_IN_XA_HINT: &str = "drover binlog sql writes the statements: have the server's client run them in one session, from where the temporary table is made \
     up to the XA COMMIT; then go on behind it with --start-position";

impl Builder<'_, '_, '_> {
    /// A transaction that ends prepared, for which most servers need a session of its own.
    pub(super) fn prepare(&mut self, item: &Item<'_>, start: Vec<u8>) -> Result<(), Trouble> {
        self.sink.see_xa(&self.at(item))?;
        self.session.forget();
        self.set_mode(Mode::Prepared);
        self.note()?;
        Ok(self.push(Piece::Statement(start, 0))?)
    }

    /// That a transaction will be prepared, or ended that was, is said beforehand: no position is committed with it.
    pub(super) fn note(&mut self) -> Result<()> {
        let Some(now) = &mut self.now else { return Ok(()) };
        now.transaction.is_guarded = true;
        self.sink.note(&now.transaction)
    }

    /// A statement of a transaction that will be prepared.
    pub(super) fn in_prepared(&mut self, item: &Item<'_>, query: &Query<'_>) -> Result<(), Trouble> {
        let uses_temporary = item.event.header.flags & Header::THREAD_SPECIFIC != 0
            && memmem::find(&query.text.to_ascii_uppercase(), b"CONNECTION_ID").is_none();
        if uses_temporary && !self.sink.target().detaches_prepared {
            let what = format!("{TEMPORARY_IN_XA}: {}", shortened_for_error(query.text));
            self.problem(item, &what, TEMPORARY_IN_XA_HINT)?;
        }
        let stays = self.sink.may_stay(query)?;
        Ok(self.guard(stays)?)
    }

    /// What is done in tables without transactions is said beforehand.
    pub(super) fn guard(&mut self, stays: bool) -> Result<()> {
        let Some(now) = &mut self.now else { return Ok(()) };
        if !stays || std::mem::replace(&mut now.stays, true) {
            return Ok(());
        }
        now.transaction.is_guarded = true;
        now.transaction.order = Order::Serial;
        now.was_applied = !self.sink.guard(&now.transaction, now.sender.is_some())?;
        Ok(())
    }

    /// A transaction is too large to be held. What will be said of its tables is said when all before it was applied; and whether an earlier
    /// run ended within it must be known before any of it is applied.
    pub(super) fn before_large(&mut self) -> Result<()> {
        let is_prepared = self.is_prepared();
        let Some(now) = &self.now else { return Ok(()) };
        let was_begun = !is_prepared && self.sink.earlier.was_begun(&now.transaction.at);
        self.sink.drain()?;
        self.guard(was_begun)
    }
}
