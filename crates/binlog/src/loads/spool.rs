//! Bytes of a file while it is under way: in memory, and from some size on in a file without a name, which is gone with the process
//! whatever ends it.

use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// What becomes of the bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Keep {
    /// They are counted.
    Count,
    /// They are kept; what does not fit in memory, in files without names on the device of this directory.
    In(PathBuf),
}

impl Keep {
    /// In the system's directory of temporary files.
    pub(crate) fn in_temp() -> Self {
        Self::In(std::env::temp_dir())
    }

    /// Where files are.
    pub(super) fn place(&self) -> &Path {
        match self {
            Self::Count => Path::new("memory"),
            Self::In(directory) => directory,
        }
    }
}

/// A file may have so many bytes in memory, of which there are as many as files are under way.
const MOST_IN_MEMORY: usize = 256 << 10;

/// The bytes.
#[derive(Debug)]
pub(crate) struct Spool {
    length: u64,
    stored: Stored,
}

#[derive(Debug)]
enum Stored {
    Nowhere,
    /// And where the rest goes if it becomes more.
    Memory(Vec<u8>, PathBuf),
    File(File),
}

impl Spool {
    pub(crate) fn new(keep: &Keep) -> Self {
        let stored = match keep {
            Keep::Count => Stored::Nowhere,
            Keep::In(directory) => Stored::Memory(Vec::new(), directory.clone()),
        };
        Self { length: 0, stored }
    }

    /// How many bytes there are.
    pub(crate) fn len(&self) -> u64 {
        self.length
    }

    /// Takes in what comes next.
    ///
    /// # Errors
    /// If there is no room for it.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Stored::Memory(memory, directory) = &mut self.stored
            && memory.len() + bytes.len() > MOST_IN_MEMORY
        {
            let mut file = tempfile::tempfile_in(directory)?;
            file.write_all(memory)?;
            self.stored = Stored::File(file);
        }
        match &mut self.stored {
            Stored::Nowhere => {}
            Stored::Memory(memory, _) => memory.extend_from_slice(bytes),
            Stored::File(file) => file.write_all(bytes)?,
        }
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// The bytes from the first on; none if they were only counted.
    ///
    /// # Errors
    /// Of the system.
    pub(crate) fn into_reader(self) -> io::Result<SpoolReader> {
        Ok(match self.stored {
            Stored::Nowhere => SpoolReader::Memory(Cursor::new(Vec::new())),
            Stored::Memory(memory, _) => SpoolReader::Memory(Cursor::new(memory)),
            Stored::File(mut file) => {
                file.rewind()?;
                SpoolReader::File(file)
            }
        })
    }
}

/// Reads the bytes.
#[derive(Debug)]
pub(crate) enum SpoolReader {
    Memory(Cursor<Vec<u8>>),
    File(File),
}

impl Read for SpoolReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Memory(memory) => memory.read(buffer),
            Self::File(file) => file.read(buffer),
        }
    }
}

impl Seek for SpoolReader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            Self::Memory(memory) => memory.seek(to),
            Self::File(file) => file.seek(to),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_whatever_their_number() {
        let directory = tempfile::tempdir().unwrap();
        let keep = Keep::In(directory.path().to_owned());
        for length in [0, 1, MOST_IN_MEMORY - 1, MOST_IN_MEMORY, MOST_IN_MEMORY + 1, 3 * MOST_IN_MEMORY] {
            let bytes: Vec<u8> = (0..length).map(|at| (at / 7) as u8).collect();
            let mut spool = Spool::new(&keep);
            let mut counted = Spool::new(&Keep::Count);
            for block in bytes.chunks(4099) {
                spool.write(block).unwrap();
                counted.write(block).unwrap();
            }
            assert_eq!((spool.len(), counted.len()), (length as u64, length as u64));
            assert_eq!(matches!(spool.stored, Stored::File(_)), length > MOST_IN_MEMORY);
            let mut reader = spool.into_reader().unwrap();
            for _ in 0..2 {
                let mut read = Vec::new();
                reader.read_to_end(&mut read).unwrap();
                assert_eq!(read, bytes);
                reader.rewind().unwrap();
            }
            assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
        }
    }
}
