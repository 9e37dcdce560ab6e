//! Buffers of sessions that are large enough for a mapping of their own: what they cost is a measurement's to say.

use drover_units::show;

use crate::allocator::{Allocator, Threshold};
use crate::check::{Area, Check, Finding, Outcome, Weight};
use crate::connect::{Effect, Rate, Verdict, effects};
use crate::evidence::{Seen, Unseen};
use crate::facts::Facts;

pub(crate) const CHECK: Check = Check {
    rule: "memory.buffers",
    area: Area::Memory,
    looks_for: "buffers of sessions that make connections dearer: by `drover bench connect`, else by the allocator's mmap threshold",
    needs: "status and variables of the server; /proc/PID/maps (root or the server's user) or version_malloc_library; results of \
            `drover bench connect --vary` with --results",
    source: "mallopt(3) on M_MMAP_THRESHOLD; MySQL manual, How MySQL Uses Memory; docs/bench-connect.md",
    refuted_by: "`drover bench connect --vary NAME=…` finds no effect here",
    look,
};

/// Connects a second, from which on what each of them costs is worth a look.
const OFTEN: f64 = 10.0;

/// Buffers, what they are allocated for, and the work of `drover bench connect` that has them allocated.
const BUFFERS: [(&str, &str, &str); 8] = [
    ("binlog_cache_size", "by a session that changes rows, while there is a binary log", "query"),
    ("join_buffer_size", "where tables are joined without an index", "join"),
    ("mrr_buffer_size", "where rows are read in ranges of an index", "join"),
    ("net_buffer_length", "by each connection", "connect"),
    ("query_prealloc_size", "by each connection", "connect"),
    ("read_buffer_size", "where a table of MyISAM, Aria or CSV is read from its beginning", "scan"),
    ("read_rnd_buffer_size", "where rows are fetched in the order of a sort", "sort"),
    ("sort_buffer_size", "where rows are sorted", "sort"),
];

fn look(facts: &Facts) -> Seen<Outcome> {
    let rate = Rate::of_server(facts)?;
    let mut outcome = Outcome::default();
    let mut open = Vec::new();
    for (name, allocated, work) in BUFFERS {
        let Ok(bytes) = facts.number(name) else { continue };
        let (effects, others) = effects(facts, name, bytes);
        if effects.is_empty() {
            open.push(Buffer { name, bytes, allocated, work, others });
        } else {
            measured(name, allocated, &effects, rate, &mut outcome);
        }
    }
    by_rule(facts, &open, rate, &mut outcome)?;
    Ok(outcome)
}

/// A buffer of which nothing was measured.
struct Buffer {
    name: &'static str,
    bytes: f64,
    allocated: &'static str,
    work: &'static str,
    /// Why results of it do not count.
    others: Vec<String>,
}

/// The verdict is the measurement's.
fn measured(name: &str, allocated: &str, effects: &[Effect], rate: Rate, outcome: &mut Outcome) {
    let told = |effect: &Effect| format!("{name}: {} ({})", effect.text(rate), effect.file);
    let (dearer, rest): (Vec<&Effect>, Vec<&Effect>) =
        effects.iter().partition(|effect| effect.verdict == Verdict::More);
    let Some(first) = dearer.first() else {
        outcome.fine.extend(effects.iter().map(told));
        return;
    };
    let most = dearer.iter().filter_map(|effect| effect.share(rate)).map(|(low, _)| low).fold(0.0, f64::max);
    let weight = if most >= 1.0 { Weight::Yellow } else { Weight::Note };
    let mut finding = Finding::measured(
        weight,
        format!("{name} = {} makes sessions dearer than {} would", first.here, first.other),
        format!("set it smaller for all, and larger in the sessions that gain by it: it is allocated only {allocated}"),
    )
    .about(name)
    .effect(first.text(rate))
    .seen(rate.text())
    .sql(format!("SET GLOBAL {name} = {}", bytes(&first.other)), Some(format!("SET GLOBAL {name} = {}", bytes(&first.here))));
    for effect in dearer.into_iter().chain(rest) {
        finding = finding.seen(told(effect));
    }
    outcome.findings.push(finding);
}

/// A value as SQL takes it: `5M` is what options take.
fn bytes(value: &str) -> String {
    let number = |end: char| value.strip_suffix([end, end.to_ascii_lowercase()])?.parse::<u64>().ok();
    let scaled =
        [('K', 10), ('M', 20), ('G', 30)].into_iter().find_map(|(end, bits)| Some(number(end)? << bits));
    scaled.map_or_else(|| value.to_owned(), |bytes| bytes.to_string())
}

/// What a rule says of buffers that somebody has made larger than they come.
fn by_rule(facts: &Facts, open: &[Buffer], rate: Rate, outcome: &mut Outcome) -> Seen<()> {
    if rate.per_second < OFTEN {
        outcome.fine.push(format!("{}: too few for a buffer to matter", rate.text()));
        return Ok(());
    }
    let set = set_by_somebody(facts)?;
    let open: Vec<_> = open.iter().filter(|buffer| set.iter().any(|name| name == buffer.name)).collect();
    if open.is_empty() {
        outcome.fine.push(format!(
            "{}; no other buffer of sessions is set to another size than it comes with",
            rate.text()
        ));
        return Ok(());
    }
    let allocator = match Allocator::of_server(facts) {
        Ok(allocator) => allocator,
        Err(unseen) => {
            outcome.unknown.push(format!("which allocator the server has: {unseen}"));
            return Ok(());
        }
    };
    let Some(threshold) = Threshold::of(facts, &allocator) else {
        outcome.fine.push(format!("{} has no mmap threshold ({})", allocator.name, allocator.seen));
        return Ok(());
    };
    for buffer in open {
        if buffer.bytes >= threshold.bytes as f64 {
            outcome.findings.push(noted(buffer, &threshold, &allocator, rate));
        } else {
            outcome.fine.push(format!("{} lies below the mmap threshold ({})", buffer.name, threshold.seen));
        }
    }
    Ok(())
}

fn noted(buffer: &Buffer, threshold: &Threshold, allocator: &Allocator, rate: Rate) -> Finding {
    let Buffer { name, bytes, allocated, work, others } = buffer;
    let adapts = match threshold.is_fixed {
        true => "it is fixed, so that each allocation asks the kernel",
        false => {
            "glibc moves it up when such a block is freed, to 32 MiB at most, so that it may cost nothing here"
        }
    };
    let mut finding = Finding::rule_only(
        format!("{name} = {} is above the mmap threshold, and sessions connect often", show::bytes(*bytes as u64)),
        format!("measure what it costs before it is changed: it is allocated only {allocated}"),
    )
    .about(*name)
    .seen(format!("{}; {}; {adapts}", threshold.seen, allocator.seen))
    .seen(rate.text())
    .measure(format!(
        "drover --json bench connect --vary {name}={},{bytes} --work {work} --rate {:.0} > {name}.json; drover doctor memory --results {name}.json",
        128 << 10,
        rate.per_second
    ));
    for other in others {
        finding = finding.seen(format!("does not count: {other}"));
    }
    finding
}

/// The names of buffers that have not the size with which the server comes.
fn set_by_somebody(facts: &Facts) -> Seen<Vec<String>> {
    let names = BUFFERS.map(|(name, ..)| format!("'{name}'")).join(", ");
    let asked = [
        format!(
            "SELECT LOWER(VARIABLE_NAME) AS name FROM information_schema.SYSTEM_VARIABLES \
             WHERE GLOBAL_VALUE <> DEFAULT_VALUE AND VARIABLE_NAME IN ({names})"
        ),
        format!(
            "SELECT LOWER(VARIABLE_NAME) AS name FROM performance_schema.variables_info \
             WHERE VARIABLE_SOURCE <> 'COMPILED' AND VARIABLE_NAME IN ({names})"
        ),
    ];
    for sql in asked {
        match facts.ask(&sql) {
            Err(Unseen::Missing) => {}
            other => {
                let answer = other?;
                let name = |row: &Vec<Option<String>>| answer.value(row, "name").map(str::to_owned);
                return Ok(answer.rows.iter().filter_map(name).collect());
            }
        }
    }
    Err(Unseen::Missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_as_sql_takes_them() {
        assert_eq!(
            ["128K", "5M", "1g", "131072", "DEFAULT"].map(bytes),
            ["131072", "5242880", "1073741824", "131072", "DEFAULT"]
        );
    }
}
