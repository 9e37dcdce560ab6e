//! Where an earlier run of a replay was, and which logs it has read so far.

use crate::chain::Item;
use crate::event::Gtid;
use crate::log::{Header, Short};
use crate::source::log_number;
use crate::{Error, Result};

use super::applied::Applied;
use super::args::Interrupted;
use super::destination::Destination;
use super::position::Found;
use super::provenance::{self, Provenance};
use super::refusals::elsewhere;
use super::transaction::Start;

/// What earlier runs have applied, and what of the logs was met.
pub(super) struct Earlier {
    /// Where an earlier run ended.
    pub(super) found: Option<Found>,
    pub(super) provenance: Provenance,
    /// What of the logs the target has applied already; `None` where they are undone.
    pub(super) applied: Option<Applied>,
    /// What to do with a transaction within which an earlier run ended.
    pub(super) interrupted: Option<Interrupted>,
    /// Whether an earlier run began and applied nothing: then the first log must be the one that it began with.
    pub(super) begins_as_before: bool,
    /// Whether the logs are undone, from their end on.
    pub(super) is_backwards: bool,
}

impl Earlier {
    /// Where the options say to begin: a run that goes on must do so where the one before ended.
    pub(super) fn see_start(&mut self, start: &str, begins: bool) -> Result<()> {
        let hint = match begins {
            true => "begin there again; --restart begins anew",
            false => {
                "leave it out, and --resume goes on where it was; to go on behind that place, name the log where it went on first, and \
                 --start-position counts in it; --restart begins anew"
            }
        };
        self.provenance.see_start(start, begins).map_err(|why| Error::with_hint(why, hint))
    }

    /// What of the logs is wanted: it must be the same as in an earlier run.
    pub(super) fn see_selection(&mut self, selection: &str) -> Result<()> {
        self.provenance.see_selection(selection).map_err(|why| {
            Error::with_hint(
                why,
                "--resume goes on with the options of before; for another choice fill the target anew, and begin with --restart",
            )
        })
    }

    /// The log was begun by the server and at the time of this event.
    pub(super) fn see_log(&mut self, log: &str, first: &Header) -> Result<()> {
        if std::mem::take(&mut self.begins_as_before) {
            self.provenance.check_first(log, first.server_id, first.timestamp).map_err(|(why, first)| {
                Error::with_hint(
                    why,
                    format!("name {first} first, and those behind it; --restart begins anew"),
                )
            })?;
        }
        self.provenance.see_log(log, first.server_id, first.timestamp).map_err(elsewhere)
    }

    /// Takes in what a log tells of itself.
    pub(super) fn see_origin(&mut self, item: &Item<'_>, log: &str) -> Result<(), Short> {
        self.applied.as_mut().map_or(Ok(()), |applied| applied.see(item, log))
    }

    /// Refuses a transaction that is to be applied, if the target has applied it already.
    pub(super) fn check_origin(
        &mut self,
        at: &Start,
        first: &Header,
        gtid: Option<&Gtid<'_>>,
        destination: &Destination,
    ) -> Result<()> {
        let Some(applied) = &mut self.applied else { return Ok(()) };
        applied.check(at, first, gtid, destination)
    }

    /// Rows of a schema are about to be changed. True if none were before.
    pub(super) fn touch(&mut self, schema: &[u8]) -> bool {
        let schema = provenance::quoted(&String::from_utf8_lossy(schema));
        self.provenance.touched.insert(schema)
    }

    /// Whether an earlier run has applied the transaction that begins there.
    pub(super) fn has(&self, at: &Start) -> bool {
        let Some(Found { mark, done, provenance, .. }) = &self.found else { return false };
        let (its, marked) = (log_number(&at.log), log_number(&mark.log));
        let is_before = match (at.log == mark.log, self.is_backwards) {
            (true, false) => at.position < mark.position,
            (false, false) => !mark.log.is_empty() && provenance.is_later(&mark.log, &at.log),
            (true, true) => at.position >= mark.position,
            (false, true) => its > marked && !mark.log.is_empty(),
        };
        is_before || done.contains(&(at.log.to_string(), at.position))
    }

    /// Whether an earlier run ended within the transaction that begins there, behind having said so beforehand.
    pub(super) fn was_begun(&self, at: &Start) -> bool {
        let pending = self.found.as_ref().and_then(|found| found.pending.as_ref());
        pending.is_some_and(|pending| pending.log == *at.log && pending.position == at.position)
    }

    /// Whether a transaction is applied that an earlier run may have applied in part: false if it is to be left out. `is_handed_on` says that
    /// its beginning was.
    pub(super) fn takes_begun(&self, at: &Start, is_handed_on: bool) -> Result<bool> {
        match (self.was_begun(at), self.interrupted) {
            (true, Some(Interrupted::Skip)) if !is_handed_on => Ok(false),
            (false, _) | (true, Some(Interrupted::Again)) => Ok(true),
            _ => Err(interrupted(at)),
        }
    }
}

fn interrupted(at: &Start) -> Error {
    Error::with_hint(
        format!(
            "{at}: an earlier replay ended while it applied this transaction to tables that keep no transactions: \
             nobody knows how much of it is there"
        ),
        "look at the tables that it changes (drover binlog sql shows them), then give --interrupted again or --interrupted skip",
    )
}
