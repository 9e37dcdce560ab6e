//! Rows that came in, were changed or went.

use crate::log::{Cursor, Format, Kind, RowChange, Short};

use super::table_map::{length, table_id};

/// Rows of one table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rows<'a> {
    /// What happened to them.
    pub change: RowChange,
    /// The number of the table; see [`super::TableMap`].
    pub table: u64,
    /// See the constants.
    pub flags: u16,
    /// How many columns the table has.
    pub columns: usize,
    /// A bit for each column: whether the rows hold it; of an update, the rows as they were.
    pub before: &'a [u8],
    /// The same of an update's rows as they are; else as `before`.
    pub after: &'a [u8],
    /// Whether values of JSON columns may be given as what changed in them.
    pub is_partial: bool,
    /// The rows.
    pub rows: &'a [u8],
}

/// The length of what comes first in the body of events of the second version, in bytes.
pub(crate) const SECOND_VERSION: usize = 10;

impl<'a> Rows<'a> {
    /// The last event of a statement.
    pub const STATEMENT_END: u16 = 0x1;
    /// `foreign_key_checks` was off.
    pub const NO_FOREIGN_KEY_CHECKS: u16 = 0x2;
    /// `unique_checks` was off.
    pub const NO_UNIQUE_CHECKS: u16 = 0x4;

    /// Reads the body of an event of rows; one that is compressed must have been unpacked.
    pub fn parse(kind: Kind, body: &'a [u8], format: &Format) -> Result<Self, Short> {
        let change = kind.row_change().ok_or(Short)?;
        let mut at = Cursor::new(body);
        let head = Head::parse(kind, &mut at, format)?;
        let Head { table, flags, columns, before, after } = head;
        let is_partial = kind == Kind::PARTIAL_UPDATE_ROWS;
        Ok(Self { change, table, flags, columns, before, after, is_partial, rows: at.rest() })
    }

    /// The number of the table, and the flags, without looking further.
    pub fn table_and_flags(kind: Kind, body: &[u8], format: &Format) -> Result<(u64, u16), Short> {
        let mut at = Cursor::new(body);
        Ok((table_id(&mut at, kind, format)?, at.u16()?))
    }
}

/// What comes before the rows.
struct Head<'a> {
    table: u64,
    flags: u16,
    columns: usize,
    before: &'a [u8],
    after: &'a [u8],
}

impl<'a> Head<'a> {
    /// The number of the table, and the flags; passes what stands between them and the columns.
    fn parse_ids(kind: Kind, at: &mut Cursor<'a>, format: &Format) -> Result<(u64, u16), Short> {
        let (table, flags) = (table_id(at, kind, format)?, at.u16()?);
        if format.post_header(kind) == Some(SECOND_VERSION) {
            // Its own two bytes count too.
            let more = usize::from(at.u16()?).checked_sub(2).ok_or(Short)?;
            check_more(at.take(more)?)?;
        }
        Ok((table, flags))
    }

    fn parse(kind: Kind, at: &mut Cursor<'a>, format: &Format) -> Result<Self, Short> {
        let (table, flags) = Self::parse_ids(kind, at, format)?;
        let columns = length(at)?;
        let before = at.take(columns.div_ceil(8))?;
        let is_update = kind.row_change() == Some(RowChange::Update);
        // Before 5.1.16 an update had one set of columns for both.
        let after = if is_update && kind != Kind::PRE_GA_UPDATE_ROWS {
            at.take(columns.div_ceil(8))?
        } else {
            before
        };
        Ok(Self { table, flags, columns, before, after })
    }
}

/// What NDB and partitions tell of rows: a kind and what belongs to it, of which nothing is needed.
fn check_more(bytes: &[u8]) -> Result<(), Short> {
    const NDB: u8 = 0;
    let mut at = Cursor::new(bytes);
    if !at.is_empty() && at.u8()? == NDB {
        // Its length counts itself and the byte behind it.
        let length = usize::from(at.u8()?).checked_sub(1).filter(|&left| left > 0).ok_or(Short)?;
        at.take(length)?;
    }
    Ok(())
}

/// Where the number of columns stands, with the columns that the rows hold behind it.
pub fn rows_masks_start(kind: Kind, body: &[u8], format: &Format) -> Result<usize, Short> {
    let mut at = Cursor::new(body);
    Head::parse_ids(kind, &mut at, format)?;
    Ok(body.len() - at.len())
}

/// How much stands before the rows, which is what is not compressed of a compressed event.
pub fn rows_head_length(kind: Kind, body: &[u8], format: &Format) -> Result<usize, Short> {
    let mut at = Cursor::new(body);
    Head::parse(kind, &mut at, format)?;
    Ok(body.len() - at.len())
}
