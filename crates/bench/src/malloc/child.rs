//! What a process does that is started to measure in: one point of one curve, so that its heap is as a program finds it that begins.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::args::Way;
use super::heap::{self, Block};
use crate::{Error, Result};

/// The arguments, before that of the task, by which a process knows that it was started for one.
pub const CHILD: [&str; 3] = ["bench", "malloc", "--child"];

/// The threshold of the way that has a fixed one, in bytes with the header: what glibc begins with.
pub(super) const FIXED_THRESHOLD: i32 = 128 << 10;

/// A point's times are taken in so many batches.
const BATCHES: u64 = 7;
/// How long a batch is at least, so that reading the clock is no part of it.
const BATCH: Duration = Duration::from_micros(1500);
/// After so long a point has enough, if it has [`LEAST`].
const BUDGET: Duration = Duration::from_millis(50);
/// The fewest allocations that are a result where memory lasts.
const LEAST: u64 = 3;
/// How many blocks are allocated where none is freed.
const KEPT: u64 = 2048;

/// What a process is to do.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub(super) enum Task {
    /// Say which library malloc is of: a [`Loaded`].
    Library,
    /// Time allocations: an [`Answer`].
    Measure(Order),
    /// Find the smallest block that is a mapping of its own; it is larger than `low` and at most `high` bytes: a [`Found`].
    FindThreshold {
        /// No mapping.
        low: u64,
        /// A mapping.
        high: u64,
    },
}

/// Which allocations to time.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Order {
    /// How they are made.
    pub way: Way,
    /// Of each, in bytes.
    pub bytes: u64,
    /// Whether each page is written to.
    pub touched: bool,
    /// How many, if that was asked for.
    pub count: Option<u64>,
    /// How many may be there at once; at least 1.
    pub most: u64,
}

/// Which library malloc is of.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Loaded {
    /// Its path.
    pub library: Option<String>,
}

/// What was timed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Answer {
    /// The path of the library that malloc is of.
    pub library: Option<String>,
    /// Nanoseconds for each allocation, by batch; none if malloc returned null.
    pub ns: Vec<f64>,
    /// How many were timed.
    pub allocations: u64,
    /// Minor page faults of each.
    pub faults: f64,
    /// Which share of the blocks were mappings of their own; glibc alone tells.
    pub mappings: Option<f64>,
    /// Which share of the blocks had the heap shrink when they were freed.
    pub given_back: Option<f64>,
}

/// Where blocks begin to be mappings.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Found {
    /// The smallest one, in bytes; none if malloc returned null.
    pub bytes: Option<u64>,
}

/// Does what a process was started for, which is in the argument behind [`CHILD`]. The answer is for the one that started it.
///
/// # Errors
/// If the task is none, or the C library does not take a setting.
pub fn child(task: &str) -> Result<Value> {
    // If memory runs out, the kernel shall end this process and none that somebody needs (proc(5)).
    let _not_allowed_everywhere = std::fs::write("/proc/self/oom_score_adj", "1000");
    let wrong = |error: serde_json::Error| Error::found(format!("a task to measure: {error}: {task}"));
    let answer = match serde_json::from_str(task).map_err(wrong)? {
        Task::Library => serde_json::to_value(Loaded { library: library() }),
        Task::Measure(order) => serde_json::to_value(measure(&order)?),
        Task::FindThreshold { low, high } => serde_json::to_value(Found { bytes: threshold(low, high) }),
    };
    answer.map_err(|error| Error::found(format!("an answer: {error}")))
}

fn library() -> Option<String> {
    heap::library()?.to_str().map(str::to_owned)
}

fn measure(order: &Order) -> Result<Answer> {
    let is_set = match order.way {
        Way::Fixed => heap::set_threshold(FIXED_THRESHOLD),
        Way::NoMmap => heap::never_map(),
        Way::Cold | Way::Dynamic | Way::Preload => true,
    };
    if !is_set {
        return Err(Error::found(format!("the C library does not take the setting of '{}'", order.way)));
    }
    let mut answer = Answer {
        library: library(),
        ns: Vec::with_capacity(BATCHES as usize),
        allocations: 0,
        faults: 0.0,
        mappings: None,
        given_back: None,
    };
    let Some(batch) = batch(order) else { return Ok(answer) };
    let is_glibc = answer.library.as_deref().is_some_and(super::allocators::is_glibc);
    let (faults, mappings) = (heap::minor_faults(), if is_glibc { heap::mappings() } else { 0 });
    time_batches(order, batch, &mut answer);
    let of_all = answer.allocations.max(1) as f64;
    answer.faults = (heap::minor_faults() - faults) as f64 / of_all;
    if is_glibc && order.way.frees() {
        (answer.mappings, answer.given_back) = looked_at(order).unzip();
    } else if is_glibc {
        answer.mappings = Some((heap::mappings() - mappings) as f64 / of_all);
    }
    Ok(answer)
}

fn time_batches(order: &Order, batch: u64, answer: &mut Answer) {
    let begun = Instant::now();
    for _ in 0..BATCHES {
        // What was timed before memory ran out is a result.
        let Some(time) = time(order, batch) else { return };
        answer.ns.push(time.as_nanos() as f64 / batch as f64);
        answer.allocations += batch;
        let is_full = !order.way.frees() && answer.allocations + batch > order.most;
        let is_enough = order.count.is_none() && answer.allocations >= LEAST && begun.elapsed() >= BUDGET;
        if is_full || is_enough {
            return;
        }
    }
}

/// How many allocations are timed at once; `None` if malloc returned null.
fn batch(order: &Order) -> Option<u64> {
    if !order.way.frees() {
        return Some(order.count.unwrap_or(KEPT).min(order.most).div_ceil(BATCHES));
    }
    // It is the first block that is freed to which glibc's threshold adapts.
    let first = time(order, 1)?;
    if let Some(count) = order.count {
        return Some(count.div_ceil(BATCHES));
    }
    if first >= BUDGET {
        return Some(1);
    }
    let mut batch = 1;
    loop {
        let time = time(order, batch)?;
        if time >= BATCH {
            return Some(batch);
        }
        // The first ones may be much slower than those that follow.
        let missing = 1.2 * BATCH.as_secs_f64() / time.as_secs_f64().max(1e-9);
        batch = (batch as f64 * missing.clamp(2.0, 10.0)) as u64;
    }
}

/// The time of so many allocations; `None` if malloc returned null.
fn time(order: &Order, allocations: u64) -> Option<Duration> {
    let (bytes, page) = (usize::try_from(order.bytes).ok()?, heap::page_size());
    let (touches, frees) = (order.touched, order.way.frees());
    let begun = Instant::now();
    for _ in 0..allocations {
        let block = Block::allocate(bytes)?;
        if touches {
            block.touch(page);
        }
        if frees {
            block.release();
        }
    }
    Some(begun.elapsed())
}

/// The shares of blocks that are mappings of their own, and that have the heap shrink when they are freed. That is looked at after the
/// times were taken, since looking takes time.
fn looked_at(order: &Order) -> Option<(f64, f64)> {
    const LOOKS: u32 = 8;
    let bytes = usize::try_from(order.bytes).ok()?;
    let (mut mapped, mut given_back) = (0, 0);
    for _ in 0..LOOKS {
        let before = heap::mappings();
        let block = Block::allocate(bytes)?;
        let (mappings, end) = (heap::mappings(), heap::program_break());
        block.release();
        mapped += u32::from(mappings > before);
        given_back += u32::from(heap::program_break() < end);
    }
    Some((f64::from(mapped) / f64::from(LOOKS), f64::from(given_back) / f64::from(LOOKS)))
}

/// The smallest block that is a mapping, above `low` and up to `high`. Nothing is freed, as the threshold would adapt to it.
fn threshold(low: u64, high: u64) -> Option<u64> {
    let (mut low, mut high) = (low, high);
    while high - low > 1 {
        let middle = low.midpoint(high);
        if is_mapped(usize::try_from(middle).ok()?)? { high = middle } else { low = middle }
    }
    Some(high)
}

fn is_mapped(bytes: usize) -> Option<bool> {
    loop {
        let (end, before) = (heap::end_bytes(), heap::mappings());
        let _kept = Block::allocate(bytes)?;
        if heap::mappings() > before {
            return Some(true);
        }
        // For which there is room at the heap's end, there the threshold is not asked for: that room is used up first.
        if end < bytes {
            return Some(false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(way: Way) -> Order {
        Order { way, bytes: 64 << 10, touched: true, count: None, most: 64 }
    }

    /// Only what leaves the heap's settings alone: other tests run in this process.
    #[test]
    fn points_are_timed() {
        let kept = measure(&order(Way::Cold)).unwrap();
        assert!(kept.allocations <= 64 && kept.allocations >= 3, "{kept:?}");
        let freed = measure(&order(Way::Dynamic)).unwrap();
        for answer in [kept, freed] {
            assert!(!answer.ns.is_empty() && answer.ns.iter().all(|ns| *ns > 0.0), "{answer:?}");
        }
    }

    #[test]
    fn as_many_as_were_asked_for() {
        let counted = measure(&Order { count: Some(70), ..order(Way::Dynamic) }).unwrap();
        assert_eq!(counted.allocations, 70);
    }

    #[test]
    fn what_cannot_be_had_is_no_result() {
        let answer = measure(&Order { bytes: 1 << 62, ..order(Way::Cold) }).unwrap();
        assert!(answer.ns.is_empty() && answer.allocations == 0, "{answer:?}");
        let answer = measure(&Order { bytes: 1 << 62, ..order(Way::Dynamic) }).unwrap();
        assert!(answer.ns.is_empty(), "{answer:?}");
    }

    #[test]
    fn a_task_goes_to_another_process_and_back() {
        let task = serde_json::to_string(&Task::Measure(order(Way::NoMmap))).unwrap();
        let Task::Measure(read) = serde_json::from_str(&task).unwrap() else { panic!("{task}") };
        assert_eq!((read.way, read.bytes, read.touched), (Way::NoMmap, 64 << 10, true));
        assert!(child("{}").is_err());
    }
}
