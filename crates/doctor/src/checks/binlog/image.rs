//! Whole rows in the log, where less would do.

use drover_units::show;
use serde_json::Value;

use super::format::format;
use super::logs;
use crate::check::{Area, Check, Finding, Outcome, Weight};
use crate::evidence::{Seen, Unseen};
use crate::facts::Facts;

pub(crate) const CHECK: Check = Check {
    rule: "binlog.image",
    area: Area::Binlog,
    looks_for: "whole rows in a log that is not compressed, and what another setting would save",
    needs: "the server's variables; what `drover --json binlog cost` said of this server's logs (--results)",
    source: "docs/binlog-cost.md; MySQL manual, binlog_row_image and Binary Log Transaction Compression; MariaDB manual, Compressing \
             Events to Reduce Size of the Binary Log",
    refuted_by: "`drover binlog cost --compression` of logs of other hours tells of no saving; or who reads the log wants whole rows",
    look,
};

/// What can be set on the server, with what it is now where this check looks further.
const SETTINGS: [(&str, &[&str], &str); 3] = [
    ("binlog_row_image", &["MINIMAL", "NOBLOB"], "FULL"),
    ("binlog_transaction_compression", &["ON"], "OFF"),
    ("log_bin_compress", &["ON"], "OFF"),
];
/// Shares of the log: what is not worth a word, and what is worth more than a note.
const SOME: f64 = 0.1;
const MUCH: f64 = 0.3;
/// Bytes a second from which on somebody should look at what they are.
const FAST: f64 = 100_000.0;

fn look(facts: &Facts) -> Seen<Outcome> {
    match format(facts)?.as_deref() {
        None => return Ok(Outcome::not_here("it writes no binary log")),
        Some("STATEMENT") => return Ok(Outcome::not_here("it logs no rows")),
        Some(_) => {}
    }
    for (variable, _, usual) in SETTINGS {
        match facts.variable(variable) {
            Err(Unseen::Missing) => {}
            value => {
                let value = value?;
                if !value.eq_ignore_ascii_case(usual) {
                    return Ok(Outcome::fine(format!("{variable} is {value}")));
                }
            }
        }
    }
    let told: Vec<_> = of_this_server(facts)?;
    match told.iter().filter_map(|(file, told)| Some((file, told, best(told)?))).next_back() {
        Some((file, told, cure)) => Ok(judge(file, told, cure)),
        None => not_told(facts),
    }
}

/// Results that are of logs that have this server's name.
fn of_this_server(facts: &Facts) -> Seen<Vec<(String, Value)>> {
    let basename = match facts.variable("log_bin_basename") {
        // MySQL before 5.6 does not tell how its logs are called: no result is known to be of them.
        Err(Unseen::Missing) => return Ok(Vec::new()),
        basename => basename?,
    };
    let name = basename.rsplit('/').next().unwrap_or(&basename).to_owned();
    let is_ours = |told: &Value| {
        let log = told["logs"][0]["name"].as_str().unwrap_or_default();
        let file = log.rsplit('/').next().unwrap_or_default();
        file.strip_prefix(&name).is_some_and(|rest| rest.starts_with('.'))
    };
    Ok(facts.costs().into_iter().filter(|(_, told)| is_ours(told)).collect())
}

/// The cure that saves the most of those that are set on the server itself.
fn best(told: &Value) -> Option<&Value> {
    let cures = told["cures"].as_array()?.iter();
    let settable = cures.filter(|cure| settings(cure).is_some_and(|settings| !settings.is_empty()));
    settable.max_by(|a, b| saved(a).total_cmp(&saved(b)))
}

fn saved(cure: &Value) -> f64 {
    cure["saved"].as_f64().unwrap_or(0.0)
}

/// What a cure sets, with what that is now; `None` if one of these is nothing that is set here.
fn settings(cure: &Value) -> Option<Vec<(&'static str, &'static str, &'static str)>> {
    let known = |setting: &Value| {
        let (name, value) = setting.as_str()?.split_once('=')?;
        let (name, values, now) = SETTINGS.into_iter().find(|(known, ..)| *known == name)?;
        Some((name, *values.iter().find(|known| **known == value)?, now))
    };
    cure["settings"].as_array()?.iter().map(known).collect()
}

fn judge(file: &str, told: &Value, cure: &Value) -> Outcome {
    let saved = saved(cure);
    let total = told["bytes"]["total"].as_u64().unwrap_or(0);
    if saved < SOME {
        return Outcome::fine(format!(
            "{file}: no setting saves more than {:.0} % of {}",
            saved * 100.0,
            show::bytes(total)
        ));
    }
    let settings = settings(cure).unwrap_or_default();
    let names: Vec<_> = settings.iter().map(|(name, value, _)| format!("{name}={value}")).collect();
    let is_exact = cure["basis"] == "exact";
    let mut finding = Finding::measured(
        if saved < MUCH { Weight::Note } else { Weight::Yellow },
        format!("the log would be {:.0} % smaller with {}", saved * 100.0, names.join(" and ")),
        "set it here and in the option file, if nobody who reads the log wants whole rows, such as change data capture or a flashback",
    )
    .seen(format!("{file}: what `drover binlog cost` said of {} of this server's logs", show::bytes(total)))
    .effect(format!(
        "{} of {}{}",
        show::bytes((total as f64 * saved) as u64),
        show::bytes(total),
        if is_exact { "" } else { ", estimated" }
    ));
    for why in cure["why"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        finding = finding.seen(format!("estimated: {why}"));
    }
    for (name, value, now) in settings {
        finding = finding.sql(set(name, value), Some(set(name, now)));
    }
    Outcome::found(finding)
}

fn set(name: &str, value: &str) -> String {
    match value {
        "ON" | "OFF" => format!("SET GLOBAL {name} = {value}"),
        value => format!("SET GLOBAL {name} = '{value}'"),
    }
}

/// What it costs here nobody has measured.
fn not_told(facts: &Facts) -> Seen<Outcome> {
    const MEASURE: &str = "drover --json binlog cost --compression --from-server > cost.json && drover doctor binlog --results cost.json";
    let (bytes, seconds) = logs::growth(facts)?;
    let rate =
        format!("the log grew by {} over {seconds:.1} s", show::rate((bytes * seconds) as u64, seconds));
    if bytes < FAST {
        return Ok(Outcome::fine(format!("whole rows, not compressed; {rate}")));
    }
    Ok(Outcome::found(
        Finding::rule_only(
            "whole rows are logged, and the log is not compressed",
            "measure what other settings would save of this very log before one is changed",
        )
        .seen(rate)
        .measure(MEASURE),
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_best_that_can_be_set_here() {
        let cure = |name: &str, saved: f64, set: &[&str]| json!({"cure": name, "saved": saved, "settings": set, "basis": "exact"});
        let told = json!({"bytes": {"total": 1_000_000}, "cures": [
            cure("today", 0.0, &[]),
            cure("minimal", 0.4, &["binlog_row_image=MINIMAL"]),
            cure("statement", 0.8, &["binlog_format=MIXED"]),
            cure("minimal_compression", 0.7, &["binlog_row_image=MINIMAL", "binlog_transaction_compression=ON"]),
            cure("minimal_connection", 0.9, &["binlog_row_image=MINIMAL", "slave_compressed_protocol=ON on the replica"]),
        ]});
        let best = best(&told).unwrap();
        assert_eq!(best["cure"], "minimal_compression");
        let found = judge("cost.json", &told, best).findings;
        assert_eq!((found[0].weight, found[0].remedies.len()), (Weight::Yellow, 2));
        assert_eq!(
            found[0].remedies[1].undo.as_deref(),
            Some("SET GLOBAL binlog_transaction_compression = OFF")
        );
        assert!(
            judge("cost.json", &told, &cure("noblob", 0.05, &["binlog_row_image=NOBLOB"]))
                .findings
                .is_empty()
        );
        // What stands in a file is no statement.
        let odd = cure("minimal", 0.5, &["binlog_row_image=MINIMAL'; DROP TABLE t; -- "]);
        assert!(settings(&odd).is_none());
    }
}
