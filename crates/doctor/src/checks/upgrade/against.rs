//! Comparing what is there with the version that is asked for.

use crate::check::Outcome;
use crate::evidence::Seen;
use crate::facts::Facts;
use crate::target::{Choice, Snapshot};

/// How many things a finding lists.
const SHOWN: usize = 10;

/// Asks what is there and compares it. It is asked even if there is nothing to compare with, so that a bundle can be compared with any
/// version.
pub(super) fn compare<T>(
    facts: &Facts,
    ask: impl Fn(&Facts) -> T,
    compare: impl Fn(T, &Snapshot) -> Seen<Outcome>,
) -> Seen<Outcome> {
    let there = ask(facts);
    match facts.target()? {
        Choice::Target(target) => compare(there, target),
        Choice::None(why) => Ok(Outcome::not_here(why)),
    }
}

/// The first of some things; how many more there are.
pub(super) fn first<T: ToString>(things: impl IntoIterator<Item = T>) -> Vec<String> {
    let mut all: Vec<_> = things.into_iter().map(|thing| thing.to_string()).collect();
    let more = all.len().saturating_sub(SHOWN);
    all.truncate(SHOWN);
    if more > 0 {
        all.push(format!("and {more} more"));
    }
    all
}
