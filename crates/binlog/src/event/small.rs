//! Events of a few fields.

use crate::log::{Cursor, Event, Format, Header, Kind, Short};

/// The number of the transaction that an XID event commits.
pub fn xid(body: &[u8], format: &Format) -> Result<u64, Short> {
    let mut at = Cursor::new(body);
    // MySQL has nothing before it; a server that says it has is believed.
    at.take(format.post_header(Kind::XID).unwrap_or(0))?;
    at.u64()
}

/// The next log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rotate<'a> {
    /// Where to begin in it.
    pub position: u64,
    /// Its name.
    pub log: &'a [u8],
}

impl<'a> Rotate<'a> {
    /// Reads the body of a Rotate event.
    pub fn parse(body: &'a [u8], format: &Format) -> Result<Self, Short> {
        let mut at = Cursor::new(body);
        // MySQL 3.23 gave no position.
        let position = if format.header_length < Header::LENGTH { 4 } else { at.u64()? };
        Ok(Self { position, log: at.rest() })
    }

    /// The name of the log that comes next, if this one ends with the event.
    pub(crate) fn next_log(event: &Event<'a>, format: &Format) -> Result<Option<String>, Short> {
        if event.kind != Kind::ROTATE || event.header.flags & Header::ARTIFICIAL != 0 {
            return Ok(None);
        }
        let log = Self::parse(event.body, format)?.log;
        Ok(Some(String::from_utf8_lossy(log).into_owned()))
    }
}

/// A number that the next statement depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Intvar {
    /// `LAST_INSERT_ID()`.
    LastInsertId(u64),
    /// The first value of the AUTO_INCREMENT column.
    InsertId(u64),
    /// One that nobody knows, with its number.
    Other(u8, u64),
}

impl Intvar {
    /// Reads the body of an Intvar event.
    pub fn parse(body: &[u8]) -> Result<Self, Short> {
        let mut at = Cursor::new(body);
        let (kind, value) = (at.u8()?, at.u64()?);
        Ok(match kind {
            1 => Self::LastInsertId(value),
            2 => Self::InsertId(value),
            other => Self::Other(other, value),
        })
    }
}

/// The seeds of `RAND()` for the next statement.
pub fn rand_seeds(body: &[u8]) -> Result<(u64, u64), Short> {
    let mut at = Cursor::new(body);
    Ok((at.u64()?, at.u64()?))
}

/// A variable that the next statement depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UserVar<'a> {
    /// Without the `@`.
    pub name: &'a [u8],
    /// Its value; `None` for NULL.
    pub value: Option<UserValue<'a>>,
}

/// The value of a variable, as the server keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UserValue<'a> {
    /// 0 text, 1 floating point, 2 whole number, 4 decimal: `Item_result`.
    pub kind: u8,
    /// The number of the collation of text.
    pub collation: u32,
    /// The value's bytes.
    pub bytes: &'a [u8],
    /// Whether a whole number has no sign.
    pub is_unsigned: bool,
}

impl<'a> UserVar<'a> {
    /// Reads the body of a User_var event.
    pub fn parse(body: &'a [u8]) -> Result<Self, Short> {
        let mut at = Cursor::new(body);
        let length = at.u32()? as usize;
        let name = at.take(length)?;
        if at.u8()? != 0 {
            return Ok(Self { name, value: None });
        }
        let (kind, collation, length) = (at.u8()?, at.u32()?, at.u32()? as usize);
        let bytes = at.take(length)?;
        // Servers before 5.1.42 wrote no flags.
        let is_unsigned = at.u8().is_ok_and(|flags| flags & 1 != 0);
        Ok(Self { name, value: Some(UserValue { kind, collation, bytes, is_unsigned }) })
    }
}

/// The statement that caused the rows that follow, in the event of MySQL or of MariaDB that tells it.
pub fn statement_of_rows(kind: Kind, body: &[u8]) -> Result<&[u8], Short> {
    let mut at = Cursor::new(body);
    if kind == Kind::ROWS_QUERY {
        // Its length, in one byte, which is of no use where it has more than 255.
        at.u8()?;
    }
    Ok(at.rest())
}

/// The message of a server that something may be missing in its log.
pub fn incident(body: &[u8]) -> Result<&[u8], Short> {
    const LOST_EVENTS: u16 = 1;
    let mut at = Cursor::new(body);
    // There is no other.
    if at.u16()? != LOST_EVENTS {
        return Err(Short);
    }
    // It may be cut off where the log's last bytes were.
    at.short_text().or(Ok(&[]))
}

/// The file that an event gives a block of, loads or deletes.
pub fn file_id(body: &[u8]) -> Result<u32, Short> {
    Cursor::new(body).u32()
}
