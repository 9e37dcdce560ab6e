//! Which rows each worker reads. A worker reads a range of a table from its beginning to its end, in statements of a limited
//! number of rows. One that has nothing left to do takes the far half of the range that has most left: it steps through the
//! index to a row beyond the statement that is being read (or finds one by its number, see [`span`]), and that row's key
//! becomes the end of the one range and the beginning of the other. So every row is in exactly one range, in the server's
//! own order, and borders are looked for only where they are needed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use drover_db::table::keys;
use drover_db::{Connection, quote};

use super::catalog::{Name, Relation};
use super::job::{Job, Place};
use super::journal::{Kept, KeptRange};
use super::span::{self, Middle, Span};
use super::tables::{self, Bounds};
use crate::Result;
use crate::error::Doing;
use drover_format::manifest::Chunk;

/// How many workers may come to read a table.
pub(crate) fn most_workers(table: &Relation, place: &Place) -> usize {
    if place.format.is_one_file() {
        return 1;
    }
    usize::try_from(table.bytes / place.statement_bytes()).unwrap_or(usize::MAX).clamp(1, 512)
}

/// What all tables are begun with.
pub(crate) fn all<'a>(jobs: &[&'a Job<'a>], kept: &Kept) -> Result<Vec<Arc<Range<'a>>>> {
    let mut ranges = Vec::new();
    for job in jobs {
        ranges.extend(Range::of(job, &kept.of(job.name()))?.into_iter().map(Arc::new));
    }
    Ok(ranges)
}

/// A part of a table's rows, read by one worker.
#[derive(Debug)]
pub(crate) struct Range<'a> {
    pub(crate) job: &'a Job<'a>,
    pub(crate) partition: Option<String>,
    /// Its number in the journal.
    id: u64,
    /// Files of an earlier run that hold all its rows, as they were then.
    kept: Vec<Chunk>,
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
    /// Where the key begins with a whole number.
    span: Option<Span>,
    /// Whether some worker looks for a border in it, or found that it cannot be cut.
    is_sought: bool,
    is_over: bool,
    chunks: Vec<Chunk>,
}

/// A part of a table, or of a partition, as a run begins with it.
#[derive(Debug, Default)]
struct Piece {
    start: Option<Vec<String>>,
    up_to: Option<Vec<String>>,
    /// The files that hold it, if it was read already.
    kept: Vec<Chunk>,
}

/// The files that are kept of a table with a key, and the gaps between them.
fn pieces(kept: &[&KeptRange]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut at: Option<Vec<String>> = None;
    let mut is_whole = false;
    for range in kept {
        if is_whole {
            break;
        }
        if range.start != at {
            pieces.push(Piece { start: at, up_to: range.start.clone(), kept: Vec::new() });
            at = range.start.clone();
        }
        for chunk in range.chunks.iter() {
            if is_whole || chunk.after != at {
                break;
            }
            (at, is_whole) = (chunk.up_to.clone(), chunk.up_to.is_none());
            let kept = vec![chunk.clone()];
            pieces.push(Piece { start: chunk.after.clone(), up_to: at.clone(), kept });
        }
    }
    if !is_whole {
        pieces.push(Piece { start: at, ..Piece::default() });
    }
    pieces
}

/// Whether the chunks that are kept of a table follow each other as they must: else some of them cannot be told from what is
/// missing.
pub(crate) fn follow_each_other(kept: &[KeptRange]) -> bool {
    let partitions: BTreeSet<_> = kept.iter().map(|range| &range.partition).collect();
    partitions.into_iter().all(|partition| {
        let kept: Vec<_> = kept.iter().filter(|range| range.partition == *partition).collect();
        let all: usize = kept.iter().map(|range| range.chunks.len()).sum();
        pieces(&kept).iter().map(|piece| piece.kept.len()).sum::<usize>() == all
    })
}

/// Of a table without a key nobody knows what is missing: all its files are kept, or none.
fn whole_or_nothing(kept: &[&KeptRange]) -> Vec<Piece> {
    let whole = kept.iter().find(|range| range.is_done).map(|range| range.chunks.clone());
    vec![Piece { kept: whole.unwrap_or_default(), ..Piece::default() }]
}

/// What to read next.
#[derive(Debug)]
pub(crate) struct Statement {
    pub(crate) sql: String,
    /// How many rows it gives if there are as many.
    pub(crate) limit: Option<u64>,
    /// A row whose key begins with a greater number is not the reader's, unless [`Range::goes_beyond`] says so.
    pub(crate) ceiling: Option<i128>,
}

/// Where to look for a border.
pub(crate) struct Search {
    behind: Option<Vec<String>>,
    up_to: Option<Vec<String>>,
    /// Rows of the range before `behind`.
    begun: u64,
    /// Rows to step over.
    step: u64,
    /// The fewest rows that are worth cutting.
    least: u64,
    span: Option<Span>,
}

/// What a search came to.
enum Found {
    /// A row, by the values of its key, and so many rows of the range up to it.
    Row(Vec<Vec<u8>>, u64),
    /// A row behind the ceiling of the statement at work, and the server's guess of the rows before and behind it.
    Behind(Vec<Vec<u8>>, u64, u64),
    /// So many rows are left in the range, which are too few to cut.
    Few(u64),
}

impl<'a> Range<'a> {
    /// The ranges that a table is begun with: one for all rows, or one for each partition; and where an earlier run has come
    /// to, its files and what is missing between them.
    fn of(job: &'a Job<'a>, kept: &[KeptRange]) -> Result<Vec<Self>> {
        let relation = &job.plan.relation;
        if job.plan.partitions.is_empty() {
            return Self::of_partition(job, None, relation.rows, relation.bytes, kept);
        }
        let mut ranges = Vec::new();
        for partition in &job.plan.partitions {
            let name = Some(partition.name.clone());
            ranges.extend(Self::of_partition(job, name, partition.rows, partition.bytes, kept)?);
        }
        Ok(ranges)
    }

    fn of_partition(
        job: &'a Job<'a>,
        partition: Option<String>,
        rows: u64,
        bytes: u64,
        kept: &[KeptRange],
    ) -> Result<Vec<Self>> {
        let bytes_a_row = bytes.checked_div(rows).unwrap_or(0).max(32);
        let kept: Vec<_> = kept.iter().filter(|range| range.partition == partition).collect();
        let pieces = match job.table.key {
            Some(_) => pieces(&kept),
            None => whole_or_nothing(&kept),
        };
        let known: u64 = pieces.iter().flat_map(|piece| &piece.kept).map(|chunk| chunk.rows).sum();
        let mut behind = None;
        let mut range = |piece: Piece| {
            let id = job.journal.range(job.name(), partition.as_deref(), behind, piece.start.as_deref())?;
            piece.kept.iter().try_for_each(|chunk| job.journal.file(id, chunk))?;
            behind = Some(id);
            let (start, up_to) = (piece.start, piece.up_to);
            let expected = match piece.kept.as_slice() {
                [] => rows.saturating_sub(known),
                kept => kept.iter().map(|chunk| chunk.rows).sum(),
            };
            let state = State { behind: start.clone(), up_to, expected, bytes_a_row, ..State::default() };
            let partition = partition.clone();
            Ok(Self { job, partition, id, kept: piece.kept, start, state: Mutex::new(state) })
        };
        pieces.into_iter().map(&mut range).collect()
    }

    /// Notes a chunk that is whole.
    pub(crate) fn has_chunk(&self, chunk: &Chunk) -> Result<()> {
        self.job.journal.file(self.id, chunk)
    }

    /// Chunks of an earlier run that hold its rows.
    pub(crate) fn kept(&self) -> &[Chunk] {
        &self.kept
    }

    /// All its rows, as conditions.
    pub(crate) fn all(&self) -> (Option<&str>, Option<Vec<String>>, Option<Vec<String>>) {
        (self.partition.as_deref(), self.start.clone(), self.end())
    }

    /// The server's guess of its size in bytes.
    pub(crate) fn weight(&self) -> u64 {
        let state = self.lock();
        state.expected * state.bytes_a_row
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks where its numbers lie, if the key begins with a whole number and there is more than one statement's worth.
    pub(crate) fn begin(&self, connection: &mut Connection) -> Result<()> {
        let expected = self.lock().expected;
        let is_small = self.weight() < self.job.place.statement_bytes();
        if is_small || self.lock().span.is_some() || !self.job.plan.key_begins_with_number() {
            return Ok(());
        }
        let up_to = self.end();
        let bounds = Bounds { condition: None, ..self.bounds(self.start.as_deref(), up_to.as_deref()) };
        let ends = span::ends(connection, self.job.table, self.job.name(), bounds)?;
        self.lock().span = ends.map(|(lowest, highest)| Span::new(lowest - 1, highest, expected));
        Ok(())
    }

    /// What to read next, if anything; rows are as long as those of the last statement.
    pub(crate) fn next_statement(&self, bytes_a_row: Option<u64>) -> Option<Statement> {
        let mut state = self.lock();
        if state.is_over {
            return None;
        }
        state.bytes_a_row = bytes_a_row.unwrap_or(state.bytes_a_row).max(1);
        let (plan, table) = (self.job.plan, self.job.table);
        let has_limit = table.key.is_some() && state.skip == 0;
        state.limit = has_limit.then(|| (self.job.place.statement_bytes() / state.bytes_a_row).max(1));
        let ceiling = state.limit.and_then(|limit| state.span.as_mut()?.aim(limit));
        // With a condition of a person's, nobody knows how far so many rows reach.
        let is_open = ceiling.is_some() && plan.has_short_rows && table.condition.is_none();
        let number = ceiling.map(|number| [number.to_string()]);
        let up_to = number.as_ref().map(<[String; 1]>::as_slice).or(state.up_to.as_deref());
        let bounds = self.bounds(state.behind.as_deref(), up_to.filter(|_| !is_open));
        let mut sql = tables::select(table, self.job.name(), bounds, &plan.extra());
        if let Some(key) = &table.key {
            sql.push_str(&format!(" ORDER BY {}", keys::order(key)));
        }
        match state.limit {
            Some(limit) => sql.push_str(&format!(" LIMIT {limit}")),
            None if state.skip > 0 => sql.push_str(&format!(" LIMIT {} OFFSET {}", u64::MAX, state.skip)),
            None => {}
        }
        Some(Statement { sql, limit: state.limit, ceiling: ceiling.filter(|_| is_open) })
    }

    /// Whether the reader may take a row beyond the ceiling of the statement at work: gives the next ceiling. If not, it and
    /// those after it come with the next statement, or are another worker's.
    pub(crate) fn goes_beyond(&self, number: i128) -> Option<i128> {
        self.lock().span.as_mut()?.raise(number)
    }

    /// Notes what the statement gave, and the key of its last row.
    pub(crate) fn has_read(&self, rows: u64, last: Option<Vec<String>>) {
        let mut state = self.lock();
        state.begun += rows;
        let is_full = state.limit == Some(rows);
        let ceiling = state.span.as_ref().and_then(Span::ceiling);
        match (is_full, last, ceiling) {
            (true, Some(last), _) => state.is_read_up_to(rows, last),
            (true, None, _) => (state.skip, state.span) = (rows, None),
            (false, _, Some(ceiling)) => state.is_read_up_to(rows, vec![ceiling.to_string()]),
            (false, _, None) => state.is_over = true,
        }
    }

    /// Has the rows behind these key values read again; there are so many before them in the range. What others have cut off
    /// lies further behind and stays theirs.
    pub(crate) fn go_back(&self, behind: Option<Vec<String>>, rows: u64) {
        let mut state = self.lock();
        (state.behind, state.begun) = (behind, rows);
        (state.skip, state.is_over) = (0, false);
    }

    pub(crate) fn start(&self) -> Option<Vec<String>> {
        self.start.clone()
    }

    pub(crate) fn end(&self) -> Option<Vec<String>> {
        self.lock().up_to.clone()
    }

    /// Notes the chunks that hold all of it.
    pub(crate) fn is_in(&self, chunks: Vec<Chunk>) -> Result<()> {
        self.lock().chunks = chunks;
        self.job.journal.done(self.id)
    }

    fn into_chunks(self: Arc<Self>) -> Vec<Chunk> {
        std::mem::take(&mut self.lock().chunks)
    }

    /// The key's values as literals.
    pub(crate) fn literals(&self, values: &[Vec<u8>]) -> Option<Vec<String>> {
        let fields = self.job.plan.key_fields();
        fields.iter().zip(values).map(|((_, literal), value)| literal.write(value)).collect()
    }

    fn bounds<'b>(&'b self, behind: Option<&'b [String]>, up_to: Option<&'b [String]>) -> Bounds<'b> {
        let condition = self.job.table.condition.as_deref();
        Bounds { partition: self.partition.as_deref(), behind, up_to, condition }
    }

    /// Bytes that another worker could take; 0 if that is not worth while.
    fn spare(&self) -> u64 {
        let state = self.lock();
        match state.limit {
            Some(limit) if !state.is_sought && !state.is_over && !state.reads_to_its_end() => {
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
        let (behind, up_to, span) = (state.behind.clone(), state.up_to.clone(), state.span.clone());
        let (begun, step, least) = (state.begun, limit.max(state.left() / 2), limit);
        Some(Search { behind, up_to, begun, step, least, span })
    }

    /// Looks for a border: by its numbers if it has such, else by stepping over rows.
    fn border(&self, connection: &mut Connection, search: &Search) -> Result<Found> {
        let up_to = search.up_to.as_deref();
        if let Some(span) = &search.span {
            let (table, name) = (self.job.table, self.job.name());
            let middle = span::middle(span, search.least, |above, number| {
                let (above, number) = ([above.to_string()], number.map(|number| [number.to_string()]));
                let up_to = number.as_ref().map(<[String; 1]>::as_slice).or(up_to);
                let bounds = Bounds { condition: None, ..self.bounds(Some(&above), up_to) };
                bounds.guess(connection, table, name)
            })?;
            match middle {
                Middle::Few(rows) => return Ok(Found::Few(rows + search.least)),
                Middle::At { number, before, behind } => {
                    let above = [number.to_string()];
                    let bounds = Bounds { condition: None, ..self.bounds(Some(&above), up_to) };
                    if let Some(row) = self.row(connection, bounds, 0)? {
                        return Ok(Found::Behind(row, before, behind));
                    }
                }
                Middle::Nowhere => {}
            }
        }
        let row = self.row(connection, self.bounds(search.behind.as_deref(), up_to), search.step)?;
        Ok(row.map_or(Found::Few(search.step), |row| Found::Row(row, search.begun + search.step + 1)))
    }

    /// The key of the row that is behind so many others.
    fn row(
        &self,
        connection: &mut Connection,
        bounds: Bounds<'_>,
        offset: u64,
    ) -> Result<Option<Vec<Vec<u8>>>> {
        let Some(key) = &self.job.table.key else { return Ok(None) };
        let fields = self.job.plan.key_fields();
        let columns = fields.iter().map(|(field, _)| &self.job.table.columns[*field]);
        let list: Vec<_> = columns
            .map(|column| column.read.clone().unwrap_or_else(|| quote::identifier(&column.name)))
            .collect();
        let sql = format!(
            "SELECT {} {} ORDER BY {} LIMIT 1 OFFSET {offset}",
            list.join(", "),
            bounds.from(self.job.table, self.job.name()),
            keys::order(key),
        );
        let row = connection.first(sql).doing(|| format!("looking for a border in {}", self.job.name()))?;
        Ok(row.map(|row| (0..row.len()).map(|at| row.bytes(at).unwrap_or_default().to_vec()).collect()))
    }

    /// Cuts off what lies behind a border that was found; `None` if the reader has come too close to it meanwhile.
    fn cut(&self, search: &Search, found: &Found) -> Result<Option<Self>> {
        let mut state = self.lock();
        let border = match found {
            Found::Row(values, _) | Found::Behind(values, ..) => self.literals(values),
            Found::Few(rows) => {
                state.is_sought = false;
                (state.expected, state.is_known) = (search.begun + rows, true);
                return Ok(None);
            }
        };
        let Some(border) = border else { return Ok(None) }; // stays marked as sought: it cannot be cut here
        state.is_sought = false;
        let Some((before, is_known)) = state.before(&border, found) else { return Ok(None) };
        let id = self.job.journal.range(
            self.job.name(),
            self.partition.as_deref(),
            Some(self.id),
            Some(&border),
        )?;
        let behind = State {
            behind: Some(border.clone()),
            up_to: state.up_to.take(),
            expected: state.expected.saturating_sub(before),
            is_known: state.is_known && is_known,
            bytes_a_row: state.bytes_a_row,
            span: state.span.as_mut().zip(span::first(&border)).map(|(span, number)| span.cut(number)),
            ..State::default()
        };
        state.up_to = Some(border.clone());
        (state.expected, state.is_known) = (before, is_known);
        self.job.has_range(); // before the lock is given back, under which the reader ends its range
        let partition = self.partition.clone();
        let (start, state) = (Some(border), Mutex::new(behind));
        Ok(Some(Self { job: self.job, partition, id, kept: Vec::new(), start, state }))
    }
}

impl State {
    /// Notes that all rows up to there were read.
    fn is_read_up_to(&mut self, rows: u64, last: Vec<String>) {
        if let (Some(span), Some(number)) = (&mut self.span, span::first(&last)) {
            span.has_read(rows, number);
        }
        self.behind = Some(last);
    }

    /// Whether the statement at work has no ceiling, though it could have one: there is little left.
    fn reads_to_its_end(&self) -> bool {
        self.span.as_ref().is_some_and(|span| span.ceiling().is_none())
    }

    /// How many rows of the range lie before a border that was found, and whether that is sure; `None` if the reader has come
    /// too close to it meanwhile.
    fn before(&self, border: &[String], found: &Found) -> Option<(u64, bool)> {
        let limit = self.limit.filter(|_| !self.is_over)?;
        match found {
            Found::Few(_) => None,
            Found::Row(_, before) => Some((*before, true)).filter(|_| *before > self.begun + limit),
            Found::Behind(_, before, behind) => {
                let ceiling = self.span.as_ref()?.ceiling()?;
                let share = *behind as f64 / (before + behind + limit).max(1) as f64;
                let left = self.left() - (self.left() as f64 * share) as u64;
                Some((self.begun + left, false)).filter(|_| span::first(border) > Some(ceiling))
            }
        }
    }

    /// Rows that the statement at work and those after it will give. A guess that was passed is followed by another one.
    fn left(&self) -> u64 {
        let left = self.expected.saturating_sub(self.begun);
        if self.is_known { left } else { left.max(self.begun / 2) }
    }
}

/// The chunks of each table, partition by partition, in the order of the key.
pub(crate) type Chunks = BTreeMap<Name, Vec<Chunk>>;

/// All ranges of all tables, those of one table side by side and in order.
#[derive(Debug, Default)]
pub(crate) struct Ranges<'a>(Mutex<Vec<Arc<Range<'a>>>>);

impl<'a> Ranges<'a> {
    /// Gives those that are to be read, the largest last. What an earlier run left is not read, unless it must be the same
    /// as it is now.
    pub(crate) fn begin(
        ranges: Vec<Arc<Range<'a>>>,
        consistent: bool,
    ) -> Result<(Self, Vec<Arc<Range<'a>>>)> {
        let mut tasks = Vec::new();
        for range in &ranges {
            range.job.has_chunks(range.kept());
            if range.kept().is_empty() || consistent {
                range.job.has_range();
                tasks.push(Arc::clone(range));
            } else {
                range.job.keeps(range.kept());
                range.is_in(range.kept().to_vec())?;
            }
        }
        tasks.sort_by_key(|range| range.weight());
        Ok((Self(Mutex::new(ranges)), tasks))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Range<'a>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The chunks of all tables.
    pub(crate) fn into_chunks(self) -> Chunks {
        let mut chunks = Chunks::new();
        for range in self.0.into_inner().unwrap_or_else(PoisonError::into_inner) {
            chunks.entry(range.job.name().clone()).or_default().extend(range.into_chunks());
        }
        chunks
    }

    /// The range of another worker of which a part can be taken, and where; without asking the server.
    pub(crate) fn to_cut(&self) -> Option<(Arc<Range<'a>>, Search)> {
        let most = self.lock().iter().max_by_key(|range| range.spare()).cloned();
        let from = most.filter(|range| range.spare() > 0)?;
        let search = from.search()?;
        Some((from, search))
    }

    /// Takes a part of what another worker has before it.
    pub(crate) fn take(
        &self,
        connection: &mut Connection,
        (from, search): (Arc<Range<'a>>, Search),
    ) -> Result<Option<Arc<Range<'a>>>> {
        let found = from.border(connection, &search)?;
        let Some(range) = from.cut(&search, &found)?.map(Arc::new) else { return Ok(None) };
        let mut ranges = self.lock();
        let at = ranges.iter().position(|range| Arc::ptr_eq(range, &from)).map_or(ranges.len(), |at| at + 1);
        ranges.insert(at, Arc::clone(&range));
        Ok(Some(range))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn border(at: usize, last: usize) -> Option<Vec<String>> {
        (at > 0 && at < last).then(|| vec![at.to_string()])
    }

    /// Files between the borders 0, 1, … `last`; each range begins at one of `starts`, and has its first few files.
    fn kept(last: usize, starts: &[usize], files: &[usize]) -> Vec<KeptRange> {
        let ends = starts.iter().skip(1).copied().chain([last]);
        let ranges = starts.iter().zip(ends).zip(files);
        let range = |((&start, end), &files): ((&usize, usize), &usize)| {
            let chunk =
                |at| Chunk { after: border(at, last), up_to: border(at + 1, last), ..Chunk::default() };
            let chunks = (start..end.min(start + files)).map(chunk).collect();
            KeptRange { start: border(start, last), chunks, ..KeptRange::default() }
        };
        ranges.map(range).collect()
    }

    proptest! {
        #[test]
        fn what_is_kept_and_what_is_missing_follow_each_other(
            last in 1usize..20,
            cuts in prop::collection::btree_set(1usize..20, 0..6),
            files in prop::collection::vec(0usize..8, 7),
            lost in 0usize..7,
        ) {
            let starts: Vec<_> = [0].into_iter().chain(cuts.into_iter().filter(|&at| at < last)).collect();
            let mut kept = kept(last, &starts, &files);
            if lost > 0 && lost < kept.len() {
                kept.remove(lost); // the run ended before the range was noted
            }
            let all: usize = kept.iter().map(|range| range.chunks.len()).sum();
            let pieces = pieces(&kept.iter().collect::<Vec<_>>());
            prop_assert!(pieces[0].start.is_none() && pieces[pieces.len() - 1].up_to.is_none());
            for pair in pieces.windows(2) {
                prop_assert_eq!(&pair[0].up_to, &pair[1].start);
                prop_assert!(pair[0].up_to.is_some());
            }
            prop_assert_eq!(pieces.iter().map(|piece| piece.kept.len()).sum::<usize>(), all);
            prop_assert!(follow_each_other(&kept));
            if let Some(range) = kept.iter_mut().find(|range| range.chunks.len() > 1) {
                range.chunks.remove(0);
                prop_assert!(!follow_each_other(&kept));
            }
        }
    }
}
