//! Events as a server takes them in a BINLOG statement: without checksums, in the versions that it knows, not larger than a packet.
//!
//! What comes before the first is a description of their format, made here for the target, so that the log's own version and
//! lengths do not matter.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use drover_db::sql::partitions;
use drover_db::{Cluster, Connection, Server, Vendor, collations, server};

use crate::event::{Rows, TableMap};
use crate::log::{Format, Header, Kind, Short};
use crate::rows::{Lacks, Row, RowReader, Table};

/// What a server takes.
#[derive(Debug, Clone)]
pub(super) struct Target {
    pub(super) vendor: Vendor,
    pub(super) version: String,
    /// The longest statement, in bytes.
    pub(super) max_packet: usize,
    /// Whether a session that has prepared a transaction is free for another: MySQL's `xa_detach_on_prepare`.
    pub(super) detaches_prepared: bool,
    /// Whether it has `gtid_next`, and with it knows events of rows of the second version: MySQL from 5.6 on.
    pub(super) has_gtids: bool,
    /// Whether tables that it makes have times in the format of before MySQL 5.6.4 and MariaDB 10.1.
    pub(super) has_former_times: bool,
    /// Whether it is a node of Galera.
    pub(super) is_in_galera: bool,
    /// Whether it partitions tables of InnoDB only.
    pub(super) partitions_innodb_only: bool,
    /// The engines that it has, in capital letters.
    pub(super) engines: BTreeSet<String>,
    /// The collations that it has.
    pub(super) collations: Arc<BTreeSet<String>>,
    /// What it takes for a character set that is named alone.
    pub(super) default_collations: BTreeMap<String, String>,
    /// Whether it shows -0 of a FLOAT or DOUBLE as 0, as MariaDB 10.11 does.
    pub(super) hides_zero_signs: bool,
}

/// What a BINLOG statement has around the events, and other statements of ours may have beside it, in bytes.
const AROUND: usize = 64 << 10;
/// Statements are ended at about so many bytes of events: the server works on one while the next is made.
const USUAL: usize = 768 << 10;
/// MariaDB's time for a BINLOG statement grows with the square of the tables that are described in it; MySQL's does not.
const MARIADB_STATEMENTS: usize = 1;
const MYSQL_STATEMENTS: usize = 1 << 12;

impl Target {
    /// What a target's `max_allowed_packet` must be, in bytes.
    pub(super) const LEAST_PACKET: usize = 256 << 10;

    /// Asks the server at the other end.
    pub(super) fn of(connection: &mut Connection) -> drover_db::Result<Self> {
        let server = Server::of(connection)?;
        let max_packet = server::variable(connection, "max_allowed_packet")?;
        let max_packet = max_packet.and_then(|value| value.parse().ok()).unwrap_or(1 << 20);
        let detaches = server::variable(connection, "SESSION.xa_detach_on_prepare")?;
        let detaches_prepared = detaches.is_some_and(|value| value == "1" || value == "ON");
        let has_gtids = server::variable(connection, "SESSION.gtid_next")?.is_some();
        let has_former_times = match server.vendor {
            Vendor::MySql => !has_gtids,
            Vendor::MariaDb => {
                let is_later = server::variable(connection, "GLOBAL.mysql56_temporal_format")?;
                is_later.is_none_or(|value| value == "0")
            }
        };
        let is_in_galera = Cluster::of(connection)? == Some(Cluster::Galera);
        let collations = Arc::new(collations::all(connection)?);
        let default_collations = collations::defaults::of_all(connection)?;
        let partitions_innodb_only =
            server.vendor == Vendor::MySql && partitions::only_of_some_engines(connection)?;
        let engines = connection.query(
            "SELECT UPPER(ENGINE) FROM information_schema.ENGINES WHERE SUPPORT IN ('YES', 'DEFAULT')",
        )?;
        let engines = engines.into_iter().map(|row| row.string(0)).collect();
        let known = Self::new(&server, max_packet);
        let zero = connection.first("SELECT CAST(-0e0 AS CHAR)")?;
        Ok(Self {
            hides_zero_signs: zero.is_some_and(|row| row.string(0) == "0"),
            engines,
            detaches_prepared,
            has_gtids,
            has_former_times,
            is_in_galera,
            partitions_innodb_only,
            collations,
            default_collations,
            ..known
        })
    }

    /// Of this server, whose `max_allowed_packet` is so many bytes.
    fn new(server: &Server, max_packet: usize) -> Self {
        let (vendor, version) = (server.vendor, server.version.clone());
        let (detaches_prepared, has_gtids, has_former_times) = (false, true, false);
        let (collations, default_collations) = (Arc::default(), BTreeMap::new());
        Self {
            vendor,
            version,
            max_packet,
            detaches_prepared,
            has_gtids,
            has_former_times,
            is_in_galera: false,
            partitions_innodb_only: false,
            engines: BTreeSet::new(),
            collations,
            default_collations,
            hides_zero_signs: false,
        }
    }

    /// Whether it makes a table in one transaction with its rows: CREATE TABLE … START TRANSACTION, from MySQL 8.0.21 on.
    pub(super) fn takes_rows_with_table(&self) -> bool {
        let server = Server { vendor: self.vendor, version: self.version.clone(), comment: String::new() };
        self.vendor == Vendor::MySql && server.numbers() >= (8, 0, 21)
    }

    /// Whether a row event of a sequence ends the server: of MariaDB 10.5 it does (`Rows_log_event::update_sequence`, found with 10.5.23), of
    /// 10.11 it does not.
    pub(super) fn sets_sequences(&self) -> bool {
        let server = Server { vendor: self.vendor, version: self.version.clone(), comment: String::new() };
        self.vendor == Vendor::MariaDb && server.numbers() < (10, 11, 0)
    }

    /// Whether it computes generated columns that an event of rows leaves out. Others keep the values that a row had, and keys on virtual
    /// columns as they were (found with MySQL 5.7.22 and 8.0.12, MariaDB 10.5.23 and 10.11.19, and not with MySQL 8.0.33 and MariaDB 11.4.5).
    pub(super) fn computes_columns(&self) -> bool {
        match self.vendor {
            Vendor::MySql => self.numbers() >= (8, 0, 33),
            Vendor::MariaDb => self.numbers() >= (11, 4, 0),
        }
    }

    /// What it lacks of MariaDB's times.
    pub(super) fn lacks(&self) -> Lacks {
        let is_mysql = self.vendor == Vendor::MySql;
        Lacks { later_timestamps: is_mysql || self.numbers() < (11, 5, 0), last_fraction: is_mysql }
    }

    /// Its version.
    pub(super) fn numbers(&self) -> (u32, u32, u32) {
        let (vendor, version) = (self.vendor, self.version.clone());
        Server { vendor, version, comment: String::new() }.numbers()
    }

    /// How many bytes of events fit into one statement.
    pub(super) fn capacity(&self) -> usize {
        self.max_packet.max(Self::LEAST_PACKET).saturating_sub(AROUND) / 4 * 3
    }

    fn usual(&self) -> usize {
        USUAL.min(self.capacity())
    }

    fn statements(&self) -> usize {
        match self.vendor {
            Vendor::MariaDb => MARIADB_STATEMENTS,
            Vendor::MySql => MYSQL_STATEMENTS,
        }
    }

    /// The statements that a session begins with. Behind a format description, MySQL waits for an identifier of the next
    /// transaction unless it is told to make one itself.
    pub(super) fn begin_session(&self) -> Vec<Vec<u8>> {
        let mut statements = vec![binlog_statement(&self.format_description())];
        if self.vendor == Vendor::MySql && self.has_gtids {
            statements.push(b"SET @@session.gtid_next = 'AUTOMATIC'".to_vec());
        }
        statements
    }

    /// Sources: MySQL `libs/mysql/binlog/event/control_events.h`, MariaDB `sql/log_event.h`.
    fn format_description(&self) -> Vec<u8> {
        let mut body = 4_u16.to_le_bytes().to_vec();
        let version = self.version.as_bytes();
        body.extend_from_slice(&version[..version.len().min(49)]);
        body.resize(2 + 50 + 4, 0);
        body.push(Header::LENGTH as u8);
        body.extend_from_slice(match self.vendor {
            Vendor::MariaDb => &MARIADB_LENGTHS,
            Vendor::MySql => &MYSQL_LENGTHS,
        });
        // No event has a checksum; this one always has room for it.
        body.extend_from_slice(&[0; 5]);
        let header = Header { kind: Kind::FORMAT_DESCRIPTION, server_id: 1, ..Header::default() };
        let mut event = Vec::new();
        push_event(&header, header.kind, &[&body], &mut event);
        event
    }
}

/// Of what comes first in the body of each kind of event, in bytes; as MySQL 8.0 has it.
const MYSQL_LENGTHS: [u8; 41] = lengths(98);
/// The same of MariaDB 10.11.
const MARIADB_LENGTHS: [u8; 171] = lengths(228);
/// The same of what is sent.
const SENT: [(Kind, u8); 8] = [
    (Kind::TABLE_MAP, 8),
    (Kind::WRITE_ROWS_V1, 8),
    (Kind::UPDATE_ROWS_V1, 8),
    (Kind::DELETE_ROWS_V1, 8),
    (Kind::WRITE_ROWS, 10),
    (Kind::UPDATE_ROWS, 10),
    (Kind::DELETE_ROWS, 10),
    (Kind::PARTIAL_UPDATE_ROWS, 10),
];

/// `description` is that of the format description itself.
const fn lengths<const N: usize>(description: u8) -> [u8; N] {
    // What both vendors have had since 5.0; of the kinds that are not named nothing is sent.
    const SHARED: [u8; 18] = [56, 13, 0, 8, 0, 18, 0, 4, 4, 4, 4, 18, 0, 0, 0, 0, 4, 26];
    let mut all = [0; N];
    let mut at = 0;
    while at < SHARED.len() {
        all[at] = SHARED[at];
        at += 1;
    }
    all[Kind::FORMAT_DESCRIPTION.0 as usize - 1] = description;
    at = 0;
    while at < SENT.len() {
        all[SENT[at].0.0 as usize - 1] = SENT[at].1;
        at += 1;
    }
    all
}

/// The statement that applies events.
fn binlog_statement(events: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(events.len().div_ceil(3) * 4 + 16);
    push_binlog_statement(events, &mut text);
    text
}

fn push_binlog_statement(events: &[u8], text: &mut Vec<u8>) {
    text.extend_from_slice(b"BINLOG '");
    let start = text.len();
    text.resize(start + events.len().div_ceil(3) * 4, 0);
    // The room is exactly what base64 takes.
    let written = STANDARD.encode_slice(events, &mut text[start..]).unwrap_or(0);
    text.truncate(start + written);
    text.push(b'\'');
}

/// Writes an event of this kind with the header's time and server and a body of these parts.
fn push_event(header: &Header, kind: Kind, body: &[&[u8]], out: &mut Vec<u8>) {
    let length: usize = body.iter().map(|part| part.len()).sum();
    out.extend_from_slice(&header.timestamp.to_le_bytes());
    out.push(kind.0);
    out.extend_from_slice(&header.server_id.to_le_bytes());
    out.extend_from_slice(&((Header::LENGTH + length) as u32).to_le_bytes());
    out.extend_from_slice(&[0; 4 + 2]);
    body.iter().for_each(|part| out.extend_from_slice(part));
}

/// Why rows cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Unfit {
    /// The event does not hold what it should.
    Malformed,
    /// A row takes so many bytes, with what describes its table.
    TooLarge(usize),
    /// The target takes no such events.
    Unknown(Kind),
}

impl From<Short> for Unfit {
    fn from(_: Short) -> Self {
        Self::Malformed
    }
}

/// Gathers events of rows for BINLOG statements.
#[derive(Debug, Default)]
pub(super) struct Batch {
    events: Vec<u8>,
    /// The tables of the statement at hand.
    maps: Vec<Map>,
    /// Where the last event of rows is among the events, and its flags, as long as its statement has no end.
    open: Option<usize>,
    /// How many statements there are.
    statements: usize,
    /// Whether each row has a BINLOG statement of its own.
    is_single: bool,
}

/// The description of a table.
#[derive(Debug)]
struct Map {
    id: u64,
    event: Vec<u8>,
    /// Whether it is among the events.
    is_in: bool,
}

/// Rows of one event.
pub(super) struct RowsEvent<'a> {
    pub(super) header: &'a Header,
    pub(super) kind: Kind,
    pub(super) body: &'a [u8],
    pub(super) format: &'a Format,
    /// The table, as far as it is understood.
    pub(super) table: Option<&'a Table>,
}

impl Batch {
    /// One that makes a statement of each row.
    pub(super) fn of_single_rows() -> Self {
        Self { is_single: true, ..Self::default() }
    }

    /// Takes the description of a table.
    pub(super) fn describe(&mut self, header: &Header, map: &TableMap<'_>, body: &[u8], format: &Format) {
        // Its number has six bytes now, and had four before 5.1.4.
        let rest = if format.post_header(Kind::TABLE_MAP) == Some(6) { 4 } else { 6 };
        let mut event = Vec::with_capacity(Header::LENGTH + body.len() + 2);
        let rest = body.get(rest..).unwrap_or_default();
        push_event(header, Kind::TABLE_MAP, &[&map.id.to_le_bytes()[..6], rest], &mut event);
        self.maps.retain(|known| known.id != map.id);
        self.maps.push(Map { id: map.id, event, is_in: false });
    }

    /// Takes rows, and writes statements where there are enough. `is_last` says that the statement ends with them.
    pub(super) fn take(
        &mut self,
        rows: &RowsEvent<'_>,
        target: &Target,
        out: &mut Vec<Vec<u8>>,
    ) -> Result<(), Unfit> {
        let Rewritten { kind, head, mut flags, masks, rows: bytes } = Rewritten::of(rows, target)?;
        let is_last = flags & Rows::STATEMENT_END != 0;
        flags &= !Rows::STATEMENT_END;
        let flags_at = head.len() - 2 * usize::from(kind_is_second(kind)) - 2;
        let mut head = head;
        head[flags_at..flags_at + 2].copy_from_slice(&flags.to_le_bytes());
        let around = Header::LENGTH + head.len() + masks.len();
        let room = target.capacity().saturating_sub(around + self.maps_length());
        for part in parts(rows, bytes, room, self.is_single)? {
            if self.events.len() + around + part.len() + self.maps_length() > target.capacity() {
                self.flush(out);
            }
            self.push_maps();
            self.open = Some(self.events.len() + Header::LENGTH + flags_at);
            push_event(rows.header, kind, &[&head, masks, part], &mut self.events);
            if self.is_single || self.events.len() >= target.usual() {
                self.flush(out);
            }
        }
        if is_last {
            self.end_statement(target, out);
        }
        Ok(())
    }

    /// The statement at hand is at its end, though the event that says so may have been left out.
    pub(super) fn end_statement(&mut self, target: &Target, out: &mut Vec<Vec<u8>>) {
        self.close();
        self.maps.clear();
        self.statements += 1;
        if self.statements >= target.statements() {
            self.flush(out);
        }
    }

    /// Writes what there is as a statement. The server forgets its tables with it.
    pub(super) fn flush(&mut self, out: &mut Vec<Vec<u8>>) {
        self.close();
        self.statements = 0;
        self.maps.iter_mut().for_each(|map| map.is_in = false);
        if !self.events.is_empty() {
            out.push(binlog_statement(&self.events));
            self.events.clear();
        }
    }

    /// Begins anew.
    pub(super) fn clear(&mut self) {
        let is_single = self.is_single;
        *self = Self { events: std::mem::take(&mut self.events), is_single, ..Self::default() };
        self.events.clear();
    }

    fn maps_length(&self) -> usize {
        self.maps.iter().map(|map| map.event.len()).sum()
    }

    fn push_maps(&mut self) {
        for map in self.maps.iter_mut().filter(|map| !map.is_in) {
            self.events.extend_from_slice(&map.event);
            map.is_in = true;
        }
    }

    /// Says in the last event of the statement at hand that it is the last.
    fn close(&mut self) {
        if let Some(flags) = self.open.take().and_then(|at| self.events.get_mut(at)) {
            *flags |= Rows::STATEMENT_END as u8;
        }
    }
}

fn kind_is_second(kind: Kind) -> bool {
    matches!(kind, Kind::WRITE_ROWS | Kind::UPDATE_ROWS | Kind::DELETE_ROWS | Kind::PARTIAL_UPDATE_ROWS)
}

/// The kind of the first version of events that do the same.
fn first_version(kind: Kind) -> Option<Kind> {
    match kind {
        Kind::WRITE_ROWS | Kind::WRITE_ROWS_V1 => Some(Kind::WRITE_ROWS_V1),
        Kind::UPDATE_ROWS | Kind::UPDATE_ROWS_V1 => Some(Kind::UPDATE_ROWS_V1),
        Kind::DELETE_ROWS | Kind::DELETE_ROWS_V1 => Some(Kind::DELETE_ROWS_V1),
        _ => None,
    }
}

/// An event of rows in the version that the target takes.
struct Rewritten<'a> {
    kind: Kind,
    /// The table's number, flags, and of the second version the length of what nobody needs.
    head: Vec<u8>,
    flags: u16,
    /// How many columns there are, and which of them the rows hold.
    masks: &'a [u8],
    rows: &'a [u8],
}

impl<'a> Rewritten<'a> {
    fn of(event: &RowsEvent<'a>, target: &Target) -> Result<Self, Unfit> {
        let is_first = target.vendor == Vendor::MySql && !target.has_gtids;
        let kind = match (event.kind, target.vendor) {
            (kind, _) if is_first => first_version(kind).ok_or(Unfit::Unknown(kind))?,
            // MySQL applies no events of the first version from 8.4 on: they differ in the length of the head alone.
            (Kind::WRITE_ROWS_V1, Vendor::MySql) => Kind::WRITE_ROWS,
            (Kind::UPDATE_ROWS_V1, Vendor::MySql) => Kind::UPDATE_ROWS,
            (Kind::DELETE_ROWS_V1, Vendor::MySql) => Kind::DELETE_ROWS,
            (Kind::PARTIAL_UPDATE_ROWS, Vendor::MariaDb) => return Err(Unfit::Unknown(event.kind)),
            (kind @ (Kind::PRE_GA_WRITE_ROWS | Kind::PRE_GA_UPDATE_ROWS | Kind::PRE_GA_DELETE_ROWS), _) => {
                return Err(Unfit::Unknown(kind));
            }
            (kind, _) => kind,
        };
        let rows = Rows::parse(event.kind, event.body, event.format)?;
        let mut head = rows.table.to_le_bytes()[..6].to_vec();
        head.extend_from_slice(&rows.flags.to_le_bytes());
        if kind_is_second(kind) {
            // Which partition a row is of is found anew.
            head.extend_from_slice(&2_u16.to_le_bytes());
        }
        let masks = event.body.len() - rows.rows.len();
        let columns = crate::event::rows_masks_start(event.kind, event.body, event.format)?;
        let masks = event.body.get(columns..masks).ok_or(Short)?;
        Ok(Self { kind, head, flags: rows.flags, masks, rows: rows.rows })
    }
}

/// Rows in parts of at most `room` bytes, or one by one.
fn parts<'a>(
    event: &RowsEvent<'a>,
    bytes: &'a [u8],
    room: usize,
    is_single: bool,
) -> Result<Vec<&'a [u8]>, Unfit> {
    if bytes.len() <= room && !is_single {
        return Ok(vec![bytes]);
    }
    let table = event.table.ok_or(Unfit::TooLarge(bytes.len()))?;
    let mut reader = RowReader::new(table, Rows::parse(event.kind, event.body, event.format)?)?;
    let (mut parts, mut row) = (Vec::new(), Row::default());
    let (mut start, mut end) = (0, 0);
    while reader.next(&mut row)? {
        let spans = reader.spans();
        let next = spans.before.end.max(spans.after.end);
        if next - end > room {
            return Err(Unfit::TooLarge(next - end));
        }
        if next - start > room || (is_single && end > start) {
            parts.push(&bytes[start..end]);
            start = end;
        }
        end = next;
    }
    parts.push(&bytes[start..end]);
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::rows::Tables;

    /// A table of an INT and a VARCHAR(60000).
    const TABLE: &[u8] = b"\x07\0\0\0\0\0\x01\0\x01d\0\x01t\0\x02\x03\x0f\x02\x60\xea\x02";

    /// The body of an event that inserts rows whose texts have these lengths.
    fn insert(kind: Kind, flags: u16, lengths: &[u16]) -> Vec<u8> {
        let mut body = TABLE[..6].to_vec();
        body.extend_from_slice(&flags.to_le_bytes());
        if kind_is_second(kind) {
            body.extend_from_slice(&[2, 0]);
        }
        body.extend_from_slice(&[2, 3]);
        for (number, &length) in (0_u32..).zip(lengths) {
            body.push(0);
            body.extend_from_slice(&number.to_le_bytes());
            body.extend_from_slice(&length.to_le_bytes());
            body.resize(body.len() + usize::from(length), number as u8);
        }
        body
    }

    /// The events of a BINLOG statement: kinds and bodies.
    fn events_of(statement: &[u8]) -> Vec<(Kind, Vec<u8>)> {
        let base64 = statement.strip_prefix(b"BINLOG '").and_then(|rest| rest.strip_suffix(b"'")).unwrap();
        let bytes = STANDARD.decode(base64).unwrap();
        let (mut rest, mut events) = (&bytes[..], Vec::new());
        while !rest.is_empty() {
            let length = u32::from_le_bytes(rest[9..13].try_into().unwrap()) as usize;
            events.push((Kind(rest[4]), rest[Header::LENGTH..length].to_vec()));
            rest = &rest[length..];
        }
        events
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn rows_come_out_as_they_went_in_and_no_statement_is_too_long(
            log in vec(vec(vec(0_u16..60_000, 1..12), 1..4), 1..5),
            max_packet in Target::LEAST_PACKET..1 << 20,
            is_second: bool,
            is_mysql: bool,
            has_gtids: bool,
        ) {
            let format = Format::of_tests("10.11.6-MariaDB");
            let (vendor, version) = if is_mysql { (Vendor::MySql, "9.7.0") } else { (Vendor::MariaDb, "10.11.6") };
            let server = Server { vendor, version: version.into(), comment: String::new() };
            let target = Target { has_gtids, ..Target::new(&server, max_packet) };
            let kind = if is_second { Kind::WRITE_ROWS } else { Kind::WRITE_ROWS_V1 };
            let header = Header { kind, ..Header::default() };
            let map = TableMap::parse(TABLE, &format).unwrap();
            let mut tables = Tables::default();
            tables.learn(&map, TABLE, &format).unwrap();
            let (mut batch, mut statements, mut expected) = (Batch::default(), Vec::new(), Vec::new());
            for statement in &log {
                batch.describe(&header, &map, TABLE, &format);
                for (number, lengths) in statement.iter().enumerate() {
                    let is_last = number + 1 == statement.len();
                    let body = insert(kind, if is_last { Rows::STATEMENT_END } else { 0 }, lengths);
                    let rows = Rows::parse(kind, &body, &format).unwrap().rows;
                    expected.extend_from_slice(rows);
                    let table = tables.get(map.id).and_then(Result::ok);
                    let event = RowsEvent { header: &header, kind, body: &body, format: &format, table };
                    batch.take(&event, &target, &mut statements).unwrap();
                }
            }
            batch.flush(&mut statements);
            let sent = match (is_mysql, has_gtids) {
                (true, true) => Kind::WRITE_ROWS,
                (true, false) => Kind::WRITE_ROWS_V1,
                _ => kind,
            };
            let mut found = Vec::new();
            for statement in &statements {
                let events = statement.len() - "BINLOG ''".len();
                prop_assert!(events + AROUND <= max_packet, "{events} of {max_packet}");
                let events = events_of(statement);
                prop_assert_eq!(events[0].0, Kind::TABLE_MAP);
                let ends = events.last().map(|(kind, body)| Rows::table_and_flags(*kind, body, &format).unwrap().1);
                prop_assert_eq!(ends, Some(Rows::STATEMENT_END));
                for (kind, body) in &events {
                    match *kind {
                        Kind::TABLE_MAP => prop_assert_eq!(&body[..], TABLE),
                        kind => {
                            prop_assert_eq!(kind, sent);
                            found.extend_from_slice(Rows::parse(kind, body, &format).unwrap().rows);
                        }
                    }
                }
            }
            prop_assert!(found == expected, "{} bytes of {}", found.len(), expected.len());
        }
    }
}
