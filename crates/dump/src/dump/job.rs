//! A table that is being read: where its chunks go, what they are called, and how far all who read it are.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use drover_db::table::Column;
use drover_db::{Vendor, er};
use drover_format::csv::{self, Csv};
use drover_format::files::Compressor;
use drover_format::inserts::Inserts;
use drover_format::manifest::{Chunk, Manifest, RowFormat, Table};
use drover_format::names;
use drover_format::row_file::{Form, RowWriter};
use drover_store::Store;

use super::by_hand;
use super::catalog::Name;
use super::journal::Journal;
use super::tables::{self, TablePlan};
use crate::progress::{Progress, Share};
use crate::rows::LARGER_PACKET;
use crate::{Error, Result};

/// Where chunks are noted, what they are called, how large they are and what they become.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) store: Store,
    pub(crate) format: RowFormat,
    pub(crate) compressor: Compressor,
    /// Text of about this many bytes is one chunk, if a table may have several.
    pub(crate) chunk_bytes: u64,
}

impl Place {
    /// What the names of row files end with.
    pub(crate) fn extension(&self) -> String {
        self.format.extension(self.compressor.compression())
    }

    /// Text of so many bytes fills a file.
    pub(crate) fn file_bytes(&self) -> u64 {
        if self.format.is_one_file() { u64::MAX } else { self.chunk_bytes }
    }

    /// Text of about this many bytes is read by one statement: what is beyond it can be taken by another worker.
    pub(crate) fn statement_bytes(&self) -> u64 {
        self.chunk_bytes / 8
    }
}

/// A table that is being read, by one worker or by several.
#[derive(Debug)]
pub(crate) struct Job<'a> {
    pub(crate) plan: &'a TablePlan,
    pub(crate) table: &'a Table,
    pub(crate) place: &'a Place,
    pub(crate) journal: &'a Journal,
    pub(crate) share: Share<'a>,
    /// The server that is read.
    vendor: Vendor,
    /// What stands in a file before the rows.
    head: Vec<u8>,
    /// Chunks begun.
    chunks: AtomicUsize,
    /// Ranges that were not read to their end.
    open: AtomicUsize,
    /// Rows of those that were.
    rows: AtomicU64,
    /// Whether it has rows of an earlier snapshot too.
    is_mixed: AtomicBool,
}

impl<'a> Job<'a> {
    fn new(
        plan: &'a TablePlan,
        table: &'a Table,
        vendor: Vendor,
        place: &'a Place,
        journal: &'a Journal,
        progress: &'a Progress,
    ) -> Self {
        let share = Share::new(progress, tables::weight(&plan.relation), plan.relation.rows);
        let head = match place.format {
            RowFormat::Tsv => Vec::new(),
            RowFormat::Sql => by_hand::head(vendor, plan, table),
            RowFormat::Csv => csv::header(table),
        };
        Self {
            plan,
            table,
            place,
            journal,
            share,
            vendor,
            head,
            chunks: AtomicUsize::new(0),
            open: AtomicUsize::new(0),
            rows: AtomicU64::new(0),
            is_mixed: AtomicBool::new(false),
        }
    }

    /// All tables whose rows are to be read.
    pub(crate) fn all(
        manifest: &'a Manifest,
        plans: &'a [TablePlan],
        place: &'a Place,
        journal: &'a Journal,
        progress: &'a Progress,
    ) -> Result<Vec<Self>> {
        let vendor = manifest.server.vendor;
        let described = |name: &Name| {
            let mut tables = manifest.tables();
            let found = tables.find(|(schema, table)| schema.name == name.schema && table.name == name.name);
            found.map(|(_, table)| table)
        };
        let job = |plan: &'a TablePlan| {
            let name = &plan.relation.name;
            let table =
                described(name).ok_or_else(|| Error::found(format!("table {name} was never described")))?;
            Ok(Self::new(plan, table, vendor, place, journal, progress))
        };
        plans.iter().map(job).collect()
    }

    pub(crate) fn name(&self) -> &'a Name {
        &self.plan.relation.name
    }

    /// Notes that there is another range to be read.
    pub(crate) fn has_range(&self) {
        self.open.fetch_add(1, Ordering::SeqCst);
    }

    /// Notes chunks of an earlier run, whose names are taken.
    pub(crate) fn has_chunks(&self, chunks: &[Chunk]) {
        let last = chunks.iter().filter_map(|chunk| self.number_of(&chunk.file)).max();
        self.chunks.fetch_max(last.unwrap_or(0), Ordering::SeqCst);
    }

    /// Notes rows of an earlier snapshot.
    pub(crate) fn keeps(&self, chunks: &[Chunk]) {
        self.share.skip(chunks.iter().map(|chunk| chunk.rows).sum());
        self.is_mixed.store(true, Ordering::SeqCst);
    }

    /// Whether it has rows of an earlier snapshot too.
    pub(crate) fn is_mixed(&self) -> bool {
        self.is_mixed.load(Ordering::SeqCst)
    }

    fn number_of(&self, file: &str) -> Option<usize> {
        let stem = self.stem();
        file.strip_prefix(stem.as_str())?.split('.').nth(1)?.parse().ok()
    }

    /// What the names of its chunks begin with.
    pub(crate) fn stem(&self) -> String {
        let Name { schema, name } = self.name();
        names::path(schema, name)
    }

    /// Notes that a range was read; gives the rows of all, if it was the last one.
    pub(crate) fn has_read(&self, chunks: &[Chunk]) -> Option<u64> {
        self.rows.fetch_add(chunks.iter().map(|chunk| chunk.rows).sum(), Ordering::SeqCst);
        let was_last = self.open.fetch_sub(1, Ordering::SeqCst) == 1;
        was_last.then(|| self.rows.load(Ordering::SeqCst))
    }

    /// The name of the next chunk: that of its file, if it becomes one.
    pub(crate) fn next_chunk(&self) -> String {
        if self.place.format.is_one_file() {
            return format!("{}.{}", self.stem(), self.place.extension());
        }
        let number = self.chunks.fetch_add(1, Ordering::SeqCst) + 1;
        format!("{}.{number:05}.{}", self.stem(), self.place.extension())
    }

    /// Begins a file.
    pub(crate) fn begin_file(&self, file: &str) -> Result<RowWriter> {
        Ok(RowWriter::create(&self.place.store, file, self.place.compressor, &self.head, self.form())?)
    }

    /// What the rows become in a file.
    fn form(&self) -> Form {
        match self.place.format {
            RowFormat::Tsv => Form::Lines,
            RowFormat::Sql => {
                let (kinds, marks) = (self.plan.kinds(), self.plan.shape(self.table).error_marks);
                Form::Inserts(Box::new(Inserts::new(self.vendor, self.table, &kinds, marks)))
            }
            RowFormat::Csv => Form::Csv(Box::new(Csv::new(self.plan.kinds()))),
        }
    }

    /// Columns of a kind with what was counted of each, if it is anything.
    pub(crate) fn by_column(
        &self,
        counts: &[u64],
        is_meant: impl Fn(&Column) -> bool,
    ) -> BTreeMap<String, u64> {
        let is_meant = |(column, count): &(&Column, &u64)| **count > 0 && is_meant(column);
        let columns = self.table.columns.iter().zip(counts).filter(is_meant);
        columns.map(|(column, count)| (column.name.clone(), *count)).collect()
    }
}

/// Errors that mean that the table is not what it was when the snapshot was taken.
pub(super) fn explain(error: Error, name: &Name) -> Error {
    let Error::Server { source, .. } = &error else { return error };
    let what = match source.code() {
        Some(er::NO_SUCH_TABLE | er::NO_SUCH_TABLE_IN_ENGINE) => "was dropped or renamed",
        Some(er::TABLE_DEF_CHANGED) => "was altered, truncated or made anew",
        Some(er::BAD_FIELD) => "lost a column",
        // Of an empty text, as of a document that the server has no room for.
        Some(er::INVALID_JSON_TEXT_IN_PARAM) => return Error::with_hint(error.to_string(), LARGER_PACKET),
        _ => return error,
    };
    Error::with_hint(
        format!("table {name} {what} after the snapshot was taken: its rows as of then cannot be read"),
        "try again at a time when no table is being altered",
    )
}
