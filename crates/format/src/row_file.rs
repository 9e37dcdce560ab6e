//! Files of rows: lines on one side, what stands in the file on the other.

use drover_store::Store;

use super::contents::RowFormat;
use super::csv::Csv;
use super::files::{Compressor, FileReader, FileWriter, Stored};
use super::inserts::{self, Inserts};
use super::manifest::{Chunk, Manifest, Script};
use crate::{Error, Result};

/// What lines become in a file.
#[derive(Debug)]
pub enum Form {
    /// Nothing else: LOAD DATA reads them.
    Lines,
    /// INSERT statements.
    Inserts(Box<Inserts>),
    /// Comma-separated values.
    Csv(Box<Csv>),
}

/// A finished file, and what is known of its rows only now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// The file, as stored.
    pub stored: Stored,
    /// How many values of each column are no valid text, as far as the form has seen them; none if it does not look.
    pub invalid: Vec<u64>,
    /// Bytes of the longest statement.
    pub longest: u64,
}

/// Writes one file of rows.
pub struct RowWriter {
    file: FileWriter,
    form: Form,
    /// What was made and not written yet.
    text: Vec<u8>,
}

impl RowWriter {
    /// Creates the file, in which `head` stands before the rows; in a directory, one that is there already is an error.
    pub fn create(
        store: &Store,
        name: &str,
        compressor: Compressor,
        head: &[u8],
        form: Form,
    ) -> Result<Self> {
        let file = FileWriter::create(store, name, compressor)?;
        Ok(Self { file, form, text: head.to_vec() })
    }

    /// Writes lines, of which the last one may not be whole.
    pub fn write(&mut self, lines: &[u8]) -> Result<()> {
        match &mut self.form {
            Form::Lines => return self.file.write(lines),
            Form::Inserts(inserts) => inserts.pass(lines, &mut self.text),
            Form::Csv(csv) => csv.pass(lines, &mut self.text),
        }
        self.file.write(&self.text)?;
        self.text.clear();
        Ok(())
    }

    /// Ends the file.
    pub fn finish(mut self) -> Result<Finished> {
        let (invalid, longest) = match &mut self.form {
            Form::Lines => (Vec::new(), 0),
            Form::Inserts(inserts) => {
                inserts.finish(&mut self.text);
                (inserts.invalid().to_vec(), inserts.longest())
            }
            Form::Csv(csv) => (csv.invalid().to_vec(), 0),
        };
        if !self.text.is_empty() {
            self.file.write(&self.text)?;
        }
        Ok(Finished { stored: self.file.finish()?, invalid, longest })
    }
}

/// Reads one file of rows back as lines.
pub struct RowReader {
    file: FileReader,
    statements: Option<Statements>,
}

/// Statements that become lines.
struct Statements {
    reader: inserts::Reader,
    text: Vec<u8>,
    lines: Vec<u8>,
    /// Bytes of `lines` that have been given.
    given: usize,
}

impl RowReader {
    /// Text is read from the file in pieces of this many bytes.
    const PIECE: usize = 256 << 10;

    /// Opens a file with rows of the table that `script` creates. CSV is for other programs only.
    ///
    /// # Errors
    /// If the file cannot be opened, or rows in its form are not read back.
    pub fn open(store: &Store, manifest: &Manifest, script: &Script, chunk: &Chunk) -> Result<Self> {
        if manifest.row_format == RowFormat::Csv {
            return Err(not_read_back(store));
        }
        let file = FileReader::open(store, &chunk.file, manifest.compression)?;
        let statements = (manifest.row_format == RowFormat::Sql).then(|| Statements {
            reader: inserts::Reader::new(script.bytes.unwrap_or(0)),
            text: vec![0; Self::PIECE],
            lines: Vec::new(),
            given: 0,
        });
        Ok(Self { file, statements })
    }

    /// Reads some of the lines into `buffer`; 0 at the end.
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let Some(Statements { reader, text, lines, given }) = &mut self.statements else {
            return self.file.read(buffer);
        };
        while *given == lines.len() {
            lines.clear();
            *given = 0;
            match self.file.read(text)? {
                0 => return Ok(0),
                count => reader.pass(&text[..count], lines),
            }
        }
        let count = buffer.len().min(lines.len() - *given);
        buffer[..count].copy_from_slice(&lines[*given..*given + count]);
        *given += count;
        Ok(count)
    }

    /// What was stored, once all was read.
    pub fn finish(self) -> Result<Stored> {
        self.file.finish()
    }
}

/// Why a dump's rows cannot be restored.
pub fn not_read_back(store: &Store) -> Error {
    Error::Csv(store.path(""))
}
