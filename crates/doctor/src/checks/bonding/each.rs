//! A look at each bond.

use crate::bond::Bond;
use crate::check::Outcome;
use crate::evidence::Seen;
use crate::facts::Facts;

/// What a look at each bond with interfaces gives. `why_not` says what is not here if it does not look at any.
pub(super) fn each(facts: &Facts, why_not: &str, look: impl Fn(&Bond, &mut Outcome)) -> Seen<Outcome> {
    let mut outcome = Outcome::default();
    let bonds = Bond::all(&facts.evidence)?;
    bonds.iter().filter(|bond| !bond.slaves.is_empty()).for_each(|bond| look(bond, &mut outcome));
    if outcome == Outcome::default() {
        outcome.not_here = Some(why_not.to_owned());
    }
    Ok(outcome)
}
