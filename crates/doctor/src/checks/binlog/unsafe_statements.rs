//! Statements that were logged though they may do something else on a replica.

use drover_units::show;

use super::format::format;
use crate::check::{Area, Check, Finding, Outcome, Weight};
use crate::evidence::{Seen, Unseen};
use crate::facts::Facts;

pub(crate) const CHECK: Check = Check {
    rule: "binlog.unsafe",
    area: Area::Binlog,
    looks_for: "statements that are unsafe for replication and were logged as such",
    needs: "MySQL: performance_schema.events_errors_summary_global_by_error (SELECT); MariaDB counts none",
    source: "MySQL manual, Determination of Safe and Unsafe Statements in Binary Logging and Error Summary Tables: warnings count too",
    refuted_by: "source and replica have the same rows, as `drover verify` of a dump of the one tells on the other",
    look,
};

const COUNT: &str = "SELECT SUM_ERROR_RAISED AS raised, FIRST_SEEN AS first, LAST_SEEN AS last FROM \
                     performance_schema.events_errors_summary_global_by_error WHERE ERROR_NUMBER = 1592";

fn look(facts: &Facts) -> Seen<Outcome> {
    match format(facts)?.as_deref() {
        Some("STATEMENT") => {}
        Some(format) => {
            return Ok(Outcome::not_here(format!(
                "with binlog_format {format} unsafe statements go as rows"
            )));
        }
        None => return Ok(Outcome::not_here("it writes no binary log")),
    }
    let told = match facts.ask(COUNT) {
        Err(Unseen::Missing) => return Ok(Outcome::unknown(NOT_COUNTED)),
        other => other?,
    };
    let Some(raised) = told.first("raised").and_then(|raised| raised.parse::<u64>().ok()) else {
        return Ok(Outcome::unknown(
            "performance_schema does not count errors (its instrument `error` is off)",
        ));
    };
    if raised == 0 {
        return Ok(Outcome::fine("performance_schema has counted no unsafe statement (error 1592)"));
    }
    let when = |column| told.first(column).unwrap_or("?");
    Ok(Outcome::found(
        Finding::observed(
            Weight::Yellow,
            "statements were logged as such that may do something else on a replica",
            "have rows logged, then compare the tables of source and replica; the error log and `drover binlog cost --safety` tell which \
             statements they are",
        )
        .seen(format!(
            "error 1592 (ER_BINLOG_UNSAFE_STATEMENT) was raised {} times, from {} to {}",
            show::count(raised),
            when("first"),
            when("last")
        ))
        .measure("drover binlog cost --safety --from-server")
        .sql("SET GLOBAL binlog_format = 'ROW'", Some("SET GLOBAL binlog_format = 'STATEMENT'".into())),
    ))
}

const NOT_COUNTED: &str = "this server does not count unsafe statements; with log_warnings of 1 or more they stand in its error log, as \
                           `Unsafe statement written to the binary log`, and `drover binlog cost --safety --from-server` judges what is \
                           in the log";
