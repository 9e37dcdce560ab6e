//! What is asked of a disk: requests of one size at random places, reads and writes mixed, and an fsync now and then.
//!
//! sysbench's rndrw has blocks of 16 KiB, 1.5 reads per write and an fsync after every 100 requests; that is the default here.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use fastrand::Rng;
use serde::{Serialize, Serializer};

/// A load on a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Load {
    /// How many of the requests read.
    pub mix: Mix,
    /// How much each of them reads or writes, in bytes: a multiple of what direct I/O takes.
    pub block: u32,
    /// How many of them are under way at any time; 1 or more.
    pub depth: u32,
    /// When written data is made durable.
    pub fsync: FsyncRule,
    /// They go to the file's first so many bytes: at least one block, at most the file.
    pub working_set: u64,
    /// What the places and the mix are drawn from.
    pub seed: u64,
}

/// How many of the requests read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mix(f64);

impl Mix {
    /// Reads `60:40`, `1.5:1`, `60%` or `0.6`.
    ///
    /// # Errors
    /// What to write instead.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || "write reads to writes such as 60:40, or the share of reads as 60% or 0.6".to_owned();
        let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
        let share = if let Some((reads, writes)) = text.split_once(':') {
            let (reads, writes) = (number(reads).ok_or_else(wrong)?, number(writes).ok_or_else(wrong)?);
            if reads < 0.0 || writes < 0.0 {
                return Err(wrong());
            }
            reads / (reads + writes)
        } else if let Some(percent) = text.strip_suffix('%') {
            number(percent).ok_or_else(wrong)? / 100.0
        } else {
            number(text).ok_or_else(wrong)?
        };
        // What is no number lies in no range.
        if (0.0..=1.0).contains(&share) { Ok(Self(share)) } else { Err(wrong()) }
    }

    /// The share of reads, from 0 to 1.
    pub fn share_of_reads(self) -> f64 {
        self.0
    }
}

/// When written data is made durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FsyncRule {
    /// Never.
    Never,
    /// Once, after the last request; the time that it takes counts.
    End,
    /// Whenever so many reads and writes have been handed out since the last time and one of them was a write. It takes a place
    /// among the requests under way, and the others go on meanwhile; at depth 1 all wait for it, as in sysbench.
    Every(u64),
}

impl FsyncRule {
    /// Reads `never`, `end` or `every:100`.
    ///
    /// # Errors
    /// What to write instead.
    pub fn parse(text: &str) -> Result<Self, String> {
        match (text, text.strip_prefix("every:").map(str::parse)) {
            ("never", _) => Ok(Self::Never),
            ("end", _) => Ok(Self::End),
            (_, Some(Ok(requests @ 1..))) => Ok(Self::Every(requests)),
            _ => Err("write never, end, or every:N for an fsync after each N requests".to_owned()),
        }
    }
}

impl fmt::Display for FsyncRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Never => f.write_str("never"),
            Self::End => f.write_str("end"),
            Self::Every(requests) => write!(f, "every:{requests}"),
        }
    }
}

impl Serialize for FsyncRule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// What a request does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It reads a block.
    Read,
    /// It writes a block.
    Write,
    /// It makes what was written durable.
    Fsync,
}

/// One request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) kind: Kind,
    /// Where in the file, in bytes; 0 for an fsync.
    pub(super) offset: u64,
}

impl Request {
    pub(super) const FSYNC: Self = Self { kind: Kind::Fsync, offset: 0 };
}

/// Draws requests: each place is as likely as any other at any time, and so is each order of reads and writes.
#[derive(Debug)]
pub(super) struct Requests {
    random: Rng,
    share_of_reads: f64,
    block: u64,
    blocks: u64,
}

impl Requests {
    /// Others of the same load have another number.
    pub(super) fn new(load: &Load, number: u64) -> Self {
        let block = u64::from(load.block);
        Self {
            random: Rng::with_seed(load.seed.wrapping_add(number)),
            share_of_reads: load.mix.share_of_reads(),
            block,
            blocks: (load.working_set / block).max(1),
        }
    }

    pub(super) fn draw(&mut self) -> Request {
        let kind = if self.random.f64() < self.share_of_reads { Kind::Read } else { Kind::Write };
        Request { kind, offset: self.random.u64(..self.blocks) * self.block }
    }

    /// Makes a buffer of random bytes one that was never written before, so that no storage finds it to be there already. Storage
    /// looks for the same bytes in units of a sector or more.
    pub(super) fn stamp(&mut self, buffer: &mut [u8]) {
        const SECTOR: usize = 512;
        for sector in buffer.chunks_exact_mut(SECTOR) {
            sector[..8].copy_from_slice(&self.random.u64(..).to_ne_bytes());
        }
    }
}

/// Counts requests and says when an fsync is due. Threads share it.
#[derive(Debug)]
pub(super) struct Durability {
    every: Option<u64>,
    requests: AtomicU64,
    has_written: AtomicBool,
}

impl Durability {
    pub(super) fn new(rule: FsyncRule) -> Self {
        let every = match rule {
            FsyncRule::Every(requests) => Some(requests),
            FsyncRule::Never | FsyncRule::End => None,
        };
        Self { every, requests: AtomicU64::new(0), has_written: AtomicBool::new(false) }
    }

    /// Counts a request that is handed out.
    pub(super) fn note(&self, kind: Kind) {
        if self.every.is_some() {
            self.requests.fetch_add(1, Ordering::Relaxed);
            if kind == Kind::Write {
                self.has_written.store(true, Ordering::Relaxed);
            }
        }
    }

    /// Whether it is the caller's turn to make all durable that was written: of several threads one is told so.
    pub(super) fn is_due(&self) -> bool {
        let is_due = self.every.is_some_and(|every| self.requests.load(Ordering::Relaxed) >= every)
            && self.has_written.swap(false, Ordering::Relaxed);
        if is_due {
            self.requests.store(0, Ordering::Relaxed);
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn load(mix: &str, working_set: u64) -> Load {
        let mix = Mix::parse(mix).unwrap();
        Load { mix, block: 4096, depth: 1, fsync: FsyncRule::Never, working_set, seed: 1 }
    }

    #[test]
    fn mixes() {
        for (text, share) in
            [("60:40", 0.6), ("1.5:1", 0.6), ("60%", 0.6), ("0.6", 0.6), ("1", 1.0), ("0", 0.0), ("0:1", 0.0)]
        {
            assert_eq!(Mix::parse(text).map(Mix::share_of_reads), Ok(share), "{text}");
        }
        for text in ["", "60", "0:0", "-1:2", "2:-1", "NaN", "inf:1", "101%", ":", "1:1:1"] {
            assert!(Mix::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn fsync_rules_are_read_as_they_are_written() {
        for text in ["never", "end", "every:1", "every:100"] {
            assert_eq!(FsyncRule::parse(text).unwrap().to_string(), text);
        }
        for text in ["", "every", "every:", "every:0", "every:-1", "always"] {
            assert!(FsyncRule::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn places_are_spread_evenly_and_the_mix_is_kept() {
        let (blocks, draws) = (16, 64_000);
        let mut requests = Requests::new(&load("60:40", blocks * 4096 + 100), 0);
        let mut at = vec![0_u32; blocks as usize];
        let mut reads = 0;
        for _ in 0..draws {
            let request = requests.draw();
            at[(request.offset / 4096) as usize] += 1;
            reads += u32::from(request.kind == Kind::Read);
        }
        // Five standard deviations: of a binomial count sqrt(n p (1 - p)).
        let share = f64::from(reads) / f64::from(draws);
        assert!((share - 0.6).abs() < 5.0 * (0.24 / f64::from(draws)).sqrt(), "{share}");
        assert!(at.iter().all(|count| (*count as f64 - 4000.0).abs() < 5.0 * 61.3), "{at:?}");
    }

    #[test]
    fn an_fsync_is_due_after_so_many_requests_if_one_has_written() {
        let durability = Durability::new(FsyncRule::Every(3));
        for kind in [Kind::Read, Kind::Write] {
            durability.note(kind);
            assert!(!durability.is_due());
        }
        durability.note(Kind::Read);
        assert!(durability.is_due() && !durability.is_due());
        (0..9).for_each(|_| durability.note(Kind::Read));
        assert!(!durability.is_due(), "nothing was written");
        durability.note(Kind::Write);
        assert!(durability.is_due());
        let never = Durability::new(FsyncRule::Never);
        (0..9).for_each(|_| never.note(Kind::Write));
        assert!(!never.is_due());
    }

    #[test]
    fn no_buffer_is_written_twice() {
        let mut requests = Requests::new(&load("0", 1 << 20), 0);
        let mut buffer = vec![7_u8; 4096];
        requests.stamp(&mut buffer);
        let before = buffer.clone();
        requests.stamp(&mut buffer);
        assert!(before.chunks(512).zip(buffer.chunks(512)).all(|(one, other)| one != other));
    }

    proptest! {
        #[test]
        fn requests_stay_in_the_working_set(working_set in 4096..(1_u64 << 50), seed in any::<u64>()) {
            let mut requests = Requests::new(&Load { seed, ..load("60:40", working_set) }, 3);
            for _ in 0..100 {
                let request = requests.draw();
                prop_assert!(request.offset.is_multiple_of(4096) && request.offset + 4096 <= working_set);
            }
        }
    }
}
