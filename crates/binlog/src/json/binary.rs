//! The format: where a document's values lie, and what they are. Places in a container count from its beginning, so values lie
//! behind what points at them, and nothing can contain itself; that they do not overlap is checked.

use super::Invalid;
use crate::log::{Cursor, Short};

/// How many containers can be in each other: `JSON_DOCUMENT_MAX_DEPTH`.
pub(super) const DEPTH: u32 = 100;

/// The types of values: `JSONB_TYPE_…`.
mod kind {
    pub(super) const SMALL_OBJECT: u8 = 0;
    pub(super) const LARGE_OBJECT: u8 = 1;
    pub(super) const SMALL_ARRAY: u8 = 2;
    pub(super) const LARGE_ARRAY: u8 = 3;
    pub(super) const LITERAL: u8 = 4;
    pub(super) const INT16: u8 = 5;
    pub(super) const UINT16: u8 = 6;
    pub(super) const INT32: u8 = 7;
    pub(super) const UINT32: u8 = 8;
    pub(super) const INT64: u8 = 9;
    pub(super) const UINT64: u8 = 10;
    pub(super) const DOUBLE: u8 = 11;
    pub(super) const STRING: u8 = 12;
    pub(super) const OPAQUE: u8 = 15;
}

/// What keeps the reading of a document within bounds, whatever its bytes are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// How many bytes no value was found in. A document whose values overlap runs out of them, where it could else have very
    /// many more values than bytes.
    unread: usize,
    /// How many containers the value at hand is in.
    depth: u32,
}

impl Bounds {
    fn read(&mut self, bytes: usize) -> Result<(), Invalid> {
        self.unread = self.unread.checked_sub(bytes).ok_or(Invalid::Overlap)?;
        Ok(())
    }

    fn enter(&mut self) -> Result<(), Invalid> {
        self.depth += 1;
        if self.depth > DEPTH { Err(Invalid::Deep) } else { Ok(()) }
    }

    /// Comes out of a container.
    pub(super) fn leave(&mut self) {
        self.depth -= 1;
    }
}

/// A value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Value<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    /// Always finite.
    Double(f64),
    Text(&'a str),
    /// A value that JSON has no type for: the number of the column type (`enum_field_types`), and its bytes.
    Opaque(u8, &'a [u8]),
    /// The values of an array, and the bytes from its beginning on: see [`Container::enter`]. What is in it is read when it is
    /// needed, so that values are small: they are passed on for each number and string.
    Array(Size, &'a [u8]),
    /// The same of an object.
    Object(Size, &'a [u8]),
}

/// How large the places and sizes in an array or object are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Size {
    /// Two bytes.
    Small,
    /// Four bytes.
    Large,
}

impl<'a> Value<'a> {
    /// The value that a document is, and the bounds for reading what is in it.
    pub(super) fn of(document: &'a [u8]) -> Result<(Self, Bounds), Invalid> {
        let mut bounds = Bounds { unread: document.len(), depth: 0 };
        let value = match document.split_first() {
            // A column that may not be NULL got none, in a session that let that pass: the server reads it as this.
            None => Self::Null,
            Some((&kind, bytes)) => Self::parse(kind, bytes, &mut bounds)?,
        };
        Ok((value, bounds))
    }

    #[inline(always)]
    fn parse(kind: u8, bytes: &'a [u8], bounds: &mut Bounds) -> Result<Self, Invalid> {
        match kind {
            kind::SMALL_OBJECT => return Ok(Self::Object(Size::Small, bytes)),
            kind::LARGE_OBJECT => return Ok(Self::Object(Size::Large, bytes)),
            kind::SMALL_ARRAY => return Ok(Self::Array(Size::Small, bytes)),
            kind::LARGE_ARRAY => return Ok(Self::Array(Size::Large, bytes)),
            _ => {}
        }
        let mut at = Cursor::new(bytes);
        let value = Self::scalar(kind, &mut at)?;
        bounds.read(bytes.len() - at.len())?;
        Ok(value)
    }

    #[inline(always)]
    fn scalar(kind: u8, at: &mut Cursor<'a>) -> Result<Self, Invalid> {
        Ok(match kind {
            kind::LITERAL => match at.u8()? {
                0 => Self::Null,
                1 => Self::Bool(true),
                2 => Self::Bool(false),
                _ => return Err(Invalid::Literal),
            },
            kind::INT16 => Self::Int(at.u16()?.cast_signed().into()),
            kind::UINT16 => Self::Uint(at.u16()?.into()),
            kind::INT32 => Self::Int(at.u32()?.cast_signed().into()),
            kind::UINT32 => Self::Uint(at.u32()?.into()),
            kind::INT64 => Self::Int(at.u64()?.cast_signed()),
            kind::UINT64 => Self::Uint(at.u64()?),
            kind::DOUBLE => match f64::from_bits(at.u64()?) {
                double if double.is_finite() => Self::Double(double),
                _ => return Err(Invalid::Literal),
            },
            kind::STRING => {
                let length = length(at)?;
                Self::Text(utf8(at.take(length)?)?)
            }
            kind::OPAQUE => {
                let (column_type, length) = (at.u8()?, length(at)?);
                Self::Opaque(column_type, at.take(length)?)
            }
            unknown => return Err(Invalid::Type(unknown)),
        })
    }
}

/// The length of a string: seven bits in each byte, the lowest first; the last byte's highest bit is 0. Five bytes hold the largest.
fn length(at: &mut Cursor<'_>) -> Result<usize, Short> {
    let mut length = 0;
    for shift in [0, 7, 14, 21, 28] {
        let byte = at.u8()?;
        length |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return usize::try_from(length).map_err(|_| Short);
        }
    }
    Err(Short)
}

pub(super) fn utf8(bytes: &[u8]) -> Result<&str, Invalid> {
    str::from_utf8(bytes).map_err(|_| Invalid::Text)
}

/// An array or an object.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Container<'a> {
    /// All of it.
    bytes: &'a [u8],
    /// How many values it has.
    pub(super) len: usize,
    /// How many bytes come before the first key or value.
    head: usize,
    /// Whether it has keys.
    pub(super) is_object: bool,
    /// Whether places and lengths have four bytes instead of two.
    is_large: bool,
}

impl<'a> Container<'a> {
    /// Goes into an array or an object.
    pub(super) fn enter(value: Value<'a>, bounds: &mut Bounds) -> Result<Self, Invalid> {
        let (size, bytes, is_object) = match value {
            Value::Array(size, bytes) => (size, bytes, false),
            Value::Object(size, bytes) => (size, bytes, true),
            _ => return Err(Invalid::Literal),
        };
        bounds.enter()?;
        let is_large = size == Size::Large;
        let mut at = Cursor::new(bytes);
        let (len, size) = (place(&mut at, is_large)?, place(&mut at, is_large)?);
        let bytes = bytes.get(..size).ok_or(Invalid::Short)?;
        let mut container = Self { bytes, len, head: 0, is_object, is_large };
        container.head = container.value_entry(len);
        if container.head > size {
            return Err(Invalid::Short);
        }
        bounds.read(container.head)?;
        Ok(container)
    }

    /// Where the entry is that tells of this key.
    fn key_entry(&self, index: usize) -> usize {
        let (start, entry) = if self.is_large { (8, 6) } else { (4, 4) };
        index.saturating_mul(entry).saturating_add(start)
    }

    /// Where the entry is that tells of this value: entries of values follow on those of keys.
    fn value_entry(&self, index: usize) -> usize {
        let entry = if self.is_large { 5 } else { 3 };
        let start = self.key_entry(if self.is_object { self.len } else { 0 });
        index.saturating_mul(entry).saturating_add(start)
    }

    /// The bytes from a place on at which a key or value may be.
    fn from(&self, place: usize) -> Result<&'a [u8], Invalid> {
        if place < self.head {
            return Err(Invalid::Overlap);
        }
        self.bytes.get(place..).ok_or(Invalid::Short)
    }

    /// A key of an object, by its number among them.
    pub(super) fn key(&self, index: usize, bounds: &mut Bounds) -> Result<&'a str, Invalid> {
        let mut at = Cursor::new(self.bytes.get(self.key_entry(index)..).ok_or(Invalid::Short)?);
        let (start, length) = (place(&mut at, self.is_large)?, usize::from(at.u16()?));
        let key = self.from(start)?.get(..length).ok_or(Invalid::Short)?;
        bounds.read(length)?;
        utf8(key)
    }

    /// A value, by its number among them. Always inline, with what it calls: what becomes of a value is then known where it is read,
    /// and writing text takes half the time.
    #[inline(always)]
    pub(super) fn value(&self, index: usize, bounds: &mut Bounds) -> Result<Value<'a>, Invalid> {
        let mut at = Cursor::new(self.bytes.get(self.value_entry(index)..).ok_or(Invalid::Short)?);
        let kind = at.u8()?;
        let is_inlined = match kind {
            kind::LITERAL | kind::INT16 | kind::UINT16 => true,
            kind::INT32 | kind::UINT32 => self.is_large,
            _ => false,
        };
        if is_inlined {
            return Value::scalar(kind, &mut at);
        }
        let start = place(&mut at, self.is_large)?;
        Value::parse(kind, self.from(start)?, bounds)
    }
}

/// A place, a size or a number of values.
fn place(at: &mut Cursor<'_>, is_large: bool) -> Result<usize, Short> {
    if is_large { usize::try_from(at.u32()?).map_err(|_| Short) } else { at.u16().map(usize::from) }
}

#[cfg(test)]
mod tests {
    use super::super::write_text;
    use super::*;

    fn text_of(document: &[u8]) -> Result<String, Invalid> {
        let mut out = Vec::new();
        write_text(document, &mut out).map(|()| String::from_utf8(out).unwrap())
    }

    /// A small array whose entries are given, and what comes behind them.
    fn array(entries: &[(u8, u16)], rest: &[u8]) -> Vec<u8> {
        let size = 4 + entries.len() * 3 + rest.len();
        let mut bytes = vec![2];
        bytes.extend((entries.len() as u16).to_le_bytes());
        bytes.extend((size as u16).to_le_bytes());
        for (kind, place) in entries {
            bytes.push(*kind);
            bytes.extend(place.to_le_bytes());
        }
        bytes.extend(rest);
        bytes
    }

    #[test]
    fn places_that_lie() {
        assert_eq!(text_of(&array(&[(kind::STRING, 7)], b"\x01a")), Ok("[\"a\"]".into()));
        // Outside, in the entries, over the end.
        assert_eq!(text_of(&array(&[(kind::STRING, 9)], b"\x01a")), Err(Invalid::Short));
        assert_eq!(text_of(&array(&[(kind::STRING, 6)], b"\x01a")), Err(Invalid::Overlap));
        assert_eq!(text_of(&array(&[(kind::STRING, 7)], b"\x02a")), Err(Invalid::Short));
        assert_eq!(text_of(&array(&[(kind::STRING, 7)], b"\xff\xff\xff\xff\xff\xff")), Err(Invalid::Short));
        assert_eq!(text_of(&array(&[(2, 0)], b"")), Err(Invalid::Overlap));
        // Two values in the same bytes.
        assert_eq!(text_of(&array(&[(kind::STRING, 10); 2], b"\x01a")), Err(Invalid::Overlap));
    }

    #[test]
    fn counts_that_lie() {
        assert_eq!(text_of(&[2, 0xff, 0xff, 4, 0]), Err(Invalid::Short));
        assert_eq!(text_of(&[3, 0xff, 0xff, 0xff, 0xff, 8, 0, 0, 0]), Err(Invalid::Short));
        assert_eq!(text_of(&[0, 1, 0, 11, 0, 11, 0, 0, 0, 4, 0]), Err(Invalid::Short));
        assert_eq!(text_of(&[0, 1, 0, 11, 0, 11, 0, 0, 0, 4, 0, 0]), Ok("{\"\": null}".into()));
        assert_eq!(text_of(&[2, 0, 0, 5, 0]), Err(Invalid::Short));
        assert_eq!(text_of(&[2]), Err(Invalid::Short));
    }

    #[test]
    fn types_and_literals_that_nobody_knows() {
        assert_eq!(text_of(&[13, 0]), Err(Invalid::Type(13)));
        assert_eq!(text_of(&[kind::LITERAL, 3]), Err(Invalid::Literal));
        assert_eq!(text_of(&[kind::DOUBLE, 0, 0, 0, 0, 0, 0, 0xf0, 0x7f]), Err(Invalid::Literal));
        assert_eq!(text_of(&[kind::STRING, 1, 0xff]), Err(Invalid::Text));
        assert_eq!(text_of(&[kind::INT32, 0, 0, 0]), Err(Invalid::Short));
    }

    /// Each array has the next one twice, which is how a hundred of them would become 2 to the power of 100.
    #[test]
    fn what_many_point_at_is_read_once() {
        let mut bytes = array(&[], b"");
        for _ in 0..90 {
            let inner = bytes.split_off(1);
            bytes = array(&[(2, 10), (2, 10)], &inner);
        }
        assert_eq!(text_of(&bytes), Err(Invalid::Overlap));
    }

    #[test]
    fn containers_in_each_other() {
        let nested = |times| {
            let mut bytes = array(&[], b"");
            for _ in 1..times {
                let inner = bytes.split_off(1);
                bytes = array(&[(2, 7)], &inner);
            }
            bytes
        };
        assert_eq!(text_of(&nested(100)), Ok("[".repeat(100) + &"]".repeat(100)));
        assert_eq!(text_of(&nested(101)), Err(Invalid::Deep));
    }

    #[test]
    fn an_error_leaves_nothing_behind() {
        let mut out = b"before".to_vec();
        write_text(&array(&[(kind::INT16, 1), (13, 10)], b"a"), &mut out).unwrap_err();
        assert_eq!(out, b"before");
    }
}
