//! Rows that the target takes in another form: of a table with history only those of now.

use drover_db::table::{ROW_TIMES, column};
use drover_store::Store;

use crate::Result;
use crate::rows::Sums;
use drover_format::manifest::{Chunk, Manifest, Script, Table};
use drover_format::row_file::RowReader;

/// When a row ends that has not ended, in UTC: the last TIMESTAMP of MariaDB before 11.5 and from there on, and the last
/// transaction.
const NEVER: [&[u8]; 3] = [column::NEVER.as_bytes(), column::LATER_NEVER.as_bytes(), b"18446744073709551615"];

/// Text is read from the decompressor in pieces of this many bytes.
const PIECE: usize = 256 << 10;

/// Which lines of a table with history are rows of now, and which of their fields are values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Current {
    /// The field that says when the row ended.
    end: usize,
    /// That field, and the one that says when it began.
    times: [usize; 2],
}

impl Current {
    /// For a table whose columns of times have these names, or MariaDB's own.
    pub(super) fn of(table: &Table, row_times: &[String]) -> Option<Self> {
        let names: Vec<&str> = match row_times {
            [start, end] => vec![start, end],
            _ => ROW_TIMES.to_vec(),
        };
        let at = |name: &str| table.columns.iter().rposition(|column| column.name == name);
        let (start, end) = (at(names[0])?, at(names[1])?);
        Some(Self { end, times: [start, end] })
    }

    pub(super) fn is_time(&self, field: usize) -> bool {
        self.times.contains(&field)
    }

    /// Appends the row to `out` without its times; not if it is one of the past.
    fn line(&self, line: &[u8], out: &mut Vec<u8>) -> bool {
        let fields = || line.split(|&byte| byte == b'\t');
        if !fields().nth(self.end).is_some_and(|end| NEVER.contains(&end)) {
            return false;
        }
        let values = fields().enumerate().filter(|(field, _)| !self.is_time(*field));
        for (index, (_, value)) in values.enumerate() {
            if index > 0 {
                out.push(b'\t');
            }
            out.extend_from_slice(value);
        }
        true
    }

    /// The lines of now among those in `text`, whose last one may not be whole: that is kept in `rest`.
    pub(crate) fn filter(&self, text: &[u8], rest: &mut Vec<u8>) -> Vec<u8> {
        let mut out = Vec::with_capacity(text.len());
        let mut lines = text.split(|&byte| byte == b'\n').peekable();
        while let Some(line) = lines.next() {
            rest.extend_from_slice(line);
            if lines.peek().is_none() {
                break;
            }
            if self.line(rest, &mut out) {
                out.push(b'\n');
            }
            rest.clear();
        }
        out
    }

    /// What the rows of now in a file come to.
    pub(super) fn sums(
        &self,
        store: &Store,
        manifest: &Manifest,
        script: &Script,
        chunk: &Chunk,
    ) -> Result<Sums> {
        sums(RowReader::open(store, manifest, script, chunk)?, |line, out| self.line(line, out))
    }
}

/// Doubles of a line without the sign of a zero, which MariaDB does not keep.
pub(super) fn without_negative_zeros(line: &[u8], doubles: &[usize], out: &mut Vec<u8>) {
    for (field, value) in line.split(|&byte| byte == b'\t').enumerate() {
        if field > 0 {
            out.push(b'\t');
        }
        let unsigned = value.strip_prefix(b"-").filter(|_| doubles.contains(&field));
        let is_zero = |value: &&[u8]| value.iter().all(|byte| matches!(byte, b'0' | b'.'));
        out.extend_from_slice(unsigned.filter(is_zero).unwrap_or(value));
    }
}

/// What the lines of a file come to as `change` writes them; without those of which it says no.
pub(super) fn sums(mut reader: RowReader, change: impl Fn(&[u8], &mut Vec<u8>) -> bool) -> Result<Sums> {
    let (mut buffer, mut rest, mut changed, mut sums) =
        (vec![0; PIECE], Vec::new(), Vec::new(), Sums::default());
    loop {
        let count = reader.read(&mut buffer)?;
        if count == 0 {
            return Ok(sums);
        }
        let mut lines = buffer[..count].split(|&byte| byte == b'\n').peekable();
        while let Some(line) = lines.next() {
            rest.extend_from_slice(line);
            if lines.peek().is_none() {
                break;
            }
            changed.clear();
            if change(&rest, &mut changed) {
                sums.rows += 1;
                sums.bytes += changed.len() as u64 + 1;
                sums.digest.add_line(&changed);
            }
            rest.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &[u8] = b"1\ta\\tb\t2020-01-01 00:00:00.000000\t2038-01-19 03:14:07.999999\n\
        1\told\t2019-01-01 00:00:00.000000\t2020-01-01 00:00:00.000000\n\
        2\t\\N\t2020-01-01 00:00:00.000000\t2106-02-07 06:28:15.999999\n";

    #[test]
    fn zeros_lose_their_sign_in_doubles_only() {
        let mut out = Vec::new();
        without_negative_zeros(b"-0\t-0\t-0.50\t-0.00\t\\N", &[1, 2, 3, 4], &mut out);
        assert_eq!(out, b"-0\t0\t-0.50\t0.00\t\\N");
    }

    proptest! {
        #[test]
        fn rows_of_now_come_out_however_they_are_cut(cuts in prop::collection::vec(0usize..TEXT.len(), 0..6)) {
            let current = Current { end: 3, times: [2, 3] };
            let mut cuts = cuts;
            cuts.extend([0, TEXT.len()]);
            cuts.sort_unstable();
            let (mut rest, mut out) = (Vec::new(), Vec::new());
            for cut in cuts.windows(2) {
                out.extend(current.filter(&TEXT[cut[0]..cut[1]], &mut rest));
            }
            prop_assert_eq!(out, b"1\ta\\tb\n2\t\\N\n".to_vec());
            prop_assert!(rest.is_empty());
        }
    }
}
