//! The options that say how much a command may ask of the servers.

use std::str::FromStr;

use drover_db::options::Secret;

use crate::dump::ChunkSize;

/// A number of bytes, such as `20M`; from 1k to 1024G.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size(pub u64);

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        text.parse::<ChunkSize>().map(|size| Self(size.0))
    }
}

/// A status variable and a limit for it, such as `Threads_running=50`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Load {
    /// The variable, as SHOW GLOBAL STATUS calls it.
    pub name: String,
    /// The most it may be.
    pub most: u64,
}

impl FromStr for Load {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let expected = || "expected a status variable and its limit, such as Threads_running=50".to_owned();
        let (name, most) = text.split_once('=').ok_or_else(expected)?;
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let (name, most) = (name.trim(), most.trim().parse().map_err(|_| expected())?);
        if name.is_empty() || !name.chars().all(is_name) {
            return Err(expected());
        }
        Ok(Self { name: name.into(), most })
    }
}

/// Seconds, written `10` or `10s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seconds(pub u64);

impl FromStr for Seconds {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let digits = text.strip_suffix('s').unwrap_or(text);
        digits.parse().map(Self).map_err(|_| "expected seconds, such as 10s".into())
    }
}

// Given to each option by itself: clap's `next_help_heading` would go on to the options of the command.
const HEADING: &str = "Guards";

/// Limits under which the work pauses or stops; see docs/guards.md.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct GuardArgs {
    /// Read or write no more than so many bytes of rows' text a second, over all workers: 20M
    #[arg(long, value_name = "SIZE", help_heading = HEADING)]
    pub rate: Option<Size>,

    /// Pause while a status variable of the server is above its limit: Threads_running=50 (repeatable, or with commas between)
    #[arg(long, value_name = "NAME=LIMIT", value_delimiter = ',', help_heading = HEADING)]
    pub max_load: Vec<Load>,

    /// Stop, with exit code 2, when a status variable is above its limit: Threads_running=200 (repeatable, or with commas
    /// between)
    #[arg(long, value_name = "NAME=LIMIT", value_delimiter = ',', help_heading = HEADING)]
    pub critical_load: Vec<Load>,

    /// Pause while the server or one of its replicas is further behind its source than this: 10s
    #[arg(long, value_name = "SECONDS", help_heading = HEADING)]
    pub max_lag: Option<Seconds>,

    /// A replica to watch for --max-lag, instead of those that SHOW REPLICAS names: mysql://HOST:PORT (repeatable)
    #[arg(long, value_name = "URL", value_parser = clap::value_parser!(Secret), requires = "max_lag", help_heading = HEADING)]
    pub replica: Vec<Secret>,

    /// Longest history list of InnoDB. A restore pauses above it; a dump, whose own snapshot holds the history, ends
    #[arg(long, value_name = "N", help_heading = HEADING)]
    pub max_history: Option<u64>,

    /// Pause while less disk space than this is free: where the dump is written, and where the server keeps its data: 10G
    #[arg(long, value_name = "SIZE", help_heading = HEADING)]
    pub min_free: Option<Size>,
}

impl GuardArgs {
    /// Whether anything is to be looked at.
    pub(super) fn watches(&self) -> bool {
        !self.max_load.is_empty()
            || !self.critical_load.is_empty()
            || self.max_lag.is_some()
            || self.max_history.is_some()
            || self.min_free.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_as_other_tools_write_them() {
        assert_eq!("Threads_running=50".parse(), Ok(Load { name: "Threads_running".into(), most: 50 }));
        for wrong in ["", "Threads_running", "=5", "a=b", "a b=5", "a'=5", "a=-1"] {
            assert!(wrong.parse::<Load>().is_err(), "{wrong}");
        }
        assert_eq!(["10s".parse(), "10".parse()], [Ok(Seconds(10)), Ok(Seconds(10))]);
        assert!("1m".parse::<Seconds>().is_err());
    }
}
