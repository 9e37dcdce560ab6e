//! Network interfaces that are bound together.

mod delays;
mod hash;
mod links;
mod mode;
mod module_options;
mod mtu;
mod partner;
mod round_robin;
mod single;
mod speed;
#[cfg(test)]
mod tests;
mod watch;

use crate::bond::Bond;
use crate::check::{Check, Outcome};
use crate::evidence::Seen;
use crate::facts::Facts;

/// Its checks.
pub(super) const CHECKS: &[Check] = &[
    mode::CHECK,
    module_options::CHECK,
    watch::CHECK,
    links::CHECK,
    single::CHECK,
    partner::CHECK,
    hash::CHECK,
    mtu::CHECK,
    speed::CHECK,
    delays::CHECK,
    round_robin::CHECK,
];

/// What a look at each bond with interfaces gives. `why_not` says what is not here if it does not look at any.
fn each(facts: &Facts, why_not: &str, look: impl Fn(&Bond, &mut Outcome)) -> Seen<Outcome> {
    let mut outcome = Outcome::default();
    let bonds = Bond::all(&facts.evidence)?;
    bonds.iter().filter(|bond| !bond.slaves.is_empty()).for_each(|bond| look(bond, &mut outcome));
    if outcome == Outcome::default() {
        outcome.not_here = Some(why_not.to_owned());
    }
    Ok(outcome)
}
