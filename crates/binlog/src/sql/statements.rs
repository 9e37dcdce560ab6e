//! Goes from event to event and writes what each says.

use std::collections::BTreeMap;
use std::io::{self, Write};

use jiff::tz::TimeZone;
use memchr::memmem;

use crate::chain::{Item, Trouble};
use crate::event::{
    ExecuteLoad, Gtid, MariadbGtid, OldLoad, Query, Rows, TableMap, XaName, file_id, incident,
    statement_of_rows,
};
use crate::filter::{Filter, PARTLY, Wants};
use crate::loads::dialect;
use crate::log::{Format, Kind, RowChange, Short};
use crate::objects::{Objects, without_rows};
use crate::rows::{Field, Lacks, NotUnderstood, Row, RowReader, Table, Tables};
use crate::shortened::shortened;
use crate::time::shown;

use super::SqlReport;
use super::before::Before;
use super::history::History;
use super::json_lines::{push_changes, push_image, push_string};
use super::literal::Unwritable;
use super::rows::push_rows;
use super::session::Session;
use super::text::{push_comment, push_hex};

/// A statement that loads a file, of which the log has only the parts.
struct OldStatement {
    thread: u32,
    schema: Vec<u8>,
    text: Vec<u8>,
}

/// Writes statements.
pub(super) struct Printer<'a> {
    out: &'a mut dyn Write,
    is_json: bool,
    /// What stands before a transaction's log and position.
    title: &'static str,
    zone: TimeZone,
    session: Session,
    tables: Tables,
    report: SqlReport,
    /// What the transaction begins with, until something of it is written.
    head: Vec<u8>,
    /// Whether something of the transaction was written.
    is_begun: bool,
    /// What the next statement depends on.
    before: Before,
    /// The statement that the rows to come are of.
    cause: Vec<u8>,
    history: History,
    gtid: String,
    /// Statements of 4.x that load files, by the files' numbers.
    old_loads: BTreeMap<u32, OldStatement>,
    text: Vec<u8>,
}

impl<'a> Printer<'a> {
    pub(super) fn new(is_json: bool, tables: Tables, out: &'a mut dyn Write) -> Self {
        Self {
            out,
            is_json,
            title: "",
            zone: TimeZone::system(),
            session: Session::default(),
            tables,
            report: SqlReport::default(),
            head: Vec::new(),
            is_begun: false,
            before: Before::default(),
            cause: Vec::new(),
            history: History::default(),
            gtid: String::new(),
            old_loads: BTreeMap::new(),
            text: Vec::new(),
        }
    }

    /// For what undoes a log.
    pub(super) fn of_flashback(is_json: bool, tables: Tables, out: &'a mut dyn Write) -> Self {
        Self { title: "undoes ", ..Self::new(is_json, tables, out) }
    }

    /// Writes what an event says, if it is to be taken; descriptions of tables are kept in any case.
    pub(super) fn print(&mut self, item: &Item<'_>, takes: bool, filter: &Filter<'_>) -> Result<(), Trouble> {
        let (event, format) = (&item.event, item.format);
        if event.kind == Kind::TABLE_MAP {
            self.tables.learn(&TableMap::parse(event.body, format)?, event.body, format)?;
        }
        if !takes {
            return Ok(());
        }
        if item.place.begins() {
            self.begin(item)?;
        }
        if event.kind.row_change().is_some() {
            self.print_rows(item, filter)?;
        } else {
            self.print_other(item, filter)?;
        }
        if item.place.ends() && std::mem::take(&mut self.is_begun) {
            self.report.transactions += 1;
            self.out.write_all(if self.is_json { b"" } else { b"\n" })?;
        }
        Ok(())
    }

    /// The statements are at their end.
    pub(super) fn finish(self) -> io::Result<SqlReport> {
        self.out.flush()?;
        Ok(self.report)
    }

    fn begin(&mut self, item: &Item<'_>) -> Result<(), Trouble> {
        let (event, header) = (&item.event, item.event.header);
        self.head.clear();
        self.before.clear();
        self.cause.clear();
        self.history.clear();
        self.is_begun = false;
        let gtid = Gtid::parse(event.kind, event.body, header.server_id)?;
        self.gtid =
            gtid.filter(|gtid| !gtid.is_anonymous()).map_or_else(String::new, |gtid| gtid.to_string());
        let gtid_shown = if self.gtid.is_empty() { String::new() } else { format!(", GTID {}", self.gtid) };
        let time = shown(header.timestamp, &self.zone);
        writeln!(
            self.head,
            "-- {}{} at {}, {time}, server {}{gtid_shown}",
            self.title, item.log, event.position, header.server_id
        )?;
        if matches!(gtid, Some(Gtid::Mariadb(gtid)) if gtid.flags & MariadbGtid::STANDALONE == 0) {
            match MariadbGtid::xa_name(event.body)? {
                Some(name) => {
                    push_xa(b"XA START ", &name, &mut self.head);
                    self.head.extend_from_slice(b";\n");
                }
                None => self.head.extend_from_slice(BEGIN),
            }
        }
        Ok(())
    }

    /// Writes the text that was made, with what the transaction begins with before it if it is the first.
    fn flush_text(&mut self) -> io::Result<()> {
        if !self.is_json && !self.is_begun {
            self.out.write_all(&self.head)?;
        }
        self.is_begun = true;
        self.out.write_all(&self.text)?;
        self.text.clear();
        Ok(())
    }

    fn print_other(&mut self, item: &Item<'_>, filter: &Filter<'_>) -> Result<(), Trouble> {
        let (event, format) = (&item.event, item.format);
        match event.kind {
            Kind::QUERY => self.print_query(item, &Query::parse(event.body, format)?, filter)?,
            Kind::EXECUTE_LOAD_QUERY => {
                let load = ExecuteLoad::parse(event.body, format)?;
                self.print_query(item, &load.query, filter)?;
            }
            Kind::XID => self.print_end(b"COMMIT")?,
            Kind::XA_PREPARE => {
                let end = xa_prepare(event.body)?;
                self.print_end(&end)?;
            }
            Kind::INTVAR | Kind::RAND | Kind::USER_VAR => self.before.note(event)?,
            // Each block of a file has before it what its statement depends on, and so has the statement itself.
            Kind::BEGIN_LOAD_QUERY | Kind::APPEND_BLOCK => self.before.clear(),
            Kind::ROWS_QUERY | Kind::MARIADB_ANNOTATE_ROWS => {
                self.cause = statement_of_rows(event.kind, event.body)?.to_vec();
            }
            Kind::CREATE_FILE | Kind::LOAD | Kind::NEW_LOAD | Kind::EXEC_LOAD | Kind::DELETE_FILE => {
                self.print_old_load(item, filter)?;
            }
            Kind::INCIDENT => {
                let message = String::from_utf8_lossy(incident(event.body)?).into_owned();
                self.print_comment(item, &format!("events may be missing here: {message}"))?;
            }
            Kind::MARIADB_PARTIAL_ROW_DATA => {
                self.not_understood(item, "a part of an event of rows, which are not put together")?;
            }
            kind if kind.name().is_none() => {
                self.report.not_understood += 1;
                let bytes = event.body.len();
                self.print_comment(
                    item,
                    &format!("an event of {kind} with {bytes} bytes, which nobody knows"),
                )?;
            }
            _ => {}
        }
        Ok(())
    }

    fn print_query(
        &mut self,
        item: &Item<'_>,
        query: &Query<'_>,
        filter: &Filter<'_>,
    ) -> Result<(), Trouble> {
        let event = &item.event;
        if query.changes_nothing_yet()? {
            self.before.clear();
            return Ok(());
        }
        if query.is_begin() {
            let is_xa = !query.text.eq_ignore_ascii_case(b"BEGIN");
            self.head.extend_from_slice(if is_xa { query.text } else { BEGIN });
            self.head.extend_from_slice(if is_xa { b";\n" } else { b"" });
            return Ok(());
        }
        if query.is_end() && self.is_begun {
            return self.print_end(query.text);
        }
        let wants = filter.wants_statement(query)?;
        let is_of_kind = filter.wants_kind(event.header.kind);
        self.report.passed_over += u64::from(wants == Wants::Untold);
        if wants == Wants::Partly && is_of_kind {
            self.before.clear();
            self.report.partly += 1;
            return self.print_comment(item, &format!("{PARTLY}: {}", shortened(query.text)));
        }
        if !wants.is_taken() || !is_of_kind || (query.is_end() && item.place.ends() && !item.place.begins()) {
            self.before.clear();
            return Ok(());
        }
        self.report.statements += 1;
        if self.is_json {
            let (thread, error) = (query.thread, query.error);
            self.json_head(item, "statement");
            write!(self.text, ",\"thread\":{thread},\"error\":{error},\"schema\":")?;
            push_string(&String::from_utf8_lossy(query.schema), &mut self.text);
            self.text.extend_from_slice(b",\"sql\":");
            push_string(&String::from_utf8_lossy(query.text), &mut self.text);
            self.text.extend_from_slice(b"}\n");
        } else {
            self.push_query(item, query, filter)?;
        }
        self.before.clear();
        Ok(self.flush_text()?)
    }

    /// Writes a statement as a session runs it, behind what that must be set to.
    fn push_query(&mut self, item: &Item<'_>, query: &Query<'_>, filter: &Filter<'_>) -> Result<(), Trouble> {
        let Self { before, session, text, .. } = self;
        let header = filter.header_of(query, &item.event.header)?;
        before.prepare(session, query, &header, item.format, text)?;
        match without_rows(query.text, dialect(query)?) {
            Some(statement) => {
                push_statement(&statement, text);
                text.extend_from_slice(BEGIN);
            }
            None => push_statement(query.text, text),
        }
        if let Some(schema) = Objects::dropped_schema(query)? {
            self.session.forget_schema(&schema);
        }
        Ok(())
    }

    /// What ends a transaction, if something of it was written.
    fn print_end(&mut self, end: &[u8]) -> Result<(), Trouble> {
        if self.is_begun && !self.is_json {
            self.text.extend_from_slice(end);
            self.text.extend_from_slice(b";\n");
            self.flush_text()?;
        }
        Ok(())
    }

    fn print_comment(&mut self, item: &Item<'_>, comment: &str) -> Result<(), Trouble> {
        if self.is_json {
            self.json_head(item, "event");
            self.text.extend_from_slice(b",\"event\":");
            push_string(&item.event.header.kind.to_string(), &mut self.text);
            self.text.extend_from_slice(b",\"what\":");
            push_string(comment, &mut self.text);
            self.text.extend_from_slice(b"}\n");
        } else {
            let position = item.event.position;
            writeln!(self.text, "-- at {position}: {}", comment.replace(['\n', '\r'], " "))?;
        }
        Ok(self.flush_text()?)
    }

    fn print_old_load(&mut self, item: &Item<'_>, filter: &Filter<'_>) -> Result<(), Trouble> {
        let event = &item.event;
        match event.kind {
            Kind::DELETE_FILE => {
                self.old_loads.remove(&file_id(event.body)?);
                return Ok(());
            }
            Kind::EXEC_LOAD => {
                let Some(statement) = self.old_loads.remove(&file_id(event.body)?) else { return Ok(()) };
                return self.print_load(item, &statement, filter);
            }
            _ => {}
        }
        let load = OldLoad::parse(event.kind, event.body)?;
        let (thread, schema, text) = (load.thread, load.schema.to_vec(), load.statement(load.file_name));
        let statement = OldStatement { thread, schema, text };
        match load.block {
            Some(block) => {
                self.old_loads.insert(block.file, statement);
                Ok(())
            }
            None => self.print_load(item, &statement, filter),
        }
    }

    fn print_load(
        &mut self,
        item: &Item<'_>,
        statement: &OldStatement,
        filter: &Filter<'_>,
    ) -> Result<(), Trouble> {
        let OldStatement { thread, schema, text } = statement;
        let query = Query { thread: *thread, seconds: 0, error: 0, status: &[], schema, text };
        self.print_query(item, &query, filter)
    }

    fn print_rows(&mut self, item: &Item<'_>, filter: &Filter<'_>) -> Result<(), Trouble> {
        let event = &item.event;
        let rows = Rows::parse(event.kind, event.body, item.format)?;
        let tables = std::mem::take(&mut self.tables);
        let printed = self.print_rows_of(item, rows, tables.get(rows.table), filter);
        self.tables = tables;
        printed
    }

    fn print_rows_of(
        &mut self,
        item: &Item<'_>,
        rows: Rows<'_>,
        table: Option<Result<&Table, NotUnderstood>>,
        filter: &Filter<'_>,
    ) -> Result<(), Trouble> {
        let table = match table {
            Some(Ok(table)) => table,
            Some(Err(why)) => {
                return self.not_understood(item, &format!("rows of a table with columns that {why}"));
            }
            None => {
                let number = rows.table;
                return self.not_understood(
                    item,
                    &format!("rows of table number {number}, which was not described"),
                );
            }
        };
        let is_wanted =
            filter.wants_table(&table.schema, &table.name) && filter.wants_kind(item.event.header.kind);
        if !is_wanted {
            return Ok(());
        }
        if is_pre_ga(item.event.kind) {
            return self.not_understood(item, "rows in the format of 5.1 before 5.1.16");
        }
        self.note_names(table);
        let start = self.text.len();
        let mut reader = RowReader::new(table, rows)?;
        let written = if self.is_json {
            self.rows_as_json(item, table, rows.change, &mut reader)
        } else {
            self.rows_as_sql(table, &rows, item.format, &mut reader)
        };
        match written {
            Ok(count) => self.report.rows += count,
            Err(Unwritable::Damaged) if item.format.is_mariadb() && table.has_old_times() => {
                self.text.truncate(start);
                return self.not_understood(item, &old_times(table));
            }
            Err(Unwritable::Damaged) => return Err(Trouble::Malformed),
            Err(Unwritable::Packed(_) | Unwritable::Json(_)) => {
                self.text.truncate(start);
                return Err(Trouble::Malformed);
            }
        }
        Ok(self.flush_text()?)
    }

    fn rows_as_sql(
        &mut self,
        table: &Table,
        rows: &Rows<'_>,
        format: &Format,
        reader: &mut RowReader<'_, '_>,
    ) -> Result<u64, Unwritable> {
        let beyond = Lacks::ALL.first_in(table, *rows, format, |_| false)?;
        self.session.prepare_rows(rows.flags, format, beyond.is_some(), &mut self.text);
        push_comment(&std::mem::take(&mut self.cause), &mut self.text);
        if table.period().is_some() {
            self.session.forget_time();
        }
        push_rows(table, reader, rows.change, &mut self.history, &mut self.text)
    }

    fn rows_as_json(
        &mut self,
        item: &Item<'_>,
        table: &Table,
        change: RowChange,
        reader: &mut RowReader<'_, '_>,
    ) -> Result<u64, Unwritable> {
        let (kind, mut row, mut count) = (kind_of(change), Row::default(), 0);
        while reader.next(&mut row)? {
            self.json_head(item, kind);
            self.text.extend_from_slice(b",\"schema\":");
            push_string(&String::from_utf8_lossy(&table.schema), &mut self.text);
            self.text.extend_from_slice(b",\"table\":");
            push_string(&String::from_utf8_lossy(&table.name), &mut self.text);
            for (name, image) in [(",\"before\":", &row.before), (",\"after\":", &row.after)] {
                if !image.is_empty() {
                    self.text.extend_from_slice(name.as_bytes());
                    push_image(table, image, &mut self.text)?;
                }
            }
            if row.after.iter().any(|field| matches!(field, Field::JsonDiffs(_))) {
                self.text.extend_from_slice(b",\"changes\":");
                push_changes(table, &row.after, &mut self.text)?;
            }
            self.text.extend_from_slice(b"}\n");
            count += 1;
        }
        Ok(count)
    }

    fn not_understood(&mut self, item: &Item<'_>, what: &str) -> Result<(), Trouble> {
        self.report.not_understood += 1;
        self.print_comment(item, what)
    }

    fn note_names(&mut self, table: &Table) {
        if table.has_names() {
            return;
        }
        let name =
            format!("{}.{}", String::from_utf8_lossy(&table.schema), String::from_utf8_lossy(&table.name));
        if !self.report.without_names.contains(&name) {
            self.report.without_names.push(name);
        }
    }

    /// What each JSON line begins with.
    fn json_head(&mut self, item: &Item<'_>, kind: &str) {
        let event = &item.event;
        self.text.extend_from_slice(b"{\"log\":");
        push_string(item.log, &mut self.text);
        let (position, header) = (event.position, event.header);
        // Writing to a Vec cannot fail.
        let _ = write!(
            self.text,
            ",\"position\":{position},\"time\":{},\"server_id\":{}",
            header.timestamp, header.server_id
        );
        if !self.gtid.is_empty() {
            self.text.extend_from_slice(b",\"gtid\":");
            push_string(&self.gtid, &mut self.text);
        }
        let _ = write!(self.text, ",\"kind\":\"{kind}\"");
    }
}

/// With `sql_mode` ORACLE, BEGIN would begin something else.
const BEGIN: &[u8] = b"START TRANSACTION;\n";

/// Why rows with old times are not written.
fn old_times(table: &Table) -> String {
    let [schema, name] = [&table.schema, &table.name].map(|name| String::from_utf8_lossy(name));
    format!(
        "rows of {schema}.{name}, whose times are in the format of MariaDB 5.3 (mysql56_temporal_format = OFF) with digits of the \
         second's fraction: how many, no log tells; drover binlog replay applies them"
    )
}

fn kind_of(change: RowChange) -> &'static str {
    match change {
        RowChange::Insert => "insert",
        RowChange::Update => "update",
        RowChange::Delete => "delete",
    }
}

fn is_pre_ga(kind: Kind) -> bool {
    matches!(kind, Kind::PRE_GA_WRITE_ROWS | Kind::PRE_GA_UPDATE_ROWS | Kind::PRE_GA_DELETE_ROWS)
}

/// A statement and what ends it: another delimiter where it holds a semicolon itself, as the bodies of programs do. Where a comment may
/// reach to the end of its last line, what ends it is on the next one.
pub(crate) fn push_statement(text: &[u8], out: &mut Vec<u8>) {
    out.reserve(text.len() + 2);
    if !text.contains(&b';') {
        out.extend_from_slice(text);
        let last = text.rsplit(|&byte| byte == b'\n').next().unwrap_or_default();
        let may_be_comment = last.contains(&b'#') || last.windows(2).any(|bytes| bytes == b"--");
        out.extend_from_slice(if may_be_comment { b"\n;\n" } else { b";\n" });
        return;
    }
    const DELIMITERS: [&str; 4] = [";;", "$$", "//", "/*end*/"];
    let numbered = (1..).map(|number| format!("$${number}$$"));
    let mut delimiters = DELIMITERS.iter().map(|&delimiter| delimiter.to_owned()).chain(numbered);
    let is_free = |delimiter: &String| memmem::find(text, delimiter.as_bytes()).is_none();
    // A text has an end, so it does not hold all of them.
    let delimiter = delimiters.find(is_free).unwrap_or_default();
    out.extend_from_slice(format!("DELIMITER {delimiter}\n").as_bytes());
    out.extend_from_slice(text);
    out.extend_from_slice(format!("\n{delimiter}\nDELIMITER ;\n").as_bytes());
}

/// What XA PREPARE, or XA COMMIT … ONE PHASE, left in the log. Source: MySQL `control_events.h`, `XA_prepare_event`.
pub(crate) fn xa_prepare(body: &[u8]) -> Result<Vec<u8>, Short> {
    let mut at = crate::log::Cursor::new(body);
    let (is_one_phase, format) = (at.u8()? != 0, at.u32()?);
    let (global, branch) = (at.u32()? as usize, at.u32()? as usize);
    let name = XaName { global: at.take(global)?, branch: at.take(branch)?, format };
    let mut text = Vec::new();
    push_xa(if is_one_phase { b"XA COMMIT " } else { b"XA PREPARE " }, &name, &mut text);
    if is_one_phase {
        text.extend_from_slice(b" ONE PHASE");
    }
    Ok(text)
}

pub(crate) fn push_xa(verb: &[u8], name: &XaName<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(verb);
    push_hex(name.global, out);
    out.push(b',');
    push_hex(name.branch, out);
    out.extend_from_slice(format!(",{}", name.format).as_bytes());
}
