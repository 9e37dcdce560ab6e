//! A replica that does not run, or is far behind.

use drover_units::show;

use super::replicas::{self, Channel};
use crate::check::{Area, Check, Finding, Outcome, Weight};
use crate::evidence::Seen;
use crate::facts::Facts;

pub(crate) const CHECK: Check = Check {
    rule: "binlog.replica",
    area: Area::Binlog,
    looks_for: "replication that has stopped, has failed, or is behind by more than a minute",
    needs: "SHOW REPLICA STATUS (REPLICATION CLIENT on MySQL, REPLICA MONITOR on MariaDB)",
    source: "MySQL manual, SHOW REPLICA STATUS Statement; MariaDB manual, SHOW REPLICA STATUS",
    refuted_by: "the replica is stopped or delayed on purpose, as for a backup (SQL_Delay)",
    look,
};

/// Seconds.
const FAR_BEHIND: u64 = 60;
/// Bytes of an error that are told: the rest may be rows' values.
const LONGEST_ERROR: usize = 300;

fn look(facts: &Facts) -> Seen<Outcome> {
    let status = replicas::status(facts)?;
    if status.rows.is_empty() {
        return Ok(Outcome::not_here("it replicates from nobody"));
    }
    let mut outcome = Outcome::default();
    for channel in replicas::channels(&status) {
        let before = outcome.findings.len();
        outcome.findings.extend(THREADS.iter().filter_map(|thread| thread.stopped(&channel)));
        if outcome.findings.len() > before {
            continue;
        }
        match channel.number("Seconds_Behind_Source") {
            Some(seconds) if is_far(seconds, &channel) => outcome.findings.push(behind(seconds, &channel)),
            Some(seconds) => outcome.fine.push(format!("{}: {seconds} s behind", channel.name())),
            None => {
                outcome
                    .unknown
                    .push(format!("{}: the server does not tell how far behind it is", channel.name()));
            }
        }
    }
    Ok(outcome)
}

/// One of the two threads of a replica.
struct Thread {
    running: &'static str,
    number: &'static str,
    error: &'static str,
    what: &'static str,
    start: &'static str,
}

const THREADS: [Thread; 2] = [
    Thread {
        running: "Replica_IO_Running",
        number: "Last_IO_Errno",
        error: "Last_IO_Error",
        what: "nothing is received from",
        start: "IO_THREAD",
    },
    Thread {
        running: "Replica_SQL_Running",
        number: "Last_SQL_Errno",
        error: "Last_SQL_Error",
        what: "nothing is applied of what comes from",
        start: "SQL_THREAD",
    },
];

impl Thread {
    fn stopped(&self, channel: &Channel<'_>) -> Option<Finding> {
        let running = channel.value(self.running)?;
        if running.eq_ignore_ascii_case("Yes") {
            return None;
        }
        let number = channel.number(self.number).unwrap_or(0);
        // One that was stopped by hand has no error; one that begins to connect has none yet.
        let weight = if number > 0 { Weight::Red } else { Weight::Yellow };
        let advice = match number {
            0 => "start it, unless it was stopped on purpose",
            _ => {
                "cure what the error says, then start it; to skip what failed makes source and replica differ"
            }
        };
        let (before, after) = channel.clause();
        let statement = |verb: &str| format!("{verb} REPLICA{before} {}{after}", self.start);
        let mut finding = Finding::observed(weight, format!("{} {}", self.what, channel.name()), advice)
            .about(channel.name())
            .seen(format!("SHOW REPLICA STATUS: {} is {running}", self.running));
        if number > 0 {
            let error: String =
                channel.value(self.error).unwrap_or_default().chars().take(LONGEST_ERROR).collect();
            finding = finding.seen(format!("error {number}: {error}"));
        }
        Some(finding.sql(statement("START"), Some(statement("STOP"))))
    }
}

/// A delay that was asked for is no lag.
fn is_far(seconds: u64, channel: &Channel<'_>) -> bool {
    seconds > FAR_BEHIND + channel.number("SQL_Delay").unwrap_or(0)
}

fn behind(seconds: u64, channel: &Channel<'_>) -> Finding {
    Finding::observed(
        Weight::Yellow,
        format!("it is {} behind {}", show::seconds(seconds as f64), channel.name()),
        "see which transaction it applies: one large one cannot be applied by several threads, and a table without a key is \
         searched for each row; `drover binlog stat` on the source's log tells the largest",
    )
    .about(channel.name())
    .seen(format!("SHOW REPLICA STATUS: Seconds_Behind_Source is {seconds}"))
    .effect(format!("reads of this server are {} old", show::seconds(seconds as f64)))
}
