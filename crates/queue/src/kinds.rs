//! What holds for the tasks of a kind.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use drover_db::{Connection, Row};

use crate::Result;
use crate::error::Doing;

/// The row of `queue_kind` that holds for all kinds that do not say otherwise.
const ALL: i32 = -1;

/// Whoever writes into `queue_kind` may ask for any time; nothing lasts longer than a hundred years.
const LONGEST: Duration = Duration::from_secs(100 * 366 * 86_400);

/// The rules of a kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Kind {
    /// Whether an object has at most one unfinished task of this kind.
    pub is_unique: bool,
    /// After so many attempts that failed a task is dead.
    pub max_attempts: u16,
    /// How long it waits after the first failure; after each further one twice as long.
    pub backoff: Duration,
    /// It never waits longer.
    pub backoff_max: Duration,
    /// A task of which nothing was heard for so long has failed.
    pub timeout: Duration,
    /// So many are begun a second, by all shepherds together.
    pub rate: Option<f64>,
    /// So many run at once, by all shepherds together.
    pub concurrency: Option<u32>,
    /// How long finished tasks are kept.
    pub keep: Duration,
    /// Whether none is begun.
    pub is_paused: bool,
}

impl Default for Kind {
    fn default() -> Self {
        Self {
            is_unique: false,
            max_attempts: 12,
            backoff: Duration::from_secs(5),
            backoff_max: Duration::from_secs(3600),
            timeout: Duration::from_secs(600),
            rate: None,
            concurrency: None,
            keep: Duration::ZERO,
            is_paused: false,
        }
    }
}

impl Kind {
    /// How long a task waits that failed for the `failures`th time. Up to half of it is left to chance, which `random` is, from 0
    /// to 1: what failed together does not come back together.
    pub(crate) fn wait(&self, failures: u16, random: f64) -> Duration {
        let doublings = u32::from(failures.saturating_sub(1)).min(32);
        let whole = self.backoff.saturating_mul(1 << doublings.min(31)).min(self.backoff_max);
        whole.mul_f64(1.0 - random.clamp(0.0, 1.0) / 2.0)
    }

    /// What one of so many shepherds may do of it, the `rank`th from 0: the same part of the rate as the others, and of how many run
    /// at once its own. One that may run none leaves them to the others.
    fn shared(&self, rank: u32, shepherds: u32) -> Self {
        let shepherds = shepherds.max(1);
        let part = |all: u32| all / shepherds + u32::from(rank < all % shepherds);
        let concurrency = self.concurrency.map(part);
        Self {
            rate: self.rate.map(|rate| rate / f64::from(shepherds)),
            is_paused: self.is_paused || concurrency == Some(0),
            concurrency,
            ..self.clone()
        }
    }

    /// What the row says, and the rest as it is here.
    fn with(&self, row: &Row) -> Self {
        let number = |at: usize| row.parse::<u64>(at);
        let millis = |at: usize, or: Duration| number(at).map_or(or, Duration::from_millis).min(LONGEST);
        let count = |at: usize| number(at).and_then(|n| u32::try_from(n).ok());
        Self {
            is_unique: number(1).map_or(self.is_unique, |flag| flag != 0),
            max_attempts: count(2).map_or(self.max_attempts, |n| u16::try_from(n).unwrap_or(u16::MAX)),
            backoff: millis(3, self.backoff),
            backoff_max: millis(4, self.backoff_max),
            timeout: millis(5, self.timeout),
            rate: row.parse::<f64>(6).map_or(self.rate, |rate| Some(rate).filter(|rate| *rate > 0.0)),
            concurrency: count(7).map_or(self.concurrency, |n| Some(n).filter(|n| *n > 0)),
            keep: number(8).map_or(self.keep, Duration::from_secs).min(LONGEST),
            is_paused: number(9).map_or(self.is_paused, |flag| flag != 0),
        }
    }
}

/// The rules of all kinds.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Kinds {
    all: Kind,
    own: HashMap<u16, Kind>,
}

impl Kinds {
    /// Reads them.
    pub(crate) fn load(connection: &mut Connection) -> Result<Self> {
        let sql = "SELECT kind, is_unique, max_attempts, backoff_ms, backoff_max_ms, timeout_ms, rate, concurrency, keep_s, \
                   is_paused FROM queue_kind ORDER BY kind";
        let rows = connection.query(sql).doing(|| "reading queue_kind")?.rows;
        let mut kinds = Self::default();
        for row in &rows {
            match row.parse::<i32>(0) {
                Some(ALL) => kinds.all = kinds.all.with(row),
                Some(kind) => {
                    if let Ok(kind) = u16::try_from(kind) {
                        kinds.own.insert(kind, kinds.all.with(row));
                    }
                }
                None => {}
            }
        }
        Ok(kinds)
    }

    /// The same for all kinds.
    #[cfg(test)]
    pub(crate) fn all(kind: Kind) -> Self {
        Self { all: kind, own: HashMap::new() }
    }

    /// The rules of a kind.
    pub(crate) fn of(&self, kind: u16) -> &Kind {
        self.own.get(&kind).unwrap_or(&self.all)
    }

    /// What one of so many shepherds may do, the `rank`th from 0.
    pub(crate) fn shared(&self, rank: u32, shepherds: u32) -> Self {
        let part = |kind: &Kind| kind.shared(rank, shepherds);
        let own = self.own.iter().map(|(number, kind)| (*number, part(kind))).collect();
        Self { all: part(&self.all), own }
    }

    /// Whether kinds are paused that do not say otherwise, and what those say that have rules of their own.
    pub(crate) fn paused(&self) -> (bool, BTreeMap<u16, bool>) {
        (self.all.is_paused, self.own.iter().map(|(kind, rules)| (*kind, rules.is_paused)).collect())
    }

    /// For how long segments are kept in which tasks of any kinds may be.
    pub(crate) fn longest_keep(&self) -> Duration {
        self.own.values().map(|kind| kind.keep).fold(self.all.keep, Duration::max)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn waits_grow_and_stay_in_bounds(failures in any::<u16>(), random in 0.0f64..=1.0) {
            let kind = Kind::default();
            let wait = kind.wait(failures, random);
            prop_assert!(wait <= kind.backoff_max && wait >= kind.backoff / 2);
            prop_assert!(kind.wait(failures.saturating_add(1), random) >= wait);
        }
    }

    proptest! {
        #[test]
        fn parts_make_up_the_whole(all in 1u32..100, shepherds in 1u32..20) {
            let kind = Kind { concurrency: Some(all), rate: Some(10.0), ..Kind::default() };
            let parts: Vec<_> = (0..shepherds).map(|rank| kind.shared(rank, shepherds)).collect();
            prop_assert_eq!(parts.iter().filter_map(|part| part.concurrency).sum::<u32>(), all);
            prop_assert!((parts.iter().filter_map(|part| part.rate).sum::<f64>() - 10.0).abs() < 0.001);
            prop_assert!(!parts[0].is_paused && parts.iter().all(|part| part.is_paused == (part.concurrency == Some(0))));
        }
    }

    #[test]
    fn each_wait_is_twice_the_one_before() {
        let waits: Vec<_> = (1..=5).map(|n| Kind::default().wait(n, 0.0).as_secs()).collect();
        assert_eq!(waits, [5, 10, 20, 40, 80]);
    }
}
