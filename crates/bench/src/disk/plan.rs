//! What is measured, in which order.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use drover_db::Stop;
use drover_units::show;
use fastrand::Rng;

use super::args::DiskArgs;
use super::course::Timing;
use super::engine::Engine;
use super::file::DataFile;
use super::load::Load;
use super::point::{self, Run};
use super::sweep::size_name;
use crate::{Error, Progress, Result};

/// Where, over how much data and how deep is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spot {
    /// The number of the path.
    pub(super) path: usize,
    /// In bytes.
    pub(super) size: u64,
    pub(super) depth: u32,
}

/// What is done at one turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Turn {
    /// The number of the spot.
    spot: usize,
    seed: u64,
}

/// All that is to be done.
pub(super) struct Plan<'a> {
    args: &'a DiskArgs,
    block: u32,
    timing: Timing,
    spots: Vec<Spot>,
}

/// What came of a turn, and the how manieth it was, from 1.
pub(super) struct Done {
    pub(super) spot: usize,
    pub(super) turn: u32,
    pub(super) run: Run,
}

/// More buffers than these a kernel does not register at once, and few machines could spare.
const MOST_BUFFERS: u64 = 1 << 30;

impl<'a> Plan<'a> {
    /// Looks whether the options can be followed.
    pub(super) fn of(args: &'a DiskArgs) -> Result<Self> {
        let depths = args.all_depths();
        let buffers = depths.last().map_or(0, |depth| u64::from(*depth).saturating_mul(args.block));
        let block = u32::try_from(args.block).ok().filter(|_| (1..=MOST_BUFFERS).contains(&buffers));
        let Some(block) = block else {
            let what = format!("--block {} at depth {}", args.block, depths.last().unwrap_or(&0));
            return Err(Error::with_hint(
                format!("{what} needs buffers of {}", show::bytes(buffers)),
                "blocks are at least a sector, and all that are under way at most 1 GiB",
            ));
        };
        if let Some(small) = args.sweep.sizes().iter().find(|size| **size < args.block) {
            return Err(Error::found(format!(
                "--sweep {}: it holds no block of {}",
                size_name(*small),
                size_name(args.block)
            )));
        }
        if args.seconds < Duration::from_millis(100) {
            return Err(Error::with_hint("--seconds is too short to measure anything", "give 0.1 or more"));
        }
        let sizes = args.sweep.sizes();
        let spots = (0..args.paths.len()).flat_map(|path| {
            depths.iter().flat_map(move |depth| {
                sizes.iter().map(move |size| Spot { path, size: *size, depth: *depth })
            })
        });
        let timing = Timing::new(args.seconds, args.measure.warm_up);
        Ok(Self { args, block, timing, spots: spots.collect() })
    }

    pub(super) fn spots(&self) -> &[Spot] {
        &self.spots
    }

    /// Each repeat takes all spots in an order of its own, so that what changes with time, such as a neighbour's load, is no
    /// spot's or path's own.
    fn turns(&self) -> Vec<Turn> {
        let mut random = Rng::with_seed(self.args.measure.seed);
        let mut turns = Vec::new();
        for _ in 0..self.args.measure.repeat {
            let mut order: Vec<_> = (0..self.spots.len()).collect();
            random.shuffle(&mut order);
            turns.extend(order.into_iter().map(|spot| Turn { spot, seed: random.u64(..) }));
        }
        turns
    }

    /// Does all of it.
    pub(super) fn measure(
        &self,
        files: &[DataFile],
        engine: Engine,
        stop: &Stop,
        progress: &Progress,
    ) -> Result<Vec<Done>> {
        let (turns, began) = (self.turns(), Instant::now());
        let mut all = Vec::new();
        progress.phase("measuring", (self.timing.warm_up + self.timing.measured) * turns.len() as u32);
        for (number, turn) in turns.iter().enumerate() {
            let at = format!("{} of {}, {}", number + 1, turns.len(), self.name(turn.spot));
            let tell = |rate: f64| progress.figure(format!("{at}, {} MB/s", crate::figure(rate)));
            let (spot, load) = (self.spots[turn.spot], self.load(*turn));
            let run = point::measure(&files[spot.path], engine, &load, self.timing, stop, &tell)?;
            all.push(Done { spot: turn.spot, turn: number as u32 + 1, run });
            let so_far = began.elapsed();
            progress.plan(so_far / (number as u32 + 1) * turns.len() as u32);
        }
        Ok(all)
    }

    fn load(&self, turn: Turn) -> Load {
        let spot = self.spots[turn.spot];
        Load {
            mix: self.args.mix,
            block: self.block,
            depth: spot.depth,
            fsync: self.args.fsync,
            working_set: spot.size,
            seed: turn.seed,
        }
    }

    fn name(&self, spot: usize) -> String {
        let Spot { path, size, depth } = self.spots[spot];
        name(&self.args.paths, path, size, depth)
    }
}

/// `1 GiB, depth 32`, and which path, if there are several.
pub(super) fn name(paths: &[PathBuf], path: usize, size: u64, depth: u32) -> String {
    let of = if paths.len() > 1 { format!(", {}", paths[path].display()) } else { String::new() };
    format!("{}, depth {depth}{of}", size_name(size))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[derive(Debug, clap::Parser)]
    struct Line {
        #[command(flatten)]
        disk: DiskArgs,
    }

    fn args(line: &str) -> DiskArgs {
        Line::try_parse_from(["disk"].into_iter().chain(line.split_whitespace())).unwrap().disk
    }

    #[test]
    fn each_repeat_has_all_spots_in_an_order_of_its_own() {
        let args = args("/a /b --sweep 1G..8G --depths 1,32 --repeat 3 --seed 5");
        let plan = Plan::of(&args).unwrap();
        assert_eq!(plan.spots.len(), 2 * 4 * 2);
        let turns = plan.turns();
        let mut orders: Vec<Vec<usize>> =
            turns.chunks(16).map(|repeat| repeat.iter().map(|turn| turn.spot).collect()).collect();
        assert_eq!(orders.len(), 3);
        assert!(orders[0] != orders[1] && orders[1] != orders[2] && !orders[0].is_sorted());
        for order in &mut orders {
            order.sort_unstable();
            assert!(order.iter().copied().eq(0..16));
        }
        assert_eq!(plan.turns(), turns, "the same seed gives the same order");
    }

    #[test]
    fn options_that_cannot_be_followed_are_refused() {
        for line in [
            "/a --block 0",
            "/a --block 2M --depth 1024",
            "/a --block 5G",
            "/a --block 64k --sweep 16k..1M",
            "/a --seconds 0",
        ] {
            assert!(Plan::of(&args(line)).is_err(), "{line}");
        }
        Plan::of(&args("/a --block 1M --depth 1024")).unwrap();
    }

    #[test]
    fn a_path_is_named_where_there_are_several() {
        let paths: Vec<PathBuf> = vec!["/a".into(), "/b".into()];
        assert_eq!(name(&paths[..1], 0, 1 << 30, 32), "1 GiB, depth 32");
        assert_eq!(name(&paths, 1, 1 << 30, 32), "1 GiB, depth 32, /b");
    }
}
