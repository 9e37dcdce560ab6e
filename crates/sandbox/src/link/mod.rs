//! A link of limited rate between a source and its replica, for tests and demos.
//!
//! It is a forwarder, which needs no root: the replica connects to its port and knows no other way to the source. What it sends is
//! held back until the link has room for it (`pacer.rs`), is on its way as long as the delay says (`flight.rs`), and comes out at the
//! other end (`forwarder.rs`). Both directions have the whole rate. Threads of this process carry it, or a process of drover's own,
//! which goes on when this one ends (`process.rs`).
//!
//! The rate is that of the connections' own bytes. On a real network each segment carries some 90 bytes more on its way (TCP, IP,
//! Ethernet), which is 6 % of a full one.

mod flight;
mod forwarder;
mod pacer;
mod process;
mod settings;
mod socket;

use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::server::free_ports;
use forwarder::{Forwarder, listening};

pub(crate) use process::{LinkFiles, serve};
pub use settings::{LinkSettings, MAX_DELAY};

/// What there is to know of a link. Fields are only ever added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkInfo {
    /// The TCP port on 127.0.0.1 that the replica connects to.
    pub port: u16,
    /// The source's own.
    pub source_port: u16,
    /// How it is.
    #[serde(flatten)]
    pub settings: LinkSettings,
}

/// A link that was started. One that this process carries ends when this is dropped.
#[derive(Debug)]
pub struct Link {
    info: LinkInfo,
    carrier: Carrier,
}

#[derive(Debug)]
enum Carrier {
    Threads(Forwarder),
    Process(LinkFiles),
}

impl Link {
    /// A link to the source's port that threads of this process carry.
    ///
    /// # Errors
    /// If no port can be listened on.
    pub fn in_threads(source_port: u16, settings: LinkSettings) -> Result<Self, Error> {
        let forwarder = listening(0, source_port, settings)?;
        let info = LinkInfo { port: forwarder.port(), source_port, settings };
        Ok(Self { info, carrier: Carrier::Threads(forwarder) })
    }

    /// One that a process of this drover program carries, with its files in that directory.
    pub(crate) fn in_process(
        program: &Path,
        dir: &Path,
        source_port: u16,
        settings: LinkSettings,
    ) -> Result<Self, Error> {
        let port = free_ports(1)?.first().copied().unwrap_or_default();
        let info = LinkInfo { port, source_port, settings };
        let files = LinkFiles::in_dir(dir);
        files.write(&info)?;
        files.launch(program)?;
        Ok(Self { info, carrier: Carrier::Process(files) })
    }

    /// The port on 127.0.0.1 that leads to the source.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.info.port
    }

    /// Changes the link, for the connections that there are, too: at once, or within 0.1 s if a process of its own carries it.
    ///
    /// # Errors
    /// If that process cannot be told.
    pub fn set(&self, settings: LinkSettings) -> Result<(), Error> {
        match &self.carrier {
            Carrier::Threads(forwarder) => forwarder.set(settings),
            Carrier::Process(files) => files.write(&LinkInfo { settings, ..self.info })?,
        }
        Ok(())
    }

    /// How it was started, and the process that carries it.
    pub(crate) fn state(&self) -> LinkState {
        let pid = match &self.carrier {
            Carrier::Threads(_) => Some(std::process::id()),
            Carrier::Process(files) => files.pid(),
        };
        LinkState { info: self.info, pid }
    }
}

/// A link as it is now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct LinkState {
    /// Its ports and settings.
    #[serde(flatten)]
    pub info: LinkInfo,
    /// The process that carries it; none if that ended without `stop`: a crash, a reboot, a kill.
    pub pid: Option<u32>,
}

/// In words: `20 Mbit/s, 30 ms one way`, `down` or `dead`.
impl fmt::Display for LinkState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.pid.is_none() { f.write_str("dead") } else { self.info.settings.fmt(f) }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn settings(millis: u64) -> LinkSettings {
        LinkSettings { delay: Duration::from_millis(millis), ..LinkSettings::of_rate(2_500_000) }
    }

    #[test]
    fn a_link_is_told_in_words() {
        let state = |settings, pid| LinkState { info: LinkInfo { port: 1, source_port: 2, settings }, pid };
        assert_eq!(state(settings(0), Some(7)).to_string(), "20 Mbit/s");
        assert_eq!(state(settings(70), Some(7)).to_string(), "20 Mbit/s, 70 ms one way");
        assert_eq!(state(settings(70), None).to_string(), "dead");
        let down = LinkSettings { is_down: true, ..settings(70) };
        assert_eq!(state(down, Some(7)).to_string(), "down");
    }

    #[test]
    fn the_description_comes_back_as_it_was_written() {
        for millis in [0, 1, 70, 2_000] {
            let info = LinkInfo { port: 4711, source_port: 3307, settings: settings(millis) };
            let text = serde_json::to_string(&info).unwrap();
            assert_eq!(serde_json::from_str::<LinkInfo>(&text).unwrap(), info, "{text}");
        }
    }
}
