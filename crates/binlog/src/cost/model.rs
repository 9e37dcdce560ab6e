//! Goes through the events once: charges their bytes, and has each of the logs that could be.

use std::collections::HashMap;

use crate::chain::Item;
use crate::event::{ExecuteLoad, Gtid, Query, Rows, TableMap, statement_of_rows};
use crate::log::{Kind, Place, RowChange, Short};
use crate::stat::{Causes, Rate, Tally};

use super::cures::{COUNT, Cure};
use super::lane::{From, Lane};
use super::link::Link;
use super::report::TableCost;
use super::shape::{Image, KeySource, NamedColumns, Shape, Shapes};
use super::squeeze::{Squeeze, packed_length};
use super::text::{TextId, Texts};
use super::walk::Walk;

/// What was found so far.
pub(super) struct Model {
    pub(super) tally: Tally<'static>,
    pub(super) texts: Texts,
    /// What is charged to each statement.
    pub(super) statements: Causes,
    /// What is charged to none.
    pub(super) without_statement: u64,
    pub(super) minutes: Rate,
    /// Of the log under each cure, in bytes, in their order.
    pub(super) sizes: [u64; COUNT],
    pub(super) link: Option<Link>,
    pub(super) tables: Vec<TableCost>,
    pub(super) is_mariadb: bool,
    pub(super) doubts: Doubts,
    shapes: Shapes,
    named: NamedColumns,
    /// What rows are charged to whose statement is not in the log, by table and change.
    not_logged: HashMap<(usize, usize), TextId>,
    walk: Walk,
    lanes: Lanes,
    now: Now,
}

/// The logs that could be.
struct Lanes {
    plain: Lane,
    minimal: Lane,
    noblob: Lane,
}

/// Why the size of a log with another row image is not told exactly.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Doubts {
    /// There is a table whose key is not known, and rows of it were changed or went.
    pub(super) key: bool,
    /// There are rows of which it is not known which columns their statement gave values to.
    pub(super) columns: bool,
    /// There are rows that cannot be read.
    pub(super) rows: bool,
    /// There are rows whose statement is not in the log.
    pub(super) statements: bool,
    /// There are rows; rows whose statement is in the log; rows with JSON (MySQL).
    pub(super) has_rows: bool,
    pub(super) has_statements: bool,
    pub(super) has_json: bool,
    /// The log holds compressed events.
    pub(super) is_compressed: bool,
}

/// The transaction at hand.
#[derive(Default)]
struct Now {
    is_open: bool,
    /// What it takes in the log.
    stored: u64,
    time: u32,
    committed: Option<u32>,
    gtid: Option<GtidLength>,
    /// The statement at hand, and the length of its text.
    statement: Option<(TextId, usize)>,
    /// Bytes of which the statement is not told yet.
    unassigned: u64,
    /// What its rows take, without compression.
    segment: u64,
    /// Which columns of each table it gave values to.
    set: HashMap<u64, Vec<bool>>,
    /// What its JSON would take less if only changes were logged; what it would take less as statements.
    json_saved: u64,
    statements_saved: i64,
}

/// The length of a transaction as its first event tells it (MySQL).
#[derive(Debug, Clone, Copy)]
struct GtidLength {
    length: u64,
    is_tagged: bool,
}

impl GtidLength {
    /// By how much the event grows if the transaction has this length instead.
    fn growth(self, length: u64) -> i64 {
        self.width(length) - self.width(self.length)
    }

    fn width(self, length: u64) -> i64 {
        // MySQL's serialization library has seven bits in each byte.
        let bits = i64::from(64 - length.leading_zeros()).max(1);
        if self.is_tagged { (bits + 6) / 7 } else { packed_length(length) as i64 }
    }
}

/// The settings of a session that a statement's event holds, in bytes, where none was seen.
const STATUS: usize = 40;
/// What a JSON document's change takes beside the bytes that changed: its operation, path and lengths, about.
const JSON_CHANGE: u64 = 24;

impl Model {
    pub(super) fn new(
        top: usize,
        shapes: Shapes,
        event_size: usize,
        squeezes: [Option<Squeeze>; 3],
        link: Option<u64>,
    ) -> Self {
        let [plain, minimal, noblob] = squeezes.map(|squeeze| Lane::new(event_size, squeeze));
        Self {
            tally: Tally::new(top, None),
            texts: Texts::new(),
            statements: Causes::default(),
            without_statement: 0,
            minutes: Rate::of_minutes(),
            sizes: [0; COUNT],
            link: link.map(|rate| Link::new(rate, COUNT)),
            tables: Vec::new(),
            is_mariadb: false,
            doubts: Doubts::default(),
            shapes,
            named: NamedColumns::default(),
            not_logged: HashMap::new(),
            walk: Walk::default(),
            lanes: Lanes { plain, minimal, noblob },
            now: Now::default(),
        }
    }

    /// Takes in an event.
    pub(super) fn see(&mut self, item: &Item<'_>) -> Result<(), crate::chain::Trouble> {
        let _ = self.tally.see(item)?; // without a filter nothing ends it
        let Item { event, place, .. } = item;
        let stored = if event.is_packed { 0 } else { u64::from(event.header.size) };
        if *place == Place::Outside {
            self.outside(item, stored);
            return Ok(());
        }
        if place.begins() {
            if self.now.is_open {
                self.end();
            }
            self.now = Now { is_open: true, set: std::mem::take(&mut self.now.set), ..Now::default() };
            self.now.set.clear();
        }
        self.now.stored += stored;
        self.now.time = self.now.time.max(event.header.timestamp);
        self.doubts.is_compressed |= event.is_packed || event.kind != event.header.kind;
        if event.kind != Kind::TRANSACTION_PAYLOAD {
            self.look_into(item)?;
        }
        if place.ends() {
            self.end();
        }
        Ok(())
    }

    /// What belongs to no transaction is the same whatever is set.
    fn outside(&mut self, item: &Item<'_>, stored: u64) {
        self.sizes.iter_mut().for_each(|size| *size += stored);
        self.without_statement += stored;
        if item.event.kind == Kind::FORMAT_DESCRIPTION {
            self.is_mariadb = item.format.is_mariadb();
            self.texts.is_mariadb = self.is_mariadb;
            let checksum = if item.format.has_checksums { 4 } else { 0 };
            for lane in self.lanes.all() {
                if let Some(squeeze) = &mut lane.squeeze {
                    squeeze.of(self.is_mariadb, checksum);
                }
            }
        }
    }

    fn look_into(&mut self, item: &Item<'_>) -> Result<(), crate::chain::Trouble> {
        let Item { event, format, .. } = item;
        let around = match event.is_packed || event.kind != event.header.kind {
            // As it would be if it were not packed.
            true => (format.header_length + if format.has_checksums { 4 } else { 0 }) as u64,
            false => u64::from(event.header.size).saturating_sub(event.body.len() as u64),
        };
        let plain = around + event.body.len() as u64;
        if event.kind.row_change().is_some() {
            return Ok(self.rows(item, around, plain)?);
        }
        let mut text = None;
        match event.kind {
            Kind::TABLE_MAP => {
                let map = TableMap::parse(event.body, format)?;
                self.shapes.learn(&map, event.body, format)?;
                self.now.unassigned += plain;
                self.now.segment += plain;
            }
            Kind::ROWS_QUERY | Kind::MARIADB_ANNOTATE_ROWS => {
                let raw = statement_of_rows(event.kind, event.body)?;
                self.begin_statement(raw, plain);
                self.now.segment += plain;
            }
            Kind::QUERY => {
                let query = Query::parse(event.body, format)?;
                text = Some(event.body.len() - query.text.len());
                if !query.is_begin() && !query.is_end() {
                    self.statement(query.text, plain);
                }
            }
            Kind::EXECUTE_LOAD_QUERY => {
                let load = ExecuteLoad::parse(event.body, format)?;
                self.statement(load.query.text, plain);
            }
            Kind::LOAD | Kind::NEW_LOAD | Kind::EXEC_LOAD => self.statement(b"LOAD DATA", plain),
            Kind::GTID | Kind::ANONYMOUS_GTID | Kind::GTID_TAGGED => self.gtid(item)?,
            Kind::MARIADB_GTID | Kind::XID | Kind::XA_PREPARE => {}
            _ => self.now.unassigned += plain,
        }
        self.lanes
            .all()
            .into_iter()
            .for_each(|lane| lane.event(&event.header, event.kind, event.body, around, text));
        Ok(())
    }

    fn gtid(&mut self, item: &Item<'_>) -> Result<(), Short> {
        let event = &item.event;
        if let Some(Gtid::Mysql(gtid)) = Gtid::parse(event.kind, event.body, event.header.server_id)? {
            let is_tagged = event.kind == Kind::GTID_TAGGED;
            self.now.gtid = gtid.length.map(|length| GtidLength { length, is_tagged });
            self.now.committed = gtid.committed.and_then(|time| u32::try_from(time / 1_000_000).ok());
        }
        Ok(())
    }

    /// A statement whose rows follow.
    fn begin_statement(&mut self, raw: &[u8], bytes: u64) {
        let id = self.texts.of(raw);
        self.doubts.has_statements = true;
        self.now.statement = Some((id, raw.len()));
        self.weigh(id, bytes, None);
    }

    /// A statement that was logged as one.
    fn statement(&mut self, raw: &[u8], bytes: u64) {
        let id = self.texts.of(raw);
        let bytes = bytes + std::mem::take(&mut self.now.unassigned);
        self.weigh(id, bytes, Some(RowChange::Insert));
    }

    fn weigh(&mut self, text: TextId, bytes: u64, counted: Option<RowChange>) {
        let id = self.statements.of_text(text);
        self.statements.weigh(id, bytes);
        if let Some(change) = counted {
            self.statements.count(id, change);
        }
    }

    /// An event of rows.
    fn rows(&mut self, item: &Item<'_>, around: u64, plain: u64) -> Result<(), Short> {
        let Item { event, format, .. } = item;
        let rows = Rows::parse(event.kind, event.body, format)?;
        let from = From { header: event.header, kind: event.kind, body: event.body, rows, around };
        self.now.segment += plain;
        self.doubts.has_rows = true;
        let id = self.statement_of(&rows);
        let bytes = plain + std::mem::take(&mut self.now.unassigned);
        let is_last = rows.flags & Rows::STATEMENT_END != 0;
        self.weigh(id, bytes, is_last.then_some(rows.change));
        let is_read = self.read_rows(&from, id);
        if !is_read {
            self.doubts.rows |= self.shapes.get(rows.table).is_none();
            let first_row = self.first_row(&rows);
            self.lanes.all().into_iter().for_each(|lane| lane.rows_event(&from, first_row));
        }
        if is_last {
            self.end_statement(from.around);
        }
        Ok(())
    }

    /// The statement that rows come from.
    fn statement_of(&mut self, rows: &Rows<'_>) -> TextId {
        if let Some((id, _)) = self.now.statement {
            return id;
        }
        self.doubts.statements = true;
        let known = self.shapes.get(rows.table).map(|shape| (shape.number, rows.change as usize));
        if let Some(id) = known.and_then(|place| self.not_logged.get(&place)) {
            return *id;
        }
        let table =
            self.shapes.get(rows.table).map_or("a table that is not described", |shape| shape.name.as_str());
        let change = match rows.change {
            RowChange::Insert => "INSERT INTO",
            RowChange::Update => "UPDATE",
            RowChange::Delete => "DELETE FROM",
        };
        let id = self.texts.unknown(change, table);
        if let Some(place) = known {
            self.not_logged.insert(place, id);
        }
        id
    }

    /// The size of an event's first row, where that decides on compression: else of all.
    fn first_row(&mut self, rows: &Rows<'_>) -> usize {
        let whole = rows.rows.len();
        let Some(shape) = self.shapes.get(rows.table).filter(|_| self.lanes.plain.squeeze.is_some()) else {
            return whole;
        };
        match self.walk.read(shape, rows) {
            Ok(()) => self.walk.row_length(0),
            Err(Short) => whole,
        }
    }

    /// Puts rows into the logs with other row images. False where they would be the same, or cannot be read.
    fn read_rows(&mut self, from: &From<'_>, text: TextId) -> bool {
        let Some(shape) = self.shapes.get(from.rows.table) else { return false };
        let statement = &self.texts.all[text];
        let rows = &from.rows;
        let columns = shape.widths.len();
        let named = self.named.of(text, shape, &statement.columns);
        let knows_columns = !shape.columns.is_empty() && self.now.statement.is_some();
        let table = table_cost(&mut self.tables, shape);
        table.rows_bytes += rows.rows.len() as u64;
        self.doubts.columns |= rows.change != RowChange::Delete && !knows_columns;
        if rows.change == RowChange::Insert && named.gives_all {
            table.minimal_rows_bytes += rows.rows.len() as u64;
            table.noblob_rows_bytes += rows.rows.len() as u64;
            return false;
        }
        if self.walk.read(shape, rows).is_err() {
            self.doubts.rows = true;
            return false;
        }
        let set = self.now.set.entry(rows.table).or_default();
        set.resize(columns, false);
        match rows.change {
            RowChange::Insert => mark(set, &named.given),
            RowChange::Update => {
                self.walk.mark_changed(rows.rows, set);
                mark(set, &named.named);
                self.doubts.has_json |= shape.has_json;
                if shape.has_json && statement.changes_json {
                    self.now.json_saved += json_saved(shape, &self.walk, rows);
                }
            }
            RowChange::Delete => {}
        }
        self.doubts.key |= rows.change != RowChange::Insert && shape.key_source == KeySource::Assumed;
        let first_row = self.walk.row_length(0);
        self.lanes.plain.rows_event(from, first_row);
        let minimal = shape.columns_of(Image::Minimal, rows.change, set);
        table.minimal_rows_bytes += self.lanes.minimal.rows(from, shape, &self.walk, &minimal);
        let noblob = shape.columns_of(Image::Noblob, rows.change, set);
        table.noblob_rows_bytes += self.lanes.noblob.rows(from, shape, &self.walk, &noblob);
        true
    }

    /// Ends a statement whose rows were logged. As a statement it would be one event.
    fn end_statement(&mut self, around: u64) {
        let segment = std::mem::take(&mut self.now.segment);
        self.now.set.clear();
        let Some((id, length)) = self.now.statement.take() else { return };
        if self.texts.all[id].verdict.safety == super::safety::Safety::Safe {
            const FIXED: usize = 13 + 10 + 1; // fields, the name of a schema, a NUL
            let statement = around as usize + FIXED + STATUS + length;
            self.now.statements_saved += (segment as i64 - statement as i64).max(0);
        }
    }

    /// Closes the transaction at hand.
    fn end(&mut self) {
        self.now.is_open = false;
        let stored = self.now.stored;
        let charged = self.statements.charge(stored);
        self.without_statement += stored - charged;
        let time = self.now.committed.unwrap_or(self.now.time);
        self.minutes.count(time, stored, 1);
        let sizes = self.sizes_of_transaction();
        for (total, size) in self.sizes.iter_mut().zip(sizes) {
            *total += size;
        }
        if let Some(link) = self.link.as_mut().filter(|_| time > 0) {
            link.add(time, sizes.into_iter());
        }
    }

    /// What the transaction at hand takes under each cure.
    fn sizes_of_transaction(&mut self) -> [u64; COUNT] {
        let Now { gtid, json_saved, statements_saved, stored, .. } = self.now;
        let [plain, minimal, noblob] = self.lanes.all().map(Lane::end);
        let squeezed =
            self.lanes.all().map(|lane| lane.squeeze.as_mut().map(Squeeze::end).unwrap_or_default());
        let resized = |size: u64| {
            let growth = gtid.map_or(0, |gtid| gtid.growth(size));
            size.saturating_add_signed(growth)
        };
        let mut sizes = [0; COUNT];
        let mut put = |cure: Cure, size: u64| sizes[cure as usize] = size;
        put(Cure::Today, stored);
        put(Cure::Plain, resized(plain));
        put(Cure::Minimal, resized(minimal));
        put(Cure::Noblob, resized(noblob));
        put(Cure::PartialJson, resized(plain.saturating_sub(json_saved)));
        put(Cure::MinimalPartialJson, resized(minimal.saturating_sub(json_saved)));
        put(Cure::Statement, resized(plain.saturating_sub(statements_saved.max(0) as u64)));
        let [of_plain, of_minimal, of_noblob] = squeezed;
        put(Cure::Compressed, resized(of_plain.log));
        put(Cure::MinimalCompressed, resized(of_minimal.log));
        put(Cure::NoblobCompressed, resized(of_noblob.log));
        put(Cure::Connection, of_plain.wire);
        put(Cure::MinimalConnection, of_minimal.wire);
        put(Cure::CompressedConnection, of_plain.both);
        sizes
    }

    /// Closes what the logs end within.
    pub(super) fn finish(&mut self) {
        if self.now.is_open {
            self.end();
        }
    }

    pub(super) fn has_definitions(&self) -> bool {
        self.shapes.has_definitions()
    }
}

impl Lanes {
    fn all(&mut self) -> [&mut Lane; 3] {
        [&mut self.plain, &mut self.minimal, &mut self.noblob]
    }
}

fn mark(set: &mut [bool], more: &[bool]) {
    set.iter_mut().zip(more).for_each(|(set, more)| *set |= more);
}

/// What rows of a table take.
fn table_cost<'t>(tables: &'t mut Vec<TableCost>, shape: &Shape) -> &'t mut TableCost {
    if tables.len() <= shape.number {
        tables.resize_with(shape.number + 1, TableCost::default);
    }
    let table = &mut tables[shape.number];
    if table.table.is_empty() {
        table.table.clone_from(&shape.name);
        table.key = shape.key_source;
        table.has_key = !shape.key.is_empty();
    }
    table
}

/// What changed documents would take less if only what changed in them were logged.
fn json_saved(shape: &Shape, walk: &Walk, rows: &Rows<'_>) -> u64 {
    let mut saved = 0;
    for row in 0..walk.rows() {
        let pairs = walk.image_of(row, 0).iter().zip(walk.image_of(row, 1));
        for ((before, after), _) in pairs.zip(&shape.is_json).filter(|(_, is_json)| **is_json) {
            if before.is_null() || after.is_null() || !before.is_there() || !after.is_there() {
                continue;
            }
            let (before, after) = (before.of(rows.rows), after.of(rows.rows));
            let same = common(before.iter().zip(after));
            let end =
                common(before.iter().rev().zip(after.iter().rev())).min(after.len().min(before.len()) - same);
            let changed = (after.len() - same - end) as u64;
            saved += (after.len() as u64).saturating_sub(changed + JSON_CHANGE);
        }
    }
    saved
}

/// How many are the same, until the first that differ.
fn common<'a>(pairs: impl Iterator<Item = (&'a u8, &'a u8)>) -> usize {
    pairs.take_while(|(one, other)| one == other).count()
}
