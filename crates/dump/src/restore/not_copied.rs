//! What a copy could not take along, and no look at either server finds missing: its manifest says it.

use super::verified::Difference;
use drover_format::manifest::{Manifest, TargetOutcome};

/// What of it is not there as it was; nothing for a dump.
pub(super) fn differences(manifest: &Manifest) -> impl Iterator<Item = Difference> {
    let losses = manifest.target.iter().flat_map(TargetOutcome::losses);
    losses.map(|(object, what)| Difference {
        object: object.to_owned(),
        file: None,
        what: format!("not copied: {what}"),
    })
}
