//! Keys by which a table is cut into parts: how a value is written as a literal, and the conditions for the rows before and
//! behind it in the server's own order. Nothing is compared here: a border is always a row that the server gave.

use serde::{Deserialize, Serialize};

use super::{ReadColumn, UniqueKey};
use crate::quote;

/// A unique key without NULLs in whose order rows are read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
    /// The index's name.
    pub index: String,
    /// Its columns; a border has as many values.
    pub columns: Vec<KeyColumn>,
}

/// One column of a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyColumn {
    /// Its name.
    pub name: String,
    /// Whether the index has the greatest value first.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub descending: bool,
    /// The members of an ENUM in their order, as SQL literals; none for other types.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<String>,
}

/// How a value of a column is written as an SQL literal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Literal {
    /// As it is: whole numbers, which can be counted with.
    Whole,
    /// As it is: decimals, and years, of which some stand for others.
    Bare,
    /// With an exponent, so that it is compared as the double that it is.
    Double,
    /// In quotes: dates, times, addresses.
    Quoted,
    /// In hexadecimal, with this character set before it.
    Text(String),
    /// In hexadecimal.
    Bytes,
    /// Bytes that are a number, the highest first.
    Bits,
    /// One of these literals, which stand for these texts.
    Member(Vec<(Vec<u8>, String)>),
}

impl Literal {
    /// The literal for a value as the text protocol sends it; `None` if there is none that is sure to mean that value, such
    /// as for text that is invalid in its character set.
    pub fn write(&self, value: &[u8]) -> Option<String> {
        let plain = |c: &u8| c.is_ascii_alphanumeric() || b"+-.: ".contains(c);
        match self {
            Self::Whole | Self::Bare | Self::Double | Self::Quoted if !value.iter().all(plain) => None,
            Self::Whole | Self::Bare => Some(String::from_utf8_lossy(value).into_owned()),
            Self::Double if value.contains(&b'e') => Some(String::from_utf8_lossy(value).into_owned()),
            Self::Double => Some(format!("{}e0", String::from_utf8_lossy(value))),
            Self::Quoted => Some(quote::string(&String::from_utf8_lossy(value))),
            Self::Text(set) if !is_valid(set, value) => None,
            Self::Text(set) => Some(format!("_{set} {}", quote::hex(value))),
            Self::Bytes => Some(quote::hex(value)),
            Self::Bits if value.len() > 8 => None,
            Self::Bits => {
                Some(value.iter().fold(0u64, |number, &byte| number << 8 | u64::from(byte)).to_string())
            }
            Self::Member(members) => {
                members.iter().find(|(text, _)| text == value).map(|(_, literal)| literal.clone())
            }
        }
    }
}

/// Whether every character of a character set, such as `latin1`, is one byte.
pub fn is_one_byte(set: &str) -> bool {
    const ONE_BYTE: [&str; 24] = [
        "latin1", "latin2", "latin5", "latin7", "cp1250", "cp1251", "cp1256", "cp1257", "cp850", "cp852",
        "cp866", "dec8", "hp8", "koi8r", "koi8u", "swe7", "hebrew", "greek", "armscii8", "geostd8",
        "keybcs2", "macce", "macroman", "tis620",
    ];
    ONE_BYTE.contains(&set)
}

/// Whether the server is sure to take these bytes for text in that character set.
fn is_valid(set: &str, text: &[u8]) -> bool {
    match set {
        "utf8mb4" => std::str::from_utf8(text).is_ok(),
        "utf8mb3" | "utf8" => {
            std::str::from_utf8(text).is_ok_and(|text| text.chars().all(|c| c.len_utf8() < 4))
        }
        "binary" => true,
        "ucs2" | "utf16" | "utf16le" | "utf32" => false,
        set => text.is_ascii() || is_one_byte(set),
    }
}

/// The key of these columns in this index, to be walked and cut; `None` if a column is not among those that are read, or has
/// values for which there is no literal.
pub fn key_of(found: UniqueKey, columns: &[ReadColumn]) -> Option<Key> {
    let column = |(name, descending): (String, bool)| {
        let members = match field_of(columns, &name)?.1 {
            Literal::Member(members) => members.iter().map(|(_, literal)| literal.clone()).collect(),
            _ => Vec::new(),
        };
        Some(KeyColumn { name, descending, members })
    };
    let columns: Option<_> = found.columns.into_iter().map(column).collect();
    Some(Key { index: found.index, columns: columns? })
}

/// Where the columns of a key are among those that are read (from 0), and how their values are written; only those for
/// which both are known, which are all for a key of [`key_of`].
pub fn key_fields<'a>(key: &Key, columns: &'a [ReadColumn]) -> Vec<(usize, &'a Literal)> {
    key.columns.iter().filter_map(|column| field_of(columns, &column.name)).collect()
}

fn field_of<'a>(columns: &'a [ReadColumn], name: &str) -> Option<(usize, &'a Literal)> {
    let at = columns.iter().position(|column| column.column.name == name)?;
    Some((at, columns[at].literal.as_ref()?))
}

/// The columns in the key's order, as ORDER BY takes them.
pub fn order(key: &Key) -> String {
    in_order(key, true)
}

/// The same from the key's end to its beginning.
pub fn reverse_order(key: &Key) -> String {
    in_order(key, false)
}

fn in_order(key: &Key, forwards: bool) -> String {
    let columns = key.columns.iter().map(|column| {
        let name = quote::identifier(&column.name);
        if column.descending == forwards { name + " DESC" } else { name }
    });
    columns.collect::<Vec<_>>().join(", ")
}

/// The condition for all rows behind the one with these values, as SQL literals, or behind all that begin with them, if they
/// are fewer. It is written so that the servers find its beginning and its end in the index: they do not for
/// `(a, b) > (1, 2)`.
pub fn behind(key: &Key, values: &[String]) -> String {
    condition(&key.columns, values, later, later)
}

/// The condition for the row with these values, or all that begin with them, and all before.
pub fn up_to(key: &Key, values: &[String]) -> String {
    condition(&key.columns, values, earlier, |column, value| match column.members.is_empty() {
        true => compare(column, if column.descending { ">=" } else { "<=" }, value),
        false => format!("({} OR {})", earlier(column, value), compare(column, "=", value)),
    })
}

fn condition(
    columns: &[KeyColumn],
    values: &[String],
    strictly: fn(&KeyColumn, &str) -> String,
    last: impl Fn(&KeyColumn, &str) -> String + Copy,
) -> String {
    match (columns, values) {
        ([column, ..], [value]) => last(column, value),
        ([column, columns @ ..], [value, values @ ..]) => format!(
            "({} OR ({} AND {}))",
            strictly(column, value),
            compare(column, "=", value),
            condition(columns, values, strictly, last)
        ),
        // A manifest from elsewhere may have none, or too many: those select nothing.
        _ => "FALSE".into(),
    }
}

fn compare(column: &KeyColumn, operator: &str, value: &str) -> String {
    format!("{} {operator} {value}", quote::identifier(&column.name))
}

fn later(column: &KeyColumn, value: &str) -> String {
    beyond(column, value, column.descending)
}

fn earlier(column: &KeyColumn, value: &str) -> String {
    beyond(column, value, !column.descending)
}

/// Values that are less, or greater. An ENUM is ordered by its members' places but compared by their texts; its error value,
/// which comes before all members, compares as an empty text.
fn beyond(column: &KeyColumn, value: &str, less: bool) -> String {
    if column.members.is_empty() {
        return compare(column, if less { "<" } else { ">" }, value);
    }
    let Some(at) = column.members.iter().position(|member| member == value) else { return "FALSE".into() };
    let name = quote::identifier(&column.name);
    match (less, &column.members[..at], &column.members[at + 1..]) {
        (true, [], _) => format!("{name} = ''"),
        (true, members, _) => format!("{name} IN ('', {})", members.join(", ")),
        (false, _, []) => "FALSE".into(),
        (false, _, members) => format!("{name} IN ({})", members.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ColumnFacts, to_read};
    use super::*;
    use proptest::prelude::*;

    fn column(name: &str, descending: bool, members: &[&str]) -> KeyColumn {
        let members = members.iter().map(|&member| member.to_owned()).collect();
        KeyColumn { name: name.into(), descending, members }
    }

    fn key(columns: Vec<KeyColumn>) -> Key {
        Key { index: "PRIMARY".into(), columns }
    }

    fn values(values: &[&str]) -> Vec<String> {
        values.iter().map(|&value| value.to_owned()).collect()
    }

    #[test]
    fn conditions() {
        let one = key(vec![column("a", false, &[])]);
        assert_eq!(
            (behind(&one, &values(&["1"])), up_to(&one, &values(&["1"]))),
            ("`a` > 1".into(), "`a` <= 1".into())
        );
        let two = key(vec![column("a", false, &[]), column("b", true, &[])]);
        assert_eq!(behind(&two, &values(&["1", "2"])), "(`a` > 1 OR (`a` = 1 AND `b` < 2))");
        assert_eq!(up_to(&two, &values(&["1", "2"])), "(`a` < 1 OR (`a` = 1 AND `b` >= 2))");
        assert_eq!((order(&two), reverse_order(&two)), ("`a`, `b` DESC".into(), "`a` DESC, `b`".into()));
        assert_eq!(behind(&two, &values(&["1"])), "`a` > 1");
        assert_eq!(up_to(&two, &values(&["1"])), "`a` <= 1");
        assert_eq!(behind(&one, &values(&["1", "2"])), "(`a` > 1 OR (`a` = 1 AND FALSE))");
    }

    #[test]
    fn a_key_is_one_whose_values_can_all_be_written() {
        let facts = |name: &str, data_type: &str, column_type: &str| ColumnFacts {
            name: name.into(),
            data_type: data_type.into(),
            column_type: column_type.into(),
            character_set: None,
            generation: String::new(),
            stored: false,
        };
        let facts =
            [facts("a", "int", "int"), facts("s", "set", "set('x')"), facts("e", "enum", "enum('z','y')")];
        let columns = to_read(&facts, false);
        let of = |names: &[&str]| {
            let names = names.iter().map(|&name| (name.to_owned(), name == "a"));
            key_of(UniqueKey { index: "PRIMARY".into(), columns: names.collect() }, &columns)
        };
        let both = key(vec![column("e", false, &["'z'", "'y'"]), column("a", true, &[])]);
        assert_eq!(of(&["e", "a"]).as_ref(), Some(&both));
        assert_eq!((of(&["a", "s"]), of(&["a", "elsewhere"])), (None, None));
        let fields = key_fields(&both, &columns);
        assert_eq!((fields[0].0, fields[1]), (2, (0, &Literal::Whole)));
    }

    #[test]
    fn members_have_the_order_of_their_places() {
        let key = key(vec![column("e", false, &["'z'", "'a'", "'m'"])]);
        assert_eq!(behind(&key, &values(&["'z'"])), "`e` IN ('a', 'm')");
        assert_eq!(behind(&key, &values(&["'m'"])), "FALSE");
        assert_eq!(up_to(&key, &values(&["'a'"])), "(`e` IN ('', 'z') OR `e` = 'a')");
        assert_eq!(up_to(&key, &values(&["'z'"])), "(`e` = '' OR `e` = 'z')");
    }

    #[test]
    fn literals() {
        let write = |literal: Literal, value: &[u8]| literal.write(value);
        assert_eq!(write(Literal::Bare, b"-5").as_deref(), Some("-5"));
        assert_eq!(write(Literal::Bare, b"1;DROP"), None);
        assert_eq!(write(Literal::Double, b"-0.5").as_deref(), Some("-0.5e0"));
        assert_eq!(write(Literal::Double, b"1e30").as_deref(), Some("1e30"));
        assert_eq!(write(Literal::Quoted, b"2020-01-01").as_deref(), Some("'2020-01-01'"));
        assert_eq!(write(Literal::Text("latin1".into()), b"\xe9").as_deref(), Some("_latin1 X'e9'"));
        assert_eq!(write(Literal::Text("utf8mb4".into()), b"\xe9"), None);
        assert_eq!(write(Literal::Text("utf8mb3".into()), "😀".as_bytes()), None);
        assert_eq!(write(Literal::Bits, &[1, 0]).as_deref(), Some("256"));
        let member = Literal::Member(vec![(b"a".to_vec(), "_latin1 X'61'".into())]);
        assert_eq!((member.write(b"a").as_deref(), member.write(b"")), (Some("_latin1 X'61'"), None));
    }

    /// What a server makes of a condition, for columns `a`, `b`, `c` whose values are single digits.
    fn holds(condition: &str, row: &[u8]) -> bool {
        fn term(text: &mut &str, row: &[u8]) -> bool {
            if let Some(rest) = text.strip_prefix("FALSE") {
                *text = rest;
                return false;
            }
            if let Some(rest) = text.strip_prefix('(') {
                *text = rest;
                let mut value = term(text, row);
                loop {
                    if let Some(rest) = text.strip_prefix(" OR ") {
                        *text = rest;
                        value |= term(text, row);
                    } else if let Some(rest) = text.strip_prefix(" AND ") {
                        *text = rest;
                        value &= term(text, row);
                    } else {
                        *text = text.strip_prefix(')').unwrap();
                        return value;
                    }
                }
            }
            let end = text
                .find([')', 'O', 'A'])
                .map_or(text.len(), |at| at - usize::from(!text[at..].starts_with(')')));
            let (comparison, rest) = text.split_at(end);
            let parts: Vec<_> = comparison.split(' ').collect();
            *text = rest;
            let value = row[usize::from(parts[0].as_bytes()[1] - b'a')];
            let other = parts[2].as_bytes()[0];
            match parts[1] {
                "<" => value < other,
                ">" => value > other,
                "<=" => value <= other,
                ">=" => value >= other,
                "=" => value == other,
                other => panic!("{other}"),
            }
        }
        let mut rest = condition;
        let value = term(&mut rest, row);
        assert_eq!(rest, "", "{condition}");
        value
    }

    proptest! {
        #[test]
        fn every_row_is_on_one_side_of_a_border(
            descending in prop::collection::vec(any::<bool>(), 1..=3),
            border in prop::collection::vec(b'0'..b'4', 3),
            row in prop::collection::vec(b'0'..b'4', 3),
        ) {
            let columns = descending.iter().zip(["a", "b", "c"]).map(|(&d, name)| column(name, d, &[])).collect();
            let key = key(columns);
            let literals: Vec<_> = border.iter().take(descending.len()).map(|&v| char::from(v).to_string()).collect();
            let signed = |values: &[u8]| -> Vec<i16> {
                values.iter().zip(&descending).map(|(&v, &d)| if d { -i16::from(v) } else { i16::from(v) }).collect()
            };
            prop_assert_eq!(holds(&behind(&key, &literals), &row), signed(&row) > signed(&border));
            prop_assert_eq!(holds(&up_to(&key, &literals), &row), signed(&row) <= signed(&border));
        }
    }
}
