//! A server's binary logs, event by event, as it sends them to its replicas: COM_BINLOG_DUMP, which both vendors know, and
//! COM_BINLOG_DUMP_GTID, which MySQL has for a start behind a set of transactions.
//!
//! Sources: MySQL `sql/rpl_source.cc`, `sql/rpl_binlog_sender.cc`; MariaDB `sql/sql_repl.cc`, `sql/sql_parse.cc`.

use std::ops::Range;
use std::time::Duration;

use super::connection::{Connection, is_end, lost};
use super::packet::{ERROR, Next, malformed};
use super::reply::server_error;
use crate::{Error, Result, Vendor, quote};

const COM_BINLOG_DUMP: u8 = 0x12;
const COM_BINLOG_DUMP_GTID: u8 = 0x1e;
/// End where the last log ends, rather than to wait for more.
const NON_BLOCK: u16 = 1;
/// Do not leave out the events that tell a statement's text (MariaDB; MySQL means something else by it).
const ANNOTATE_ROWS: u16 = 2;
/// What comes before each event.
const EVENT: u8 = 0;
/// Where the first event of a log begins.
const FIRST: u32 = 4;
/// How often a server that has nothing to send says so.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// How long none of that may come until the server is given up: a server also reads an event of 1 GiB before it sends any of it.
const SILENCE: Duration = Duration::from_secs(120);

/// What a server is to send of its binary logs.
#[derive(Debug, Clone, Copy)]
pub struct BinlogRequest<'a> {
    /// Who makes the server.
    pub vendor: Vendor,
    /// Where to begin. From there on it sends all logs to the end of the last.
    pub start: BinlogStart<'a>,
    /// Then wait for more, and be known as the replica with this `server_id`, which is not 0; `None` ends there.
    ///
    /// MariaDB ends the stream of another reader with the same `server_id`. MySQL does so only if neither has a UUID; the
    /// session is given one.
    pub wait_as: Option<u32>,
}

/// Where to begin.
#[derive(Debug, Clone, Copy)]
pub enum BinlogStart<'a> {
    /// In this log, at this position, which is where an event begins.
    Position(&'a str, u32),
    /// Behind the transactions of this set, encoded as MySQL's `Gtid_set::encode()` does; only that vendor's servers know it.
    BehindSet(&'a [u8]),
    /// Behind this position, as MariaDB's `gtid_binlog_pos` shows it; only that vendor's servers know it.
    BehindGtids(&'a str),
}

/// Of a header, in bytes: every event begins with one.
pub const EVENT_HEADER: usize = 19;

/// Events, as they come.
pub struct BinlogStream {
    connection: Connection,
    header: [u8; EVENT_HEADER],
    event: At,
}

/// Where the bytes are of the event at hand that nobody has taken.
enum At {
    /// There in the receive buffer.
    Whole(Range<usize>),
    /// They are to be taken in pieces.
    Large,
}

impl Connection {
    /// Has the server send its binary logs. Nothing else can be asked of it afterwards.
    ///
    /// # Errors
    /// That the connection is lost. What the server says against the request comes with the first event.
    pub fn dump_binlogs(mut self, request: &BinlogRequest<'_>) -> Result<BinlogStream> {
        for setting in settings(request) {
            match self.execute(format!("SET {setting}")) {
                // An old server that does not have the variable does not have what it is about either.
                Err(Error::Server(_)) => {}
                other => drop(other?),
            }
        }
        let silence = request.wait_as.map(|_| SILENCE);
        self.packets.stream().set_read_timeout(silence).map_err(|source| self.lost(source))?;
        let (code, body) = command(request);
        self.send_command(code, &[&body])?;
        Ok(BinlogStream { connection: self, header: [0; EVENT_HEADER], event: At::Whole(0..0) })
    }
}

fn settings(request: &BinlogRequest<'_>) -> Vec<String> {
    let both = |name: &str, value: &str| format!("@master_{name} = {value}, @source_{name} = {value}");
    let mut settings = vec![
        // Who says nothing of checksums is refused where there are any.
        both("binlog_checksum", "@@GLOBAL.binlog_checksum"),
        // Knows all of MariaDB's events, so that none of them is replaced by another: MARIA_SLAVE_CAPABILITY_GTID.
        "@mariadb_slave_capability = 4".into(),
        // What is done with the events may take its time.
        "SESSION net_write_timeout = 86400".into(),
    ];
    if request.wait_as.is_some() {
        settings.push(both("heartbeat_period", &HEARTBEAT.as_nanos().to_string()));
        settings.push("@slave_uuid = UUID(), @replica_uuid = UUID()".into());
    }
    if let BinlogStart::BehindGtids(position) = request.start {
        settings.push(format!("@slave_connect_state = {}", quote::string(position)));
        // A transaction that is not there is an error, rather than the next one the first.
        settings.push("@slave_gtid_strict_mode = 1".into());
    }
    settings
}

fn command(request: &BinlogRequest<'_>) -> (u8, Vec<u8>) {
    let annotate = if request.vendor == Vendor::MariaDb { ANNOTATE_ROWS } else { 0 };
    let flags = annotate | if request.wait_as.is_some() { 0 } else { NON_BLOCK };
    let server_id = request.wait_as.unwrap_or(0);
    let (flags, server_id) = (flags.to_le_bytes(), server_id.to_le_bytes());
    let by_position = |log: &str, position: u32| {
        (COM_BINLOG_DUMP, [&position.to_le_bytes(), &flags[..], &server_id, log.as_bytes()].concat())
    };
    match request.start {
        BinlogStart::Position(log, position) => by_position(log, position),
        // What counts is the session's variable.
        BinlogStart::BehindGtids(_) => by_position("", FIRST),
        BinlogStart::BehindSet(set) => {
            // The log's name, which has no bytes, and the position in it: the set says where to begin.
            let (name, position) = (0_u32.to_le_bytes(), u64::from(FIRST).to_le_bytes());
            let length = (set.len() as u32).to_le_bytes();
            (COM_BINLOG_DUMP_GTID, [&flags[..], &server_id, &name, &position, &length, set].concat())
        }
    }
}

impl BinlogStream {
    /// Goes on to the next event, which is waited for; false at the end of the last log, and where the server ended the stream
    /// for a reason of its own.
    ///
    /// # Errors
    /// What the server said, or that the connection is lost.
    pub fn step(&mut self) -> Result<bool> {
        let connection = &mut self.connection;
        match connection.packets.next() {
            Ok(Next::Whole(range)) => {
                let payload = connection.packets.bytes(range.clone());
                match payload.split_first() {
                    Some((&EVENT, event)) => match event.first_chunk() {
                        Some(header) => self.header = *header,
                        None => return Err(connection.protocol("an event without a header")),
                    },
                    Some(_) if is_end(payload) => return Ok(false),
                    Some((&ERROR, _)) => return Err(server_error(payload).into()),
                    _ => return Err(connection.protocol("something else in place of an event")),
                }
                self.event = At::Whole(range.start + 1..range.end);
            }
            Ok(Next::Large) => {
                self.header = connection.begin_large().map_err(|source| connection.lost(source))?;
                self.event = At::Large;
            }
            Err(source) => return Err(connection.lost(source)),
        }
        Ok(true)
    }

    /// What the event at hand begins with; [`Self::take`] gives these bytes too.
    pub fn header(&self) -> &[u8; EVENT_HEADER] {
        &self.header
    }

    /// The next bytes of the event at hand, at most so many; none at its end.
    ///
    /// # Errors
    /// That the connection is lost.
    pub fn take(&mut self, most: usize) -> Result<&[u8]> {
        let connection = &mut self.connection;
        match &mut self.event {
            At::Whole(rest) => {
                let end = rest.end.min(rest.start.saturating_add(most));
                let taken = std::mem::replace(&mut rest.start, end)..end;
                Ok(connection.packets.bytes(taken))
            }
            At::Large => connection.packets.piece_up_to(most).map_err(|source| lost(&connection.to, source)),
        }
    }

    /// The address of the server.
    pub fn server(&self) -> &str {
        &self.connection.to
    }
}

impl Connection {
    /// Takes what comes before an event off a payload that is taken in pieces, and gives the event's header, which is not taken.
    fn begin_large(&mut self) -> std::io::Result<[u8; EVENT_HEADER]> {
        if self.packets.piece_up_to(1)? != [EVENT] {
            return Err(malformed("something else in place of an event"));
        }
        self.packets.peek_large()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;
    use std::thread::JoinHandle;

    use super::super::connection::tests::{EOF, connection_over};
    use super::super::packet::Packets;
    use super::super::stream::Stream;
    use super::*;

    /// A connection whose other end takes any statement, and answers the first other command with these payloads. It gives what
    /// it got.
    fn sends(payloads: Vec<Vec<u8>>) -> (Connection, JoinHandle<Vec<Vec<u8>>>) {
        let (near, far) = UnixStream::pair().unwrap();
        let server = std::thread::spawn(move || {
            let (mut server, mut got) = (Packets::new(Stream::unix(far)), Vec::new());
            loop {
                server.new_command();
                let mut command = Vec::new();
                server.read(&mut command).unwrap();
                let is_statement = command.first() == Some(&3);
                got.push(command);
                if !is_statement {
                    break;
                }
                server.write(&[0, 0, 0, 2, 0, 0, 0]).unwrap();
            }
            payloads.iter().for_each(|payload| server.write(payload).unwrap());
            got
        });
        (connection_over(near), server)
    }

    fn request(wait_as: Option<u32>) -> BinlogRequest<'static> {
        BinlogRequest { vendor: Vendor::MariaDb, start: BinlogStart::Position("log.1", 0x104), wait_as }
    }

    fn event(length: usize) -> Vec<u8> {
        (0..length).map(|at| (at % 251) as u8).collect()
    }

    fn as_payload(event: &[u8]) -> Vec<u8> {
        [&[EVENT], event].concat()
    }

    /// The event at hand, taken in pieces of at most so many bytes.
    fn whole(stream: &mut BinlogStream, most: usize) -> Vec<u8> {
        let mut whole = Vec::new();
        loop {
            let piece = stream.take(most).unwrap();
            assert!(piece.len() <= most);
            if piece.is_empty() {
                return whole;
            }
            whole.extend_from_slice(piece);
        }
    }

    #[test]
    fn events_of_all_lengths_come_whole() {
        const PACKET: usize = 0xff_ffff;
        let sizes = [19, 20, 500_000, 600_000, PACKET - 1, PACKET, 2 * PACKET + 5];
        let mut payloads: Vec<_> = sizes.iter().map(|&size| as_payload(&event(size))).collect();
        payloads.push(EOF.to_vec());
        let (connection, _server) = sends(payloads);
        let mut stream = connection.dump_binlogs(&request(None)).unwrap();
        for (size, most) in sizes.into_iter().zip([7, usize::MAX].into_iter().cycle()) {
            assert!(stream.step().unwrap());
            assert_eq!(stream.header()[..], event(19));
            assert!(whole(&mut stream, most) == event(size), "{size}");
        }
        assert!(!stream.step().unwrap());
    }

    #[test]
    fn what_is_not_taken_is_passed_over() {
        let payloads = [600_000, 30, 17_000_000, 31].map(|size| as_payload(&event(size)));
        let (connection, _server) = sends(payloads.to_vec());
        let mut stream = connection.dump_binlogs(&request(None)).unwrap();
        for left in [600_000, 30, 17_000_000] {
            assert!(stream.step().unwrap());
            assert!(stream.take(25).unwrap().len().min(left) > 0);
        }
        assert!(stream.step().unwrap());
        assert_eq!(whole(&mut stream, 100).len(), 31);
        assert!(matches!(stream.step(), Err(Error::Lost { .. })));
    }

    #[test]
    fn what_the_server_says_in_place_of_events() {
        let refusal = b"\xff\xd4\x04#HY000Could not find first log file".to_vec();
        let (connection, _server) = sends(vec![as_payload(&event(40)), refusal]);
        let mut stream = connection.dump_binlogs(&request(None)).unwrap();
        assert!(stream.step().unwrap());
        assert_eq!(stream.step().unwrap_err().code(), Some(1236));
        for bad in [&[][..], &[EVENT], &as_payload(&event(18)), &[7; 30], &[7; 600_000]] {
            let (connection, _server) = sends(vec![bad.to_vec()]);
            let mut stream = connection.dump_binlogs(&request(None)).unwrap();
            assert!(matches!(stream.step(), Err(Error::Protocol { .. })), "{}", bad.len());
        }
    }

    #[test]
    fn what_is_asked_for() {
        let asked = |request: &BinlogRequest<'_>| {
            let (connection, server) = sends(vec![EOF.to_vec()]);
            assert!(!connection.dump_binlogs(request).unwrap().step().unwrap());
            let mut got = server.join().unwrap();
            let command = got.pop().unwrap();
            (command, got.concat())
        };
        let (command, settings) = asked(&request(None));
        assert_eq!(command, b"\x12\x04\x01\0\0\x03\0\0\0\0\0log.1");
        assert!(!String::from_utf8_lossy(&settings).contains("uuid"));

        let (command, settings) = asked(&request(Some(7)));
        assert_eq!(command, b"\x12\x04\x01\0\0\x02\0\x07\0\0\0log.1");
        assert!(String::from_utf8_lossy(&settings).contains("@source_heartbeat_period = 15000000000"));

        let start = BinlogStart::BehindGtids("0-1-5");
        let (command, settings) = asked(&BinlogRequest { start, ..request(None) });
        assert_eq!(command, b"\x12\x04\0\0\0\x03\0\0\0\0\0");
        assert!(String::from_utf8_lossy(&settings).contains("@slave_connect_state = '0-1-5'"));

        let start = BinlogStart::BehindSet(b"set");
        let (command, _) = asked(&BinlogRequest { vendor: Vendor::MySql, start, wait_as: None });
        assert_eq!(command, b"\x1e\x01\0\0\0\0\0\0\0\0\0\x04\0\0\0\0\0\0\0\x03\0\0\0set");
    }
}
