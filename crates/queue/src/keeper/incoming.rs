//! When a keeper moves tasks in.

use std::time::{Duration, Instant};

use crate::intake::Intake;

/// What a keeper has who moves tasks in.
pub(super) struct Incoming {
    pub(super) intake: Intake,
    pub(super) inbox_at: Instant,
    pub(super) later_at: Option<Instant>,
    /// When a schedule may be due.
    pub(super) schedules_at: Instant,
    /// When is looked at all schedules, whether due or not.
    pub(super) all_schedules_at: Instant,
    /// A row was seen in the inbox that nobody has committed yet.
    pub(super) awaited: u64,
    pub(super) pause: Duration,
}

/// How often the table of later tasks is looked at, if no task is known to be due.
pub(super) const LATER_SWEEP: Duration = Duration::from_secs(15);

impl Incoming {
    /// When the inbox is read next, after so many tasks were read.
    pub(super) fn plan_inbox(&mut self, read: usize) {
        let now = Instant::now();
        self.inbox_at = if read > 0 {
            self.pause = Duration::from_millis(1);
            now
        } else if self.awaited > self.intake.last && self.pause < Duration::from_secs(1) {
            self.pause *= 2;
            now + self.pause
        } else {
            self.intake.next_look()
        };
    }
}
