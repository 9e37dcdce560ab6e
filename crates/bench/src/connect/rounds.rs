//! Blocks of connects, in turns: A B B A, so that what drifts meanwhile meets all kinds of sessions alike.

use std::sync::Arc;
use std::time::{Duration, Instant};

use drover_db::Stop;

use super::bed::Bed;
use super::cost::{Cost, Quantity, ServerCost, values};
use super::drive::{Load, Tally};
use super::process::Process;
use super::variation::{Variant, Variation};
use crate::statistics::{self, Interval};
use crate::{Progress, Result};

/// How connects are measured.
#[derive(Debug, Clone)]
pub(super) struct Rules<'a> {
    pub(super) statement: Option<&'a str>,
    pub(super) clients: u32,
    pub(super) block: Duration,
    pub(super) warm_up: Duration,
    /// Rounds, at least.
    pub(super) least: u32,
    /// How far the interval's ends may be from its middle, as a part of the cost of a connect.
    pub(super) precision: f64,
    pub(super) most_time: Duration,
    pub(super) seed: u64,
}

/// What the rounds gave.
#[derive(Debug)]
pub(super) struct Rounds {
    /// For each kind of sessions the cost in each round.
    pub(super) costs: Vec<Vec<Cost>>,
    /// For each kind of sessions what the clients saw.
    pub(super) tallies: Vec<Tally>,
    /// Whether the interval is as narrow as it was to become.
    pub(super) is_narrow: bool,
    pub(super) elapsed: Duration,
}

/// From so few rounds the interval may be narrow by chance.
const TELLING: usize = 6;
/// This part of a block comes before it: threads and caches find what the block will want of them.
const LEAD: u32 = 10;
/// For how long a server is watched that does nothing, to know what it does by itself.
const IDLE: Duration = Duration::from_millis(300);
/// This part of the time for warming up goes to servers that are there for one round only.
const SHORTER: u32 = 4;

/// Measures rounds until enough is known, or the time is up.
///
/// # Errors
/// The first that a session meets, or that a stop was asked for.
pub(super) fn measure(
    bed: &mut Bed<'_>,
    variation: &mut Variation,
    rules: &Rules<'_>,
    stop: &Arc<Stop>,
    progress: &Progress,
) -> Result<Rounds> {
    progress.phase("warming up", rules.warm_up);
    warm_up(bed, variation, rules.warm_up, rules, stop)?;
    let kinds = variation.variants.len();
    let mut random = fastrand::Rng::with_seed(rules.seed);
    let mut rounds = Rounds {
        costs: vec![Vec::new(); kinds],
        tallies: (0..kinds).map(|_| Tally::none()).collect::<Result<_>>()?,
        is_narrow: false,
        elapsed: Duration::ZERO,
    };
    progress.phase(phase(variation), rules.most_time);
    let begun = Instant::now();
    loop {
        let mut order: Vec<usize> = (0..kinds).collect();
        random.shuffle(&mut order);
        if variation.restarts() && rounds.done() > 0 {
            variation.restart(bed, &order)?;
            warm_up(bed, variation, rules.warm_up / SHORTER, rules, stop)?;
        }
        rounds.round(bed, variation, rules, stop, &order)?;
        rounds.elapsed = begun.elapsed();
        let (done, half) = (rounds.done(), rounds.half());
        rounds.is_narrow = done >= TELLING && half.is_some_and(|half| half <= rules.precision);
        if let Some(half) = half {
            progress.figure(format!("{done} rounds, ± {:.1} %", half * 100.0));
        }
        let is_enough = rounds.is_narrow || rounds.elapsed >= rules.most_time;
        if is_enough && done >= rules.least as usize {
            return Ok(rounds);
        }
    }
}

fn phase(variation: &Variation) -> String {
    if variation.name.is_empty() { "connecting".to_owned() } else { format!("varying {}", variation.name) }
}

/// Opens sessions of all kinds for so long, and watches what the servers do without them.
fn warm_up(
    bed: &mut Bed<'_>,
    variation: &Variation,
    length: Duration,
    rules: &Rules<'_>,
    stop: &Arc<Stop>,
) -> Result<()> {
    let kinds = u32::try_from(variation.variants.len()).unwrap_or(u32::MAX).max(1);
    for variant in &variation.variants {
        prepare(bed, variant)?;
        load(variant, rules).drive(length / kinds, stop)?;
    }
    for site in &mut bed.sites {
        let Some(process) = site.process else { continue };
        process.settle()?;
        let (before, begun) = (process.usage()?, Instant::now());
        std::thread::sleep(IDLE);
        let spent = process.usage()?.since(&before);
        site.idle = spent.cpu_us / 1e6 / begun.elapsed().as_secs_f64();
    }
    Ok(())
}

fn load<'a>(variant: &'a Variant, rules: &'a Rules<'_>) -> Load<'a> {
    Load { options: &variant.options, statement: rules.statement, clients: rules.clients }
}

/// Sets what the sessions of this kind are to find.
pub(super) fn prepare(bed: &mut Bed<'_>, variant: &Variant) -> Result<()> {
    variant.set.as_ref().map_or(Ok(()), |set| bed.sites[variant.site].run(set))
}

impl Rounds {
    /// How many rounds there are.
    pub(super) fn done(&self) -> usize {
        self.costs.first().map_or(0, Vec::len)
    }

    /// All kinds in this order, and back again.
    fn round(
        &mut self,
        bed: &mut Bed<'_>,
        variation: &Variation,
        rules: &Rules<'_>,
        stop: &Arc<Stop>,
        order: &[usize],
    ) -> Result<()> {
        let mut firsts: Vec<Option<Cost>> = vec![None; order.len()];
        for &kind in order.iter().chain(order.iter().rev()) {
            let variant = &variation.variants[kind];
            prepare(bed, variant)?;
            let site = &bed.sites[variant.site];
            let (cost, tally) = block(&load(variant, rules), site.process, site.idle, rules.block, stop)?;
            self.tallies[kind].add(&tally);
            match firsts[kind].take() {
                None => firsts[kind] = Some(cost),
                Some(first) => self.costs[kind].push(first.midpoint(cost)),
            }
        }
        Ok(())
    }

    /// How far the ends of the widest interval are from its middle, as a part of what a connect of the first kind costs: in CPU
    /// time of the server, or in time where that is not known.
    fn half(&self) -> Option<f64> {
        let quantity = match values(self.costs.first()?, Quantity::ServerCpu) {
            Some(_) => Quantity::ServerCpu,
            None => Quantity::Time,
        };
        let all: Vec<Vec<f64>> =
            self.costs.iter().map(|costs| values(costs, quantity)).collect::<Option<_>>()?;
        let (first, others) = all.split_first()?;
        let intervals: Vec<Interval> = match others {
            [] => vec![statistics::mean_interval(first)?],
            others => others
                .iter()
                .map(|other| statistics::paired_difference(first, other, statistics::CHANCE))
                .collect::<Option<_>>()?,
        };
        let widest =
            intervals.iter().map(|interval| (interval.high - interval.low) / 2.0).fold(0.0, f64::max);
        let base = statistics::mean(first);
        (base > 0.0).then(|| widest / base)
    }
}

/// One block: what a connect cost, and what the clients saw.
fn block(
    load: &Load<'_>,
    process: Option<Process>,
    idle: f64,
    length: Duration,
    stop: &Arc<Stop>,
) -> Result<(Cost, Tally)> {
    load.drive(length / LEAD, stop)?;
    let settle = || process.map_or(Ok(()), Process::settle);
    settle()?;
    let (before, begun) = (process.map(Process::usage).transpose()?, Instant::now());
    let tally = load.drive(length, stop)?;
    settle()?;
    let after = process.map(Process::usage).transpose()?;
    let spent = before.zip(after).map(|(before, after)| after.since(&before));
    let connects = tally.connects() as f64;
    let of_itself = idle * begun.elapsed().as_secs_f64() * 1e6;
    let server = spent.map(|spent| ServerCost {
        cpu: (spent.cpu_us - of_itself).max(0.0) / connects,
        user_share: spent.user_share,
        faults: spent.faults as f64 / connects,
    });
    let time = tally.session_ns as f64 / 1e3 / connects;
    let per_second = connects / tally.elapsed.as_secs_f64().max(1e-9);
    Ok((Cost { per_second, time, server }, tally))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(kinds: &[&[f64]]) -> Rounds {
        let cost = |&time: &f64| Cost { per_second: 1.0, time, server: None };
        Rounds {
            costs: kinds.iter().map(|times| times.iter().map(cost).collect()).collect(),
            tallies: Vec::new(),
            is_narrow: false,
            elapsed: Duration::ZERO,
        }
    }

    #[test]
    fn the_widest_interval_counts() {
        let base = [100.0, 110.0, 90.0, 100.0];
        let shifted = [101.0, 111.0, 91.0, 101.0];
        let noisy = [101.0, 90.0, 130.0, 80.0];
        assert_eq!(rounds(&[&base, &shifted]).half(), Some(0.0));
        let (narrow, wide) =
            (rounds(&[&base]).half().unwrap(), rounds(&[&base, &shifted, &noisy]).half().unwrap());
        assert!(narrow > 0.05 && wide > narrow, "{narrow} {wide}");
        assert_eq!(rounds(&[&base[..1]]).half(), None);
    }
}
