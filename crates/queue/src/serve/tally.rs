//! What was counted on a shard: in all, and minute by minute over the last hours. The rows of past minutes are read once.

use std::collections::BTreeMap;

use drover_db::Connection;

use crate::Result;
use crate::counts::{Count, Histogram};
use crate::error::Doing;
use crate::rows::{each, number};
use crate::stat::{self, Kinds, Lately};

/// So many minutes are kept one by one.
pub(crate) const MINUTES: u32 = 6 * 60;
/// Rows of minutes that are so long over do not change any more.
const SETTLED: u32 = 10;

/// The counts of a shard.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tally {
    /// Of minutes that are not kept one by one. Those that were over when counting began are without histograms.
    before: BTreeMap<u16, Count>,
    minutes: BTreeMap<u32, BTreeMap<u16, Count>>,
    /// From here on rows may still change.
    open: Option<u32>,
    /// The server's time, in seconds since 1970.
    now: f64,
}

/// Rows that were read.
#[derive(Debug, Default)]
pub(crate) struct Fresh {
    now: f64,
    /// The first minute that was read.
    from: u32,
    /// Of all minutes before, if these were read for the first time.
    before: Option<BTreeMap<u16, Count>>,
    rows: Vec<(u32, u16, Count)>,
}

impl Fresh {
    /// Reads what the tally does not know for certain, which is `open`.
    pub(crate) fn read(connection: &mut Connection, open: Option<u32>) -> Result<Self> {
        let row = connection.first("SELECT UNIX_TIMESTAMP(NOW(3))").doing(|| "reading the time")?;
        let now = row.and_then(|row| row.parse::<f64>(0)).unwrap_or_default();
        let this = minute(now);
        let (from, before) = match open {
            Some(open) => (open.min(this.saturating_sub(SETTLED)), None),
            None => {
                let from = this.saturating_sub(MINUTES);
                (from, Some(sums(connection, from)?))
            }
        };
        Ok(Self { now, from, before, rows: rows(connection, from)? })
    }
}

fn minute(now: f64) -> u32 {
    (now / 60.0) as u32
}

fn sums(connection: &mut Connection, before: u32) -> Result<BTreeMap<u16, Count>> {
    let sql = format!(
        "SELECT kind, SUM(taken), SUM(done), SUM(failed), SUM(died), SUM(merged), SUM(later) FROM queue_count \
         WHERE minute < {before} GROUP BY kind"
    );
    let mut sums = BTreeMap::new();
    each::<7>(
        connection,
        &sql,
        "reading queue_count",
        |[kind, taken, done, failed, died, merged, later]| {
            let count = Count {
                taken: number(taken),
                done: number(done),
                failed: number(failed),
                died: number(died),
                merged: number(merged),
                later: number(later),
                ..Count::default()
            };
            sums.insert(number(kind), count);
            Ok(())
        },
    )?;
    Ok(sums)
}

fn rows(connection: &mut Connection, from: u32) -> Result<Vec<(u32, u16, Count)>> {
    let sql = format!(
        "SELECT minute, kind, taken, done, failed, died, merged, later, wait_ms, run_us, waits, runs FROM queue_count \
         WHERE minute >= {from}"
    );
    let mut rows = Vec::new();
    each::<12>(connection, &sql, "reading queue_count", |fields| {
        let [minute, kind, taken, done, failed, died, merged, later, wait_ms, run_us, waits, runs] = fields;
        let count = Count {
            taken: number(taken),
            done: number(done),
            failed: number(failed),
            died: number(died),
            merged: number(merged),
            later: number(later),
            wait_ms: number(wait_ms),
            run_us: number(run_us),
            waits: Histogram::decode(waits.unwrap_or_default()),
            runs: Histogram::decode(runs.unwrap_or_default()),
        };
        rows.push((number(minute), number(kind), count));
        Ok(())
    })?;
    Ok(rows)
}

impl Tally {
    /// From which minute on it has to be read anew.
    pub(crate) fn open(&self) -> Option<u32> {
        self.open
    }

    /// The server's minute when it was last read.
    pub(crate) fn minute(&self) -> u32 {
        minute(self.now)
    }

    /// Takes in what was read.
    pub(crate) fn take(&mut self, fresh: Fresh) {
        if let Some(before) = fresh.before {
            *self = Self { before, ..Self::default() };
        }
        self.minutes.split_off(&fresh.from);
        for (minute, kind, count) in fresh.rows {
            self.minutes.entry(minute).or_default().entry(kind).or_default().join(&count);
        }
        self.now = fresh.now;
        let this = self.minute();
        self.open = Some(this.saturating_sub(SETTLED));
        let kept = self.minutes.split_off(&this.saturating_sub(MINUTES));
        for (kind, count) in std::mem::replace(&mut self.minutes, kept).into_values().flatten() {
            self.before.entry(kind).or_default().join(&count);
        }
    }

    /// All that was ever counted of each kind; histograms reach back some hours before counting began.
    pub(crate) fn totals(&self) -> BTreeMap<u16, Count> {
        let mut totals = self.before.clone();
        for (kind, count) in self.minutes.values().flatten() {
            totals.entry(*kind).or_default().join(count);
        }
        totals
    }

    /// What happened minute by minute, of one kind or of all.
    pub(crate) fn history(&self, of: Option<u16>) -> BTreeMap<u32, Count> {
        let mut history: BTreeMap<u32, Count> = BTreeMap::new();
        for (minute, kinds) in &self.minutes {
            for (_, count) in kinds.iter().filter(|(kind, _)| of.is_none_or(|of| of == **kind)) {
                history.entry(*minute).or_default().join(count);
            }
        }
        history
    }

    /// Adds what was counted to what a shard holds: totals, and rate and latencies of the last full minute and of this one.
    /// `worked` is for how long the first shepherd has, in seconds.
    pub(crate) fn tell(&self, totals: &BTreeMap<u16, Count>, worked: f64, kinds: &mut Kinds) {
        let count = |count: i64| count.max(0) as u64;
        for (kind, total) in totals {
            let stat = stat::of(kinds, *kind);
            (stat.done, stat.failed, stat.dead) = (count(total.done), count(total.failed), count(total.died));
            (stat.merged, stat.later) = (count(total.merged), count(total.later));
        }
        let this = self.minute();
        let mut all: BTreeMap<u16, Lately> = BTreeMap::new();
        for (minute, kind, lately) in self
            .minutes
            .range(this.saturating_sub(1)..=this)
            .flat_map(|(minute, kinds)| kinds.iter().map(move |(kind, count)| (*minute, *kind, count)))
        {
            all.entry(kind).or_default().done[usize::from(minute >= this)] += lately.done;
            let stat = stat::of(kinds, kind);
            stat.waits.join(&lately.waits);
            stat.runs.join(&lately.runs);
        }
        for (kind, lately) in all {
            let stat = stat::of(kinds, kind);
            stat.rate = lately.rate(self.now - 60.0 * f64::from(this), worked, stat);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(done: i64) -> Count {
        Count { done, ..Count::default() }
    }

    fn fresh(minute: u32, from: u32, rows: &[(u32, i64)]) -> Fresh {
        let rows = rows.iter().map(|&(minute, count)| (minute, 3, done(count))).collect();
        Fresh { now: f64::from(minute) * 60.0 + 30.0, from, before: None, rows }
    }

    #[test]
    fn totals_stay_right_while_minutes_go_by() {
        let mut tally = Tally::default();
        let first =
            Fresh { before: Some([(3, done(1000))].into()), ..fresh(2000, 1640, &[(1700, 5), (2000, 1)]) };
        tally.take(first);
        assert_eq!((tally.open(), tally.totals()[&3].done), (Some(1990), 1006));
        tally.take(fresh(2001, 1990, &[(2000, 4), (2001, 2)]));
        assert_eq!(tally.totals()[&3].done, 1011);
        tally.take(fresh(2100, 1991, &[(2000, 4), (2001, 3), (2100, 1)]));
        assert_eq!(tally.totals()[&3].done, 1013);
        assert_eq!(tally.history(None).keys().copied().collect::<Vec<_>>(), [2000, 2001, 2100]);
        assert!(tally.history(Some(4)).is_empty());
    }

    #[test]
    fn the_rate_is_of_this_minute_and_the_one_before() {
        let mut tally = Tally::default();
        tally.take(fresh(2000, 1990, &[(1998, 700), (1999, 60), (2000, 30)]));
        let mut kinds = Kinds::new();
        tally.tell(&tally.totals(), f64::INFINITY, &mut kinds);
        assert_eq!((kinds[&3].rate, kinds[&3].done), (1.0, 790));
        tally.tell(&tally.totals(), 9.0, &mut kinds);
        assert_eq!(kinds[&3].rate, 10.0, "the first shepherd came nine seconds ago");
    }
}
