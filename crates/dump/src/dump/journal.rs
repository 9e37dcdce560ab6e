//! What a dump has done so far, kept beside its files until the manifest is there, so that a dump that was killed can go on.
//! One JSON document a line; a line that the end of the process cut short is passed over. A copy keeps the same, with a chunk
//! of rows in place of each file.
//!
//! A file is noted when it is whole. Files of a table that is cut by a key follow each other from the beginning of a range to
//! its end, so what is missing is known from their borders. Of a table without a key, only all files together are of use.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use drover_store::Store;
use drover_store::log::{self, Log};
use serde::{Deserialize, Serialize};

use super::args::SourceArgs;
use super::catalog::Name;
use crate::mask::Rules;
use crate::{Error, Result};
use drover_format::files::{Compression, FileReader, Stored};
use drover_format::manifest::{Chunk, Contents, RowFormat, Snapshot, Table};
use drover_format::{known_sql, names};

/// What the names of the journal's files begin with.
const STEM: &str = "journal";

/// What a dump was asked for: who goes on with it must ask for the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Wanted {
    what: Vec<String>,
    include: Vec<String>,
    exclude: Vec<String>,
    #[serde(default)]
    users: bool,
    #[serde(default)]
    conditions: Vec<String>,
    #[serde(default)]
    contents: Contents,
    #[serde(default)]
    masks: String,
    compression: Compression,
    #[serde(default)]
    format: RowFormat,
    /// Whether rows of an earlier snapshot may be kept only if they are the same in the new one.
    pub(crate) consistent: bool,
}

impl Wanted {
    pub(crate) fn new(
        args: &SourceArgs,
        masks: &Rules,
        format: RowFormat,
        compression: Compression,
        consistent: bool,
    ) -> Self {
        Self {
            what: args.what.clone(),
            include: args.include.clone(),
            exclude: args.exclude.clone(),
            conditions: args.conditions.iter().map(|rule| format!("{}:{}", rule.tables, rule.sql)).collect(),
            contents: args.contents(),
            masks: masks.fingerprint(),
            users: args.users,
            compression,
            format,
            consistent,
        }
    }

    /// What another run asks for otherwise, as a person would say it.
    fn unlike(&self, other: &Self) -> Vec<&'static str> {
        let parts = [
            (self.what == other.what, "names"),
            (self.include == other.include, "--include"),
            (self.exclude == other.exclude, "--exclude"),
            (self.users == other.users, "--users"),
            (self.conditions == other.conditions, "--where"),
            (self.contents == other.contents, "--no-data or --no-schema"),
            (self.masks == other.masks, "--mask, its rules or its key"),
            (self.compression == other.compression, "--compress"),
            (self.format == other.format, "--format"),
        ];
        parts.into_iter().filter(|(is_same, _)| !is_same).map(|(_, part)| part).collect()
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Entry {
    Begun {
        wanted: Wanted,
        /// All snapshots whose rows are in the dump, the last one being that of this run.
        snapshots: Vec<Snapshot>,
    },
    Table {
        schema: String,
        table: Box<Table>,
    },
    Range {
        id: u64,
        schema: String,
        table: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        partition: Option<String>,
        /// The range that it was cut from, or that lies before it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        behind: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        start: Option<Vec<String>>,
    },
    File {
        range: u64,
        chunk: Box<Chunk>,
    },
    Done {
        range: u64,
    },
}

impl Entry {
    /// What in it drover does not write: a file outside of the dump, or a border that is no literal.
    fn odd_part(&self) -> Option<&String> {
        let borders: Box<dyn Iterator<Item = &String>> = match self {
            Self::File { chunk, .. } if !names::is_inside(&chunk.file) => return Some(&chunk.file),
            Self::File { chunk, .. } => Box::new(known_sql::borders(chunk)),
            Self::Range { start, .. } => Box::new(start.iter().flatten()),
            _ => return None,
        };
        borders.into_iter().find(|literal| !known_sql::is_literal(literal))
    }
}

/// The journal that is being written.
#[derive(Debug)]
pub(crate) struct Journal {
    log: Log,
    ranges: AtomicU64,
}

impl Journal {
    /// Begins the journal anew; one that is there stays until [`Journal::settle`].
    pub(crate) fn begin(
        store: &Store,
        wanted: &Wanted,
        snapshots: Vec<Snapshot>,
        tables: &BTreeMap<Name, Table>,
    ) -> Result<Self> {
        let mut text = line(&Entry::Begun { wanted: wanted.clone(), snapshots })?;
        for (name, table) in tables {
            let (schema, table) = (name.schema.clone(), Box::new(table.clone()));
            text.extend(line(&Entry::Table { schema, table })?);
        }
        Ok(Self { log: Log::begin(store, STEM, text)?, ranges: AtomicU64::new(0) })
    }

    /// Puts it in the place of the one before, now that it has all that is known of the dump.
    pub(crate) fn settle(&self) -> Result<()> {
        Ok(self.log.settle()?)
    }

    fn add(&self, entry: &Entry) -> Result<()> {
        // A range alone says nothing of use: it can wait for the next file.
        let now = matches!(entry, Entry::File { .. } | Entry::Done { .. });
        Ok(self.log.add(&line(entry)?, now)?)
    }

    /// Notes a range; gives its number.
    pub(crate) fn range(
        &self,
        name: &Name,
        partition: Option<&str>,
        behind: Option<u64>,
        start: Option<&[String]>,
    ) -> Result<u64> {
        let id = self.ranges.fetch_add(1, Ordering::Relaxed);
        self.add(&Entry::Range {
            id,
            schema: name.schema.clone(),
            table: name.name.clone(),
            partition: partition.map(Into::into),
            behind,
            start: start.map(<[String]>::to_vec),
        })?;
        Ok(id)
    }

    /// Notes a whole file, or a chunk that is about to be committed.
    pub(crate) fn file(&self, range: u64, chunk: &Chunk) -> Result<()> {
        self.add(&Entry::File { range, chunk: Box::new(chunk.clone()) })
    }

    /// Waits until what was noted is there for good.
    pub(crate) fn sync(&self) -> Result<()> {
        Ok(self.log.sync()?)
    }

    /// Notes that all files of a range are whole.
    pub(crate) fn done(&self, range: u64) -> Result<()> {
        self.add(&Entry::Done { range })
    }

    /// Removes it, when the manifest is there.
    pub(crate) fn end(self) -> Result<()> {
        Ok(self.log.end()?)
    }
}

fn line(entry: &Entry) -> Result<Vec<u8>> {
    let mut text =
        serde_json::to_vec(entry).map_err(|error| Error::found(format!("the journal: {error}")))?;
    text.push(b'\n');
    Ok(text)
}

/// Removes the journal of what is finished, if the run that finished it did not come to that.
pub(crate) fn remove(store: &Store) -> Result<()> {
    Ok(log::remove_left(store, STEM)?)
}

/// What is there of an unfinished dump.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// The snapshots of its runs.
    pub(crate) snapshots: Vec<Snapshot>,
    wanted: Option<Wanted>,
    tables: BTreeMap<Name, Table>,
    /// The ranges of a table side by side and in order.
    ranges: Vec<KeptRange>,
}

/// Files that hold the rows from the beginning of a range on.
#[derive(Debug, Clone, Default)]
pub(crate) struct KeptRange {
    pub(crate) id: u64,
    pub(crate) name: Name,
    pub(crate) partition: Option<String>,
    pub(crate) start: Option<Vec<String>>,
    pub(crate) chunks: Vec<Chunk>,
    pub(crate) is_done: bool,
}

impl Kept {
    /// Reads the journal of the dump in `store`, if there is one.
    pub(crate) fn load(store: &Store) -> Result<Option<Self>> {
        let Some(text) = log::read(store, STEM)? else { return Ok(None) };
        let mut kept = Self::default();
        for entry in
            text.split(|&byte| byte == b'\n').map_while(|line| serde_json::from_slice::<Entry>(line).ok())
        {
            if let Some(odd) = entry.odd_part() {
                let place = store.path("");
                return Err(Error::with_hint(
                    format!("{}: the journal was not written by drover: {odd}", place.display()),
                    "begin the dump or copy anew in another directory",
                ));
            }
            kept.add(entry);
        }
        Ok(Some(kept))
    }

    fn add(&mut self, entry: Entry) {
        match entry {
            Entry::Begun { wanted, snapshots } => (self.wanted, self.snapshots) = (Some(wanted), snapshots),
            Entry::Table { schema, table } => {
                self.tables.insert(Name::new(&schema, &table.name), *table);
            }
            Entry::Range { id, schema, table, partition, behind, start } => {
                let behind =
                    behind.and_then(|behind| self.ranges.iter().position(|range| range.id == behind));
                let at = behind.map_or(self.ranges.len(), |at| at + 1);
                let name = Name::new(&schema, &table);
                let range = KeptRange { id, name, partition, start, chunks: Vec::new(), is_done: false };
                self.ranges.insert(at, range);
            }
            Entry::File { range, chunk } => {
                self.with(range, |range| range.chunks.push(*chunk));
            }
            Entry::Done { range } => self.with(range, |range| range.is_done = true),
        }
    }

    fn with(&mut self, id: u64, change: impl FnOnce(&mut KeptRange)) {
        if let Some(range) = self.ranges.iter_mut().find(|range| range.id == id) {
            change(range);
        }
    }

    /// What this run and the one before want together.
    ///
    /// # Errors
    /// If this run asks for another dump or copy (`work`) than the one that was begun.
    pub(crate) fn join(&self, store: &Store, work: &str, wanted: Wanted) -> Result<Wanted> {
        let Some(before) = &self.wanted else { return Ok(wanted) };
        let consistent = before.consistent || wanted.consistent;
        let wanted = Wanted { consistent, ..wanted };
        if (Wanted { consistent, ..before.clone() }) == wanted {
            return Ok(wanted);
        }
        Err(Error::with_hint(
            format!(
                "{}: the unfinished {work} was begun otherwise: {}",
                store.path("").display(),
                before.unlike(&wanted).join(", ")
            ),
            "--resume needs the same arguments; to change them, begin elsewhere",
        ))
    }

    /// Forgets what there is of tables that are not as they were.
    fn retain_same(&mut self, tables: &BTreeMap<Name, Table>) {
        let known = std::mem::take(&mut self.tables);
        let same = |name: &Name| known.get(name).is_some_and(|table| tables.get(name) == Some(table));
        self.ranges.retain(|range| same(&range.name));
    }

    /// Forgets the chunks that never came to be committed, and those of tables that are not as they were.
    pub(crate) fn sift_committed(
        &mut self,
        tables: &BTreeMap<Name, Table>,
        is_there: impl Fn(&Chunk) -> bool,
    ) {
        self.retain_same(tables);
        for range in &mut self.ranges {
            let has_key = tables.get(&range.name).is_some_and(|table| table.key.is_some());
            range.chunks.retain(|chunk| (has_key || range.is_done) && is_there(chunk));
        }
    }

    /// Forgets all of a table.
    pub(crate) fn forget(&mut self, name: &Name) {
        self.ranges.retain(|range| range.name != *name);
    }

    /// The bytes of the rows' text that is kept.
    pub(crate) fn bytes(&self) -> u64 {
        self.ranges.iter().flat_map(|range| &range.chunks).map(|chunk| chunk.bytes).sum()
    }

    /// The tables of which something is kept.
    pub(crate) fn names(&self) -> BTreeSet<Name> {
        let has_chunks = self.ranges.iter().filter(|range| !range.chunks.is_empty());
        has_chunks.map(|range| range.name.clone()).collect()
    }

    /// Forgets the files that are not as they were noted, and those of tables that are not as they were.
    pub(crate) fn sift(&mut self, store: &Store, tables: &BTreeMap<Name, Table>, threads: usize) {
        self.retain_same(tables);
        let next = Mutex::new(self.ranges.iter_mut());
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    loop {
                        let range = next.lock().unwrap_or_else(PoisonError::into_inner).next();
                        let Some(range) = range else { return };
                        let whole = range.chunks.iter().take_while(|chunk| is_whole(store, chunk)).count();
                        range.is_done &= whole == range.chunks.len();
                        let has_key = tables.get(&range.name).is_some_and(|table| table.key.is_some());
                        range.chunks.truncate(if has_key || range.is_done { whole } else { 0 });
                    }
                });
            }
        });
    }

    /// Notes that all rows that are kept belong to a snapshot before that of this run.
    pub(crate) fn belongs_to_earlier(&mut self) {
        let last = self.snapshots.len().saturating_sub(1);
        for chunk in self.ranges.iter_mut().flat_map(|range| &mut range.chunks) {
            chunk.earlier.get_or_insert(last);
        }
    }

    /// What is kept of a table.
    pub(crate) fn of(&self, name: &Name) -> Vec<KeptRange> {
        self.ranges.iter().filter(|range| range.name == *name).cloned().collect()
    }

    /// Whether a file is kept.
    pub(crate) fn holds(&self, file: &str) -> bool {
        self.ranges.iter().flat_map(|range| &range.chunks).any(|chunk| chunk.file == file)
    }
}

/// Whether a file is there with the bytes that were written.
fn is_whole(store: &Store, chunk: &Chunk) -> bool {
    let read = || -> Result<Stored> {
        let mut reader = FileReader::open(store, &chunk.file, Compression::None)?;
        let mut buffer = vec![0; 256 << 10];
        while reader.read(&mut buffer)? > 0 {}
        Ok(reader.finish()?)
    };
    read().is_ok_and(|stored| stored.bytes == chunk.stored_bytes && stored.checksum == chunk.checksum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_from_elsewhere_is_refused() {
        let load = |file: &str, up_to: &str| {
            let dir = tempfile::tempdir().unwrap();
            let chunk = Chunk { file: file.into(), up_to: Some(vec![up_to.into()]), ..Chunk::default() };
            let text = line(&Entry::File { range: 0, chunk: Box::new(chunk) }).unwrap();
            std::fs::write(dir.path().join("journal.jsonl"), text).unwrap();
            Kept::load(&Store::Directory(dir.path().to_owned())).map_err(|error| error.to_string())
        };
        assert!(load("s/t.0.tsv", "5").is_ok());
        for (file, up_to) in [("../t.tsv", "5"), ("/etc/passwd", "5"), ("s/t.0.tsv", "f()")] {
            assert!(load(file, up_to).unwrap_err().contains("not written by drover"), "{file} {up_to}");
        }
    }
}
