//! What a copy reported of the server that it filled, and what no look at that server tells afterwards.

use std::fmt::Display;

use serde::{Deserialize, Serialize};

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

/// Something that was written otherwise for the target, or left out.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Rewrite {
    /// The object, such as ``table `shop`.`orders` ``.
    pub object: String,
    /// What the dump has.
    pub from: String,
    /// What the target got; empty if it was left out.
    pub to: String,
    /// Why, and what changes with it.
    pub reason: String,
    /// Whether something that the dump has is not kept.
    pub loses: bool,
}

/// An object of the dump that cannot be made on the target.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Refusal {
    /// The object, such as ``view `shop`.`sums` ``.
    pub object: String,
    /// Why, in the server's words where it has any.
    pub reason: String,
}

/// Something of an account that the target does not hold.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct NotHeld {
    /// The account or role, as SQL names it, or the name of a global setting that decides what all of them may do.
    pub account: String,
    /// What is missing, and why.
    pub what: String,
    /// What a person may run to make up for it, where there is such a statement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statement: Option<String>,
}

impl NotHeld {
    /// What `account` lacks.
    pub fn new(account: &impl Display, what: impl Into<String>, statement: Option<String>) -> Self {
        Self { account: account.to_string(), what: what.into(), statement }
    }
}

impl TargetOutcome {
    /// Each object that is not there as it was, and what is missing.
    pub fn losses(&self) -> impl Iterator<Item = (&str, String)> {
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
