//! A table as its server defines it: what a log may not tell.

use super::address::Address;
use super::column::{Column, ColumnType, HIDDEN};
use super::table::Table;
use crate::log::Format;

/// A table's columns and its primary key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Definition {
    pub(crate) columns: Vec<DefinedColumn>,
    /// Which columns its primary key has; none where it has none.
    pub(crate) primary_key: Vec<usize>,
    /// How many columns stand behind these that a server made for itself: [`Column::is_hidden`].
    pub(crate) hidden: usize,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DefinedColumn {
    pub(crate) name: String,
    /// As `information_schema.COLUMNS` names it, such as `int`.
    pub(crate) data_type: String,
    /// The most bytes that its text has; 0 for what is no text.
    pub(crate) most: u64,
    /// Whether it is a text of ASCII.
    pub(crate) is_ascii: bool,
    pub(crate) is_unsigned: bool,
    /// Whether its values are computed from others.
    pub(crate) is_generated: bool,
    /// The number of a collation of its character set; 63 is that of bytes, `None` one that nobody knows.
    pub(crate) collation: Option<u16>,
    /// The words of an ENUM or a SET.
    pub(crate) words: Vec<String>,
}

impl Definition {
    /// Adds to a table what the log did not tell of it. False if the table is another: its columns are not of these types.
    pub(crate) fn complete(&self, table: &mut Table, format: &Format) -> bool {
        let Some((columns, hidden)) = table.columns.split_at_mut_checked(self.columns.len()) else {
            return false;
        };
        let is_one = |(column, defined): (&Column, &DefinedColumn)| defined.is_of(column, format);
        if hidden.len() != self.hidden || !columns.iter().zip(&self.columns).all(is_one) {
            return false;
        }
        columns.iter_mut().zip(&self.columns).for_each(|(column, defined)| defined.complete(column, format));
        for column in hidden {
            column.name.get_or_insert_with(|| HIDDEN.to_vec());
        }
        if table.primary_key.is_empty() {
            table.key_now.clone_from(&self.primary_key);
        }
        true
    }
}

impl DefinedColumn {
    /// Whether it is the log's column, or what `drover copy` makes of it where its type is not known.
    fn is_of(&self, column: &Column, format: &Format) -> bool {
        let is_later = format.is_mariadb() && format.is_at_least((11, 7)) && column.may_be_bytes();
        match column.kind {
            ColumnType::Char(_, length) if column.may_be_address(format) => {
                let has_length =
                    self.most == u64::from(length) || !matches!(&*self.data_type, "char" | "binary");
                self.address_of(column, format).is_some() || has_length && is_of(column.kind, &self.data_type)
            }
            ColumnType::Text(_) if is_later && self.data_type.ends_with("blob") => true,
            kind => is_of(kind, &self.data_type),
        }
    }

    fn address_of(&self, column: &Column, format: &Format) -> Option<Address> {
        let is_one = self.is_ascii && column.may_be_address(format);
        Address::kept_as(column, &self.data_type, self.most).filter(|_| is_one)
    }

    fn complete(&self, column: &mut Column, format: &Format) {
        column.address = self.address_of(column, format);
        column.is_vector = self.data_type == "vector";
        column.is_generated = self.is_generated;
        column.name.get_or_insert_with(|| self.name.clone().into_bytes());
        if column.is_number() {
            column.is_unsigned.get_or_insert(self.is_unsigned);
        }
        if column.has_collation && column.collation.is_none() && column.address.is_none() {
            column.collation = self.collation;
        }
        if column.words.is_empty() {
            column.words = self.words.iter().map(|word| word.clone().into_bytes()).collect();
        }
    }
}

/// Whether values of this type are those of a column that is defined so. MariaDB keeps some types as bytes of a fixed length.
pub(super) fn is_of(kind: ColumnType, data_type: &str) -> bool {
    let ends_with = |words: &[&str]| words.iter().any(|word| data_type.ends_with(word));
    match kind {
        ColumnType::Integer(1) => data_type == "tinyint",
        ColumnType::Integer(2) => data_type == "smallint",
        ColumnType::Integer(3) => data_type == "mediumint",
        ColumnType::Integer(4) => data_type == "int",
        ColumnType::Integer(_) => data_type == "bigint",
        ColumnType::Float => data_type == "float",
        ColumnType::Double => data_type == "double",
        ColumnType::Decimal(..) => data_type == "decimal",
        ColumnType::Bit(_) => data_type == "bit",
        ColumnType::Year => data_type == "year",
        ColumnType::Date => data_type == "date",
        ColumnType::OldTime | ColumnType::Time(_) => data_type == "time",
        ColumnType::OldDateTime | ColumnType::DateTime(_) => data_type == "datetime",
        ColumnType::OldTimestamp | ColumnType::Timestamp(_) => data_type == "timestamp",
        ColumnType::Char(..) => matches!(data_type, "char" | "binary" | "inet6" | "inet4" | "uuid"),
        ColumnType::Text(_) => matches!(data_type, "varchar" | "varbinary" | "vector"),
        ColumnType::Blob(_) => ends_with(&["blob", "text"]) || data_type == "json",
        ColumnType::Compressed(_) => ends_with(&["blob", "text", "varchar", "varbinary"]),
        ColumnType::Json(_) => data_type == "json",
        ColumnType::Geometry(_) => ends_with(&["point", "string", "polygon", "geometry", "collection"]),
        ColumnType::Vector(_) => data_type == "vector",
        ColumnType::Enum(_) => data_type == "enum",
        ColumnType::Set(_) => data_type == "set",
        ColumnType::Null => false,
    }
}

/// The words of a list as `information_schema` shows it: `enum('a','it''s')`.
pub(crate) fn words(column_type: &str) -> Vec<String> {
    let Some((_, list)) = column_type.split_once('(') else { return Vec::new() };
    let (mut words, mut word) = (Vec::new(), None);
    let mut chars = list.chars().peekable();
    while let Some(char) = chars.next() {
        match (&mut word, char) {
            (None, '\'') => word = Some(String::new()),
            (None, _) => {}
            (Some(text), '\'') if chars.next_if_eq(&'\'').is_some() => text.push('\''),
            (Some(_), '\'') => words.extend(word.take()),
            (Some(text), '\\') => text.extend(chars.next().map(unescaped)),
            (Some(text), char) => text.push(char),
        }
    }
    words
}

fn unescaped(char: char) -> char {
    match char {
        '0' => '\0',
        'n' => '\n',
        'r' => '\r',
        char => char,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_lists() {
        assert_eq!(words("enum('a','it''s','b\\\\c',',)','')"), ["a", "it's", "b\\c", ",)", ""]);
        assert_eq!(words("set('one')"), ["one"]);
        assert_eq!(words("int(11) unsigned"), [""; 0]);
    }

    #[test]
    fn what_the_log_tells_stays_and_another_table_is_refused() {
        let column = |kind, name: Option<&str>| Column {
            name: name.map(|name| name.as_bytes().to_vec()),
            ..Column::of_tests(kind)
        };
        let columns = vec![column(ColumnType::Integer(4), Some("told")), column(ColumnType::Text(1), None)];
        let told = Table {
            schema: b"a".to_vec(),
            name: b"t".to_vec(),
            columns,
            primary_key: Vec::new(),
            key_now: Vec::new(),
        };
        let defined = |name: &str, data_type: &str| DefinedColumn {
            name: name.into(),
            data_type: data_type.into(),
            most: 0,
            is_ascii: false,
            is_unsigned: true,
            is_generated: false,
            collation: Some(8),
            words: Vec::new(),
        };
        let format = &Format::of_tests("10.4.1-MariaDB");
        let columns = vec![defined("other", "int"), defined("v", "varchar")];
        let mut table = told.clone();
        assert!(
            Definition { columns: columns.clone(), primary_key: vec![0], hidden: 0 }
                .complete(&mut table, format)
        );
        assert_eq!(table.columns[0].name.as_deref(), Some(&b"told"[..]));
        assert_eq!((table.columns[0].is_unsigned, table.columns[1].is_unsigned), (Some(true), None));
        assert_eq!(table.columns[1].name.as_deref(), Some(&b"v"[..]));
        assert_eq!((&table.primary_key[..], table.key()), (&[][..], &[0][..]));
        for columns in [vec![defined("a", "int")], vec![defined("a", "bigint"), defined("v", "varchar")]] {
            let mut table = told.clone();
            assert!(!Definition { columns, primary_key: Vec::new(), hidden: 0 }.complete(&mut table, format));
            assert_eq!(table, told);
        }
    }
}
