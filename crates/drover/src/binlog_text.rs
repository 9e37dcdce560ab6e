//! What reports on binary logs look like on a terminal.

use std::fmt::Write as _;

use drover_binlog::{ReplayReport, StatReport};
use drover_report::plain::one_line;
use drover_units::show::{bytes, count, things};

use crate::report::paused;

/// What was applied, as a person reads it.
pub(crate) fn replay_text(replay: &ReplayReport) -> String {
    let mut out = String::new();
    let done = match (replay.dry_run, replay.flashback) {
        (false, false) => "applied",
        (true, false) => "would be applied",
        (false, true) => "undone",
        (true, true) => "would be undone",
    };
    let _ = writeln!(
        out,
        "{} {done}: {}, {}, {}; {} of logs{}",
        things(replay.transactions, "transaction"),
        things(replay.row_events, "row event"),
        things(replay.statements, "statement"),
        things(replay.loads, "file"),
        bytes(replay.bytes),
        paused(replay.paused_seconds),
    );
    if replay.applied_before > 0 {
        let before = things(replay.applied_before, "transaction");
        let verb = if replay.applied_before == 1 { "was" } else { "were" };
        let _ = writeln!(out, "{before} of the log where it resumed {verb} applied by an earlier run");
    }
    if !replay.dry_run && !replay.log.is_empty() {
        let _ = writeln!(out, "the target is where {} is at {}", one_line(&replay.log), replay.position);
    }
    if !replay.events_off.is_empty() {
        let one = if replay.event_on.is_empty() {
            String::new()
        } else {
            format!("; {} has one run", replay.event_on)
        };
        let names = replay.events_off.join(", ");
        let _ = writeln!(
            out,
            "scheduled events are off on the target, as on a replica: {}",
            one_line(&(names + &one))
        );
    }
    for one in &replay.collations {
        let _ =
            writeln!(out, "collation {} is {} on the target: {}", one_line(&one.from), one.to, one.reason);
    }
    for one in &replay.not_kept {
        let verb = if replay.dry_run { "would not be kept" } else { "not kept" };
        let _ = writeln!(out, "{verb}: {}", one_line(&format!("{}: {}: {}", one.at, one.what, one.reason)));
    }
    not_applied(&mut out, replay);
    out
}

/// What is not as the logs have it: rows that were missing, and what cannot be applied.
fn not_applied(out: &mut String, replay: &ReplayReport) {
    if replay.missing_rows > 0 {
        let rows = things(replay.missing_rows, "row");
        let _ = writeln!(out, "{rows} not undone, as a later transaction deleted or changed them:");
    }
    for row in replay.missing.iter().take(MOST_MISSING) {
        let _ = writeln!(out, "  {row}");
    }
    let others = replay.missing_rows.saturating_sub(MOST_MISSING as u64);
    if others > 0 {
        let _ = writeln!(out, "  and {} (--json names the first thousand)", things(others, "other"));
    }
    for problem in &replay.problems {
        let at = if problem.at.is_empty() { String::new() } else { format!("{}: ", problem.at) };
        let _ = writeln!(out, "{}", one_line(&format!("cannot be applied: {at}{}", problem.what)));
        if !problem.hint.is_empty() {
            let _ = writeln!(out, "  hint: {}", one_line(&problem.hint));
        }
    }
}

/// So many rows that were not there are named.
const MOST_MISSING: usize = 100;

/// So many tables and kinds of statements are named.
const MOST_NAMED: usize = 20;

/// What fills the logs, as a person reads it.
pub(crate) fn stat_text(stat: &StatReport) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{}, {}, {}",
        things(stat.logs.len() as u64, "log"),
        bytes(stat.bytes),
        things(stat.transactions, "transaction")
    );
    let mut parts: Vec<(u64, String, String)> = Vec::new();
    for table in &stat.by_table {
        let events = [
            (table.insert_events, "insert"),
            (table.update_events, "update"),
            (table.delete_events, "delete"),
        ];
        let events = events.iter().filter(|(events, _)| *events > 0);
        let events: Vec<_> = events.map(|(events, what)| format!("{} {what}", count(*events))).collect();
        let what = format!("{} events in {}", events.join(", "), things(table.transactions, "transaction"));
        parts.push((table.bytes, format!("{}.{}", table.schema, table.table), what));
    }
    for statement in &stat.by_statement {
        let what = things(statement.statements, "statement");
        parts.push((statement.bytes, statement.statement.clone(), what));
    }
    parts.sort_by_key(|part| std::cmp::Reverse(part.0));
    section(
        &mut out,
        "What fills them, with the share of what is around it",
        stat.bytes,
        &parts,
        stat.other_bytes,
    );
    let kinds: Vec<_> = stat
        .by_event
        .iter()
        .map(|kind| (kind.bytes, kind.event.clone(), things(kind.events, "event")))
        .collect();
    section(&mut out, "By type of event", stat.bytes, &kinds, 0);
    out
}

fn section(out: &mut String, title: &str, total: u64, parts: &[(u64, String, String)], other: u64) {
    let _ = writeln!(out, "\n{title}");
    let (named, rest) = parts.split_at(parts.len().min(MOST_NAMED));
    let mut row = |part: u64, name: &str, what: &str| {
        let percent = part as f64 * 100.0 / total.max(1) as f64;
        let name = one_line(name);
        let _ = writeln!(out, "{percent:>6.1} % {:>9}  {name:<32} {what}", bytes(part));
    };
    for (part, name, what) in named {
        row(*part, name, what);
    }
    if !rest.is_empty() {
        row(rest.iter().map(|(part, _, _)| part).sum(), &format!("{} others", rest.len()), "");
    }
    if other > 0 {
        row(other, "other", "belongs to none of these");
    }
}
