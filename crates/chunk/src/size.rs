//! How many rows the next part has, from what those before it cost.

use std::time::Duration;

/// The first part, in rows: small, as nothing is known.
const FIRST: f64 = 200.0;
/// A part has at most so many rows, also those that the condition leaves out: their place is found by stepping over them.
const MOST: f64 = 100_000.0;
/// The part that the last part has in what is known of a row.
const WEIGHT: f64 = 0.4;

/// What parts have cost.
#[derive(Debug)]
pub(crate) struct Sizer {
    /// The most that a part may add to the binary log.
    bytes: u64,
    time: Duration,
    /// How many rows the last part had.
    rows: f64,
    /// The worst of late, as a part is to stay below what is allowed.
    bytes_per_row: f64,
    seconds_per_row: f64,
    /// What a row adds to the log on average of late.
    usual_bytes: f64,
}

impl Sizer {
    pub(crate) fn new(bytes: u64, time: Duration) -> Self {
        Self { bytes, time, rows: FIRST / 2.0, bytes_per_row: 0.0, seconds_per_row: 0.0, usual_bytes: 0.0 }
    }

    /// Rows of the next part; `most` bytes are allowed for now.
    pub(crate) fn rows(&self, most: Option<u64>) -> u64 {
        let bytes = self.bytes.min(most.unwrap_or(u64::MAX)) as f64;
        let by = |most: f64, of_one: f64| if of_one > 0.0 { most / of_one } else { f64::INFINITY };
        let wanted = by(bytes, self.bytes_per_row).min(by(self.time.as_secs_f64(), self.seconds_per_row));
        wanted.min(self.rows * 2.0).clamp(1.0, MOST) as u64
    }

    /// What a part of so many rows is expected to add to the log.
    pub(crate) fn bytes_of(&self, rows: u64) -> u64 {
        (self.usual_bytes * rows as f64) as u64
    }

    /// Notes what a part has cost; its bytes if they are known.
    pub(crate) fn learn(&mut self, rows: u64, bytes: Option<u64>, time: Duration) {
        let rows = rows.max(1) as f64;
        let is_first = self.seconds_per_row == 0.0;
        let learn =
            |known: f64, now: f64| if is_first || now > known { now } else { known + (now - known) * WEIGHT };
        if let Some(bytes) = bytes {
            let of_one = bytes as f64 / rows;
            self.bytes_per_row = learn(self.bytes_per_row, of_one);
            let weight = if is_first { 1.0 } else { WEIGHT };
            self.usual_bytes += (of_one - self.usual_bytes) * weight;
        }
        self.seconds_per_row = learn(self.seconds_per_row, time.as_secs_f64().max(1e-9) / rows);
        self.rows = rows;
    }

    /// Notes that a part met a lock that others held.
    pub(crate) fn shrink(&mut self) {
        self.rows = (self.rows / 4.0).max(0.5);
    }
}

/// What parts write for the rows that they change: each so much, and so much for itself. A line through those that were looked at.
#[derive(Debug, Default)]
pub(crate) struct Written {
    parts: f64,
    rows: f64,
    rows_squared: f64,
    bytes: f64,
    rows_by_bytes: f64,
}

impl Written {
    /// Notes what a part has written.
    pub(crate) fn learn(&mut self, rows: u64, bytes: u64) {
        let (rows, bytes) = (rows as f64, bytes as f64);
        self.parts += 1.0;
        self.rows += rows;
        self.rows_squared += rows * rows;
        self.bytes += bytes;
        self.rows_by_bytes += rows * bytes;
    }

    /// What another one has written, about.
    pub(crate) fn by(&self, rows: u64) -> u64 {
        if self.parts == 0.0 {
            return 0;
        }
        let (mean_rows, mean_bytes) = (self.rows / self.parts, self.bytes / self.parts);
        let spread = self.rows_squared - self.rows * mean_rows;
        let of_one = if spread > 0.0 { (self.rows_by_bytes - self.rows * mean_bytes) / spread } else { 0.0 };
        (mean_bytes + of_one.max(0.0) * (rows as f64 - mean_rows)).max(0.0) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: Duration = Duration::from_millis(100);

    #[test]
    fn parts_grow_to_what_is_allowed_and_shrink_at_once() {
        let mut sizer = Sizer::new(100_000, TIME);
        assert_eq!(sizer.rows(None), 200);
        for _ in 0..20 {
            let rows = sizer.rows(None);
            sizer.learn(rows, Some(rows * 100), Duration::from_micros(rows));
        }
        assert_eq!(sizer.rows(None), 1000);
        assert_eq!((sizer.rows(Some(20_000)), sizer.bytes_of(200)), (200, 20_000));
        sizer.learn(1000, Some(100_000), Duration::from_secs(1));
        assert_eq!(sizer.rows(None), 100);
        sizer.shrink();
        sizer.learn(1, None, Duration::from_micros(1));
        assert_eq!(sizer.rows(None), 2);
    }

    #[test]
    fn what_is_written_is_a_line() {
        let mut written = Written::default();
        assert_eq!(written.by(10), 0);
        written.learn(0, 1000);
        assert_eq!(written.by(10), 1000);
        written.learn(100, 6000);
        written.learn(40, 3000);
        assert_eq!([0, 10, 1000].map(|rows| written.by(rows)), [1000, 1500, 51_000]);
    }

    #[test]
    fn rows_that_cost_nothing_are_passed_over_in_large_steps() {
        let mut sizer = Sizer::new(100_000, TIME);
        for _ in 0..40 {
            let rows = sizer.rows(None);
            sizer.learn(rows, Some(0), Duration::from_nanos(rows));
        }
        assert_eq!(sizer.rows(None), 100_000);
    }
}
