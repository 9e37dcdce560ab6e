//! `drover binlog ls`: transactions, or events, one a line.

use std::collections::{BTreeSet, HashMap};
use std::io::{self, Write};
use std::ops::ControlFlow;

use jiff::tz::TimeZone;
use serde::Serialize;

use crate::args::LogArgs;
use crate::chain::{Item, Trouble};
use crate::event::{
    Block, ExecuteLoad, Gtid, OldLoad, Query, Rotate, Rows, TableMap, incident, statement_of_rows, xid,
};
use crate::filter::{Filter, FilterArgs, Verdict};
use crate::log::{Kind, Place, RowChange, Short};
use crate::server::Origin;
use crate::shortened::shortened;
use crate::time::shown;
use crate::{Error, Result};

/// `drover binlog ls`.
#[derive(Debug, clap::Args)]
pub struct LsArgs {
    /// The logs.
    #[command(flatten)]
    pub logs: LogArgs,

    /// Which transactions.
    #[command(flatten)]
    pub filter: FilterArgs,

    /// List events in place of transactions
    #[arg(long)]
    pub events: bool,
}

/// A transaction or an event.
#[derive(Debug, Default, Serialize)]
pub struct Line {
    log: String,
    position: u64,
    end: u64,
    /// In seconds since 1970; 0 where it is not known.
    time: u32,
    bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    event: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    events: Option<u64>,
    #[serde(skip_serializing_if = "String::is_empty")]
    gtid: String,
    server_id: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    thread: Option<u32>,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    schemas: BTreeSet<String>,
    what: String,
    /// Whether it is in a transaction's payload, which is what is between `position` and `end`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_packed: bool,
    /// Whether the log ends before it does.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_unfinished: bool,
}

/// Lists what was asked for; `origin` is the server of `--from-server`. `stopped` is asked now and then whether to stop.
///
/// # Errors
/// If a log cannot be read or is damaged, after all before that was listed; if the list cannot be written.
pub fn ls(
    args: &LsArgs,
    origin: Option<&Origin>,
    is_json: bool,
    out: &mut dyn Write,
    stopped: &dyn Fn() -> bool,
) -> Result<()> {
    let mut list = List::new(is_json, out);
    list.begin().map_err(Error::writing)?;
    let read = read(args, origin, &mut list, stopped);
    list.end().map_err(Error::writing)?;
    read
}

fn read(
    args: &LsArgs,
    origin: Option<&Origin>,
    list: &mut List<'_>,
    stopped: &dyn Fn() -> bool,
) -> Result<()> {
    let wanted = args.filter.of_server(origin)?;
    let mut chain = args.logs.open(origin, Some(&wanted))?;
    let mut lister = Lister::new(Filter::new(&wanted, chain.logs()), args.events);
    let mut is_cut_off = false;
    chain.walk(stopped, |item| {
        match lister.see(item)? {
            Seen::Stop => {
                is_cut_off = true;
                return Ok(ControlFlow::Break(()));
            }
            Seen::Nothing => {}
            Seen::Line(line) => list.line(&line).map_err(Error::writing)?,
        }
        Ok(ControlFlow::Continue(()))
    })?;
    if is_cut_off {
        return Ok(());
    }
    match lister.unfinished() {
        Some(line) => list.line(&line).map_err(Error::writing),
        None => Ok(()),
    }
}

/// What an event gave.
enum Seen {
    Nothing,
    Line(Box<Line>),
    Stop,
}

/// Makes lines of events.
struct Lister<'a> {
    filter: Filter<'a>,
    lists_events: bool,
    /// Names of tables by their numbers.
    tables: HashMap<u64, (String, String)>,
    /// The transaction at hand, and whether there is something in it that is wanted.
    now: Option<Box<Line>>,
    is_wanted: bool,
    changes: Changes,
}

/// What a transaction does, in the order in which it came: what, and in how many events.
type Changes = Vec<(String, u64)>;

/// So many are told apart in a line.
const MOST_CHANGES: usize = 6;

/// What an event tells.
#[derive(Default)]
struct Told {
    thread: Option<u32>,
    schema: Option<String>,
    gtid: Option<String>,
    what: String,
    /// Whether it does something, rather than to be around what does.
    is_change: bool,
    is_wanted: bool,
}

impl<'a> Lister<'a> {
    fn new(filter: Filter<'a>, lists_events: bool) -> Self {
        let (tables, changes) = (HashMap::new(), Changes::new());
        Self { filter, lists_events, tables, now: None, is_wanted: false, changes }
    }

    fn see(&mut self, item: &Item<'_>) -> std::result::Result<Seen, Trouble> {
        let verdict = self.filter.verdict(item)?;
        let told = self.told(item)?;
        let doubt = self.filter.refuse_doubt(item.log, item.event.position);
        match verdict {
            Verdict::Stop => return Ok(Seen::Stop),
            Verdict::Leave => return Ok(Seen::Nothing),
            Verdict::Take => doubt?,
        }
        if self.lists_events {
            let is_wanted = told.is_wanted && self.filter.wants_kind(item.event.header.kind);
            return Ok(if is_wanted { Seen::Line(event_line(item, told)) } else { Seen::Nothing });
        }
        if item.place == Place::Outside {
            return Ok(Seen::Nothing);
        }
        let before = if item.place.begins() { self.unfinished() } else { None };
        self.add(item, told);
        if let Some(line) = before {
            return Ok(Seen::Line(line));
        }
        if !item.place.ends() {
            return Ok(Seen::Nothing);
        }
        Ok(self.finished().map_or(Seen::Nothing, Seen::Line))
    }

    /// Takes an event into the transaction at hand.
    fn add(&mut self, item: &Item<'_>, told: Told) {
        let header = item.event.header;
        let line = self.now.get_or_insert_with(|| {
            let (log, position, server_id) = (item.log.to_owned(), item.event.position, header.server_id);
            Box::new(Line { log, position, server_id, events: Some(0), ..Line::default() })
        });
        line.end = item.event.end;
        line.bytes += if item.event.is_packed { 0 } else { u64::from(header.size) };
        line.events = line.events.map(|events| events + 1);
        line.time = if line.time == 0 { header.timestamp } else { line.time };
        line.gtid = told.gtid.unwrap_or(std::mem::take(&mut line.gtid));
        line.thread = line.thread.or(told.thread);
        self.is_wanted |= told.is_wanted && told.is_change && self.filter.wants_kind(header.kind);
        if !told.is_change {
            return;
        }
        line.schemas.extend(told.schema);
        count_change(&mut self.changes, told.what);
    }

    /// The line of the transaction at hand, if it is wanted.
    fn finished(&mut self) -> Option<Box<Line>> {
        let mut line = self.now.take()?;
        let changes = std::mem::take(&mut self.changes);
        let is_wanted = std::mem::take(&mut self.is_wanted) || !self.filter.looks_inside();
        let told = changes.into_iter().map(|(what, events)| match events {
            1 => what,
            events => format!("{what} ({events} events)"),
        });
        line.what = told.collect::<Vec<_>>().join("; ");
        is_wanted.then_some(line)
    }

    /// That of one which does not end.
    fn unfinished(&mut self) -> Option<Box<Line>> {
        let line = self.finished()?;
        Some(Box::new(Line { is_unfinished: true, ..*line }))
    }

    /// What an event tells.
    fn told(&mut self, item: &Item<'_>) -> std::result::Result<Told, Short> {
        let (event, format) = (&item.event, item.format);
        let mut told = Told { is_wanted: true, ..Told::default() };
        if let Some(change) = event.kind.row_change() {
            let id = Rows::parse(event.kind, event.body, format)?.table;
            let verb = verb(change);
            told.is_change = true;
            match self.tables.get(&id) {
                Some((schema, table)) => {
                    told.is_wanted = self.filter.wants_table(schema.as_bytes(), table.as_bytes());
                    told.what = format!("{verb} {schema}.{table}");
                    told.schema = Some(schema.clone());
                }
                None => told.what = format!("{verb} table number {id}, which was not described"),
            }
            return Ok(told);
        }
        match event.kind {
            Kind::TABLE_MAP => {
                let map = TableMap::parse(event.body, format)?;
                let (schema, table) = (text(map.schema), text(map.table));
                told.what = format!("{schema}.{table} has the number {}", map.id);
                told.is_wanted = self.filter.wants_table(map.schema, map.table);
                told.schema = Some(schema.clone());
                self.tables.insert(map.id, (schema, table));
            }
            Kind::QUERY => self.tell_statement(&mut told, &Query::parse(event.body, format)?)?,
            Kind::EXECUTE_LOAD_QUERY => {
                self.tell_statement(&mut told, &ExecuteLoad::parse(event.body, format)?.query)?;
            }
            Kind::LOAD | Kind::NEW_LOAD | Kind::CREATE_FILE => {
                let load = OldLoad::parse(event.kind, event.body)?;
                told.what =
                    format!("LOAD DATA INFILE {} INTO TABLE {}", text(load.file_name), text(load.table));
                told.is_wanted = self.filter.wants_table(load.schema, load.table);
                told.is_change = event.kind != Kind::CREATE_FILE;
                (told.schema, told.thread) = (Some(text(load.schema)), Some(load.thread));
            }
            Kind::BEGIN_LOAD_QUERY | Kind::APPEND_BLOCK => {
                let block = Block::parse(event.body)?;
                told.what = format!("block of file {}", block.file);
                told.is_change = true;
            }
            kind => {
                if let Some(gtid) = Gtid::parse(kind, event.body, event.header.server_id)? {
                    told.gtid = Some(gtid.to_string());
                }
                told.what = around(item)?;
            }
        }
        Ok(told)
    }

    fn tell_statement(&self, told: &mut Told, query: &Query<'_>) -> std::result::Result<(), Short> {
        told.thread = Some(query.thread);
        told.is_wanted = self.filter.wants_statement(query)?.some();
        told.is_change = !query.is_begin() && !query.is_end();
        told.schema = Some(text(query.schema)).filter(|schema| !schema.is_empty());
        told.what = shortened(query.text);
        Ok(())
    }
}

/// Of more changes than are told apart, the rest is told as one.
fn count_change(changes: &mut Changes, what: String) {
    let known = changes.iter().position(|(change, _)| *change == what);
    match known {
        Some(at) => changes[at].1 += 1,
        None if changes.len() < MOST_CHANGES => changes.push((what, 1)),
        None => changes[MOST_CHANGES - 1] = ("…".into(), 1),
    }
}

/// What an event tells that does nothing by itself.
fn around(item: &Item<'_>) -> std::result::Result<String, Short> {
    let (event, format) = (&item.event, item.format);
    Ok(match event.kind {
        Kind::FORMAT_DESCRIPTION => {
            format!("log of version {}, server {}", format.version, format.server_version)
        }
        Kind::ROTATE => {
            let rotate = Rotate::parse(event.body, format)?;
            format!("next is {} at {}", text(rotate.log), rotate.position)
        }
        Kind::INCIDENT => format!("events may be missing here: {}", text(incident(event.body)?)),
        Kind::XID => format!("COMMIT of transaction {}", xid(event.body, format)?),
        Kind::ROWS_QUERY | Kind::MARIADB_ANNOTATE_ROWS => {
            shortened(statement_of_rows(event.kind, event.body)?)
        }
        kind => Gtid::parse(kind, event.body, event.header.server_id)?
            .map_or_else(String::new, |gtid| gtid.to_string()),
    })
}

fn event_line(item: &Item<'_>, told: Told) -> Box<Line> {
    let event = &item.event;
    Box::new(Line {
        log: item.log.to_owned(),
        position: event.position,
        end: event.end,
        time: event.header.timestamp,
        bytes: u64::from(event.header.size),
        event: Some(event.header.kind.to_string()),
        server_id: event.header.server_id,
        gtid: told.gtid.unwrap_or_default(),
        thread: told.thread,
        schemas: told.schema.into_iter().collect(),
        what: told.what,
        is_packed: event.is_packed,
        ..Line::default()
    })
}

fn verb(change: RowChange) -> &'static str {
    match change {
        RowChange::Insert => "INSERT INTO",
        RowChange::Update => "UPDATE",
        RowChange::Delete => "DELETE FROM",
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Where lines go.
struct List<'a> {
    out: &'a mut dyn Write,
    is_json: bool,
    zone: TimeZone,
    lines: u64,
    log: String,
}

impl<'a> List<'a> {
    fn new(is_json: bool, out: &'a mut dyn Write) -> Self {
        Self { out, is_json, zone: TimeZone::system(), lines: 0, log: String::new() }
    }

    fn begin(&mut self) -> io::Result<()> {
        if self.is_json { self.out.write_all(b"{\"lines\":[") } else { Ok(()) }
    }

    fn end(&mut self) -> io::Result<()> {
        if self.is_json {
            self.out.write_all(b"\n]}\n")?;
        }
        self.out.flush()
    }

    fn line(&mut self, line: &Line) -> io::Result<()> {
        self.lines += 1;
        if self.is_json {
            self.out.write_all(if self.lines == 1 { b"\n" } else { b",\n" })?;
            return serde_json::to_writer(&mut *self.out, line).map_err(io::Error::from);
        }
        if self.log != line.log {
            self.log.clone_from(&line.log);
            let gap = if self.lines == 1 { "" } else { "\n" };
            writeln!(self.out, "{gap}{}", line.log)?;
            writeln!(self.out, "{:>12} {:>10} {:19} {:>8}  WHAT", "POSITION", "BYTES", "TIME", "THREAD")?;
        }
        let thread = line.thread.map(|thread| thread.to_string()).unwrap_or_default();
        let (time, Line { position, bytes, .. }) = (shown(line.time, &self.zone), line);
        write!(self.out, "{position:>12} {bytes:>10} {time:19} {thread:>8}  ")?;
        if let Some(event) = &line.event {
            write!(self.out, "{event:<18} ")?;
        }
        if !line.gtid.is_empty() && line.event.is_none() {
            write!(self.out, "{}  ", line.gtid)?;
        }
        let unfinished = if line.is_unfinished { " (the log ends before it does)" } else { "" };
        writeln!(self.out, "{}{unfinished}", line.what)
    }
}
