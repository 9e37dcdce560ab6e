//! What `bench connect` found.

use hdrhistogram::Histogram;
use serde::Serialize;

use super::bed::Bed;
use super::cost::{Cost, Effect, Quantity, values};
use super::profile::Profile;
use super::rounds::Rounds;
use super::variation::{How, Variation};
use super::work::Work;
use crate::report::{Better, Measure};
use crate::statistics::{self, Interval};

/// What is this bench's own of its result.
#[derive(Debug, Clone, Serialize)]
pub struct ConnectDetail {
    /// Whether the server was started for it.
    pub is_private: bool,
    /// How sessions came in, where nothing else was varied: an address, with or without TLS.
    pub way: String,
    /// What each session did.
    pub work: Work,
    /// The statement that it ran, if any.
    pub statement: Option<String>,
    /// How many clients there were.
    pub clients: u32,
    /// How long a block was, in seconds.
    pub block_seconds: f64,
    /// For how many connects a second the shares of a core are told.
    pub rate: Rate,
    /// One for each thing that was varied; a single one where nothing was.
    pub comparisons: Vec<Comparison>,
}

/// A rate of connects.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Rate {
    /// Connects a second.
    pub per_second: f64,
    /// Over how many seconds it was counted on a running server; none if a person gave it.
    pub counted_seconds: Option<f64>,
}

/// Kinds of sessions that are alike in all but one thing.
#[derive(Debug, Clone, Serialize)]
pub struct Comparison {
    /// What was varied; empty if nothing was.
    pub name: String,
    /// How.
    pub how: How,
    /// Whether each round had servers of its own.
    pub restarts: bool,
    /// How often all kinds had their turns.
    pub rounds: usize,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// Whether the intervals are as narrow as `--precision` asks.
    pub is_narrow: bool,
    /// The kinds; the first is the one that the others are compared with.
    pub kinds: Vec<Kind>,
    /// What the others cost beyond the first.
    pub effects: Vec<Effect>,
    /// Where the server spent its time, with `--profile`.
    pub profile: Option<Profile>,
}

/// One kind of sessions.
#[derive(Debug, Clone, Serialize)]
pub struct Kind {
    /// The value that makes it one, as it was asked for.
    pub value: String,
    /// What the server made of it, where it is a variable.
    pub actual: Option<String>,
    /// How many sessions were measured.
    pub connects: u64,
    /// How many there were in a second.
    pub per_second: f64,
    /// The part of a core, in per cent, that the server used by itself. It is no part of the costs.
    pub background_per_cent: Option<f64>,
    /// What a connect cost.
    pub costs: Vec<KindCost>,
    /// From connect(2) until the login was done.
    pub login: Percentiles,
    /// From connect(2) until the server had closed the connection.
    pub session: Percentiles,
    /// Each round's cost, for charts.
    #[serde(skip)]
    pub(super) rounds: Vec<Cost>,
}

/// What a connect cost.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KindCost {
    /// Of what.
    pub quantity: Quantity,
    /// On average, in its unit.
    pub mean: f64,
    /// Where the mean lies, of two rounds or more.
    pub interval: Option<Interval>,
    /// In per cent of a core at the rate that is told, of CPU time.
    pub per_cent_of_a_core: Option<f64>,
}

/// How long something took, in µs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Percentiles {
    /// Half were faster.
    pub p50: f64,
    /// 90 % were.
    pub p90: f64,
    /// 95 % were.
    pub p95: f64,
    /// 99 % were.
    pub p99: f64,
    /// 99.9 % were.
    pub p99_9: f64,
    /// The slowest.
    pub max: f64,
}

impl Percentiles {
    fn of(nanoseconds: &Histogram<u64>) -> Self {
        let at = |quantile: f64| nanoseconds.value_at_quantile(quantile) as f64 / 1e3;
        Self {
            p50: at(0.5),
            p90: at(0.9),
            p95: at(0.95),
            p99: at(0.99),
            p99_9: at(0.999),
            max: nanoseconds.max() as f64 / 1e3,
        }
    }

    /// With the share of those that were faster.
    pub fn curve(&self) -> [(f64, f64); 5] {
        [(0.5, self.p50), (0.9, self.p90), (0.95, self.p95), (0.99, self.p99), (0.999, self.p99_9)]
    }
}

impl Comparison {
    /// Sums up what rounds gave.
    pub(super) fn new(bed: &Bed<'_>, variation: &Variation, rounds: Rounds, rate: f64) -> Self {
        let Rounds { costs, tallies, is_narrow, elapsed } = rounds;
        let done = costs.first().map_or(0, Vec::len);
        let kinds: Vec<Kind> = variation
            .variants
            .iter()
            .zip(costs.into_iter().zip(tallies))
            .map(|(variant, (costs, tally))| {
                let site = &bed.sites[variant.site];
                Kind {
                    value: variant.label.clone(),
                    actual: variant.actual.clone(),
                    connects: tally.connects(),
                    per_second: tally.connects() as f64 / tally.elapsed.as_secs_f64().max(1e-9),
                    background_per_cent: site.process.map(|_| site.idle * 100.0),
                    costs: Quantity::ALL
                        .into_iter()
                        .filter_map(|of| KindCost::of(&costs, of, rate))
                        .collect(),
                    login: Percentiles::of(&tally.login),
                    session: Percentiles::of(&tally.session),
                    rounds: costs,
                }
            })
            .collect();
        Self {
            name: variation.name.clone(),
            how: variation.how,
            restarts: variation.restarts(),
            rounds: done,
            seconds: elapsed.as_secs_f64(),
            is_narrow,
            effects: effects(&kinds, rate),
            kinds,
            profile: None,
        }
    }

    /// What `bench compare` looks at.
    pub(super) fn measures(&self) -> Vec<Measure> {
        let mut measures = Vec::new();
        for kind in &self.kinds {
            let of =
                if self.name.is_empty() { String::new() } else { format!(", {}={}", self.name, kind.value) };
            for quantity in Quantity::ALL {
                let Some(values) = values(&kind.rounds, quantity) else { continue };
                let name = format!("{} per connect{of}", quantity.name());
                measures.push(Measure::new(name, quantity.unit(), Better::Lower, values));
            }
            let rates = kind.rounds.iter().map(|cost| cost.per_second).collect();
            measures.push(Measure::new(format!("connects{of}"), "/s", Better::Higher, rates));
        }
        measures
    }
}

impl Kind {
    /// What a connect cost of one thing, if that is known.
    pub fn cost(&self, quantity: Quantity) -> Option<&KindCost> {
        self.costs.iter().find(|cost| cost.quantity == quantity)
    }
}

impl KindCost {
    fn of(rounds: &[Cost], quantity: Quantity, rate: f64) -> Option<Self> {
        let values = values(rounds, quantity)?;
        let mean = statistics::mean(&values);
        let per_cent_of_a_core = quantity.is_cpu().then(|| Quantity::per_cent_of_a_core(mean, rate));
        Some(Self { quantity, mean, interval: statistics::mean_interval(&values), per_cent_of_a_core })
    }
}

fn effects(kinds: &[Kind], rate: f64) -> Vec<Effect> {
    let Some((first, others)) = kinds.split_first() else { return Vec::new() };
    let chance = statistics::chance_of_each(others.len() * Quantity::ALL.len());
    let of = |other: &Kind| {
        let (from, to) = ((&*first.value, &*first.rounds), (&*other.value, &*other.rounds));
        let between = |quantity| Effect::between(from, to, quantity, rate, chance);
        Quantity::ALL.into_iter().filter_map(between).collect::<Vec<_>>()
    };
    others.iter().flat_map(of).collect()
}
