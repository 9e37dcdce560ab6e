//! A file without a name that is written from its beginning and read from its end, record by record: what is to be undone is
//! as large as the logs are. Each record has its length behind it.

use std::fs::File;
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};

use crate::{Error, Result};

/// What is written.
pub(super) struct Spool {
    file: BufWriter<File>,
    length: u64,
}

/// Bytes that are read, or gathered before they are written, at once.
const WINDOW: usize = 256 << 10;
/// Of a length, in bytes.
pub(super) const LENGTH: usize = 8;

impl Spool {
    /// An empty one, in the directory for temporary files; nothing of it is left behind.
    pub(super) fn new() -> Result<Self> {
        let file = tempfile::tempfile().map_err(failed)?;
        Ok(Self { file: BufWriter::with_capacity(WINDOW, file), length: 0 })
    }

    /// How long it is, in bytes.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    pub(super) fn write(&mut self, record: &[u8]) -> Result<()> {
        self.file.write_all(record).map_err(failed)?;
        self.file.write_all(&(record.len() as u64).to_le_bytes()).map_err(failed)?;
        self.length += (record.len() + LENGTH) as u64;
        Ok(())
    }

    /// Takes back all behind this length.
    pub(super) fn cut(&mut self, length: u64) -> Result<()> {
        if length < self.length {
            self.file.seek(SeekFrom::Start(length)).map_err(failed)?;
            self.length = length;
        }
        Ok(())
    }

    /// To be read, from its end.
    pub(super) fn turned(self) -> Result<Backwards> {
        let file = self.file.into_inner().map_err(|error| failed(error.into_error()))?;
        Ok(Backwards { file, end: self.length, buffer: Vec::new(), from: 0 })
    }
}

/// What is read.
pub(super) struct Backwards {
    file: File,
    /// Where what was not read yet ends.
    end: u64,
    /// A part of the file, and where it begins there.
    buffer: Vec<u8>,
    from: u64,
}

impl Backwards {
    /// How much was not read yet, in bytes, lengths included.
    pub(super) fn left(&self) -> u64 {
        self.end
    }

    /// The record before the one that was read last; `None` at the beginning.
    pub(super) fn previous(&mut self) -> Result<Option<&[u8]>> {
        let Some(at) = self.end.checked_sub(LENGTH as u64) else { return Ok(None) };
        let mut length = [0; LENGTH];
        length.copy_from_slice(self.bytes(at, LENGTH)?);
        let length = u64::from_le_bytes(length);
        let begin = at.checked_sub(length).ok_or_else(|| failed(std::io::ErrorKind::InvalidData.into()))?;
        self.end = begin;
        self.bytes(begin, length as usize).map(Some)
    }

    fn bytes(&mut self, at: u64, count: usize) -> Result<&[u8]> {
        let end = at + count as u64;
        if at < self.from || end > self.from + self.buffer.len() as u64 {
            self.fill(at, end)?;
        }
        let start = (at - self.from) as usize;
        Ok(&self.buffer[start..start + count])
    }

    /// Reads what is between these two, and before it as much as fits the window. Gives back what a large record needed.
    fn fill(&mut self, at: u64, end: u64) -> Result<()> {
        self.from = at.min(end.saturating_sub(WINDOW as u64));
        self.buffer.resize((end - self.from) as usize, 0);
        self.buffer.shrink_to(WINDOW);
        self.file.seek(SeekFrom::Start(self.from)).map_err(failed)?;
        self.file.read_exact(&mut self.buffer).map_err(failed)
    }
}

/// An error of the file.
pub(super) fn failed(source: std::io::Error) -> Error {
    Error::File { path: std::env::temp_dir(), source }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn records_come_back_from_the_last_to_the_first(
            lengths in prop::collection::vec(prop_oneof![0..200_usize, 100_000..600_000_usize], 0..20),
            cut_at in 0..25_usize,
        ) {
            let record = |number: usize, length: usize| vec![number as u8; length];
            let mut spool = Spool::new().unwrap();
            for (number, &length) in lengths.iter().enumerate() {
                let before = spool.length();
                if number == cut_at {
                    spool.write(&record(99, length + 7)).unwrap();
                    spool.cut(before).unwrap();
                }
                spool.write(&record(number, length)).unwrap();
            }
            let mut spool = spool.turned().unwrap();
            for (number, &length) in lengths.iter().enumerate().rev() {
                prop_assert_eq!(spool.previous().unwrap(), Some(&record(number, length)[..]));
            }
            prop_assert_eq!(spool.left(), 0);
            prop_assert_eq!(spool.previous().unwrap(), None);
        }
    }
}
