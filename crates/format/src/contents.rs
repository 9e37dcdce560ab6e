//! What of a server's tables a dump holds, and in which form.

use serde::{Deserialize, Serialize};

use super::files::Compression;

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

/// What stands in the row files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RowFormat {
    /// Lines that LOAD DATA reads, in as many files as it takes; what is fastest
    #[default]
    Tsv,
    /// One file a table, its definition and INSERT statements, for the servers' own client
    Sql,
    /// One file a table of comma-separated values in UTF-8, for other programs
    Csv,
}

impl RowFormat {
    pub(super) fn is_tsv(&self) -> bool {
        *self == Self::Tsv
    }

    /// Whether all rows of a table are in one file.
    pub fn is_one_file(self) -> bool {
        self != Self::Tsv
    }

    /// What the name of a row file ends with.
    pub fn extension(self, compression: Compression) -> String {
        let own = match self {
            Self::Tsv => "tsv",
            Self::Sql => "sql",
            Self::Csv => "csv",
        };
        format!("{own}{}", compression.extension())
    }
}
