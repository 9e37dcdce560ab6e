//! What a measurement says while it goes on.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What is being measured, how long it takes as planned, and the latest figure. A printer polls it.
#[derive(Debug, Default)]
pub struct Progress {
    now: Mutex<Option<Now>>,
    /// What all phases belong to, for the time being.
    part: Mutex<String>,
}

#[derive(Debug, Clone)]
struct Now {
    phase: String,
    begun: Instant,
    planned: Option<Duration>,
    figure: String,
}

/// The state of a measurement at one moment.
#[derive(Debug, Clone)]
pub struct ProgressSnapshot {
    /// What is being done, in a few words.
    pub phase: String,
    /// For how long.
    pub elapsed: Duration,
    /// How long it takes in all, where that is planned.
    pub planned: Option<Duration>,
    /// The latest figure; empty where there is none.
    pub figure: String,
}

impl Progress {
    /// Says what all phases from here on belong to, such as the setting that is being tried and the repeat.
    pub fn part(&self, part: impl Into<String>) {
        *self.part.lock().unwrap_or_else(PoisonError::into_inner) = part.into();
    }

    /// Says what is being done from here on, and how long it is to take where that is planned.
    pub fn phase(&self, phase: impl Into<String>, planned: impl Into<Option<Duration>>) {
        let now = Now {
            phase: phase.into(),
            begun: Instant::now(),
            planned: planned.into(),
            figure: String::new(),
        };
        *self.now.lock().unwrap_or_else(PoisonError::into_inner) = Some(now);
    }

    /// Says anew how long the phase takes in all.
    pub fn plan(&self, planned: Duration) {
        if let Some(now) = self.now.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            now.planned = Some(planned);
        }
    }

    /// Says the latest figure.
    pub fn figure(&self, figure: impl Into<String>) {
        if let Some(now) = self.now.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            now.figure = figure.into();
        }
    }

    /// The state now; none before the first phase.
    pub fn snapshot(&self) -> Option<ProgressSnapshot> {
        let now = self.now.lock().unwrap_or_else(PoisonError::into_inner).clone()?;
        let elapsed = now.begun.elapsed();
        let part = self.part.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let phase = if part.is_empty() { now.phase } else { format!("{part}: {}", now.phase) };
        Some(ProgressSnapshot { phase, elapsed, planned: now.planned, figure: now.figure })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_belongs_to_its_phase() {
        let progress = Progress::default();
        assert!(progress.snapshot().is_none());
        progress.phase("warming up", Duration::from_secs(5));
        progress.figure("12 a second");
        let now = progress.snapshot().unwrap();
        assert_eq!((now.phase.as_str(), now.figure.as_str()), ("warming up", "12 a second"));
        assert_eq!(now.planned, Some(Duration::from_secs(5)));
        progress.plan(Duration::from_secs(7));
        assert_eq!(progress.snapshot().unwrap().planned, Some(Duration::from_secs(7)));
        progress.phase("measuring", None);
        assert_eq!(progress.snapshot().unwrap().figure, "");
        progress.part("kyber, 2 of 3");
        assert_eq!(progress.snapshot().unwrap().phase, "kyber, 2 of 3: measuring");
    }
}
