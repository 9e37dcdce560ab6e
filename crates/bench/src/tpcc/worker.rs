//! The thread of a terminal: draws inputs, runs transactions when they are due, tries again what the server gave up, and counts.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::deck::Deck;
use super::input::{Drawer, Input};
use super::kind::Kind;
use super::pace::{Pace, wait_until};
use super::tally::{Retries, Tally, Times, Window};
use super::terminal::{Done, Terminal};
use crate::{Error, Result};

/// A server that falls behind an open load is given so long to do what was due, before the rest is given up.
const GRACE: Duration = Duration::from_secs(10);
/// After an error that is not one to try again after, so long is paused: it may be one that all transactions have.
const PAUSE: Duration = Duration::from_millis(10);
/// Errors in a row after which a terminal gives up.
const MOST_ERRORS: u32 = 100;
/// How often a transaction is tried again at most.
const MOST_RETRIES: u64 = 1000;

/// What all terminals of a run see.
#[derive(Debug, Default)]
pub(super) struct Shared {
    /// Whether one of them has failed, or a signal came.
    pub(super) is_over: AtomicBool,
    /// New-Orders within the window so far.
    pub(super) new_orders: AtomicU64,
}

/// A terminal at work.
pub(super) struct Worker<'a> {
    pub(super) terminal: Terminal,
    pub(super) drawer: Drawer,
    pub(super) pace: Pace<'a>,
    pub(super) window: Window,
    pub(super) shared: &'a Shared,
}

/// What came of a transaction.
enum Outcome {
    Done(Done),
    Refused(u16, String),
    /// Tried in vain until the time of measuring was over.
    GivenUp,
}

impl Worker<'_> {
    /// Works from `start` to the end of the window.
    ///
    /// # Errors
    /// If the connection is lost, rows are missing, or the server refuses everything.
    pub(super) fn work(mut self, start: Instant) -> Result<Tally> {
        let (mut tally, mut deck) = (Tally::new(self.window), Deck::default());
        let (mut before, mut ended, mut errors_in_a_row) = (None, start, 0);
        while !self.shared.is_over.load(Ordering::Relaxed) {
            let kind = deck.deal(&mut self.drawer.rng);
            let intended = self.pace.next(kind, before, ended);
            if intended >= self.window.until || ended >= self.window.until + GRACE {
                break;
            }
            let input = self.drawer.draw(kind);
            if !wait_until(intended, || self.shared.is_over.load(Ordering::Relaxed)) {
                break;
            }
            let begun = Instant::now();
            let mut retries = Retries::default();
            let outcome = self.run(&input, &mut retries)?;
            ended = Instant::now();
            before = Some(kind);
            errors_in_a_row = match outcome {
                Outcome::Done(done) => {
                    let times = Times { intended, begun, ended };
                    if tally.note(&input, times, done, retries) {
                        self.shared.new_orders.fetch_add(1, Ordering::Relaxed);
                    }
                    0
                }
                Outcome::GivenUp => break,
                Outcome::Refused(code, words) => {
                    tally.note_error(kind, code, words);
                    errors_in_a_row + 1
                }
            };
            self.rest(kind, errors_in_a_row)?;
        }
        Ok(tally)
    }

    /// Runs a transaction until it is done, or until the server refuses it for a reason that another try would not change.
    fn run(&mut self, input: &Input, retries: &mut Retries) -> Result<Outcome> {
        loop {
            let error = match self.terminal.run(input) {
                Ok(done) => return Ok(Outcome::Done(done)),
                Err(error) => error,
            };
            let Error::Server { source: drover_db::Error::Server(said), .. } = &error else {
                return Err(error);
            };
            self.terminal.roll_back()?;
            if !retries.note(Some(said.code)) || retries.all() > MOST_RETRIES {
                return Ok(Outcome::Refused(said.code, error.to_string()));
            }
            if self.shared.is_over.load(Ordering::Relaxed) || Instant::now() >= self.window.until + GRACE {
                return Ok(Outcome::GivenUp);
            }
        }
    }

    /// Pauses after an error; after many in a row it is no use to go on.
    fn rest(&self, kind: Kind, errors_in_a_row: u32) -> Result<()> {
        match errors_in_a_row {
            0 => Ok(()),
            MOST_ERRORS.. => {
                let what =
                    format!("{}: the server has refused {MOST_ERRORS} transactions in a row", kind.name());
                Err(Error::with_hint(what, "its error log may say why"))
            }
            _ => {
                std::thread::sleep(PAUSE);
                Ok(())
            }
        }
    }
}
