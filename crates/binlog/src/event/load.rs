//! Files that LOAD DATA reads: their content, and the statements.

use std::ops::Range;

use crate::log::{Cursor, Format, Kind, Short};

use super::query::Query;
use crate::sql::text::{push_name, push_quoted};

/// A part of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block<'a> {
    /// The file's number: good from the event that begins it to the one that loads or deletes it.
    pub file: u32,
    /// What comes next in it.
    pub bytes: &'a [u8],
}

impl<'a> Block<'a> {
    /// Reads the body of a Begin_load_query or an Append_block event.
    pub fn parse(body: &'a [u8]) -> Result<Self, Short> {
        let mut at = Cursor::new(body);
        Ok(Self { file: at.u32()?, bytes: at.rest() })
    }
}

/// What to do with a row whose key is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Duplicates {
    /// It is an error.
    Error,
    /// The row that is there stays.
    Ignore,
    /// The row that comes stays.
    Replace,
}

impl Duplicates {
    /// The word in a statement that says so, with a space before it.
    pub(crate) fn words(self) -> &'static [u8] {
        match self {
            Self::Error => b"",
            Self::Ignore => b" IGNORE",
            Self::Replace => b" REPLACE",
        }
    }
}

/// The statement that loads a file (from 5.0.3 on).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExecuteLoad<'a> {
    /// The statement, with the name that the file had.
    pub query: Query<'a>,
    /// The file's number.
    pub file: u32,
    /// Where in the statement the words ` INFILE 'name' INTO` begin, or those that stand there.
    pub name_start: usize,
    /// Where they end.
    pub name_end: usize,
    /// What the statement says of rows that are there.
    pub duplicates: Duplicates,
}

/// The file's number, where its name is, and what to do with duplicates, in bytes.
const MORE: usize = 4 + 4 + 4 + 1;

impl<'a> ExecuteLoad<'a> {
    /// Reads the body of an Execute_load_query event.
    pub fn parse(body: &'a [u8], format: &Format) -> Result<Self, Short> {
        let query = Query::parse_head(&mut Cursor::new(body), format, MORE)?;
        let mut at = Cursor::new(body);
        at.take(13)?; // what a statement begins with
        let (file, name_start, name_end) = (at.u32()?, at.u32()? as usize, at.u32()? as usize);
        let duplicates = match at.u8()? {
            1 => Duplicates::Ignore,
            2 => Duplicates::Replace,
            _ => Duplicates::Error,
        };
        if name_start > name_end || name_end > query.text.len() {
            return Err(Short);
        }
        Ok(Self { query, file, name_start, name_end, duplicates })
    }
}

/// How a file's lines and fields are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clauses<'a> {
    /// FIELDS TERMINATED BY.
    pub field_end: &'a [u8],
    /// ENCLOSED BY.
    pub enclosed: &'a [u8],
    /// LINES TERMINATED BY.
    pub line_end: &'a [u8],
    /// LINES STARTING BY.
    pub line_start: &'a [u8],
    /// ESCAPED BY.
    pub escaped: &'a [u8],
    /// Whether enclosing is OPTIONALLY.
    pub is_optional: bool,
    /// What to do with rows that are there.
    pub duplicates: Duplicates,
}

/// A LOAD DATA of a server before 5.0.3, which was logged in parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OldLoad<'a> {
    /// The number of the session that ran it.
    pub thread: u32,
    /// Lines at the beginning that are passed over.
    pub skipped_lines: u32,
    /// How lines and fields are told apart.
    pub clauses: Clauses<'a>,
    /// The columns that are named; none where it takes all.
    pub columns: Vec<&'a [u8]>,
    /// The table.
    pub table: &'a [u8],
    /// Its schema.
    pub schema: &'a [u8],
    /// What the file was called.
    pub file_name: &'a [u8],
    /// The file's number and its first block, of a Create_file event.
    pub block: Option<Block<'a>>,
}

/// Bits of the flags behind the clauses: MariaDB `sql/log_event.h`, DUMPFILE_FLAG and those after it.
mod flag {
    pub(super) const OPTIONALLY: u8 = 0x02;
    pub(super) const REPLACE: u8 = 0x04;
    pub(super) const IGNORE: u8 = 0x08;
}

/// Bits that say which of the clauses of an old Load event are empty.
mod empty {
    pub(super) const FIELD_END: u8 = 0x01;
    pub(super) const ENCLOSED: u8 = 0x02;
    pub(super) const LINE_END: u8 = 0x04;
    pub(super) const LINE_START: u8 = 0x08;
    pub(super) const ESCAPED: u8 = 0x10;
}

impl<'a> OldLoad<'a> {
    /// Reads the body of a Load, New_load or Create_file event.
    pub fn parse(kind: Kind, body: &'a [u8]) -> Result<Self, Short> {
        let mut at = Cursor::new(body);
        let thread = at.u32()?;
        at.u32()?; // how long it took
        let skipped_lines = at.u32()?;
        let (table, schema, count) = (at.u8()?, at.u8()?, at.u32()? as usize);
        let file = if kind == Kind::CREATE_FILE { Some(at.u32()?) } else { None };
        let clauses = if kind == Kind::LOAD { Clauses::old(&mut at)? } else { Clauses::new(&mut at)? };
        let lengths = at.take(count)?;
        let mut columns = Vec::with_capacity(count);
        for &length in lengths {
            columns.push(text(&mut at, length)?);
        }
        let (table, schema) = (text(&mut at, table)?, text(&mut at, schema)?);
        let (file_name, block) = match file {
            Some(file) => (at.until_nul()?, Some(Block { file, bytes: at.rest() })),
            None => (at.rest(), None),
        };
        Ok(Self { thread, skipped_lines, clauses, columns, table, schema, file_name, block })
    }
}

impl OldLoad<'_> {
    /// The statement that loads a file of this name.
    pub fn statement(&self, file_name: &[u8]) -> Vec<u8> {
        let (mut out, _) = self.statement_to_name(file_name);
        self.push_rest(&mut out);
        out
    }

    /// The statement with the name that the file had, and where in it the words ` INFILE 'name' INTO` are.
    pub(crate) fn statement_and_name(&self) -> (Vec<u8>, Range<usize>) {
        let (mut out, name) = self.statement_to_name(self.file_name);
        self.push_rest(&mut out);
        (out, name)
    }

    fn statement_to_name(&self, file_name: &[u8]) -> (Vec<u8>, Range<usize>) {
        let mut out = b"LOAD DATA".to_vec();
        let start = out.len();
        out.extend_from_slice(b" INFILE ");
        push_quoted(file_name, &mut out);
        out.extend_from_slice(self.clauses.duplicates.words());
        out.extend_from_slice(b" INTO");
        let end = out.len();
        (out, start..end)
    }

    /// What comes behind INTO.
    fn push_rest(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b" TABLE ");
        push_name(self.table, out);
        self.clauses.push(out);
        if self.skipped_lines > 0 {
            out.extend_from_slice(format!(" IGNORE {} LINES", self.skipped_lines).as_bytes());
        }
        for (index, column) in self.columns.iter().enumerate() {
            out.extend_from_slice(if index == 0 { b" (" } else { b", " });
            push_name(column, out);
        }
        if !self.columns.is_empty() {
            out.push(b')');
        }
    }
}

/// So many bytes and a NUL.
fn text<'a>(at: &mut Cursor<'a>, length: u8) -> Result<&'a [u8], Short> {
    let text = at.take(usize::from(length))?;
    at.take(1)?;
    Ok(text)
}

impl<'a> Clauses<'a> {
    fn new(at: &mut Cursor<'a>) -> Result<Self, Short> {
        let (field_end, enclosed) = (at.short_text()?, at.short_text()?);
        let (line_end, line_start, escaped) = (at.short_text()?, at.short_text()?, at.short_text()?);
        let flags = at.u8()?;
        Ok(Self {
            field_end,
            enclosed,
            line_end,
            line_start,
            escaped,
            is_optional: false,
            duplicates: Duplicates::Error,
        }
        .flagged(flags))
    }

    fn push(&self, out: &mut Vec<u8>) {
        let clause = |out: &mut Vec<u8>, words: &str, value: &[u8]| {
            out.extend_from_slice(words.as_bytes());
            push_quoted(value, out);
        };
        clause(out, " FIELDS TERMINATED BY ", self.field_end);
        if !self.enclosed.is_empty() {
            clause(
                out,
                if self.is_optional { " OPTIONALLY ENCLOSED BY " } else { " ENCLOSED BY " },
                self.enclosed,
            );
        }
        clause(out, " ESCAPED BY ", self.escaped);
        clause(out, " LINES TERMINATED BY ", self.line_end);
        if !self.line_start.is_empty() {
            clause(out, " STARTING BY ", self.line_start);
        }
    }

    /// One byte each, and bits that say which are none.
    fn old(at: &mut Cursor<'a>) -> Result<Self, Short> {
        let (field_end, enclosed) = (at.take(1)?, at.take(1)?);
        let (line_end, line_start, escaped) = (at.take(1)?, at.take(1)?, at.take(1)?);
        let (flags, none) = (at.u8()?, at.u8()?);
        let given = |bytes: &'a [u8], bit: u8| if none & bit == 0 { bytes } else { &[] };
        Ok(Self {
            field_end: given(field_end, empty::FIELD_END),
            enclosed: given(enclosed, empty::ENCLOSED),
            line_end: given(line_end, empty::LINE_END),
            line_start: given(line_start, empty::LINE_START),
            escaped: given(escaped, empty::ESCAPED),
            is_optional: false,
            duplicates: Duplicates::Error,
        }
        .flagged(flags))
    }

    fn flagged(self, flags: u8) -> Self {
        let duplicates = match flags {
            _ if flags & flag::REPLACE != 0 => Duplicates::Replace,
            _ if flags & flag::IGNORE != 0 => Duplicates::Ignore,
            _ => Duplicates::Error,
        };
        Self { is_optional: flags & flag::OPTIONALLY != 0, duplicates, ..self }
    }
}
