//! How a server keeps the tables that are to take a log's rows.

use super::column::{Column, ColumnType};
use super::table::Table;

/// A table as the server keeps it that is to take the rows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Kept {
    pub(crate) columns: Vec<KeptColumn>,
    /// How it keeps a history itself, if it does.
    pub(crate) history: Option<KeptHistory>,
}

/// How a server keeps the history of a system-versioned table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KeptHistory {
    /// Which column tells until when a row is valid; `None` for one that the server has added by itself, behind all others.
    pub(crate) until: Option<usize>,
    /// Whether the last TIMESTAMP is the one that MariaDB has from 11.5 on; `None` where rows stay as they are in the log.
    pub(crate) ends_later: Option<bool>,
}

impl KeptHistory {
    pub(super) const AS_LOGGED: Self = Self { until: None, ends_later: None };
}

impl Kept {
    /// A table that a server, of MariaDB or not, is about to make, of a definition in the log: MariaDB takes JSON for LONGTEXT.
    pub(crate) fn as_made(table: &Table, on_mariadb: bool, has_former_times: bool) -> Self {
        let column = |column: &Column| {
            let is_json = on_mariadb && matches!(column.kind, ColumnType::Json(_));
            let (data_type, most) = if is_json { ("longtext", u32::MAX.into()) } else { ("", 0) };
            let name = column.name.as_deref().unwrap_or_default();
            let name = String::from_utf8_lossy(name).into_owned();
            let is_compressed = on_mariadb && matches!(column.kind, ColumnType::Compressed(_));
            KeptColumn {
                name,
                data_type: data_type.into(),
                most,
                is_ascii: false,
                is_compressed,
                has_former_times,
            }
        };
        Self { columns: table.columns.iter().map(column).collect(), history: Some(KeptHistory::AS_LOGGED) }
    }

    /// A column that rows of `table`, of the other vendor's log, cannot be written for: MySQL's JSON takes no text in a row event.
    pub(crate) fn unfit<'k>(&'k self, table: &Table, is_mariadb: bool) -> Option<&'k str> {
        let is_unfit = |(column, kept): &(&Column, &KeptColumn)| {
            is_mariadb && kept.data_type == "json" && !matches!(column.kind, ColumnType::Json(_))
        };
        table.columns.iter().zip(&self.columns).find(is_unfit).map(|(_, kept)| &*kept.name)
    }
}

/// A column of such a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeptColumn {
    pub(crate) name: String,
    /// As `information_schema.COLUMNS` names it, such as `varchar`.
    pub(crate) data_type: String,
    /// The most bytes that its text has; 0 for what is no text.
    pub(crate) most: u64,
    /// Whether it is a text of ASCII, as a copy makes it of types that are not there.
    pub(crate) is_ascii: bool,
    /// Whether MariaDB compresses its values.
    pub(crate) is_compressed: bool,
    /// Whether times would be in the format of before MySQL 5.6.4 and MariaDB 10.1.
    pub(crate) has_former_times: bool,
}
