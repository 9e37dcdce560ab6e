//! How a server keeps the tables that are to take a log's rows.

use crate::json::Era;
use crate::log::Format;

use super::column::{Column, ColumnType};
use super::converted::{Conversion, Way};
use super::retyped::{VECTOR_NUMBER, period};
use super::table::Table;

/// A table as the server keeps it that is to take the rows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Kept {
    pub(crate) columns: Vec<KeptColumn>,
    /// Whether the server is of MariaDB.
    pub(crate) on_mariadb: bool,
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
    /// A table that a server, of MariaDB or not, is about to make, of a definition in the log: MariaDB takes JSON for LONGTEXT, and VECTOR
    /// for its own.
    pub(crate) fn as_made(table: &Table, on_mariadb: bool, has_former_times: bool) -> Self {
        let column = |column: &Column| {
            let (data_type, most) = match (column.kind, column.dimensions) {
                (ColumnType::Json(_), _) if on_mariadb => ("longtext", u32::MAX.into()),
                (ColumnType::Vector(_), Some(count)) => ("vector", count * VECTOR_NUMBER),
                _ => ("", 0),
            };
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
        let columns = table.columns.iter().map(column).collect();
        Self { columns, on_mariadb, history: Some(KeptHistory::AS_LOGGED) }
    }

    pub(super) fn way_from(&self, format: &Format) -> Way {
        let is_older = !format.is_mariadb() && !format.is_at_least((8, 0));
        let era = if is_older { Era::Before8 } else { Era::Today };
        Way { from_mariadb: format.is_mariadb(), to_mariadb: self.on_mariadb, era }
    }

    /// Why rows of `table`, the log's, cannot be written, if one of the columns is such.
    pub(crate) fn misfit(&self, table: &Table, format: &Format) -> Option<Misfit> {
        let way = self.way_from(format);
        let period = period(table, self, way);
        let is_gone = |index: usize| period.is_some_and(|(start, end)| index == start || index == end);
        let columns = table.columns.iter().enumerate().filter(|(index, _)| !is_gone(*index));
        let why = |column: &Column, kept: &KeptColumn| match column.kind {
            ColumnType::Json(_) => None,
            _ if way.from_mariadb && kept.data_type == "json" => Some(kept.refuses_text()),
            _ if !column.may_be_address(format) || Conversion::of(column, kept, way).is_some() => None,
            _ => kept.refuses_bytes(column),
        };
        columns.zip(&self.columns).find_map(|((_, column), kept)| why(column, kept))
    }
}

/// Why rows cannot be written into a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Misfit {
    /// In words that follow "rows of a table:".
    pub(crate) what: String,
    pub(crate) hint: &'static str,
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

impl KeptColumn {
    /// MySQL's JSON takes no text in a row event.
    fn refuses_text(&self) -> Misfit {
        let what = format!("its column {} is JSON on the target, and text in the log", self.name);
        Misfit { what, hint: "ALTER TABLE … MODIFY the column to LONGTEXT there, as a copy makes it" }
    }

    /// A column of text does not take what may be a UUID or an address, unless it is as the log's own column would be if that is text.
    fn refuses_bytes(&self, column: &Column) -> Option<Misfit> {
        let ColumnType::Char(_, length) = column.kind else { return None };
        let Self { name, data_type, most, .. } = self;
        let is_text = matches!(&**data_type, "char" | "varchar") || data_type.ends_with("text");
        let is_told = column.collation.is_some();
        if !is_text || (!is_told && data_type == "char" && *most == u64::from(length)) {
            return None;
        }
        let is = format!("and {data_type} of at most {most} bytes on the target");
        let what = match is_told {
            true => format!(
                "its column {name} is {length} bytes in the log, as BINARY, UUID and addresses are, {is}"
            ),
            false => format!(
                "its column {name} is {length} bytes in the log, which does not tell whether they are text, a UUID or an address, {is}"
            ),
        };
        Some(Misfit { what, hint: AS_COPIED })
    }

    /// Of which no more is known.
    #[cfg(test)]
    pub(super) fn of_tests(name: &str, data_type: &str, most: u64) -> Self {
        let (name, data_type) = (name.into(), data_type.into());
        Self { name, data_type, most, is_ascii: false, is_compressed: false, has_former_times: false }
    }
}

const AS_COPIED: &str = "ALTER TABLE … MODIFY the column there, as a copy makes it: UUID is char(36), INET6 varchar(39), INET4 varchar(15), each \
                         CHARACTER SET ascii; or give it the log's own type";

#[cfg(test)]
mod tests {
    use super::*;

    const UUID: ColumnType = ColumnType::Char(1, 16);

    fn table(kind: ColumnType, collation: Option<u16>) -> Table {
        let columns = vec![Column { collation, ..Column::of_tests(kind) }];
        Table {
            schema: b"d".to_vec(),
            name: b"t".to_vec(),
            columns,
            primary_key: Vec::new(),
            key_now: Vec::new(),
        }
    }

    /// Why a column of the log does not fit into one of the target.
    fn why(version: &str, (kind, collation): (ColumnType, Option<u16>), kept: KeptColumn) -> Option<String> {
        let kept = Kept { columns: vec![kept], on_mariadb: true, history: None };
        kept.misfit(&table(kind, collation), &Format::of_tests(version)).map(|misfit| misfit.what)
    }

    #[test]
    fn text_that_a_copy_does_not_make_takes_no_address() {
        let why = |version: &str, collation, data_type: &str, most, is_ascii| {
            let kept = KeptColumn { is_ascii, ..KeptColumn::of_tests("u", data_type, most) };
            why(version, (UUID, collation), kept)
        };
        let untold = "which does not tell whether they are text";
        let told = "as BINARY, UUID and addresses are, and";
        for (collation, data_type, most, is_ascii, words) in [
            (None, "char", 36, false, untold),
            (None, "char", 64, false, untold),
            (None, "varchar", 36, true, untold),
            (None, "tinytext", 255, true, untold),
            (Some(63), "char", 36, false, told),
            (Some(63), "char", 16, true, told),
        ] {
            let why = why("11.8.3-MariaDB", collation, data_type, most, is_ascii);
            assert!(why.as_ref().is_some_and(|why| why.contains(words)), "{data_type} {most}: {why:?}");
        }
        for (collation, data_type, most, is_ascii) in [
            (None, "char", 36, true),
            (None, "varchar", 39, true),
            (None, "char", 16, false),
            (None, "binary", 16, false),
            (None, "varbinary", 300, false),
            (None, "uuid", 0, false),
            (None, "", 0, false),
            (Some(8), "char", 64, false),
            (Some(63), "binary", 20, false),
        ] {
            assert_eq!(
                why("11.8.3-MariaDB", collation, data_type, most, is_ascii),
                None,
                "{data_type} {most}"
            );
        }
        // There were no such types yet.
        assert_eq!(why("10.4.1-MariaDB", None, "char", 64, false), None);
        assert_eq!(why("9.7.0", None, "char", 64, false), None);
    }

    #[test]
    fn json_takes_no_text() {
        let json = || KeptColumn::of_tests("j", "json", 0);
        assert!(why("10.11.6-MariaDB", (ColumnType::Blob(4), None), json()).is_some());
        assert_eq!(why("9.7.0", (ColumnType::Json(4), None), json()), None);
    }

    #[test]
    fn tables_that_may_have_later_types() {
        let is_one = |version: &str, kind, collation| {
            table(kind, collation).may_have_later_types(&Format::of_tests(version))
        };
        let (uuid, vector, whole) = (UUID, ColumnType::Text(1), ColumnType::Compressed(2));
        for (version, expected) in [
            ("11.8.3-MariaDB", [true, true, true]),
            ("10.11.6-MariaDB", [true, false, true]),
            ("10.4.1-MariaDB", [false, false, true]),
            ("9.7.0", [false, false, false]),
        ] {
            assert_eq!([uuid, vector, whole].map(|kind| is_one(version, kind, None)), expected, "{version}");
        }
        let told = |collation| [uuid, vector].map(|kind| is_one("11.8.3-MariaDB", kind, Some(collation)));
        assert_eq!((told(63), told(8)), ([true, true], [false, false]));
    }
}
