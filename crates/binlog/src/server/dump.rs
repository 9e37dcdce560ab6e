//! A stream of events, taken apart into logs.

use std::collections::VecDeque;
use std::io;

use drover_db::wire::{BinlogRequest, BinlogStart, BinlogStream};
use drover_db::{Connection, Server, Vendor, Watched};

use super::Origin;
use super::args::StreamArgs;
use super::listing::{self, Listed};
use crate::gtid_set::GtidSet;
use crate::link::{Link, sent_anew};
use crate::log::{Header, Kind, MAGIC, widened};
use crate::source::{check_next, is_next, not_named, place};
use crate::{Error, Result};

/// What a server sends of its logs.
pub(super) struct Dump {
    origin: Origin,
    vendor: Vendor,
    /// Whether more is waited for behind the last log, and as the replica with which `server_id`, if that was said.
    follows: bool,
    server_id: Option<u32>,
    /// Whether it begins behind some transactions, so that these are missing.
    is_behind_gtids: bool,
    /// The logs that there were at the beginning.
    listed: Vec<Listed>,
    /// Those to be read that were not begun.
    wanted: VecDeque<String>,
    session: Option<Session>,
    /// The log that the server has named and nobody has asked for yet.
    coming: Option<String>,
    at: At,
}

/// A connection over which events come.
struct Session {
    stream: BinlogStream,
    /// Where in a log it begins, if that is not the log's begin and nothing from there on has come yet.
    begins_at: Option<u64>,
    _watched: Watched<'static>,
}

/// A place in a log.
#[derive(Debug, Default)]
struct At {
    log: String,
    /// How many bytes of what a log begins with were given.
    magic: usize,
    /// Where the event at hand begins, and where it ends, as far as the server has told.
    position: u64,
    end: u64,
}

/// Where the first event of a log begins.
const FIRST: u64 = MAGIC.len() as u64;
/// Of a Rotate event, in bytes: a name is that of a file.
const LONGEST_ROTATE: usize = 1 << 10;
/// Servers whose server_id is made of their IP address have none above this, which is the net 240.0.0.0/4 that nobody has.
const ABOVE_ADDRESSES: u32 = 0xf000_0000;

impl Dump {
    /// Whether more is waited for behind the last log.
    pub(super) fn follows(&self) -> bool {
        self.follows
    }

    /// Has the server begin to send.
    pub(super) fn begin(
        origin: &Origin,
        args: &StreamArgs,
        named: Vec<String>,
        position: Option<u64>,
        at: Option<(&str, u64)>,
    ) -> Result<Self> {
        let (mut connection, watched) = origin.connect()?;
        let server = Server::of(&mut connection);
        let vendor = server.map_err(|source| origin.failed("connecting", source))?.vendor;
        let listed = listing::list(&mut connection, origin)?;
        let mut wanted = listing::wanted(&listed, named)?;
        if let Some((log, _)) = at {
            let first = place(wanted.make_contiguous(), log)?.ok_or_else(|| not_named(log))?;
            wanted.drain(..first);
        }
        let mut dump = Self {
            origin: origin.clone(),
            vendor,
            follows: args.follow,
            server_id: args.server_id_as,
            is_behind_gtids: at.is_none() && args.after_gtids.is_some(),
            wanted,
            listed,
            session: None,
            coming: None,
            at: At::default(),
        };
        let session = match (at, &args.after_gtids) {
            (Some((_, position)), _) => dump.send_from(connection, watched, Some(position)),
            (None, Some(set)) => dump.send_behind(connection, watched, set),
            (None, None) => dump.send_from(connection, watched, position),
        };
        dump.session = Some(session?);
        Ok(dump)
    }

    /// Those that were not begun must be one after the other.
    pub(super) fn check_order(&self) -> Result<()> {
        let names: Vec<_> = self.wanted.iter().collect();
        names.windows(2).try_for_each(|pair| check_next(pair[0], pair[1]))
    }

    /// What ties the logs together. One that is written while it is followed has its end before another comes.
    pub(super) fn link(&self) -> Link {
        let written = usize::from(self.follows);
        let ended = self.listed.iter().rev().skip(written).map(|log| log.name.clone()).collect();
        Link::of_stream(ended, self.is_behind_gtids)
    }

    /// How many logs are known that were not begun.
    pub(super) fn left(&self) -> usize {
        self.wanted.len()
    }

    /// How many bytes those have that were not begun; 0 where more may come.
    pub(super) fn size(&self) -> u64 {
        let sizes = self.listed.iter().filter(|log| self.wanted.contains(&log.name)).map(|log| log.end);
        if self.follows { 0 } else { sizes.sum() }
    }

    /// Has the server send the first log that is wanted, from this position on, and those behind it.
    fn send_from(
        &self,
        connection: Connection,
        watched: Watched<'static>,
        position: Option<u64>,
    ) -> Result<Session> {
        let log = self.wanted.front().map_or("", String::as_str);
        // The protocol has no larger positions than these: then all comes, and who reads it leaves out what is not wanted.
        let position = u32::try_from(position.unwrap_or(FIRST).max(FIRST)).unwrap_or(FIRST as u32);
        let session = self.send(connection, watched, BinlogStart::Position(log, position))?;
        let begins_at = Some(u64::from(position)).filter(|&position| position > FIRST);
        Ok(Session { begins_at, ..session })
    }

    /// Has the server send what comes behind some transactions.
    fn send_behind(
        &self,
        connection: Connection,
        watched: Watched<'static>,
        set: &GtidSet,
    ) -> Result<Session> {
        let other_vendor = |what: &str, shown: &str| {
            let what = format!("--after-gtids: the server is {}, and this is {what}", self.vendor);
            Err(Error::with_hint(what, format!("take what {shown} shows")))
        };
        match (self.vendor, set.mariadb_position(), set.mysql_bytes()) {
            (Vendor::MariaDb, Some(position), _) => {
                self.send(connection, watched, BinlogStart::BehindGtids(&position))
            }
            (Vendor::MySql, _, Some(bytes)) => self.send(connection, watched, BinlogStart::BehindSet(&bytes)),
            (Vendor::MariaDb, None, _) => {
                other_vendor("no position, which has one number for each domain", "@@GLOBAL.gtid_binlog_pos")
            }
            (Vendor::MySql, _, None) => other_vendor("a position of MariaDB", "@@GLOBAL.gtid_executed"),
        }
    }

    fn send(
        &self,
        connection: Connection,
        watched: Watched<'static>,
        start: BinlogStart<'_>,
    ) -> Result<Session> {
        // The number of a connection is no other connection's, for as long as this one is there.
        let own = ABOVE_ADDRESSES | (connection.id() & !ABOVE_ADDRESSES);
        let wait_as = self.follows.then(|| self.server_id.unwrap_or(own));
        let stream = connection.dump_binlogs(&BinlogRequest { vendor: self.vendor, start, wait_as });
        let stream = stream.map_err(|source| self.origin.failed("asking for the server's logs", source))?;
        Ok(Session { stream, begins_at: None, _watched: watched })
    }

    /// Goes on to the next log and gives its name; `None` behind the last.
    pub(super) fn next_log(&mut self) -> Result<Option<String>> {
        if let Some(name) = self.coming.take()
            && self.goes_on_with(&name)?
        {
            // A server that went down left no Rotate event at the end of its log: then nothing of that may have come.
            if let Some(session) = &mut self.session {
                session.begins_at = None;
            }
            return Ok(Some(self.enter(name)));
        }
        // The first stream is there from the beginning; nothing was read of it.
        if !self.at.log.is_empty() {
            self.session = None;
            if self.wanted.is_empty() {
                return Ok(None);
            }
            let (connection, watched) = self.origin.connect()?;
            self.session = Some(self.send_from(connection, watched, None)?);
        }
        let name = self.first_name()?;
        Ok(Some(self.enter(name)))
    }

    /// Whether the log that comes next in the stream is one to be read, and the next one. A stream that is followed ends where the server
    /// begins its logs anew: what it wrote between was not sent.
    fn goes_on_with(&mut self, name: &str) -> Result<bool> {
        match self.wanted.front() {
            Some(next) if next == name => Ok(self.wanted.pop_front().is_some()),
            Some(_) => Ok(false),
            None if self.follows && !self.at.log.is_empty() && !is_next(&self.at.log, name) => {
                Err(sent_anew(&self.at.log, name))
            }
            None => Ok(self.follows),
        }
    }

    fn enter(&mut self, name: String) -> String {
        self.at = At { log: name.clone(), magic: 0, position: FIRST, end: FIRST };
        name
    }

    /// The name of the log with which the stream begins.
    fn first_name(&mut self) -> Result<String> {
        self.at.log = self.wanted.front().cloned().unwrap_or_default();
        let is_event = self.step().map_err(|error| match error {
            Error::Sent { source, .. } => {
                Error::Server { doing: "asking for the server's logs".into(), source }
            }
            other => other,
        })?;
        let Some(name) = self.coming.take().filter(|_| !is_event) else {
            return Err(self.unexpected("a stream that does not begin with the name of a log"));
        };
        // Behind some transactions is in any of them, or in one that has come since they were listed.
        while self.wanted.pop_front().is_some_and(|wanted| wanted != name) {}
        Ok(name)
    }

    /// Some bytes of the log at hand; none at its end.
    pub(super) fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        let magic = MAGIC.get(self.at.magic..).unwrap_or_default();
        if !magic.is_empty() {
            let count = magic.len().min(into.len());
            into[..count].copy_from_slice(&magic[..count]);
            self.at.magic += count;
            return Ok(count);
        }
        loop {
            let Some(session) = self.session.as_mut().filter(|_| self.coming.is_none()) else { return Ok(0) };
            match session.stream.take(into.len()) {
                Ok([]) => {}
                Ok(bytes) => {
                    into[..bytes.len()].copy_from_slice(bytes);
                    return Ok(bytes.len());
                }
                Err(source) => return Err(self.broken(self.at.position, source)),
            }
            if !self.step()? {
                return Ok(0);
            }
        }
    }

    /// Goes on to the next event that is in the log; false at the log's end.
    fn step(&mut self) -> Result<bool> {
        while let Some(session) = &mut self.session {
            match session.stream.step() {
                Err(source) => return Err(self.broken(self.at.end, source)),
                Ok(false) => {
                    self.check_end()?;
                    self.session = None;
                }
                Ok(true) => {
                    let header = Header::parse(session.stream.header());
                    let header = header.map_err(|_| self.unexpected("an event without a header"))?;
                    if !is_made_up(&header) {
                        return self.begin_event(&header).map(|()| true);
                    }
                    if header.kind == Kind::ROTATE {
                        self.coming = Some(self.name_in_rotate()?);
                        return Ok(false);
                    }
                    self.pass(&header);
                }
            }
        }
        Ok(false)
    }

    fn begin_event(&mut self, header: &Header) -> Result<()> {
        self.at.position = header.begin(self.at.end);
        self.at.end = self.at.position.saturating_add(u64::from(header.size));
        if matches!(header.kind, Kind::FORMAT_DESCRIPTION | Kind::MARIADB_START_ENCRYPTION) {
            return Ok(());
        }
        let At { log, position, .. } = &self.at;
        let wrong = match self.session.as_mut().and_then(|session| session.begins_at.take()) {
            Some(asked) if asked != *position => format!("{log}: at {asked}: no event begins there"),
            Some(_) if is_within_transaction(header.kind) => {
                format!("{log}: at {position}: a {} event, with which no transaction begins", header.kind)
            }
            _ => return Ok(()),
        };
        Err(Error::with_hint(wrong, "begin with a transaction: drover binlog ls lists their positions"))
    }

    /// Notes what the server tells of a part of the log that it does not send.
    fn pass(&mut self, header: &Header) {
        if header.next_position != 0 {
            self.at.end = widened(header.next_position, self.at.end);
        }
    }

    /// The name of the log in the event at hand.
    fn name_in_rotate(&mut self) -> Result<String> {
        let mut event = Vec::new();
        while let Some(session) = &mut self.session
            && event.len() <= LONGEST_ROTATE
        {
            match session.stream.take(LONGEST_ROTATE) {
                Ok([]) => break,
                Ok(bytes) => event.extend_from_slice(bytes),
                Err(source) => return Err(self.broken(self.at.end, source)),
            }
        }
        let name = name_in(&event).filter(|_| event.len() <= LONGEST_ROTATE);
        name.ok_or_else(|| self.unexpected("a Rotate event that names no log"))
    }

    /// A server that was told to end a session ends its stream as if there was no more.
    fn check_end(&self) -> Result<()> {
        let At { log, end, .. } = &self.at;
        // Where nothing has come, it is because nothing is behind the position that was asked for.
        let begin = self.session.as_ref().and_then(|session| session.begins_at);
        let end = &begin.map_or(*end, |begin| begin.max(*end));
        let is_end = match self.listed.iter().position(|listed| listed.name == *log) {
            _ if self.follows => false,
            Some(at) => at + 1 == self.listed.len() && self.listed[at].end <= *end,
            // It has come since; how long it is now nobody knows.
            None => true,
        };
        let to = self.origin.options.address.to_string();
        let why = "the server ended the stream before the log's end, as it does when it is shut down or the session is killed";
        match is_end {
            true => Ok(()),
            false => Err(self.broken(*end, drover_db::Error::Lost { to, source: io::Error::other(why) })),
        }
    }

    /// The error for a stream that ended at this position.
    fn broken(&self, position: u64, source: drover_db::Error) -> Error {
        if self.origin.stop.is_requested() {
            return Error::Stopped;
        }
        Error::Sent { log: self.at.log.clone(), position, source: Box::new(source), whole: None }
    }

    fn unexpected(&self, what: &str) -> Error {
        let to = self.origin.options.address.to_string();
        self.broken(self.at.end, drover_db::Error::Protocol { to, what: what.into() })
    }
}

/// Whether the server made the event up for the stream.
fn is_made_up(header: &Header) -> bool {
    header.flags & Header::ARTIFICIAL != 0 || matches!(header.kind, Kind::HEARTBEAT | Kind::HEARTBEAT_V2)
}

/// Whether something must come before an event of this kind in its transaction.
fn is_within_transaction(kind: Kind) -> bool {
    const WITHIN: [Kind; 8] = [
        Kind::XID,
        Kind::TABLE_MAP,
        Kind::ROWS_QUERY,
        Kind::MARIADB_ANNOTATE_ROWS,
        Kind::TRANSACTION_PAYLOAD,
        Kind::APPEND_BLOCK,
        Kind::EXECUTE_LOAD_QUERY,
        Kind::DELETE_FILE,
    ];
    kind.row_change().is_some() || WITHIN.contains(&kind)
}

/// The name in a Rotate event, which stands behind a position. Whether a checksum follows is only told by the format description
/// that comes next, so it is tried.
fn name_in(event: &[u8]) -> Option<String> {
    let mut end = event.len();
    if let Some((content, checksum)) = event.split_last_chunk()
        && crc32fast::hash(content) == u32::from_le_bytes(*checksum)
    {
        end = content.len();
    }
    let name = event.get(Header::LENGTH + 8..end)?;
    let name = std::str::from_utf8(name).ok()?;
    (!name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_and_without_a_checksum() {
        let mut event = vec![0; Header::LENGTH + 8];
        assert_eq!(name_in(&event), None);
        event.extend(b"binlog.000012");
        assert_eq!(name_in(&event).as_deref(), Some("binlog.000012"));
        event.extend(crc32fast::hash(&event).to_le_bytes());
        assert_eq!(name_in(&event).as_deref(), Some("binlog.000012"));
        assert_eq!(name_in(&event[..20]), None);
        assert_eq!(name_in(&[]), None);
    }
}
