//! The events of several logs, one after the other, each with its place in its transaction.

use std::collections::VecDeque;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use crate::event::Rotate;
use crate::log::{Event, Format, Grouper, Kind, Place, Reader, Short, Unpacked};
use crate::server::ServerLogs;
use crate::source::{Counter, Source, check_order, is_other, log_name, missing};
use crate::{Error, Keyring, Result};

/// Reads logs.
pub struct Chain {
    /// Those that were not begun.
    logs: Logs,
    /// The one at hand, and its number, from 0.
    log: Option<Unpacked>,
    number: usize,
    verifies: bool,
    grouper: Grouper,
    place: Place,
    /// Where in the log at hand the last transaction ends that is whole.
    whole: u64,
    /// What there is to be read, in bytes as it lies there, and how much was.
    total: u64,
    counter: Counter,
    /// What the logs until now say of the next one, if it must follow them.
    link: Option<Link>,
}

/// What ties a log to the one before it.
#[derive(Debug, Default)]
struct Link {
    /// The log at hand, without its directory.
    log: String,
    /// The log that comes next, if the last event says so.
    next: Option<String>,
    /// The server that began the first log.
    server_id: Option<u32>,
}

impl Link {
    /// Checks a log that is begun, before anything of it is seen.
    fn follow(&mut self, log: &str) -> Result<()> {
        let log = log_name(Path::new(log));
        if let Some(next) = self.next.take().filter(|next| is_other(next, &log)) {
            return Err(missing(&self.log, &next, &log));
        }
        self.log = log;
        Ok(())
    }

    /// Notes what an event says of the next log, and compares the server of a log's first one.
    fn see(&mut self, event: &Event<'_>, format: &Format) -> Result<()> {
        self.next = Rotate::next_log(event, format).unwrap_or_default();
        if event.kind != Kind::FORMAT_DESCRIPTION || event.position > MAGIC {
            return Ok(());
        }
        let (log, found) = (&self.log, event.header.server_id);
        match *self.server_id.get_or_insert(found) {
            first if first == found => Ok(()),
            first => Err(Error::with_hint(
                format!(
                    "{log} was begun by server {found}, and the logs before it by server {first} (server_id)"
                ),
                "name the logs of one server only; if its server_id was changed, read those from before that by themselves",
            )),
        }
    }
}

/// Where logs come from.
enum Logs {
    /// With the keys for those that are encrypted.
    Named(VecDeque<Source>, Option<Arc<Keyring>>),
    /// A server may come to have more while they are read.
    OfServer(ServerLogs),
}

/// What a log begins with, in bytes.
const MAGIC: u64 = 4;

impl Chain {
    /// Reads these logs in this order. `verifies` says whether checksums are compared; encrypted ones need the keys of their
    /// server.
    pub fn new(sources: Vec<Source>, verifies: bool, keyring: Option<Keyring>) -> Self {
        Self::of(Logs::Named(sources.into(), keyring.map(Arc::new)), verifies)
    }

    /// Reads the logs of a server.
    pub fn of_server(logs: ServerLogs, verifies: bool) -> Self {
        Self::of(Logs::OfServer(logs), verifies)
    }

    fn of(logs: Logs, verifies: bool) -> Self {
        Self {
            total: logs.size(),
            counter: Counter::default(),
            logs,
            log: None,
            number: 0,
            verifies,
            grouper: Grouper::default(),
            place: Place::Outside,
            whole: MAGIC,
            link: None,
        }
    }

    /// Has each log follow the one before it: what a log holds that is missing in the middle would be lost.
    ///
    /// # Errors
    /// If the names say that one is missing, or that they are not in their order. What the logs themselves say is an error where they
    /// are read.
    pub(crate) fn without_gaps(mut self) -> Result<Self> {
        if let Logs::Named(sources, _) = &mut self.logs {
            check_order(sources.make_contiguous())?;
            self.link = Some(Link::default());
        }
        Ok(self)
    }

    /// How many logs are read, as far as it is known.
    pub fn logs(&self) -> usize {
        self.number + usize::from(self.log.is_some()) + self.logs.left()
    }

    /// How many bytes there are to be read, as they lie there; 0 where nobody knows.
    pub fn size(&self) -> u64 {
        self.total
    }

    /// Counts those that were read.
    pub fn counter(&self) -> Counter {
        self.counter.clone()
    }

    /// Goes on to the next event; false at the end of the last log.
    ///
    /// # Errors
    /// If a log cannot be read, or is damaged: the error says where the last whole transaction ends.
    pub fn step(&mut self) -> Result<bool> {
        let whole = self.whole;
        self.step_further().map_err(|error| error.with_whole(whole))
    }

    fn step_further(&mut self) -> Result<bool> {
        loop {
            if let Some(log) = &mut self.log {
                if log.step()? {
                    break;
                }
                self.log = None;
                self.number += 1;
            }
            let Some(reader) = self.logs.open_next(self.verifies, &self.counter)? else { return Ok(false) };
            self.whole = MAGIC;
            let log = Unpacked::new(reader);
            if let Some(link) = &mut self.link {
                link.follow(log.name())?;
            }
            self.log = Some(log);
        }
        let Some(log) = &self.log else { return Ok(false) };
        let event = log.event();
        if let Some(link) = &mut self.link {
            link.see(&event, log.format())?;
        }
        self.place = self.grouper.place(&event, log.format());
        if self.place.begins() {
            // A server does not always send what comes before it.
            self.whole = event.position;
        }
        if !self.grouper.is_open() {
            self.whole = event.end;
        }
        Ok(true)
    }

    /// The event that [`Self::step`] went to.
    pub fn item(&self) -> Option<Item<'_>> {
        let log = self.log.as_ref()?;
        Some(Item {
            log: log.name(),
            number: self.number,
            format: log.format(),
            event: log.event(),
            place: self.place,
        })
    }

    /// Shows all events to `see`, until that breaks off. `stopped` is asked now and then whether to stop; of logs that are followed
    /// that is the end.
    ///
    /// # Errors
    /// If a log cannot be read or is damaged, or with what `see` says.
    pub(crate) fn walk(
        &mut self,
        stopped: &dyn Fn() -> bool,
        see: impl FnMut(&Item<'_>) -> std::result::Result<ControlFlow<()>, Trouble>,
    ) -> Result<()> {
        match self.walk_on(stopped, see) {
            Err(Error::Stopped) if self.logs.are_followed() => Ok(()),
            walked => walked,
        }
    }

    fn walk_on(
        &mut self,
        stopped: &dyn Fn() -> bool,
        mut see: impl FnMut(&Item<'_>) -> std::result::Result<ControlFlow<()>, Trouble>,
    ) -> Result<()> {
        let mut seen = 0_u32;
        while self.step()? {
            let Some(item) = self.item() else { break };
            match see(&item) {
                Ok(ControlFlow::Continue(())) => {}
                Ok(ControlFlow::Break(())) => break,
                Err(Trouble::Malformed) => return Err(self.malformed()),
                Err(Trouble::Other(error)) => return Err(error),
            }
            seen = seen.wrapping_add(1);
            if seen.is_multiple_of(1024) && stopped() {
                return Err(Error::Stopped);
            }
        }
        Ok(())
    }

    /// The error for an event whose body is too short, or holds what cannot be.
    pub(crate) fn malformed(&self) -> Error {
        let Some(log) = &self.log else { return Error::found("an event does not hold what it should") };
        let event = log.event();
        let what = format!("the {} event does not hold what it should", event.header.kind);
        log.damaged(what).with_whole(self.whole.min(event.position))
    }
}

/// Why the walk through the logs ends at an event.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// It does not hold what it should.
    Malformed,
    /// What was to be done with it does not work.
    Other(Error),
}

impl From<Short> for Trouble {
    fn from(_: Short) -> Self {
        Self::Malformed
    }
}

/// Of what is written to standard output.
impl From<io::Error> for Trouble {
    fn from(source: io::Error) -> Self {
        Self::Other(Error::writing(source))
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

impl Logs {
    /// Whether more is waited for behind the last.
    fn are_followed(&self) -> bool {
        matches!(self, Self::OfServer(logs) if logs.are_followed())
    }

    fn left(&self) -> usize {
        match self {
            Self::Named(sources, _) => sources.len(),
            Self::OfServer(logs) => logs.left(),
        }
    }

    /// In bytes, as they lie there; 0 where nobody knows.
    fn size(&self) -> u64 {
        match self {
            Self::Named(sources, _) => sources.iter().map(Source::size).sum(),
            Self::OfServer(logs) => logs.size(),
        }
    }

    fn open_next(&mut self, verifies: bool, counter: &Counter) -> Result<Option<Reader>> {
        match self {
            Self::Named(sources, keyring) => {
                let Some(source) = sources.pop_front() else { return Ok(None) };
                Reader::new(source.name(), source.open(counter)?, verifies, keyring.clone()).map(Some)
            }
            Self::OfServer(logs) => logs.next(verifies, counter),
        }
    }
}

/// An event, and where it is.
#[derive(Debug, Clone, Copy)]
pub struct Item<'a> {
    /// The log it is in.
    pub log: &'a str,
    /// The log's number among those that are read, from 0.
    pub number: usize,
    /// How the log's events are written.
    pub format: &'a Format,
    /// The event.
    pub event: Event<'a>,
    /// Where it stands in its transaction.
    pub place: Place,
}
