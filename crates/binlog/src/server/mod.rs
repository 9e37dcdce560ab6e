//! Logs that a server sends, as it sends them to a replica: what their files hold, byte for byte, without the files.
//!
//! A stream goes through the logs one after the other. What the server makes up for it is left out: a Rotate event that names each
//! log before its first event, heartbeats. Where a stream begins in the middle of a log, that log's format description comes first
//! all the same, without its time; where it begins behind some transactions, these are missing. So an event's position is what
//! the event says of itself, not how many bytes came before it.

mod args;
mod dump;
mod listing;

use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use drover_db::options::ConnectOptions;
use drover_db::{Connection, Stop, Watched};

pub use args::{FromServerArgs, StreamArgs};

use crate::link::Link;
use crate::log::Reader;
use crate::source::Counter;
use crate::{Error, Result};
use dump::Dump;

/// A server whose logs are read, and what stops the reading.
#[derive(Debug, Clone)]
pub struct Origin {
    /// Where it is.
    pub options: ConnectOptions,
    /// A request breaks the connection, so that nobody waits for events that do not come.
    pub stop: Arc<Stop>,
}

impl Origin {
    pub(crate) fn connect(&self) -> Result<(Connection, Watched<'static>)> {
        self.stop.connect(&self.options).map_err(|source| self.failed("connecting", source))
    }

    /// The error for something that did not work with the server: that it was broken by a request is not the server's fault.
    pub(crate) fn failed(&self, doing: impl Into<String>, source: drover_db::Error) -> Error {
        if self.stop.is_requested() {
            return Error::Stopped;
        }
        Error::Server { doing: doing.into(), source: Box::new(source) }
    }
}

/// A server's logs, one after the other.
pub struct ServerLogs(Arc<Mutex<Dump>>);

impl ServerLogs {
    /// Those that were named, or all; in the first of them from this position on. `at` says that those before a log with
    /// some name are left out, and where in it to begin.
    ///
    /// # Errors
    /// If the server is not there, does not have them, or does not let this account read them.
    pub(crate) fn find(
        origin: &Origin,
        args: &StreamArgs,
        named: &[PathBuf],
        position: Option<u64>,
        at: Option<(&str, u64)>,
    ) -> Result<Self> {
        let named = named.iter().map(|name| name.to_string_lossy().into_owned()).collect();
        Dump::begin(origin, args, named, position, at).map(|dump| Self(Arc::new(Mutex::new(dump))))
    }

    /// The names of all that the server has.
    ///
    /// # Errors
    /// If it has none, is not there, or does not let this account see them.
    pub(crate) fn names(origin: &Origin) -> Result<Vec<String>> {
        let (mut connection, _watched) = origin.connect()?;
        let listed = listing::list(&mut connection, origin)?;
        Ok(listed.into_iter().map(|log| log.name).collect())
    }

    /// When the log of this name was begun, in seconds since 1970.
    ///
    /// # Errors
    /// If the server does not send it.
    pub(crate) fn begun(origin: &Origin, name: &str) -> Result<u32> {
        let mut logs = Self::find(origin, &StreamArgs::default(), &[name.into()], None, None)?;
        let Some(mut reader) = logs.next(false, &Counter::default())? else { return Ok(0) };
        reader.step()?;
        Ok(reader.event().header.timestamp)
    }

    /// Refuses logs that are named in another order than the server has them, or without one of those between them.
    ///
    /// # Errors
    /// If they are not one after the other.
    pub(crate) fn check_order(&self) -> Result<()> {
        lock(&self.0).check_order()
    }

    /// Whether more is waited for behind the last.
    pub(crate) fn are_followed(&self) -> bool {
        lock(&self.0).follows()
    }

    /// What ties them together.
    pub(crate) fn link(&self) -> Link {
        lock(&self.0).link()
    }

    /// How many logs are known that were not begun.
    pub(crate) fn left(&self) -> usize {
        lock(&self.0).left()
    }

    /// How many bytes those have that are to be read; 0 where more may come.
    pub(crate) fn size(&self) -> u64 {
        lock(&self.0).size()
    }

    /// Begins to read the next log, whose bytes `counter` counts; `None` behind the last.
    pub(crate) fn next(&mut self, verifies: bool, counter: &Counter) -> Result<Option<Reader>> {
        let Some(name) = lock(&self.0).next_log()? else { return Ok(None) };
        let input = Box::new(counter.counted(LogBytes(Arc::clone(&self.0))));
        Reader::of_stream(name, input, verifies).map(Some)
    }
}

/// The bytes of the log at hand.
struct LogBytes(Arc<Mutex<Dump>>);

impl Read for LogBytes {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        lock(&self.0).read(into).map_err(io::Error::other)
    }
}

/// Only one thread at a time has to do with it, so that none can have left it half changed.
fn lock(dump: &Mutex<Dump>) -> MutexGuard<'_, Dump> {
    dump.lock().unwrap_or_else(PoisonError::into_inner)
}
