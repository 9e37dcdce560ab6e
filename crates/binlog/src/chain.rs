//! The events of several logs, one after the other, each with its place in its transaction.

use std::collections::VecDeque;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use crate::gtid_state::GtidState;
use crate::link::{Link, shows_its_end};
use crate::log::{Event, Format, Grouper, MAGIC, Place, Reader, Short, Unpacked};
use crate::server::ServerLogs;
use crate::source::{Counter, Source, check_order, log_name};
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
    /// What the logs until now say of the next one.
    link: Option<Link>,
}

/// Where a log's first event begins.
const BEGIN: u64 = MAGIC.len() as u64;

/// Where logs come from.
enum Logs {
    /// With the keys for those that are encrypted.
    Named(VecDeque<Source>, Option<Arc<Keyring>>),
    /// A server may come to have more while they are read.
    OfServer(ServerLogs),
}

impl Chain {
    /// Reads these logs in this order. `verifies` says whether checksums are compared; encrypted ones need the keys of their
    /// server.
    pub fn new(sources: Vec<Source>, verifies: bool, keyring: Option<Arc<Keyring>>) -> Self {
        let logs = Logs::Named(sources.into(), keyring);
        Self { link: Some(Link::default()), ..Self::of(logs, verifies) }
    }

    /// Takes these logs without their end, where nothing tells whether they are whole.
    pub(crate) fn with_unclosed(mut self, logs: &[String]) -> Self {
        if let Some(link) = &mut self.link {
            link.unclosed = logs.iter().map(|log| log_name(Path::new(log))).collect();
        }
        self
    }

    /// Reads the logs of a server.
    pub fn of_server(logs: ServerLogs, verifies: bool) -> Self {
        Self { link: Some(logs.link()), ..Self::of(Logs::OfServer(logs), verifies) }
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
            whole: BEGIN,
            link: None,
        }
    }

    /// When the first log was begun, in seconds since 1970, by its first event.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(crate) fn begun(mut self) -> Result<u32> {
        self.step()?;
        Ok(self.item().map_or(0, |item| item.event.header.timestamp))
    }

    /// Has each log follow the one before it: what a log holds that is missing in the middle would be lost.
    ///
    /// # Errors
    /// If the names say that one is missing, or that they are not in their order. What the logs themselves say is an error where they
    /// are read.
    pub(crate) fn without_gaps(mut self) -> Result<Self> {
        if let (Logs::Named(sources, _), Some(link)) = (&mut self.logs, &mut self.link) {
            check_order(sources.make_contiguous())?;
            link.is_close = true;
        }
        if let Logs::OfServer(logs) = &self.logs {
            logs.check_order()?;
        }
        Ok(self)
    }

    /// Looks whether each log has its end before any of them is read, but for those that only reading shows: standard input.
    ///
    /// # Errors
    /// If one that another follows is not whole, or cannot be read up to its end.
    pub(crate) fn check_ends(&self, stopped: &dyn Fn() -> bool) -> Result<()> {
        let (Logs::Named(sources, keyring), Some(link)) = (&self.logs, &self.link) else { return Ok(()) };
        let sources: Vec<_> = sources.iter().collect();
        for pair in sources.windows(2).filter(|pair| !pair.contains(&&Source::Stdin)) {
            if shows_its_end(pair[0]) {
                continue;
            }
            let logs = Logs::Named(pair.iter().map(|&source| source.clone()).collect(), keyring.clone());
            let mut chain = Self { link: Some(link.anew()), ..Self::of(logs, false) };
            chain.walk(stopped, |item| match (item.number, item.place) {
                (1, Place::First | Place::Only) => Ok(ControlFlow::Break(())),
                _ => Ok(ControlFlow::Continue(())),
            })?;
        }
        Ok(())
    }

    /// The first log comes behind this one, which was read before, and ended behind these transactions.
    pub(crate) fn begin_behind(&mut self, log: String, state: GtidState) {
        if let Some(link) = &mut self.link {
            link.begin_behind(log, state);
        }
    }

    /// The transactions behind which the last log ended, as far as they are known.
    pub(crate) fn ended_behind(&self) -> Option<&GtidState> {
        self.link.as_ref().and_then(Link::ended_behind)
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
                match (log.step(), &mut self.link) {
                    (Ok(true), _) => break,
                    (Ok(false), _) => {}
                    (Err(error), Some(link)) if error.is_torn() => link.tear(error),
                    (Err(error), _) => return Err(error),
                }
                self.log = None;
                self.number += 1;
            }
            let Some(reader) = self.logs.open_next(self.verifies, &self.counter)? else {
                return self.link.as_mut().map_or(Ok(()), Link::end).map(|()| false);
            };
            self.whole = BEGIN;
            let log = Unpacked::new(reader);
            if let Some(link) = &mut self.link {
                link.follow(log.name())?;
            }
            self.log = Some(log);
        }
        let Some(log) = &self.log else { return Ok(false) };
        let event = log.event();
        self.place = self.grouper.place(&event, log.format());
        if let Some(link) = &mut self.link {
            link.see(&event, log.format(), self.place)?;
        }
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
