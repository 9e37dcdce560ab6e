//! What a copy reported of the server that it filled, and what no look at that server tells afterwards.

use serde::{Deserialize, Serialize};

use crate::translate::{Refusal, Rewrite};
use crate::users::translate::NotHeld;

/// What became of the server that a copy filled.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetOutcome {
    /// What it cannot hold, which was skipped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<Refusal>,
    /// What was written otherwise for it, or left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rewrites: Vec<Rewrite>,
    /// What it does not hold of the accounts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_held: Vec<NotHeld>,
    /// What it warned of when objects were created.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Views and stored programs that got another definer.
    #[serde(default)]
    pub definers_changed: usize,
}

impl TargetOutcome {
    /// Each object that is not there as it was, and what is missing.
    pub(crate) fn losses(&self) -> impl Iterator<Item = (&str, String)> {
        let refused =
            self.refused.iter().map(|one| (one.object.as_str(), format!("refused: {}", one.reason)));
        let lost = self.rewrites.iter().filter(|one| one.loses).map(|one| {
            let change = match one.to.as_str() {
                "" => format!("{} was left out", one.from),
                to => format!("{} became {to}", one.from),
            };
            (one.object.as_str(), format!("{change}: {}", one.reason))
        });
        refused.chain(lost)
    }
}
