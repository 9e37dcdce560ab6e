//! The table that row events are about: before the rows of a statement comes an event that gives the table a number.

use crate::log::{Cursor, Format, Kind, Short};

/// A table, as the server that wrote the log described it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableMap<'a> {
    /// The number by which the row events that follow call it.
    pub id: u64,
    /// Its schema.
    pub schema: &'a [u8],
    /// Its name.
    pub table: &'a [u8],
    /// The columns' types, one byte each.
    pub types: &'a [u8],
    /// What belongs to the types: lengths, digits.
    pub metadata: &'a [u8],
    /// A bit for each column: whether it may be NULL.
    pub nullable: &'a [u8],
    /// Fields of kind, length and value: signs, character sets, names; often only some of them, or none.
    pub more: &'a [u8],
}

impl<'a> TableMap<'a> {
    /// Reads the body of a Table_map event.
    pub fn parse(body: &'a [u8], format: &Format) -> Result<Self, Short> {
        let mut at = Cursor::new(body);
        let id = table_id(&mut at, Kind::TABLE_MAP, format)?;
        at.u16()?; // flags
        let (schema, table) = (name(&mut at)?, name(&mut at)?);
        let columns = length(&mut at)?;
        let types = at.take(columns)?;
        if at.is_empty() {
            // Before 5.1.15 this was all.
            return Ok(Self { id, schema, table, types, metadata: &[], nullable: &[], more: &[] });
        }
        let metadata = length(&mut at)?;
        let metadata = at.take(metadata)?;
        let nullable = at.take(columns.div_ceil(8))?;
        Ok(Self { id, schema, table, types, metadata, nullable, more: at.rest() })
    }
}

fn name<'a>(at: &mut Cursor<'a>) -> Result<&'a [u8], Short> {
    let length = length(at)?;
    let name = at.take(length)?;
    at.take(1)?; // a NUL
    Ok(name)
}

pub(super) fn length(at: &mut Cursor<'_>) -> Result<usize, Short> {
    usize::try_from(at.packed()?).map_err(|_| Short)
}

/// The number of a table: of six bytes, before 5.1.4 of four.
pub(super) fn table_id(at: &mut Cursor<'_>, kind: Kind, format: &Format) -> Result<u64, Short> {
    if format.post_header(kind) == Some(6) { at.u32().map(u64::from) } else { at.u48() }
}
