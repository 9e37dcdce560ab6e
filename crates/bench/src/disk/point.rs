//! One measurement: a load on a file for a while. What the rest of this module does is to make many of them and to look at the
//! curve; others can call it for a single one.

use std::time::{Duration, Instant};

use drover_db::Stop;

use super::course::{Course, Timing};
use super::engine::Engine;
use super::file::DataFile;
use super::load::{FsyncRule, Kind, Load};
use super::tally::Tally;
use super::{ring, threads};
use crate::{Error, Result};

/// What came of it.
#[derive(Debug, Clone)]
pub struct Run {
    /// How long was measured, in seconds.
    pub seconds: f64,
    /// How long it was warmed up before, in seconds.
    pub warm_up_seconds: f64,
    /// Whether the throughput was steady when measuring began.
    pub was_steady: bool,
    /// The CPU time that this process took while it measured, with the kernel's on its behalf, in seconds.
    pub cpu_seconds: f64,
    /// How much each read and write moved, in bytes.
    pub block: u32,
    /// All requests that were done in that time, by how long they took.
    pub tally: Tally,
}

impl Run {
    /// Reads and writes a second.
    pub fn iops(&self) -> f64 {
        (self.tally.count(Kind::Read) + self.tally.count(Kind::Write)) as f64 / self.seconds
    }

    /// What was read and written, in 10^6 bytes a second.
    pub fn mb_per_second(&self) -> f64 {
        megabytes(self.iops(), self.block)
    }
}

/// Puts a load on a file that was filled: warms up until the throughput is steady, then measures. `each_slice` is told the throughput
/// of each slice of the time meanwhile, in MB/s.
///
/// # Errors
/// If a request fails, the load does not fit the file, or the work was stopped. No request is under way afterwards.
pub fn measure(
    data: &DataFile,
    engine: Engine,
    load: &Load,
    timing: Timing,
    stop: &Stop,
    each_slice: &dyn Fn(f64),
) -> Result<Run> {
    fits(data, load)?;
    let tell = |rate: f64| each_slice(megabytes(rate, load.block));
    let mut course = Course::new(timing, &tell);
    let mut tally = match engine {
        Engine::IoUring => ring::drive(data, load, &mut course, stop),
        Engine::Threads => threads::drive(data, load, &mut course, stop),
    }?;
    let mut measured = course.measured();
    if load.fsync == FsyncRule::End {
        let took = timed_sync(data)?;
        tally.record(Kind::Fsync, took);
        measured += took;
    }
    Ok(Run {
        seconds: measured.as_secs_f64(),
        warm_up_seconds: course.warmed().as_secs_f64(),
        was_steady: course.was_steady(),
        cpu_seconds: course.cpu().as_secs_f64(),
        block: load.block,
        tally,
    })
}

/// Requests outside of the file would make it grow.
fn fits(data: &DataFile, load: &Load) -> Result<()> {
    data.check_block(u64::from(load.block))?;
    let is_within = (u64::from(load.block)..=data.bytes()).contains(&load.working_set);
    match (is_within && load.block > 0, load.depth) {
        (true, 1..) => Ok(()),
        _ => {
            Err(Error::found(format!("{}: the load does not fit the file: {load:?}", data.path().display())))
        }
    }
}

fn timed_sync(data: &DataFile) -> Result<Duration> {
    let began = Instant::now();
    data.sync()?;
    Ok(began.elapsed())
}

fn megabytes(iops: f64, block: u32) -> f64 {
    iops * f64::from(block) / 1e6
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::Arc;

    use super::super::load::Mix;
    use super::super::testing::on_disk;
    use super::*;
    use crate::Progress;

    const BYTES: u64 = 8 << 20;

    fn load(depth: u32, fsync: FsyncRule) -> Load {
        let mix = Mix::parse("60:40").unwrap();
        Load { mix, block: 16 << 10, depth, fsync, working_set: BYTES / 2, seed: 3 }
    }

    fn timing(millis: u64) -> Timing {
        Timing::new(Duration::from_millis(millis), None)
    }

    /// Every engine that is there: both, unless the kernel forbids one.
    fn engines() -> Vec<Engine> {
        let (best, _) = Engine::choose(None).unwrap();
        if best == Engine::Threads { vec![best] } else { vec![best, Engine::Threads] }
    }

    #[test]
    fn both_engines_do_what_was_asked_for_and_nothing_beyond_the_working_set() {
        let dir = on_disk();
        let data = DataFile::create(dir.path(), BYTES).unwrap();
        data.fill(1, &Stop::default(), &Progress::default()).unwrap();
        for engine in engines() {
            let before = std::fs::read(data.path()).unwrap();
            let slices = Cell::new(0);
            let tell = |_: f64| slices.set(slices.get() + 1);
            let run =
                measure(&data, engine, &load(4, FsyncRule::Every(20)), timing(500), &Stop::default(), &tell)
                    .unwrap();
            let [reads, writes, fsyncs] =
                [Kind::Read, Kind::Write, Kind::Fsync].map(|kind| run.tally.count(kind));
            let all = (reads + writes) as f64;
            assert!(
                (reads as f64 / all - 0.6).abs() < 5.0 * (0.24 / all).sqrt(),
                "{engine:?}: {reads} of {all}"
            );
            assert!((fsyncs as f64 - all / 20.0).abs() <= 2.0 + all / 200.0, "{engine:?}: {fsyncs} of {all}");
            assert!((run.iops() * 16384.0 / 1e6 - run.mb_per_second()).abs() < 1e-9);
            assert!(run.seconds >= 0.5 && slices.get() >= 10, "{run:?}");
            assert!(run.cpu_seconds > 0.0 && run.cpu_seconds < run.seconds * 64.0, "{run:?}");
            let after = std::fs::read(data.path()).unwrap();
            let half = BYTES as usize / 2;
            assert_eq!(before.len(), after.len());
            assert!(before[..half] != after[..half], "{engine:?} wrote nothing");
            assert!(before[half..] == after[half..], "{engine:?} wrote behind the working set");
        }
    }

    #[test]
    fn an_fsync_at_the_end_counts() {
        let dir = on_disk();
        let data = DataFile::create(dir.path(), BYTES).unwrap();
        data.fill(1, &Stop::default(), &Progress::default()).unwrap();
        for engine in engines() {
            let run =
                measure(&data, engine, &load(1, FsyncRule::End), timing(100), &Stop::default(), &|_| ())
                    .unwrap();
            let fsync = run.tally.latency(Kind::Fsync).unwrap();
            assert!(fsync.count == 1 && run.seconds >= 0.1 + fsync.max_ms / 1e3 * 0.99, "{run:?}");
        }
    }

    #[test]
    fn a_stop_ends_it_promptly() {
        let dir = on_disk();
        let data = DataFile::create(dir.path(), BYTES).unwrap();
        data.fill(1, &Stop::default(), &Progress::default()).unwrap();
        for engine in engines() {
            let stop = Arc::new(Stop::default());
            let asks = Arc::clone(&stop);
            let asking = std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(200));
                asks.request();
            });
            let began = Instant::now();
            let result = measure(&data, engine, &load(8, FsyncRule::Never), timing(60_000), &stop, &|_| ());
            assert!(matches!(result, Err(Error::Stopped)), "{engine:?}");
            assert!(began.elapsed() < Duration::from_secs(5), "{engine:?}: {:?}", began.elapsed());
            asking.join().unwrap();
        }
    }

    #[test]
    fn a_load_that_does_not_fit_is_refused() {
        let dir = on_disk();
        let data = DataFile::create(dir.path(), BYTES).unwrap();
        for load in [
            Load { working_set: BYTES * 2, ..load(1, FsyncRule::Never) },
            Load { working_set: 4096, ..load(1, FsyncRule::Never) },
            Load { block: 1000, ..load(1, FsyncRule::Never) },
            load(0, FsyncRule::Never),
        ] {
            assert!(
                measure(&data, Engine::Threads, &load, timing(100), &Stop::default(), &|_| ()).is_err(),
                "{load:?}"
            );
        }
    }
}
