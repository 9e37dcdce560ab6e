//! Loads that were logged as rows: of the file there is nothing, but the rows that came of it make one that loads them again.

use std::path::Path;

use crate::chain::{Item, Trouble};
use crate::event::{Duplicates, Rows, TableMap, statement_of_rows};
use crate::loads::{Asked, Keep, Spool, Spot, asked, cannot_keep};
use crate::log::{Format, Header, Kind, RowChange};
use crate::rows::{Column, ColumnType, Field, Row, RowReader, Table, Tables};
use crate::sql::Session;
use crate::sql::literal::Unwritable;
use crate::sql::text::{push_name, push_quoted};

use super::field::{Told, is_number, push_field};
use super::script::head;

/// Follows statements that were logged as rows.
#[derive(Debug)]
pub(super) struct Rebuilder {
    keep: Keep,
    tables: Tables,
    now: Option<Rebuilt>,
}

/// A file made of a statement's rows.
#[derive(Debug)]
pub(super) struct Rebuilt {
    /// Where the event begins that tells the statement.
    pub(super) start: Spot,
    /// Where the last event with its rows ends, and what that event says of itself.
    pub(super) end: Spot,
    pub(super) header: Header,
    format: Format,
    /// Whether these events are wanted.
    pub(super) is_wanted: bool,
    /// Whether it is in a transaction's payload.
    pub(super) is_packed: bool,
    /// Whether the log tells the statement's end.
    pub(super) is_ended: bool,
    /// The statement as a client sent it.
    pub(super) statement: Vec<u8>,
    asked: Asked,
    /// The number of the table that the rows are to go to, as far as it is known, and what is told of it.
    id: Option<u64>,
    table: Option<Table>,
    /// The columns that the first row has; others have the same or are left out.
    present: Vec<usize>,
    /// Of the last event with rows.
    flags: u16,
    /// The lines.
    pub(super) spool: Spool,
    /// How many rows there are.
    pub(super) rows: u64,
    /// Rows that the log does not tell as a whole.
    pub(super) left_out: u64,
    /// Values whose sign the log does not tell.
    pub(super) doubtful: u64,
    /// Whether a value other than of JSON has bytes beyond ASCII.
    has_bytes: bool,
}

impl Rebuilder {
    pub(super) fn new(keep: Keep, tables: Tables) -> Self {
        Self { keep, tables, now: None }
    }

    /// Takes in an event, which may be wanted or not. Gives the file of a statement that ended with it, or before it.
    ///
    /// # Errors
    /// If it is malformed, or if there is no room for its rows.
    pub(super) fn see(&mut self, item: &Item<'_>, is_wanted: bool) -> Result<Option<Rebuilt>, Trouble> {
        let (event, format) = (&item.event, item.format);
        match event.kind {
            Kind::TABLE_MAP => {
                let map = TableMap::parse(event.body, format)?;
                self.tables.learn(&map, event.body, format)?;
                if let Some(now) = &mut self.now {
                    now.see_table(&map);
                }
                Ok(None)
            }
            Kind::ROWS_QUERY | Kind::MARIADB_ANNOTATE_ROWS => {
                let before = self.now.take();
                let text = statement_of_rows(event.kind, event.body)?;
                self.now = asked(text).map(|asked| Rebuilt::new(item, text, asked, &self.keep));
                Ok(before.and_then(Rebuilt::ended))
            }
            Kind::QUERY | Kind::XID => Ok(self.now.take().and_then(Rebuilt::ended)),
            kind if kind.row_change().is_some() && self.now.is_some() => self.see_rows(item, is_wanted),
            _ => Ok(None),
        }
    }

    /// What the logs end within.
    pub(super) fn unfinished(&mut self) -> Option<Rebuilt> {
        self.now.take().and_then(Rebuilt::ended)
    }

    fn see_rows(&mut self, item: &Item<'_>, is_wanted: bool) -> Result<Option<Rebuilt>, Trouble> {
        let event = &item.event;
        let rows = Rows::parse(event.kind, event.body, item.format)?;
        let Some(now) = &mut self.now else { return Ok(None) };
        let id = *now.id.get_or_insert(rows.table);
        let is_replaced = now.asked.duplicates == Duplicates::Replace && rows.change == RowChange::Update;
        if rows.table == id && (rows.change == RowChange::Insert || is_replaced) {
            match self.tables.get(id) {
                Some(Ok(table)) => now.take(table, rows, &self.keep)?,
                _ => now.left_out += 1,
            }
        }
        now.is_wanted = is_wanted;
        now.is_ended = rows.flags & Rows::STATEMENT_END != 0;
        (now.end.position, now.header) = (event.end, event.header);
        Ok(if now.is_ended { self.now.take().and_then(Rebuilt::ended) } else { None })
    }
}

impl Rebuilt {
    fn new(item: &Item<'_>, text: &[u8], asked: Asked, keep: &Keep) -> Self {
        Self {
            start: Spot { log: item.log.into(), position: item.event.position },
            end: Spot { log: item.log.into(), position: item.event.end },
            header: item.event.header,
            format: item.format.clone(),
            is_wanted: false,
            is_packed: item.event.is_packed,
            is_ended: false,
            statement: text.to_vec(),
            asked,
            id: None,
            table: None,
            present: Vec::new(),
            flags: 0,
            spool: Spool::new(keep),
            rows: 0,
            left_out: 0,
            doubtful: 0,
            has_bytes: false,
        }
    }

    /// Names may be told in other letter case than they were written, where the server's file system is such.
    fn see_table(&mut self, map: &TableMap<'_>) {
        let Some(table) = &self.asked.table else { return };
        let is_schema = table.schema.as_ref().is_none_or(|schema| schema.eq_ignore_ascii_case(map.schema));
        if is_schema && table.name.eq_ignore_ascii_case(map.table) && self.id.is_none() {
            self.id = Some(map.id);
        }
    }

    /// `None` if no rows came, as of a file without any.
    fn ended(self) -> Option<Self> {
        (self.rows > 0 || self.left_out > 0).then_some(self)
    }

    fn take(&mut self, table: &Table, rows: Rows<'_>, keep: &Keep) -> Result<(), Trouble> {
        if self.table.is_none() {
            self.table = Some(table.clone());
        }
        self.flags = rows.flags;
        let mut reader = RowReader::new(table, rows)?;
        let (mut row, mut lines) = (Row::default(), Vec::new());
        while reader.next(&mut row)? {
            self.take_row(table, &row.after, &mut lines)?;
            if lines.len() >= 1 << 16 {
                self.write(&mut lines, keep)?;
            }
        }
        self.write(&mut lines, keep)
    }

    fn write(&mut self, lines: &mut Vec<u8>, keep: &Keep) -> Result<(), Trouble> {
        self.spool.write(lines).map_err(|error| cannot_keep(&self.start, keep, &error))?;
        lines.clear();
        Ok(())
    }

    fn take_row(&mut self, table: &Table, fields: &[Field<'_>], out: &mut Vec<u8>) -> Result<(), Trouble> {
        let is_there = |field: &Field<'_>| matches!(field, Field::Value(_));
        if self.rows == 0 {
            self.present = (0..fields.len()).filter(|&index| is_there(&fields[index])).collect();
        }
        let there = fields.iter().enumerate().filter(|(_, field)| is_there(field)).map(|(index, _)| index);
        if !there.eq(self.present.iter().copied()) {
            self.left_out += 1;
            return Ok(());
        }
        let mut tab: &[u8] = b"";
        for (field, column) in fields.iter().zip(&table.columns) {
            let Field::Value(value) = field else { continue };
            out.extend_from_slice(tab);
            tab = b"\t";
            match push_field(value, column, out) {
                Ok(Told::Exactly) => {}
                Ok(Told::Bytes) => self.has_bytes = true,
                Ok(Told::Doubtful) => self.doubtful += 1,
                Err(Unwritable::Damaged | Unwritable::Packed(_) | Unwritable::Json(_)) => {
                    return Err(Trouble::Malformed);
                }
            }
        }
        out.push(b'\n');
        self.rows += 1;
        Ok(())
    }

    /// The table's schema and name.
    pub(super) fn table(&self) -> (&[u8], &[u8]) {
        match (&self.table, &self.asked.table) {
            (Some(table), _) => (&table.schema, &table.name),
            (None, Some(table)) => (table.schema.as_deref().unwrap_or_default(), &table.name),
            (None, None) => (b"", b""),
        }
    }

    /// Whether the statement has to name columns whose names the log does not tell.
    pub(super) fn lacks_names(&self) -> bool {
        let Some(table) = &self.table else { return false };
        let has_all = self.present.len() == table.columns.len();
        !table.has_names() && (!has_all || (self.has_json() && self.has_bytes))
    }

    fn has_json(&self) -> bool {
        let is_json = |&&index: &&usize| {
            let column = self.table.as_ref().and_then(|table| table.columns.get(index));
            column.is_some_and(|column| matches!(column.kind, ColumnType::Json(_)))
        };
        self.present.iter().find(is_json).is_some()
    }

    /// The file with the statement that loads the lines from the file at this path.
    pub(super) fn script(&self, file: &Path) -> Vec<u8> {
        let mut out = Vec::new();
        head("Rows of a LOAD DATA, rebuilt as a file,", &self.start, &self.end, &self.header, &mut out);
        if self.left_out > 0 {
            let count = self.left_out;
            out.extend_from_slice(
                format!("-- {count} rows are MISSING: the log does not tell all of them.\n").as_bytes(),
            );
        }
        if self.doubtful > 0 {
            let count = self.doubtful;
            let line = format!(
                "-- {count} numbers below 0 may be large ones of UNSIGNED columns: the log does not tell.\n"
            );
            out.extend_from_slice(line.as_bytes());
        }
        if self.lacks_names() {
            out.extend_from_slice(
                b"-- The log does not tell the columns' names: put them in place of ?1, ?2 and so on.\n",
            );
        }
        for line in self.statement.split(|&byte| byte == b'\n' || byte == b'\r') {
            out.extend_from_slice(b"--   ");
            out.extend_from_slice(line);
            out.push(b'\n');
        }
        Session::default().prepare_rows(self.flags, &self.format, false, &mut out);
        self.push_statement(file.as_os_str().as_encoded_bytes(), &mut out);
        out.extend_from_slice(b"COMMIT;\n");
        out
    }

    /// Text is taken byte by byte into columns of any character set; only what is UTF-8 whatever the column's is has to be told so.
    fn push_statement(&self, file: &[u8], out: &mut Vec<u8>) {
        let Some(table) = &self.table else { return };
        let has_list = table.has_names() || self.lacks_names();
        let charset: &[u8] = if self.has_json() && !has_list { b"utf8mb4" } else { b"binary" };
        out.extend_from_slice(b"LOAD DATA LOCAL INFILE ");
        push_quoted(file, out);
        out.extend_from_slice(self.asked.duplicates.words());
        out.extend_from_slice(b" INTO TABLE ");
        push_name(&table.schema, out);
        out.push(b'.');
        push_name(&table.name, out);
        out.extend_from_slice(b" CHARACTER SET ");
        out.extend_from_slice(charset);
        out.extend_from_slice(
            br" FIELDS TERMINATED BY '\t' ENCLOSED BY '' ESCAPED BY '\\' LINES TERMINATED BY '\n'",
        );
        if has_list {
            self.push_columns(table, out);
        }
        out.extend_from_slice(b";\n");
    }

    fn push_columns(&self, table: &Table, out: &mut Vec<u8>) {
        let mut assignments = Vec::new();
        for (count, (index, column)) in
            self.present.iter().filter_map(|&index| Some((index, table.columns.get(index)?))).enumerate()
        {
            let mut name = Vec::new();
            match &column.name {
                Some(known) => push_name(known, &mut name),
                None => name = format!("?{}", index + 1).into_bytes(),
            }
            out.extend_from_slice(if count == 0 { b" (" } else { b", " });
            let variable = format!("@v{}", index + 1);
            let Some(value) = read_as(column, &variable) else {
                out.extend_from_slice(&name);
                continue;
            };
            out.extend_from_slice(variable.as_bytes());
            assignments.extend_from_slice(if assignments.is_empty() { b" SET " } else { b", " });
            assignments.extend_from_slice(&[&name[..], b" = ", value.as_bytes()].concat());
        }
        out.push(b')');
        out.extend_from_slice(&assignments);
    }
}

/// What makes a column's value of its text in a variable, where that text is not the value's bytes: JSON and words of which a definition tells
/// are UTF-8, and numbers of words are ASCII, whatever the character set of the column.
fn read_as(column: &Column, variable: &str) -> Option<String> {
    let is_defined = column.collation.is_none() && !column.words.is_empty();
    if is_number(column) {
        return Some(format!("{variable} + 0"));
    }
    (matches!(column.kind, ColumnType::Json(_)) || is_defined)
        .then(|| format!("CONVERT({variable} USING utf8mb4)"))
}
