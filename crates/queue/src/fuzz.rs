//! Doors for fuzzing: what the queue reads that strangers wrote, with what has to hold for it. For `fuzz/` alone.

use std::path::Path;
use std::time::Duration;

use drover_db::options::ServerArgs;

use crate::counts::Histogram;
use crate::desk::Answer;
use crate::progress::{MOST_TASKS, Progress};
use crate::record::{self, Record};
use crate::shard::Shards;
use crate::task::{ObjectId, Outcome, Task};
use crate::workers::http;
use crate::workers::line::{self, Said};

/// A worker's answer: a task is put off for a year at most.
pub fn answer(bytes: &[u8]) {
    if let Ok(Said::Answer(Answer { outcome: Outcome::Postponed(millis), .. })) = line::parse(bytes) {
        assert!(millis <= 366 * 86_400_000);
    }
}

/// A task's line, whatever its texts hold: it is one, and who sends it back has done the task.
pub fn line(object_id: &str, payload: Option<&str>, tenant: &str) {
    let task = Task {
        id: 7,
        lease: 9,
        kind: 16,
        object_id: ObjectId::parse(object_id),
        payload: payload.map(Into::into),
        attempt: 1,
        tenant: tenant.into(),
    };
    assert_eq!(task.object_id.to_string(), object_id);
    let mut out = Vec::new();
    line::push(&task, &mut out);
    assert_eq!(out.iter().filter(|byte| matches!(byte, b'\n' | b'\r')).count(), 1);
    assert_eq!(line::parse(&out), Ok(Said::Answer(Answer { lease: 9, outcome: Outcome::Done })));
}

/// Lines of `push` and `build`: what is taken fits into the tables.
pub fn records(bytes: &[u8]) {
    for line in record::lines(bytes).map_while(Result::ok) {
        if let Ok(record) = Record::parse(line.trim()) {
            assert!(record.check().is_ok() && record.object_id.chars().count() <= 190);
        }
    }
}

/// A file of shards: they have names, and errors tell no password.
pub fn shards(text: &str) {
    let base = ServerArgs { no_defaults: true, ..ServerArgs::default() };
    match Shards::parse(Path::new("shards.toml"), text, &base, Some("jobs")) {
        Ok(shards) => assert!(shards.shards.iter().all(|shard| !shard.nodes.is_empty())),
        Err(error) => assert!(!error.to_string().contains("hunter2"), "{error}"),
    }
}

/// Times as people and services write them.
pub fn times(text: &str) {
    let _ = http::asked(text);
    let _ = record::not_before(text);
    if let Ok(time) = drover_units::read::duration(text) {
        assert!(time < Duration::from_secs(1 << 32));
    }
}

/// What is settled of a lane, as its row tells it: it is the same after it was written again.
pub fn progress(tasks: u32, settled: u32, beyond: &[u8]) {
    let (tasks, settled) = (tasks % (MOST_TASKS + 2), settled % (MOST_TASKS + 2));
    let Some(mut progress) = Progress::decode(tasks, settled, beyond) else { return };
    let again = Progress::decode(tasks, progress.settled(), &progress.beyond());
    let again = again.expect("what was written is read");
    assert_eq!((again.done(), again.is_finished()), (progress.done(), progress.is_finished()));
    assert!((0..tasks).all(|task| again.is_settled(task) == progress.is_settled(task)));
    let (low, high) = progress.split(settled);
    assert_eq!(low.done() + high.done(), progress.done());
    let open = (0..tasks).filter(|&task| !progress.is_settled(task)).collect::<Vec<_>>();
    open.into_iter().for_each(|task| assert!(progress.settle(task)));
    assert!(progress.is_finished() && progress.beyond().is_empty());
}

/// Histograms of `queue_count`, which may be anybody's.
pub fn histograms(one: &str, other: &str) {
    let (mut sum, other) = (Histogram::decode(one), Histogram::decode(other));
    assert_eq!(Histogram::decode(&sum.encode()), sum);
    sum.join(&other);
    assert!(sum.quantile(0.5) <= sum.quantile(0.99) || sum.quantile(0.99).is_none());
    sum.add(1 << 20);
}
