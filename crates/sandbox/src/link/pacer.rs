//! How fast one direction of a link lets bytes pass: a token bucket that all connections share.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::settings::{LinkSettings, MAX_DELAY, lock};

/// What may leave at once after a pause, as time at the link's rate. As much is made up for where a thread is woken late, so that a
/// busy machine does not make the link slower than it says.
const BURST: Duration = Duration::from_millis(20);
/// What is read at once, as time at the link's rate: small enough to come out evenly.
const PIECE: Duration = Duration::from_millis(5);
/// The bytes of a full Ethernet frame's segment: no link sends less at once.
const MIN_PIECE: usize = 1448;
/// The most that is read at once, in bytes.
pub(super) const MAX_PIECE: usize = 64 << 10;

#[derive(Debug)]
pub(super) struct Pacer {
    meter: Mutex<Meter>,
    changed: Condvar,
}

impl Pacer {
    pub(super) fn new(settings: LinkSettings) -> Self {
        let meter = Meter { settings, is_closed: false, entered: 0, credit: 0.0, at: Instant::now() };
        Self { meter: Mutex::new(meter), changed: Condvar::new() }
    }

    /// Changes the link, also for what is on its way into it.
    pub(super) fn set(&self, settings: LinkSettings) {
        let mut meter = lock(&self.meter);
        meter.advance(Instant::now());
        meter.settings = settings;
        self.changed.notify_all();
    }

    pub(super) fn settings(&self) -> LinkSettings {
        lock(&self.meter).settings
    }

    /// Ends the link: nothing enters it any more.
    pub(super) fn close(&self) {
        lock(&self.meter).is_closed = true;
        self.changed.notify_all();
    }

    /// How many bytes to read at once, [`MAX_PIECE`] at most.
    pub(super) fn piece(&self) -> usize {
        piece(&self.settings())
    }

    /// How many bytes can be on their way at a time: as many as enter during the delay, and a little.
    pub(super) fn room(&self) -> usize {
        let settings = self.settings();
        (settings.bytes_in(settings.delay.min(MAX_DELAY) + BURST) + piece(&settings) as f64) as usize
    }

    /// Sends so many bytes: returns when the last of them has entered, and says when it arrives. Those who send at the same time take
    /// turns. None if the link is closed. With 0 bytes it waits only for what came before, and while the link is down.
    pub(super) fn send(&self, bytes: usize) -> Option<Instant> {
        let mut meter = lock(&self.meter);
        let end = meter.enter(bytes as u64, Instant::now());
        while !meter.is_closed {
            let now = Instant::now();
            meter = match meter.until_left(end, now) {
                Some(Duration::ZERO) => return Some(now + meter.settings.delay.min(MAX_DELAY)),
                Some(time) => {
                    self.changed.wait_timeout(meter, time).unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.changed.wait(meter).unwrap_or_else(PoisonError::into_inner),
            };
        }
        None
    }
}

fn piece(settings: &LinkSettings) -> usize {
    (settings.bytes_in(PIECE) as usize).clamp(MIN_PIECE, MAX_PIECE)
}

/// Counts what is sent against what the link can carry.
#[derive(Debug)]
struct Meter {
    settings: LinkSettings,
    is_closed: bool,
    /// Bytes that were ever to be sent.
    entered: u64,
    /// Bytes that could be sent beyond those; negative while the link is still at work on them.
    credit: f64,
    /// When `credit` was right.
    at: Instant,
}

impl Meter {
    /// Takes so many bytes, and says which place in all bytes the last of them has.
    fn enter(&mut self, bytes: u64, now: Instant) -> u64 {
        self.advance(now);
        self.entered += bytes;
        self.credit -= bytes as f64;
        self.entered
    }

    /// How long it takes until the byte at this place has been sent; none while the link is down.
    fn until_left(&mut self, place: u64, now: Instant) -> Option<Duration> {
        self.advance(now);
        if self.settings.is_down {
            return None;
        }
        let missing = -(self.credit + (self.entered - place) as f64);
        // At a rate of 0 it takes forever.
        let seconds = if missing > 0.0 { missing / self.settings.rate as f64 } else { 0.0 };
        Some(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
    }

    fn advance(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.at);
        self.at = now;
        if !self.settings.is_down {
            let credit = self.credit + self.settings.bytes_in(passed);
            self.credit = credit.min(self.settings.bytes_in(BURST));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn meter(rate: u64, at: Instant) -> Meter {
        Meter { settings: LinkSettings::of_rate(rate), is_closed: false, entered: 0, credit: 0.0, at }
    }

    proptest! {
        /// Whatever is sent in whatever pieces, never more than the rate and a burst; and no time is lost where the sender never
        /// pauses and is not woken much too late.
        #[test]
        fn the_rate_is_kept(
            rate in 1000_u64..200_000_000,
            pieces in prop::collection::vec((1_u64..70_000, 0_u64..19_000, any::<bool>()), 1..200),
            pauses in any::<bool>(),
        ) {
            let start = Instant::now();
            let (mut meter, mut now, mut sent) = (meter(rate, start), start, 0);
            for (bytes, micros, is_late) in pieces {
                let place = meter.enter(bytes, now);
                let wait = meter.until_left(place, now).unwrap();
                now += wait;
                sent += bytes;
                let could = rate as f64 * (now - start + BURST).as_secs_f64();
                prop_assert!(sent as f64 <= could + 1.0, "{sent} bytes of {could}");
                if pauses {
                    now += Duration::from_micros(10 * micros);
                } else if is_late && !wait.is_zero() {
                    now += Duration::from_micros(micros);
                }
                // Times are whole nanoseconds.
                prop_assert!(meter.until_left(place, now).unwrap() <= Duration::from_nanos(2));
            }
            let ideal = sent as f64 / rate as f64;
            prop_assert!(pauses || (now - start).as_secs_f64() <= ideal + BURST.as_secs_f64());
        }
    }

    #[test]
    fn those_who_send_at_the_same_time_take_turns() {
        let now = Instant::now();
        let mut meter = meter(1000, now);
        let [first, second] = [500, 250].map(|bytes| meter.enter(bytes, now));
        let millis = |time: Option<Duration>| time.unwrap().as_millis();
        assert_eq!(millis(meter.until_left(first, now)), 500);
        assert_eq!(millis(meter.until_left(second, now)), 750);
        let later = now + Duration::from_millis(500);
        assert_eq!(
            (millis(meter.until_left(first, later)), millis(meter.until_left(second, later))),
            (0, 250)
        );
    }

    #[test]
    fn another_rate_holds_for_what_has_not_left() {
        let now = Instant::now();
        let mut meter = meter(1000, now);
        let place = meter.enter(1000, now);
        let later = now + Duration::from_millis(500);
        meter.advance(later);
        meter.settings = LinkSettings { is_down: true, ..LinkSettings::of_rate(5000) };
        let much_later = later + Duration::from_secs(60);
        assert_eq!(meter.until_left(place, much_later), None);
        meter.settings.is_down = false;
        assert_eq!(meter.until_left(place, much_later).unwrap().as_millis(), 100, "500 bytes are left");
    }

    #[test]
    fn nothing_enters_a_closed_link() {
        let pacer = Pacer::new(LinkSettings { is_down: true, ..LinkSettings::of_rate(1) });
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| pacer.send(1));
            pacer.close();
            assert_eq!(waits.join().unwrap(), None);
        });
    }
}
