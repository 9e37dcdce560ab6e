//! Scheduled events on the server that is filled. They are made as a replica has them, switched off, so that none changes rows before these
//! are proved; those that ran where they come from are switched on then, unless the server goes on to follow another one.

use drover_db::sql::events::off_as_on_a_replica;
use drover_db::sql::{Dialect, Kind, Token, tokens};
use drover_db::{Connection, Row, health, quote, server};

use super::objects::{Scripts, each};
use crate::Result;
use crate::dump::catalog::Name;
use crate::error::Doing;
use drover_format::manifest::{Manifest, Object, Schema};
use drover_format::script;

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
        each(manifest, |schema| &schema.events)
            .try_for_each(|(schema, event)| self.create_event(connection, schema, event, warnings))
    }

    /// Makes an event that does not run, also one whose schedule has ended, which the servers would drop at once.
    pub(super) fn create_event(
        &self,
        connection: &mut Connection,
        schema: &Schema,
        event: &Object,
        warnings: &mut Vec<String>,
    ) -> Result<()> {
        let off = |create: &[u8]| {
            off_as_on_a_replica(create, Dialect::default()).map_or_else(|| create.to_vec(), |(off, _)| off)
        };
        let has_end = End::of(&self.read(&event.script)?).is_some();
        if has_end {
            set_time(connection, "1")?;
        }
        let made = self.run_changed(connection, &schema.name, &event.script, warnings, off);
        if has_end {
            set_time(connection, "DEFAULT")?;
        }
        made
    }

    /// The events that ran where they come from and are off here. Of those that stay off or are not there a warning tells.
    pub(super) fn events_to_switch_on<'m>(
        &self,
        connection: &mut Connection,
        manifest: &'m Manifest,
        warnings: &mut Vec<String>,
    ) -> Result<Vec<Event<'m>>> {
        let mut events = Vec::new();
        for (schema, object) in each(manifest, |schema| &schema.events) {
            let statements = self.read(&object.script)?;
            if !statements.iter().any(|text| off_as_on_a_replica(text, Dialect::default()).is_some()) {
                continue;
            }
            let event =
                Event { name: Name::new(self.renames.schema(&schema.name), &object.name), schema, object };
            match event.standing(connection)? {
                Standing::Off => events.push(event),
                Standing::On => {}
                Standing::Over => {
                    warnings.push(format!("event {} stays off, since its schedule has ended", event.name));
                }
                Standing::Missing => {
                    let end = End::of(&statements);
                    let is_over = end.map_or(Ok(false), |end| end.has_dropped(connection))?;
                    let why = if is_over { DROPPED } else { "" };
                    warnings.push(format!("event {} is not there{why}", event.name));
                }
            }
        }
        Ok(events)
    }

    /// Switches events on. They are made once more, as ALTER EVENT would give them another account.
    pub(super) fn switch_on(&self, connection: &mut Connection, events: &[Event<'_>]) -> Result<()> {
        for event in events {
            connection
                .execute(format!("DROP EVENT {}", event.name))
                .doing(|| format!("switching event {} on", event.name))?;
            // What the server warns of it has warned of when it was made first.
            self.run_in(connection, &event.schema.name, &event.object.script, &mut Vec::new())?;
        }
        Ok(())
    }
}

/// Why an event is not there whose schedule has ended.
const DROPPED: &str = ", since its schedule has ended: the server drops such events by itself";

/// How an event stands on the server that is filled.
enum Standing {
    On,
    /// As on a replica.
    Off,
    /// Off, and the server would drop it or switch it off again, since its schedule has ended.
    Over,
    Missing,
}

/// One that ran where it comes from, with its name on the server that is filled.
pub(super) struct Event<'m> {
    name: Name,
    schema: &'m Schema,
    object: &'m Object,
}

impl Event<'_> {
    /// Its row in the catalogue: the two names, and these columns. The catalogue takes `Shop` and `shop` for the same.
    fn row(&self, connection: &mut Connection, columns: &str) -> Result<Option<Row>> {
        let [schema, name] = [&self.name.schema, &self.name.name].map(|name| quote::string(name));
        let sql = format!(
            "SELECT EVENT_SCHEMA, EVENT_NAME, {columns} FROM information_schema.EVENTS WHERE EVENT_SCHEMA = {schema} AND \
             EVENT_NAME = {name}"
        );
        let rows = connection.query(sql).doing(|| format!("asking for event {}", self.name))?;
        Ok(rows.into_iter().find(|row| self.name.begins(row)))
    }

    fn standing(&self, connection: &mut Connection) -> Result<Standing> {
        // The catalogue has times in the event's own zone.
        const IS_OVER: &str =
            "COALESCE(CONVERT_TZ(COALESCE(EXECUTE_AT, ENDS), TIME_ZONE, '+00:00') < UTC_TIMESTAMP(), 0)";
        Ok(match self.row(connection, &format!("STATUS, {IS_OVER}"))? {
            None => Standing::Missing,
            // SLAVESIDE_DISABLED, or REPLICA_SIDE_DISABLED.
            Some(row) if !row.string(2).ends_with("SIDE_DISABLED") => Standing::On,
            Some(row) if row.parse(3) == Some(1) => Standing::Over,
            Some(_) => Standing::Off,
        })
    }

    /// What has it run, with the account that it has.
    pub(super) fn enable(&self, connection: &mut Connection) -> Result<String> {
        let definer = self.row(connection, "DEFINER")?.map(|row| row.string(2));
        let definer = definer.as_deref().and_then(|definer| definer.rsplit_once('@'));
        let definer = definer
            .map(|(user, host)| format!("DEFINER={}@{} ", quote::identifier(user), quote::identifier(host)));
        Ok(format!("ALTER {}EVENT {} ENABLE", definer.unwrap_or_default(), self.name))
    }
}

fn set_time(connection: &mut Connection, to: &str) -> Result<()> {
    // MariaDB can be told to let nobody set it (secure_timestamp).
    connection.set_if_taken("timestamp", to).map(drop).doing(|| "setting the time")
}

/// When a schedule ends.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct End {
    /// As SQL, in the event's own zone.
    time: String,
    zone: String,
    /// Whether the server drops the event then.
    is_dropped: bool,
}

impl End {
    /// That of the event that these statements make.
    pub(super) fn of(statements: &[Vec<u8>]) -> Option<Self> {
        let create = statements.iter().find(|text| text.starts_with(b"CREATE "))?;
        let dialect = script::dialect(statements);
        let code: Vec<_> = tokens(create, dialect).filter(Token::is_code).collect();
        let is = |at: usize, word: &str| code.get(at).is_some_and(|token| token.is_word(word));
        let schedule = (0..code.len()).find(|at| is(*at, "ON") && is(*at + 1, "SCHEDULE"))? + 2;
        let body = (schedule..code.len()).find(|at| is(*at, "DO"))?;
        let time = (schedule..body).find(|at| is(*at, "AT") || is(*at, "ENDS"))? + 1;
        let time = code.get(time).filter(|token| token.kind == Kind::String)?;
        let is_kept = (schedule..body).any(|at| is(at, "COMPLETION") && is(at + 1, "PRESERVE"));
        let zone = |text: &Vec<u8>| {
            String::from_utf8_lossy(text).strip_prefix("SET time_zone = ").map(str::to_owned)
        };
        Some(Self {
            time: String::from_utf8_lossy(time.text).into_owned(),
            zone: statements.iter().find_map(zone)?,
            is_dropped: !is_kept,
        })
    }

    /// Whether the server has dropped the event by now, if it ever was there.
    pub(super) fn has_dropped(&self, connection: &mut Connection) -> Result<bool> {
        let sql = format!("SELECT CONVERT_TZ({}, {}, '+00:00') <= UTC_TIMESTAMP()", self.time, self.zone);
        let row = connection.first(sql).doing(|| "comparing an event's end with the time")?;
        Ok(self.is_dropped && row.and_then(|row| row.parse(0)) == Some(1))
    }
}

/// Whether the server follows another one; `None` if this account may not see that.
pub(super) fn is_replica(connection: &mut Connection) -> Result<Option<bool>> {
    const CONFIGURED: &str = "SELECT COUNT(*), @@performance_schema FROM \
                              performance_schema.replication_connection_configuration WHERE HOST <> ''";
    match health::replica_status(connection) {
        Ok(rows) => return Ok(Some(rows.first().is_some())),
        Err(drover_db::Error::Server(_)) => {}
        Err(error) => return Err(error).doing(|| IS_REPLICA),
    }
    // MariaDB tells everybody up to where it has applied the logs of others, also if it does so no more.
    if let Some(applied) = server::variable(connection, "GLOBAL.gtid_slave_pos").doing(|| IS_REPLICA)? {
        return Ok((!applied.is_empty()).then_some(true));
    }
    match connection.first(CONFIGURED) {
        Ok(row) => {
            let number = |at| row.as_ref().and_then(|row| row.parse::<u64>(at)).unwrap_or(0);
            Ok(match (number(0), number(1)) {
                (0, 0) => None,
                (sources, _) => Some(sources > 0),
            })
        }
        Err(drover_db::Error::Server(_)) => Ok(None),
        Err(error) => Err(error).doing(|| IS_REPLICA),
    }
}

const IS_REPLICA: &str = "asking whether the target is a replica";

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
    fn a_schedule_may_end() {
        let of = |schedule: &str| {
            let create = format!(
                "CREATE DEFINER=`at`@`%` EVENT `ends` ON SCHEDULE {schedule} DISABLE COMMENT 'ENDS' DO SET @at = 'ENDS'"
            );
            End::of(&["SET time_zone = '+05:00'".into(), create.into_bytes()])
        };
        let end = |is_dropped| {
            Some(End { time: "'2026-01-01 00:00:00'".into(), zone: "'+05:00'".into(), is_dropped })
        };
        let every = "EVERY '1:1' HOUR_MINUTE STARTS '2020-01-01 00:00:00'";
        let ends = format!("{every} ENDS '2026-01-01 00:00:00'");
        assert_eq!(of(&format!("{ends} ON COMPLETION NOT PRESERVE")), end(true));
        assert_eq!(of(&format!("{ends} ON COMPLETION PRESERVE")), end(false));
        assert_eq!(of("AT '2026-01-01 00:00:00' ON COMPLETION NOT PRESERVE"), end(true));
        assert_eq!(of(&format!("{every} ON COMPLETION NOT PRESERVE")), None);
    }

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
