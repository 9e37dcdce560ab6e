//! What a manifest tells of a table and of its files.

use std::collections::BTreeMap;

use drover_db::table::{Column, Key};
use serde::{Deserialize, Serialize};

use super::contents::Mask;
use super::digest::Digest;
use super::script::Script;

/// One table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    /// Its name in the server.
    pub name: String,
    /// The script that creates it; absent from a dump that holds rows only.
    #[serde(default, skip_serializing_if = "Script::is_absent")]
    pub script: Script,
    /// Its storage engine.
    pub engine: String,
    /// The columns that the row files hold, in their order there.
    pub columns: Vec<Column>,
    /// Stored generated columns: they are not in the files, but their values are in each file's `generated` digest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub generated: Vec<Column>,
    /// Columns that the server computes but that LOAD DATA must be told to set to DEFAULT: MySQL takes a generated
    /// geometry that may not be NULL for one without a value.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub computed: Vec<String>,
    /// Whether the rows that the table shows are kept elsewhere (MERGE, FEDERATED and their like): then there are no files.
    #[serde(default, skip_serializing_if = "is_false")]
    pub rows_elsewhere: bool,
    /// Whether rows of the past are in the files too (system-versioned tables of MariaDB).
    #[serde(default, skip_serializing_if = "is_false")]
    pub with_history: bool,
    /// The key by which the files are cut; absent if the table has none for it. Then a file may hold any of its rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Key>,
    /// The partitions or subpartitions, which are cut each for itself; none if the table has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub partitions: Vec<String>,
    /// The SQL condition of the rows that were dumped; absent if all were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// Columns whose values were replaced, and how; none if the rows are as they were.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub masks: BTreeMap<String, Mask>,
    /// The files, partition by partition, in the order of the key.
    pub files: Vec<Chunk>,
}

/// One file of rows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chunk {
    /// Its path relative to the dump's directory.
    pub file: String,
    /// How many rows it holds.
    pub rows: u64,
    /// Size of the rows' text in bytes.
    pub bytes: u64,
    /// Size of the file in bytes.
    pub stored_bytes: u64,
    /// XXH3-128 of the file's bytes.
    pub checksum: Digest,
    /// Digest of the rows, see docs/dump-format.md.
    pub digest: Digest,
    /// Digest of the rows with the values of stored generated columns behind the others; absent if there are none.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub generated: Digest,
    /// How many values are the "error value" of an ENUM, index 0, whose loading makes MariaDB warn.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub enum_errors: u64,
    /// How many rows hold a JSON value whose text is another one on the server: one with a DECIMAL inside (MySQL).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retyped: u64,
    /// How many values of each column are text that is invalid in its character set, where the form of the file does not bear
    /// that; absent for columns without any.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub invalid_text: BTreeMap<String, u64>,
    /// How many documents of each column hold parts that their text does not tell (MySQL): a DATE, TIME, DATETIME, BLOB or BIT, of which
    /// loading makes a string, or a DECIMAL with more digits than a DOUBLE has; absent for columns without any.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub untold_documents: BTreeMap<String, u64>,
    /// Bytes of the longest statement, if that is more than servers and clients take by default; absent otherwise.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub longest_statement: u64,
    /// Which of the manifest's `earlier_snapshots` its rows belong to; absent if they belong to `snapshot`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier: Option<usize>,
    /// The partition or subpartition that its rows are in; absent if the table has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<String>,
    /// Key values as SQL literals, as many as the key has columns: all rows lie behind these. Absent for the first file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Vec<String>>,
    /// Key values as SQL literals: all rows lie before these or on them. Absent for the last file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up_to: Option<Vec<String>>,
}

pub(super) fn is_false(value: &bool) -> bool {
    !value
}

fn is_empty(digest: &Digest) -> bool {
    *digest == Digest::default()
}

fn is_zero(value: &u64) -> bool {
    *value == 0
}

impl Table {
    /// Rows in all files.
    pub fn rows(&self) -> u64 {
        self.files.iter().map(|file| file.rows).sum()
    }

    /// Bytes of the rows' text in all files.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }
}
