//! Rows as the values of a prepared INSERT that takes many rows at once, where a server has no command for that. Values come in binary: a
//! server takes them in two thirds of the time of a statement's text (benchmarks/files).

use super::binary::{ParameterKind, Value};
use super::bulk::Prepared;
use super::connection::{Connection, Reply};
use super::reply::Outcome;
use super::statement::{COM_STMT_EXECUTE, PLAINLY, SEND_TYPES};
use crate::Result;

/// Rows for [`Connection::execute_rows`], put together value by value.
#[derive(Debug, PartialEq, Eq)]
pub struct ManyRows {
    /// Each column's type, as the protocol has it; NULL has its column's.
    types: Vec<[u8; 2]>,
    /// Of each value, whether it is NULL.
    nulls: Vec<bool>,
    bytes: Vec<u8>,
    /// Where each row ends that is whole.
    ends: Vec<usize>,
    /// How many of these were taken by the server.
    taken: usize,
}

impl ManyRows {
    /// For rows of these columns.
    pub fn new(columns: impl IntoIterator<Item = ParameterKind>) -> Self {
        let types = columns.into_iter().map(ParameterKind::parameter_type).collect();
        Self { types, nulls: Vec::new(), bytes: Vec::new(), ends: Vec::new(), taken: 0 }
    }

    /// The next value of the row at hand, of its column's kind or NULL.
    #[inline]
    pub fn push(&mut self, value: Value<'_>) {
        self.nulls.push(value == Value::Null);
        value.append(&mut self.bytes);
    }

    /// The row at hand is whole.
    #[inline]
    pub fn end_row(&mut self) {
        self.ends.push(self.bytes.len());
    }

    /// Rows that are whole and wait.
    pub fn rows(&self) -> usize {
        self.ends.len() - self.taken
    }

    /// Bytes of the values of so many of the rows that wait, which are there.
    pub fn size(&self, rows: usize) -> usize {
        self.end(self.taken + rows) - self.end(self.taken)
    }

    /// Bytes of all that is there, also of a row that is not whole.
    pub fn len(&self) -> usize {
        self.bytes.len() - self.end(self.taken)
    }

    /// Whether nothing is there.
    pub fn is_empty(&self) -> bool {
        self.len() == 0 && self.rows() == 0
    }

    /// Where the row before this number ends.
    fn end(&self, row: usize) -> usize {
        row.checked_sub(1).map_or(0, |before| self.ends[before])
    }

    /// A bit for each value of the next rows that is NULL.
    fn null_bits(&self, rows: usize) -> Vec<u8> {
        let (columns, from) = (self.types.len(), self.taken);
        let nulls = &self.nulls[from * columns..(from + rows) * columns];
        nulls
            .chunks(8)
            .map(|eight| eight.iter().rev().fold(0, |bits, null| bits << 1 | u8::from(*null)))
            .collect()
    }

    fn next(&self, rows: usize) -> &[u8] {
        &self.bytes[self.end(self.taken)..self.end(self.taken + rows)]
    }

    /// Forgets the rows that were taken.
    pub fn forget(&mut self) {
        let taken = std::mem::take(&mut self.taken);
        let bytes = taken.checked_sub(1).map_or(0, |last| self.ends[last]);
        self.bytes.drain(..bytes);
        self.nulls.drain(..taken * self.types.len());
        self.ends.drain(..taken);
        self.ends.iter_mut().for_each(|end| *end -= bytes);
    }
}

impl Connection {
    /// Executes a prepared statement once for so many of the rows that wait, which is how many it was prepared for. They count as taken
    /// then, also if it was refused.
    ///
    /// # Errors
    /// What the server said, or that the connection is lost. Nothing of these rows is in then.
    pub fn execute_rows(
        &mut self,
        statement: &Prepared,
        rows: &mut ManyRows,
        count: usize,
    ) -> Result<Outcome> {
        let values = count * rows.types.len();
        if values != usize::from(statement.parameters) || count > rows.rows() {
            return Err(self.protocol("a prepared statement that takes another number of values"));
        }
        let mut head =
            [&statement.id.to_le_bytes()[..], &PLAINLY, &rows.null_bits(count), &[SEND_TYPES]].concat();
        (0..count).for_each(|_| rows.types.iter().for_each(|of_column| head.extend_from_slice(of_column)));
        let reply = self.command(COM_STMT_EXECUTE, &[&head, rows.next(count)]);
        rows.taken += count;
        match reply? {
            Reply::Done(outcome) => Ok(outcome),
            _ => Err(self.protocol("rows for a statement that returns none")),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use proptest::prelude::*;

    use super::super::connection::tests::connection_over;
    use super::super::packet::Packets;
    use super::super::stream::Stream;
    use super::*;

    fn rows_of(values: &[[Option<i64>; 3]]) -> ManyRows {
        let mut rows = ManyRows::new([ParameterKind::Int; 3]);
        for row in values {
            row.iter().for_each(|value| rows.push(value.map_or(Value::Null, Value::Int)));
            rows.end_row();
        }
        rows
    }

    proptest! {
        #[test]
        fn rows_that_were_taken_leave_the_others(
            values in prop::collection::vec(any::<[Option<i64>; 3]>(), 1..20),
            taken in 0..20_usize,
        ) {
            let taken = taken.min(values.len());
            let mut rows = rows_of(&values);
            rows.taken = taken;
            rows.push(Value::Int(7));
            rows.forget();
            let mut expected = rows_of(&values[taken..]);
            expected.push(Value::Int(7));
            prop_assert_eq!(rows.rows(), values.len() - taken);
            prop_assert_eq!((&rows.nulls, &rows.bytes, &rows.ends), (&expected.nulls, &expected.bytes, &expected.ends));
        }

        #[test]
        fn a_bit_for_each_null(values in prop::collection::vec(any::<[Option<i64>; 3]>(), 1..20)) {
            let bits = rows_of(&values).null_bits(values.len());
            let is_null = |at: usize| bits[at / 8] & (1 << (at % 8)) != 0;
            let nulls: Vec<_> = (0..values.len() * 3).map(is_null).collect();
            prop_assert_eq!(nulls, values.concat().iter().map(Option::is_none).collect::<Vec<_>>());
        }
    }

    #[test]
    fn rows_for_a_prepared_statement() {
        let (near, far) = UnixStream::pair().unwrap();
        let server = std::thread::spawn(move || {
            let (mut server, mut packet) = (Packets::new(Stream::unix(far)), Vec::new());
            server.new_command();
            server.read(&mut packet).unwrap();
            server.write(&[0, 2, 0, 2, 0, 0, 0]).unwrap();
            packet
        });
        let mut rows = ManyRows::new([ParameterKind::Int, ParameterKind::Text]);
        for (number, text) in [
            (Value::Int(1), Value::Text(b"ab")),
            (Value::Null, Value::Text(b"")),
            (Value::Int(3), Value::Null),
        ] {
            rows.push(number);
            rows.push(text);
            rows.end_row();
        }
        let statement = Prepared { id: 5, parameters: 4 };
        let mut connection = connection_over(near);
        assert_eq!(connection.execute_rows(&statement, &mut rows, 2).unwrap().affected, 2);
        assert_eq!((rows.rows(), rows.size(1)), (1, 8));
        assert!(connection.execute_rows(&statement, &mut rows, 2).is_err(), "only one is left");
        let head = b"\x17\x05\0\0\0\0\x01\0\0\0\x04\x01\x08\0\xfd\0\x08\0\xfd\0";
        assert_eq!(server.join().unwrap(), [&head[..], b"\x01\0\0\0\0\0\0\0\x02ab\0"].concat());
    }
}
