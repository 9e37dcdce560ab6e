//! What becomes of a column's values on a server that has not its type. It is what `drover copy` makes of the type.

use super::address::Address;
use super::column::{Column, ColumnType};
use super::kept::KeptColumn;
use super::retyped::{Untellable, VECTOR_NUMBER};
use super::value::{Value, inflate};
use crate::json;

/// Whose server wrote the log, and whose takes its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Way {
    pub(super) from_mariadb: bool,
    pub(super) to_mariadb: bool,
    /// As which servers show documents.
    pub(super) era: json::Era,
}

/// How values of a column are written that become another type's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Conversion {
    to: To,
    /// The type that they become.
    pub(super) kind: ColumnType,
    /// The longest value that the target takes, in bytes.
    most: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum To {
    Address(Address),
    Json(json::Era),
    /// What was compressed.
    Whole,
    /// The bytes, behind another length.
    Bytes,
    /// The numbers of a VECTOR, which MariaDB has as many of as the column says, and MySQL at most so many.
    Vector {
        is_exact: bool,
    },
}

impl Conversion {
    /// `None` for a column whose values are written as they are.
    ///
    /// No log of MariaDB tells these types: UUID and addresses are logged as BINARY, VECTOR as VARBINARY (`Field::binlog_type()`; found with
    /// 11.8). What the target's column is tells which one it was.
    pub(super) fn of(column: &Column, kept: &KeptColumn, way: Way) -> Option<Self> {
        let may_be_bytes = way.from_mariadb && column.may_be_bytes();
        let address = Address::kept_as(column, &kept.data_type, kept.most);
        let is_vector = kept.data_type == "vector";
        let to = match (column.kind, &*kept.data_type, kept.most) {
            (ColumnType::Char(..), ..) => To::Address(address.filter(|_| way.from_mariadb && kept.is_ascii)?),
            (ColumnType::Json(_), "longtext" | "mediumtext" | "text", _) => To::Json(way.era),
            (ColumnType::Compressed(_), ..) if !kept.is_compressed => To::Whole,
            (ColumnType::Text(_), data_type, _) if may_be_bytes && takes_bytes(data_type) => To::Bytes,
            (ColumnType::Text(_), ..) if may_be_bytes && is_vector && !way.to_mariadb => {
                To::Vector { is_exact: false }
            }
            (ColumnType::Vector(_), ..) if is_vector && way.to_mariadb => To::Vector { is_exact: true },
            (ColumnType::Vector(_), ..) if !is_vector => To::Bytes,
            _ => return None,
        };
        let kind = match to {
            To::Vector { is_exact: false } => ColumnType::Vector(4),
            _ => ColumnType::of_text(&kept.data_type, kept.most)?,
        };
        let most = match kind {
            ColumnType::Char(_, most) => most.into(),
            ColumnType::Text(_) | ColumnType::Vector(_) => kept.most,
            _ => (1 << (8 * width(kind))) - 1,
        };
        Some(Self { to, kind, most })
    }

    /// The number of the type and its metadata, as the log would have them.
    pub(super) fn describe(self) -> (u8, Vec<u8>) {
        self.kind.describe(u16::try_from(self.most).unwrap_or(u16::MAX))
    }

    /// Writes a value of the log.
    pub(super) fn push(self, value: &Value<'_>, out: &mut Vec<u8>) -> Result<(), Untellable> {
        let mut text = Vec::new();
        match (self.to, *value) {
            (To::Address(address), Value::Bytes(bytes)) => address.push_text(bytes, &mut text)?,
            (To::Json(era), Value::Json(binary)) => {
                json::write_text_of(era, binary, &mut text)
                    .map_err(|why| Untellable::Because(why.to_string()))?;
            }
            (To::Whole, Value::Compressed(bytes)) => text = inflate(bytes).map_err(Untellable::Because)?,
            (To::Bytes | To::Vector { .. }, Value::Vector(bytes) | Value::Bytes(bytes)) => {
                text.extend_from_slice(bytes)
            }
            _ => return Err(Untellable::Damaged),
        }
        if text.len() as u64 > self.most {
            let (length, most) = (text.len(), self.most);
            let why = format!("a value of {length} bytes, where the target keeps at most {most}");
            return Err(Untellable::Because(why));
        }
        if let To::Vector { is_exact } = self.to
            && (!(text.len() as u64).is_multiple_of(VECTOR_NUMBER)
                || text.is_empty()
                || is_exact && text.len() as u64 != self.most)
        {
            let (length, most) = (text.len(), self.most);
            let why = format!("a value of {length} bytes, where the target keeps a VECTOR of {most}");
            return Err(Untellable::Because(why));
        }
        out.extend_from_slice(&text.len().to_le_bytes()[..width(self.kind)]);
        out.extend_from_slice(&text);
        Ok(())
    }
}

/// Whether a column that is defined so takes any bytes.
fn takes_bytes(data_type: &str) -> bool {
    matches!(data_type, "varbinary" | "tinyblob" | "blob" | "mediumblob" | "longblob")
}

/// How many bytes the length takes that stands before a value.
fn width(kind: ColumnType) -> usize {
    match kind {
        ColumnType::Char(width, _) | ColumnType::Text(width) | ColumnType::Blob(width) => width.into(),
        _ => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BACK: Way = Way { from_mariadb: true, to_mariadb: true, era: json::Era::Today };
    const TO_MYSQL: Way = Way { from_mariadb: true, to_mariadb: false, era: json::Era::Today };
    const FROM_MYSQL: Way = Way { from_mariadb: false, to_mariadb: true, era: json::Era::Today };
    const AMONG_MYSQL: Way = Way { from_mariadb: false, to_mariadb: false, era: json::Era::Today };

    fn kept(data_type: &str, most: u64) -> KeptColumn {
        KeptColumn { is_ascii: true, ..KeptColumn::of_tests("c", data_type, most) }
    }

    fn converted(kind: ColumnType, kept: &KeptColumn, way: Way) -> Option<Conversion> {
        Conversion::of(&Column::of_tests(kind), kept, way)
    }

    /// What a value becomes, behind its length.
    fn text(kind: ColumnType, kept: &KeptColumn, bytes: &[u8]) -> String {
        let mut out = Vec::new();
        converted(kind, kept, BACK).unwrap().push(&Value::Bytes(bytes), &mut out).unwrap();
        assert_eq!(usize::from(out[0]), out.len() - 1);
        String::from_utf8(out[1..].to_vec()).unwrap()
    }

    #[test]
    fn all_addresses_become_their_text() {
        const UUID: ColumnType = ColumnType::Char(1, 16);
        const INET4: ColumnType = ColumnType::Char(1, 4);
        let (uuid, inet6, inet4) = (kept("char", 36), kept("varchar", 39), kept("varchar", 15));
        // Zeros at the end are not logged, so that of a zero nothing is.
        assert_eq!(text(UUID, &uuid, b""), "00000000-0000-0000-0000-000000000000");
        assert_eq!(text(UUID, &uuid, &[0xff; 16]), "ffffffff-ffff-ffff-ffff-ffffffffffff");
        assert_eq!(text(UUID, &uuid, b"\0\x01"), "00010000-0000-0000-0000-000000000000");
        assert_eq!(text(UUID, &inet6, b""), "::");
        assert_eq!(text(UUID, &inet6, &[0xff; 16]), "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff");
        assert_eq!(text(INET4, &inet4, b""), "0.0.0.0");
        assert_eq!(text(INET4, &inet4, b"\xff"), "255.0.0.0");
        assert_eq!(text(INET4, &inet4, &[0xff; 4]), "255.255.255.255");
        let too_long = converted(INET4, &inet4, BACK).unwrap().push(&Value::Bytes(b"12345"), &mut Vec::new());
        assert_eq!(too_long, Err(Untellable::Damaged));
    }

    #[test]
    fn only_what_a_copy_makes_is_an_address() {
        let uuid = ColumnType::Char(1, 16);
        assert!(converted(uuid, &KeptColumn::of_tests("c", "char", 36), BACK).is_none());
        for (data_type, most) in [("char", 16), ("char", 37), ("binary", 16), ("varchar", 36)] {
            assert!(converted(uuid, &kept(data_type, most), BACK).is_none(), "{data_type} {most}");
        }
        assert!(converted(uuid, &kept("char", 36), FROM_MYSQL).is_none());
        let latin1 = Column { collation: Some(8), ..Column::of_tests(uuid) };
        assert!(Conversion::of(&latin1, &kept("char", 36), BACK).is_none());
        let bytes = Column { collation: Some(63), ..Column::of_tests(uuid) };
        assert!(Conversion::of(&bytes, &kept("char", 36), BACK).is_some());
    }

    #[test]
    fn vectors_become_bytes() {
        // MariaDB logs VARBINARY, MySQL has a number for them.
        let (of_mariadb, of_mysql) = (ColumnType::Text(1), ColumnType::Vector(4));
        let becomes = |kind, data_type, most, way| {
            converted(kind, &kept(data_type, most), way)
                .map(|conversion| (conversion.kind, conversion.describe()))
        };
        let blob = Some((ColumnType::Blob(2), (252, vec![2])));
        assert_eq!(becomes(of_mariadb, "blob", 65535, BACK), blob);
        assert_eq!(becomes(of_mariadb, "blob", 65535, TO_MYSQL), blob);
        assert_eq!(becomes(of_mysql, "blob", 65535, FROM_MYSQL), blob);
        assert_eq!(
            becomes(of_mariadb, "varbinary", 300, BACK),
            Some((ColumnType::Text(2), (15, vec![44, 1])))
        );
        assert_eq!(becomes(of_mysql, "vector", 8, FROM_MYSQL), Some((ColumnType::Text(1), (15, vec![8, 0]))));
        assert_eq!(becomes(of_mysql, "vector", 8, AMONG_MYSQL), None);
        assert_eq!(becomes(of_mariadb, "vector", 8, BACK), None);
        let vector = Some((of_mysql, (242, vec![4])));
        assert_eq!(becomes(of_mariadb, "vector", 8, TO_MYSQL), vector);
        assert_eq!(becomes(of_mariadb, "text", 65535, BACK), None);
        let utf8 = Column { collation: Some(33), ..Column::of_tests(of_mariadb) };
        assert!(Conversion::of(&utf8, &kept("blob", 65535), BACK).is_none());
    }

    #[test]
    fn vectors_have_the_numbers_of_their_column() {
        let pushed = |kind, way, bytes: &[u8]| {
            let mut out = Vec::new();
            let conversion = converted(kind, &KeptColumn::of_tests("v", "vector", 8), way).unwrap();
            conversion.push(&Value::Bytes(bytes), &mut out).map(|()| out)
        };
        let (of_mariadb, of_mysql) = (ColumnType::Text(1), ColumnType::Vector(4));
        assert_eq!(pushed(of_mariadb, TO_MYSQL, b"12345678").unwrap(), b"\x08\0\0\x0012345678");
        assert_eq!(pushed(of_mariadb, TO_MYSQL, b"1234").unwrap(), b"\x04\0\0\x001234");
        assert_eq!(pushed(of_mysql, FROM_MYSQL, b"12345678").unwrap(), b"\x0812345678");
        for (kind, way, bytes) in [
            (of_mariadb, TO_MYSQL, &b"123456"[..]),
            (of_mariadb, TO_MYSQL, b""),
            (of_mariadb, TO_MYSQL, b"123456789012"),
            (of_mysql, FROM_MYSQL, b"1234"),
        ] {
            assert!(matches!(pushed(kind, way, bytes), Err(Untellable::Because(_))), "{bytes:?}");
        }
    }

    #[test]
    fn bytes_must_fit() {
        let conversion = converted(ColumnType::Text(2), &kept("varbinary", 8), BACK).unwrap();
        let mut out = Vec::new();
        conversion.push(&Value::Bytes(b"12345678"), &mut out).unwrap();
        assert_eq!(out, b"\x0812345678");
        let why = "a value of 9 bytes, where the target keeps at most 8".to_owned();
        assert_eq!(conversion.push(&Value::Bytes(b"123456789"), &mut out), Err(Untellable::Because(why)));
        let conversion = converted(ColumnType::Text(2), &kept("blob", 65535), BACK).unwrap();
        out.clear();
        conversion.push(&Value::Bytes(b""), &mut out).unwrap();
        assert_eq!(out, [0, 0]);
    }
}
