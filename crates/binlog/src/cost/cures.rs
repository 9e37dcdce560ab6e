//! What can be set so that a log becomes smaller, and what of it is told exactly.

use serde::Serialize;

use super::model::Doubts;

/// A log that is, or could be. The number is its place in lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub(super) enum Cure {
    /// As it is.
    Today,
    /// With nothing in it compressed.
    Plain,
    Minimal,
    Noblob,
    PartialJson,
    MinimalPartialJson,
    Statement,
    Compressed,
    MinimalCompressed,
    NoblobCompressed,
    Connection,
    MinimalConnection,
    CompressedConnection,
}

/// How many there are.
pub(super) const COUNT: usize = 13;

/// Whether a size is that of the log as it was made here, byte for byte, or not quite.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// Made here as the server would make it.
    Exact,
    /// Not all that matters is in the log.
    Estimated,
}

impl Cure {
    pub(super) const ALL: [Self; COUNT] = [
        Self::Today,
        Self::Plain,
        Self::Minimal,
        Self::Noblob,
        Self::PartialJson,
        Self::MinimalPartialJson,
        Self::Statement,
        Self::Compressed,
        Self::MinimalCompressed,
        Self::NoblobCompressed,
        Self::Connection,
        Self::MinimalConnection,
        Self::CompressedConnection,
    ];

    /// What JSON calls it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Today => "today",
            Self::Plain => "uncompressed",
            Self::Minimal => "minimal",
            Self::Noblob => "noblob",
            Self::PartialJson => "partial_json",
            Self::MinimalPartialJson => "minimal_partial_json",
            Self::Statement => "statement",
            Self::Compressed => "compression",
            Self::MinimalCompressed => "minimal_compression",
            Self::NoblobCompressed => "noblob_compression",
            Self::Connection => "connection",
            Self::MinimalConnection => "minimal_connection",
            Self::CompressedConnection => "compression_connection",
        }
    }

    /// What people call it.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Today => "as it is",
            Self::Plain => "without compression",
            Self::Minimal => "row image MINIMAL",
            Self::Noblob => "row image NOBLOB",
            Self::PartialJson => "JSON in part",
            Self::MinimalPartialJson => "MINIMAL, JSON in part",
            Self::Statement => "statements where safe",
            Self::Compressed => "compression of the log",
            Self::MinimalCompressed => "MINIMAL and compression",
            Self::NoblobCompressed => "NOBLOB and compression",
            Self::Connection => "compressed connection",
            Self::MinimalConnection => "MINIMAL, compressed connection",
            Self::CompressedConnection => "compression of log and connection",
        }
    }

    /// What to set for it on a server of this vendor.
    pub(super) fn settings(self, is_mariadb: bool) -> Vec<&'static str> {
        let compression =
            if is_mariadb { "log_bin_compress=ON" } else { "binlog_transaction_compression=ON" };
        let connection = match is_mariadb {
            true => "slave_compressed_protocol=ON on the replica",
            false => "SOURCE_COMPRESSION_ALGORITHMS='zlib' on the replica",
        };
        let (minimal, noblob) = ("binlog_row_image=MINIMAL", "binlog_row_image=NOBLOB");
        let json = "binlog_row_value_options=PARTIAL_JSON";
        match self {
            Self::Today | Self::Plain => vec![],
            Self::Minimal => vec![minimal],
            Self::Noblob => vec![noblob],
            Self::PartialJson => vec![json],
            Self::MinimalPartialJson => vec![minimal, json],
            Self::Statement => vec!["binlog_format=MIXED"],
            Self::Compressed => vec![compression],
            Self::MinimalCompressed => vec![minimal, compression],
            Self::NoblobCompressed => vec![noblob, compression],
            Self::Connection => vec![connection],
            Self::MinimalConnection => vec![minimal, connection],
            Self::CompressedConnection => vec![compression, connection],
        }
    }

    /// Whether it can be set on this vendor's server, and says anything of this log. `compresses` says whether compression was asked
    /// for.
    pub(super) fn applies(self, is_mariadb: bool, compresses: bool, doubts: &Doubts) -> bool {
        match self {
            Self::Today => true,
            Self::Plain => doubts.is_compressed,
            Self::PartialJson | Self::MinimalPartialJson => !is_mariadb && doubts.has_json,
            Self::Minimal | Self::Noblob => true,
            Self::Statement => doubts.has_rows && doubts.has_statements,
            _ => compresses,
        }
    }

    /// How far its size is to be trusted, and why not further.
    pub(super) fn basis(self, doubts: &Doubts, has_definitions: bool) -> (Basis, Vec<&'static str>) {
        let mut why = Vec::new();
        let is_minimal = matches!(
            self,
            Self::Minimal | Self::MinimalCompressed | Self::MinimalConnection | Self::MinimalPartialJson
        );
        let is_noblob = matches!(self, Self::Noblob | Self::NoblobCompressed);
        if (is_minimal || is_noblob) && doubts.key {
            why.push(if has_definitions { KEY_ELSEWHERE } else { KEY });
        }
        if is_minimal && doubts.columns {
            why.push(COLUMNS);
        }
        if (is_minimal || is_noblob) && doubts.rows {
            why.push(ROWS);
        }
        match self {
            Self::Connection | Self::MinimalConnection | Self::CompressedConnection => why.push(CONNECTION),
            Self::PartialJson | Self::MinimalPartialJson => why.push(JSON),
            Self::Statement => why.push(STATEMENT),
            _ => {}
        }
        (if why.is_empty() { Basis::Exact } else { Basis::Estimated }, why)
    }
}

const KEY: &str = "the log does not tell the tables' keys: the first column is taken for it; --columns-of takes them from a server";
const KEY_ELSEWHERE: &str =
    "neither the log nor the server tells the keys of some tables: the first column is taken for it";
const COLUMNS: &str = "the log does not tell to which columns statements gave values: it is taken to be all of an INSERT, and of an UPDATE \
                       those that changed";
const ROWS: &str = "some rows have values of a type that is not known: they are counted as they are";
const CONNECTION: &str = "how much is sent at once hangs on how fast the replica takes it";
const JSON: &str = "only JSON_SET, JSON_REPLACE and JSON_REMOVE on the column itself are logged in part; a change is taken to be one span \
                    of bytes";
const STATEMENT: &str = "statements that are safe by their text, each as one event with settings of usual length; not with READ COMMITTED";
