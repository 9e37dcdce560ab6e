//! What the columns of tables take in row events, and which of them each row image holds.

use std::collections::HashMap;

use crate::definitions::Definitions;
use crate::event::TableMap;
use crate::log::{Format, RowChange};
use crate::rows::{ColumnType, Table, Width};

/// A table, as far as the size of its rows goes.
#[derive(Debug)]
pub(super) struct Shape {
    /// The description as it came: the same comes again before each statement.
    description: Vec<u8>,
    /// The number of the description.
    version: usize,
    /// Its number among all tables.
    pub(super) number: usize,
    /// `SCHEMA.TABLE`.
    pub(super) name: String,
    pub(super) widths: Vec<Width>,
    /// Columns that tell which row is meant.
    pub(super) key: Vec<u32>,
    /// Those that NOBLOB leaves out if it can.
    pub(super) is_blob: Vec<bool>,
    /// JSON columns of MySQL.
    pub(super) is_json: Vec<bool>,
    pub(super) has_json: bool,
    pub(super) key_source: KeySource,
    /// The names of its columns in lower case, where they are known.
    pub(super) columns: Vec<Vec<u8>>,
    /// DATETIME and TIMESTAMP.
    is_time: Vec<bool>,
    pub(super) is_mariadb: bool,
}

/// Where it is known from which columns tell the row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum KeySource {
    /// The log, or a server that has the table.
    Known,
    /// From nowhere: its first column is taken for it, if that cannot be NULL.
    Assumed,
}

/// The row images that a server can be told to write instead of the full one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Image {
    Minimal,
    Noblob,
}

impl Shape {
    /// Of a description; `None` of one that holds a type that nobody knows.
    fn of(
        map: &TableMap<'_>,
        body: &[u8],
        format: &Format,
        definitions: Option<&Definitions>,
    ) -> crate::Result<Option<Self>> {
        let Ok(mut table) = Table::of(map, format) else { return Ok(None) };
        if let Some(definitions) = definitions.filter(|_| !table.has_names()) {
            definitions.complete(&mut table, format)?;
        }
        let is_known = table.has_names();
        let key = match &table.columns[..] {
            _ if is_known => table.key().iter().map(|&column| column as u32).collect(),
            [first, ..] if !first.is_nullable => vec![0],
            _ => Vec::new(),
        };
        let is_blob = |(index, kind): (usize, ColumnType)| {
            matches!(kind, ColumnType::Blob(_) | ColumnType::Compressed(_)) && !key.contains(&(index as u32))
        };
        let kinds = || table.columns.iter().map(|column| column.kind);
        let is_json: Vec<_> = kinds().map(|kind| matches!(kind, ColumnType::Json(_))).collect();
        let name =
            |column: &crate::rows::Column| column.name.as_deref().unwrap_or_default().to_ascii_lowercase();
        Ok(Some(Self {
            description: body.to_vec(),
            version: 0,
            number: 0,
            name: format!("{}.{}", String::from_utf8_lossy(map.schema), String::from_utf8_lossy(map.table)),
            widths: kinds().map(ColumnType::width).collect(),
            is_blob: kinds().enumerate().map(is_blob).collect(),
            has_json: is_json.contains(&true),
            is_json,
            is_time: kinds()
                .map(|kind| matches!(kind, ColumnType::DateTime(_) | ColumnType::Timestamp(_)))
                .collect(),
            columns: if is_known { table.columns.iter().map(name).collect() } else { Vec::new() },
            key,
            key_source: if is_known { KeySource::Known } else { KeySource::Assumed },
            is_mariadb: format.is_mariadb(),
        }))
    }

    /// Which columns the images of a row before and after a change hold, of those that are `set`: that the statement gave values to.
    ///
    /// Sources: MySQL `sql/table.cc`, `TABLE::mark_columns_per_binlog_row_image()`, and `sql/binlog.cc`,
    /// `binlog_prepare_row_images()`; the functions of the same names in MariaDB.
    pub(super) fn columns_of(&self, image: Image, change: RowChange, set: &[bool]) -> [Vec<u32>; 2] {
        let all = 0..self.widths.len() as u32;
        let has_key = !self.key.is_empty();
        let is_blob = |column: &u32| self.is_blob[*column as usize];
        let is_set = |column: &u32| set.get(*column as usize).is_some_and(|&is_set| is_set);
        let before = match (change, image) {
            (RowChange::Insert, _) => Vec::new(),
            _ if !has_key => all.clone().collect(),
            (_, Image::Minimal) => self.key.clone(),
            (_, Image::Noblob) => all.clone().filter(|column| !is_blob(column)).collect(),
        };
        // Without a key MariaDB writes all of a row, MySQL only of what it was.
        let after = match (change, image) {
            (RowChange::Delete, _) => Vec::new(),
            _ if !has_key && self.is_mariadb => all.collect(),
            (_, Image::Minimal) => all.filter(is_set).collect(),
            (_, Image::Noblob) => all.filter(|column| !is_blob(column) || is_set(column)).collect(),
        };
        [before, after]
    }
}

#[cfg(test)]
impl Shape {
    /// Of a table with these columns.
    pub(super) fn of_tests(widths: Vec<Width>, key: Vec<u32>, is_mariadb: bool) -> Self {
        let none = vec![false; widths.len()];
        let is_blob = widths.iter().map(|width| *width == Width::Told(2)).collect();
        Self {
            description: Vec::new(),
            version: 0,
            number: 0,
            name: "s.t".into(),
            key,
            is_blob,
            is_json: none.clone(),
            has_json: false,
            key_source: KeySource::Known,
            columns: Vec::new(),
            is_time: none,
            is_mariadb,
            widths,
        }
    }
}

/// The columns that a statement gives values to.
#[derive(Debug)]
pub(super) struct Named {
    /// Those that it names.
    pub(super) named: Vec<bool>,
    /// Those that have a value after an INSERT: also a key, which AUTO_INCREMENT gives one, and times, which the clock does. Some of these may
    /// have a default that is the same for all rows, which is not logged; but nothing tells so.
    pub(super) given: Vec<bool>,
    /// Whether these are all.
    pub(super) gives_all: bool,
}

impl Named {
    fn of(shape: &Shape, names: &[Vec<u8>]) -> Self {
        let columns = 0..shape.widths.len();
        let is_named = |column: usize| shape.columns.get(column).is_some_and(|name| names.contains(name));
        let named: Vec<_> = columns.clone().map(is_named).collect();
        // Without a list, or names to compare it with, it is all of them.
        let names_none = !named.contains(&true);
        let has_own = |column: usize| shape.key.contains(&(column as u32)) || shape.is_time[column];
        let given: Vec<_> = columns.map(|column| names_none || named[column] || has_own(column)).collect();
        Self { gives_all: !given.contains(&false), named, given }
    }
}

/// What statements give values to, for each table that they have to do with.
#[derive(Debug, Default)]
pub(super) struct NamedColumns(HashMap<(usize, usize), Named>);

impl NamedColumns {
    /// More are not kept.
    const MOST: usize = 50_000;

    /// Of a statement with this number, which names these columns.
    pub(super) fn of(&mut self, text: usize, shape: &Shape, names: &[Vec<u8>]) -> &Named {
        if self.0.len() >= Self::MOST {
            self.0.clear();
        }
        self.0.entry((text, shape.version)).or_insert_with(|| Named::of(shape, names))
    }
}

/// The tables that were described.
#[derive(Debug, Default)]
pub(super) struct Shapes {
    by_id: HashMap<u64, Option<Shape>>,
    numbers: HashMap<String, usize>,
    versions: usize,
    definitions: Option<Definitions>,
}

impl Shapes {
    pub(super) fn with(definitions: Option<Definitions>) -> Self {
        Self { definitions, ..Self::default() }
    }

    /// Takes in a description.
    pub(super) fn learn(&mut self, map: &TableMap<'_>, body: &[u8], format: &Format) -> crate::Result<()> {
        if let Some(Some(known)) = self.by_id.get(&map.id)
            && known.description == body
        {
            return Ok(());
        }
        let mut shape = Shape::of(map, body, format, self.definitions.as_ref())?;
        if let Some(shape) = &mut shape {
            self.versions += 1;
            shape.version = self.versions;
            let next = self.numbers.len();
            shape.number = *self.numbers.entry(shape.name.clone()).or_insert(next);
        }
        self.by_id.insert(map.id, shape);
        Ok(())
    }

    /// The table with this number in the log, if it was described and all its types are known.
    pub(super) fn get(&self, id: u64) -> Option<&Shape> {
        self.by_id.get(&id)?.as_ref()
    }

    /// Whether there are definitions of a server.
    pub(super) fn has_definitions(&self) -> bool {
        self.definitions.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_images_hold() {
        // A key, a number, a blob, another blob.
        let widths = vec![Width::Fixed(4), Width::Fixed(4), Width::Told(2), Width::Told(2)];
        let set = [false, true, true, false];
        let all = vec![0, 1, 2, 3];
        for is_mariadb in [true, false] {
            let keyed = Shape::of_tests(widths.clone(), vec![0], is_mariadb);
            let of = |image, change| keyed.columns_of(image, change, &set);
            assert_eq!(of(Image::Minimal, RowChange::Update), [vec![0], vec![1, 2]]);
            assert_eq!(of(Image::Noblob, RowChange::Update), [vec![0, 1], vec![0, 1, 2]]);
            assert_eq!(of(Image::Minimal, RowChange::Delete), [vec![0], vec![]]);
            assert_eq!(of(Image::Noblob, RowChange::Delete), [vec![0, 1], vec![]]);
            assert_eq!(of(Image::Minimal, RowChange::Insert), [vec![], vec![1, 2]]);
            let bare = Shape::of_tests(widths.clone(), vec![], is_mariadb);
            let after = if is_mariadb { all.clone() } else { vec![1, 2] };
            assert_eq!(bare.columns_of(Image::Minimal, RowChange::Update, &set), [all.clone(), after]);
            assert_eq!(bare.columns_of(Image::Noblob, RowChange::Delete, &set), [all.clone(), vec![]]);
        }
    }
}
