//! What may be begun: rates and numbers of each kind, over all shards.

use std::time::Instant;

use crate::kinds::{Kind, Kinds};

/// The rules of each shard.
#[derive(Debug, Default)]
pub(super) struct Rules {
    by_shard: Vec<Kinds>,
    /// Of shards that told none yet.
    none: Kind,
}

impl Rules {
    pub(super) fn new(shards: usize) -> Self {
        Self { by_shard: (0..shards).map(|_| Kinds::default()).collect(), none: Kind::default() }
    }

    pub(super) fn set(&mut self, shard: usize, kinds: Kinds) {
        if let Some(rules) = self.by_shard.get_mut(shard) {
            *rules = kinds;
        }
    }

    pub(super) fn of(&self, shard: usize, kind: u16) -> &Kind {
        self.by_shard.get(shard).map_or(&self.none, |kinds| kinds.of(kind))
    }
}

/// What runs of a kind, and how fast it may.
#[derive(Debug, Default)]
pub(super) struct Pace {
    pub(super) running: u32,
    /// How many may be begun now, and when that was reckoned.
    tokens: f64,
    reckoned: Option<Instant>,
}

/// A second's worth of a rate may be begun at once, and one task always.
fn burst(rate: f64) -> f64 {
    rate.max(1.0)
}

impl Pace {
    /// How many may be begun now.
    pub(super) fn allows(&mut self, kind: &Kind, now: Instant) -> usize {
        if kind.is_paused {
            return 0;
        }
        let by_number =
            kind.concurrency.map_or(usize::MAX, |most| most.saturating_sub(self.running) as usize);
        let Some(rate) = kind.rate else {
            self.reckoned = None;
            return by_number;
        };
        let since = self.reckoned.map_or(f64::INFINITY, |at| (now - at).as_secs_f64());
        let before = if self.reckoned.is_some() { self.tokens } else { 0.0 };
        self.tokens = (before + since * rate).min(burst(rate));
        self.reckoned = Some(now);
        by_number.min(self.tokens.max(0.0) as usize)
    }

    pub(super) fn begin(&mut self, count: usize) {
        self.running += count as u32;
        if self.reckoned.is_some() {
            self.tokens -= count as f64;
        }
    }
}
