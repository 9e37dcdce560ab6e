//! `manifest.json`: what a dump holds and proves. It is written last and whole; a directory without it is not a dump.

use std::collections::BTreeMap;

use drover_db::Server;
use serde::{Deserialize, Serialize};

pub use drover_db::table::{Column, Key, KeyColumn};

pub use super::contents::{Contents, Mask, RowFormat};
use super::files::Compression;
pub use super::names::MANIFEST as FILE_NAME;
pub use super::outcome::TargetOutcome;
pub use super::script::Script;
pub use super::snapshot::{Snapshot, SourcePosition};
use super::table::is_false;
pub use super::table::{Chunk, Table};

/// The format that this version writes, and the newest that it reads.
pub const FORMAT: u32 = 1;

/// All there is to know of a dump.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of the format, see docs/dump-format.md.
    pub format: u32,
    /// The version of drover that wrote it.
    pub drover: String,
    /// The server that was dumped.
    pub server: Server,
    /// Settings of that server on which the meaning of the data or its objects may depend.
    pub settings: BTreeMap<String, String>,
    /// The moment that all rows belong to, but for those of files with `earlier`.
    pub snapshot: Snapshot,
    /// The moments that rows of other files belong to, if the dump was interrupted and resumed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier_snapshots: Vec<Snapshot>,
    /// When the dump began, UTC, RFC 3339.
    pub started_at: String,
    /// When the last file was finished, UTC, RFC 3339.
    pub finished_at: String,
    /// How the row files are compressed.
    pub compression: Compression,
    /// What stands in the row files; absent for lines.
    #[serde(default, skip_serializing_if = "RowFormat::is_tsv")]
    pub row_format: RowFormat,
    /// Whether it holds definitions and rows, or one of them only; absent for both.
    #[serde(default, skip_serializing_if = "Contents::is_all")]
    pub contents: Contents,
    /// Whether there are no row files: `drover copy` sent the rows to another server, and what is known of them is what they
    /// came to.
    #[serde(default, skip_serializing_if = "is_false")]
    pub copied: bool,
    /// The schemas, sorted by name.
    pub schemas: Vec<Schema>,
    /// The server's accounts and roles; absent if they were not asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub users: Option<Users>,
    /// The shell script that runs all files with the server's own client; absent where no such client reads the files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_hand: Option<Script>,
    /// What a reader of the dump should know, such as a view that was broken on the server.
    pub warnings: Vec<String>,
    /// Of a copy, what became of the server that it filled; absent from a dump.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<TargetOutcome>,
}

/// The server's accounts and roles.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Users {
    /// How many there are.
    pub accounts: usize,
    /// What they are, as JSON.
    pub file: Script,
    /// The same as statements, for people.
    pub script: Script,
}

/// One schema.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schema {
    /// Its name in the server.
    pub name: String,
    /// The script that creates it; absent from a dump that holds rows only.
    #[serde(default, skip_serializing_if = "Script::is_absent")]
    pub script: Script,
    /// Its tables, sorted by name.
    pub tables: Vec<Table>,
    /// Its sequences' scripts, sorted by name (MariaDB).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sequences: Vec<Object>,
    /// Its views, each after those that it reads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub views: Vec<Object>,
    /// Procedures, functions and packages, in the order in which they are to be created.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub routines: Vec<Object>,
    /// Its triggers, in the order in which they are to be created.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub triggers: Vec<Object>,
    /// Its events, sorted by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<Object>,
}

/// A schema object that a script creates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Object {
    /// What it is, as `DROP` and `SHOW CREATE` call it: `VIEW`, `TRIGGER`, `PACKAGE BODY`…
    pub kind: String,
    /// Its name in the server.
    pub name: String,
    /// The script that creates it.
    pub script: Script,
    /// Whether the server could not use it when it was dumped (a view on a table that is gone, for one).
    #[serde(default, skip_serializing_if = "is_false")]
    pub broken: bool,
    /// A view's statement put together from the catalogue, which verification compares where SHOW CREATE VIEW does not
    /// work or lies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub catalogue: Option<String>,
}

impl Manifest {
    /// Whether the dump's server took names of schemas and tables in any case for the same.
    pub fn takes_any_case(&self) -> bool {
        self.settings.get("lower_case_table_names").is_some_and(|value| value != "0")
    }

    /// Of which moments its rows are, in words, if they are of several.
    pub fn mixed(&self) -> Option<String> {
        let Some(first) = self.earlier_snapshots.first() else {
            return self.snapshot.inconsistent.then(|| {
                "rows may belong to different moments, as nothing held writers back (--inconsistent)".into()
            });
        };
        let chunks = || self.tables().flat_map(|(_, table)| &table.files);
        let old = chunks().filter(|chunk| chunk.earlier.is_some()).count();
        Some(format!(
            "this {} was interrupted and resumed with a new snapshot: {old} of {} {} hold rows of an earlier \
             moment, from {} on, the others of {}; rows that were changed meanwhile may not fit together",
            if self.copied { "copy" } else { "dump" },
            chunks().count(),
            if self.copied { "chunks" } else { "files" },
            first.taken_at,
            self.snapshot.taken_at
        ))
    }

    /// All tables with their schemas.
    pub fn tables(&self) -> impl Iterator<Item = (&Schema, &Table)> {
        self.schemas.iter().flat_map(|schema| schema.tables.iter().map(move |table| (schema, table)))
    }

    /// Rows in all tables.
    pub fn rows(&self) -> u64 {
        self.tables().map(|(_, table)| table.rows()).sum()
    }

    /// Bytes of text in all row files, before compression.
    pub fn bytes(&self) -> u64 {
        self.tables().map(|(_, table)| table.bytes()).sum()
    }

    /// Bytes of all row files as stored.
    pub fn stored_bytes(&self) -> u64 {
        self.tables().flat_map(|(_, table)| &table.files).map(|file| file.stored_bytes).sum()
    }
}
