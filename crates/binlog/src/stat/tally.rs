//! Counts events as they come.

use std::ops::ControlFlow;

use crate::chain::Item;
use crate::event::{ExecuteLoad, Gtid, OldLoad, Query, Rows, TableMap};
use crate::filter::{Filter, Verdict};
use crate::log::{Event, Kind, MAGIC, Place, RowChange, Short};

use super::causes::{Cause, CauseId, Causes};
use super::kinds::kind_of;
use super::rate::Rate;
use super::report::{KindReport, LogReport, StatReport, TransactionReport};

/// What statements that load files are called.
const LOAD: &str = "LOAD";

/// What was counted so far.
pub(crate) struct Tally<'f> {
    /// `None` where everything is wanted.
    filter: Option<Filter<'f>>,
    /// Whether it asks for anything within transactions: then what belongs to none is not wanted, and of each its part.
    picks: bool,
    logs: Vec<LogReport>,
    /// The number of the last of them.
    log: Option<usize>,
    /// By the number of the kind: as stored, and of those that were in payloads, as they are in there.
    stored: Vec<KindReport>,
    packed: Vec<KindReport>,
    causes: Causes,
    /// Bytes that belong to no transaction, or to one with nothing in it.
    other: u64,
    transactions: u64,
    /// The transaction at hand.
    now: Now,
    rate: Rate,
    top: usize,
    largest: Vec<TransactionReport>,
    longest: Vec<TransactionReport>,
}

/// The transaction at hand.
#[derive(Debug, Default)]
struct Now {
    is_open: bool,
    log: usize,
    position: u64,
    end: u64,
    bytes: u64,
    events: u64,
    /// Bytes of files whose statement is not there yet.
    files: u64,
    first_time: u32,
    last_time: u32,
    /// The body of the event with its identifier: few are ever shown.
    gtid: Vec<u8>,
    gtid_kind: Kind,
    server_id: u32,
}

impl<'f> Tally<'f> {
    pub(crate) fn new(top: usize, filter: Option<Filter<'f>>) -> Self {
        let kinds: Vec<_> = (0..=u8::MAX).map(|number| KindReport::new(Kind(number))).collect();
        Self {
            picks: filter.as_ref().is_some_and(Filter::looks_inside),
            filter,
            logs: Vec::new(),
            log: None,
            packed: kinds.clone(),
            stored: kinds,
            causes: Causes::default(),
            other: 0,
            transactions: 0,
            now: Now::default(),
            rate: Rate::new(),
            top,
            largest: Vec::new(),
            longest: Vec::new(),
        }
    }

    /// Takes in an event.
    pub(crate) fn see(&mut self, item: &Item<'_>) -> Result<ControlFlow<()>, Short> {
        let verdict = match &mut self.filter {
            None => Verdict::Take,
            Some(filter) => filter.verdict(item)?,
        };
        match verdict {
            Verdict::Take => self.count(item)?,
            Verdict::Leave => {}
            Verdict::Stop => return Ok(ControlFlow::Break(())),
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Refuses a name in the event at hand of which nobody knows whether it is wanted.
    pub(super) fn refuse_doubt(&self, item: &Item<'_>) -> crate::Result<()> {
        self.filter.as_ref().map_or(Ok(()), |filter| filter.refuse_doubt(item.log, item.event.position))
    }

    fn count(&mut self, item: &Item<'_>) -> Result<(), Short> {
        let Item { event, place, .. } = item;
        let is_outside = *place == Place::Outside;
        if self.picks && is_outside {
            return Ok(());
        }
        let size = u64::from(event.header.size);
        let stored = if event.is_packed { 0 } else { size };
        self.log_of(item, stored);
        let is_wanted = if is_outside {
            self.other += stored;
            true
        } else {
            if place.begins() {
                self.begin(item);
            }
            self.now.add(event, stored);
            self.look_into(item)?
        };
        if is_wanted {
            let kinds = if event.is_packed { &mut self.packed } else { &mut self.stored };
            kinds[usize::from(event.header.kind.0)].count(size);
        }
        if place.ends() {
            self.end();
        }
        Ok(())
    }

    /// Notes bytes of the log that the event is in.
    fn log_of(&mut self, item: &Item<'_>, stored: u64) {
        let time = item.event.header.timestamp;
        if self.log != Some(item.number) {
            self.log = Some(item.number);
            let magic = if self.filter.is_none() { MAGIC.len() as u64 } else { 0 };
            self.other += magic;
            self.logs.push(LogReport::new(item.log, magic));
        }
        let Some(log) = self.logs.last_mut() else { return };
        log.bytes += stored;
        if item.event.kind == Kind::FORMAT_DESCRIPTION {
            log.server_version.clone_from(&item.format.server_version);
        }
        if time != 0 {
            log.first = Some(log.first.map_or(time, |first| first.min(time)));
            log.last = Some(log.last.map_or(time, |last| last.max(time)));
        }
    }

    fn begin(&mut self, item: &Item<'_>) {
        if self.now.is_open {
            // One that a server left open when it went down.
            self.end();
        }
        let header = item.event.header;
        self.now = Now {
            is_open: true,
            log: self.logs.len() - 1, // log_of() saw to it that there is one
            position: item.event.position,
            first_time: header.timestamp,
            last_time: header.timestamp,
            gtid: std::mem::take(&mut self.now.gtid),
            ..Now::default()
        };
        self.now.gtid.clear();
    }

    /// Charges an event of a transaction to its cause. Tells whether it is wanted.
    fn look_into(&mut self, item: &Item<'_>) -> Result<bool, Short> {
        let Item { event, format, .. } = item;
        let size = u64::from(event.header.size);
        if let Some(change) = event.kind.row_change() {
            let (table, _) = Rows::table_and_flags(event.kind, event.body, format)?;
            let Some(id) = self.causes.by_table_id(table) else { return Ok(!self.picks) };
            return Ok(self.charge(id, item, Some(change)));
        }
        match event.kind {
            Kind::TABLE_MAP => {
                let map = TableMap::parse(event.body, format)?;
                let filter = &self.filter;
                let is_wanted =
                    || filter.as_ref().is_none_or(|filter| filter.wants_table(map.schema, map.table));
                let id = self.causes.table(&map, is_wanted);
                return Ok(self.charge(id, item, None));
            }
            Kind::QUERY => {
                let query = Query::parse(event.body, format)?;
                if !query.is_begin() && !query.is_end() {
                    let is_wanted = match &self.filter {
                        Some(filter) => filter.wants_statement(&query)?.some(),
                        None => true,
                    };
                    return Ok(self.charge_statement(item, kind_of(query.text), is_wanted));
                }
            }
            Kind::EXECUTE_LOAD_QUERY | Kind::EXEC_LOAD | Kind::LOAD | Kind::NEW_LOAD => {
                return self.charge_load(item);
            }
            Kind::BEGIN_LOAD_QUERY | Kind::APPEND_BLOCK | Kind::CREATE_FILE | Kind::DELETE_FILE => {
                self.now.files += size;
            }
            Kind::GTID | Kind::ANONYMOUS_GTID | Kind::GTID_TAGGED | Kind::MARIADB_GTID => {
                self.now.gtid.extend_from_slice(event.body);
                (self.now.gtid_kind, self.now.server_id) = (event.kind, event.header.server_id);
            }
            _ => {}
        }
        Ok(!self.picks)
    }

    /// Charges an event to what is wanted of a table, if anything is.
    fn charge(&mut self, id: Option<CauseId>, item: &Item<'_>, change: Option<RowChange>) -> bool {
        let header = &item.event.header;
        let wants_kind = |filter: &Filter<'_>| filter.wants_kind(header.kind);
        let id = id.filter(|_| self.filter.as_ref().is_none_or(wants_kind));
        self.weigh(id, u64::from(header.size), change);
        id.is_some()
    }

    fn weigh(&mut self, id: Option<CauseId>, size: u64, change: Option<RowChange>) {
        let Some(id) = id else { return self.causes.leave(size) };
        self.causes.weigh(id, size);
        if let Some(change) = change {
            self.causes.count(id, change);
        }
    }

    fn charge_statement(&mut self, item: &Item<'_>, kind: String, is_wanted: bool) -> bool {
        let id = is_wanted.then(|| self.causes.of(Cause::Statement(kind)));
        self.charge(id, item, Some(RowChange::Insert))
    }

    /// Charges the statement that loads a file, and with it the file.
    fn charge_load(&mut self, item: &Item<'_>) -> Result<bool, Short> {
        let Item { event, format, .. } = item;
        let is_wanted = match (&self.filter, event.kind) {
            (None, _) => true,
            (Some(filter), Kind::EXECUTE_LOAD_QUERY) => {
                let query = ExecuteLoad::parse(event.body, format)?.query;
                filter.wants_statement(&query)?.some()
            }
            (Some(filter), Kind::LOAD | Kind::NEW_LOAD) => {
                let load = OldLoad::parse(event.kind, event.body)?;
                filter.wants_load(Some(load.thread), load.schema, load.table)
            }
            // Which load it ends is in an event before it.
            (Some(_), _) => !self.picks,
        };
        let is_taken = self.charge_statement(item, LOAD.into(), is_wanted);
        let files = std::mem::take(&mut self.now.files);
        self.charge_files(files, is_taken);
        Ok(is_taken)
    }

    fn charge_files(&mut self, bytes: u64, is_wanted: bool) {
        if bytes > 0 {
            let id = is_wanted.then(|| self.causes.of(Cause::Statement(LOAD.into())));
            self.weigh(id, bytes, None);
        }
    }

    /// Closes the transaction at hand.
    fn end(&mut self) {
        self.now.is_open = false;
        let files = std::mem::take(&mut self.now.files);
        self.charge_files(files, !self.picks);
        let charged = self.causes.charge(self.now.bytes);
        if self.picks {
            self.take_share(charged);
            if charged == 0 {
                return;
            }
        } else {
            self.other += self.now.bytes - charged;
        }
        self.transactions += 1;
        self.rate.count(self.now.first_time, self.now.bytes, 1);
        let seconds = u64::from(self.now.seconds());
        if self.top == 0 {
            return;
        }
        if is_among(&self.largest, self.top, self.now.bytes, |one| one.bytes) {
            let report = self.now.report(&self.logs);
            insert(&mut self.largest, self.top, report, |one| one.bytes);
        }
        if seconds > 0 && is_among(&self.longest, self.top, seconds, |one| u64::from(one.seconds)) {
            let report = self.now.report(&self.logs);
            insert(&mut self.longest, self.top, report, |one| u64::from(one.seconds));
        }
    }

    /// Of the transaction at hand, so many bytes are what was asked for.
    fn take_share(&mut self, bytes: u64) {
        if let Some(log) = self.logs.get_mut(self.now.log) {
            log.bytes -= self.now.bytes - bytes;
        }
        self.now.bytes = bytes;
    }

    /// What was found, when the last log is at its end.
    pub(crate) fn into_report(mut self) -> StatReport {
        let unfinished = self.now.is_open;
        if unfinished {
            self.end();
        }
        let (span_seconds, rate) = self.rate.into_spans();
        let kept = |kinds: Vec<KindReport>| kinds.into_iter().filter(|kind| kind.events > 0).collect();
        StatReport::new(
            self.logs,
            (kept(self.stored), kept(self.packed)),
            self.causes.into_sorted(),
            self.other,
            self.transactions,
            (self.largest, self.longest),
            (span_seconds, rate),
        )
    }
}

impl Now {
    fn add(&mut self, event: &Event<'_>, stored: u64) {
        self.bytes += stored;
        self.events += 1;
        self.end = event.end;
        let time = event.header.timestamp;
        if time != 0 {
            self.first_time = if self.first_time == 0 { time } else { self.first_time.min(time) };
            self.last_time = self.last_time.max(time);
        }
    }

    /// From when its first statement began to when its last event was made.
    fn seconds(&self) -> u32 {
        self.last_time.saturating_sub(self.first_time)
    }

    fn report(&self, logs: &[LogReport]) -> TransactionReport {
        let gtid = Gtid::parse(self.gtid_kind, &self.gtid, self.server_id);
        TransactionReport {
            log: logs.get(self.log).map_or_else(String::new, |log| log.name.clone()),
            position: self.position,
            end: self.end,
            time: self.first_time,
            gtid: gtid.ok().flatten().map(|gtid| gtid.to_string()),
            bytes: self.bytes,
            events: self.events,
            seconds: self.seconds(),
        }
    }
}

fn is_among<T>(list: &[T], top: usize, measure: u64, of: impl Fn(&T) -> u64) -> bool {
    list.len() < top || list.last().is_some_and(|least| of(least) < measure)
}

fn insert<T>(list: &mut Vec<T>, top: usize, new: T, of: impl Fn(&T) -> u64) {
    let at = list.partition_point(|one| of(one) >= of(&new));
    list.insert(at, new);
    list.truncate(top);
}
