//! `tpcc --compare`: the same run, in turns, with one thing changed each time on a private server.
//!
//! What differs between two runs besides what was changed is the time at which they are made. So each repeat runs all of them, in an
//! order of its own, and each is compared with the first one of the same repeat.

pub mod args;
mod bed;
mod page;
mod room;

use std::sync::Arc;
use std::time::Duration;

use drover_db::Stop;
use drover_db::options::ServerArgs;
pub use drover_host::scheduler::Intent;
use drover_host::scheduler::{intents, udev_rule};
use serde::Serialize;

use self::args::{Subject, VersusArgs};
use self::bed::Bed;
use super::args::{PlaceArgs, RunArgs, Schedule};
use super::{Kind, RunDetail};
use crate::compare::{Verdict, verdict};
use crate::measuring::MeasureArgs;
use crate::report::Begun;
use crate::statistics::{self, Interval};
use crate::{Better, Error, Measure, Progress, Report, Result};

/// The schema on the private servers.
const SCHEMA: &str = "tpcc";

/// What a comparison leaves beside what all results have.
#[derive(Debug, Serialize)]
pub struct VersusDetail {
    /// What was changed.
    pub changed: &'static str,
    /// Rules for udev that keep the best scheduler, where one is best beyond the noise; none for a loop device, which is gone.
    pub to_keep: Vec<String>,
    /// How many warehouses were loaded.
    pub warehouses: u32,
    /// How many connections worked.
    pub connections: u32,
    /// How long each run was measured, in seconds.
    pub seconds_each: u32,
    /// Each thing that it was changed to, in the order in which they were named.
    pub variants: Vec<Variant>,
}

/// One of those that are compared.
#[derive(Debug, Clone, Serialize)]
pub struct Variant {
    /// What it was changed to.
    pub name: String,
    /// New-Orders a minute in each repeat.
    pub nopm: Vec<f64>,
    /// The latency in milliseconds that 99 of 100 New-Orders stay below, in each repeat.
    pub new_order_p99_ms: Vec<f64>,
    /// By which share of the first one's New-Orders a minute its own lie above those (below, if negative), in 95 of 100 such
    /// measurements; none for the first itself, and where there was one repeat.
    pub change: Option<Interval>,
    /// What that means; none for the first one.
    pub verdict: Option<Verdict>,
}

/// What a comparison would switch that others use too, and is only told of unless `--yes` is given.
///
/// # Errors
/// If it cannot be switched so.
pub fn dry_run(args: &VersusArgs) -> Result<Option<Vec<Intent>>> {
    match (&args.compare, &args.data) {
        (Some(Subject::Scheduler(wanted)), Some(data)) if args.loop_bytes.is_none() && !args.yes => {
            Ok(Some(intents(data, wanted)?))
        }
        _ => Ok(None),
    }
}

/// Compares. See [`dry_run`].
///
/// # Errors
/// If a server cannot be started where it is to be, the thing cannot be changed so, or a signal stopped the work. Everything is put
/// back as it was, whatever becomes of this process.
pub fn versus(args: &VersusArgs, stop: &Arc<Stop>, progress: &Progress) -> Result<Report<VersusDetail>> {
    let Some(subject) = &args.compare else {
        return Err(Error::with_hint(
            "nothing is said to be done",
            "`drover bench tpcc load`, `run`, `check` and `clean`, or `--compare scheduler=none,mq-deadline`",
        ));
    };
    let begun = Begun::now("tpcc --compare", args.measure.seed);
    let mut bed = Bed::make(args, subject, stop, progress)?;
    let measured = measured(args, &mut bed, stop, progress).map_err(|error| bed.why(error));
    let environment = bed.environment();
    // Putting back comes before anything else, and what could not be put back is the worse error.
    progress.part("");
    progress.phase("putting everything back", None);
    let (warnings, devices) = (bed.warnings(), bed.devices());
    bed.put_back()?;
    let mut variants = measured?;
    compare(&mut variants);
    let measures = variants.iter().flat_map(|variant| measures(subject.name(), variant)).collect();
    let best = best(&variants);
    let to_keep = devices.iter().filter_map(|device| Some(udev_rule(device, &best?.name))).collect();
    let detail = VersusDetail {
        changed: subject.name(),
        to_keep,
        warehouses: args.warehouses,
        connections: args.connections,
        seconds_each: args.seconds,
        variants,
    };
    let report = begun.report(environment?, measures, warnings, detail);
    if let Some(path) = &args.measure.html {
        page::write(&report, path)?;
    }
    Ok(report)
}

fn measured(args: &VersusArgs, bed: &mut Bed, stop: &Arc<Stop>, progress: &Progress) -> Result<Vec<Variant>> {
    let mut variants: Vec<_> = bed.names().into_iter().map(Variant::new).collect();
    let mut random = fastrand::Rng::with_seed(args.measure.seed);
    for repeat in 0..args.measure.repeat {
        let mut order: Vec<usize> = (0..variants.len()).collect();
        random.shuffle(&mut order);
        for at in order {
            progress.part(format!("{}, {} of {}", variants[at].name, repeat + 1, args.measure.repeat));
            progress.phase("changing to it", None);
            let options = bed.change_to(at)?;
            let seed = args.measure.seed.wrapping_add(repeat.into());
            let report = super::run(&run_args(args, seed), &options, stop, progress)?;
            variants[at].add(&report.detail);
        }
    }
    Ok(variants)
}

/// A run of one repeat.
fn run_args(args: &VersusArgs, seed: u64) -> RunArgs {
    const LEAST_WARM_UP: Duration = Duration::from_secs(3);
    let usual = Duration::from_secs(args.seconds.into()) / 4;
    RunArgs {
        connections: Some(args.connections),
        seconds: args.seconds,
        sweep: Vec::new(),
        think: false,
        rate: None,
        arrivals: Schedule::Poisson,
        measure: MeasureArgs {
            seed,
            repeat: 1,
            warm_up: Some(args.measure.warm_up.unwrap_or(usual.max(LEAST_WARM_UP))),
            html: None,
        },
        place: PlaceArgs { database: None, server: ServerArgs::default() },
    }
}

impl Variant {
    fn new(name: String) -> Self {
        Self { name, nopm: Vec::new(), new_order_p99_ms: Vec::new(), change: None, verdict: None }
    }

    fn add(&mut self, detail: &RunDetail) {
        for run in &detail.runs {
            self.nopm.push(run.nopm);
            self.new_order_p99_ms
                .extend(run.of_kind(Kind::NewOrder).map(|of_kind| of_kind.from_intended.p99_ms));
        }
    }
}

impl Variant {
    /// What its comparison with the first one says, for people.
    pub fn words(&self) -> String {
        let change = self.change.map_or_else(String::new, |change| {
            format!(" ({:+.1} % to {:+.1} %)", change.low * 100.0, change.high * 100.0)
        });
        match self.verdict {
            None => "what the others are compared with".to_owned(),
            Some(Verdict::Better) => format!("better{change}"),
            Some(Verdict::Worse) => format!("worse{change}"),
            Some(Verdict::Same) => format!("no difference beyond the noise{change}"),
            Some(Verdict::TooFewRepeats) => "too few repeats to tell".to_owned(),
            Some(Verdict::Unknown) => "not known of one repeat".to_owned(),
        }
    }
}

/// Each with the first, repeat by repeat.
fn compare(variants: &mut [Variant]) {
    let Some((first, others)) = variants.split_first_mut() else { return };
    let chance = statistics::chance_of_each(others.len());
    for other in others {
        other.change = statistics::paired_change(&first.nopm, &other.nopm, chance);
        other.verdict = Some(other.change.map_or(Verdict::Unknown, |change| verdict(change, Better::Higher)));
    }
}

/// The one with the most New-Orders of those that are better than the first one; or the first one, if all others are worse.
fn best(variants: &[Variant]) -> Option<&Variant> {
    let (first, others) = variants.split_first()?;
    let is = |wanted: Verdict| move |variant: &&Variant| variant.verdict == Some(wanted);
    let better = others.iter().filter(is(Verdict::Better));
    let most = better.max_by(|a, b| statistics::mean(&a.nopm).total_cmp(&statistics::mean(&b.nopm)));
    most.or_else(|| others.iter().all(|other| is(Verdict::Worse)(&other)).then_some(first))
}

fn measures(changed: &str, variant: &Variant) -> [Measure; 2] {
    let named = |what: &str| format!("{what}, {changed} {}", variant.name);
    [
        Measure::new(named("NOPM"), "/min", Better::Higher, variant.nopm.clone()),
        Measure::new(named("New-Order p99"), "ms", Better::Lower, variant.new_order_p99_ms.clone()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_compared_with_the_first_repeat_by_repeat() {
        let with = |nopm: [f64; 3]| Variant { nopm: nopm.into(), ..Variant::new("x".into()) };
        // The machine gets slower; the second one is 10 % faster each time, and the third one is not.
        let mut variants =
            [with([1000.0, 800.0, 600.0]), with([1100.0, 880.0, 660.0]), with([1010.0, 795.0, 598.0])];
        compare(&mut variants);
        assert_eq!(variants[0].verdict, None);
        assert_eq!(variants[1].verdict, Some(Verdict::Better));
        assert_eq!(variants[2].verdict, Some(Verdict::Same));
        let change = variants[1].change.unwrap();
        assert!((change.low - 0.1).abs() < 1e-9 && (change.high - 0.1).abs() < 1e-9, "{change:?}");
        assert_eq!(best(&variants).unwrap().nopm[0], 1100.0);
        assert!(best(&[variants[0].clone(), variants[2].clone()]).is_none());
    }

    #[test]
    fn of_one_repeat_nothing_is_known() {
        let with = |nopm: f64| Variant { nopm: vec![nopm], ..Variant::new("x".into()) };
        let mut variants = [with(1000.0), with(2000.0)];
        compare(&mut variants);
        assert_eq!(variants[1].verdict, Some(Verdict::Unknown));
    }
}
