//! Requests over io_uring, from one thread.
//!
//! The file and the buffers are registered, so that the kernel need not look them up for each request. Those that are done are taken
//! in batches, all at the time when the batch was seen, but each new one is handed over at once: with a whole batch the disk would
//! wait for its last request, and then this thread for the disk. Only the last of a batch goes with the call that waits for more.

use std::io;
use std::os::fd::AsRawFd as _;
use std::time::Instant;

use drover_db::Stop;
use fastrand::Rng;
use io_uring::{IoUring, cqueue, opcode, squeue, types};

use super::buffers::Buffers;
use super::course::{Course, Phase};
use super::file::DataFile;
use super::load::{Durability, Kind, Load, Request, Requests};
use super::tally::Tally;
use crate::{Error, Result};

/// Puts a load on a file until the course is over.
pub(super) fn drive(data: &DataFile, load: &Load, course: &mut Course<'_>, stop: &Stop) -> Result<Tally> {
    Ring::new(data, load)?.run(course, stop)
}

/// Why the kernel gives no ring, if it does not.
pub(super) fn refusal() -> Option<io::Error> {
    build(1).err()
}

/// A ring whose completions do not interrupt this thread: the kernel sees to them when this thread asks for them (Linux 6.1), or whenever
/// it is called anyway (5.19). Older kernels refuse what they do not know.
fn build(entries: u32) -> io::Result<IoUring> {
    let mut when_asked = IoUring::<squeue::Entry, cqueue::Entry>::builder();
    when_asked.setup_single_issuer().setup_defer_taskrun().setup_taskrun_flag();
    let mut when_called = IoUring::<squeue::Entry, cqueue::Entry>::builder();
    when_called.setup_coop_taskrun();
    when_asked
        .build(entries)
        .or_else(|error| if_unknown(error, || when_called.build(entries)))
        .or_else(|error| if_unknown(error, || IoUring::new(entries)))
}

fn if_unknown(error: io::Error, older: impl FnOnce() -> io::Result<IoUring>) -> io::Result<IoUring> {
    if error.raw_os_error() == Some(libc::EINVAL) { older() } else { Err(error) }
}

/// A ring with requests under way.
struct Ring<'a> {
    // Dropped before the buffers that are registered with it.
    ring: IoUring,
    buffers: Buffers,
    is_registered: bool,
    places: Vec<Place>,
    /// Places whose requests are done, and what came of them.
    done: Vec<(usize, i32)>,
    under_way: usize,
    data: &'a DataFile,
    block: u32,
    requests: Requests,
    durability: Durability,
}

/// What takes a place among the requests under way; its number is that of its buffer.
#[derive(Debug, Clone, Copy)]
struct Place {
    request: Request,
    began: Instant,
}

impl<'a> Ring<'a> {
    fn new(data: &'a DataFile, load: &Load) -> Result<Self> {
        let ring = build(load.depth).map_err(Error::file(data.path()))?;
        let alignment = (data.alignment().memory_bytes as usize).max(4096);
        let (depth, block) = (load.depth as usize, load.block as usize);
        let mut buffers = Buffers::new(depth, block, alignment, &mut Rng::with_seed(load.seed));
        ring.submitter().register_files(&[data.file().as_raw_fd()]).map_err(Error::file(data.path()))?;
        let is_registered = register(&ring, &mut buffers);
        Ok(Self {
            ring,
            buffers,
            is_registered,
            places: vec![Place { request: Request::FSYNC, began: Instant::now() }; depth],
            done: Vec::with_capacity(depth),
            under_way: 0,
            data,
            block: load.block,
            requests: Requests::new(load, 0),
            durability: Durability::new(load.fsync),
        })
    }

    fn run(&mut self, course: &mut Course<'_>, stop: &Stop) -> Result<Tally> {
        let mut tally = Tally::new()?;
        let mut in_slice = 0;
        for place in 0..self.places.len() {
            self.begin(place)?;
        }
        loop {
            self.enter(1)?;
            if stop.is_requested() {
                return Err(Error::Stopped);
            }
            self.take_done();
            let now = Instant::now();
            for number in 0..self.done.len() {
                let (place, result) = self.done[number];
                let Place { request, began } = self.places[place];
                self.check(request, result)?;
                in_slice += u64::from(request.kind != Kind::Fsync);
                if course.is_measuring() {
                    tally.record(request.kind, now - began);
                }
                if now >= course.slice_end() {
                    if course.turn(in_slice, now) == Phase::Done {
                        return Ok(tally);
                    }
                    in_slice = 0;
                }
                self.begin(place)?;
                if number + 1 < self.done.len() {
                    self.enter(0)?;
                }
            }
        }
    }

    /// Gives a place a new request, which is handed over with the next call.
    fn begin(&mut self, place: usize) -> Result<()> {
        let request = if self.durability.is_due() { Request::FSYNC } else { self.draw() };
        if request.kind == Kind::Write {
            self.stamp(place);
        }
        let entry = self.entry(place, request).user_data(place as u64);
        self.places[place] = Place { request, began: Instant::now() };
        self.push(&entry)?;
        self.under_way += 1;
        Ok(())
    }

    fn draw(&mut self) -> Request {
        let request = self.requests.draw();
        self.durability.note(request.kind);
        request
    }

    fn entry(&mut self, place: usize, Request { kind, offset }: Request) -> squeue::Entry {
        let (file, start, length) = (types::Fixed(0), self.buffers.start(place), self.block);
        match (kind, self.is_registered) {
            (Kind::Read, true) => opcode::ReadFixed::new(file, start, length, 0).offset(offset).build(),
            (Kind::Read, false) => opcode::Read::new(file, start, length).offset(offset).build(),
            (Kind::Write, true) => opcode::WriteFixed::new(file, start, length, 0).offset(offset).build(),
            (Kind::Write, false) => opcode::Write::new(file, start, length).offset(offset).build(),
            (Kind::Fsync, _) => opcode::Fsync::new(file).build(),
        }
    }

    #[allow(unsafe_code, reason = "the kernel writes to other parts of the same allocation at this time")]
    fn stamp(&mut self, place: usize) {
        // SAFETY: a buffer begins at its start and is a block long, and those of other places do not reach into it. This one's
        // place has no request under way, so neither the kernel nor anybody else uses it.
        let buffer =
            unsafe { std::slice::from_raw_parts_mut(self.buffers.start(place), self.block as usize) };
        self.requests.stamp(buffer);
    }

    #[allow(unsafe_code, reason = "the kernel is given addresses of memory")]
    fn push(&mut self, entry: &squeue::Entry) -> Result<()> {
        // SAFETY: the entry points to the buffer of its place, which is freed only when no request is under way (`drop`), and is
        // used by nobody else until this request is done.
        let pushed = unsafe { self.ring.submission().push(entry) };
        pushed.map_err(|_| {
            Error::found(format!("{}: the ring takes no more requests", self.data.path().display()))
        })
    }

    /// Hands over what is new, and waits until so many requests are done.
    fn enter(&self, done: usize) -> Result<()> {
        match self.ring.submit_and_wait(done) {
            Ok(_) => Ok(()),
            Err(error) if is_to_be_tried_again(&error) => Ok(()),
            Err(error) => Err(Error::file(self.data.path())(error)),
        }
    }

    /// Takes in which requests are done by now.
    fn take_done(&mut self) {
        self.done.clear();
        self.done.extend(self.ring.completion().map(|done| (done.user_data() as usize, done.result())));
        self.under_way -= self.done.len();
    }

    fn check(&self, request: Request, result: i32) -> Result<()> {
        let path = self.data.path();
        let whole = if request.kind == Kind::Fsync { 0 } else { self.block as i32 };
        match result {
            result if result == whole => Ok(()),
            result if result < 0 => Err(Error::file(path)(io::Error::from_raw_os_error(-result))),
            result => Err(Error::found(format!(
                "{}: {result} of the {whole} bytes at {} were read or written",
                path.display(),
                request.offset
            ))),
        }
    }

    /// Waits until no request is under way; says whether that is so.
    fn drain(&mut self) -> bool {
        while self.under_way > 0 {
            if self.enter(1).is_err() {
                return false;
            }
            self.take_done();
        }
        true
    }
}

impl Drop for Ring<'_> {
    fn drop(&mut self) {
        if !self.drain() {
            // The kernel may write to them at any time: they are never freed.
            std::mem::forget(std::mem::take(&mut self.buffers));
        }
    }
}

/// Registers the buffers, as one. Where a user may lock too little memory for that, the kernel looks them up for each request.
#[allow(unsafe_code, reason = "the kernel is given an address of memory")]
fn register(ring: &IoUring, buffers: &mut Buffers) -> bool {
    let all = libc::iovec { iov_base: buffers.start(0).cast(), iov_len: buffers.length() };
    // SAFETY: the buffers are freed after the ring, or never (`drop`), and their allocation never moves.
    unsafe { ring.submitter().register_buffers(&[all]) }.is_ok()
}

fn is_to_be_tried_again(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINTR | libc::EAGAIN | libc::EBUSY))
}
