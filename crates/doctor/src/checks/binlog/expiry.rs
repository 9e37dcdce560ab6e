//! Logs that are kept for ever, or not for long enough.

use drover_host::Space;
use drover_units::show;

use super::logs::{self, Log};
use super::replicas;
use crate::check::{Area, Check, Finding, Outcome, Weight};
use crate::evidence::{Seen, Unseen};
use crate::facts::Facts;
use crate::places;

pub(crate) const CHECK: Check = Check {
    rule: "binlog.expiry",
    area: Area::Binlog,
    looks_for: "binary logs that never expire, or before a replica that was away for a day is back",
    needs: "the server's variables; SHOW BINARY LOGS (REPLICATION CLIENT on MySQL, BINLOG MONITOR on MariaDB); the file \
            system's free space",
    source: "MySQL manual, binlog_expire_logs_seconds and binlog_expire_logs_auto_purge; MariaDB manual, Using and Maintaining the Binary \
             Log",
    refuted_by: "something else removes them, such as a backup with PURGE BINARY LOGS",
    look,
};

/// Seconds.
const DAY: u64 = 86_400;
/// The share of the file system's free space from which on logs that are never removed matter.
const MUCH: f64 = 0.1;

fn look(facts: &Facts) -> Seen<Outcome> {
    if !facts.is_on("log_bin")? {
        return Ok(Outcome::not_here("it writes no binary log"));
    }
    let limit = limit(facts)?;
    match limit {
        Limit::Never(why) => kept_for_ever(facts, &why),
        Limit::Bytes(bytes) => Ok(Outcome::fine(format!("max_binlog_total_size is {}", show::bytes(bytes)))),
        Limit::Seconds(seconds) if seconds < DAY => short(facts, seconds),
        Limit::Seconds(seconds) => {
            Ok(Outcome::fine(format!("binary logs expire after {}", show::span(seconds))))
        }
    }
}

/// When logs are removed.
enum Limit {
    Never(String),
    Seconds(u64),
    Bytes(u64),
}

/// Several variables say it, of which each server knows some.
fn limit(facts: &Facts) -> Seen<Limit> {
    let number = |name| match facts.number(name) {
        Err(Unseen::Missing) => Ok(None),
        other => other.map(|number| Some((name, number))),
    };
    let sizes = number("max_binlog_total_size")?;
    if let Some((_, bytes)) = sizes.filter(|(_, bytes)| *bytes > 0.0) {
        return Ok(Limit::Bytes(bytes as u64));
    }
    if facts.is_on("binlog_expire_logs_auto_purge") == Ok(false) {
        return Ok(Limit::Never("binlog_expire_logs_auto_purge is OFF".to_owned()));
    }
    let (seconds, days) = (number("binlog_expire_logs_seconds")?, number("expire_logs_days")?);
    let all = seconds.map_or(0.0, |(_, seconds)| seconds);
    let all = if all > 0.0 { all } else { days.map_or(0.0, |(_, days)| days * DAY as f64) };
    if all > 0.0 {
        return Ok(Limit::Seconds(all as u64));
    }
    let names: Vec<_> =
        [seconds, days].into_iter().flatten().map(|(name, _)| format!("{name} is 0")).collect();
    if names.is_empty() { Err(Unseen::Missing) } else { Ok(Limit::Never(names.join(", "))) }
}

fn kept_for_ever(facts: &Facts, why: &str) -> Seen<Outcome> {
    let space = places::of_binary_log(facts).and_then(|folder| facts.evidence.space(folder));
    let mut outcome = Outcome::default();
    let mut seen = vec![why.to_owned()];
    let mut weight = Weight::Note;
    match logs::all(facts) {
        Ok(logs) => {
            weight = space.as_ref().map_or(Weight::Note, |space| weight_of(total(&logs), *space));
            seen.push(told(&logs));
        }
        Err(unseen) => outcome.unknown.push(format!("how large the logs are: {unseen}")),
    }
    match &space {
        Ok(space) => seen.push(format!(
            "{} of {} are free on their file system",
            show::bytes(space.free),
            show::bytes(space.bytes)
        )),
        Err(unseen) => outcome.unknown.push(format!("how full their file system is: {unseen}")),
    }
    let mut finding = Finding::observed(
        weight,
        "binary logs never expire",
        "let them expire, after longer than any replica is away and any backup takes; here and in the option file",
    );
    finding.seen = seen;
    outcome.findings.push(expire(facts, finding));
    Ok(outcome)
}

/// A week, in the way that the server knows.
fn expire(facts: &Facts, finding: Finding) -> Finding {
    let set = |name: &str, value: &str| format!("SET GLOBAL {name} = {value}");
    if facts.is_on("binlog_expire_logs_auto_purge") == Ok(false) {
        let name = "binlog_expire_logs_auto_purge";
        return finding.sql(set(name, "ON"), Some(set(name, "OFF")));
    }
    match facts.variable("binlog_expire_logs_seconds") {
        Ok(_) => {
            let name = "binlog_expire_logs_seconds";
            finding.sql(set(name, &(7 * DAY).to_string()), Some(set(name, "0")))
        }
        Err(_) => finding.sql(set("expire_logs_days", "7"), Some(set("expire_logs_days", "0"))),
    }
}

fn total(logs: &[Log]) -> u64 {
    logs.iter().map(|log| log.bytes).sum()
}

fn told(logs: &[Log]) -> String {
    let first = logs.first().map_or("none", |log| log.name.as_str());
    format!(
        "{} of {}, the oldest is {first}",
        show::things(logs.len() as u64, "log"),
        show::bytes(total(logs))
    )
}

fn weight_of(bytes: u64, space: Space) -> Weight {
    if bytes as f64 > space.free as f64 * MUCH { Weight::Yellow } else { Weight::Note }
}

fn short(facts: &Facts, seconds: u64) -> Seen<Outcome> {
    let replicas = replicas::connected(facts)?;
    let span = show::span(seconds);
    if replicas.is_empty() {
        return Ok(Outcome::fine(format!("binary logs expire after {span}; no replica is connected")));
    }
    Ok(Outcome::found(
        Finding::observed(
            Weight::Yellow,
            format!("a replica that is away for {span} cannot come back"),
            "keep the logs for longer than a replica may be away, if there is the space",
        )
        .seen(format!("binary logs expire after {span}; connected: {}", replicas.join(", "))),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_that_take_much_of_what_is_free() {
        let space = Space { bytes: 100 << 30, free: 20 << 30 };
        assert_eq!(weight_of(1 << 30, space), Weight::Note);
        assert_eq!(weight_of(3 << 30, space), Weight::Yellow);
    }
}
