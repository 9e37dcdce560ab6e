//! A file that grows by lines, for what must be known after the process was killed. Objects cannot grow: in a bucket the
//! lines are in segments, and the last one is written anew whenever it is worth it, until it is large enough.
//!
//! A run that goes on begins a log of its own, and only when that holds all that the one before did does it take its place:
//! a file by a rename; segments by their first one, which alone makes a run's segments count, and the highest run does.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use crate::{Error, Result, Store, create_private, unfinished};

/// A segment of this many bytes is not written anew.
const SEGMENT: usize = 256 << 10;

/// A log that is being written.
#[derive(Debug)]
pub struct Log(Way);

#[derive(Debug)]
enum Way {
    /// `STEM.jsonl`
    File { path: PathBuf, file: Mutex<File> },
    /// `STEM.RUN.NUMBER.jsonl`
    Segments { store: Store, stem: String, run: usize, state: Mutex<State> },
}

/// The segment that is being written.
#[derive(Debug)]
struct State {
    /// 0 until the first one is written.
    number: usize,
    text: Vec<u8>,
}

fn file_name(stem: &str) -> String {
    format!("{stem}.jsonl")
}

fn segment_name(stem: &str, run: usize, number: usize) -> String {
    format!("{stem}.{run:05}.{number:05}.jsonl")
}

/// The runs and numbers of the segments that are there, in order.
fn segments(store: &Store, stem: &str) -> Result<Vec<(usize, usize)>> {
    let parse = |name: &String| {
        let numbers = name.strip_prefix(stem)?.strip_prefix('.')?.strip_suffix(".jsonl")?;
        let (run, number) = numbers.split_once('.')?;
        Some((run.parse().ok()?, number.parse().ok()?))
    };
    let mut found: Vec<_> = store.list("")?.iter().filter_map(parse).collect();
    found.sort_unstable();
    Ok(found)
}

/// What the log holds, if there is one.
pub fn read(store: &Store, stem: &str) -> Result<Option<Vec<u8>>> {
    if store.directory().is_some() {
        return store.read_if_there(&file_name(stem));
    }
    let segments = segments(store, stem)?;
    let run = segments.iter().filter(|(_, number)| *number == 1).map(|(run, _)| *run).max();
    let Some(run) = run else { return Ok(None) };
    let mut text = Vec::new();
    for (number, segment) in segments.into_iter().filter(|segment| segment.0 == run).enumerate() {
        if segment.1 != number + 1 {
            break; // what lies behind a gap was not noted after what is missing
        }
        text.extend(store.read(&segment_name(stem, run, segment.1))?);
    }
    Ok(Some(text))
}

/// Removes a log, if there is one.
pub fn remove_left(store: &Store, stem: &str) -> Result<()> {
    match store.directory().is_some() {
        true if store.has(&file_name(stem))? => store.remove(&file_name(stem)),
        true => Ok(()),
        false => remove(store, stem, |_| true),
    }
}

impl Log {
    /// Begins the log anew; one that is there stays until [`Log::settle`].
    pub fn begin(store: &Store, stem: &str, text: Vec<u8>) -> Result<Self> {
        let Some(dir) = store.directory() else {
            let run = segments(store, stem)?.last().map_or(1, |(run, _)| run + 1);
            let state = Mutex::new(State { number: 0, text });
            return Ok(Self(Way::Segments { store: store.clone(), stem: stem.into(), run, state }));
        };
        let path = dir.join(file_name(stem));
        let create = || -> std::io::Result<File> {
            let mut file = create_private(&unfinished(&path))?;
            file.write_all(&text)?;
            Ok(file)
        };
        let file = Mutex::new(create().map_err(Error::file(&path))?);
        Ok(Self(Way::File { path, file }))
    }

    /// Puts it in the place of the one before, now that it has all that is to be known.
    pub fn settle(&self) -> Result<()> {
        match &self.0 {
            Way::File { path, .. } => fs::rename(unfinished(path), path).map_err(Error::file(path)),
            Way::Segments { store, stem, run, state } => {
                let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
                state.number = 1;
                state.write(store, stem, *run)?;
                remove(store, stem, |of| of != *run)
            }
        }
    }

    /// Adds a line. In a bucket it is there for certain only when `now` was said of it or of a later one.
    pub fn add(&self, line: &[u8], now: bool) -> Result<()> {
        match &self.0 {
            Way::File { path, file } => {
                let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
                file.write_all(line).map_err(Error::file(path))
            }
            Way::Segments { store, stem, run, state } => {
                let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
                state.text.extend_from_slice(line);
                if now && state.number > 0 { state.write(store, stem, *run) } else { Ok(()) }
            }
        }
    }

    /// Waits until what was added is there for good, also after a power cut.
    pub fn sync(&self) -> Result<()> {
        match &self.0 {
            Way::File { path, file } => {
                let file = file.lock().unwrap_or_else(PoisonError::into_inner);
                file.sync_data().map_err(Error::file(path))
            }
            // An object that was written is.
            Way::Segments { .. } => Ok(()),
        }
    }

    /// Removes it.
    pub fn end(self) -> Result<()> {
        match self.0 {
            Way::File { path, .. } => fs::remove_file(&path).map_err(Error::file(&path)),
            Way::Segments { store, stem, .. } => remove(&store, &stem, |_| true),
        }
    }
}

impl State {
    fn write(&mut self, store: &Store, stem: &str, run: usize) -> Result<()> {
        store.write(&segment_name(stem, run, self.number), &self.text)?;
        if self.text.len() >= SEGMENT {
            self.number += 1;
            self.text.clear();
        }
        Ok(())
    }
}

fn remove(store: &Store, stem: &str, is_over: impl Fn(usize) -> bool) -> Result<()> {
    let segments = segments(store, stem)?.into_iter().filter(|(run, _)| is_over(*run));
    // Backwards: a run without its first segment is none.
    segments.rev().try_for_each(|(run, number)| store.remove(&segment_name(stem, run, number)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_log_takes_the_place_of_the_old_one_when_it_is_settled() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::Directory(dir.path().to_owned());
        let text = || read(&store, "x").unwrap().map(|text| String::from_utf8(text).unwrap());
        assert_eq!(text(), None);
        let old = Log::begin(&store, "x", b"1\n".to_vec()).unwrap();
        assert_eq!(text(), None);
        old.settle().unwrap();
        old.add(b"2\n", false).unwrap();
        assert_eq!(text().as_deref(), Some("1\n2\n"));
        let new = Log::begin(&store, "x", b"3\n".to_vec()).unwrap();
        assert_eq!(text().as_deref(), Some("1\n2\n"));
        new.settle().unwrap();
        new.add(b"4\n", true).unwrap();
        assert_eq!(text().as_deref(), Some("3\n4\n"));
        new.end().unwrap();
        assert_eq!(text(), None);
        assert!(store.list("").unwrap().is_empty());
    }

    #[test]
    fn segments_are_known_by_their_names() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::Directory(dir.path().to_owned());
        let names = [
            "x.00002.00001.jsonl",
            "x.00001.00010.jsonl",
            "x.00001.00002.jsonl",
            "x.jsonl",
            "xy.1.2.jsonl",
            "x.1.jsonl",
        ];
        names.iter().for_each(|name| store.write(name, b"").unwrap());
        assert_eq!(segments(&store, "x").unwrap(), [(1, 2), (1, 10), (2, 1)]);
        assert_eq!(segment_name("x", 2, 1), names[0]);
    }
}
