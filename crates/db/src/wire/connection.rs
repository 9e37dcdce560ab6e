//! One connection and the statements sent over it.

use std::io;

use mysql_common::io::ParseBuf;
use mysql_common::packets::Column;

use super::fields::{next_field, next_integer};
use super::handshake;
use super::packet::{LargeRow, Next, Packets};
use super::result::{Row, Rows};
use super::stream::{Breaker, Stream};
use crate::options::ConnectOptions;
use crate::{Error, Result, ServerError};

const COM_QUERY: u8 = 0x03;
/// What one packet of an uploaded file holds, in bytes; the server's max_allowed_packet is never below 1024 × 64 in practice.
const UPLOAD_PACKET: usize = 64 << 10;

/// What the server said of a statement that returns no rows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Rows that were changed.
    pub affected: u64,
    /// Warnings, as the protocol counts them: 65535 stands for that many or more.
    pub warnings: u16,
    /// The server's summary, such as `Records: 3  Deleted: 0  Skipped: 0  Warnings: 0`; often empty.
    pub info: String,
}

/// What came of a LOAD DATA LOCAL INFILE.
#[derive(Debug)]
pub struct Loaded<T> {
    /// The server's words.
    pub outcome: Outcome,
    /// What the closure that sent the file returned.
    pub sent: T,
}

/// A connection that is logged in. It is never reopened: after [`Error::Lost`] it answers nothing but that.
pub struct Connection {
    packets: Packets,
    to: String,
    id: u32,
    version: String,
    state: State,
    /// A reused buffer for statements and for replies that are read whole.
    scratch: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Ready,
    /// A result was begun and not read to its end.
    InResult,
    Lost,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "connection {} to {}", self.id, self.to)
    }
}

impl Connection {
    /// Connects and logs in.
    ///
    /// # Errors
    /// If the server is not there, refuses the login, or TLS cannot be had as asked.
    pub fn open(options: &ConnectOptions) -> Result<Self> {
        let to = options.address.to_string();
        let stream = Stream::connect(&options.address, options.connect_timeout)
            .map_err(|source| Error::Connect { to: to.clone(), source })?;
        let (packets, greeting) = handshake::log_in(stream, options)?;
        let (id, version) = (greeting.connection_id, greeting.version);
        Ok(Self { packets, to, id, version, state: State::Ready, scratch: Vec::new() })
    }

    /// The server's number of this connection.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// The version that the server greeted with, such as `9.7.0` or `5.5.5-10.11.6-MariaDB`.
    pub fn greeted_version(&self) -> &str {
        &self.version
    }

    /// A handle by which another thread can break this connection.
    ///
    /// # Errors
    /// If the system has no more file descriptors.
    pub fn breaker(&self) -> Result<Breaker> {
        self.packets.stream().breaker().map_err(|source| Error::Lost { to: self.to.clone(), source })
    }

    /// Runs a statement that returns no rows; rows that come all the same are read and dropped.
    ///
    /// # Errors
    /// What the server said, or that the connection is lost.
    pub fn execute(&mut self, sql: impl AsRef<[u8]>) -> Result<Outcome> {
        match self.begin(sql.as_ref())? {
            Reply::Done(outcome) => Ok(outcome),
            Reply::Columns(count) => self.rows(count)?.finish(),
            Reply::WantsFile => {
                self.end_upload()?;
                Err(self.protocol("a request for a file that was not offered"))
            }
        }
    }

    /// Runs a statement and reads its rows whole.
    ///
    /// # Errors
    /// What the server said, or that the connection is lost.
    pub fn query(&mut self, sql: impl AsRef<[u8]>) -> Result<Rows> {
        let Reply::Columns(count) = self.begin(sql.as_ref())? else { return Ok(Rows::default()) };
        let mut stream = self.rows(count)?;
        let columns = stream.columns.iter().map(|column| column.name_str().into_owned()).collect();
        let mut rows = Vec::new();
        while let Some(row) = stream.next_row()? {
            rows.push(row.into_values()?);
        }
        Ok(Rows { columns, rows })
    }

    /// Runs a statement and returns its first row, if it has one.
    ///
    /// # Errors
    /// What the server said, or that the connection is lost.
    pub fn first(&mut self, sql: impl AsRef<[u8]>) -> Result<Option<Row>> {
        Ok(self.query(sql)?.rows.into_iter().next())
    }

    /// Runs a statement and hands out its rows one by one, as they come.
    ///
    /// # Errors
    /// What the server said, or that the connection is lost.
    pub fn stream(&mut self, sql: impl AsRef<[u8]>) -> Result<RowStream<'_>> {
        match self.begin(sql.as_ref())? {
            Reply::Columns(count) => self.rows(count),
            _ => Err(self.protocol("no rows for a statement that returns rows")),
        }
    }

    /// Runs a LOAD DATA LOCAL INFILE statement; `send` writes the file's content. If `send` fails, what it wrote is still
    /// ended properly, so that the connection stays usable: the caller rolls back.
    ///
    /// # Errors
    /// What the server said, what `send` failed with ([`Error::Source`]), or that the connection is lost.
    pub fn load<T>(
        &mut self,
        sql: impl AsRef<[u8]>,
        send: impl FnOnce(&mut Upload<'_>) -> io::Result<T>,
    ) -> Result<Loaded<T>> {
        match self.begin(sql.as_ref())? {
            Reply::WantsFile => {}
            _ => return Err(self.protocol("no request for the file to load")),
        }
        let mut upload = Upload { packets: &mut self.packets, broken: None };
        let sent = send(&mut upload);
        let broken = upload.broken.take();
        // A broken pipe hides the server's reason, which may still be there to read.
        let reply = if broken.is_some() { self.read_reply() } else { self.end_upload() };
        match (sent, broken, reply) {
            (_, _, Err(error @ Error::Server(_))) => Err(error),
            (_, Some(source), _) => Err(self.lost(source)),
            (_, None, Err(error)) => Err(error),
            (Err(error), None, Ok(_)) => Err(Error::Source(error)),
            (Ok(sent), None, Ok(Reply::Done(outcome))) => Ok(Loaded { outcome, sent }),
            (Ok(_), None, Ok(_)) => Err(self.protocol("rows for a LOAD DATA")),
        }
    }

    fn end_upload(&mut self) -> Result<Reply> {
        self.packets.write(&[]).map_err(|source| self.lost(source))?;
        self.read_reply()
    }

    fn begin(&mut self, sql: &[u8]) -> Result<Reply> {
        match self.state {
            State::Ready => {}
            State::Lost => return Err(self.lost(io::Error::other("it broke before"))),
            State::InResult => {
                return Err(
                    self.protocol("the rows of an earlier statement, which were not read to their end")
                );
            }
        }
        let mut command = std::mem::take(&mut self.scratch);
        command.clear();
        command.push(COM_QUERY);
        command.extend_from_slice(sql);
        self.packets.new_command();
        let sent = self.packets.write(&command);
        self.scratch = command;
        sent.map_err(|source| self.lost(source))?;
        self.read_reply()
    }

    fn read_reply(&mut self) -> Result<Reply> {
        let mut payload = std::mem::take(&mut self.scratch);
        let read = self.packets.read(&mut payload);
        let reply = match (read, payload.first()) {
            (Err(source), _) => Err(self.lost(source)),
            (_, Some(0x00)) => Ok(Reply::Done(outcome(&payload))),
            (_, Some(0xff)) => Err(server_error(&payload).into()),
            (_, Some(0xfb)) => Ok(Reply::WantsFile),
            (_, _) => match next_integer(&mut &payload[..]) {
                Some(count) => Ok(Reply::Columns(count)),
                None => Err(self.protocol("a reply that is none")),
            },
        };
        self.scratch = payload;
        reply
    }

    fn rows(&mut self, count: u64) -> Result<RowStream<'_>> {
        self.state = State::InResult;
        let mut columns = Vec::new();
        for _ in 0..count {
            self.read_payload()?;
            let column = ParseBuf(&self.scratch).parse::<Column>(());
            columns.push(column.map_err(|_| self.protocol("a column description that is none"))?);
        }
        self.read_payload()?; // the EOF packet after the columns
        Ok(RowStream { connection: self, columns, done: None })
    }

    fn read_payload(&mut self) -> Result<()> {
        let mut payload = std::mem::take(&mut self.scratch);
        let read = self.packets.read(&mut payload);
        self.scratch = payload;
        read.map_err(|source| self.lost(source))
    }

    fn lost(&mut self, source: io::Error) -> Error {
        self.state = State::Lost;
        Error::Lost { to: self.to.clone(), source }
    }

    fn protocol(&self, what: &str) -> Error {
        Error::Protocol { to: self.to.clone(), what: what.into() }
    }
}

enum Reply {
    Done(Outcome),
    Columns(u64),
    WantsFile,
}

/// The rows of a statement, as they come. Dropped before its end, it leaves the connection unusable on purpose: what is
/// left may be gigabytes.
pub struct RowStream<'a> {
    connection: &'a mut Connection,
    columns: Vec<Column>,
    done: Option<Outcome>,
}

impl RowStream<'_> {
    /// The columns' descriptions.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The next row; `None` after the last.
    ///
    /// # Errors
    /// What the server said, or that the connection is lost.
    #[inline]
    pub fn next_row(&mut self) -> Result<Option<RawRow<'_>>> {
        if self.done.is_some() {
            return Ok(None);
        }
        match self.connection.packets.next() {
            Ok(Next::Whole(range)) => {
                let payload = self.connection.packets.bytes(range.clone());
                // A row that begins with 0xfe holds a field of 2^24 bytes or more: a short packet is the end.
                if matches!(payload.first(), Some(0xfe)) && payload.len() < 9 {
                    let warnings =
                        payload.get(1..3).map_or(0, |bytes| u16::from_le_bytes([bytes[0], bytes[1]]));
                    self.done = Some(Outcome { warnings, ..Outcome::default() });
                    self.connection.state = State::Ready;
                    return Ok(None);
                }
                if matches!(payload.first(), Some(0xff)) {
                    let error = server_error(payload);
                    self.connection.state = State::Ready;
                    return Err(error.into());
                }
                Ok(Some(RawRow::Whole(self.connection.packets.bytes(range))))
            }
            Ok(Next::Large) => Ok(Some(RawRow::Large(LargeRow::new(&mut self.connection.packets)))),
            Err(source) => Err(self.connection.lost(source)),
        }
    }

    /// Reads past the rows that are left.
    ///
    /// # Errors
    /// What the server said, or that the connection is lost.
    pub fn finish(mut self) -> Result<Outcome> {
        while self.next_row()?.is_some() {}
        Ok(self.done.unwrap_or_default())
    }
}

/// A row as it came.
pub enum RawRow<'a> {
    /// The payload, for [`super::next_field`].
    Whole(&'a [u8]),
    /// A row larger than the receive buffer.
    Large(LargeRow<'a>),
}

impl RawRow<'_> {
    fn into_values(self) -> Result<Row> {
        let mut values = Vec::new();
        match self {
            Self::Whole(mut payload) => {
                while let Some(field) = next_field(&mut payload) {
                    values.push(field.bytes().map(<[u8]>::to_vec));
                }
                Ok(Row::new(values))
            }
            Self::Large(mut row) => {
                while let Ok(field) = row.next_field() {
                    values.push(match field {
                        None => None,
                        Some(_) => Some(whole_field(&mut row).map_err(Error::Source)?),
                    });
                }
                Ok(Row::new(values))
            }
        }
    }
}

fn whole_field(row: &mut LargeRow<'_>) -> io::Result<Vec<u8>> {
    let mut value = Vec::new();
    loop {
        let piece = row.piece()?;
        if piece.is_empty() {
            return Ok(value);
        }
        value.extend_from_slice(piece);
    }
}

/// Takes the content of a file that the server asked for, in packets.
pub struct Upload<'a> {
    packets: &'a mut Packets,
    broken: Option<io::Error>,
}

impl Upload<'_> {
    /// Sends some of the file.
    ///
    /// # Errors
    /// If the connection breaks; the caller need not tell this error from its own.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        for packet in bytes.chunks(UPLOAD_PACKET) {
            if let Err(error) = self.packets.write(packet) {
                let kind = error.kind();
                self.broken = Some(error);
                return Err(kind.into());
            }
        }
        Ok(())
    }
}

fn outcome(payload: &[u8]) -> Outcome {
    let mut rest = payload.get(1..).unwrap_or_default();
    let affected = next_integer(&mut rest).unwrap_or_default();
    let _insert_id = next_integer(&mut rest);
    let warnings = rest.get(2..4).map_or(0, |bytes| u16::from_le_bytes([bytes[0], bytes[1]]));
    let mut info = rest.get(4..).unwrap_or_default();
    // MySQL sends the text with its length before it, MariaDB sends it bare.
    let mut counted = info;
    if next_integer(&mut counted) == Some(counted.len() as u64) {
        info = counted;
    }
    Outcome { affected, warnings, info: String::from_utf8_lossy(info).into_owned() }
}

pub(super) fn server_error(payload: &[u8]) -> ServerError {
    let code = payload.get(1..3).map_or(0, |bytes| u16::from_le_bytes([bytes[0], bytes[1]]));
    let rest = payload.get(3..).unwrap_or_default();
    // Before login is done the SQLSTATE may be missing.
    let (state, message) = match rest.split_first() {
        Some((b'#', rest)) => rest.split_at_checked(5).unwrap_or((b"HY000", rest)),
        _ => (&b"HY000"[..], rest),
    };
    ServerError {
        code,
        state: String::from_utf8_lossy(state).into_owned(),
        message: String::from_utf8_lossy(message).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ok_packet_with_and_without_a_counted_text() {
        let text = b"Records: 3  Deleted: 0  Skipped: 0  Warnings: 1";
        let bare = [&[0, 3, 0, 2, 0, 1, 0][..], text].concat();
        let counted = [&[0, 3, 0, 2, 0, 1, 0, text.len() as u8][..], text].concat();
        for payload in [bare, counted] {
            let outcome = outcome(&payload);
            assert_eq!((outcome.affected, outcome.warnings), (3, 1));
            assert_eq!(outcome.info.as_bytes(), text);
        }
    }

    #[test]
    fn an_error_packet() {
        let error = server_error(b"\xff\x7a\x04#42S02Table 'a.b' doesn't exist");
        assert_eq!((error.code, error.state.as_str()), (1146, "42S02"));
        assert_eq!(server_error(b"\xff\x10\x04Too many connections").message, "Too many connections");
    }
}
