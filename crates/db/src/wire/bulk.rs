//! Prepared statements, as far as they are needed to give MariaDB the values of many rows at once, which it takes from 10.2 on
//! (COM_STMT_BULK_EXECUTE).
//!
//! Source: MariaDB Knowledge Base, "Clients & Utilities / protocol / COM_STMT_BULK_EXECUTE".

use super::connection::{Connection, Reply};
use super::reply::Outcome;
use crate::Result;

const COM_STMT_CLOSE: u8 = 0x19;
const COM_STMT_BULK_EXECUTE: u8 = 0xfa;
/// The parameters' types are sent with their values.
const SEND_TYPES: u16 = 128;
/// MYSQL_TYPE_BLOB, not unsigned: bytes, in no character set.
const BYTES: [u8; 2] = [0xfc, 0];
/// What stands before a value, and in place of a NULL.
const VALUE: u8 = 0;
const NULL: u8 = 1;
/// The longest value whose length is one byte.
const SHORT: usize = 0xfa;

/// A prepared statement. The server keeps it until [`Connection::close`] or the end of the session.
#[derive(Debug)]
pub struct Prepared {
    pub(super) id: u32,
    pub(super) parameters: u16,
}

/// Rows for [`Connection::execute_bulk`], put together value by value. Values are bytes: the server takes them as
/// LOAD DATA takes a file in CHARACTER SET binary.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct BulkRows {
    bytes: Vec<u8>,
    /// Where the value at hand begins.
    value: usize,
    /// How many bytes the rows that are whole have, and how many of these there are.
    whole: usize,
    rows: u64,
}

impl BulkRows {
    /// The next value is NULL.
    pub fn null(&mut self) {
        self.bytes.push(NULL);
    }

    /// The next value begins; [`BulkRows::append`] gives its bytes.
    #[inline]
    pub fn begin_value(&mut self) {
        self.bytes.extend_from_slice(&[VALUE, 0]);
        self.value = self.bytes.len();
    }

    /// Bytes of the value at hand.
    #[inline]
    pub fn append(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The value at hand is whole.
    #[inline]
    pub fn end_value(&mut self) {
        let length = self.bytes.len() - self.value;
        match u8::try_from(length) {
            Ok(short) if length <= SHORT => self.bytes[self.value - 1] = short,
            _ => self.set_long_length(length),
        }
    }

    /// Behind the length's first byte stand 2, 3 or 8 others.
    fn set_long_length(&mut self, length: usize) {
        let (first, size) = match length {
            0..=0xffff => (0xfc, 2),
            0x1_0000..=0xff_ffff => (0xfd, 3),
            _ => (0xfe, 8),
        };
        self.bytes[self.value - 1] = first;
        self.bytes.resize(self.bytes.len() + size, 0);
        self.bytes.copy_within(self.value..self.value + length, self.value + size);
        self.bytes[self.value..self.value + size].copy_from_slice(&(length as u64).to_le_bytes()[..size]);
    }

    /// The row at hand is whole.
    #[inline]
    pub fn end_row(&mut self) {
        self.whole = self.bytes.len();
        self.rows += 1;
    }

    /// Rows that are whole.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Bytes of all that is there, also of a row that is not whole.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    fn whole(&self) -> &[u8] {
        &self.bytes[..self.whole]
    }

    /// Forgets the rows that are whole.
    fn clear_whole(&mut self) {
        self.bytes.drain(..self.whole);
        self.value = self.value.saturating_sub(self.whole);
        (self.whole, self.rows) = (0, 0);
    }
}

impl Connection {
    /// Prepares a statement that returns no rows.
    ///
    /// # Errors
    /// What the server said, or that the connection is lost.
    pub fn prepare(&mut self, sql: impl AsRef<[u8]>) -> Result<Prepared> {
        match self.begin_prepare(sql.as_ref())? {
            (statement, 0) => {
                self.skip_descriptions(statement.parameters)?;
                Ok(statement)
            }
            _ => Err(self.protocol("a prepared statement that returns rows")),
        }
    }

    /// Executes a prepared statement once for each row that is whole, and takes those out of `rows`.
    ///
    /// # Errors
    /// What the server said, or that the connection is lost. Rows before the one that was refused may be in.
    pub fn execute_bulk(&mut self, statement: &Prepared, rows: &mut BulkRows) -> Result<Outcome> {
        let head = [&statement.id.to_le_bytes()[..], &SEND_TYPES.to_le_bytes()].concat();
        let types = BYTES.repeat(usize::from(statement.parameters));
        let reply = self.command(COM_STMT_BULK_EXECUTE, &[&head, &types, rows.whole()])?;
        rows.clear_whole();
        match reply {
            Reply::Done(outcome) => Ok(outcome),
            _ => Err(self.protocol("rows for a statement that returns none")),
        }
    }

    /// Has the server forget a prepared statement.
    ///
    /// # Errors
    /// That the connection is lost.
    pub fn close(&mut self, statement: Prepared) -> Result<()> {
        // There is no reply to it.
        self.send_command(COM_STMT_CLOSE, &[&statement.id.to_le_bytes()])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use std::os::unix::net::UnixStream;

    use super::super::connection::tests::{EOF, answered_with, connection_over};
    use super::super::fields::{Field, next_field};
    use super::super::packet::Packets;
    use super::super::stream::Stream;
    use super::*;
    use crate::Error;

    fn value() -> impl Strategy<Value = Option<Vec<u8>>> {
        let length = prop_oneof![8 => 0..260_usize, 1 => 0xfff0..0x1_0010_usize];
        prop::option::of((any::<u8>(), length).prop_map(|(byte, length)| vec![byte; length]))
    }

    fn pass(rows: &mut BulkRows, value: Option<&Vec<u8>>) {
        let Some(value) = value else { return rows.null() };
        rows.begin_value();
        value.chunks(100).for_each(|piece| rows.append(piece));
        rows.end_value();
    }

    /// Reads values back: where there is one, a length as in a row of text stands before it.
    fn read(mut bytes: &[u8]) -> Vec<Option<Vec<u8>>> {
        let mut values = Vec::new();
        while let Some((&indicator, rest)) = bytes.split_first() {
            bytes = rest;
            values.push(match indicator {
                NULL => None,
                _ => match next_field(&mut bytes) {
                    Some(Field::Bytes(value)) => Some(value.to_vec()),
                    other => panic!("{other:?}"),
                },
            });
        }
        values
    }

    proptest! {
        #[test]
        fn values_read_back(values in prop::collection::vec(value(), 1..6), begun in value()) {
            let mut rows = BulkRows::default();
            values.iter().for_each(|value| pass(&mut rows, value.as_ref()));
            rows.end_row();
            // A row of which something is there already.
            let start = rows.size();
            pass(&mut rows, begun.as_ref());
            prop_assert_eq!(rows.rows(), 1);
            prop_assert_eq!(read(rows.whole()), values);
            prop_assert_eq!(rows.whole().len(), start);
            rows.clear_whole();
            prop_assert_eq!((rows.rows(), rows.whole().len()), (0, 0));
            rows.end_row();
            prop_assert_eq!(read(rows.whole()), vec![begun]);
        }

        #[test]
        fn a_value_goes_on_when_the_rows_before_it_are_gone(first in prop::collection::vec(any::<u8>(), 0..300)) {
            let mut rows = BulkRows::default();
            pass(&mut rows, Some(&vec![1; 500]));
            rows.end_row();
            rows.begin_value();
            rows.append(&first);
            rows.clear_whole();
            rows.append(b"end");
            rows.end_value();
            rows.end_row();
            prop_assert_eq!(read(rows.whole()), vec![Some([&first[..], b"end"].concat())]);
        }
    }

    #[test]
    fn rows_for_a_prepared_statement() {
        let (near, far) = UnixStream::pair().unwrap();
        let server = std::thread::spawn(move || {
            let (mut server, mut packets) = (Packets::new(Stream::unix(far)), Vec::new());
            let prepared = [&[0, 5, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0][..], b"?", b"?", EOF];
            let done = [0, 1, 0, 2, 0, 0, 0];
            for replies in [&prepared[..], &[&done], &[], &[&done]] {
                server.new_command();
                let mut packet = Vec::new();
                server.read(&mut packet).unwrap();
                replies.iter().for_each(|reply| server.write(reply).unwrap());
                packets.push(packet);
            }
            packets
        });
        let mut connection = connection_over(near);
        let statement = connection.prepare("INSERT").unwrap();
        let mut rows = BulkRows::default();
        rows.null();
        rows.begin_value();
        rows.append(b"ab");
        rows.end_value();
        rows.end_row();
        rows.null();
        assert_eq!(connection.execute_bulk(&statement, &mut rows).unwrap().affected, 1);
        assert_eq!((rows.rows(), rows.size()), (0, 1));
        connection.close(statement).unwrap();
        connection.execute("DO 1").unwrap();
        let bulk = b"\xfa\x05\0\0\0\x80\0\xfc\0\xfc\0\x01\0\x02ab".to_vec();
        let sent = [b"\x16INSERT".to_vec(), bulk, b"\x19\x05\0\0\0".to_vec(), b"\x03DO 1".to_vec()];
        assert_eq!(server.join().unwrap(), sent);

        let mut returns_rows = answered_with(&[&[0, 5, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]]);
        assert!(matches!(returns_rows.prepare("SELECT 1"), Err(Error::Protocol { .. })));
        assert!(matches!(answered_with(&[&[0, 5]]).prepare("DO 1"), Err(Error::Protocol { .. })));
    }

    #[test]
    fn a_length_of_eight_bytes() {
        let mut rows = BulkRows::default();
        pass(&mut rows, Some(&vec![7; 0x100_0000]));
        assert_eq!(rows.size(), 0x100_0000 + 10);
        assert_eq!(rows.bytes[..11], [VALUE, 0xfe, 0, 0, 0, 1, 0, 0, 0, 0, 7]);
    }
}
