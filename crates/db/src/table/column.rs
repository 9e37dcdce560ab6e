//! How each column is read and loaded so that its value survives exactly.

use serde::{Deserialize, Serialize};

use super::keys::is_one_byte;
use super::{ColumnFacts, Literal, ValueKind, implicit_row_times};
use crate::quote;
use crate::sql::{Dialect, Kind, tokens};

/// The last TIMESTAMP of MariaDB before 11.5.
pub const NEVER: &str = "2038-01-19 03:14:07.999999";
/// The last TIMESTAMP from MariaDB 11.5 on.
pub const LATER_NEVER: &str = "2106-02-07 06:28:15.999999";
/// Sets what such columns are loaded with: `@never` is the server's own last TIMESTAMP, if the session's zone is UTC.
pub const SET_NEVER: &str = "SET @older_never = '2038-01-19 03:14:07.999999', \
     @never = COALESCE(FROM_UNIXTIME(4294967295.999999), FROM_UNIXTIME(2147483647.999999))";

/// A column as the text of rows holds it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// Its name in the server.
    pub name: String,
    /// The SQL expression that was read; absent for the column itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<String>,
    /// The SQL expression that turns the text `@value` into the column's value; absent if none is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<String>,
}

/// A column and how its values are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadColumn {
    /// What stands in the rows' text.
    pub column: Column,
    /// What shows the value's text as it is stored, where `read` shows it as loading will make it.
    pub stored: Option<String>,
    /// The text that stands for the "error value" of an ENUM.
    pub error_mark: Option<String>,
    /// How a value is written as a literal that compares in the column's own order; `None` if it cannot be.
    pub literal: Option<Literal>,
    /// What its text is.
    pub kind: ValueKind,
    /// What tells, as 1 or 0, whether loading its text makes another value of it: text is lost where only valid text can stand, and a
    /// document may hold what no text tells. `None` if that can be seen in the text itself, or cannot be.
    pub loses: Option<String>,
    /// Whether its zero may have a sign.
    pub signed_zero: bool,
    /// Whether its values are documents (JSON of MySQL), of which none is an empty text.
    pub is_document: bool,
}

impl ReadColumn {
    /// Reads a document as the text that the server prints: where it stays text, loading changes nothing in it.
    pub fn as_printed(&mut self) {
        if self.column.is_cast_to_json() {
            let printed = format!("CAST({} AS CHAR)", quote::identifier(&self.column.name));
            let text = self
                .column
                .read
                .as_deref()
                .and_then(|read| read.strip_prefix("CAST(")?.strip_suffix(" AS JSON)"));
            // Only what mends the text is left of it.
            self.column.read = text.filter(|text| *text != printed).map(str::to_owned);
            (self.stored, self.loses) = (None, None);
        }
    }

    /// Has newlines in documents written as JSON writes them: MySQL 5.7 puts them as they are into the base64 of more than 57 bytes, and reads
    /// no such text. Where the server has no room for the text (`max_allowed_packet`), it is empty, as it is without this.
    pub fn escape_newlines(&mut self) {
        let name = quote::identifier(&self.column.name);
        let printed = format!("CAST({name} AS CHAR)");
        let escaped = format!(
            "IF({name} IS NULL, NULL, COALESCE(REPLACE({printed}, _utf8mb4'\\n', _utf8mb4'\\\\n'), ''))"
        );
        if self.is_document && self.column.read.is_none() {
            self.column.read = Some(escaped);
            return;
        }
        for read in [&mut self.column.read, &mut self.loses].into_iter().flatten() {
            *read = read.replace(&printed, &escaped);
        }
        if self.is_document {
            self.stored = Some(escaped);
        }
    }

    /// Reads a zero without its sign. That keeps the text of all other values, also of a DOUBLE(M,D).
    pub fn without_negative_zero(&mut self) {
        if self.signed_zero {
            let value = self.column.read.take().unwrap_or_else(|| quote::identifier(&self.column.name));
            self.column.read = Some(format!("IF({value} = 0, ABS({value}), {value})"));
            self.stored = Some(value);
        }
    }
}

/// How a value of a column is written as a literal that compares in the column's own order.
fn literal(facts: &ColumnFacts) -> Option<Literal> {
    match facts.data_type.as_str() {
        "tinyint" | "smallint" | "mediumint" | "int" | "bigint" => Some(Literal::Whole),
        "decimal" | "year" => Some(Literal::Bare),
        // A FLOAT(M,D) is not read as exactly what it is.
        "float" | "double" if scale(&facts.column_type).is_none() => Some(Literal::Double),
        "date" | "datetime" | "timestamp" | "time" | "uuid" | "inet4" | "inet6" => Some(Literal::Quoted),
        "char" | "varchar" => facts.character_set.clone().map(Literal::Text),
        "binary" | "varbinary" => Some(Literal::Bytes),
        "bit" => Some(Literal::Bits),
        "enum" => member_literals(&facts.column_type),
        _ => None,
    }
}

/// The members of an ENUM in their order. The servers print `?` for some characters: then nobody knows them. And an empty
/// member cannot be told from the error value.
fn member_literals(column_type: &str) -> Option<Literal> {
    let members = members(column_type);
    let known = members.iter().all(|member| !member.is_empty() && !member.contains(&b'?'));
    let literal = |member: Vec<u8>| {
        let literal = quote::string(&String::from_utf8_lossy(&member));
        (member, literal)
    };
    known.then(|| Literal::Member(members.into_iter().map(literal).collect()))
}

/// The columns of a table that hold its rows: all but those that the server computes itself. Of a `versioned` table (MariaDB)
/// the rows' times are among them, which can be loaded too.
pub fn to_read(facts: &[ColumnFacts], versioned: bool) -> Vec<ReadColumn> {
    let mut columns: Vec<_> = facts
        .iter()
        .filter(|facts| facts.generation.is_empty() || versioned && facts.is_row_time())
        .map(|facts| if facts.is_row_end() { row_end(&facts.name) } else { read_column(facts) })
        .collect();
    columns.extend(implicit(facts, versioned));
    columns
}

/// The columns that MariaDB adds to a `versioned` table by itself.
pub fn implicit(facts: &[ColumnFacts], versioned: bool) -> impl Iterator<Item = ReadColumn> {
    let added = if versioned { implicit_row_times(facts) } else { Vec::new() };
    added.into_iter().map(|facts| match facts.is_row_end() {
        true => row_end(&facts.name),
        false => row_time(Column { name: facts.name, read: None, load: None }),
    })
}

/// Until when a row is valid. Of one that is valid until further notice that is the last TIMESTAMP, which is a later one from MariaDB 11.5
/// on: it is read as the older one, and loaded as `@never`, the server's own: otherwise the row would be one of the past there.
fn row_end(name: &str) -> ReadColumn {
    let read = format!("REPLACE({}, '{LATER_NEVER}', '{NEVER}')", quote::identifier(name));
    // No other literal stands beside the value: it is found again in an INSERT by its quotes. With NULLIF, MariaDB gives all rows of a
    // bulk the first one's value.
    let load = "REPLACE(@value, @older_never, @never)".into();
    row_time(Column { name: name.into(), read: Some(read), load: Some(load) })
}

/// No key is walked along it: on another server it may have another place in its order.
fn row_time(column: Column) -> ReadColumn {
    ReadColumn {
        column,
        stored: None,
        error_mark: None,
        literal: None,
        kind: ValueKind::Word,
        loses: None,
        signed_zero: false,
        is_document: false,
    }
}

/// How a column is read and loaded.
pub fn read_column(facts: &ColumnFacts) -> ReadColumn {
    let name = quote::identifier(&facts.name);
    let (mut read, mut load, mut stored, mut error_mark) = (None, None, None, None);
    match facts.data_type.as_str() {
        // Its own text form has six digits; that of the double it equals has as many as it takes.
        "float" => read = Some(float(&name, &facts.column_type)),
        "enum" => {
            let mark = error_mark_for(&members(&facts.column_type), facts.character_set.as_deref());
            // MariaDB refuses to make utf32 of bytes that are none.
            let is_utf32 = facts.character_set.as_deref() == Some("utf32");
            let member = if is_utf32 { format!("CAST({name} AS BINARY)") } else { name.clone() };
            read = Some(format!("IF({name} + 0 = 0, _binary{}, {member})", quote::string(&mark)));
            error_mark = Some(mark);
        }
        // An empty member and no member at all look the same.
        "set" if members(&facts.column_type).iter().any(Vec::is_empty) => read = Some(format!("{name} + 0")),
        // A DECIMAL inside a JSON value has no text of its own: 1.10 is read back as the DOUBLE 1.1. So the text is that of a
        // value which was read back already. Text in the character set `binary` is no JSON.
        "json" => {
            read = Some(format!("CAST(CAST({name} AS CHAR) AS JSON)"));
            load = Some("CONVERT(@value USING utf8mb4)".into());
            stored = Some(name.clone());
        }
        // In the character set `binary` these would be taken for the value's bytes (MariaDB).
        "uuid" | "inet4" | "inet6" => load = Some("CONVERT(@value USING ascii)".into()),
        _ => {}
    }
    let kind = ValueKind::of(&facts.data_type, facts.character_set.as_deref());
    let loses =
        facts.character_set.as_deref().filter(|set| kind == ValueKind::OtherText && is_checked(set, facts));
    let loses = match &read {
        // A DATE in a document has the text of a string, and is no string.
        Some(loaded) if facts.data_type == "json" => Some(format!("NOT ({name} <=> {loaded})")),
        _ => loses.map(|set| differs(&format!("CONVERT(CAST({name} AS BINARY) USING {set})"), &name)),
    };
    let column = Column { name: facts.name.clone(), read, load };
    let signed_zero = matches!(facts.data_type.as_str(), "float" | "double");
    let is_document = facts.data_type == "json";
    ReadColumn { column, stored, error_mark, literal: literal(facts), kind, loses, signed_zero, is_document }
}

/// Whether the servers may find text in that character set invalid. That of members is never.
fn is_checked(set: &str, facts: &ColumnFacts) -> bool {
    !is_one_byte(set) && !matches!(facts.data_type.as_str(), "enum" | "set")
}

/// The condition that two texts, given as SQL expressions, differ in any byte. Of what is no text in a character set, MySQL
/// makes NULL and MariaDB `?`.
pub fn differs(one: &str, other: &str) -> String {
    format!("NOT (CAST({one} AS BINARY) <=> CAST({other} AS BINARY))")
}

/// A FLOAT as the DOUBLE that it equals. Each server takes this; `CAST(… AS DOUBLE)` is known to MySQL from 8.0.17 on only.
fn double(name: &str) -> String {
    format!("({name} * 1e0)")
}

impl ReadColumn {
    /// Has documents told by their size too from what loading makes of them: MySQL 5.7 prints a DOUBLE without a fraction as a whole number.
    /// Documents that loading changes in value as well are counted by `loses`, and not here.
    pub fn tell_by_size(&mut self) {
        let read = self.column.read.as_deref().filter(|_| self.column.is_cast_to_json());
        if let (Some(stored), Some(read), Some(loses)) = (&self.stored, read, &self.loses) {
            let name = quote::identifier(&self.column.name);
            let is_same = format!("{loses} OR JSON_STORAGE_SIZE({name}) = JSON_STORAGE_SIZE({read})");
            self.stored = Some(format!("IF({is_same}, {stored}, CONCAT({stored}, ' '))"));
        }
    }
}

impl Column {
    /// Whether a document of MySQL is read as loading makes it.
    pub fn is_cast_to_json(&self) -> bool {
        self.read.as_deref().is_some_and(|read| read.ends_with(" AS JSON)"))
    }

    /// Has the column read in a way that each server takes: dumps of earlier versions have FLOAT cast.
    pub fn read_anywhere(&mut self) {
        let name = quote::identifier(&self.name);
        let cast = format!("CAST({name} AS DOUBLE)");
        self.read = self.read.take().map(|read| read.replace(&cast, &double(&name)));
    }
}

/// A FLOAT(M,D) may hold more than its own limit, since the limit itself is rounded to a float: 99999999.99 becomes 1e8.
/// Brought down to the limit it is taken again, and rounded to the same float.
fn float(name: &str, column_type: &str) -> String {
    let exact = double(name);
    let Some((digits, decimals)) = scale(column_type) else { return exact };
    let limit = format!("{}.{}", "9".repeat(digits - decimals), "9".repeat(decimals));
    let limit = limit.trim_end_matches('.');
    format!("LEAST(GREATEST({exact}, -{limit}e0), {limit}e0)")
}

/// M and D of a type like `float(M,D) unsigned`.
fn scale(column_type: &str) -> Option<(usize, usize)> {
    let (_, rest) = column_type.split_once('(')?;
    let (digits, decimals) = rest.split_once(')')?.0.split_once(',')?;
    let (digits, decimals) = (digits.trim().parse().ok()?, decimals.trim().parse().ok()?);
    (decimals <= digits && digits > 0).then_some((digits, decimals))
}

/// A number 0 that is no member: LOAD DATA takes the text of a number that is no member as an index. MySQL looks for the number in the
/// bytes of a file as they are, and pads what is no whole character of the column's set first (`Field_enum::store`, sql/field.cc).
fn error_mark_for(members: &[Vec<u8>], character_set: Option<&str>) -> String {
    // With each the text that its bytes are in the set; four digits are no character of utf32.
    let zeros: &[(&str, &str)] = match character_set {
        Some("ucs2" | "utf16" | "utf16le") => &[("00", "\u{3030}"), ("0000", "\u{3030}\u{3030}")],
        Some("utf32") => &[("0000", "")],
        _ => &[("0", "0"), ("00", "00"), ("000", "000"), ("0000", "0000"), ("00000", "00000")],
    };
    let is_free = |text: &str| text.is_empty() || !members.iter().any(|member| member == text.as_bytes());
    let free = zeros.iter().find(|(_, text)| is_free(text));
    free.unwrap_or(&zeros[0]).0.to_owned() // an ENUM whose members are all spellings of 0 has no free one
}

/// The members of an ENUM or SET type, in the catalogue's character set.
pub fn members(column_type: &str) -> Vec<Vec<u8>> {
    // In the catalogue only quotes are doubled: a backslash stands for itself.
    let dialect = Dialect { no_backslash_escapes: true, ..Dialect::default() };
    tokens(column_type.as_bytes(), dialect)
        .filter(|token| token.kind == Kind::String)
        .map(|token| undoubled(token.within_quotes().unwrap_or_default()))
        .collect()
}

/// The text between quotes, in which two stand for one.
fn undoubled(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.iter();
    while let Some(&byte) = bytes.next() {
        out.push(byte);
        if byte == b'\'' {
            bytes.next();
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(data_type: &str, column_type: &str) -> ColumnFacts {
        ColumnFacts {
            name: "c".into(),
            data_type: data_type.into(),
            column_type: column_type.into(),
            character_set: Some("latin1".into()),
            generation: String::new(),
            stored: false,
        }
    }

    #[test]
    fn the_error_value_of_an_enum_has_a_text_of_its_own() {
        let column = |text| read_column(&facts("enum", text));
        assert_eq!(column("enum('a','')").error_mark.as_deref(), Some("0"));
        let column = column("enum('0','00','it''s')");
        assert_eq!(column.error_mark.as_deref(), Some("000"));
        assert_eq!(column.column.read.as_deref(), Some("IF(`c` + 0 = 0, _binary'000', `c`)"));
        let mark = |set: &str, text| {
            let facts = ColumnFacts { character_set: Some(set.into()), ..facts("enum", text) };
            read_column(&facts).error_mark
        };
        assert_eq!(mark("ucs2", "enum('0','00')").as_deref(), Some("00"));
        assert_eq!(mark("utf16le", "enum('\u{3030}')").as_deref(), Some("0000"));
        assert_eq!(mark("utf32", "enum('0000')").as_deref(), Some("0000"));
    }

    #[test]
    fn a_set_with_an_empty_member_is_read_as_a_number() {
        assert_eq!(read_column(&facts("set", "set('a','b')")).column.read, None);
        assert!(read_column(&facts("set", "set('','b')")).column.read.is_some());
    }

    #[test]
    fn generated_columns_are_left_to_the_server() {
        let mut generated = facts("int", "int");
        generated.generation = "`a` + 1".into();
        generated.stored = true;
        assert_eq!(to_read(&[facts("int", "int"), generated], false).len(), 1);
        let mut start = facts("timestamp", "timestamp(6)");
        start.generation = "ROW START".into();
        assert_eq!(to_read(&[facts("int", "int"), start.clone()], true).len(), 2);
        let names: Vec<_> =
            to_read(&[facts("int", "int")], true).into_iter().map(|c| c.column.name).collect();
        assert_eq!(names, ["c", "row_start", "row_end"]);
    }

    #[test]
    fn a_scaled_float_is_brought_down_to_its_limit() {
        let read = |text| read_column(&facts("float", text)).column.read.unwrap();
        assert_eq!(read("float"), "(`c` * 1e0)");
        let cast = "LEAST(GREATEST(CAST(`c` AS DOUBLE), -.9999e0), .9999e0)".to_owned();
        let mut column = Column { name: "c".into(), read: Some(cast), load: None };
        column.read_anywhere();
        assert_eq!(column.read, Some(read("float(4,4)")));
        assert_eq!(
            read("float(10,2) unsigned"),
            "LEAST(GREATEST((`c` * 1e0), -99999999.99e0), 99999999.99e0)"
        );
        assert_eq!(read("float(4,4)"), "LEAST(GREATEST((`c` * 1e0), -.9999e0), .9999e0)");
        assert_eq!(read("float(5,0)"), "LEAST(GREATEST((`c` * 1e0), -99999e0), 99999e0)");
    }

    #[test]
    fn columns_that_can_be_keys() {
        let of = |data_type, column_type| literal(&facts(data_type, column_type));
        assert_eq!(of("bigint", "bigint unsigned"), Some(Literal::Whole));
        assert_eq!(of("char", "char(3)"), Some(Literal::Text("latin1".into())));
        assert_eq!((of("float", "float"), of("float", "float(5,2)")), (Some(Literal::Double), None));
        assert!(
            matches!(of("enum", "enum('b','a')"), Some(Literal::Member(members)) if members[0].1 == "'b'")
        );
        assert_eq!(
            (of("enum", "enum('?')"), of("enum", "enum('')"), of("set", "set('a')")),
            (None, None, None)
        );
    }
}
