//! Writing the file in full before anything is measured, as fast as the disk takes it.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use drover_db::Stop;
use drover_units::show;
use fastrand::Rng;
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

use super::buffers::Buffers;
use super::file::DataFile;
use crate::{Error, Progress, Result};

/// How much is written at once, in bytes.
const CHUNK: usize = 4 << 20;
/// So many at a time keep a disk busy while others draw random bytes.
const WRITERS: usize = 4;

/// A file that is being filled.
struct Filling<'a> {
    data: &'a DataFile,
    seed: u64,
    stop: &'a Stop,
    next: AtomicU64,
    written: AtomicU64,
    has_failed: AtomicBool,
}

/// Fills a file, and returns how long that took.
pub(super) fn fill(data: &DataFile, seed: u64, stop: &Stop, progress: &Progress) -> Result<Duration> {
    let began = Instant::now();
    reserve(data)?;
    let filling = Filling {
        data,
        seed,
        stop,
        next: AtomicU64::new(0),
        written: AtomicU64::new(0),
        has_failed: AtomicBool::new(false),
    };
    thread::scope(|scope| {
        let writers = [(); WRITERS].map(|()| scope.spawn(|| filling.write()));
        while writers.iter().any(|writer| !writer.is_finished()) {
            thread::sleep(Duration::from_millis(20));
            progress.figure(figure(filling.written.load(Ordering::Relaxed), data.bytes(), began.elapsed()));
        }
        writers
            .into_iter()
            .try_for_each(|writer| writer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })?;
    data.sync()?;
    Ok(began.elapsed())
}

impl Filling<'_> {
    fn write(&self) -> Result<()> {
        let result = self.write_chunks();
        if result.is_err() {
            self.has_failed.store(true, Ordering::Relaxed);
        }
        result
    }

    fn write_chunks(&self) -> Result<()> {
        let alignment = (self.data.alignment().memory_bytes as usize).max(4096);
        let mut buffers = Buffers::new(1, CHUNK, alignment, &mut Rng::with_seed(self.seed));
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let offset = number * CHUNK as u64;
            if offset >= self.data.bytes() || self.has_failed.load(Ordering::Relaxed) {
                return Ok(());
            }
            if self.stop.is_requested() {
                return Err(Error::Stopped);
            }
            let length = (self.data.bytes() - offset).min(CHUNK as u64) as usize;
            let chunk = &mut buffers.buffer(0)[..length];
            // By its number, so that the bytes do not depend on which thread writes them.
            Rng::with_seed(self.seed.wrapping_add(number)).fill(chunk);
            self.data.file().write_all_at(chunk, offset).map_err(Error::file(self.data.path()))?;
            self.written.fetch_add(length as u64, Ordering::Relaxed);
        }
    }
}

/// Reserves all of the space, so that it is known at once to be there, and lies together. Not all file systems can; those that
/// cannot find their space as it is written.
fn reserve(data: &DataFile) -> Result<()> {
    match allocated(data.file(), data.bytes()) {
        Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
        Err(Errno::FBIG) => Err(Error::with_hint(
            format!(
                "{}: the file system holds no file of {}",
                data.path().display(),
                show::bytes(data.bytes())
            ),
            "give a smaller --sweep",
        )),
        Err(errno) => Err(Error::file(data.path())(errno.into())),
    }
}

fn allocated(file: &File, bytes: u64) -> rustix::io::Result<()> {
    loop {
        match fallocate(file, FallocateFlags::empty(), 0, bytes) {
            Err(Errno::INTR) => continue,
            result => return result,
        }
    }
}

/// `1.20 GB of 4.29 GB, 480 MB/s, ETA 6.44 s`
fn figure(written: u64, bytes: u64, elapsed: Duration) -> String {
    let done = format!("{} of {}", show::bytes(written), show::bytes(bytes));
    let seconds = elapsed.as_secs_f64();
    if written == 0 {
        return done;
    }
    let left = seconds * (bytes.saturating_sub(written)) as f64 / written as f64;
    format!("{done}, {}, ETA {}", show::rate(written, seconds), show::seconds(left))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_far_it_is() {
        let after = Duration::from_secs(2);
        assert_eq!(figure(0, 4_000_000_000, after), "0 B of 4.00 GB");
        assert_eq!(figure(1_000_000_000, 4_000_000_000, after), "1.00 GB of 4.00 GB, 500 MB/s, ETA 6.00 s");
    }
}
