//! Logs backwards: what undoes their rows, the last change first.
//!
//! All that is wanted is read once before anything of it is undone, so that what cannot be undone is known first. What undoes it
//! waits in a file without a name, since it has to come from the last transaction to the first.

mod gather;
mod invert;
mod meaning;
mod record;
mod spool;

use std::io;
use std::ops::ControlFlow;

use crate::chain::{Chain, Item, Trouble};
use crate::definitions::Definitions;
use crate::filter::{Filter, Verdict};
use crate::log::{Cursor, Place, Short};
use crate::{Error, Result};

use gather::{Gathered, Gatherer, Scene};
use record::{Record, Records};
use spool::Backwards;

/// Shows to `see` what undoes the rows that the filter wants, as if a log held it: of each transaction, the last one first, what
/// it begins with, then for each of its events of rows, the last one first, the description of the table and an event that undoes
/// it, then what it ends with. Each event stands where the one does that it is made of. Before the first transaction of a log
/// comes the log's format description. All is wanted, so `see` needs no filter.
///
/// Returns how many statements were passed over of which nobody knows whether they changed something in the tables that are
/// wanted. `definitions` tell of columns what the logs do not; `stopped` is asked now and then whether to stop.
///
/// # Errors
/// If a log cannot be read or is damaged, or holds what cannot be undone, before `see` sees anything; or with what `see` says.
pub(crate) fn walk(
    chain: &mut Chain,
    filter: &mut Filter<'_>,
    definitions: Option<Definitions>,
    stopped: &dyn Fn() -> bool,
    mut see: impl FnMut(&Item<'_>) -> std::result::Result<ControlFlow<()>, Trouble>,
) -> Result<u64> {
    let mut gatherer = Gatherer::new(definitions)?;
    chain.walk(stopped, |item| {
        let verdict = filter.verdict(item)?;
        if verdict == Verdict::Stop {
            return Ok(ControlFlow::Break(()));
        }
        gatherer.take(item, verdict == Verdict::Take, filter)?;
        Ok(ControlFlow::Continue(()))
    })?;
    let Gathered { mut spool, scenes, passed_over } = gatherer.finish()?;
    let mut stage = Stage { scenes: &scenes, described: None, seen: 0, stopped, see: &mut see };
    while let Some(around) = spool.previous()? {
        let around = around.to_vec();
        let around = Around::parse(&around).map_err(broken)?;
        if stage.transaction(&around, &mut spool)?.is_break() {
            break;
        }
    }
    Ok(passed_over)
}

/// What stands around the rows of a transaction.
struct Around<'a> {
    /// How long the spool is without the transaction.
    start: u64,
    /// What it begins and what it ends with, as records.
    before: &'a [u8],
    behind: &'a [u8],
}

impl<'a> Around<'a> {
    fn parse(bytes: &'a [u8]) -> std::result::Result<Self, Short> {
        let mut at = Cursor::new(bytes);
        let (start, before) = (at.u64()?, at.u64()?);
        Ok(Self { start, before: at.take(usize::try_from(before).map_err(|_| Short)?)?, behind: at.rest() })
    }
}

/// Who is shown events.
type See<'a> = &'a mut dyn FnMut(&Item<'_>) -> std::result::Result<ControlFlow<()>, Trouble>;

/// Shows events.
struct Stage<'a> {
    scenes: &'a [Scene],
    /// The format description that was shown last.
    described: Option<&'a [u8]>,
    /// How many events were shown.
    seen: u32,
    stopped: &'a dyn Fn() -> bool,
    see: See<'a>,
}

impl Stage<'_> {
    fn transaction(&mut self, around: &Around<'_>, spool: &mut Backwards) -> Result<ControlFlow<()>> {
        let mut place = Place::First;
        for record in Records::of(around.before) {
            if self.show(&record.map_err(broken)?, place)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            place = Place::Inside;
        }
        while spool.left() > around.start {
            let length = spool.left();
            let Some(bytes) = spool.previous()? else { break };
            let begin = length - (bytes.len() + spool::LENGTH) as u64;
            if begin <= around.start && around.behind.is_empty() {
                place = Place::Last;
            }
            if self.show(&Record::parse(bytes).map_err(broken)?, place)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            place = Place::Inside;
        }
        let mut behind = Records::of(around.behind).peekable();
        while let Some(record) = behind.next() {
            let place = if behind.peek().is_none() { Place::Last } else { Place::Inside };
            if self.show(&record.map_err(broken)?, place)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Shows an event, and before the first of a log how that is written.
    fn show(&mut self, record: &Record<'_>, place: Place) -> Result<ControlFlow<()>> {
        let scene = self.scenes.get(record.scene as usize).ok_or_else(|| broken(Short))?;
        let description = &scene.description[..];
        if place == Place::First && !description.is_empty() && self.described != Some(description) {
            self.described = Some(description);
            let description = Record::parse(description).map_err(broken)?;
            if self.show_in(scene, &description, Place::Outside)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        self.show_in(scene, record, place)
    }

    fn show_in(&mut self, scene: &Scene, record: &Record<'_>, place: Place) -> Result<ControlFlow<()>> {
        let (Scene { log, number, format, .. }, event) = (scene, record.event);
        self.seen = self.seen.wrapping_add(1);
        if self.seen.is_multiple_of(1024) && (self.stopped)() {
            return Err(Error::Stopped);
        }
        (self.see)(&Item { log, number: *number, format, event, place }).map_err(|trouble| match trouble {
            Trouble::Other(error) => error,
            Trouble::Malformed => {
                let what = format!("the {} event does not hold what it should", event.kind);
                Error::Damaged {
                    log: log.clone(),
                    position: event.position,
                    what,
                    whole: None,
                    is_torn: false,
                }
            }
        })
    }
}

/// The spool does not hold what was written into it.
fn broken(_: Short) -> Error {
    spool::failed(io::ErrorKind::InvalidData.into())
}
