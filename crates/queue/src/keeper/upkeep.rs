//! What a keeper does beside the tasks: counts are folded, segments dropped, and it looks whether anything is left.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::{Keeper, PATIENT};
use crate::error::Doing;
use crate::schema::{BUILDING, INTAKE};
use crate::{Result, counts, segments, session};

impl Keeper<'_> {
    /// Folds counts that are old, now and then.
    pub(super) fn fold(&mut self) -> Result<()> {
        const EVERY: Duration = Duration::from_secs(600);
        let now = Instant::now();
        if self.intake.is_none() || now < self.fold_at {
            return Ok(());
        }
        self.fold_at = now + EVERY;
        while self.patiently(|connection, _| counts::fold(connection))? {}
        Ok(())
    }

    /// Drops segments of which all lanes are finished.
    pub(super) fn drop_segments(&mut self) -> Result<()> {
        let now = Instant::now();
        let Some(incoming) = &mut self.intake else { return Ok(()) };
        if now < self.segments_at {
            return Ok(());
        }
        let keep = self.books.kinds.longest_keep();
        self.may_be_over |= session::tried(&mut self.connection, PATIENT, |connection| {
            incoming.intake.close_old(connection, keep)
        })?;
        let mut next = None;
        if self.may_be_over {
            next = self.patiently(|connection, _| segments::drop_finished(connection, keep))?;
            self.may_be_over = next.is_some();
        }
        self.segments_at = now + next.unwrap_or(segments::EVERY);
        Ok(())
    }

    pub(super) fn look_whether_empty(&mut self) -> Result<()> {
        let Some(empty) = self.signals.empty.get(self.at) else { return Ok(()) };
        if !self.lanes.is_empty() || self.may_be_free {
            empty.store(false, Ordering::SeqCst);
            return Ok(());
        }
        let lanes =
            format!("SELECT DISTINCT kind FROM queue_lane WHERE lane > {INTAKE} AND owner <> {BUILDING}");
        let doing = || "looking whether the queue is empty";
        let kinds = self.patiently(|connection, _| connection.query(&lanes).doing(doing))?.rows;
        let is_open = |kind: u16| !self.rests(kind);
        let open = kinds.iter().filter_map(|row| row.parse(0)).any(is_open);
        let sql = "SELECT EXISTS (SELECT 1 FROM queue_inbox) + EXISTS (SELECT 1 FROM queue_later WHERE is_back = 1)";
        let left = match self.connection.first(sql).doing(doing) {
            Err(error) if error.is_passing() => 1, // somebody has locked the table
            row => row?.and_then(|row| row.parse::<u32>(0)).unwrap_or(1),
        };
        empty.store(left == 0 && !open, Ordering::SeqCst);
        Ok(())
    }
}
