//! Scheduled events on the server that is filled. They are made as a replica has them, switched off, so that none changes rows before these
//! are proved; those that ran where they come from are switched on then, unless the server goes on to follow another one.

use drover_db::sql::events::off_as_on_a_replica;
use drover_db::sql::{Dialect, tokens};
use drover_db::{Connection, health, quote};

use super::objects::{Scripts, each};
use crate::Result;
use crate::dump::catalog::Name;
use crate::error::Doing;
use crate::format::manifest::{Manifest, Object, Schema};

/// Whether scheduled events run on the server that is filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Events {
    /// Those that ran on the other server.
    On,
    /// None: what they change comes from the other server.
    Off,
}

impl Scripts<'_> {
    /// Makes the events, of which none runs.
    pub(super) fn create_events(
        &self,
        connection: &mut Connection,
        manifest: &Manifest,
        warnings: &mut Vec<String>,
    ) -> Result<()> {
        for (schema, event) in each(manifest, |schema| &schema.events) {
            let off = |create: &[u8]| {
                off_as_on_a_replica(create, Dialect::default())
                    .map_or_else(|| create.to_vec(), |(off, _)| off)
            };
            // The servers drop an event at once that was to run once, at a time that is over.
            let text = self.read(&event.script)?.concat();
            let is_once = String::from_utf8_lossy(&text).contains(" ON SCHEDULE AT ");
            if is_once {
                set_time(connection, "1")?;
            }
            let made = self.run_changed(connection, &schema.name, &event.script, warnings, off);
            if is_once {
                set_time(connection, "DEFAULT")?;
            }
            made?;
        }
        Ok(())
    }

    /// The events that ran where they come from.
    pub(super) fn events_that_ran<'m>(&self, manifest: &'m Manifest) -> Result<Vec<Event<'m>>> {
        let mut events = Vec::new();
        for (schema, object) in each(manifest, |schema| &schema.events) {
            let statements = self.read(&object.script)?;
            if statements.iter().any(|text| off_as_on_a_replica(text, Dialect::default()).is_some()) {
                let name = Name::new(self.renames.schema(&schema.name), &object.name);
                events.push(Event { name, schema, object });
            }
        }
        Ok(events)
    }

    /// Switches events on; those whose time is over stay off, and a warning says so. They are made once more, as ALTER EVENT would give
    /// them another account. Those that stay off.
    pub(super) fn switch_on<'m>(
        &self,
        connection: &mut Connection,
        events: Vec<Event<'m>>,
        warnings: &mut Vec<String>,
    ) -> Result<Vec<Event<'m>>> {
        let mut off = Vec::new();
        for event in events {
            let is_over = format!("SELECT 1 {} AND EXECUTE_AT < NOW()", event.in_catalogue());
            let doing = || format!("switching event {} on", event.name);
            if connection.first(is_over).doing(doing)?.is_some() {
                warnings
                    .push(format!("event {} was to run at a time that is over: it stays off", event.name));
                off.push(event);
                continue;
            }
            connection.execute(format!("DROP EVENT {}", event.name)).doing(doing)?;
            // What the server warns of it has warned of when it was made first.
            self.run_in(connection, &event.schema.name, &event.object.script, &mut Vec::new())?;
        }
        Ok(off)
    }
}

/// One that ran where it comes from, with its name on the server that is filled.
pub(super) struct Event<'m> {
    name: Name,
    schema: &'m Schema,
    object: &'m Object,
}

impl Event<'_> {
    fn in_catalogue(&self) -> String {
        let [schema, name] = [&self.name.schema, &self.name.name].map(|name| quote::string(name));
        format!("FROM information_schema.EVENTS WHERE EVENT_SCHEMA = {schema} AND EVENT_NAME = {name}")
    }

    /// What has it run, with the account that it has.
    pub(super) fn enable(&self, connection: &mut Connection) -> Result<String> {
        let row = connection.first(format!("SELECT DEFINER {}", self.in_catalogue()));
        let definer = row.doing(|| format!("asking for event {}", self.name))?.map(|row| row.string(0));
        let definer = definer.as_deref().and_then(|definer| definer.rsplit_once('@'));
        let definer = definer
            .map(|(user, host)| format!("DEFINER={}@{} ", quote::identifier(user), quote::identifier(host)));
        Ok(format!("ALTER {}EVENT {} ENABLE", definer.unwrap_or_default(), self.name))
    }
}

fn set_time(connection: &mut Connection, to: &str) -> Result<()> {
    match connection.execute(format!("SET SESSION timestamp = {to}")) {
        // MariaDB can be told to let nobody set it (secure_timestamp).
        Err(drover_db::Error::Server(_)) => Ok(()),
        other => other.map(drop).doing(|| "setting the time"),
    }
}

/// Whether the server follows another one, as far as this account may know.
pub(super) fn is_replica(connection: &mut Connection) -> bool {
    health::replica_status(connection).is_ok_and(|rows| rows.first().is_some())
}

/// A definition in which an event that is off as on a replica is one that runs.
pub(super) fn as_where_it_runs(definition: &[Vec<u8>]) -> Vec<Vec<u8>> {
    definition.iter().map(|text| with_status_on(text)).collect()
}

fn with_status_on(text: &[u8]) -> Vec<u8> {
    let parts: Vec<_> = tokens(text, Dialect::default()).collect();
    let code: Vec<_> = (0..parts.len()).filter(|at| parts[*at].is_code()).collect();
    let is = |at: usize, words: &[&str]| words.iter().any(|word| parts[code[at]].is_word(word));
    let off = (0..code.len().saturating_sub(2))
        .take_while(|at| !is(*at, &["DO"]))
        .find(|at| is(*at, &["DISABLE"]) && is(*at + 1, &["ON"]) && is(*at + 2, &["SLAVE", "REPLICA"]));
    let Some(at) = off else { return text.to_vec() };
    let join = |range: std::ops::Range<usize>| -> Vec<u8> {
        parts[range].iter().flat_map(|token| token.text).copied().collect()
    };
    [join(0..code[at]), b"ENABLE".to_vec(), join(code[at + 2] + 1..parts.len())].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn off_and_on_again() {
        let text = "CREATE EVENT `e` ON SCHEDULE EVERY 1 SECOND ON COMPLETION NOT PRESERVE ENABLE COMMENT 'ENABLE' DO SET @x = 'DISABLE ON SLAVE'";
        let (off, _) = off_as_on_a_replica(text.as_bytes(), Dialect::default()).unwrap();
        assert_eq!(with_status_on(&off), text.as_bytes());
        assert_eq!(with_status_on(text.as_bytes()), text.as_bytes());
        let disabled =
            b"CREATE EVENT `e` ON SCHEDULE EVERY 1 SECOND ON COMPLETION NOT PRESERVE DISABLE DO SET @x = 1";
        assert_eq!(with_status_on(disabled), disabled);
    }
}
