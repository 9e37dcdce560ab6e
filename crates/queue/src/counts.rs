//! What happened, counted by minute and kind. The rows are kept by whoever counts: each shepherd writes its own, with the whole
//! count of the minute, in the transaction that does what is counted.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use drover_db::Connection;

use crate::Result;
use crate::error::Doing;
use crate::rows::{each, number};

/// So many buckets a histogram has; each goes twice as far as the one before, the first one to 1.
pub(crate) const BUCKETS: usize = 32;

/// How often something took how long.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Histogram(Vec<u64>);

impl Histogram {
    /// Counts one, in the unit of the histogram.
    pub(crate) fn add(&mut self, value: u64) {
        let bucket = (u64::BITS - value.saturating_sub(1).leading_zeros()) as usize;
        let bucket = if value == 0 { 0 } else { bucket.min(BUCKETS - 1) };
        if bucket >= self.0.len() {
            self.0.resize(bucket + 1, 0);
        }
        self.0[bucket] += 1;
    }

    /// Adds another one's counts.
    pub(crate) fn join(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(here, there)| *here = here.saturating_add(*there));
    }

    /// Its buckets: how many took at most 1, 2, 4 and so on of its unit; of the last one of 32 there is no upper end.
    pub(crate) fn buckets(&self) -> &[u64] {
        &self.0
    }

    /// What `share` of all were at most, as the border of a bucket; `None` if there were none.
    pub(crate) fn quantile(&self, share: f64) -> Option<u64> {
        let total = self.0.iter().fold(0u64, |sum, count| sum.saturating_add(*count));
        let rank = (share * total as f64).ceil().max(1.0) as u64;
        let mut below = 0u64;
        let at = self.0.iter().position(|count| {
            below = count.saturating_add(below);
            below >= rank
        })?;
        Some(1 << at)
    }

    /// Its counts with commas between.
    pub(crate) fn encode(&self) -> String {
        let mut text = String::new();
        for (at, count) in self.0.iter().enumerate() {
            let _ = write!(text, "{}{count}", if at == 0 { "" } else { "," });
        }
        text
    }

    /// As it was encoded; what is not a number counts as 0.
    pub(crate) fn decode(text: &str) -> Self {
        if text.is_empty() {
            return Self::default();
        }
        Self(text.split(',').take(BUCKETS).map(|count| count.parse().unwrap_or(0)).collect())
    }
}

/// What happened to tasks of a kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Count {
    /// Came in.
    pub(crate) taken: i64,
    pub(crate) done: i64,
    /// Attempts that failed.
    pub(crate) failed: i64,
    /// Given up for dead; less those that were given another try.
    pub(crate) died: i64,
    /// Dropped, since another one of the same object was unfinished.
    pub(crate) merged: i64,
    /// Put off, less those whose time came.
    pub(crate) later: i64,
    /// From being made to being begun, of those that are done.
    pub(crate) wait_ms: i64,
    pub(crate) run_us: i64,
    /// In milliseconds.
    pub(crate) waits: Histogram,
    /// In microseconds.
    pub(crate) runs: Histogram,
}

impl Count {
    /// Adds another one.
    pub(crate) fn join(&mut self, other: &Self) {
        self.taken = self.taken.saturating_add(other.taken);
        self.done = self.done.saturating_add(other.done);
        self.failed = self.failed.saturating_add(other.failed);
        self.died = self.died.saturating_add(other.died);
        self.merged = self.merged.saturating_add(other.merged);
        self.later = self.later.saturating_add(other.later);
        self.wait_ms = self.wait_ms.saturating_add(other.wait_ms);
        self.run_us = self.run_us.saturating_add(other.run_us);
        self.waits.join(&other.waits);
        self.runs.join(&other.runs);
    }

    /// One is done.
    pub(crate) fn done(&mut self, waited_ms: u64, ran: Duration) {
        let ran_us = u64::try_from(ran.as_micros()).unwrap_or(u64::MAX);
        self.done += 1;
        self.wait_ms = self.wait_ms.saturating_add_unsigned(waited_ms);
        self.run_us = self.run_us.saturating_add_unsigned(ran_us);
        self.waits.add(waited_ms);
        self.runs.add(ran_us);
    }
}

/// The counts of one shepherd on one shard.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counts {
    minute: u32,
    /// Whether they hold what was stored of this minute before: it comes again where the server's clock goes back.
    is_whole: bool,
    by_kind: BTreeMap<u16, Count>,
    changed: Vec<u16>,
}

impl Counts {
    /// The count of a kind, of this minute since 1970.
    pub(crate) fn of(&mut self, minute: u32, kind: u16) -> &mut Count {
        if minute != self.minute {
            self.by_kind.clear();
            self.changed.clear();
            (self.minute, self.is_whole) = (minute, false);
        }
        if !self.changed.contains(&kind) {
            self.changed.push(kind);
        }
        self.by_kind.entry(kind).or_default()
    }

    /// Writes what changed, in the transaction that is open.
    pub(crate) fn store(&mut self, connection: &mut Connection, shepherd: u32) -> Result<()> {
        if self.changed.is_empty() {
            return Ok(());
        }
        if !self.is_whole {
            self.join_stored(connection, shepherd)?;
        }
        let mut sql = String::from(
            "INSERT INTO queue_count (minute, shepherd, kind, taken, done, failed, died, merged, later, wait_ms, run_us, waits, runs) VALUES ",
        );
        for (at, kind) in self.changed.iter().enumerate() {
            let count = self.by_kind.get(kind).cloned().unwrap_or_default();
            let Count { taken, done, failed, died, merged, later, wait_ms, run_us, waits, runs } = count;
            let comma = if at == 0 { "" } else { "," };
            let _ = write!(
                sql,
                "{comma}({},{shepherd},{kind},{taken},{done},{failed},{died},{merged},{later},{wait_ms},{run_us},'{}','{}')",
                self.minute,
                waits.encode(),
                runs.encode(),
            );
        }
        sql.push_str(
            " ON DUPLICATE KEY UPDATE taken=VALUES(taken), done=VALUES(done), failed=VALUES(failed), died=VALUES(died), \
             merged=VALUES(merged), later=VALUES(later), wait_ms=VALUES(wait_ms), run_us=VALUES(run_us), waits=VALUES(waits), \
             runs=VALUES(runs)",
        );
        connection.execute(sql).doing(|| "counting")?;
        self.changed.clear();
        Ok(())
    }

    /// Adds what was stored of this minute.
    fn join_stored(&mut self, connection: &mut Connection, shepherd: u32) -> Result<()> {
        let sql = format!(
            "SELECT {COLUMNS} FROM queue_count WHERE minute = {} AND shepherd = {shepherd}",
            self.minute
        );
        each::<13>(connection, &sql, "reading queue_count", |fields| {
            self.by_kind.entry(number(fields[2])).or_default().join(&Count::read(&fields));
            Ok(())
        })?;
        self.is_whole = true;
        Ok(())
    }
}

const COLUMNS: &str =
    "minute, shepherd, kind, taken, done, failed, died, merged, later, wait_ms, run_us, waits, runs";

/// Adds to one of a kind's counts what no shepherd counts, in the transaction that is open.
pub(crate) fn add(connection: &mut Connection, kind: u16, column: &str, count: i64) -> Result<()> {
    if count == 0 {
        return Ok(());
    }
    let sql = format!(
        "INSERT INTO queue_count (minute, shepherd, kind, {column}) VALUES (FLOOR(UNIX_TIMESTAMP(NOW(3)) / 60), 0, {kind}, {count}) \
         ON DUPLICATE KEY UPDATE {column} = {column} + VALUES({column})"
    );
    connection.execute(sql).doing(|| "counting").map(drop)
}

/// Counts of minutes are kept for so long, in minutes; older ones become counts of hours.
const MINUTES_KEPT: u64 = 2 * 24 * 60;
/// So many rows are folded at once.
const FOLDED: u64 = 2000;

/// Folds old counts of minutes into counts of hours, whoever counted them; whether there may be more to fold.
pub(crate) fn fold(connection: &mut Connection) -> Result<bool> {
    let doing = || "folding counts";
    connection.execute("START TRANSACTION").doing(doing)?;
    let more = fold_some(connection)?;
    connection.execute("COMMIT").doing(doing)?;
    Ok(more)
}

fn fold_some(connection: &mut Connection) -> Result<bool> {
    let old = format!(
        "minute < FLOOR(UNIX_TIMESTAMP(NOW(3)) / 60) - {MINUTES_KEPT} AND NOT (shepherd = 0 AND minute MOD 60 = 0)"
    );
    let sql = format!(
        "SELECT {COLUMNS} FROM queue_count WHERE {old} ORDER BY minute, shepherd, kind LIMIT {FOLDED} FOR UPDATE"
    );
    let mut hours: BTreeMap<(u32, u16), Count> = BTreeMap::new();
    let mut keys = Vec::new();
    each::<13>(connection, &sql, "folding counts", |fields| {
        let (minute, kind) = (number::<u32>(fields[0]), number(fields[2]));
        keys.push(format!("({minute},{},{kind})", number::<u32>(fields[1])));
        hours.entry((minute / 60 * 60, kind)).or_default().join(&Count::read(&fields));
        Ok(())
    })?;
    if keys.is_empty() {
        return Ok(false);
    }
    for ((minute, kind), mut count) in hours {
        let sql = format!(
            "SELECT {COLUMNS} FROM queue_count WHERE minute = {minute} AND shepherd = 0 AND kind = {kind} FOR UPDATE"
        );
        each::<13>(connection, &sql, "folding counts", |fields| {
            count.join(&Count::read(&fields));
            Ok(())
        })?;
        let mut counts = Counts::default();
        *counts.of(minute, kind) = count;
        counts.is_whole = true; // of this kind, and no other is stored
        counts.store(connection, 0)?;
    }
    for key in keys.chunks(100) {
        let any: Vec<_> = key.iter().map(|key| format!("(minute, shepherd, kind) = {key}")).collect();
        connection
            .execute(format!("DELETE FROM queue_count WHERE {}", any.join(" OR ")))
            .doing(|| "folding counts")?;
    }
    Ok(keys.len() as u64 == FOLDED)
}

impl Count {
    /// Of a row of `queue_count`, whole and in the order of its columns.
    fn read(fields: &[Option<&str>; 13]) -> Self {
        let text = |at: usize| fields[at].unwrap_or_default();
        Self {
            taken: number(fields[3]),
            done: number(fields[4]),
            failed: number(fields[5]),
            died: number(fields[6]),
            merged: number(fields[7]),
            later: number(fields[8]),
            wait_ms: number(fields[9]),
            run_us: number(fields[10]),
            waits: Histogram::decode(text(11)),
            runs: Histogram::decode(text(12)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_quantile_is_at_most_twice_off(values in prop::collection::vec(1u64..1 << 30, 1..200), share in 0.01f64..=1.0) {
            let mut histogram = Histogram::default();
            values.iter().for_each(|&value| histogram.add(value));
            let mut sorted = values;
            sorted.sort_unstable();
            let exact = sorted[((share * sorted.len() as f64).ceil() as usize).max(1) - 1];
            let told = histogram.quantile(share).unwrap();
            prop_assert!(told >= exact && told < exact * 2, "{told} for {exact}");
            prop_assert_eq!(Histogram::decode(&histogram.encode()), histogram);
        }
    }

    #[test]
    fn of_nothing_there_is_no_quantile() {
        assert_eq!(Histogram::default().quantile(0.5), None);
        assert_eq!(Histogram::decode(""), Histogram::default());
    }
}
