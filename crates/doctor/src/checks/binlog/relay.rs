//! A replica that may apply something twice, or never, after a crash.

use super::replicas::{self, Channel};
use crate::check::{Area, Check, Finding, Outcome, Weight};
use crate::evidence::Seen;
use crate::facts::Facts;

pub(crate) const CHECK: Check = Check {
    rule: "binlog.relay",
    area: Area::Binlog,
    looks_for: "a replica whose position is not kept together with the data, so that it does not survive a crash",
    needs: "SHOW REPLICA STATUS (REPLICATION CLIENT on MySQL, REPLICA MONITOR on MariaDB); the server's variables",
    source: "MySQL manual, Handling an Unexpected Halt of a Replica; MariaDB manual, Global Transaction ID, on gtid_slave_pos and \
             relay-log.info",
    refuted_by: "the replica is made anew after each crash",
    look,
};

fn look(facts: &Facts) -> Seen<Outcome> {
    let status = replicas::status(facts)?;
    if status.rows.is_empty() {
        return Ok(Outcome::not_here("it replicates from nobody"));
    }
    let recovers = facts.is_on("relay_log_recovery")?;
    let in_file =
        facts.variable("relay_log_info_repository").is_ok_and(|kept| kept.eq_ignore_ascii_case("FILE"));
    let mut outcome = Outcome::default();
    for channel in replicas::channels(&status) {
        let name = channel.name();
        match (channel.value("Using_Gtid"), channel.value("Auto_Position")) {
            (Some("No"), _) if !recovers => outcome.findings.push(by_file(&channel)),
            (Some(using), _) => {
                outcome.fine.push(format!("{name}: Using_Gtid={using}, relay_log_recovery={recovers}"));
            }
            (None, Some("1")) => outcome.fine.push(format!("{name}: SOURCE_AUTO_POSITION=1")),
            (None, _) if in_file => outcome.findings.push(in_a_file(&channel)),
            (None, _) if !recovers => outcome.findings.push(not_recovered(&channel)),
            (None, _) => outcome.fine.push(format!("{name}: position in a table, relay_log_recovery=ON")),
        }
    }
    Ok(outcome)
}

/// MariaDB without GTIDs. All its versions know SLAVE, and REPLICA only those from 10.5.1 on.
fn by_file(channel: &Channel<'_>) -> Finding {
    let (name, _) = channel.clause();
    let change = |to: &str| {
        format!("STOP SLAVE{name}; CHANGE MASTER{name} TO MASTER_USE_GTID = {to}; START SLAVE{name}")
    };
    unsafe_after_a_crash(
        channel,
        "have it use GTIDs, whose position is kept in the same transaction as the data",
    )
    .seen("SHOW REPLICA STATUS: Using_Gtid is No; the position is kept in the file relay-log.info")
    .seen("relay_log_recovery is OFF: a relay log that was torn is not fetched again")
    .sql(change("slave_pos"), Some(change("no")))
}

/// MySQL before 8.4 with what was its default before 8.0. All these know SLAVE, and REPLICA only those from 8.0.22 on.
fn in_a_file(channel: &Channel<'_>) -> Finding {
    const SET: &str = "STOP SLAVE; SET GLOBAL relay_log_info_repository";
    unsafe_after_a_crash(channel, "keep the position in a table, here and in the option file")
        .seen("relay_log_info_repository is FILE, and SOURCE_AUTO_POSITION is not 1")
        .sql(format!("{SET} = 'TABLE'; START SLAVE"), Some(format!("{SET} = 'FILE'; START SLAVE")))
}

/// MySQL without automatic positions.
fn not_recovered(channel: &Channel<'_>) -> Finding {
    unsafe_after_a_crash(channel, "turn relay_log_recovery on and restart when there is time for it, or use SOURCE_AUTO_POSITION")
        .seen("relay_log_recovery is OFF, and SOURCE_AUTO_POSITION is 0: a relay log that was torn is not fetched again")
        .sql("SET PERSIST_ONLY relay_log_recovery = ON", Some("RESET PERSIST IF EXISTS relay_log_recovery".into()))
}

fn unsafe_after_a_crash(channel: &Channel<'_>, advice: &str) -> Finding {
    let what =
        format!("after a crash it may apply what comes from {} twice, or leave some out", channel.name());
    Finding::observed(Weight::Yellow, what, advice).about(channel.name())
}
