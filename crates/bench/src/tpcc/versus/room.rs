//! Keeps a comparison from filling a file system to its end.
//!
//! A server whose file system is full waits until somebody makes room (MariaDB's binary log does so for ever), and a disk of the
//! operator's may be everybody's. So a server is killed before it comes to that, which ends what its clients wait for.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::Error;

/// With less than this free, it is over. More than a server writes between two looks.
const LEAST_FREE: u64 = 128 << 20;
const EVERY: Duration = Duration::from_millis(100);

/// Looks after the room below a directory until it is dropped.
#[derive(Debug)]
pub(super) struct Room {
    place: PathBuf,
    state: Arc<State>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct State {
    is_over: AtomicBool,
    was_short: AtomicBool,
    /// The process of the server; 0 as long as there is none.
    server: AtomicU32,
}

impl Room {
    /// Begins.
    pub(super) fn watch(place: &Path) -> Self {
        let state = Arc::new(State::default());
        let (shared, path) = (Arc::clone(&state), place.to_owned());
        let thread = std::thread::spawn(move || {
            while !shared.is_over.load(Ordering::Relaxed) {
                if free(&path).is_some_and(|free| free < LEAST_FREE) {
                    shared.was_short.store(true, Ordering::Relaxed);
                }
                if shared.was_short.load(Ordering::Relaxed) && kill(shared.server.load(Ordering::Relaxed)) {
                    return;
                }
                std::thread::sleep(EVERY);
            }
        });
        Self { place: place.to_owned(), state, thread: Some(thread) }
    }

    /// Says which process writes there.
    pub(super) fn guard(&self, server: u32) {
        self.state.server.store(server, Ordering::Relaxed);
    }

    /// Why the server is gone, if it was for want of room.
    pub(super) fn shortage(&self) -> Option<Error> {
        self.state.was_short.load(Ordering::Relaxed).then(|| {
            Error::with_hint(
                format!(
                    "{}: less than {} are free there, and the comparison was stopped before it is full",
                    self.place.display(),
                    drover_units::show::bytes(LEAST_FREE)
                ),
                "give --loop a larger SIZE, or --data or path= another directory; fewer --warehouses and --seconds take less",
            )
        })
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.state.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It does not panic.
            let _ = thread.join();
        }
    }
}

/// How many bytes others than root may still write; none if the file system is gone.
fn free(path: &Path) -> Option<u64> {
    rustix::fs::statvfs(path).ok().map(|of| of.f_bavail * of.f_frsize)
}

/// Whether there was a server to kill.
fn kill(server: u32) -> bool {
    let Some(pid) = i32::try_from(server).ok().and_then(Pid::from_raw) else { return false };
    // It may have ended by itself.
    let _ = kill_process(pid, Signal::KILL);
    true
}
