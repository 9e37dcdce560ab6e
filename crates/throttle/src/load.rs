//! What a server itself has to say against more work: status variables and InnoDB's history list.

use drover_db::options::Load;
use drover_db::{Connection, health};

use crate::{Error, Result};

/// What is beyond its limit, each in words: `Threads_running 83 > 50`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Findings {
    /// Reasons to pause.
    pub pause: Vec<String>,
    /// Reasons to stop.
    pub stop: Vec<String>,
}

/// The limits on a server's load.
#[derive(Debug, Clone)]
pub struct Limits {
    /// The work pauses above these.
    pub max_load: Vec<Load>,
    /// The work ends above these.
    pub critical_load: Vec<Load>,
    /// The longest history list.
    pub max_history: Option<u64>,
    /// Whether the work itself holds the history, so that only its end helps against one that is too long.
    pub holds_history: bool,
}

impl Limits {
    /// Whether there is anything to look at.
    pub fn are_given(&self) -> bool {
        !self.max_load.is_empty() || !self.critical_load.is_empty() || self.max_history.is_some()
    }

    /// Reads the values.
    ///
    /// # Errors
    /// If one cannot be read.
    pub fn look(&self, connection: &mut Connection) -> Result<Findings> {
        let Self { max_load, critical_load, max_history, holds_history } = self;
        let names: Vec<_> = max_load.iter().chain(critical_load).map(|load| load.name.as_str()).collect();
        let values = match names.is_empty() {
            true => Vec::new(),
            false => {
                health::status(connection, &names).map_err(Error::server("reading the server's status"))?
            }
        };
        let mut values = values.into_iter();
        let mut found = Findings::default();
        for (loads, list) in [(max_load, &mut found.pause), (critical_load, &mut found.stop)] {
            for Load { name, most } in loads {
                let now = values.next().flatten().ok_or_else(|| Error::NoStatus(name.clone()))?;
                list.extend((now > *most as f64).then(|| format!("{name} {now} > {most}")));
            }
        }
        if let Some(most) = *max_history {
            let length = history(connection)?;
            let list = if *holds_history { &mut found.stop } else { &mut found.pause };
            list.extend((length > most).then(|| format!("InnoDB's history list length {length} > {most}")));
        }
        Ok(found)
    }
}

fn history(connection: &mut Connection) -> Result<u64> {
    let length = health::history_length(connection)
        .map_err(Error::server("--max-history: reading InnoDB's history list length"))?;
    length.ok_or(Error::UnknownHistory)
}
