//! Counts events as they come.

use crate::chain::Item;
use crate::event::{Gtid, Query, Rows, TableMap};
use crate::log::{Event, Format, Kind, Place, RowChange, Short};

use super::causes::{Cause, CauseId, Causes};
use super::kinds::kind_of;
use super::rate::Rate;
use super::report::{KindReport, LogReport, StatReport, TransactionReport};

/// What was counted so far.
pub(super) struct Tally {
    logs: Vec<LogReport>,
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
    first_time: u32,
    last_time: u32,
    /// The body of the event with its identifier: few are ever shown.
    gtid: Vec<u8>,
    gtid_kind: Kind,
    server_id: u32,
}

impl Tally {
    pub(super) fn new(top: usize) -> Self {
        let kinds: Vec<_> = (0..=u8::MAX).map(|number| KindReport::new(Kind(number))).collect();
        Self {
            logs: Vec::new(),
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

    /// Counts an event.
    pub(super) fn count(&mut self, item: &Item<'_>) -> Result<(), Short> {
        let Item { event, format, place, .. } = item;
        let size = u64::from(event.header.size);
        let kinds = if event.is_packed { &mut self.packed } else { &mut self.stored };
        kinds[usize::from(event.header.kind.0)].count(size);
        let stored = if event.is_packed { 0 } else { size };
        self.log_of(item, stored);
        if *place == Place::Outside {
            self.other += stored;
            return Ok(());
        }
        if place.begins() {
            self.begin(item);
        }
        self.now.add(event, stored);
        self.look_into(event, format)?;
        if place.ends() {
            self.end();
        }
        Ok(())
    }

    /// Notes bytes of the log that the event is in.
    fn log_of(&mut self, item: &Item<'_>, stored: u64) {
        let time = item.event.header.timestamp;
        if self.logs.len() <= item.number {
            const MAGIC: u64 = 4;
            self.other += MAGIC;
            self.logs.push(LogReport::new(item.log, MAGIC));
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
            log: item.number,
            position: item.event.position,
            first_time: header.timestamp,
            last_time: header.timestamp,
            gtid: std::mem::take(&mut self.now.gtid),
            ..Now::default()
        };
        self.now.gtid.clear();
    }

    fn look_into(&mut self, event: &Event<'_>, format: &Format) -> Result<(), Short> {
        let size = u64::from(event.header.size);
        if let Some(change) = event.kind.row_change() {
            let (table, _) = Rows::table_and_flags(event.kind, event.body, format)?;
            if let Some(id) = self.causes.by_table_id(table) {
                self.charge(id, size, Some(change));
            }
            return Ok(());
        }
        match event.kind {
            Kind::TABLE_MAP => {
                let map = TableMap::parse(event.body, format)?;
                let id = self.causes.table(&map);
                self.charge(id, size, None);
            }
            Kind::QUERY => {
                let query = Query::parse(event.body, format)?;
                if !query.is_begin() && !query.is_end() {
                    self.charge_statement(kind_of(query.text), size, true);
                }
            }
            Kind::EXECUTE_LOAD_QUERY | Kind::EXEC_LOAD | Kind::LOAD | Kind::NEW_LOAD => {
                self.charge_statement("LOAD".into(), size, true);
            }
            Kind::BEGIN_LOAD_QUERY | Kind::APPEND_BLOCK | Kind::CREATE_FILE | Kind::DELETE_FILE => {
                self.charge_statement("LOAD".into(), size, false);
            }
            Kind::GTID | Kind::ANONYMOUS_GTID | Kind::GTID_TAGGED | Kind::MARIADB_GTID => {
                self.now.gtid.extend_from_slice(event.body);
                (self.now.gtid_kind, self.now.server_id) = (event.kind, event.header.server_id);
            }
            _ => {}
        }
        Ok(())
    }

    fn charge(&mut self, id: CauseId, size: u64, change: Option<RowChange>) {
        self.causes.weigh(id, size);
        if let Some(change) = change {
            self.causes.count(id, change);
        }
    }

    fn charge_statement(&mut self, kind: String, size: u64, is_whole: bool) {
        let id = self.causes.of(Cause::Statement(kind));
        self.charge(id, size, is_whole.then_some(RowChange::Insert));
    }

    /// Closes the transaction at hand.
    fn end(&mut self) {
        self.now.is_open = false;
        self.transactions += 1;
        self.other += self.causes.charge(self.now.bytes);
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

    /// What was found, when the last log is at its end.
    pub(super) fn into_report(mut self) -> StatReport {
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
