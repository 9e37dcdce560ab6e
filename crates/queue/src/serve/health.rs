//! How the database itself is: what makes queues slow that no count of tasks shows. What the account may not see, or the server
//! does not tell, is unknown, with the reason; nothing is guessed.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use drover_db::wire::Rows;
use drover_db::{Connection, Error, er};
use serde::Serialize;

/// The window of deadlocks a minute.
const MINUTE: Duration = Duration::from_secs(60);

/// What is known of a server.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Health {
    /// Its version, as it tells it.
    pub(crate) version: String,
    /// Changes whose old rows are still kept, for somebody may want to see them.
    pub(crate) history_list: Reading,
    /// For how long the oldest open transaction has been there.
    pub(crate) oldest_transaction_seconds: Reading,
    /// Since the server was started.
    pub(crate) deadlocks: Reading,
    /// In the last minute.
    pub(crate) deadlocks_per_minute: Reading,
    /// How far it is behind the server that it replicates from.
    pub(crate) replica_lag_seconds: Reading,
}

/// A number, or why there is none.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Reading {
    /// The number.
    Value(f64),
    /// There is one, and nobody told it: why.
    Unknown(String),
    /// There is none: why.
    None(String),
}

impl Reading {
    /// The number, if it is known.
    pub(crate) fn value(&self) -> Option<f64> {
        match self {
            Self::Value(value) => Some(*value),
            Self::Unknown(_) | Self::None(_) => None,
        }
    }
}

/// What a server's health is read with; it remembers how many deadlocks there were.
#[derive(Debug, Default)]
pub(crate) struct Doctor {
    deadlocks: VecDeque<(Instant, f64)>,
}

impl Doctor {
    /// Looks at a server.
    ///
    /// # Errors
    /// If the connection is lost; what the server refuses is unknown.
    pub(crate) fn look(&mut self, connection: &mut Connection) -> Result<Health, Error> {
        let version = told(connection.first("SELECT VERSION()"))?;
        let version = version.ok().flatten().map(|row| row.string(0)).unwrap_or_default();
        let deadlocks = counter(connection, "Innodb_deadlocks", "lock_deadlocks")?;
        Ok(Health {
            history_list: counter(connection, "Innodb_history_list_length", "trx_rseg_history_len")?,
            oldest_transaction_seconds: oldest(connection)?,
            deadlocks_per_minute: self.per_minute(&deadlocks, Instant::now()),
            deadlocks,
            replica_lag_seconds: lag(connection)?,
            version,
        })
    }

    fn per_minute(&mut self, deadlocks: &Reading, now: Instant) -> Reading {
        let count = match deadlocks {
            Reading::Value(count) => *count,
            other => return other.clone(),
        };
        if self.deadlocks.back().is_some_and(|(_, before)| *before > count) {
            self.deadlocks.clear(); // the server was started anew
        }
        self.deadlocks.push_back((now, count));
        while self.deadlocks.get(1).is_some_and(|(at, _)| now.duration_since(*at) >= MINUTE) {
            self.deadlocks.pop_front();
        }
        match self.deadlocks.front() {
            Some((at, first)) if now.duration_since(*at) >= MINUTE => {
                let minutes = now.duration_since(*at).as_secs_f64() / MINUTE.as_secs_f64();
                Reading::Value((count - first) / minutes)
            }
            _ => Reading::Unknown("it takes a minute of watching".into()),
        }
    }
}

/// What a server refuses is its answer; that it is gone is an error.
fn told<T>(result: Result<T, Error>) -> Result<Result<T, String>, Error> {
    match result {
        Ok(value) => Ok(Ok(value)),
        Err(error) => match error.code() {
            Some(er::SPECIFIC_ACCESS_DENIED) => Ok(Err(refused(&error))),
            Some(_) => Ok(Err(error.hidden_transactions().map_or_else(|| error.to_string(), str::to_owned))),
            None => Err(error),
        },
    }
}

/// Which privilege is missing, in short.
fn refused(error: &Error) -> String {
    let text = error.to_string();
    let named = text.split("at least one of) the ").nth(1).and_then(|rest| rest.split(" privilege").next());
    match named {
        Some(privilege) => format!("the account lacks the privilege {privilege}"),
        None => text,
    }
}

/// MariaDB has these as status variables, MySQL in a table that is for those with PROCESS.
fn counter(connection: &mut Connection, variable: &str, metric: &str) -> Result<Reading, Error> {
    let status = told(connection.first(format!("SHOW GLOBAL STATUS LIKE '{variable}'")))?;
    if let Ok(Some(row)) = &status {
        let number = row.parse(1).map(Reading::Value);
        return Ok(number.unwrap_or_else(|| Reading::Unknown(format!("{variable} is no number"))));
    }
    let sql = format!("SELECT COUNT, STATUS FROM information_schema.INNODB_METRICS WHERE NAME = '{metric}'");
    Ok(match told(connection.first(sql))? {
        Ok(Some(row)) if row.string(1) != "enabled" => {
            Reading::Unknown(format!("the server does not count it: innodb_monitor_enable = {metric}"))
        }
        Ok(Some(row)) => {
            row.parse(0).map_or_else(|| Reading::Unknown("it is no number".into()), Reading::Value)
        }
        Ok(None) => Reading::Unknown(format!("the server has neither {variable} nor {metric}")),
        Err(why) => Reading::Unknown(why),
    })
}

/// Without PROCESS MariaDB shows a table without rows: so another statement that needs it comes first.
fn oldest(connection: &mut Connection) -> Result<Reading, Error> {
    if let Err(why) = told(connection.execute("SHOW ENGINE INNODB STATUS"))? {
        return Ok(Reading::Unknown(why));
    }
    // The table's times are in the zone of the host (storage/innobase/handler/i_s.cc, field_store_time_t: localtime_r).
    told(connection.set("time_zone", "'SYSTEM'"))?.ok();
    let sql = "SELECT TIMESTAMPDIFF(SECOND, MIN(trx_started), NOW()) FROM information_schema.INNODB_TRX";
    let found = told(connection.first(sql))?;
    told(connection.set("time_zone", "'+00:00'"))?.ok();
    Ok(match found {
        Ok(Some(row)) => match row.parse::<f64>(0) {
            Some(seconds) => Reading::Value(seconds.max(0.0)),
            None => Reading::None("no transaction is open".into()),
        },
        Ok(None) => Reading::None("no transaction is open".into()),
        Err(why) => Reading::Unknown(why),
    })
}

fn lag(connection: &mut Connection) -> Result<Reading, Error> {
    // MariaDB's several sources; MySQL since 8.0.22; all before.
    let statements = ["SHOW ALL SLAVES STATUS", "SHOW REPLICA STATUS", "SHOW SLAVE STATUS"];
    let mut last = String::new();
    for statement in statements {
        match told(connection.query(statement).map(Some).or_else(|error| match error.code() {
            Some(er::PARSE_ERROR) => Ok(None), // it knows the next one
            _ => Err(error),
        }))? {
            Ok(Some(rows)) => return Ok(most(&rows)),
            Ok(None) => {}
            Err(why) => last = why,
        }
        if !last.is_empty() {
            break;
        }
    }
    Ok(Reading::Unknown(last))
}

/// The longest lag of all sources.
fn most(rows: &Rows) -> Reading {
    let column =
        ["Seconds_Behind_Source", "Seconds_Behind_Master"].into_iter().find_map(|name| rows.column(name));
    let (Some(column), Some(_)) = (column, rows.first()) else {
        return Reading::None("no replica".into());
    };
    let seconds: Option<Vec<f64>> = rows.rows.iter().map(|row| row.parse(column)).collect();
    match seconds {
        Some(seconds) => Reading::Value(seconds.into_iter().fold(0.0, f64::max)),
        None => Reading::Unknown("a replica whose replication does not run".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadlocks_a_minute_are_told_after_a_minute() {
        let mut doctor = Doctor::default();
        let begun = Instant::now();
        let mut at =
            |seconds, count| doctor.per_minute(&Reading::Value(count), begun + Duration::from_secs(seconds));
        assert!(matches!(at(0, 10.0), Reading::Unknown(_)));
        assert!(matches!(at(59, 12.0), Reading::Unknown(_)));
        assert_eq!(at(60, 13.0), Reading::Value(3.0));
        assert_eq!(at(120, 13.0), Reading::Value(0.0));
        assert!(matches!(at(125, 0.0), Reading::Unknown(_)), "a server that was started anew");
        let unknown = Reading::Unknown("why".into());
        assert_eq!(doctor.per_minute(&unknown, begun), unknown);
    }
}
