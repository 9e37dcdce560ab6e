//! Reads lanes ahead of the workers, so that none of them waits for the server.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::{AHEAD, Keeper, LEAST_AHEAD, MOST_READ, PATIENT};
use crate::Result;
use crate::claims::{self, Claimant};
use crate::desk::{Queued, StreamName};
use crate::lane::Lane;
use crate::session;
use crate::settle::Settling;

impl Keeper<'_> {
    /// Reads lanes ahead of the workers, and takes more of them where one is read to its end. Gives the lane of which more will be
    /// needed next, and how many.
    pub(super) fn feed(&mut self) -> Result<Option<(u64, usize)>> {
        let ready = self.desk.ready(self.at);
        if self.may_be_free {
            self.take_lanes(&ready)?;
        }
        let mut streams: BTreeMap<StreamName, Vec<u64>> = BTreeMap::new();
        for lane in self.lanes.values().filter(|lane| !lane.is_read() && !self.rests(lane.kind)) {
            streams.entry(lane.stream(self.at)).or_default().push(lane.lane);
        }
        let share = (AHEAD / streams.len().max(1)).clamp(LEAST_AHEAD, MOST_READ * 2);
        let mut streams: Vec<_> = streams.into_iter().collect();
        streams.sort_by_key(|(stream, _)| Reverse(stream.priority)); // the others wait for the desk, too
        let mut ahead: usize = ready.values().sum();
        let mut next = None;
        for (stream, mut lanes) in streams {
            lanes.sort_unstable();
            let mut waiting = ready.get(&stream).copied().unwrap_or(0);
            for lane in lanes {
                if waiting > share / 2 || (waiting > 0 && ahead > AHEAD) {
                    next = next.or(Some(lane).filter(|_| waiting <= share && ahead <= AHEAD));
                    break;
                }
                let mut is_over = false;
                while !is_over {
                    self.ask(lane, share.min(MOST_READ))?;
                    let tasks = self.read(lane)?;
                    // None where all were settled before, or are not to run.
                    is_over = !tasks.is_empty() || self.lanes.get(&lane).is_none_or(Lane::is_read);
                    let weight = tasks.iter().map(Queued::weight).sum::<usize>();
                    (waiting, ahead) = (waiting + weight, ahead + weight);
                    self.desk.put(tasks);
                }
            }
        }
        Ok(next.map(|lane| (lane, share.min(MOST_READ))))
    }

    /// Asks for the tasks that will be needed next, as the last thing of a step: the server reads them while this one waits.
    pub(super) fn ask_ahead(&mut self, next: Option<(u64, usize)>) -> Result<()> {
        if let Some((lane, most)) = next.filter(|(lane, _)| self.lanes.contains_key(lane)) {
            self.ask(lane, most)?;
            self.asked = Some(lane);
        }
        Ok(())
    }

    /// Puts the tasks on the desk that were asked for.
    pub(super) fn read_asked(&mut self) -> Result<()> {
        if let Some(lane) = self.asked.take() {
            let tasks = self.read(lane)?;
            self.desk.put(tasks);
        }
        Ok(())
    }

    fn ask(&mut self, lane: u64, most: usize) -> Result<()> {
        let Some(lane) = self.lanes.get_mut(&lane) else { return Ok(()) };
        lane.ask(&mut self.connection, most)
    }

    /// Reads the tasks of a lane that were asked for; what must not run is settled.
    fn read(&mut self, lane: u64) -> Result<Vec<Queued>> {
        let Some(lane) = self.lanes.get_mut(&lane) else { return Ok(Vec::new()) };
        let tasks = match lane.read(&mut self.connection, self.at) {
            Err(error) if error.is_passing() => session::tried(&mut self.connection, PATIENT, |connection| {
                lane.ask_again(connection)?;
                lane.read(connection, self.at)
            }),
            read => read,
        }?;
        if !lane.is_unique || !lane.is_built() {
            return Ok(tasks);
        }
        let objects: Vec<_> = tasks.iter().map(|queued| queued.task.object_id.to_string()).collect();
        let both = tasks.iter().zip(&objects);
        let claimants: Vec<_> = both
            .map(|(queued, object_id)| Claimant { kind: queued.task.kind, object_id, task: queued.task.id })
            .collect();
        let mut held = self.patiently(|connection, _| claims::held(connection, &claimants))?.into_iter();
        let (held, merged): (Vec<_>, Vec<_>) = tasks.into_iter().partition(|_| held.next() == Some(true));
        if !merged.is_empty() {
            let settling = Settling::merged(&merged, &mut self.lanes, self.clock);
            self.commit(&settling)?;
        }
        Ok(held)
    }
}
