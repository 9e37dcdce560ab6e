//! The end of a server's error log, which says why it did not start.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// How many lines an error shows.
pub(crate) const SHOWN_LINES: usize = 12;

/// How much of the log's end is read at most, in bytes.
const WINDOW: u64 = 64 * 1024;

/// The part of an error log that one launch of the server wrote.
#[derive(Debug, Clone)]
pub(crate) struct ErrorLog {
    path: PathBuf,
    start: u64,
}

impl ErrorLog {
    /// The log from its present end on: what an earlier launch wrote does not explain this one.
    pub(crate) fn from_here(path: &Path) -> Self {
        let start = path.metadata().map_or(0, |file| file.len());
        Self { path: path.to_owned(), start }
    }

    pub(crate) fn whole(path: &Path) -> Self {
        Self { path: path.to_owned(), start: 0 }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// The last `lines` lines; empty if there is no log, since then there is nothing to show.
    pub(crate) fn tail(&self, lines: usize) -> String {
        let mut bytes = Vec::new();
        let _unreadable_is_empty = self.read_end(&mut bytes);
        last_lines(&String::from_utf8_lossy(&bytes), lines)
    }

    fn read_end(&self, bytes: &mut Vec<u8>) -> std::io::Result<()> {
        let mut file = File::open(&self.path)?;
        let start = self.start.max(file.metadata()?.len().saturating_sub(WINDOW));
        file.seek(SeekFrom::Start(start))?;
        file.read_to_end(bytes)?;
        Ok(())
    }
}

/// The last `lines` lines of `text`, without a final newline.
pub(crate) fn last_lines(text: &str, lines: usize) -> String {
    let all: Vec<&str> = text.lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_came_after_the_mark_is_shown() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("error.log");
        std::fs::write(&path, "old\n").unwrap();
        let log = ErrorLog::from_here(&path);
        assert_eq!(log.tail(9), "");
        std::fs::write(&path, "old\nnew 1\nnew 2\nnew 3\n").unwrap();
        assert_eq!(log.tail(2), "new 2\nnew 3");
        assert_eq!(ErrorLog::whole(&path).tail(9), "old\nnew 1\nnew 2\nnew 3");
    }

    #[test]
    fn a_missing_log_has_an_empty_tail() {
        assert_eq!(ErrorLog::from_here(Path::new("/nonexistent/log")).tail(5), "");
    }
}
