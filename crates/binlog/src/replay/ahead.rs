//! The events up to the first transaction that is to be applied, read before anything is changed on the target.

use std::ops::ControlFlow;

use crate::chain::{Chain, Item, Trouble};
use crate::event::Gtid;
use crate::filter::{Filter, Verdict};
use crate::log::{Event, Format, Kind, MAGIC, Place};
use crate::source::log_name;
use crate::{Error, Result};

use super::destination::Destination;
use super::earlier::Earlier;
use super::transaction::Start;

/// Events that were read and not worked on.
#[derive(Debug, Default)]
pub(super) struct Ahead(Vec<Held>);

/// An event.
#[derive(Debug)]
struct Held {
    log: String,
    number: usize,
    format: Format,
    event: Event<'static>,
    body: Vec<u8>,
    place: Place,
}

/// More is not held, in bytes: where the first transaction is far from the beginning, it is looked at when it is come to.
const MOST: usize = 1 << 20;
/// What an event takes beside its body, in bytes.
const AROUND: usize = 512;

impl Ahead {
    /// Reads on to the first transaction that is to be applied, and looks whether it may be. Logs that are followed may end
    /// before, by a signal.
    pub(super) fn read(
        chain: &mut Chain,
        filter: &mut Filter<'_>,
        earlier: &mut Earlier,
        destination: &Destination,
        follows: bool,
    ) -> Result<Self> {
        let (mut held, mut size) = (Vec::new(), 0);
        while size < MOST {
            match chain.step() {
                Ok(true) => {}
                Ok(false) => break,
                Err(Error::Stopped) if follows => break,
                Err(error) => return Err(error),
            }
            let Some(item) = chain.item() else { break };
            let next = Held::of(&item);
            size += AROUND + next.body.len();
            held.push(next);
            match look(&item, filter, earlier, destination) {
                Ok(ControlFlow::Continue(())) => {}
                Ok(ControlFlow::Break(())) => break,
                Err(Trouble::Malformed) => return Err(chain.malformed()),
                Err(Trouble::Other(error)) => return Err(error),
            }
        }
        Ok(Self(held))
    }

    /// Gives the events to who works on them.
    pub(super) fn give(
        &self,
        mut see: impl FnMut(&Item<'_>) -> Result<ControlFlow<()>, Trouble>,
    ) -> Result<ControlFlow<()>> {
        for held in &self.0 {
            match see(&held.item()) {
                Ok(ControlFlow::Continue(())) => {}
                Ok(flow) => return Ok(flow),
                Err(Trouble::Malformed) => return Err(held.malformed()),
                Err(Trouble::Other(error)) => return Err(error),
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

fn look(
    item: &Item<'_>,
    filter: &mut Filter<'_>,
    earlier: &mut Earlier,
    destination: &Destination,
) -> Result<ControlFlow<()>, Trouble> {
    let verdict = filter.verdict(item)?;
    if verdict == Verdict::Stop {
        return Ok(ControlFlow::Break(()));
    }
    let log = log_name(item.log.as_ref());
    earlier.see_origin(item, &log)?;
    if item.event.kind == Kind::FORMAT_DESCRIPTION && item.event.position == MAGIC.len() as u64 {
        earlier.see_log(&log, &item.event.header)?;
    }
    let at = Start { log: log.into(), position: item.event.position };
    if !item.place.begins() || verdict != Verdict::Take || earlier.has(&at) {
        return Ok(ControlFlow::Continue(()));
    }
    let event = &item.event;
    let gtid = Gtid::parse(event.kind, event.body, event.header.server_id)?;
    earlier.check_origin(&at, &event.header, gtid.as_ref(), destination)?;
    Ok(ControlFlow::Break(()))
}

impl Held {
    fn of(item: &Item<'_>) -> Self {
        Self {
            log: item.log.to_owned(),
            number: item.number,
            format: item.format.clone(),
            event: Event { body: &[], ..item.event },
            body: item.event.body.to_vec(),
            place: item.place,
        }
    }

    fn item(&self) -> Item<'_> {
        let Self { log, number, format, event, body, place } = self;
        Item { log, number: *number, format, event: Event { body, ..*event }, place: *place }
    }

    fn malformed(&self) -> Error {
        let what = format!("the {} event does not hold what it should", self.event.header.kind);
        Error::Damaged {
            log: self.log.clone(),
            position: self.event.position,
            what,
            whole: None,
            is_torn: false,
        }
    }
}
