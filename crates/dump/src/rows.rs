//! The row path: rows come from a connection as packets and become lines and digests. What takes the lines is another
//! matter: files, another server, or nobody, where a table is read back to be compared.

use drover_db::table::text;
use drover_db::wire::{Field, LargeRow, RawRow, RowStream, next_field};
use xxhash_rust::xxh3::Xxh3;

use crate::error::Doing;
use crate::mask::Masker;
use crate::progress::Share;
use crate::{Error, Result};
use drover_format::digest::Digest;
use drover_format::manifest::Chunk;

/// Text is handed on in pieces of about this many bytes.
const PIECE: usize = 256 << 10;

/// What takes the text of rows.
pub(crate) trait Out {
    /// Takes the next piece of it; no border of a row need be there.
    fn write(&mut self, text: &[u8]) -> Result<()>;
}

/// Nobody: only the sums are wanted.
struct Nobody;

impl Out for Nobody {
    fn write(&mut self, _text: &[u8]) -> Result<()> {
        Ok(())
    }
}

/// What the rows of a result look like.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shape {
    /// How many fields a row has.
    pub(crate) columns: usize,
    /// How many fields follow that are in no line: the stored generated columns.
    pub(crate) generated: usize,
    /// Fields of the key's columns.
    pub(crate) keys: Vec<usize>,
    /// Fields of ENUM columns, and the text of each that stands for its error value.
    pub(crate) error_marks: Vec<(usize, Vec<u8>)>,
    /// Fields of which the text as stored comes again behind all others: where it is another than the one that
    /// loading makes of it, the row is counted.
    pub(crate) twins: Vec<usize>,
    /// Fields of which something tells behind those whether loading loses some of their value, as 1 or 0.
    pub(crate) losses: Vec<usize>,
    /// Fields of documents, of which none is empty.
    pub(crate) documents: Vec<usize>,
    /// Fields whose values are replaced, in order.
    pub(crate) masks: Vec<(usize, Masker)>,
}

/// What was read so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Sums {
    pub(crate) rows: u64,
    /// Of the text, with newlines.
    pub(crate) bytes: u64,
    pub(crate) digest: Digest,
    /// Of the rows with their generated columns; 0 if there are none.
    pub(crate) generated: Digest,
    pub(crate) enum_errors: u64,
    /// Rows of which loading changes the text of a value.
    pub(crate) retyped: u64,
}

impl Sums {
    /// Of files, as the manifest has them.
    pub(crate) fn of(files: &[Chunk]) -> Self {
        let mut sums = Self::default();
        for file in files {
            sums.rows += file.rows;
            sums.bytes += file.bytes;
            sums.digest.add(file.digest);
            sums.generated.add(file.generated);
            sums.enum_errors += file.enum_errors;
            sums.retyped += file.retyped;
        }
        sums
    }
}

/// Turns rows into lines.
pub(crate) struct Lines<'a> {
    shape: &'a Shape,
    buffer: Vec<u8>,
    /// Bytes of the text that have left the buffer.
    flushed: u64,
    sums: Sums,
    /// How many values of each column loading makes others of.
    lost: Vec<u64>,
}

/// What a chunk came to.
#[derive(Debug, Default)]
pub(crate) struct Part {
    pub(crate) sums: Sums,
    /// How many values of each column loading makes others of, where that is asked for.
    pub(crate) lost: Vec<u64>,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(shape: &'a Shape) -> Self {
        let buffer = Vec::with_capacity(PIECE + (64 << 10));
        Self { shape, buffer, flushed: 0, sums: Sums::default(), lost: vec![0; shape.columns] }
    }

    /// Adds a row; gives the values of its key if they are wanted.
    #[inline]
    pub(crate) fn add(
        &mut self,
        row: RawRow<'_>,
        wants_key: bool,
        out: &mut impl Out,
    ) -> Result<Option<Vec<Vec<u8>>>> {
        let key = match row {
            RawRow::Whole(payload) => {
                self.whole(payload)?;
                wants_key.then(|| self.key_of(payload))
            }
            RawRow::Large(row) => wants_key.then_some(self.large(row, out)?),
        };
        self.sums.rows += 1;
        if self.buffer.len() >= PIECE {
            self.flush(out)?;
        }
        Ok(key)
    }

    /// The whole number with which the key of a row begins that is sure to be no large one.
    #[inline]
    pub(crate) fn number_of(&self, row: &RawRow<'_>) -> Result<i128> {
        let (RawRow::Whole(payload), Some(&column)) = (row, self.shape.keys.first()) else {
            return Err(Error::found("a row is larger than the types of its columns allow"));
        };
        let mut payload = *payload;
        for _ in 0..column {
            next_field(&mut payload).ok_or_else(malformed)?;
        }
        next_field(&mut payload).and_then(|field| whole_number(field.bytes()?)).ok_or_else(malformed)
    }

    fn key_of(&self, mut payload: &[u8]) -> Vec<Vec<u8>> {
        let mut fields = Vec::with_capacity(self.shape.columns);
        while let Some(field) = next_field(&mut payload) {
            fields.push(field);
        }
        let value = |&column: &usize| fields.get(column).and_then(|field| field.bytes());
        self.shape.keys.iter().map(|column| value(column).unwrap_or_default().to_vec()).collect()
    }

    #[inline]
    fn whole(&mut self, payload: &[u8]) -> Result<()> {
        let start = self.buffer.len();
        let line = match self.shape.masks.is_empty() {
            true => text::line_into(&mut self.buffer, payload, self.shape.columns).ok_or_else(malformed),
            false => self.masked(payload),
        };
        let mut rest = line?;
        self.sums.digest.add_line(&self.buffer[start..]);
        if self.shape.generated > 0 {
            let end = self.buffer.len();
            self.buffer.push(b'\t');
            rest = text::line_into(&mut self.buffer, rest, self.shape.generated).ok_or_else(malformed)?;
            self.sums.generated.add_line(&self.buffer[start..]);
            self.buffer.truncate(end);
        }
        if rest.is_empty() != (self.shape.twins.is_empty() && self.shape.losses.is_empty()) {
            return Err(malformed());
        }
        self.buffer.push(b'\n');
        if !self.shape.error_marks.is_empty() {
            self.count_error_marks(payload);
        }
        if !self.shape.twins.is_empty() {
            self.count_retyped(payload);
        }
        if !self.shape.losses.is_empty() {
            self.count_losses(rest);
        }
        if self.shape.documents.is_empty() { Ok(()) } else { self.see_documents(payload) }
    }

    fn see_documents(&self, mut payload: &[u8]) -> Result<()> {
        let mut documents = self.shape.documents.iter().peekable();
        for column in 0..self.shape.columns {
            let field = next_field(&mut payload).ok_or_else(malformed)?;
            if documents.next_if(|document| **document == column).is_some() && field == Field::Bytes(b"") {
                return Err(cut_document());
            }
        }
        Ok(())
    }

    /// The line of a row of which some values are replaced; gives the fields that are left.
    fn masked<'p>(&mut self, mut payload: &'p [u8]) -> Result<&'p [u8]> {
        let mut masks = self.shape.masks.iter().peekable();
        for column in 0..self.shape.columns {
            if column > 0 {
                self.buffer.push(b'\t');
            }
            let field = next_field(&mut payload).ok_or_else(malformed)?;
            match masks.next_if(|(masked, _)| *masked == column) {
                Some((_, masker)) => write_masked(&mut self.buffer, masker, field.bytes())?,
                None => write_field(&mut self.buffer, field.bytes()),
            }
        }
        Ok(payload)
    }

    fn count_retyped(&mut self, mut payload: &[u8]) {
        let mut fields = Vec::new();
        while let Some(field) = next_field(&mut payload) {
            fields.push(field);
        }
        let before = self.shape.columns + self.shape.generated;
        let pairs = self.shape.twins.iter().zip(fields.iter().skip(before));
        let differs = |(&column, twin): (&usize, &Field<'_>)| fields.get(column) != Some(twin);
        self.sums.retyped += u64::from(pairs.into_iter().any(differs));
    }

    /// `rest` is what follows the generated columns.
    fn count_losses(&mut self, mut rest: &[u8]) {
        let fields = std::iter::from_fn(|| next_field(&mut rest));
        for (&column, field) in self.shape.losses.iter().zip(fields.skip(self.shape.twins.len())) {
            self.lost[column] += u64::from(field == Field::Bytes(b"1"));
        }
    }

    fn count_error_marks(&mut self, mut payload: &[u8]) {
        let mut marks = self.shape.error_marks.iter().peekable();
        for column in 0..self.shape.columns {
            let (Some(field), Some((marked, mark))) = (next_field(&mut payload), marks.peek()) else {
                return;
            };
            if *marked == column {
                self.sums.enum_errors += u64::from(field == Field::Bytes(mark));
                marks.next();
            }
        }
    }

    /// A row larger than the receive buffer passes in pieces: never is all of it in memory. Gives the values of its key.
    fn large(&mut self, mut row: LargeRow<'_>, out: &mut impl Out) -> Result<Vec<Vec<u8>>> {
        let mut hash = Xxh3::new();
        let mut key = vec![Vec::new(); self.shape.keys.len()];
        let mut hashed = self.buffer.len();
        for column in 0..self.shape.columns {
            if column > 0 {
                self.buffer.push(b'\t');
            }
            let length = row.next_field().map_err(broken)?;
            if length == Some(0) && self.shape.documents.contains(&column) {
                return Err(cut_document());
            }
            let start = self.buffer.len();
            let masker = self.shape.masks.iter().find(|(masked, _)| *masked == column);
            if let Some((_, masker)) = masker {
                let value = length.is_some().then(|| collect(&mut row)).transpose()?;
                write_masked(&mut self.buffer, masker, value.as_deref())?;
                continue;
            }
            let mut part = self.shape.keys.iter().position(|&of_key| of_key == column).map(|at| &mut key[at]);
            if length.is_none() {
                self.buffer.extend_from_slice(b"\\N");
            }
            loop {
                let piece = row.piece().map_err(broken)?;
                if piece.is_empty() {
                    break;
                }
                if let Some(part) = &mut part {
                    part.extend_from_slice(piece);
                }
                text::escape_into(&mut self.buffer, piece);
                if self.buffer.len() >= PIECE {
                    hash.update(&self.buffer[hashed..]);
                    self.flush(out)?;
                    hashed = 0;
                }
            }
            let is_mark = |(marked, mark): &&(usize, Vec<u8>)| {
                *marked == column && self.buffer.get(start..) == Some(mark)
            };
            self.sums.enum_errors += self.shape.error_marks.iter().filter(is_mark).count() as u64;
        }
        hash.update(&self.buffer[hashed..]);
        self.sums.digest.add_hashed(&hash);
        self.buffer.push(b'\n');
        self.large_generated(&mut row, hash)?;
        self.large_losses(&mut row)?;
        Ok(key)
    }

    fn large_losses(&mut self, row: &mut LargeRow<'_>) -> Result<()> {
        if self.shape.losses.is_empty() {
            return Ok(());
        }
        for _ in &self.shape.twins {
            row.next_field().map_err(broken)?;
        }
        for &column in &self.shape.losses {
            row.next_field().map_err(broken)?;
            self.lost[column] += u64::from(row.piece().map_err(broken)? == b"1");
        }
        Ok(())
    }

    /// The generated columns of a row whose line is already in the hash.
    fn large_generated(&mut self, row: &mut LargeRow<'_>, mut hash: Xxh3) -> Result<()> {
        let mut text = Vec::new();
        for _ in 0..self.shape.generated {
            hash.update(b"\t");
            if row.next_field().map_err(broken)?.is_none() {
                hash.update(b"\\N");
            }
            loop {
                let piece = row.piece().map_err(broken)?;
                if piece.is_empty() {
                    break;
                }
                text.clear();
                text::escape_into(&mut text, piece);
                hash.update(&text);
            }
        }
        if self.shape.generated > 0 {
            self.sums.generated.add_hashed(&hash);
        }
        Ok(())
    }

    /// Rows since the chunk began.
    pub(crate) fn rows(&self) -> u64 {
        self.sums.rows
    }

    /// Bytes of text since the chunk began.
    pub(crate) fn bytes(&self) -> u64 {
        self.flushed + self.buffer.len() as u64
    }

    fn flush(&mut self, out: &mut impl Out) -> Result<()> {
        out.write(&self.buffer)?;
        self.flushed += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Hands on what is left of the chunk, and starts over with the next one; what the ended one came to.
    pub(crate) fn cut(&mut self, out: &mut impl Out) -> Result<Part> {
        self.flush(out)?;
        let sums = Sums { bytes: self.flushed, ..std::mem::take(&mut self.sums) };
        self.flushed = 0;
        let lost = std::mem::replace(&mut self.lost, vec![0; self.shape.columns]);
        Ok(Part { sums, lost })
    }
}

fn write_field(out: &mut Vec<u8>, value: Option<&[u8]>) {
    match value {
        Some(value) => text::escape_into(out, value),
        None => out.extend_from_slice(b"\\N"),
    }
}

fn write_masked(out: &mut Vec<u8>, masker: &Masker, value: Option<&[u8]>) -> Result<()> {
    // What the value was is not said.
    let masked = masker.apply(value).map_err(|_| Error::found("a value to be masked is no number"))?;
    write_field(out, masked.as_deref());
    Ok(())
}

/// The whole value of a field of a large row.
fn collect(row: &mut LargeRow<'_>) -> Result<Vec<u8>> {
    let mut value = Vec::new();
    loop {
        let piece = row.piece().map_err(broken)?;
        if piece.is_empty() {
            return Ok(value);
        }
        value.extend_from_slice(piece);
    }
}

/// What an integer column's text says.
#[inline]
fn whole_number(text: &[u8]) -> Option<i128> {
    let (is_negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    let mut number: u64 = 0;
    for digit in digits {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = number.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    let number = i128::from(number);
    (!digits.is_empty()).then_some(if is_negative { -number } else { number })
}

/// What helps where the server gives an empty text for a document.
pub(crate) const LARGER_PACKET: &str =
    "SET GLOBAL max_allowed_packet = 1073741824 on the server that is read, and run the command again";

/// MySQL gives an empty text, and a warning (1301), for a document whose text it has no room for.
fn cut_document() -> Error {
    Error::with_hint(
        "the server gives an empty text for a document: its text is longer than max_allowed_packet",
        LARGER_PACKET,
    )
}

fn malformed() -> Error {
    Error::found("the server sent a row with another number of columns than it announced")
}

fn broken(source: std::io::Error) -> Error {
    Error::Server { doing: "reading a large row".into(), source: drover_db::Error::Source(source) }
}

/// Counts rows and bytes into the progress now and then, not for each row.
pub(crate) struct Meter<'a> {
    share: &'a Share<'a>,
    rows: u64,
    bytes: u64,
}

impl<'a> Meter<'a> {
    /// How many rows pass between two looks at the progress.
    const ROWS: u64 = 1024;
    /// The same in bytes of text, for large rows.
    const BYTES: u64 = 128 << 10;

    pub(crate) fn new(share: &'a Share<'a>) -> Self {
        Self { share, rows: 0, bytes: 0 }
    }

    /// Notes that so many rows were read since the last chunk began, so many bytes of text. At times they are counted: then
    /// gives the bytes since the last time.
    #[inline]
    pub(crate) fn passes(&mut self, sums: &Lines<'_>) -> Option<u64> {
        if sums.rows() - self.rows < Self::ROWS && sums.bytes() - self.bytes < Self::BYTES {
            return None;
        }
        Some(self.count(sums))
    }

    /// Counts what was read since it was last counted; gives the bytes.
    pub(crate) fn count(&mut self, sums: &Lines<'_>) -> u64 {
        let (rows, bytes) = (sums.rows(), sums.bytes());
        let more = bytes - self.bytes;
        self.share.read(rows - self.rows, more);
        (self.rows, self.bytes) = (rows, bytes);
        more
    }

    /// Counts the rest of a chunk that ends; gives its bytes.
    pub(crate) fn end(&mut self, sums: &Lines<'_>) -> u64 {
        let more = self.count(sums);
        (self.rows, self.bytes) = (0, 0);
        more
    }
}

/// Reads all rows of a result and sums them up.
pub(crate) fn sum(
    mut stream: RowStream<'_>,
    shape: &Shape,
    meter: &mut Meter<'_>,
    what: &str,
) -> Result<Sums> {
    let mut lines = Lines::new(shape);
    loop {
        // An error is large, and is not moved for each row that is none.
        let row = match stream.next_row() {
            Ok(Some(row)) => row,
            Ok(None) => break,
            Err(error) => return Err(error).doing(|| what),
        };
        lines.add(row, false, &mut Nobody)?;
        meter.passes(&lines);
    }
    meter.end(&lines);
    Ok(lines.cut(&mut Nobody)?.sums)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn whole_numbers_are_read(number in any::<i64>(), unsigned in any::<u64>()) {
            prop_assert_eq!(whole_number(number.to_string().as_bytes()), Some(i128::from(number)));
            prop_assert_eq!(whole_number(format!("{unsigned:020}").as_bytes()), Some(i128::from(unsigned)));
        }
    }

    #[test]
    fn what_is_no_whole_number() {
        for text in ["", "-", "1.5", "1e3", "+1", "99999999999999999999"] {
            assert_eq!(whole_number(text.as_bytes()), None, "{text}");
        }
    }
}
