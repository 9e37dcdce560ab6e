//! One connection and the statements sent over it.

use std::io;

use mysql_common::io::ParseBuf;
use mysql_common::packets::Column;

use super::fields::next_integer;
use super::packet::{ERROR, MAX_WHOLE, Packets};
use super::reply::{Outcome, outcome, server_error};
use super::result::{Row, Rows};
use super::rows::{MAX_RESULT, RowStream};
use super::stream::Breaker;
use crate::{Error, Result, ServerError, er};

pub(super) const COM_QUERY: u8 = 0x03;
const COM_SET_OPTION: u8 = 0x1b;
/// Of COM_SET_OPTION: MYSQL_OPTION_MULTI_STATEMENTS_ON.
const SEVERAL_STATEMENTS: [u8; 2] = [0, 0];
/// Known to MySQL from 5.7.3 and MariaDB from 10.2.4 on.
const COM_RESET_CONNECTION: u8 = 0x1f;
/// What the packet after the columns and the one after the rows begin with.
const END: u8 = 0xfe;
/// The most columns that a result has (MAX_FIELDS in both vendors' sources).
const MAX_COLUMNS: u64 = 4096;
/// The longest description of a column, in bytes: its names have at most 256 characters each.
const MAX_DESCRIPTION: usize = 64 << 10;
/// Commands of more bytes are sent from where they lie.
const LARGE: usize = 1 << 20;
/// What one packet of an uploaded file holds, in bytes; the server's max_allowed_packet is never below 1024 × 64 in practice.
const UPLOAD_PACKET: usize = 64 << 10;

/// A connection that is logged in. It is never reopened: after [`Error::Lost`] and [`Error::Protocol`] it answers
/// nothing but [`Error::Lost`].
pub struct Connection {
    pub(super) packets: Packets,
    pub(super) to: String,
    pub(super) id: u32,
    pub(super) takes_bulk: bool,
    /// Whether a transaction was open behind the last statement that returned no rows.
    pub(super) in_transaction: bool,
    /// Whether the server is TiDB, once it was asked.
    pub(crate) is_tidb: Option<bool>,
    pub(super) state: State,
    /// A reused buffer for statements and for replies that are read whole.
    pub(super) scratch: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Ready,
    /// A statement was sent and its answer not read.
    Asked,
    /// The answers to so many commands of a batch are yet to be read.
    InBatch(u32),
    /// A result was begun and not read to its end.
    InResult,
    /// The server waits for the content of a file.
    InLoad,
    /// It broke, or server and client no longer agree on what comes next.
    Lost,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "connection {} to {}", self.id, self.to)
    }
}

impl Connection {
    /// The server's number of this connection.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Whether the server takes [`Connection::execute_bulk`].
    pub fn takes_bulk(&self) -> bool {
        self.takes_bulk
    }

    /// Makes sure that the transaction which was begun is open still. A node of Galera rolls one back where it is in the way of what another node
    /// has committed, and MariaDB says so of the next statement; but not of the values of a prepared INSERT, and not of statements that were
    /// sent together: what comes behind is each a transaction by itself then. Found with 10.11.19.
    ///
    /// # Errors
    /// The one of a deadlock, which the server says elsewhere, if no transaction is open.
    pub fn check_in_transaction(&self) -> Result<()> {
        match self.in_transaction {
            true => Ok(()),
            false => Err(ServerError {
                code: er::LOCK_DEADLOCK,
                state: "40001".into(),
                message: "the server has rolled the transaction back without an error".into(),
            }
            .into()),
        }
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
            Reply::WantsFile => Err(self.file_not_offered()),
        }
    }

    /// Allows [`Connection::execute_several`] from here on.
    ///
    /// # Errors
    /// If the server does not know how to, or the connection is lost.
    pub fn allow_several(&mut self) -> Result<()> {
        self.send_command(COM_SET_OPTION, &[&SEVERAL_STATEMENTS])?;
        self.read_payload()?;
        match self.scratch.first() {
            Some(&(0x00 | END)) => Ok(()),
            _ => Err(self.protocol("a reply to COM_SET_OPTION that is none")),
        }
    }

    /// Runs so many statements that return no rows, separated by `;`, in one round trip; those behind one that fails are not
    /// run.
    ///
    /// How many there are must be right: MySQL does not say behind a BINLOG statement that more replies follow.
    ///
    /// # Errors
    /// What the server said, or that the connection is lost.
    pub fn execute_several(&mut self, sql: impl AsRef<[u8]>, statements: usize) -> Result<()> {
        self.send_command(COM_QUERY, &[sql.as_ref()])?;
        for _ in 0..statements {
            match self.read_reply()? {
                Reply::Done(_) => {}
                Reply::Columns(_) => return Err(self.protocol("rows for statements that return none")),
                Reply::WantsFile => return Err(self.file_not_offered()),
            }
        }
        Ok(())
    }

    /// Runs a statement and reads its rows whole.
    ///
    /// # Errors
    /// What the server said, that the connection is lost, or that the rows have more than 1 GiB.
    pub fn query(&mut self, sql: impl AsRef<[u8]>) -> Result<Rows> {
        self.query_within(sql.as_ref(), MAX_RESULT)
    }

    fn query_within(&mut self, sql: &[u8], left: usize) -> Result<Rows> {
        let reply = self.begin(sql)?;
        self.read_whole(reply, left)
    }

    /// Reads the rows behind a reply, if there are any, up to so many bytes.
    pub(super) fn read_whole(&mut self, reply: Reply, mut left: usize) -> Result<Rows> {
        let count = match reply {
            Reply::Columns(count) => count,
            Reply::Done(_) => return Ok(Rows::default()),
            Reply::WantsFile => return Err(self.file_not_offered()),
        };
        let mut stream = self.rows(count)?;
        let columns: Vec<_> = stream.columns.iter().map(|column| column.name_str().into_owned()).collect();
        let mut rows = Vec::new();
        while let Some(row) = stream.next_row()? {
            let row = row.into_values(columns.len(), &mut left);
            rows.push(row.map_err(|source| stream.connection.lost(source))?);
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
        self.ask(sql)?;
        self.answer()
    }

    /// Sends a statement that returns rows. Nothing else can be asked before [`Connection::answer`] has read them to their end; the
    /// server computes meanwhile, until it has filled what lies between the two.
    ///
    /// # Errors
    /// That the connection is lost, or what the server said before it closed it.
    pub fn ask(&mut self, sql: impl AsRef<[u8]>) -> Result<()> {
        self.send_command(COM_QUERY, &[sql.as_ref()])?;
        self.state = State::Asked;
        Ok(())
    }

    /// Hands out the rows of the statement that was sent, one by one, as they come.
    ///
    /// # Errors
    /// What the server said, or that the connection is lost.
    pub fn answer(&mut self) -> Result<RowStream<'_>> {
        self.expect(State::Asked)?;
        self.state = State::Ready;
        match self.read_reply()? {
            Reply::Columns(count) => self.rows(count),
            _ => Err(self.protocol("no rows for a statement that returns rows")),
        }
    }

    /// Begins a LOAD DATA LOCAL INFILE statement. [`Connection::send`] sends the file's content, and nothing else can be
    /// asked before [`Connection::end_load`] has ended it, also where the content cannot be sent to its end: the caller
    /// rolls back.
    ///
    /// # Errors
    /// What the server said, or that the connection is lost.
    pub fn begin_load(&mut self, sql: impl AsRef<[u8]>) -> Result<()> {
        match self.begin(sql.as_ref())? {
            Reply::WantsFile => {
                self.state = State::InLoad;
                Ok(())
            }
            _ => Err(self.protocol("no request for the file to load")),
        }
    }

    /// Sends some of the file that the server waits for.
    ///
    /// # Errors
    /// That the connection is lost, or what the server said before it closed it.
    pub fn send(&mut self, bytes: &[u8]) -> Result<()> {
        self.expect(State::InLoad)?;
        let mut packets = bytes.chunks(UPLOAD_PACKET);
        packets.try_for_each(|packet| self.packets.write(packet)).map_err(|source| self.broken(source))
    }

    /// Ends the file, and waits until the server has taken it in.
    ///
    /// # Errors
    /// What the server said, or that the connection is lost.
    pub fn end_load(&mut self) -> Result<Outcome> {
        self.expect(State::InLoad)?;
        self.state = State::Ready;
        self.packets.write(&[]).map_err(|source| self.broken(source))?;
        match self.read_reply()? {
            Reply::Done(outcome) => Ok(outcome),
            _ => Err(self.protocol("rows for a LOAD DATA")),
        }
    }

    /// Makes the session as [`Connection::open`] made it: settings, variables, temporary tables and what was not committed
    /// are gone, only the default schema stays.
    ///
    /// # Errors
    /// If the server does not know how to, or the connection is lost.
    pub fn reset(&mut self) -> Result<()> {
        self.command(COM_RESET_CONNECTION, &[])?;
        self.set_defaults()
    }

    fn begin(&mut self, sql: &[u8]) -> Result<Reply> {
        self.command(COM_QUERY, &[sql])
    }

    pub(super) fn command(&mut self, code: u8, body: &[&[u8]]) -> Result<Reply> {
        self.send_command(code, body)?;
        self.read_reply()
    }

    pub(super) fn send_command(&mut self, code: u8, body: &[&[u8]]) -> Result<()> {
        self.expect(State::Ready)?;
        self.packets.new_command();
        if body.iter().map(|part| part.len()).sum::<usize>() > LARGE {
            let code = [code];
            let parts = [&[&code[..]], body].concat();
            return self.packets.write_parts(&parts).map_err(|source| self.broken(source));
        }
        let mut command = std::mem::take(&mut self.scratch);
        command.clear();
        command.push(code);
        body.iter().for_each(|part| command.extend_from_slice(part));
        let sent = self.packets.write(&command);
        self.scratch = command;
        sent.map_err(|source| self.broken(source))
    }

    /// Server and client must agree on what comes next.
    pub(super) fn expect(&mut self, state: State) -> Result<()> {
        match self.state {
            now if now == state => Ok(()),
            State::Lost => Err(self.lost(io::Error::other("it broke before"))),
            State::InResult => {
                Err(self.protocol("the rows of an earlier statement, which were not read to their end"))
            }
            State::InLoad => Err(self.protocol("a request for a file that was not sent to its end")),
            State::Asked => Err(self.protocol("the answer to an earlier statement, which was not read")),
            State::InBatch(_) => {
                Err(self.protocol("the answers to a batch, which were not read to their end"))
            }
            State::Ready => Err(self.protocol("nothing, as nothing was asked for")),
        }
    }

    /// The error for a write that failed. If the server said why it closed the connection, that is still there to read.
    pub(super) fn broken(&mut self, source: io::Error) -> Error {
        match self.read_reply() {
            Err(error @ Error::Server(_)) => {
                self.state = State::Lost;
                error
            }
            _ => self.lost(source),
        }
    }

    pub(super) fn read_reply(&mut self) -> Result<Reply> {
        let mut payload = std::mem::take(&mut self.scratch);
        let read = self.packets.read(&mut payload);
        let reply = match (read, payload.first()) {
            (Err(source), _) => Err(self.lost(source)),
            (_, Some(0x00)) => {
                let outcome = outcome(&payload);
                self.in_transaction = outcome.in_transaction;
                Ok(Reply::Done(outcome))
            }
            (_, Some(&ERROR)) => Err(server_error(&payload).into()),
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
        self.check_columns(count)?;
        let mut columns = Vec::new();
        for _ in 0..count {
            self.read_description()?;
            let column = ParseBuf(&self.scratch).parse::<Column>(());
            columns.push(column.map_err(|_| self.protocol("a column description that is none"))?);
        }
        self.read_payload()?;
        if !is_end(&self.scratch) {
            return Err(self.protocol("more columns than it announced"));
        }
        Ok(RowStream { connection: self, columns, done: None })
    }

    /// A server that goes on describing columns would fill the memory.
    pub(super) fn check_columns(&mut self, count: u64) -> Result<()> {
        if count > MAX_COLUMNS { Err(self.protocol("more columns than a result can have")) } else { Ok(()) }
    }

    /// Reads the description of a column into `scratch`.
    fn read_description(&mut self) -> Result<()> {
        self.read_up_to(MAX_DESCRIPTION)?;
        self.refuse_error()
    }

    /// Reads one packet of a result's head into `scratch`.
    pub(super) fn read_payload(&mut self) -> Result<()> {
        self.read_any()?;
        self.refuse_error()
    }

    fn refuse_error(&mut self) -> Result<()> {
        if self.scratch.first() == Some(&ERROR) {
            self.state = State::Ready;
            return Err(server_error(&self.scratch).into());
        }
        Ok(())
    }

    /// Reads one packet into `scratch`, whatever it is.
    pub(super) fn read_any(&mut self) -> Result<()> {
        self.read_up_to(MAX_WHOLE)
    }

    pub(super) fn read_up_to(&mut self, most: usize) -> Result<()> {
        let mut payload = std::mem::take(&mut self.scratch);
        let read = self.packets.read_up_to(&mut payload, most);
        self.scratch = payload;
        read.map_err(|source| self.lost(source))
    }

    pub(super) fn lost(&mut self, source: io::Error) -> Error {
        self.state = State::Lost;
        lost(&self.to, source)
    }

    pub(super) fn protocol(&mut self, what: &str) -> Error {
        self.state = State::Lost;
        Error::Protocol { to: self.to.clone(), what: what.into() }
    }

    fn file_not_offered(&mut self) -> Error {
        self.protocol("a request for a file that was not offered")
    }
}

/// The error for a connection to this address that broke, or that brought what it should not.
pub(super) fn lost(to: &str, source: io::Error) -> Error {
    match source.kind() {
        io::ErrorKind::InvalidData => Error::Protocol { to: to.into(), what: source.to_string() },
        _ => Error::Lost { to: to.into(), source },
    }
}

/// Whether the payload ends the columns or the rows. A row that begins with the same byte holds a field of 2^24 bytes
/// or more, so it is not short.
#[inline]
pub(super) fn is_end(payload: &[u8]) -> bool {
    payload.first() == Some(&END) && payload.len() < 9
}

pub(super) enum Reply {
    Done(Outcome),
    Columns(u64),
    WantsFile,
}

#[cfg(test)]
pub(super) mod tests {
    use std::os::unix::net::UnixStream;

    use mysql_common::constants::ColumnType;
    use mysql_common::proto::MySerialize;

    use super::super::stream::Stream;
    use super::*;

    pub(in crate::wire) const EOF: &[u8] = &[0xfe, 0, 0, 2, 0];

    /// A connection whose other end answers its one statement with these packets and is gone then.
    pub(in crate::wire) fn answered_with(packets: &[&[u8]]) -> Connection {
        let (near, far) = UnixStream::pair().unwrap();
        let packets: Vec<Vec<u8>> = packets.iter().map(|packet| packet.to_vec()).collect();
        std::thread::spawn(move || {
            let mut server = Packets::new(Stream::unix(far));
            server.read(&mut Vec::new()).unwrap();
            packets.iter().for_each(|packet| server.write(packet).unwrap());
        });
        connection_over(near)
    }

    pub(in crate::wire) fn connection_over(stream: UnixStream) -> Connection {
        let packets = Packets::new(Stream::unix(stream));
        let state = State::Ready;
        Connection {
            packets,
            to: "there".into(),
            id: 1,
            takes_bulk: true,
            in_transaction: false,
            is_tidb: None,
            state,
            scratch: Vec::new(),
        }
    }

    fn column() -> Vec<u8> {
        let mut payload = Vec::new();
        Column::new(ColumnType::MYSQL_TYPE_STRING).with_name(b"c").serialize(&mut payload);
        payload
    }

    #[test]
    fn a_row_must_hold_as_many_fields_as_there_are_columns() {
        let column = column();
        let rows = |row: &[u8]| answered_with(&[&[2], &column, &column, EOF, row, EOF]).query("SELECT 1");
        let whole = rows(b"\x01a\xfb").unwrap();
        assert_eq!((whole.rows[0].string(0).as_str(), whole.rows[0].bytes(1)), ("a", None));
        for bad in [&b"\x01a"[..], b"\x01a\x05b", b"\x01a\x01b\x01c"] {
            let error = rows(bad).unwrap_err();
            assert!(matches!(error, Error::Protocol { .. }), "{bad:?}: {error}");
        }
    }

    #[test]
    fn a_large_row_that_breaks_off_is_a_lost_connection() {
        let (near, mut far) = UnixStream::pair().unwrap();
        std::thread::spawn(move || {
            let mut server = Packets::new(Stream::unix(far.try_clone().unwrap()));
            server.read(&mut Vec::new()).unwrap();
            [&[1], &column()[..], EOF].iter().for_each(|packet| server.write(packet).unwrap());
            // One MiB is announced.
            io::Write::write_all(&mut far, &[0, 0, 0x10, 4, 0xfd, 0xfb, 0xff, 0x0f]).unwrap();
            io::Write::write_all(&mut far, &vec![b'x'; 600_000]).unwrap();
        });
        let mut connection = connection_over(near);
        let error = connection.query("SELECT 1").unwrap_err();
        assert!(matches!(error, Error::Lost { .. }), "{error}");
        assert!(matches!(connection.execute("DO 1"), Err(Error::Lost { .. })));
    }

    #[test]
    fn columns_and_rows_without_end_are_an_error_and_not_all_memory() {
        let column = column();
        let ended = |error: Error| assert!(matches!(error, Error::Protocol { .. }), "{error}");
        // As a length of 8 bytes: 2^32 columns.
        ended(answered_with(&[&[0xfe, 0, 0, 0, 0, 1, 0, 0, 0]]).query("SELECT 1").unwrap_err());
        ended(answered_with(&[&[1], &vec![3; MAX_DESCRIPTION + 1]]).query("SELECT 1").unwrap_err());
        let rows = vec![&b"\x01a"[..]; 100];
        let packets = [&[&[1][..], &column, EOF][..], &rows, &[EOF]].concat();
        assert_eq!(answered_with(&packets).query_within(b"SELECT 1", 42 * 100).unwrap().rows.len(), 100);
        ended(answered_with(&packets).query_within(b"SELECT 1", 42 * 100 - 1).unwrap_err());
        // A field of 1 MiB, which is more than the buffer.
        let large = [b"\xfd\0\0\x10", &vec![b'x'; 1 << 20][..]].concat();
        let packets: [&[u8]; 5] = [&[1], &column, EOF, &large, EOF];
        assert_eq!(answered_with(&packets).query_within(b"SELECT 1", 2 << 20).unwrap().rows.len(), 1);
        ended(answered_with(&packets).query_within(b"SELECT 1", 1 << 20).unwrap_err());
    }

    #[test]
    fn an_error_may_come_in_place_of_columns() {
        let column = column();
        let refusal = b"\xff\x7a\x04#42S02none";
        for packets in [&[&[2][..], &column, refusal][..], &[&[1], &column, refusal]] {
            let mut connection = answered_with(packets);
            assert_eq!(connection.query("SELECT 1").unwrap_err().code(), Some(er::NO_SUCH_TABLE));
            assert_eq!(connection.state, State::Ready);
        }
        let mut unended = answered_with(&[&[1], &column, &column]);
        assert!(matches!(unended.query("SELECT 1"), Err(Error::Protocol { .. })));
    }

    #[test]
    fn what_nobody_asked_for_ends_the_connection() {
        for asked in [
            |connection: &mut Connection| connection.query("SELECT 1").map(|_| ()),
            |connection: &mut Connection| connection.execute("DO 1").map(|_| ()),
            |connection: &mut Connection| connection.stream("SELECT 1").map(|_| ()),
        ] {
            let mut connection = answered_with(&[b"\xfb/etc/passwd"]);
            assert!(matches!(asked(&mut connection), Err(Error::Protocol { .. })));
            assert!(matches!(connection.execute("DO 1"), Err(Error::Lost { .. })));
        }
    }

    #[test]
    fn a_file_is_sent_before_anything_else_is_asked() {
        let (near, far) = UnixStream::pair().unwrap();
        let server = std::thread::spawn(move || {
            let (mut server, mut sent, mut packet) =
                (Packets::new(Stream::unix(far)), Vec::new(), Vec::new());
            server.read(&mut packet).unwrap();
            server.write(b"\xfbfile").unwrap();
            loop {
                server.read(&mut packet).unwrap();
                if packet.is_empty() {
                    break;
                }
                sent.extend_from_slice(&packet);
            }
            server.write(&[0, 2, 0, 2, 0, 0, 0]).unwrap();
            sent
        });
        let mut connection = connection_over(near);
        connection.begin_load("LOAD DATA").unwrap();
        connection.send(&vec![b'x'; UPLOAD_PACKET + 1]).unwrap();
        connection.send(b"y").unwrap();
        assert_eq!(connection.end_load().unwrap().affected, 2);
        assert_eq!(server.join().unwrap().len(), UPLOAD_PACKET + 2);
        assert!(matches!(connection.send(b"z"), Err(Error::Protocol { .. })));

        let mut connection = answered_with(&[b"\xfbfile"]);
        connection.begin_load("LOAD DATA").unwrap();
        assert!(matches!(connection.execute("DO 1"), Err(Error::Protocol { .. })));
    }

    /// Packet 0 where packet 1 is due, as MySQL sends it at the end of `wait_timeout`.
    #[test]
    fn the_servers_last_words_are_heard_whatever_their_number() {
        for is_closed in [false, true] {
            let (near, mut far) = UnixStream::pair().unwrap();
            let words = b"\xff\xbf\x0f#HY000The client was disconnected";
            io::Write::write_all(&mut far, &[&[words.len() as u8, 0, 0, 0], &words[..]].concat()).unwrap();
            let far = Some(far).filter(|_| !is_closed);
            let mut connection = connection_over(near);
            assert_eq!(connection.query("SELECT 1").unwrap_err().code(), Some(4031));
            drop(far);
            assert!(matches!(connection.query("SELECT 1"), Err(Error::Lost { .. })));
        }
    }
}
