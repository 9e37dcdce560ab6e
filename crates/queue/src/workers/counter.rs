//! What every way to run tasks has in common.

use std::sync::atomic::Ordering;

use crate::desk::{Answer, Desk};
use crate::task::Task;
use crate::totals::Totals;

/// The desk, and a count of the answers that it refused.
pub(crate) struct Counter<'a> {
    pub(crate) desk: &'a Desk,
    pub(super) totals: &'a Totals,
}

impl Counter<'_> {
    pub(super) fn answer(&self, answers: impl IntoIterator<Item = Answer>) {
        let refused = self.desk.answer(answers);
        self.totals.refused.fetch_add(refused as u64, Ordering::Relaxed);
    }
}

/// What a task is called in a message.
pub(super) fn named(task: &Task) -> String {
    format!("task {} (kind {}, object {})", task.id, task.kind, task.object_id)
}
