//! Prepared statements with values and rows in binary, and batches: commands that are written at once, before the first of them is
//! answered. A server reads a connection's commands one after the other, whenever they came, so a batch costs one round trip.
//!
//! Source: MySQL Internals, "Client/Server Protocol", COM_STMT_PREPARE, COM_STMT_EXECUTE and "Binary Protocol Resultset"; MariaDB
//! Knowledge Base, "COM_STMT_EXECUTE" and "Result Set Packets".

use std::io;

use super::binary::{Column, Stored};
use super::bulk::Prepared;
use super::connection::{COM_QUERY, Connection, Reply, State, is_end};
use super::fields::next_integer;
use super::packet::ERROR;
use super::reply::{counts, server_error};
use super::result::Rows;
use super::rows::{MAX_RESULT, PER_VALUE, take};
use crate::{Error, Result};

pub use super::binary::{Moment, ParameterKind, Value};

const COM_STMT_PREPARE: u8 = 0x16;
pub(super) const COM_STMT_EXECUTE: u8 = 0x17;
/// No cursor, and executed once.
pub(super) const PLAINLY: [u8; 5] = [0, 1, 0, 0, 0];
/// The types of the values are sent before them.
pub(super) const SEND_TYPES: u8 = 1;
/// What a packet's header takes, in bytes.
const HEADER: usize = 4;
/// A larger batch might fill what lies between client and server while neither reads, in bytes.
const MOST: usize = 64 << 10;

/// Commands to be sent at once, to [`Connection::send_batch`].
#[derive(Debug, Default)]
pub struct Batch {
    bytes: Vec<u8>,
    commands: u32,
}

/// What the server answered to one command of a batch: counts, or rows that were read whole. It can be used again for other answers.
#[derive(Debug, Default)]
pub struct Answer {
    affected: u64,
    warnings: u16,
    columns: Vec<Column>,
    /// The rows as they came.
    bytes: Vec<u8>,
    values: Vec<Stored>,
}

impl Batch {
    /// How many commands it holds.
    pub fn commands(&self) -> usize {
        self.commands as usize
    }

    /// Adds a statement as text.
    pub fn query(&mut self, sql: impl AsRef<[u8]>) {
        let start = self.begin(COM_QUERY);
        self.bytes.extend_from_slice(sql.as_ref());
        self.end(start);
    }

    /// Adds an execution of a prepared statement.
    ///
    /// # Errors
    /// If it takes another number of values.
    pub fn execute(&mut self, statement: &Prepared, values: &[Value<'_>]) -> Result<()> {
        if values.len() != usize::from(statement.parameters) {
            let what = format!("{} values for a statement that takes {}", values.len(), statement.parameters);
            return Err(refused(what));
        }
        let start = self.begin(COM_STMT_EXECUTE);
        self.bytes.extend_from_slice(&statement.id.to_le_bytes());
        self.bytes.extend_from_slice(&PLAINLY);
        if !values.is_empty() {
            self.append_nulls(values);
            self.bytes.push(SEND_TYPES);
            values.iter().for_each(|value| self.bytes.extend_from_slice(&value.kind().parameter_type()));
            values.iter().for_each(|value| value.append(&mut self.bytes));
        }
        self.end(start);
        Ok(())
    }

    /// A bit for each value that is NULL.
    fn append_nulls(&mut self, values: &[Value<'_>]) {
        let start = self.bytes.len();
        self.bytes.resize(start + values.len().div_ceil(8), 0);
        for (index, _) in values.iter().enumerate().filter(|(_, value)| matches!(value, Value::Null)) {
            self.bytes[start + index / 8] |= 1 << (index % 8);
        }
    }

    fn begin(&mut self, code: u8) -> usize {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&[0; HEADER]);
        self.bytes.push(code);
        start
    }

    /// Gives the command that begins there its header: what is far below 16 MiB is one packet, and each command's is number 0.
    fn end(&mut self, start: usize) {
        let length = (self.bytes.len() - start - HEADER) as u32;
        self.bytes[start..start + 3].copy_from_slice(&length.to_le_bytes()[..3]);
        self.commands += 1;
    }
}

impl Answer {
    /// Rows that were changed.
    pub fn affected(&self) -> u64 {
        self.affected
    }

    /// Warnings, as the protocol counts them: 65535 stands for that many or more.
    pub fn warnings(&self) -> u16 {
        self.warnings
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.values.len().checked_div(self.columns.len()).unwrap_or(0)
    }

    /// The value of a row's column, both counted from 0; NULL where there is no such row or column.
    pub fn value(&self, row: usize, column: usize) -> Value<'_> {
        let is_there = column < self.columns.len();
        let stored = self.values.get(row * self.columns.len() + column).filter(|_| is_there);
        stored.map_or(Value::Null, |stored| stored.value(&self.bytes))
    }

    /// The same of a whole number; `None` for NULL, and for what is none or does not fit.
    pub fn integer(&self, row: usize, column: usize) -> Option<i64> {
        match self.value(row, column) {
            Value::Int(number) => Some(number),
            Value::Unsigned(number) => i64::try_from(number).ok(),
            _ => None,
        }
    }

    /// The same of text, bytes or the text of a decimal number; `None` for NULL, and for what is none of these.
    pub fn bytes(&self, row: usize, column: usize) -> Option<&[u8]> {
        match self.value(row, column) {
            Value::Text(bytes) | Value::Bytes(bytes) | Value::Decimal(bytes) => Some(bytes),
            _ => None,
        }
    }

    fn clear(&mut self) {
        (self.affected, self.warnings) = (0, 0);
        self.columns.clear();
        self.bytes.clear();
        self.values.clear();
    }

    /// Takes a row in; `None` if it is not one of these columns.
    fn push(&mut self, row: &[u8]) -> Option<()> {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(row);
        // A zero, then a bit for each column that is NULL, of which the first two are not used.
        let (head, mut rest) =
            self.bytes[start..].split_at_checked(1 + (self.columns.len() + 2).div_ceil(8))?;
        for (index, column) in self.columns.iter().enumerate() {
            let bit = index + 2;
            let is_null = head[1 + bit / 8] & (1 << (bit % 8)) != 0;
            let stored = if is_null { Stored::Null } else { column.stored(&mut rest, self.bytes.len())? };
            self.values.push(stored);
        }
        (head[0] == 0 && rest.is_empty()).then_some(())
    }
}

impl Connection {
    /// Prepares a statement that may return rows, to be executed in a [`Batch`].
    ///
    /// # Errors
    /// What the server said, or that the connection is lost.
    pub fn prepare_query(&mut self, sql: impl AsRef<[u8]>) -> Result<Prepared> {
        let (statement, columns) = self.begin_prepare(sql.as_ref())?;
        self.skip_descriptions(statement.parameters)?;
        self.skip_descriptions(columns)?;
        Ok(statement)
    }

    /// Prepares a statement: with it the number of columns that it returns. Descriptions of its parameters and of those follow.
    pub(super) fn begin_prepare(&mut self, sql: &[u8]) -> Result<(Prepared, u16)> {
        let Reply::Done(_) = self.command(COM_STMT_PREPARE, &[sql])? else {
            return Err(self.protocol("rows for a statement that was to be prepared"));
        };
        let Some(&[a, b, c, d, e, f, g, h]) = self.scratch.get(1..9).and_then(|head| head.first_chunk())
        else {
            return Err(self.protocol("a prepared statement that is none"));
        };
        let statement =
            Prepared { id: u32::from_le_bytes([a, b, c, d]), parameters: u16::from_le_bytes([g, h]) };
        Ok((statement, u16::from_le_bytes([e, f])))
    }

    /// Reads past descriptions and what ends them.
    pub(super) fn skip_descriptions(&mut self, count: u16) -> Result<()> {
        let packets = if count == 0 { 0 } else { u32::from(count) + 1 };
        (0..packets).try_for_each(|_| self.read_payload())
    }

    /// Sends all commands of a batch, which is empty then. Nothing else can be asked before [`Connection::next_answer`] has read an
    /// answer for each of them. None of them may return several results, as CALL does.
    ///
    /// # Errors
    /// If they have more than 64 KiB, of which none is sent then; or if the connection is lost.
    pub fn send_batch(&mut self, batch: &mut Batch) -> Result<()> {
        let (bytes, commands) = (std::mem::take(&mut batch.bytes), std::mem::take(&mut batch.commands));
        let sent = self.send_framed(&bytes, commands);
        batch.bytes = bytes;
        batch.bytes.clear();
        sent
    }

    fn send_framed(&mut self, bytes: &[u8], commands: u32) -> Result<()> {
        self.expect(State::Ready)?;
        if bytes.len() > MOST {
            return Err(refused(format!("a batch of {} bytes, where {MOST} are the most", bytes.len())));
        }
        if commands == 0 {
            return Ok(());
        }
        self.packets.begin_answer();
        self.packets.write_framed(bytes).map_err(|source| self.broken(source))?;
        self.state = State::InBatch(commands);
        Ok(())
    }

    /// Reads the answer to the batch's next command.
    ///
    /// # Errors
    /// What the server said to this command; answers to those behind it follow all the same. Or that the connection is lost.
    pub fn next_answer(&mut self, answer: &mut Answer) -> Result<()> {
        answer.clear();
        let State::InBatch(owed) = self.state else { return self.expect(State::InBatch(0)) };
        self.state = if owed > 1 { State::InBatch(owed - 1) } else { State::Ready };
        self.packets.begin_answer();
        self.read_part()?;
        match self.scratch.first() {
            Some(0x00) => {
                (answer.affected, answer.warnings, _, _) = counts(&self.scratch);
                Ok(())
            }
            Some(0xfb) => Err(self.protocol("a request for a file that was not offered")),
            _ => match next_integer(&mut &self.scratch[..]) {
                Some(columns) => self.read_columns(columns, answer).and_then(|()| self.read_rows(answer)),
                None => Err(self.protocol("a reply that is none")),
            },
        }
    }

    /// Reads the answer to the batch's next command with its rows and their columns' names; none of a command that returns none.
    ///
    /// # Errors
    /// As of [`Connection::next_answer`].
    pub fn next_rows(&mut self) -> Result<Rows> {
        let State::InBatch(owed) = self.state else {
            return self.expect(State::InBatch(0)).map(|()| Rows::default());
        };
        self.packets.begin_answer();
        self.state = State::Ready;
        let rows = self.read_reply().and_then(|reply| self.read_whole(reply, MAX_RESULT));
        if self.state == State::Ready && owed > 1 {
            self.state = State::InBatch(owed - 1);
        }
        rows
    }

    fn read_columns(&mut self, count: u64, answer: &mut Answer) -> Result<()> {
        self.check_columns(count)?;
        for _ in 0..count {
            self.read_part()?;
            match Column::described_by(&self.scratch) {
                Some(column) => answer.columns.push(column),
                None => return Err(self.protocol("a column description that is none")),
            }
        }
        self.read_part()?;
        if is_end(&self.scratch) { Ok(()) } else { Err(self.protocol("more columns than it announced")) }
    }

    fn read_rows(&mut self, answer: &mut Answer) -> Result<()> {
        let mut left = MAX_RESULT;
        loop {
            self.read_part()?;
            if is_end(&self.scratch) {
                let warnings = self.scratch.get(1..3).and_then(|bytes| bytes.first_chunk());
                answer.warnings = warnings.map_or(0, |bytes| u16::from_le_bytes(*bytes));
                return Ok(());
            }
            let size = self.scratch.len() + answer.columns.len() * PER_VALUE;
            take(&mut left, size).map_err(|source| self.lost(source))?;
            if answer.push(&self.scratch).is_none() {
                return Err(self.protocol("a row that is not one of its columns"));
            }
        }
    }

    /// Reads one packet of an answer into `scratch`. An error in its place ends the answer, and no other.
    fn read_part(&mut self) -> Result<()> {
        self.read_any()?;
        if self.scratch.first() == Some(&ERROR) { Err(server_error(&self.scratch).into()) } else { Ok(()) }
    }
}

/// The error for what is not sent.
fn refused(what: String) -> Error {
    Error::Source(io::Error::new(io::ErrorKind::InvalidInput, what))
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;
    use std::thread::JoinHandle;

    use mysql_common::constants::ColumnType;
    use mysql_common::packets::Column as Description;
    use mysql_common::proto::MySerialize;

    use super::super::connection::tests::{EOF, connection_over};
    use super::super::packet::Packets;
    use super::super::stream::Stream;
    use super::*;

    const DONE: &[u8] = &[0, 1, 0, 2, 0, 0, 0];
    const REFUSAL: &[u8] = b"\xff\xbd\x04#40001deadlock";

    fn described(kind: ColumnType) -> Vec<u8> {
        let mut payload = Vec::new();
        Description::new(kind).with_name(b"c").serialize(&mut payload);
        payload
    }

    /// A server that reads all commands before it answers each with these packets; what it read.
    fn played(answers: Vec<Vec<Vec<u8>>>) -> (Connection, JoinHandle<Vec<Vec<u8>>>) {
        let (near, far) = UnixStream::pair().unwrap();
        let server = std::thread::spawn(move || {
            let mut server = Packets::new(Stream::unix(far));
            let read = |_| {
                let mut command = Vec::new();
                server.new_command();
                server.read(&mut command).unwrap();
                command
            };
            let commands = (0..answers.len()).map(read).collect();
            for answer in answers {
                server.begin_answer();
                answer.iter().for_each(|packet| server.write(packet).unwrap());
            }
            commands
        });
        (connection_over(near), server)
    }

    fn statement(parameters: u16) -> Prepared {
        Prepared { id: 7, parameters }
    }

    #[test]
    fn an_error_amid_a_batch_leaves_the_answers_behind_it() {
        let rows = [vec![1], described(ColumnType::MYSQL_TYPE_LONGLONG), EOF.to_vec()];
        let row = [&[0, 0][..], &5_i64.to_le_bytes()].concat();
        let whole = [&rows[..], &[row.clone(), EOF.to_vec()]].concat();
        let broken_off = [&rows[..], &[row, REFUSAL.to_vec()]].concat();
        let answers = vec![
            vec![DONE.to_vec()],
            vec![REFUSAL.to_vec()],
            broken_off,
            whole,
            vec![DONE.to_vec()],
            vec![DONE.to_vec()],
        ];
        let (mut connection, server) = played(answers);
        let mut batch = Batch::default();
        batch.query("BEGIN");
        (0..3).for_each(|_| batch.execute(&statement(1), &[Value::Int(-2)]).unwrap());
        batch.execute(&statement(0), &[]).unwrap();
        batch.query("COMMIT");
        assert_eq!(batch.commands(), 6);
        connection.send_batch(&mut batch).unwrap();
        assert_eq!(batch.commands(), 0);
        let mut answer = Answer::default();
        let codes: Vec<_> = (0..6)
            .map(|number| {
                let code = connection.next_answer(&mut answer).map_err(|error| error.code());
                if number == 3 {
                    assert_eq!(
                        (answer.rows(), answer.integer(0, 0), answer.integer(1, 0)),
                        (1, Some(5), None)
                    );
                }
                code
            })
            .collect();
        assert_eq!(codes, [Ok(()), Err(Some(1213)), Err(Some(1213)), Ok(()), Ok(()), Ok(())]);
        assert_eq!((answer.affected(), answer.rows(), connection.state), (1, 0, State::Ready));
        let execution = b"\x17\x07\0\0\0\0\x01\0\0\0\0\x01\x08\0\xfe\xff\xff\xff\xff\xff\xff\xff";
        let sent = server.join().unwrap();
        assert_eq!(
            (&sent[0][..], &sent[1][..], &sent[4][..]),
            (&b"\x03BEGIN"[..], &execution[..], &execution[..10])
        );
    }

    #[test]
    fn values_that_are_null_have_a_bit() {
        let mut batch = Batch::default();
        let mut values = vec![Value::Null; 9];
        values[1] = Value::Text("ab".as_bytes());
        batch.execute(&statement(9), &values).unwrap();
        let head = &batch.bytes[HEADER + 10..];
        assert_eq!(head[..3], [0b1111_1101, 1, SEND_TYPES]);
        assert_eq!(batch.bytes[batch.bytes.len() - 3..], *b"\x02ab");
        assert!(matches!(batch.execute(&statement(2), &values), Err(Error::Source(_))));
        assert_eq!(batch.commands(), 1);
    }

    #[test]
    fn nothing_is_asked_before_a_batch_is_answered() {
        let (mut connection, _server) = played(vec![vec![DONE.to_vec()], vec![DONE.to_vec()]]);
        let mut batch = Batch::default();
        batch.query("DO 1");
        batch.query("DO 2");
        connection.send_batch(&mut batch).unwrap();
        connection.next_answer(&mut Answer::default()).unwrap();
        assert!(matches!(connection.execute("DO 3"), Err(Error::Protocol { .. })));
        let (mut connection, _server) = played(Vec::new());
        assert!(matches!(connection.next_answer(&mut Answer::default()), Err(Error::Protocol { .. })));
    }

    #[test]
    fn too_much_is_not_sent() {
        let (mut connection, server) = played(Vec::new());
        let mut batch = Batch::default();
        batch.query(vec![b'x'; MOST]);
        assert!(matches!(connection.send_batch(&mut batch), Err(Error::Source(_))));
        connection.send_batch(&mut batch).unwrap();
        assert_eq!((batch.commands(), connection.state), (0, State::Ready));
        assert!(server.join().unwrap().is_empty());
    }

    #[test]
    fn rows_that_are_none_end_the_connection() {
        let number = described(ColumnType::MYSQL_TYPE_LONG);
        for row in [&[0][..], &[0, 0, 1, 2, 3], &[0, 0, 1, 2, 3, 4, 5], &[1, 0, 1, 2, 3, 4]] {
            let (mut connection, _server) =
                played(vec![vec![vec![1], number.clone(), EOF.to_vec(), row.to_vec(), EOF.to_vec()]]);
            let mut batch = Batch::default();
            batch.execute(&statement(0), &[]).unwrap();
            connection.send_batch(&mut batch).unwrap();
            let answer = connection.next_answer(&mut Answer::default());
            assert!(matches!(answer, Err(Error::Protocol { .. })), "{row:?}");
            assert!(matches!(connection.execute("DO 1"), Err(Error::Lost { .. })));
        }
    }

    #[test]
    fn a_statement_that_returns_rows_is_prepared() {
        let head = vec![0, 9, 0, 0, 0, 2, 0, 1, 0, 0, 0, 0];
        let number = described(ColumnType::MYSQL_TYPE_LONG);
        let packets =
            [vec![head], vec![number.clone(), EOF.to_vec()], vec![number.clone(), number, EOF.to_vec()]]
                .concat();
        let (mut connection, server) = played(vec![packets]);
        let statement = connection.prepare_query("SELECT ?, 1").unwrap();
        assert_eq!((statement.id, statement.parameters, connection.state), (9, 1, State::Ready));
        assert_eq!(server.join().unwrap(), [b"\x16SELECT ?, 1".to_vec()]);
    }
}
