//! What a run leaves: the figures of each repeat and each number of connections.

use serde::Serialize;

use super::audit::{Audited, Verdict};
use super::card::Line;
use super::kind::Kind;
use super::latency::Percentiles;
use super::pace::Load;
use super::processor::ClientCpu;
use super::random::Constants;
use super::tally::{Retries, Tally};
use crate::{Better, Measure};

/// What a run leaves beside what all results have.
#[derive(Debug, Clone, Serialize)]
pub struct RunDetail {
    /// The schema.
    pub schema: String,
    /// How many warehouses it holds.
    pub warehouses: u32,
    /// What decides when transactions begin.
    pub load: Load,
    /// How long each run was measured, in seconds.
    pub seconds_each: f64,
    /// How long each ran before that.
    pub warm_up_seconds: f64,
    /// The constant by which the load drew last names.
    pub c_last_of_load: u32,
    /// Those by which the runs drew.
    pub constants: Constants,
    /// Each run: all numbers of connections of the first repeat, then those of the next.
    pub runs: Vec<Run>,
    /// How far this is what the specification asks for.
    pub card: Vec<Line>,
}

/// One run.
#[derive(Debug, Clone, Serialize)]
pub struct Run {
    /// How many connections worked.
    pub connections: u32,
    /// Which repeat it is, from 1.
    pub repeat: u32,
    /// New-Orders a minute, those that were rolled back included.
    pub nopm: f64,
    /// Transactions of all types a second.
    pub transactions_a_second: f64,
    /// New-Orders that ended in each second.
    pub new_orders: Vec<u64>,
    /// Each type of transaction.
    pub transactions: Vec<OfKind>,
    /// Transactions that were due and for which no connection was free, with an open load.
    pub not_begun: u64,
    /// What the client used of the machine.
    pub client: ClientCpu,
    /// Inputs, against what the specification allows.
    pub audit: Vec<Audited>,
}

/// A type of transaction in a run.
#[derive(Debug, Clone, Serialize)]
pub struct OfKind {
    /// Which one.
    pub kind: Kind,
    /// How many were done.
    pub done: u64,
    /// Its share of all that were done, from 0 to 1.
    pub share: f64,
    /// Those that were rolled back as the input asked for.
    pub rolled_back: u64,
    /// How often one was tried again.
    pub retries: Retries,
    /// Those that the server refused.
    pub errors: Vec<Refusals>,
    /// From when it was sent to its end, tries included.
    pub service: Percentiles,
    /// From when it was to begin.
    pub from_intended: Percentiles,
}

/// Transactions that the server refused with one error.
#[derive(Debug, Clone, Serialize)]
pub struct Refusals {
    /// The server's error number.
    pub code: u16,
    /// How many.
    pub count: u64,
    /// The first one's error.
    pub example: String,
}

impl Run {
    pub(super) fn of(
        tally: &Tally,
        (connections, repeat): (u32, u32),
        warehouses: u32,
        not_begun: u64,
        client: ClientCpu,
    ) -> Self {
        let all: u64 = tally.kinds.iter().map(|of_kind| of_kind.done).sum();
        let transactions = Kind::ALL.into_iter().zip(&tally.kinds).map(|(kind, counts)| OfKind {
            kind,
            done: counts.done,
            share: counts.done as f64 / all.max(1) as f64,
            rolled_back: counts.rolled_back,
            retries: counts.retries,
            errors: counts
                .errors
                .iter()
                .map(|(code, (count, example))| Refusals {
                    code: *code,
                    count: *count,
                    example: example.clone(),
                })
                .collect(),
            service: counts.service.percentiles(),
            from_intended: counts.from_intended.percentiles(),
        });
        Self {
            connections,
            repeat,
            nopm: tally.new_orders_a_minute(),
            transactions_a_second: tally.ended as f64 / tally.seconds(),
            new_orders: tally.new_orders.clone(),
            transactions: transactions.collect(),
            not_begun,
            client,
            audit: tally.drawn.audited(warehouses),
        }
    }

    /// A type of transaction.
    pub fn of_kind(&self, kind: Kind) -> Option<&OfKind> {
        self.transactions.iter().find(|of_kind| of_kind.kind == kind)
    }

    /// Transactions that the server refused.
    pub fn refused(&self) -> u64 {
        self.transactions.iter().flat_map(|of_kind| &of_kind.errors).map(|refusals| refusals.count).sum()
    }

    /// How often a transaction was tried again.
    pub fn retries(&self) -> u64 {
        self.transactions.iter().map(|of_kind| of_kind.retries.all()).sum()
    }
}

impl RunDetail {
    /// The numbers of connections that were run with, in the order in which they were.
    pub fn connections(&self) -> Vec<u32> {
        self.runs.iter().filter(|run| run.repeat == 1).map(|run| run.connections).collect()
    }

    /// All repeats with a number of connections.
    pub fn of_connections(&self, connections: u32) -> impl Iterator<Item = &Run> {
        self.runs.iter().filter(move |run| run.connections == connections)
    }

    /// Whether the server refused transactions.
    pub fn has_errors(&self) -> bool {
        self.runs.iter().any(|run| run.refused() > 0)
    }
}

type Read = fn(&Percentiles) -> f64;

/// What is compared between results: New-Orders a minute, and latencies from when transactions were to begin.
pub(super) fn measures(detail: &RunDetail) -> Vec<Measure> {
    let counts = detail.connections();
    let mut measures = Vec::new();
    for connections in &counts {
        let suffix = if counts.len() > 1 { format!(", {connections} connections") } else { String::new() };
        let values =
            |read: &dyn Fn(&Run) -> f64| detail.of_connections(*connections).map(read).collect::<Vec<_>>();
        measures.push(Measure::new(format!("NOPM{suffix}"), "/min", Better::Higher, values(&|run| run.nopm)));
        for kind in Kind::ALL {
            let of_kind = |run: &Run, read: fn(&Percentiles) -> f64| {
                run.of_kind(kind).map_or(0.0, |of_kind| read(&of_kind.from_intended))
            };
            let reads: [(&str, Read); 2] = [("p90", |at| at.p90_ms), ("p99", |at| at.p99_ms)];
            for (name, read) in reads {
                let name = format!("{} {name}{suffix}", kind.name());
                measures.push(Measure::new(name, "ms", Better::Lower, values(&|run| of_kind(run, read))));
            }
        }
    }
    measures
}

/// What a reader should know of the numbers.
pub(super) fn warnings(detail: &RunDetail) -> Vec<String> {
    let mut warnings = Vec::new();
    for run in &detail.runs {
        let of = format!("{} connections, repeat {}", run.connections, run.repeat);
        for of_kind in &run.transactions {
            for refusals in &of_kind.errors {
                let (name, count) = (of_kind.kind.name(), refusals.count);
                warnings.push(format!("{of}: {count} {name} transactions failed: {}", refusals.example));
            }
        }
        if run.transactions_a_second == 0.0 {
            warnings.push(format!("{of}: no transaction came to its end, so nothing was measured"));
        }
        if run.not_begun > 0 {
            warnings.push(format!(
                "{of}: the server did not keep up with the rate: {} transactions that were due were not begun",
                run.not_begun
            ));
        }
        if run.client.share_of_machine > 0.15 {
            warnings.push(format!(
                "{of}: drover used {:.0} % of this machine's processors, which the server lacked if it runs here too",
                run.client.share_of_machine * 100.0
            ));
        }
        for audited in run.audit.iter().filter(|audited| audited.verdict == Verdict::Outside) {
            warnings.push(format!("{of}: {} is outside the specification's limits", audited.name));
        }
    }
    warnings
}
