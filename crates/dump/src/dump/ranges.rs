//! Which rows each worker reads. A worker reads a range of a table from its beginning to its end, in statements of a limited
//! number of rows. One that has nothing left to do takes the far half of the range that has most left: it steps through the
//! index to a row beyond the statement that is being read, and that row's key becomes the end of the one range and the
//! beginning of the other. So every row is in exactly one range, in the server's own order, and borders are looked for only
//! where they are needed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use drover_db::{Connection, quote};

use super::catalog::Relation;
use super::reader::{Job, Place};
use super::tables::{self, Bounds};
use crate::Result;
use crate::error::Doing;
use crate::format::manifest::Chunk;
use crate::keys;

/// How many workers may come to read a table.
pub(crate) fn most_workers(table: &Relation, place: &Place) -> usize {
    usize::try_from(table.bytes / place.statement_bytes()).unwrap_or(usize::MAX).clamp(1, 512)
}

/// A part of a table's rows, read by one worker.
#[derive(Debug)]
pub(crate) struct Range<'a> {
    pub(crate) job: &'a Job<'a>,
    pub(crate) partition: Option<String>,
    /// The key values behind which it begins.
    start: Option<Vec<String>>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The key values behind which the statement at work began.
    behind: Option<Vec<String>>,
    /// Rows behind those that were read already: only where the last one's key cannot be written as a literal.
    skip: u64,
    up_to: Option<Vec<String>>,
    /// Rows of the range before the statement at work.
    begun: u64,
    /// How many rows that statement may give; `None` before the first, and for one that gives all that are left.
    limit: Option<u64>,
    /// How many rows the range has.
    expected: u64,
    /// Whether it has no more than that; else it is the server's guess.
    is_known: bool,
    bytes_a_row: u64,
    /// Whether some worker looks for a border in it, or found that it cannot be cut.
    is_sought: bool,
    is_over: bool,
    chunks: Vec<Chunk>,
}

/// What to read next.
#[derive(Debug)]
pub(crate) struct Statement {
    pub(crate) sql: String,
    /// How many rows it gives if there are as many.
    pub(crate) limit: Option<u64>,
}

/// Where to look for a border.
struct Search {
    behind: Option<Vec<String>>,
    up_to: Option<Vec<String>>,
    /// Rows of the range before `behind`.
    begun: u64,
    /// Rows to step over.
    step: u64,
}

impl<'a> Range<'a> {
    /// The ranges that a table is begun with: one for all rows, or one for each partition.
    pub(crate) fn of(job: &'a Job<'a>) -> Vec<Self> {
        let relation = &job.plan.relation;
        let whole = |partition, rows: u64, bytes: u64| {
            let bytes_a_row = bytes.checked_div(rows).unwrap_or(0).max(32);
            let state = State { expected: rows, bytes_a_row, ..State::default() };
            Self { job, partition, start: None, state: Mutex::new(state) }
        };
        if job.plan.partitions.is_empty() {
            return vec![whole(None, relation.rows, relation.bytes)];
        }
        let partitions = job.plan.partitions.iter();
        partitions
            .map(|partition| whole(Some(partition.name.clone()), partition.rows, partition.bytes))
            .collect()
    }

    /// The server's guess of its size in bytes.
    pub(crate) fn weight(&self) -> u64 {
        let state = self.lock();
        state.expected * state.bytes_a_row
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What to read next, if anything; rows are as long as those of the last statement.
    pub(crate) fn next_statement(&self, bytes_a_row: Option<u64>) -> Option<Statement> {
        let mut state = self.lock();
        if state.is_over {
            return None;
        }
        state.bytes_a_row = bytes_a_row.unwrap_or(state.bytes_a_row).max(1);
        let (plan, table) = (self.job.plan, self.job.table);
        let bounds = self.bounds(state.behind.as_deref(), state.up_to.as_deref());
        let mut sql = tables::select(table, self.job.name(), bounds, &plan.stored());
        state.limit = match &table.key {
            Some(key) => {
                sql.push_str(&format!(" ORDER BY {}", keys::order(key)));
                (state.skip == 0).then(|| (self.job.place.statement_bytes() / state.bytes_a_row).max(1))
            }
            None => None,
        };
        match state.limit {
            Some(limit) => sql.push_str(&format!(" LIMIT {limit}")),
            None if state.skip > 0 => sql.push_str(&format!(" LIMIT {} OFFSET {}", u64::MAX, state.skip)),
            None => {}
        }
        Some(Statement { sql, limit: state.limit })
    }

    /// Notes what the statement gave, and the key of its last row.
    pub(crate) fn has_read(&self, rows: u64, last: Option<Vec<String>>) {
        let mut state = self.lock();
        state.begun += rows;
        if state.limit != Some(rows) {
            state.is_over = true;
        } else if last.is_some() {
            state.behind = last;
        } else {
            state.skip = rows;
        }
    }

    pub(crate) fn start(&self) -> Option<Vec<String>> {
        self.start.clone()
    }

    pub(crate) fn end(&self) -> Option<Vec<String>> {
        self.lock().up_to.clone()
    }

    /// Notes the files that hold it.
    pub(crate) fn is_in(&self, chunks: Vec<Chunk>) {
        self.lock().chunks = chunks;
    }

    pub(crate) fn into_chunks(self: Arc<Self>) -> Vec<Chunk> {
        std::mem::take(&mut self.lock().chunks)
    }

    /// The key's values as literals.
    pub(crate) fn literals(&self, values: &[Vec<u8>]) -> Option<Vec<String>> {
        let fields = self.job.plan.key_fields();
        fields.iter().zip(values).map(|((_, literal), value)| literal.write(value)).collect()
    }

    fn bounds<'b>(&'b self, behind: Option<&'b [String]>, up_to: Option<&'b [String]>) -> Bounds<'b> {
        Bounds { partition: self.partition.as_deref(), behind, up_to }
    }

    /// Bytes that another worker could take; 0 if that is not worth while.
    fn spare(&self) -> u64 {
        let state = self.lock();
        match state.limit {
            Some(limit) if !state.is_sought && !state.is_over => {
                let beyond = state.left().saturating_sub(limit);
                if beyond < limit { 0 } else { beyond * state.bytes_a_row }
            }
            _ => 0,
        }
    }

    /// Begins to look for a border, if nobody else does.
    fn search(&self) -> Option<Search> {
        let mut state = self.lock();
        let limit = state.limit.filter(|_| !state.is_sought && !state.is_over)?;
        state.is_sought = true;
        let (behind, up_to) = (state.behind.clone(), state.up_to.clone());
        Some(Search { behind, up_to, begun: state.begun, step: limit.max(state.left() / 2) })
    }

    /// The key at the end of a search; `None` if the range has no more rows than were stepped over.
    fn border(&self, connection: &mut Connection, search: &Search) -> Result<Option<Vec<Vec<u8>>>> {
        let Some(key) = &self.job.table.key else { return Ok(None) };
        let fields = self.job.plan.key_fields();
        let columns = fields.iter().map(|(field, _)| &self.job.table.columns[*field]);
        let list: Vec<_> = columns
            .map(|column| column.read.clone().unwrap_or_else(|| quote::identifier(&column.name)))
            .collect();
        let sql = format!(
            "SELECT {} {} ORDER BY {} LIMIT 1 OFFSET {}",
            list.join(", "),
            self.bounds(search.behind.as_deref(), search.up_to.as_deref())
                .from(self.job.table, self.job.name()),
            keys::order(key),
            search.step
        );
        let row = connection.first(sql).doing(|| format!("looking for a border in {}", self.job.name()))?;
        Ok(row.map(|row| (0..row.len()).map(|at| row.bytes(at).unwrap_or_default().to_vec()).collect()))
    }

    /// Cuts off what lies behind a border that was found; `None` if the reader has come too close to it meanwhile.
    fn cut(&self, search: &Search, border: Option<Vec<Vec<u8>>>) -> Option<Self> {
        let literals = border.as_ref().map(|values| self.literals(values));
        let mut state = self.lock();
        let Some(literals) = literals else {
            // There are no more rows than were stepped over.
            state.is_sought = false;
            (state.expected, state.is_known) = (search.begun + search.step, true);
            return None;
        };
        let border = literals?; // stays marked as sought: it cannot be cut here
        state.is_sought = false;
        let before = search.begun + search.step + 1;
        let limit = state.limit.filter(|_| !state.is_over)?;
        if before <= state.begun + limit {
            return None;
        }
        let behind = State {
            behind: Some(border.clone()),
            up_to: state.up_to.take(),
            expected: state.expected.saturating_sub(before),
            is_known: state.is_known,
            bytes_a_row: state.bytes_a_row,
            ..State::default()
        };
        state.up_to = Some(border.clone());
        (state.expected, state.is_known) = (before, true);
        self.job.is_cut(); // before the lock is given back, under which the reader ends its range
        let partition = self.partition.clone();
        Some(Self { job: self.job, partition, start: Some(border), state: Mutex::new(behind) })
    }
}

impl State {
    /// Rows that the statement at work and those after it will give. A guess that was passed is followed by another one.
    fn left(&self) -> u64 {
        let left = self.expected.saturating_sub(self.begun);
        if self.is_known { left } else { left.max(self.begun / 2) }
    }
}

/// All ranges of all tables, those of one table side by side and in order.
#[derive(Debug, Default)]
pub(crate) struct Ranges<'a>(Mutex<Vec<Arc<Range<'a>>>>);

impl<'a> Ranges<'a> {
    pub(crate) fn new(ranges: Vec<Arc<Range<'a>>>) -> Self {
        Self(Mutex::new(ranges))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Range<'a>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn into_inner(self) -> Vec<Arc<Range<'a>>> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a part of what another worker has before it.
    pub(crate) fn take(&self, connection: &mut Connection) -> Result<Option<Arc<Range<'a>>>> {
        let most = self.lock().iter().max_by_key(|range| range.spare()).cloned();
        let Some(from) = most.filter(|range| range.spare() > 0) else { return Ok(None) };
        let Some(search) = from.search() else { return Ok(None) };
        let border = from.border(connection, &search)?;
        let Some(range) = from.cut(&search, border).map(Arc::new) else { return Ok(None) };
        let mut ranges = self.lock();
        let at = ranges.iter().position(|range| Arc::ptr_eq(range, &from)).map_or(ranges.len(), |at| at + 1);
        ranges.insert(at, Arc::clone(&range));
        Ok(Some(range))
    }
}
