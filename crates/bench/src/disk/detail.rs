//! What the report says of a disk.

use std::path::PathBuf;

use drover_units::Unit;
use serde::Serialize;

use super::args::DiskArgs;
use super::engine::Engine;
use super::file::Alignment;
use super::knee::{self, KneeFinding};
use super::load::{FsyncRule, Kind};
use super::plan::{self, Done, Spot};
use super::require::{self, At, Reach, Required};
use super::sweep::size_name;
use super::tally::{Latency, LatencyOf, Tally};
use crate::statistics::Interval;
use crate::{Better, Measure, Result};

/// What is `bench disk`'s own in its report.
#[derive(Debug, Clone, Serialize)]
pub struct DiskDetail {
    /// How much each request read or wrote, in bytes.
    pub block_bytes: u64,
    /// The share of reads, from 0 to 1, that was asked for.
    pub share_of_reads: f64,
    /// When written data was made durable.
    pub fsync: FsyncRule,
    /// How requests were handed to the kernel.
    pub engine: Engine,
    /// For how long each point was to be measured, in seconds.
    pub seconds_per_point: f64,
    /// The files that were written.
    pub files: Vec<FileFacts>,
    /// What was measured, by path, depth and size.
    pub points: Vec<Point>,
    /// What the curves say, by path and depth.
    pub curves: Vec<Curve>,
}

/// A file that was measured on.
#[derive(Debug, Clone, Serialize)]
pub struct FileFacts {
    /// The directory that it lay below.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// How long it took to write it, in seconds.
    pub fill_seconds: f64,
    /// What direct I/O asks for.
    pub alignment: Alignment,
}

/// What was measured at one path, size and depth.
#[derive(Debug, Clone, Serialize)]
pub struct Point {
    /// The path as it was given.
    pub path: PathBuf,
    /// Over how much data the requests were spread, in bytes.
    pub size_bytes: u64,
    /// How many of them were under way.
    pub depth: u32,
    /// Reads and writes together.
    pub mb_per_second: Estimate,
    /// Reads and writes a second.
    pub iops: Estimate,
    /// Of all repeats together; none if there were no reads.
    pub read: Option<Latency>,
    /// The same of writes.
    pub write: Option<Latency>,
    /// The same of fsyncs.
    pub fsync: Option<Latency>,
    /// Each repeat.
    pub runs: Vec<RunFigures>,
}

/// A number that was measured several times.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// The one in the middle.
    pub median: f64,
    /// Where the mean lies in 95 of 100 measurements; none of a single repeat.
    pub interval: Option<Interval>,
}

/// One repeat.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RunFigures {
    /// The how manieth of all it was, from 1.
    pub turn: u32,
    /// How long was measured.
    pub seconds: f64,
    /// How long it was warmed up before.
    pub warm_up_seconds: f64,
    /// Whether the throughput was steady then.
    pub was_steady: bool,
    /// The CPU time of drover itself while it measured, with the kernel's on its behalf.
    pub cpu_seconds: f64,
    /// Reads and writes together.
    pub mb_per_second: f64,
    /// Reads and writes a second.
    pub iops: f64,
    /// None if there were no reads.
    pub read: Option<Latency>,
    /// None if there were no writes.
    pub write: Option<Latency>,
    /// None if there was no fsync.
    pub fsync: Option<Latency>,
}

/// What a curve of throughput over size says.
#[derive(Debug, Clone, Serialize)]
pub struct Curve {
    /// The path as it was given.
    pub path: PathBuf,
    /// How many requests were under way.
    pub depth: u32,
    /// Where it falls below what was required, if something was.
    pub required: Option<Required>,
    /// Where it bends downwards.
    pub knee: KneeFinding,
}

impl DiskDetail {
    /// Sums up what was done at each of these spots.
    pub(super) fn new(
        args: &DiskArgs,
        engine: Engine,
        files: Vec<FileFacts>,
        spots: &[Spot],
        all: &[Done],
    ) -> Result<Self> {
        let points: Vec<Point> = spots
            .iter()
            .enumerate()
            .map(|(number, spot)| {
                let done: Vec<&Done> = all.iter().filter(|done| done.spot == number).collect();
                Point::new(args.paths[spot.path].clone(), *spot, &done)
            })
            .collect::<Result<_>>()?;
        let required = args.require.map(|bytes| bytes as f64 / 1e6);
        Ok(Self {
            block_bytes: args.block,
            share_of_reads: args.mix.share_of_reads(),
            fsync: args.fsync,
            engine,
            seconds_per_point: args.seconds.as_secs_f64(),
            files,
            curves: curves(&points, required),
            points,
        })
    }

    /// What two results are compared by.
    pub(super) fn measures(&self, args: &DiskArgs) -> Vec<Measure> {
        let mut measures = Vec::new();
        for point in &self.points {
            let path = args.paths.iter().position(|path| *path == point.path).unwrap_or(0);
            let name = plan::name(&args.paths, path, point.size_bytes, point.depth);
            let throughput = point.runs.iter().map(|run| run.mb_per_second).collect();
            measures.push(Measure::new(format!("throughput, {name}"), "MB/s", Better::Higher, throughput));
            let kinds: [(&str, LatencyOf<RunFigures>); 2] =
                [("read", |run| run.read), ("write", |run| run.write)];
            for (kind, of) in kinds {
                let p99: Vec<f64> = point.runs.iter().filter_map(of).map(|latency| latency.p99_ms).collect();
                if p99.len() == point.runs.len() {
                    measures.push(Measure::new(format!("{kind} p99, {name}"), "ms", Better::Lower, p99));
                }
            }
        }
        measures
    }

    /// What a reader should know of the numbers.
    pub(super) fn warnings(&self) -> Vec<String> {
        let unsteady = self.points.iter().filter_map(|point| {
            let count = point.runs.iter().filter(|run| !run.was_steady).count();
            let name = plan::name(std::slice::from_ref(&point.path), 0, point.size_bytes, point.depth);
            (count > 0).then(|| {
                let of = format!("{count} of {} repeats", point.runs.len());
                format!(
                    "{}: {name}: in {of} the throughput was not steady when measuring began",
                    point.path.display()
                )
            })
        });
        let busy = self.points.iter().filter(|point| self.is_held_back(point)).map(|point| {
            let name = plan::name(std::slice::from_ref(&point.path), 0, point.size_bytes, point.depth);
            format!(
                "{}: {name}: the processor was busy all the time: the disk may be faster than this",
                point.path.display()
            )
        });
        unsteady.chain(busy).chain(self.curves.iter().filter_map(Curve::warning)).collect()
    }

    /// Whether the one thread that hands requests over had no time left in one of the repeats.
    fn is_held_back(&self, point: &Point) -> bool {
        self.engine == Engine::IoUring && point.runs.iter().any(|run| run.cpu_seconds > 0.9 * run.seconds)
    }

    /// What was asked of the disk, in a sentence.
    pub fn load(&self) -> String {
        let fsync = match self.fsync {
            FsyncRule::Never => "no fsync".to_owned(),
            FsyncRule::End => "an fsync at the end".to_owned(),
            FsyncRule::Every(requests) => format!("an fsync after every {requests} requests"),
        };
        format!(
            "Requests of {} at random places, {:.0} % of them reads, {fsync}; direct I/O by {}, {} for each point and repeat.",
            size_name(self.block_bytes),
            self.share_of_reads * 100.0,
            self.engine.name(),
            Unit::Seconds.text(self.seconds_per_point)
        )
    }

    /// What a curve is called: its depth, and its path where there are several.
    pub fn name_of(&self, curve: &Curve) -> String {
        let has_several = self.curves.iter().any(|other| other.path != curve.path);
        let path = if has_several { format!("{}, ", curve.path.display()) } else { String::new() };
        format!("{path}depth {}", curve.depth)
    }

    /// The points of a curve, by size.
    pub fn points_of<'a>(&'a self, curve: &'a Curve) -> impl Iterator<Item = &'a Point> {
        self.points.iter().filter(|point| (&point.path, point.depth) == (&curve.path, curve.depth))
    }
}

impl Point {
    fn new(path: PathBuf, spot: Spot, done: &[&Done]) -> Result<Self> {
        let mut tally = Tally::new()?;
        done.iter().try_for_each(|done| tally.add(&done.run.tally))?;
        let runs: Vec<_> = done.iter().map(|done| RunFigures::of(done)).collect();
        let estimate = |of: fn(&RunFigures) -> f64| Estimate::of(runs.iter().map(of).collect());
        Ok(Self {
            path,
            size_bytes: spot.size,
            depth: spot.depth,
            mb_per_second: estimate(|run| run.mb_per_second),
            iops: estimate(|run| run.iops),
            read: tally.latency(Kind::Read),
            write: tally.latency(Kind::Write),
            fsync: tally.latency(Kind::Fsync),
            runs,
        })
    }
}

impl Estimate {
    fn of(values: Vec<f64>) -> Self {
        let Measure { median, interval, .. } = Measure::new("", "", Better::Higher, values);
        Self { median, interval }
    }
}

impl RunFigures {
    fn of(done: &Done) -> Self {
        let run = &done.run;
        Self {
            turn: done.turn,
            seconds: run.seconds,
            warm_up_seconds: run.warm_up_seconds,
            was_steady: run.was_steady,
            cpu_seconds: run.cpu_seconds,
            mb_per_second: run.mb_per_second(),
            iops: run.iops(),
            read: run.tally.latency(Kind::Read),
            write: run.tally.latency(Kind::Write),
            fsync: run.tally.latency(Kind::Fsync),
        }
    }
}

impl Curve {
    /// What is to be known of the answer to what was required.
    fn warning(&self) -> Option<String> {
        let required = self.required.as_ref()?;
        let (rate, at) = (required.mb_per_second, self.path.display());
        let depth = self.depth;
        match required.reach {
            Reach::BeyondTheSweep => Some(format!(
                "{at}, depth {depth}: {rate} MB/s were met at all sizes: how far that goes, a larger --sweep tells"
            )),
            Reach::BelowTheSweep => Some(format!(
                "{at}, depth {depth}: {rate} MB/s were met at no size: whether a smaller one would do, a smaller --sweep tells"
            )),
            Reach::Within { .. } if !required.has_interval => Some(format!(
                "{at}, depth {depth}: how sure the answer to {rate} MB/s is, is not known of one repeat: --repeat 2 or more tells"
            )),
            Reach::Within { .. } => None,
        }
    }
}

/// One curve for each path and depth, in the order of the points.
fn curves(points: &[Point], required: Option<f64>) -> Vec<Curve> {
    let mut curves: Vec<Curve> = Vec::new();
    for point in points {
        if curves.iter().any(|curve| (&curve.path, curve.depth) == (&point.path, point.depth)) {
            continue;
        }
        let of_it = points.iter().filter(|other| (&other.path, other.depth) == (&point.path, point.depth));
        let sizes: Vec<At> = of_it
            .map(|point| At {
                bytes: point.size_bytes,
                mb_per_second: point.runs.iter().map(|run| run.mb_per_second).collect(),
            })
            .collect();
        curves.push(Curve {
            path: point.path.clone(),
            depth: point.depth,
            required: required.map(|required| require::largest(&sizes, required)),
            knee: knee::knee(&sizes),
        });
    }
    curves
}
