//! What of a server's tables a dump holds.

use serde::{Deserialize, Serialize};

/// What of its tables a dump holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Contents {
    /// Definitions and rows.
    #[default]
    All,
    /// Definitions: no table has files, and nothing is known of its rows.
    Definitions,
    /// Rows: there are no scripts, and no views, routines, triggers, events and sequences.
    Rows,
}

impl Contents {
    pub(super) fn is_all(&self) -> bool {
        *self == Self::All
    }

    /// Whether there are scripts.
    pub fn has_definitions(self) -> bool {
        self != Self::Rows
    }

    /// Whether there are row files.
    pub fn has_rows(self) -> bool {
        self != Self::Definitions
    }
}

/// How the values of a column were replaced while they were dumped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mask {
    /// By a keyed hash of the value.
    Hash,
    /// By NULL.
    Null,
    /// By other digits and letters, under a key.
    KeepFormat,
    /// By a literal.
    Fixed,
}
