//! Requests by pread and pwrite, each from a thread that waits for it: what is left where the kernel forbids io_uring.

use std::os::unix::fs::FileExt as _;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use drover_db::Stop;
use fastrand::Rng;

use super::buffers::Buffers;
use super::course::{Course, Phase};
use super::file::DataFile;
use super::load::{Durability, Kind, Load, Request, Requests};
use super::tally::Tally;
use crate::{Error, Result};

/// How often the course is looked at between the ends of slices.
const POLL: Duration = Duration::from_millis(20);

/// What the threads share.
struct Shared<'a> {
    data: &'a DataFile,
    load: &'a Load,
    durability: Durability,
    /// Reads and writes that are done.
    done: AtomicU64,
    is_measuring: AtomicBool,
    is_over: AtomicBool,
    result: Mutex<Outcome>,
}

struct Outcome {
    tally: Tally,
    failure: Option<Error>,
}

/// Puts a load on a file until the course is over.
pub(super) fn drive(data: &DataFile, load: &Load, course: &mut Course<'_>, stop: &Stop) -> Result<Tally> {
    let shared = Shared {
        data,
        load,
        durability: Durability::new(load.fsync),
        done: AtomicU64::new(0),
        is_measuring: AtomicBool::new(false),
        is_over: AtomicBool::new(false),
        result: Mutex::new(Outcome { tally: Tally::new()?, failure: None }),
    };
    thread::scope(|scope| {
        let started = (0..load.depth).try_for_each(|number| {
            let shared = &shared;
            thread::Builder::new().spawn_scoped(scope, move || shared.work(number)).map(drop)
        });
        let watched = match started {
            Ok(()) => shared.watch(course, stop),
            Err(error) => Err(too_many(load.depth, &error)),
        };
        shared.is_over.store(true, Ordering::Relaxed);
        watched
    })?;
    let Outcome { tally, failure } = shared.result.into_inner().unwrap_or_else(PoisonError::into_inner);
    failure.map_or(Ok(tally), Err)
}

fn too_many(depth: u32, error: &std::io::Error) -> Error {
    Error::with_hint(format!("{depth} threads cannot be started: {error}"), "give a smaller --depth")
}

impl Shared<'_> {
    /// Ends slices until the course is over or a thread has failed.
    fn watch(&self, course: &mut Course<'_>, stop: &Stop) -> Result<()> {
        let mut before = 0;
        while !self.is_over.load(Ordering::Relaxed) {
            if stop.is_requested() {
                return Err(Error::Stopped);
            }
            let now = Instant::now();
            let left = course.slice_end().saturating_duration_since(now);
            if !left.is_zero() {
                thread::sleep(left.min(POLL));
                continue;
            }
            let done = self.done.load(Ordering::Relaxed);
            let phase = course.turn(done - before, now);
            before = done;
            self.is_measuring.store(phase == Phase::Measuring, Ordering::Relaxed);
            if phase == Phase::Done {
                self.is_over.store(true, Ordering::Relaxed);
            }
        }
        Ok(())
    }

    /// One request after the other.
    fn work(&self, number: u32) {
        if let Err(error) = self.requests(number) {
            self.lock().failure.get_or_insert(error);
            self.is_over.store(true, Ordering::Relaxed);
        }
    }

    fn requests(&self, number: u32) -> Result<()> {
        let alignment = (self.data.alignment().memory_bytes as usize).max(4096);
        let mut random = Rng::with_seed(self.load.seed.wrapping_add(u64::from(number)));
        let mut buffers = Buffers::new(1, self.load.block as usize, alignment, &mut random);
        let mut requests = Requests::new(self.load, random.u64(..));
        while !self.is_over.load(Ordering::Relaxed) {
            let request = if self.durability.is_due() {
                Request::FSYNC
            } else {
                let request = requests.draw();
                self.durability.note(request.kind);
                request
            };
            if request.kind == Kind::Write {
                requests.stamp(buffers.buffer(0));
            }
            let began = Instant::now();
            self.execute(request, buffers.buffer(0))?;
            self.count(request.kind, began.elapsed());
        }
        Ok(())
    }

    fn execute(&self, Request { kind, offset }: Request, buffer: &mut [u8]) -> Result<()> {
        let file = self.data.file();
        let done = match kind {
            Kind::Read => file.read_exact_at(buffer, offset),
            Kind::Write => file.write_all_at(buffer, offset),
            Kind::Fsync => return self.data.sync(),
        };
        done.map_err(Error::file(self.data.path()))
    }

    fn count(&self, kind: Kind, took: Duration) {
        if kind != Kind::Fsync {
            self.done.fetch_add(1, Ordering::Relaxed);
        }
        if self.is_measuring.load(Ordering::Relaxed) {
            self.lock().tally.record(kind, took);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Outcome> {
        self.result.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
