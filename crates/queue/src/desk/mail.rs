//! What a shard's keeper is told.

use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use super::Queued;
use crate::task::Outcome;

/// What came of a task.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) queued: Arc<Queued>,
    pub(crate) outcome: Outcome,
    /// From being given out to the answer.
    pub(crate) ran: Duration,
    /// From the desk to a worker.
    pub(crate) begun: Instant,
}

/// What a keeper is told.
#[derive(Debug, Default)]
pub(crate) struct Mail {
    pub(crate) finished: Vec<Finished>,
    /// The bell rang.
    pub(crate) rung: bool,
    /// It rang for more than the inbox: rules, lanes or shepherds may have changed.
    pub(crate) changed: bool,
    /// The highest number seen in the inbox, committed or not.
    pub(crate) inbox: u64,
    /// Tasks were given out, so that there may be too few left.
    pub(crate) taken: bool,
}

impl Mail {
    /// The bell rang; `inbox` is the highest number seen there.
    pub(crate) fn ring(&mut self, inbox: u64, changed: bool) {
        self.rung = true;
        self.changed |= changed;
        self.inbox = self.inbox.max(inbox);
    }
}

#[derive(Debug, Default)]
pub(super) struct Letterbox {
    pub(super) mail: Mutex<Mail>,
    pub(super) came: Condvar,
}
