//! What a verification works with, and what it found.

use drover_format::manifest::{Chunk, Contents, Manifest, Table};
use drover_store::Store;
use serde::Serialize;

use super::rename::Renames;
use crate::definer::Definers;
use crate::dump::catalog::Name;
use crate::dump::tables::Bounds;
use crate::progress::Progress;
use crate::translate::Translator;

/// Something that is not as the dump has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The table or other object, with its schema on the server.
    pub object: String,
    /// The file whose rows differ; absent if the difference is not in the rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// What differs.
    pub what: String,
}

/// What a verification found.
#[derive(Debug, Clone, Default, Serialize)]
pub struct VerifyReport {
    /// What of the tables the dump holds: only that could be compared.
    pub contents: Contents,
    /// Tables that were read.
    pub tables: usize,
    /// Rows that were read.
    pub rows: u64,
    /// Bytes of those rows' text.
    pub bytes: u64,
    /// Definitions that were compared; 0 if the server is of another vendor or version than the dumped one, which writes
    /// them differently.
    pub definitions: usize,
    /// Accounts and roles that were compared; 0 without `--users`.
    pub accounts: usize,
    /// Accounts of the dump that were not compared: those of root, and the one that is in use.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub accounts_left_alone: Vec<String>,
    /// Files of the dump that were compared with its manifest; 0 with `--no-files`, and of a restore, which reads them as it loads.
    pub files: usize,
    /// Bytes of those files as they are stored; of a script that stands before rows in one file, the rows' file counts.
    pub file_bytes: u64,
    /// Whether no server was asked.
    pub files_only: bool,
    /// Wall-clock time.
    pub seconds: f64,
    /// Tables of which only the number of rows could be compared, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub only_counted: Vec<String>,
    /// Tables to which the server added a key that the dump does not have (`sql_generate_invisible_primary_key`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keys_added: Vec<String>,
    /// What is not as the dump has it, sorted by object; empty if all is proved to be the same.
    pub differences: Vec<Difference>,
    /// What else is to be known of the verification itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// A verification on its way.
pub(super) struct Verify<'a> {
    pub(super) store: &'a Store,
    pub(super) manifest: &'a Manifest,
    pub(super) renames: &'a Renames,
    /// What definers were to become.
    pub(super) definers: &'a Definers,
    /// What knows how the rows are held on a server of another vendor.
    pub(super) translator: Option<&'a Translator>,
    /// Whether the server is the one that was dumped, with rows that were not.
    pub(super) is_source: bool,
    pub(super) progress: &'a Progress,
}

/// A part of a table that is read with one statement: one file's rows, or all.
pub(super) struct Part<'a> {
    pub(super) table: &'a Table,
    pub(super) target: Name,
    pub(super) chunk: Option<&'a Chunk>,
    /// The rows for which this holds; absent for all that the table has.
    pub(super) condition: Option<&'a str>,
}

impl<'a> Part<'a> {
    pub(super) fn bounds(&self) -> Bounds<'a> {
        Bounds { condition: self.condition, ..self.chunk.map_or_else(Bounds::default, Bounds::of) }
    }
}
