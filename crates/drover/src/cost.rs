//! What logs cost, as a person reads it on a terminal.

use std::fmt::Write as _;

use drover_binlog::{Basis, CostReport, CureReport, Safety, StatementCost};
use drover_report::plain::one_line;
use drover_units::show::{bit_rate, bytes, count, seconds, span, things};

/// So many tables and statements are named.
const MOST: usize = 15;
/// So much of a statement is shown, in characters.
const WIDTH: usize = 90;

/// What was found; `with_safety` says whether each statement's reasons are told.
pub(crate) fn text(cost: &CostReport, with_safety: bool) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{}, {}, {}",
        things(cost.logs.len() as u64, "log"),
        bytes(cost.bytes.total),
        things(cost.transactions, "transaction")
    );
    tables(cost, &mut out);
    statements(cost, with_safety, &mut out);
    peaks(cost, &mut out);
    cures(cost, &mut out);
    out
}

fn tables(cost: &CostReport, out: &mut String) {
    let mut parts: Vec<(u64, &str)> =
        cost.bytes.by_table.iter().map(|(table, bytes)| (*bytes, table.as_str())).collect();
    parts.sort_by_key(|part| std::cmp::Reverse(part.0));
    let _ = writeln!(out, "\nBy table, with the share of what is around its rows");
    for (part, table) in parts.iter().take(MOST) {
        line(out, *part, cost.bytes.total, table);
    }
    let rest: u64 = parts.iter().skip(MOST).map(|part| part.0).sum();
    if rest > 0 {
        line(out, rest, cost.bytes.total, &format!("{} others", parts.len() - MOST));
    }
    line(out, cost.bytes.other, cost.bytes.total, "no rows");
}

fn statements(cost: &CostReport, with_safety: bool, out: &mut String) {
    let _ = writeln!(out, "\nBy statement");
    for one in cost.statements.iter().take(MOST) {
        let what = format!("{} × {}", count(one.count), shortened(&one.text));
        line(out, one.bytes, cost.bytes.total, &what);
        if with_safety {
            let _ = writeln!(out, "{:>19}{}", "", one_line(&safety(one)));
        }
    }
    if cost.statements.len() > MOST {
        let rest = cost.statements[MOST..].iter().map(|one| one.bytes).sum();
        line(out, rest, cost.bytes.total, &format!("{} others", cost.statements.len() - MOST));
    }
}

/// Whether a statement is safe, and why not.
fn safety(one: &StatementCost) -> String {
    match one.verdict.safety {
        Safety::Safe => "safe as a statement".into(),
        Safety::Unsafe => format!("unsafe: {}", one.verdict.reasons.join(", ")),
        Safety::Unknown => format!("unknown: {}", one.verdict.unsure.join("; ")),
    }
}

/// When most was committed, and what at once.
fn peaks(cost: &CostReport, out: &mut String) {
    let width = cost.minutes.span_seconds.max(1);
    if let Some((begin, most)) = cost.busiest() {
        let rate = bit_rate((most / u64::from(width)).max(1));
        let span = span(width.into());
        let _ = writeln!(out, "\nAt most {} in a {span}: that from {begin} on, {rate}", bytes(most));
    }
    if let Some(largest) = cost.largest.first() {
        let _ = writeln!(
            out,
            "At most {} in a transaction: that at {} in {}",
            bytes(largest.bytes),
            largest.position,
            one_line(&largest.log)
        );
    }
}

fn cures(cost: &CostReport, out: &mut String) {
    let link = cost
        .link
        .as_ref()
        .map(|link| format!(", and the lag of a link of {}", bit_rate(link.bytes_per_second)));
    let _ = writeln!(out, "\nThe same traffic with other settings{}", link.unwrap_or_default());
    for cure in &cost.cures {
        let _ = writeln!(out, "{}", cure_line(cure));
    }
    for why in cost.doubts() {
        let _ = writeln!(out, "about: {why}");
    }
}

fn cure_line(cure: &CureReport) -> String {
    let is_today = cure.settings.is_empty();
    let saved = if is_today { String::new() } else { format!("{:+.1} %", -100.0 * cure.saved) };
    let told = match cure.basis {
        Basis::Exact => "",
        Basis::Estimated => "about",
    };
    let lag = cure.lag.as_ref().map(|lag| format!("  lag ≤ {:<12}", seconds(lag.longest)));
    let settings = cure.settings.join(", ");
    let line = format!(
        "{told:>5} {:>9} {saved:>8}  {:<34}{} {settings}",
        bytes(cure.bytes),
        cure.title,
        lag.unwrap_or_default()
    );
    line.trim_end().to_owned()
}

fn line(out: &mut String, part: u64, total: u64, name: &str) {
    let percent = part as f64 * 100.0 / total.max(1) as f64;
    let _ = writeln!(out, "{percent:>6.1} % {:>9}  {}", bytes(part), one_line(name));
}

fn shortened(text: &str) -> String {
    if text.chars().count() <= WIDTH {
        return text.to_owned();
    }
    text.chars().take(WIDTH - 1).chain(['…']).collect()
}
