//! Work that is done in the shepherd's own process.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use super::counter::{Counter, named};
use crate::Result;
use crate::desk::Answer;
use crate::task::{Outcome, Task};

/// Does a task.
pub type Work<'a> = dyn Fn(&Task) -> Outcome + Sync + 'a;

/// So many tasks are taken at once, if the closure is fast.
const MOST: usize = 512;
/// A thread takes no more than it does in about this time, so that others have their share.
const ABOUT: Duration = Duration::from_millis(5);

/// Works until there is nothing more.
pub(super) fn work(counter: &Counter<'_>, work: &Work<'_>) -> Result<()> {
    let mut most = 1;
    while let Some(tasks) = counter.desk.take(most, Duration::from_millis(500)) {
        let begun = std::time::Instant::now();
        let count = tasks.len();
        let answers = tasks.iter().map(|queued| {
            let outcome = catch_unwind(AssertUnwindSafe(|| work(&queued.task)));
            let outcome = outcome
                .unwrap_or_else(|_| Outcome::Failed(format!("{}: the work panicked", named(&queued.task))));
            Answer { lease: queued.task.lease, outcome }
        });
        counter.answer(answers.collect::<Vec<_>>());
        most = match begun.elapsed() < ABOUT {
            true if count == most => (most * 2).min(MOST),
            true => most,
            false => (most / 2).max(1),
        };
    }
    Ok(())
}
