//! What is logged of a change: rows, or the statement.

use crate::check::{Area, Check, Finding, Outcome, Weight};
use crate::evidence::{Seen, Unseen};
use crate::facts::Facts;

pub(crate) const CHECK: Check = Check {
    rule: "binlog.format",
    area: Area::Binlog,
    looks_for: "binlog_format STATEMENT, and isolation levels under which InnoDB refuses to log statements",
    needs: "the server's variables",
    source: "MySQL manual, Binary Logging Formats and Setting The Binary Log Format: READ COMMITTED and READ UNCOMMITTED \
             need rows (error 1665, ER_BINLOG_STMT_MODE_AND_ROW_ENGINE); MariaDB manual, Binary Log Formats",
    refuted_by: "`drover binlog cost --safety` finds no statement that is unsafe, or whose verdict is unknown",
    look,
};

fn look(facts: &Facts) -> Seen<Outcome> {
    let Some(format) = format(facts)? else { return Ok(Outcome::not_here("it writes no binary log")) };
    if format != "STATEMENT" {
        return Ok(Outcome::fine(format!("binlog_format is {format}")));
    }
    let mut outcome = Outcome::found(
        Finding::rule_only(
            "changes are logged as statements, which may change other rows on a replica",
            "have rows logged: here, and in the option file; sessions that are open keep what they have",
        )
        .seen("binlog_format is STATEMENT")
        .measure("drover binlog cost --safety --from-server")
        .sql("SET GLOBAL binlog_format = 'ROW'", Some("SET GLOBAL binlog_format = 'STATEMENT'".into())),
    );
    let (variable, level) = isolation(facts)?;
    if level.starts_with("READ") {
        outcome.findings.push(refused(variable, &level));
    }
    Ok(outcome)
}

/// How changes are logged; `None` if they are not.
pub(super) fn format(facts: &Facts) -> Seen<Option<String>> {
    if !facts.is_on("log_bin")? {
        return Ok(None);
    }
    Ok(Some(match facts.variable("binlog_format") {
        // A server that knows rows only.
        Err(Unseen::Missing) => "ROW".to_owned(),
        other => other?.to_ascii_uppercase(),
    }))
}

/// The level that sessions begin with, and the variable of it; MariaDB before 11.1 has the older name.
fn isolation(facts: &Facts) -> Seen<(&'static str, String)> {
    match facts.variable("transaction_isolation") {
        Err(Unseen::Missing) => Ok(("tx_isolation", facts.variable("tx_isolation")?)),
        other => Ok(("transaction_isolation", other?)),
    }
}

fn refused(variable: &str, level: &str) -> Finding {
    let set = |level: &str| format!("SET GLOBAL {variable} = '{level}'");
    Finding::observed(
        Weight::Red,
        format!("InnoDB refuses each change under {level}, as it may be logged as a statement only"),
        "have rows logged, or let sessions begin with REPEATABLE READ",
    )
    .about(variable.to_owned())
    .seen(format!("binlog_format is STATEMENT, {variable} is {level}"))
    .effect("all changes of InnoDB tables fail with error 1665, in sessions that do not set another level")
    .sql(set("REPEATABLE-READ"), Some(set(level)))
}
