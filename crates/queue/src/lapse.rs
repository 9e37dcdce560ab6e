//! When a shepherd's lease has run out, for another shepherd that looks at its row now and then. The row says until when it holds, by
//! the server's clock; but that may be set, and after a failover it is another machine's. So what decides is how long the row was not
//! renewed, by the clock of the process that looks, which always goes forward.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::renewal;

/// What a look at a shepherd's row tells.
#[derive(Debug)]
pub(crate) struct LeaseRow {
    /// Until when it holds, as it stands there.
    pub(crate) expires: String,
    /// For how long that is by the server's clock; none if it is over.
    pub(crate) left: Duration,
    /// How long it holds when it was just renewed.
    pub(crate) lease: Duration,
}

/// The rows that were seen, and since when they have not changed.
#[derive(Debug, Default)]
pub(crate) struct Lapses {
    seen: HashMap<u32, Seen>,
}

#[derive(Debug)]
struct Seen {
    expires: String,
    at: Instant,
    /// If it does not change until then, it has run out.
    ends: Instant,
}

impl Lapses {
    /// Whether a shepherd's lease has run out: its row has not changed for as long as a lease lasts, or the server's clock says so and
    /// it has not changed while a living one would have renewed it, as it does after a clock went forward. Of a row that was never seen
    /// before nothing but the server's clock tells.
    pub(crate) fn has_run_out(&mut self, shepherd: u32, row: &LeaseRow, now: Instant) -> bool {
        let is_renewed = self.seen.get(&shepherd).is_none_or(|seen| seen.expires != row.expires);
        let is_new = !self.seen.contains_key(&shepherd);
        if is_renewed {
            self.seen.insert(shepherd, Seen { expires: row.expires.clone(), at: now, ends: now });
        }
        let Some(seen) = self.seen.get_mut(&shepherd) else { return false }; // it was just put there
        let renews = renewal::every(row.lease) * 4 / 3;
        if is_new && row.left.is_zero() {
            return true;
        }
        seen.ends = (now + row.left).max(seen.at + renews).min(seen.at + row.lease);
        now >= seen.ends
    }

    /// Forgets all shepherds but these.
    pub(crate) fn keep(&mut self, shepherds: &[u32]) {
        self.seen.retain(|shepherd, _| shepherds.contains(shepherd));
    }

    /// When the first of those that were seen runs out, if it is not renewed.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.seen.values().map(|seen| seen.ends).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEASE: Duration = Duration::from_secs(7);

    fn row(expires: &str, left: u64) -> LeaseRow {
        LeaseRow { expires: expires.into(), left: Duration::from_secs(left), lease: LEASE }
    }

    /// Whether it has run out, looked at once a second; `rows` are what each look finds.
    fn looks(rows: impl IntoIterator<Item = LeaseRow>) -> Vec<bool> {
        let (mut lapses, begun) = (Lapses::default(), Instant::now());
        let at = |second| begun + Duration::from_secs(second);
        rows.into_iter().zip(0..).map(|(row, second)| lapses.has_run_out(1, &row, at(second))).collect()
    }

    fn first(rows: impl IntoIterator<Item = LeaseRow>) -> Option<usize> {
        looks(rows).iter().position(|is| *is)
    }

    #[test]
    fn one_that_is_not_renewed_runs_out_whatever_the_servers_clock_shows() {
        assert_eq!(first((0..9).map(|second| row("a", 7u64.saturating_sub(second)))), Some(7));
        assert_eq!(first((0..9).map(|second| row("a", 5u64.saturating_sub(second)))), Some(5));
        assert_eq!(first((0..9).map(|second| row("a", 3607 - second))), Some(7), "the clock went back");
        assert_eq!(first((0..9).map(|_| row("a", 0))), Some(0), "it has run out long ago");
    }

    #[test]
    fn one_that_is_renewed_stays() {
        let names = ["a", "b", "c", "d"];
        let renewed = |left: fn(u64) -> u64| {
            first((0..12).map(|second| row(names[second / 3], left(second as u64 % 3))))
        };
        assert_eq!(renewed(|since| 7 - since), None);
        let forward = (0..12).map(|second| row(names[second / 3], if second == 0 { 7 } else { 0 }));
        assert_eq!(first(forward), None, "the server's clock went forward, again and again");
        let gone = (0..12).map(|second| row("a", if second == 0 { 7 } else { 0 }));
        assert_eq!(first(gone), Some(4));
        assert_eq!(renewed(|_| 3600), None);
    }

    #[test]
    fn the_next_look_is_when_one_may_have_run_out() {
        let (mut lapses, now) = (Lapses::default(), Instant::now());
        assert_eq!(lapses.next(), None);
        lapses.has_run_out(1, &row("a", 5), now);
        lapses.has_run_out(2, &row("a", 3), now);
        lapses.has_run_out(2, &row("a", 0), now);
        assert_eq!(lapses.next(), Some(now + Duration::from_secs(4)));
        lapses.keep(&[1]);
        assert_eq!(lapses.next(), Some(now + Duration::from_secs(5)));
    }
}
