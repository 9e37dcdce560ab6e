//! Comparing what is there with the version that is asked for.

use std::collections::BTreeSet;

use crate::check::Outcome;
use crate::evidence::Seen;
use crate::facts::Facts;
use crate::target::{Choice, Snapshot};

/// How many things a finding lists.
const SHOWN: usize = 10;

/// The privileges of this account on everything. Those that it has by a role only are not among them.
const PRIVILEGES: &str = "SELECT PRIVILEGE_TYPE AS name FROM information_schema.USER_PRIVILEGES WHERE GRANTEE = CONCAT('''', \
     LEFT(CURRENT_USER(), CHAR_LENGTH(CURRENT_USER()) - CHAR_LENGTH(SUBSTRING_INDEX(CURRENT_USER(), '@', -1)) - 1), '''@''', \
     SUBSTRING_INDEX(CURRENT_USER(), '@', -1), '''')";

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

/// What an account without these privileges does not see, in words: the server leaves out of information_schema what it may not see.
pub(super) fn hidden(facts: &Facts, needed: &[&str]) -> Option<String> {
    let answer = match facts.ask(PRIVILEGES) {
        Ok(answer) => answer,
        Err(unseen) => return Some(format!("what this account may see: {unseen}")),
    };
    let held: BTreeSet<_> = answer.rows.iter().filter_map(|row| answer.value(row, "name")).collect();
    let lacks: Vec<_> = needed.iter().copied().filter(|name| !held.contains(name)).collect();
    (!lacks.is_empty()).then(|| {
        format!("what others own, if there is any: this account has no {} on all schemas", lacks.join(", "))
    })
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
