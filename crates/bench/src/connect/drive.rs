//! Clients that open sessions and end them, one after the other, for a while.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use drover_db::options::ConnectOptions;
use drover_db::{Connection, Stop};
use hdrhistogram::Histogram;

use crate::{Error, Result};

/// How sessions are opened, and what is done in them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Load<'a> {
    /// How to log in.
    pub(super) options: &'a ConnectOptions,
    /// What is run between login and end.
    pub(super) statement: Option<&'a str>,
    /// How many clients there are.
    pub(super) clients: u32,
}

/// What clients saw, in nanoseconds.
#[derive(Debug, Clone)]
pub(super) struct Tally {
    /// From connect(2) until the login was done.
    pub(super) login: Histogram<u64>,
    /// From connect(2) until the server had closed the connection.
    pub(super) session: Histogram<u64>,
    /// The sum of the sessions.
    pub(super) session_ns: u64,
    /// How long the clients were at it.
    pub(super) elapsed: Duration,
}

impl Tally {
    /// Of no session.
    pub(super) fn none() -> Result<Self> {
        // Three digits; it grows as it must.
        let histogram = || Histogram::new(3).map_err(|error| Error::found(format!("a histogram: {error}")));
        Ok(Self { login: histogram()?, session: histogram()?, session_ns: 0, elapsed: Duration::ZERO })
    }

    /// How many sessions there were.
    pub(super) fn connects(&self) -> u64 {
        self.session.len()
    }

    /// Takes in what others saw at another time.
    pub(super) fn add(&mut self, other: &Self) {
        self.add_at_once(other);
        self.elapsed += other.elapsed;
    }

    /// Takes in what others saw at the same time.
    fn add_at_once(&mut self, other: &Self) {
        // Those that grow have a place for each other's times.
        let _ = (self.login.add(&other.login), self.session.add(&other.session));
        self.session_ns += other.session_ns;
    }

    fn note(&mut self, login: Duration, session: Duration) {
        let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        // A histogram that grows has a place for all times.
        let _ = (self.login.record(nanoseconds(login)), self.session.record(nanoseconds(session)));
        self.session_ns = self.session_ns.saturating_add(nanoseconds(session));
    }
}

impl Load<'_> {
    /// Has the clients open sessions for so long. Each opens one at least, and ends the last one that it began.
    ///
    /// # Errors
    /// The first that a client meets, or that a stop was asked for.
    pub(super) fn drive(&self, length: Duration, stop: &Stop) -> Result<Tally> {
        let begun = Instant::now();
        let until = begun + length;
        let failed = AtomicBool::new(false);
        let results: Vec<Result<Tally>> = thread::scope(|scope| {
            let clients: Vec<_> =
                (0..self.clients).map(|_| scope.spawn(|| self.client(until, stop, &failed))).collect();
            let ended = clients.into_iter().map(|client| match client.join() {
                Ok(tally) => tally,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            ended.collect()
        });
        let mut all = Tally::none()?;
        for tally in results {
            all.add_at_once(&tally?);
        }
        all.elapsed = begun.elapsed();
        Ok(all)
    }

    fn client(&self, until: Instant, stop: &Stop, failed: &AtomicBool) -> Result<Tally> {
        let mut tally = Tally::none()?;
        loop {
            if failed.load(Ordering::Relaxed) {
                return Ok(tally);
            }
            match self.session(stop) {
                _ if stop.is_requested() => return Err(Error::Stopped),
                Ok((login, session)) => tally.note(login, session),
                Err(error) => {
                    failed.store(true, Ordering::Relaxed);
                    return Err(error);
                }
            }
            if Instant::now() >= until {
                return Ok(tally);
            }
        }
    }

    /// One session: how long the login took, and all of it.
    fn session(&self, stop: &Stop) -> Result<(Duration, Duration)> {
        let begun = Instant::now();
        let doing = || format!("opening a session as '{}'", self.options.user);
        let mut connection =
            Connection::log_in(self.options).map_err(|source| Error::server(doing())(source))?;
        let login = begun.elapsed();
        // What only a signal needs is no part of the session.
        let _watched = stop.watch(&connection).map_err(|source| Error::server(doing())(source))?;
        let going_on = Instant::now();
        if let Some(statement) = self.statement {
            let failed = |source| Error::server(format!("running `{statement}`"))(source);
            connection.execute(statement).map_err(failed)?;
        }
        connection.quit().map_err(Error::server("ending a session"))?;
        Ok((login, login + going_on.elapsed()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tallies_add_up() {
        let mut one = Tally::none().unwrap();
        one.note(Duration::from_micros(100), Duration::from_micros(300));
        one.elapsed = Duration::from_secs(1);
        let mut other = one.clone();
        other.note(Duration::from_secs(20), Duration::from_secs(40));
        one.add(&other);
        assert_eq!(
            (one.connects(), one.session_ns, one.elapsed),
            (3, 40_000_600_000, Duration::from_secs(2))
        );
        assert!(one.session.max() >= 40_000_000_000 && one.login.value_at_quantile(0.5) < 101_000);
    }
}
