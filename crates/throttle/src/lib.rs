//! What a command may ask of the servers and disks that it works with: limits that are watched about once a second, and how workers wait.
//! A worker calls [`Throttle::pass`] where it can wait without holding others up, and [`Throttle::spend`] for each piece of rows'
//! text that it has read or written.
//!
//! It knows nothing of what the work is. Families that work beside live traffic may import it; of ours it needs `db`, `report` and
//! `units`.

mod args;
mod error;
mod load;
mod probe;
mod rate;

use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use drover_db::Stop;
use drover_db::options::{ConnectOptions, ServerArgs};

use drover_report::Progress;
use drover_units::read;

pub use args::ThrottleArgs;
pub use error::{Error, Result};
pub use load::{Findings, Limits};
use probe::Probes;
use rate::Rate;

/// How often the values are read.
const EVERY: Duration = Duration::from_secs(1);
/// Values older than this are no longer trusted: a server that does not answer is in trouble.
const STALE: Duration = Duration::from_secs(10);
/// How often a worker that waits looks for a signal.
const GLANCE: Duration = Duration::from_millis(50);

/// What the work does with a server.
#[derive(Debug, Clone, Copy)]
pub enum Work<'a> {
    /// A dump, and the directory of this machine that it is written to, if it is.
    Dump(Option<&'a Path>),
    /// A restore, or another work that writes there.
    Restore,
}

/// A server that the work is done with.
#[derive(Debug)]
pub struct Side<'a> {
    /// What it is called in messages, where there are two.
    pub name: Option<&'static str>,
    /// What is watched there.
    pub args: ThrottleArgs,
    /// How it was named.
    pub server: &'a ServerArgs,
    /// How it is reached.
    pub options: &'a ConnectOptions,
    /// What is done with it.
    pub work: Work<'a>,
}

impl<'a> Side<'a> {
    /// The only server that a command works with.
    pub fn only(
        args: &ThrottleArgs,
        server: &'a ServerArgs,
        options: &'a ConnectOptions,
        work: Work<'a>,
    ) -> Self {
        Self { name: None, args: args.clone(), server, options, work }
    }
}

/// Limits that are watched until the value is dropped.
#[derive(Debug)]
pub struct Throttle<'a> {
    rate: Option<Rate>,
    shared: Option<Arc<Shared>>,
    watcher: Option<JoinHandle<()>>,
    stop: &'a Stop,
    progress: &'a Progress,
}

/// What the watcher and the workers share.
#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    found: Findings,
    read_at: Instant,
    /// How long the work has paused.
    paused: Duration,
    is_over: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<'a> Throttle<'a> {
    /// Begins to watch.
    ///
    /// # Errors
    /// If something that is to be watched cannot be read.
    pub fn start(
        rate: Option<read::Rate>,
        sides: &[Side<'_>],
        stop: &'a Stop,
        progress: &'a Progress,
    ) -> Result<Self> {
        let rate = rate.map(|read::Rate(bytes)| Rate::new(bytes));
        let mut throttle = Self { rate, shared: None, watcher: None, stop, progress };
        let watched = sides.iter().filter(|side| side.args.watches());
        let mut probes: Vec<_> = watched.map(Probes::new).collect::<Result<_>>()?;
        if probes.is_empty() {
            return Ok(throttle);
        }
        let found = look(&mut probes)?;
        let state = State { found, read_at: Instant::now(), paused: Duration::ZERO, is_over: false };
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() });
        throttle.shared = Some(Arc::clone(&shared));
        throttle.watcher = Some(std::thread::spawn(move || watch(&mut probes, &shared)));
        Ok(throttle)
    }

    /// Waits while a limit is exceeded.
    ///
    /// # Errors
    /// If a critical limit is exceeded, a signal came, or another worker has failed.
    pub fn pass(&self) -> Result<()> {
        let Some(shared) = &self.shared else { return Ok(()) };
        let mut has_paused = false;
        let result = loop {
            let state = shared.lock();
            if let Err(error) = check(&state) {
                break Err(error);
            }
            let Some(reason) = reason_to_pause(&state) else { break Ok(()) };
            if self.stop.is_requested() || self.stop.is_broken() {
                break Err(Error::Stopped);
            }
            has_paused = true;
            self.progress.pause(Some(reason));
            drop(shared.changed.wait_timeout(state, GLANCE));
        };
        if has_paused {
            self.progress.pause(None);
        }
        result
    }

    /// Whether [`Throttle::pass`] would wait.
    pub fn has_reason_to_pause(&self) -> bool {
        self.shared.as_ref().is_some_and(|shared| reason_to_pause(&shared.lock()).is_some())
    }

    /// The same without waiting, for work that would hold others up if it waited.
    pub fn check(&self) -> Result<()> {
        self.shared.as_ref().map_or(Ok(()), |shared| check(&shared.lock()))
    }

    /// Notes that so many bytes of text were read or written; waits as long as the rate asks for.
    pub fn spend(&self, bytes: u64) {
        let Some(rate) = &self.rate else { return };
        let now = Instant::now();
        let until = now + rate.spend(bytes, now);
        while Instant::now() < until && !self.stop.is_requested() && !self.stop.is_broken() {
            std::thread::sleep(until.saturating_duration_since(Instant::now()).min(GLANCE));
        }
    }

    /// For how long the work has paused.
    pub fn paused(&self) -> Duration {
        self.shared.as_ref().map_or(Duration::ZERO, |shared| shared.lock().paused)
    }
}

impl Drop for Throttle<'_> {
    fn drop(&mut self) {
        let (Some(shared), Some(watcher)) = (&self.shared, self.watcher.take()) else { return };
        shared.lock().is_over = true;
        shared.changed.notify_all();
        // A server that does not answer is not waited for: the thread ends with the process.
        let patience = Instant::now() + EVERY;
        while !watcher.is_finished() && Instant::now() < patience {
            std::thread::sleep(Duration::from_millis(1));
        }
        if watcher.is_finished() {
            // A panic there has left the values to become stale, and nothing else to do.
            let _ = watcher.join();
        }
    }
}

/// Reads all values of all servers.
fn look(probes: &mut [Probes]) -> Result<Findings> {
    let mut found = Findings::default();
    for probes in probes {
        let Findings { pause, stop } = probes.look()?;
        found.pause.extend(pause);
        found.stop.extend(stop);
    }
    Ok(found)
}

fn check(state: &State) -> Result<()> {
    if state.found.stop.is_empty() {
        return Ok(());
    }
    Err(Error::Exceeded(state.found.stop.clone()))
}

fn reason_to_pause(state: &State) -> Option<String> {
    let age = state.read_at.elapsed();
    if age > STALE {
        return Some(format!("the server has not answered for {} s", age.as_secs()));
    }
    (!state.found.pause.is_empty()).then(|| state.found.pause.join(", "))
}

fn watch(probes: &mut [Probes], shared: &Shared) {
    let mut last = Instant::now();
    loop {
        let state = shared.lock();
        let wait = |state: &mut State| !state.is_over;
        let waited = shared.changed.wait_timeout_while(state, EVERY, wait);
        if waited.unwrap_or_else(PoisonError::into_inner).0.is_over {
            return;
        }
        // What cannot be read may be anything.
        let found = look(probes).unwrap_or_else(|error| Findings {
            pause: vec![format!("a limit cannot be looked at: {error}")],
            stop: Vec::new(),
        });
        let mut state = shared.lock();
        if reason_to_pause(&state).is_some() {
            state.paused += last.elapsed();
        }
        last = Instant::now();
        (state.found, state.read_at) = (found, last);
        drop(state);
        shared.changed.notify_all();
    }
}
