//! Reading the rows of a table: range by range, statement by statement, chunk by chunk.

use drover_db::Connection;
use drover_db::table::Column;
use drover_format::manifest::Chunk;

use super::catalog::{self, Name};
use super::destination::Destination;
use super::hold::Hold;
use super::job::{Job, explain};
use super::ranges::{Range, Statement};
use super::tables::{self, Bounds, TablePlan};
use crate::ddl::without_auto_increment;
use crate::error::Doing;
use crate::rows::{self, Lines, Meter, Part, Shape, Sums};
use crate::{Error, Result};

/// What came of a range.
pub(crate) struct Read {
    pub(crate) chunks: Vec<Chunk>,
    /// Whether it was the last one of its table.
    pub(crate) was_last: bool,
}

/// Reads a range of an open table to its end.
pub(crate) fn read(
    connection: &mut Connection,
    range: &Range<'_>,
    destination: &mut impl Destination,
    hold: &mut Hold<'_>,
) -> Result<Read> {
    let name = range.job.name();
    let mut read = |connection: &mut Connection| {
        if let Some(chunks) = still_same(connection, range, destination)? {
            return Ok(chunks);
        }
        let shape = range.job.plan.shape(range.job.table);
        Reader::new(range, &shape, hold, destination).read(connection)
    };
    let chunks = read(connection).map_err(|error| explain(error, name))?;
    // The rows hold a lock on the table's definition until the savepoint is undone: what it is now, it was then.
    check_definition(connection, range.job.plan)?;
    let all = range.job.has_read(&chunks);
    if let Some(rows) = all {
        check_count(connection, range.job, rows)?;
    }
    Ok(Read { chunks, was_last: all.is_some() })
}

/// The chunks that an earlier run left of this range, if they hold the rows as they are now; else they are taken away.
fn still_same(
    connection: &mut Connection,
    range: &Range<'_>,
    destination: &mut impl Destination,
) -> Result<Option<Vec<Chunk>>> {
    let (job, kept) = (range.job, range.kept());
    if kept.is_empty() {
        return Ok(None);
    }
    let (partition, behind, up_to) = range.all();
    let condition = job.table.condition.as_deref();
    let bounds = Bounds { partition, behind: behind.as_deref(), up_to: up_to.as_deref(), condition };
    let sql = tables::select(job.table, job.name(), bounds, &[]);
    let what = format!("comparing the rows of {} with those that were read before", job.name());
    let stream = connection.stream(sql).doing(|| what.clone())?;
    let shape = Shape { masks: job.plan.maskers(), ..tables::shape(job.table) };
    let mut found = rows::sum(stream, &shape, &mut Meter::new(&job.share), &what)?;
    // What only the text of the chunks tells is not compared.
    let expected = Sums::of(kept);
    (found.bytes, found.enum_errors, found.retyped) =
        (expected.bytes, expected.enum_errors, expected.retyped);
    if found == expected {
        return Ok(Some(kept.iter().map(|chunk| Chunk { earlier: None, ..chunk.clone() }).collect()));
    }
    destination.take_away(range, kept)?;
    Ok(None)
}

/// A condition on text depends on much: the collation, the character set, how the server looks for its place in the index.
/// Verification reads by the same conditions, so here the rows are counted without any.
fn check_count(connection: &mut Connection, job: &Job<'_>, rows: u64) -> Result<()> {
    if job.is_mixed() || job.plan.compares_as_bytes() || rows * 32 < job.place.statement_bytes() {
        return Ok(());
    }
    let name = job.name();
    let mut sql = format!("SELECT COUNT(*) FROM {name}");
    if let Some(condition) = &job.table.condition {
        sql.push_str(&format!(" WHERE {}", tables::in_parentheses(condition)));
    }
    let count = connection.first(sql).doing(|| format!("counting {name}"))?;
    match count.and_then(|row| row.parse::<u64>(0)) {
        Some(count) if count == rows => Ok(()),
        count => Err(Error::with_hint(
            format!(
                "table {name}: {rows} rows were read in the parts it was cut into, and it has {}",
                count.unwrap_or(0)
            ),
            match job.table.condition {
                None => {
                    "this is an error in drover: please report it with SHOW CREATE TABLE; --chunk-size 1024G cuts no table"
                }
                Some(_) => {
                    "the condition of --where must give the same answer each time (RAND() does not); if it does, please \
                     report this with SHOW CREATE TABLE"
                }
            },
        )),
    }
}

fn check_definition(connection: &mut Connection, plan: &TablePlan) -> Result<()> {
    let name = &plan.relation.name;
    let now = catalog::create_table(connection, name).map_err(|error| explain(error, name))?;
    if without_auto_increment(&now) == plan.definition {
        return Ok(());
    }
    Err(Error::with_hint(
        format!("table {name} was altered after the snapshot was taken"),
        "try again at a time when no table is being altered",
    ))
}

/// Reads the rows of one range in chunks.
struct Reader<'a, 'h, D> {
    range: &'a Range<'a>,
    lines: Lines<'a>,
    meter: Meter<'a>,
    hold: &'a mut Hold<'h>,
    destination: &'a mut D,
    /// The name of the chunk that is being read.
    file: String,
    chunks: Vec<Chunk>,
}

/// What a statement gave.
enum Given {
    /// So many rows, and the key of the last one if there may be more behind it.
    Rows(u64, Option<Vec<String>>),
    /// A chunk was not taken.
    Refused,
}

impl<'a, 'h, D: Destination> Reader<'a, 'h, D> {
    fn new(range: &'a Range<'a>, shape: &'a Shape, hold: &'a mut Hold<'h>, destination: &'a mut D) -> Self {
        let (lines, meter) = (Lines::new(shape), Meter::new(&range.job.share));
        Self { range, lines, meter, hold, destination, file: String::new(), chunks: Vec::new() }
    }

    fn read(mut self, connection: &mut Connection) -> Result<Vec<Chunk>> {
        let mut bytes_a_row = None;
        self.range.begin(connection)?;
        self.begin()?;
        loop {
            while let Some(statement) = self.range.next_statement(bytes_a_row) {
                let before = self.bytes();
                match self.statement(connection, &statement)? {
                    Given::Rows(rows, last) => {
                        bytes_a_row = (self.bytes() - before).checked_div(rows).or(bytes_a_row);
                        self.range.has_read(rows, last);
                    }
                    Given::Refused => self.go_back()?,
                }
                self.hold.pass(connection, self.range)?;
            }
            match self.cut(self.range.end())? {
                Some(bytes) => {
                    self.hold.throttle().spend(bytes);
                    return Ok(self.chunks);
                }
                None => self.go_back()?,
            }
        }
    }

    /// Bytes of text that were read.
    fn bytes(&self) -> u64 {
        self.lines.bytes() + self.chunks.iter().map(|chunk| chunk.bytes).sum::<u64>()
    }

    /// Keeps to the rate and the limits amid a statement. Between statements is the better place to wait: amid one, the
    /// server waits too. But one that has no limit has no end before that of the table.
    fn obey(&self, bytes: u64, statement: &Statement) -> Result<()> {
        let throttle = self.hold.throttle();
        throttle.spend(bytes);
        match statement.limit {
            Some(_) => Ok(throttle.check()?),
            None => Ok(throttle.pass()?),
        }
    }

    /// Reads what one statement gives.
    fn statement(&mut self, connection: &mut Connection, statement: &Statement) -> Result<Given> {
        let name = self.range.job.name();
        let reading = || format!("reading the rows of {name}");
        let mut stream = connection.stream(&statement.sql).doing(reading)?;
        let keyed = self.range.job.table.key.is_some();
        let mut ceiling = statement.ceiling;
        let (mut rows, mut last) = (0, None);
        loop {
            // An error is large, and is not moved for each row that is none.
            let row = match stream.next_row() {
                Ok(Some(row)) => row,
                Ok(None) => break,
                Err(error) => return Err(error).doing(reading),
            };
            if let Some(most) = ceiling {
                let number = self.lines.number_of(&row).map_err(|error| at_row(error, name, rows + 1))?;
                if number > most {
                    ceiling = self.range.goes_beyond(number);
                    if ceiling.is_none() {
                        stream.finish().doing(reading)?;
                        return Ok(Given::Rows(rows, None));
                    }
                }
            }
            rows += 1;
            let is_last = statement.limit == Some(rows);
            let is_full = self.lines.bytes() >= self.range.job.place.file_bytes();
            let key = match self.lines.add(row, keyed && (is_last || is_full), self.destination) {
                Ok(key) => key,
                Err(error) => return Err(at_row(error, name, rows)),
            };
            if let Some(bytes) = self.meter.passes(&self.lines) {
                self.obey(bytes, statement)?;
            }
            let key = key.and_then(|values| self.range.literals(&values));
            if is_full && (key.is_some() || !keyed) {
                let Some(bytes) = self.cut(key.clone())? else {
                    stream.finish().doing(reading)?;
                    return Ok(Given::Refused);
                };
                self.begin()?;
                self.obey(bytes, statement)?;
            }
            last = if is_last { key } else { None };
        }
        Ok(Given::Rows(rows, last))
    }

    fn begin(&mut self) -> Result<()> {
        self.file = self.range.job.next_chunk();
        self.destination.begin(&self.file)
    }

    /// Ends the chunk, which holds all rows up to a key. Gives the bytes that have not been spent; `None` if the chunk was
    /// not taken.
    fn cut(&mut self, up_to: Option<Vec<String>>) -> Result<Option<u64>> {
        let bytes = self.meter.end(&self.lines);
        let Part { sums, lost } = self.lines.cut(self.destination)?;
        let chunk = Chunk {
            file: std::mem::take(&mut self.file),
            rows: sums.rows,
            bytes: sums.bytes,
            digest: sums.digest,
            generated: sums.generated,
            enum_errors: sums.enum_errors,
            retyped: sums.retyped,
            invalid_text: self.range.job.by_column(&lost, |column| !column.is_cast_to_json()),
            untold_documents: self.range.job.by_column(&lost, Column::is_cast_to_json),
            partition: self.range.partition.clone(),
            after: self.after(),
            up_to,
            ..Chunk::default()
        };
        let Some(chunk) = self.destination.end(self.range, chunk)? else { return Ok(None) };
        self.chunks.push(chunk);
        Ok(Some(bytes))
    }

    /// The key values behind which the chunk at work began.
    fn after(&self) -> Option<Vec<String>> {
        self.chunks.last().map_or_else(|| self.range.start(), |chunk| chunk.up_to.clone())
    }

    /// Begins again with the chunk that was not taken; without a key to find its first row by, with the first one.
    fn go_back(&mut self) -> Result<()> {
        if self.range.job.table.key.is_none() {
            self.chunks.clear();
        }
        self.range.go_back(self.after(), self.chunks.iter().map(|chunk| chunk.rows).sum());
        self.begin()
    }
}

fn at_row(error: Error, name: &Name, row: u64) -> Error {
    match error {
        Error::Found { what, hint } => Error::Found { what: format!("{name}, row {}: {what}", row), hint },
        Error::Server { source: drover_db::Error::Source(io), .. } => {
            let lost = drover_db::Error::Lost { to: "the server".into(), source: io };
            Error::Server { doing: format!("reading row {} of {name}", row), source: lost }
        }
        other => other,
    }
}
