//! What the primary itself has to say against more work: status variables and the history list.

use drover_db::options::Load;
use drover_db::{Connection, health};

use crate::args::ChunkArgs;
use crate::error::Doing;
use crate::{Error, Result};

/// The limits that a person gave.
#[derive(Debug)]
pub(crate) struct Limits {
    max: Vec<Load>,
    critical: Vec<Load>,
    history: Option<u64>,
}

impl Limits {
    pub(crate) fn of(args: &ChunkArgs) -> Self {
        Self { max: args.max_load.clone(), critical: args.critical_load.clone(), history: args.max_history }
    }

    /// Whether there is anything to look at.
    pub(crate) fn are_given(&self) -> bool {
        !self.max.is_empty() || !self.critical.is_empty() || self.history.is_some()
    }

    /// What is beyond its limit: reasons to pause, and to stop.
    ///
    /// # Errors
    /// If a value cannot be read.
    pub(crate) fn look(&self, connection: &mut Connection) -> Result<(Vec<String>, Vec<String>)> {
        let mut pause = exceeded(connection, &self.max)?;
        let stop = exceeded(connection, &self.critical)?;
        if let Some(most) = self.history {
            let length =
                health::history_length(connection).doing(|| "reading InnoDB's history list length")?;
            let length = length.ok_or_else(|| {
                Error::found("--max-history: the server does not tell the length of InnoDB's history list")
            })?;
            pause.extend((length > most).then(|| format!("InnoDB's history list length {length} > {most}")));
        }
        Ok((pause, stop))
    }
}

fn exceeded(connection: &mut Connection, limits: &[Load]) -> Result<Vec<String>> {
    let names: Vec<_> = limits.iter().map(|load| load.name.as_str()).collect();
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let values = health::status(connection, &names).doing(|| "reading the server's status")?;
    let mut found = Vec::new();
    for (Load { name, most }, value) in limits.iter().zip(values) {
        let value = value.ok_or_else(|| {
            Error::with_hint(
                format!("the server has no status variable {name} that is a number"),
                "SHOW GLOBAL STATUS lists them",
            )
        })?;
        found.extend((value > *most as f64).then(|| format!("{name} {value} > {most}")));
    }
    Ok(found)
}
