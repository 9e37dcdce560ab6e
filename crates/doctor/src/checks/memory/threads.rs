//! Threads that are made for connections, as none is kept from earlier ones.

use crate::check::{Area, Check, Finding, Outcome, Weight};
use crate::connect::{Effect, Rate, Verdict, effects};
use crate::evidence::Seen;
use crate::facts::Facts;

pub(crate) const CHECK: Check = Check {
    rule: "memory.threads",
    area: Area::Memory,
    looks_for: "threads that are made for each connection, because thread_cache_size keeps too few",
    needs: "status and variables of the server, which any account sees",
    source: "MySQL manual, Connection Interfaces, on the threads of client connections and thread_cache_size",
    refuted_by: "`drover bench connect --vary thread_cache_size=…` finds no effect here",
    look,
};

/// Threads made a second, from which on it is worth a look.
const MANY: f64 = 10.0;
/// The share of connections that find no thread.
const OFTEN: f64 = 0.2;

fn look(facts: &Facts) -> Seen<Outcome> {
    let handling = facts.variable("thread_handling").unwrap_or_default();
    if !["", "one-thread-per-connection"].contains(&handling.as_str()) {
        return Ok(Outcome::not_here(format!(
            "thread_handling is {handling}: threads are not made for connections"
        )));
    }
    let size = facts.number("thread_cache_size")?;
    let (rate, (made, seconds)) = (Rate::of_server(facts)?, facts.growth("Threads_created")?);
    let since_start = facts.status("Threads_created")? / facts.status("Connections")?.max(1.0);
    let seen = format!(
        "{made:.1} threads made a second for {:.1} connections a second, over {seconds:.1} s; since the start {:.0} threads for 100 connections; thread_cache_size {size}",
        rate.per_second,
        since_start * 100.0
    );
    let (effects, _) = effects(facts, "thread_cache_size", size);
    let is_busy = made >= MANY && made / rate.per_second.max(1.0) >= OFTEN;
    let mut outcome = Outcome::default();
    let worst = effects.iter().find(|effect| effect.verdict == Verdict::More);
    if let Some(worst) = worst {
        outcome.findings.push(measured(worst, rate, size).seen(seen));
    } else if !effects.is_empty() || !is_busy {
        outcome.fine.push(seen);
        outcome.fine.extend(effects.iter().map(|effect| format!("{} ({})", effect.text(rate), effect.file)));
    } else {
        outcome.findings.push(observed(facts, size, made / rate.per_second).seen(seen));
    }
    Ok(outcome)
}

fn measured(effect: &Effect, rate: Rate, size: f64) -> Finding {
    let costs = effect.share(rate).is_some_and(|(low, _)| low >= 1.0);
    let weight = if costs { Weight::Yellow } else { Weight::Note };
    let what = format!("thread_cache_size = {size} makes connecting dearer than {}", effect.other);
    Finding::measured(weight, what, "keep more threads: an idle one costs little memory")
        .effect(effect.text(rate))
        .seen(format!("{}: measured here", effect.file))
        .sql(format!("SET GLOBAL thread_cache_size = {}", effect.other), Some(undo(size)))
}

fn observed(facts: &Facts, size: f64, share: f64) -> Finding {
    // As many as were ever in use at once, within reason.
    let more = facts.status("Max_used_connections").unwrap_or(0.0).clamp(size + 8.0, size.max(512.0) + 8.0);
    Finding::observed(
        Weight::Yellow,
        format!("{:.0} of 100 connections have a thread made for them", share * 100.0),
        "keep more threads, or have the application keep its connections, which is cheaper still",
    )
    .sql(format!("SET GLOBAL thread_cache_size = {more}"), Some(undo(size)))
    .measure(format!("drover bench connect --vary thread_cache_size={size},{more}"))
}

fn undo(size: f64) -> String {
    format!("SET GLOBAL thread_cache_size = {size}")
}
