//! What one connection did while it was measured, and all of them together.

use std::collections::BTreeMap;
use std::time::Instant;

use super::audit::Drawn;
use super::input::Input;
use super::kind::Kind;
use super::latency::Latencies;
use super::terminal::Done;

use drover_db::er;

/// When is measured.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window {
    pub(super) from: Instant,
    pub(super) until: Instant,
}

impl Window {
    fn holds(&self, at: Instant) -> bool {
        (self.from..self.until).contains(&at)
    }
}

/// A transaction's times.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    /// When it was to begin.
    pub(super) intended: Instant,
    /// When it was sent.
    pub(super) begun: Instant,
    /// When its end was confirmed.
    pub(super) ended: Instant,
}

/// Counts. What was to begin within the window has its latency counted, whenever it ended; throughput is what ended within.
#[derive(Debug, Clone)]
pub(super) struct Tally {
    window: Window,
    pub(super) kinds: [OfKind; 5],
    /// New-Orders that ended in each second.
    pub(super) new_orders: Vec<u64>,
    /// Transactions of all types that ended within the window.
    pub(super) ended: u64,
    pub(super) drawn: Drawn,
}

/// Counts of one type.
#[derive(Debug, Clone, Default)]
pub(super) struct OfKind {
    pub(super) done: u64,
    pub(super) rolled_back: u64,
    pub(super) retries: Retries,
    /// By the server's error number: how many transactions failed, and the words of the first.
    pub(super) errors: BTreeMap<u16, (u64, String)>,
    pub(super) service: Latencies,
    pub(super) from_intended: Latencies,
}

/// How often transactions were tried again, by the reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Retries {
    /// Two waited for each other (error 1213).
    pub deadlock: u64,
    /// A lock was waited for too long (error 1205).
    pub lock_wait_timeout: u64,
    /// The row had changed since it was read (error 1020, MariaDB's snapshot isolation).
    pub changed_since_read: u64,
}

impl Retries {
    /// Counts one, if an error with this number is one to try again after.
    pub(super) fn note(&mut self, code: Option<u16>) -> bool {
        match code {
            Some(er::LOCK_DEADLOCK) => self.deadlock += 1,
            Some(er::LOCK_WAIT_TIMEOUT) => self.lock_wait_timeout += 1,
            Some(er::CHECKREAD) => self.changed_since_read += 1,
            _ => return false,
        }
        true
    }

    /// How many there were.
    pub fn all(&self) -> u64 {
        self.deadlock + self.lock_wait_timeout + self.changed_since_read
    }

    fn add(&mut self, other: Self) {
        self.deadlock += other.deadlock;
        self.lock_wait_timeout += other.lock_wait_timeout;
        self.changed_since_read += other.changed_since_read;
    }
}

impl Tally {
    pub(super) fn new(window: Window) -> Self {
        let seconds = (window.until - window.from).as_secs_f64().ceil() as usize;
        Self {
            window,
            kinds: Default::default(),
            new_orders: vec![0; seconds],
            ended: 0,
            drawn: Drawn::default(),
        }
    }

    /// Notes a transaction that the server did not refuse; whether it is a New-Order that ended within the window.
    pub(super) fn note(&mut self, input: &Input, times: Times, done: Done, retries: Retries) -> bool {
        let is_new_order = input.kind() == Kind::NewOrder;
        let ends_within = self.window.holds(times.ended);
        if ends_within {
            self.ended += 1;
            if is_new_order {
                let second = (times.ended - self.window.from).as_secs() as usize;
                self.new_orders[second] += 1;
            }
        }
        if self.window.holds(times.intended) {
            self.drawn.note(input);
            self.drawn.note_skipped(done.skipped);
            let of_kind = &mut self.kinds[input.kind() as usize];
            of_kind.done += 1;
            of_kind.rolled_back += u64::from(done.is_rolled_back);
            of_kind.retries.add(retries);
            of_kind.service.note(times.ended.saturating_duration_since(times.begun));
            of_kind.from_intended.note(times.ended.saturating_duration_since(times.intended));
        }
        ends_within && is_new_order
    }

    /// Notes a transaction that the server refused for good.
    pub(super) fn note_error(&mut self, kind: Kind, code: u16, words: String) {
        self.kinds[kind as usize].errors.entry(code).or_insert((0, words)).0 += 1;
    }

    pub(super) fn add(&mut self, other: Self) {
        for (into, of) in self.kinds.iter_mut().zip(other.kinds) {
            into.add(of);
        }
        self.new_orders.iter_mut().zip(other.new_orders).for_each(|(into, of)| *into += of);
        self.ended += other.ended;
        self.drawn.add(&other.drawn);
    }

    /// How long was measured.
    pub(super) fn seconds(&self) -> f64 {
        (self.window.until - self.window.from).as_secs_f64()
    }

    /// New-Orders that ended within the window, those that were rolled back included, as the specification has it.
    pub(super) fn new_orders_a_minute(&self) -> f64 {
        self.new_orders.iter().sum::<u64>() as f64 * 60.0 / self.seconds()
    }
}

impl OfKind {
    fn add(&mut self, other: Self) {
        self.done += other.done;
        self.rolled_back += other.rolled_back;
        self.retries.add(other.retries);
        for (code, (count, words)) in other.errors {
            self.errors.entry(code).or_insert((0, words)).0 += count;
        }
        self.service.add(&other.service);
        self.from_intended.add(&other.from_intended);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::tpcc::input::{Delivery, District, NewOrder};

    fn order() -> Input {
        let district = District { warehouse: 1, number: 1 };
        Input::NewOrder(NewOrder { district, customer: 1, lines: Vec::new() })
    }

    #[test]
    fn what_was_to_begin_within_counts_whenever_it_ended() {
        let from = Instant::now();
        let at = |ms: u64| from + Duration::from_millis(ms);
        let mut tally = Tally::new(Window { from: at(1000), until: at(3000) });
        let mut note = |intended: u64, ended: u64| {
            let times = Times { intended: at(intended), begun: at(intended + 100), ended: at(ended) };
            tally.note(&order(), times, Done::default(), Retries::default())
        };
        assert_eq!(
            [note(500, 900), note(800, 1200), note(1500, 2900), note(2800, 9000)],
            [false, true, true, false]
        );
        let delivery = Input::Delivery(Delivery { warehouse: 1, carrier: 1 });
        let times = Times { intended: at(1500), begun: at(1500), ended: at(1600) };
        tally.note(&delivery, times, Done { is_rolled_back: false, skipped: 2 }, Retries::default());
        assert_eq!((tally.new_orders.as_slice(), tally.ended), (&[1, 1][..], 3));
        assert_eq!((tally.kinds[0].done, tally.kinds[3].done), (2, 1));
        assert!((tally.new_orders_a_minute() - 60.0).abs() < 1e-9);
        let latency = tally.kinds[0].from_intended.percentiles();
        assert!((latency.max_ms - 6200.0).abs() < 10.0, "{latency:?}");
        assert!((tally.kinds[0].service.percentiles().max_ms - 6100.0).abs() < 10.0);
    }

    #[test]
    fn only_three_errors_are_tried_again() {
        let mut retries = Retries::default();
        assert!([1213, 1205, 1020, 1213].into_iter().all(|code| retries.note(Some(code))));
        assert!(!retries.note(Some(1062)) && !retries.note(None));
        assert_eq!(retries, Retries { deadlock: 2, lock_wait_timeout: 1, changed_since_read: 1 });
        assert_eq!(retries.all(), 4);
    }
}
