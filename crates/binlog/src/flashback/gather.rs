//! The way forward: looks whether all that is wanted can be undone, and writes what undoes it into the spool.
//!
//! In the spool there are, for each transaction: for each of its events of rows one that undoes it, and behind that the description
//! of its table; then what stands around the rows.

use std::collections::HashMap;

use drover_db::sql::{Token, tokens_in_comments};

use crate::chain::{Item, Trouble};
use crate::definitions::Definitions;
use crate::event::{ExecuteLoad, OldLoad, Query, Rows, TableMap, incident};
use crate::filter::{Filter, Wants};
use crate::loads::dialect;
use crate::log::{Event, Format, Header, Kind, RowChange, Short};
use crate::rows::{ColumnType, Table, Tables};
use crate::{Error, Result};

use super::invert::{Obstacle, invert};
use super::meaning::Meaning;
use super::record::{Record, Records};
use super::spool::{Backwards, Spool};

/// Where events come from.
pub(super) struct Scene {
    pub(super) log: String,
    /// Of the log.
    pub(super) number: usize,
    pub(super) format: Format,
    /// The event that said so, as a record; empty where there was none.
    pub(super) description: Vec<u8>,
}

/// Takes in what is to be undone.
pub(super) struct Gatherer {
    spool: Spool,
    scenes: Vec<Scene>,
    /// Whether the last of these is that of the event at hand, as long as the log is the same.
    is_same_scene: bool,
    description: Vec<u8>,
    tables: Tables,
    /// The events that described tables, as records, by the tables' numbers.
    maps: HashMap<u64, Vec<u8>>,
    /// What the columns are of each table that rows are undone of, by its name.
    shapes: HashMap<Vec<u8>, Vec<(ColumnType, bool)>>,
    /// How long the spool was when the transaction at hand began.
    start: u64,
    before: Records,
    behind: Records,
    passed_over: u64,
    body: Vec<u8>,
    record: Vec<u8>,
}

/// What was gathered.
pub(super) struct Gathered {
    pub(super) spool: Backwards,
    pub(super) scenes: Vec<Scene>,
    pub(super) passed_over: u64,
}

/// So many descriptions of tables are kept from one transaction to the next.
const MOST_TABLES: usize = 1000;

impl Gatherer {
    pub(super) fn new(definitions: Option<Definitions>) -> Result<Self> {
        Ok(Self {
            spool: Spool::new()?,
            scenes: Vec::new(),
            is_same_scene: false,
            description: Vec::new(),
            tables: Tables::with(definitions),
            maps: HashMap::new(),
            shapes: HashMap::new(),
            start: 0,
            before: Records::default(),
            behind: Records::default(),
            passed_over: 0,
            body: Vec::new(),
            record: Vec::new(),
        })
    }

    /// Looks at an event; `takes` says whether its transaction is wanted.
    pub(super) fn take(
        &mut self,
        item: &Item<'_>,
        takes: bool,
        filter: &Filter<'_>,
    ) -> std::result::Result<(), Trouble> {
        if item.event.kind == Kind::FORMAT_DESCRIPTION {
            self.is_same_scene = false;
            self.description.clear();
            Record { scene: 0, event: item.event }.write(&mut self.description);
        }
        if !takes {
            return Ok(());
        }
        if item.place.begins() {
            self.begin().map_err(Trouble::Other)?;
        }
        match item.event.kind.row_change() {
            Some(_) => self.take_rows(item, filter)?,
            None => self.take_other(item, filter)?,
        }
        filter.refuse_doubt(item.log, item.event.position)?;
        if item.place.ends() {
            self.end().map_err(Trouble::Other)?;
        }
        Ok(())
    }

    /// All was looked at. A transaction that has no end was never committed.
    pub(super) fn finish(mut self) -> Result<Gathered> {
        self.spool.cut(self.start)?;
        let (scenes, passed_over) = (self.scenes, self.passed_over);
        Ok(Gathered { spool: self.spool.turned()?, scenes, passed_over })
    }

    fn begin(&mut self) -> Result<()> {
        self.spool.cut(self.start)?;
        self.before.bytes.clear();
        self.behind.bytes.clear();
        if self.maps.len() > MOST_TABLES {
            self.maps.clear();
            self.tables.clear();
        }
        Ok(())
    }

    /// Writes what stands around the rows of a transaction, if it has any.
    fn end(&mut self) -> Result<()> {
        if self.has_rows() {
            let Self { before, behind, record, .. } = self;
            record.clear();
            record.extend(self.start.to_le_bytes());
            record.extend((before.bytes.len() as u64).to_le_bytes());
            record.extend_from_slice(&before.bytes);
            record.extend_from_slice(&behind.bytes);
            self.spool.write(record)?;
        }
        self.start = self.spool.length();
        Ok(())
    }

    /// Whether there is something to undo of the transaction at hand.
    fn has_rows(&self) -> bool {
        self.spool.length() > self.start
    }

    fn take_rows(&mut self, item: &Item<'_>, filter: &Filter<'_>) -> std::result::Result<(), Trouble> {
        let event = &item.event;
        let rows = Rows::parse(event.kind, event.body, item.format)?;
        // An event without rows ends a statement.
        if rows.rows.is_empty() {
            return Ok(());
        }
        let tables = std::mem::take(&mut self.tables);
        let taken = match tables.get(rows.table) {
            Some(Ok(table)) => {
                let is_wanted =
                    filter.wants_table(&table.schema, &table.name) && filter.wants_kind(event.header.kind);
                if is_wanted { self.take_rows_of(item, rows, table, filter) } else { Ok(()) }
            }
            Some(Err(why)) => Err(refused(item, format!("rows of a table with columns that {why}"), "")),
            None => {
                let what = format!("rows of table number {}, which was not described", rows.table);
                Err(refused(item, what, ""))
            }
        };
        self.tables = tables;
        taken
    }

    fn take_rows_of(
        &mut self,
        item: &Item<'_>,
        rows: Rows<'_>,
        table: &Table,
        filter: &Filter<'_>,
    ) -> std::result::Result<(), Trouble> {
        let name = [&table.schema[..], b".", &table.name].concat();
        let shown = String::from_utf8_lossy(&name).into_owned();
        match Sequence::of(table, &rows, item.format) {
            Sequence::Is => return Ok(()),
            Sequence::MayBe => {
                let what = format!("rows of {shown} look like those of a sequence, which nobody can undo");
                return Err(refused(item, what, if filter.names_tables() { RANGE } else { TABLES }));
            }
            Sequence::IsNot => {}
        }
        let shape: Vec<_> = table.columns.iter().map(|column| (column.kind, column.is_nullable)).collect();
        if *self.shapes.entry(name).or_insert_with(|| shape.clone()) != shape {
            let what = format!("the columns of {shown} are others than in the rows before");
            return Err(refused(
                item,
                what,
                "undo what came before and what comes behind by itself, with the table changed back in between",
            ));
        }
        self.body.clear();
        let kind = invert(item.event.kind, rows, table, item.format, &mut self.body);
        let kind = kind.map_err(|obstacle| match obstacle {
            Obstacle::Malformed => Trouble::Malformed,
            Obstacle::Lacks(what) => {
                refused(item, format!("rows of {shown} cannot be undone: {what}"), LACKING)
            }
        })?;
        let scene = self.scene(item);
        let Some(map) = self.maps.get_mut(&rows.table) else { return Err(Trouble::Malformed) };
        self.record.clear();
        let event =
            Event { kind, body: &self.body, header: header(item, kind, self.body.len()), ..item.event };
        Record { scene, event }.write(&mut self.record);
        self.spool.write(&self.record).and_then(|()| self.spool.write(map)).map_err(Trouble::Other)
    }

    fn take_other(&mut self, item: &Item<'_>, filter: &Filter<'_>) -> std::result::Result<(), Trouble> {
        let Item { event, format, .. } = item;
        let record = Record { scene: self.scene(item), event: *event };
        match event.kind {
            Kind::TABLE_MAP => {
                let map = TableMap::parse(event.body, format)?;
                self.tables.learn(&map, event.body, format)?;
                let kept = self.maps.entry(map.id).or_default();
                kept.clear();
                record.write(kept);
            }
            Kind::GTID | Kind::ANONYMOUS_GTID | Kind::GTID_TAGGED | Kind::MARIADB_GTID => {
                self.before.push(&record);
            }
            Kind::QUERY => self.take_query(item, &Query::parse(event.body, format)?, filter)?,
            Kind::EXECUTE_LOAD_QUERY => {
                let load = ExecuteLoad::parse(event.body, format)?;
                self.take_statement(item, &load.query, filter)?;
            }
            Kind::LOAD | Kind::NEW_LOAD | Kind::EXEC_LOAD => {
                // Where its table is not told, nobody knows which it is.
                let load = OldLoad::parse(event.kind, event.body).ok();
                let text = load
                    .as_ref()
                    .map_or_else(|| b"LOAD DATA".to_vec(), |load| load.statement(load.file_name));
                let (thread, schema) = load.as_ref().map_or((0, &b""[..]), |load| (load.thread, load.schema));
                let query = Query { thread, seconds: 0, error: 0, status: &[], schema, text: &text };
                self.take_statement(item, &query, filter)?;
            }
            Kind::XID => self.behind.push(&record),
            Kind::XA_PREPARE => {
                let is_one_phase = *event.body.first().ok_or(Short)? != 0;
                if self.has_rows() && !is_one_phase {
                    let what =
                        "a transaction that was prepared by XA PREPARE, and may not have been committed";
                    return Err(refused(item, what, RANGE));
                }
                self.behind.push(&record);
            }
            kind if is_of_no_account(kind) || event.header.flags & Header::IGNORABLE != 0 => {}
            kind => return Err(refused(item, what_it_is(kind, event)?, RANGE)),
        }
        Ok(())
    }

    fn take_query(
        &mut self,
        item: &Item<'_>,
        query: &Query<'_>,
        filter: &Filter<'_>,
    ) -> std::result::Result<(), Trouble> {
        if query.changes_nothing_yet()? {
            return Ok(());
        }
        let record = Record { scene: self.scene(item), event: item.event };
        match Meaning::of(query) {
            Meaning::Begins => self.before.push(&record),
            Meaning::Commits | Meaning::EndsXa => self.behind.push(&record),
            Meaning::RollsBack if self.has_rows() => {
                let what = "rows before this in the transaction were rolled back, but for those of tables without transactions";
                return Err(refused(item, what, RANGE));
            }
            Meaning::RollsBack | Meaning::Nothing => {}
            Meaning::Changes => self.take_statement(item, query, filter)?,
        }
        Ok(())
    }

    /// A statement that may have changed anything. Where only some tables' rows are wanted nobody knows whether it did.
    fn take_statement(
        &mut self,
        item: &Item<'_>,
        query: &Query<'_>,
        filter: &Filter<'_>,
    ) -> std::result::Result<(), Trouble> {
        // Which tables' rows a transaction has that was prepared before, its end does not tell.
        let is_untold = query.is_xa_end() && filter.looks_inside();
        let wants = if is_untold { Wants::Untold } else { filter.wants_statement(query)? };
        if wants.some() && filter.wants_kind(item.event.header.kind) {
            let text: String = String::from_utf8_lossy(query.text).chars().take(100).collect();
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let hint = match (changes_rows(query)?, filter.names_tables()) {
                (true, _) => LOGGED_AS_STATEMENT,
                (false, true) => STATEMENT_OF_TABLES,
                (false, false) => STATEMENT,
            };
            return Err(refused(item, format!("a statement cannot be undone: {text}"), hint));
        }
        self.passed_over += u64::from(wants != Wants::No);
        Ok(())
    }

    /// The number of the scene of the event at hand.
    fn scene(&mut self, item: &Item<'_>) -> u32 {
        let is_same =
            self.is_same_scene && self.scenes.last().is_some_and(|scene| scene.number == item.number);
        if !is_same {
            let (log, format) = (item.log.to_owned(), item.format.clone());
            let description = self.description.clone();
            self.scenes.push(Scene { log, number: item.number, format, description });
            self.is_same_scene = true;
        }
        (self.scenes.len() - 1) as u32
    }
}

const LACKING: &str = "binlog_row_image was not FULL, or binlog_row_value_options was set, when they were logged: \
    leave them out with --table, --database or a range, and take them from a dump";
const TABLES: &str =
    "the log does not tell the columns' names; name the tables whose rows are to be undone with --table";
const RANGE: &str = "leave it out with a range, or with --exclude-gtids";
const STATEMENT: &str = "leave it out with a range or with --exclude-gtids, or name the tables whose rows are to be undone with \
    --table; what DDL took away only a dump has";
const LOGGED_AS_STATEMENT: &str = "the change was logged as a statement, without its rows (binlog_format was not ROW): only a dump has what was there before. \
    Leave it out with a range or with --exclude-gtids; SET GLOBAL binlog_format = ROW logs rows from then on";
const STATEMENT_OF_TABLES: &str = "it names a table whose rows are to be undone: leave it out with a range or with --exclude-gtids; what DDL took away only a dump has";

/// Whether a statement changes rows, and defines nothing.
fn changes_rows(query: &Query<'_>) -> std::result::Result<bool, Trouble> {
    let mut code = tokens_in_comments(query.text, dialect(query)?).filter(Token::is_code);
    let first = code.next();
    let rows = ["INSERT", "UPDATE", "DELETE", "REPLACE", "LOAD", "WITH"];
    Ok(first.is_some_and(|first| rows.iter().any(|word| first.is_word(word))))
}

fn refused(item: &Item<'_>, what: impl std::fmt::Display, hint: &str) -> Trouble {
    let what = format!("{}: at {}: {what}", item.log, item.event.position);
    Trouble::Other(if hint.is_empty() { Error::found(what) } else { Error::with_hint(what, hint) })
}

/// The header of the event that undoes the one at hand, with a body of so many bytes.
fn header(item: &Item<'_>, kind: Kind, body: usize) -> Header {
    const CHECKSUM: usize = 4;
    let checksum = if item.format.has_checksums && !item.event.is_packed { CHECKSUM } else { 0 };
    Header { kind, size: (Header::LENGTH + body + checksum) as u32, ..item.event.header }
}

/// Whether a table is a sequence of MariaDB, which logs each step as a row that comes in. It never goes back, as AUTO_INCREMENT does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sequence {
    Is,
    IsNot,
    /// The log does not tell, and its columns are as those of one.
    MayBe,
}

impl Sequence {
    /// Source: MariaDB `sql/sql_sequence.cc`, `sequence_structure()`.
    fn of(table: &Table, rows: &Rows<'_>, format: &Format) -> Self {
        const WIDTHS: [u8; 8] = [8, 8, 8, 8, 8, 8, 1, 8];
        let is_like_one = format.is_mariadb()
            && rows.change == RowChange::Insert
            && table.columns.len() == WIDTHS.len()
            && table.columns.iter().all(|column| !column.is_nullable);
        if !is_like_one {
            return Self::IsNot;
        }
        match table.columns.first().and_then(|column| column.name.as_deref()) {
            Some(b"next_not_cached_value") => Self::Is,
            Some(_) => Self::IsNot,
            None => {
                let mut both = table.columns.iter().zip(WIDTHS);
                let fits = both.all(|(column, width)| column.kind == ColumnType::Integer(width));
                if fits { Self::MayBe } else { Self::IsNot }
            }
        }
    }
}

/// Events that change nothing by themselves.
fn is_of_no_account(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::START_V3
            | Kind::STOP
            | Kind::ROTATE
            | Kind::SLAVE
            | Kind::FORMAT_DESCRIPTION
            | Kind::INTVAR
            | Kind::RAND
            | Kind::USER_VAR
            | Kind::CREATE_FILE
            | Kind::BEGIN_LOAD_QUERY
            | Kind::APPEND_BLOCK
            | Kind::DELETE_FILE
            | Kind::HEARTBEAT
            | Kind::HEARTBEAT_V2
            | Kind::IGNORABLE
            | Kind::ROWS_QUERY
            | Kind::PREVIOUS_GTIDS
            | Kind::TRANSACTION_CONTEXT
            | Kind::VIEW_CHANGE
            | Kind::TRANSACTION_PAYLOAD
            | Kind::MARIADB_ANNOTATE_ROWS
            | Kind::MARIADB_BINLOG_CHECKPOINT
            | Kind::MARIADB_GTID_LIST
            | Kind::MARIADB_START_ENCRYPTION
    )
}

/// What errors call an event that stops all.
fn what_it_is(kind: Kind, event: &Event<'_>) -> std::result::Result<String, Short> {
    Ok(match kind {
        Kind::INCIDENT => {
            format!("events may be missing here: {}", String::from_utf8_lossy(incident(event.body)?))
        }
        kind if kind.name().is_none() => format!("an event of {kind}, which nobody knows"),
        kind => format!("a {kind} event, which cannot be undone"),
    })
}
