//! `run`: terminals at work, measured.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use drover_db::Stop;
use drover_db::options::ConnectOptions;
use drover_units::show;

use super::args::RunArgs;
use super::card;
use super::detail::{Run, RunDetail, measures, warnings};
use super::input::{District, Drawer};
use super::marker::Marker;
use super::pace::{Arrivals, Load, Pace};
use super::processor::{Usage, leave_to_server};
use super::random::{Constants, Purpose, generator};
use super::schema::DISTRICTS;
use super::session::{Place, unless_stopped};
use super::tally::{Tally, Window};
use super::terminal::Terminal;
use super::worker::{Shared, Worker};
use super::{kind::Kind, page};
use crate::report::Begun;
use crate::{Error, Progress, Report, Result};

/// Of the time of measuring, that much is run before if nothing else is said, and no more than the next.
const WARM_UP_SHARE: u32 = 10;
const MOST_WARM_UP: Duration = Duration::from_secs(30);

/// Runs transactions on loaded tables and measures them.
///
/// # Errors
/// If there are no loaded tables, a connection is lost, the server refuses what a terminal cannot do without, or a signal stopped the
/// work.
pub fn run(
    args: &RunArgs,
    options: &ConnectOptions,
    stop: &Arc<Stop>,
    progress: &Progress,
) -> Result<Report<RunDetail>> {
    unless_stopped(measured(args, options, stop, progress), stop)
}

fn measured(
    args: &RunArgs,
    options: &ConnectOptions,
    stop: &Arc<Stop>,
    progress: &Progress,
) -> Result<Report<RunDetail>> {
    let place = Place::of(options)?;
    let begun = Begun::now("tpcc run", args.measure.seed);
    let (mut connection, _watched) = place.open(stop)?;
    let marker = Marker::of_finished(&mut connection, place.schema)?;
    let environment = place.environment(&mut connection)?;
    marker.add_run(&mut connection)?;
    let setup = Setup {
        place,
        stop,
        progress,
        warehouses: marker.warehouses,
        seed: args.measure.seed,
        constants: Constants::draw(args.measure.seed, marker.c_last),
        load: load(args),
        seconds: Duration::from_secs(args.seconds.into()),
        warm_up: warm_up(args),
    };
    let counts = args.connections.map_or_else(|| args.sweep.clone(), |connections| vec![connections]);
    let mut runs = Vec::new();
    for repeat in 1..=args.measure.repeat {
        for connections in &counts {
            runs.push(setup.run_once(*connections, repeat)?);
        }
    }
    refuse_nothing(&runs)?;
    let detail = RunDetail {
        schema: place.schema.to_owned(),
        warehouses: marker.warehouses,
        load: setup.load,
        seconds_each: setup.seconds.as_secs_f64(),
        warm_up_seconds: setup.warm_up.as_secs_f64(),
        c_last_of_load: marker.c_last,
        constants: setup.constants,
        card: card::lines(&setup.card_input(&environment, &runs)),
        runs,
    };
    let (measures, warnings) = (measures(&detail), warnings(&detail));
    let report = begun.report(environment, measures, warnings, detail);
    if let Some(path) = &args.measure.html {
        page::write(&report, path)?;
    }
    Ok(report)
}

/// Where nothing was done, figures of 0 would look like a result. What the server refused is told with its errors.
fn refuse_nothing(runs: &[Run]) -> Result<()> {
    if runs.iter().any(|run| run.transactions_a_second > 0.0 || run.refused() > 0) {
        return Ok(());
    }
    Err(Error::with_hint(
        "nothing was measured: no transaction came to its end in the time of measuring",
        "SHOW PROCESSLIST shows whose locks are waited for; on a slow server, --seconds measures longer",
    ))
}

fn load(args: &RunArgs) -> Load {
    match args.rate {
        Some(rate) => Load::Open { rate, arrivals: args.arrivals },
        None if args.think => Load::Think,
        None => Load::Closed,
    }
}

fn warm_up(args: &RunArgs) -> Duration {
    let usual = Duration::from_secs(args.seconds.into()) / WARM_UP_SHARE;
    args.measure.warm_up.unwrap_or(usual.min(MOST_WARM_UP))
}

/// What all runs of a command have in common.
struct Setup<'a> {
    place: Place<'a>,
    stop: &'a Arc<Stop>,
    progress: &'a Progress,
    warehouses: u32,
    seed: u64,
    constants: Constants,
    load: Load,
    seconds: Duration,
    warm_up: Duration,
}

impl Setup<'_> {
    fn card_input<'a>(&'a self, environment: &'a crate::Environment, runs: &'a [Run]) -> card::Facts<'a> {
        card::Facts {
            environment,
            runs,
            warehouses: self.warehouses,
            load: self.load,
            seconds: self.seconds,
            constants: self.constants,
        }
    }

    fn run_once(&self, connections: u32, repeat: u32) -> Result<Run> {
        let what = show::things(connections.into(), "connection");
        self.progress.phase(format!("opening {what}"), None);
        let terminals =
            (0..connections).map(|_| Terminal::open(&self.place, self.stop)).collect::<Result<Vec<_>>>()?;
        let start = Instant::now();
        let from = start + self.warm_up;
        let window = Window { from, until: from + self.seconds };
        let shared = Shared::default();
        let arrivals = match self.load {
            Load::Open { rate, arrivals } => {
                Some(Arrivals::from(start, rate, arrivals, self.seed.wrapping_add(repeat.into())))
            }
            Load::Closed | Load::Think => None,
        };
        let (seen, due) = (&shared, arrivals.as_ref());
        let (tally, usage) = std::thread::scope(|scope| -> Result<(Tally, (Usage, Usage))> {
            let begin = |(number, terminal): (u32, Terminal)| {
                let worker = self.worker(terminal, number, (connections, repeat), window, (seen, due));
                scope.spawn(move || {
                    leave_to_server();
                    worker.work(start).inspect_err(|_| seen.is_over.store(true, Ordering::Relaxed))
                })
            };
            let workers: Vec<_> = (0..connections).zip(terminals).map(begin).collect();
            let usage = self.watch(window, seen, &what);
            let mut sum = Tally::new(window);
            for worker in workers {
                match worker.join() {
                    Ok(tally) => sum.add(tally?),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            Ok((sum, usage))
        })?;
        let not_begun = arrivals.map_or(0, |arrivals| arrivals.left_before(window.until));
        let client = usage.1.since(&usage.0, tally.ended);
        Ok(Run::of(&tally, (connections, repeat), self.warehouses, not_begun, client))
    }

    fn worker<'b>(
        &self,
        terminal: Terminal,
        number: u32,
        (connections, repeat): (u32, u32),
        window: Window,
        (shared, arrivals): (&'b Shared, Option<&'b Arrivals>),
    ) -> Worker<'b> {
        let rng = generator(self.seed, Purpose::Terminals, [number, repeat]);
        let pace = match (arrivals, self.load) {
            (Some(arrivals), _) => Pace::Open(arrivals),
            (None, Load::Think) => Pace::Think(generator(self.seed, Purpose::Arrivals, [number + 1, repeat])),
            (None, _) => Pace::Closed,
        };
        let drawer = Drawer {
            rng,
            constants: self.constants,
            warehouses: self.warehouses,
            home: home(number, connections, self.warehouses),
        };
        Worker { terminal, drawer, pace, window, shared }
    }

    /// Tells how far the run is, and what of the processors is used at the beginning and at the end of the window.
    fn watch(&self, window: Window, shared: &Shared, what: &str) -> (Usage, Usage) {
        if !self.warm_up.is_zero() {
            self.progress.phase(format!("{what}, warming up"), self.warm_up);
        }
        self.watch_until(window.from, shared, None);
        let before = Usage::now();
        self.progress.phase(what, self.seconds);
        self.watch_until(window.until, shared, Some(window.from));
        (before, Usage::now())
    }

    fn watch_until(&self, end: Instant, shared: &Shared, from: Option<Instant>) {
        const OFTEN: Duration = Duration::from_millis(100);
        while !shared.is_over.load(Ordering::Relaxed) {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            if self.stop.is_requested() {
                shared.is_over.store(true, Ordering::Relaxed);
            }
            if let Some(from) = from {
                self.progress.figure(nopm(&shared.new_orders, from));
            }
            std::thread::sleep(left.min(OFTEN));
        }
    }
}

fn nopm(new_orders: &AtomicU64, from: Instant) -> String {
    let minutes = from.elapsed().as_secs_f64() / 60.0;
    let rate = new_orders.load(Ordering::Relaxed) as f64 / minutes.max(1e-3);
    format!("{} {}s a minute", show::count(rate as u64), Kind::NewOrder.name())
}

/// A terminal's own district: terminals are spread over the warehouses as evenly as there are enough of them.
fn home(number: u32, connections: u32, warehouses: u32) -> District {
    let warehouse = if connections >= warehouses {
        number % warehouses
    } else {
        (u64::from(number) * u64::from(warehouses) / u64::from(connections)) as u32
    };
    District { warehouse: warehouse + 1, number: number / warehouses % DISTRICTS + 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminals_are_spread_over_warehouses() {
        let homes = |connections, warehouses| {
            (0..connections)
                .map(|number| home(number, connections, warehouses))
                .map(|home| (home.warehouse, home.number))
                .collect::<Vec<_>>()
        };
        assert_eq!(homes(5, 2), [(1, 1), (2, 1), (1, 2), (2, 2), (1, 3)]);
        assert_eq!(homes(2, 10), [(1, 1), (6, 1)]);
        assert_eq!(homes(3, 3), [(1, 1), (2, 1), (3, 1)]);
    }
}
