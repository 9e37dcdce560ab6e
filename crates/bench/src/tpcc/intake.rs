//! How a part's lines come into a table: as a file, or as INSERT statements where the server takes no files from its clients.

use drover_db::{Connection, server};

use super::rows::Lines;
use crate::{Error, Result};

/// The way that a server takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// LOAD DATA LOCAL, with this character set.
    File(&'static str),
    /// INSERT statements of many rows.
    Statements,
}

/// Whether the server takes files from its clients. MySQL does not, as its vendor ships it.
pub(super) fn takes_files(connection: &mut Connection) -> Result<bool> {
    let setting =
        server::variable(connection, "GLOBAL.local_infile").map_err(Error::server("reading local_infile"))?;
    Ok(!matches!(setting.as_deref(), Some("0" | "OFF")))
}

/// Lines on their way, in a transaction of their own.
#[derive(Debug)]
pub(super) struct Intake<'a> {
    way: Way,
    table: &'a str,
    affected: u64,
    warnings: u32,
    statement: Vec<u8>,
}

impl<'a> Intake<'a> {
    pub(super) fn begin(connection: &mut Connection, way: Way, table: &'a str) -> drover_db::Result<Self> {
        match way {
            Way::File(charset) => connection.begin_load(format!(
                "LOAD DATA LOCAL INFILE '{table}' INTO TABLE {table} CHARACTER SET {charset}"
            ))?,
            Way::Statements => drop(connection.execute("START TRANSACTION")?),
        }
        Ok(Self { way, table, affected: 0, warnings: 0, statement: Vec::new() })
    }

    pub(super) fn send(&mut self, connection: &mut Connection, lines: &Lines) -> drover_db::Result<()> {
        if let Way::File(_) = self.way {
            return connection.send(&lines.bytes);
        }
        let mut rest = &lines.bytes[..];
        while !rest.is_empty() {
            let (some, next) = rest.split_at(end_of_some(rest));
            insert_into(&mut self.statement, self.table, some);
            let outcome = connection.execute(&self.statement)?;
            self.affected += outcome.affected;
            self.warnings += u32::from(outcome.warnings);
            rest = next;
        }
        Ok(())
    }

    /// How many rows came in, and with how many warnings.
    pub(super) fn end(self, connection: &mut Connection) -> drover_db::Result<(u64, u32)> {
        match self.way {
            Way::File(_) => connection.end_load().map(|outcome| (outcome.affected, outcome.warnings.into())),
            Way::Statements => connection.execute("COMMIT").map(|_| (self.affected, self.warnings)),
        }
    }
}

/// Bytes of the lines of a statement, about: a much larger one takes the server more time for each row (measured with MySQL 9.7.4: half as
/// much again at 256 KiB).
const STATEMENT: usize = 32 << 10;

/// Where the first lines end that make up a statement: one line, if that is a long one.
fn end_of_some(lines: &[u8]) -> usize {
    let newline = |byte: &u8| *byte == b'\n';
    let within = lines[..lines.len().min(STATEMENT)].iter().rposition(newline);
    within.or_else(|| lines.iter().position(newline)).map_or(lines.len(), |at| at + 1)
}

/// Writes the statement that adds these lines. Their fields hold neither quotes nor backslashes, but for `\N`.
fn insert_into(statement: &mut Vec<u8>, table: &str, lines: &[u8]) {
    statement.clear();
    statement.extend_from_slice(format!("INSERT INTO {table} VALUES ").as_bytes());
    for line in lines.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
        statement.push(b'(');
        for field in line.split(|&byte| byte == b'\t') {
            match field {
                b"\\N" => statement.extend_from_slice(b"NULL,"),
                field => [b"'", field, b"',"].iter().for_each(|text| statement.extend_from_slice(text)),
            }
        }
        statement.pop();
        statement.extend_from_slice(b"),");
    }
    statement.pop();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_as_a_statement() {
        let mut statement = Vec::new();
        insert_into(&mut statement, "t", b"1\tab\t\\N\n2\t\t-3.5\n");
        assert_eq!(statement, b"INSERT INTO t VALUES ('1','ab',NULL),('2','','-3.5')");
    }
    #[test]
    fn lines_of_a_statement_end_where_a_line_does() {
        assert_eq!(end_of_some(b"ab\ncd\n"), 6);
        let long = [&[b'x'; STATEMENT + 9][..], b"\ny\n"].concat();
        assert_eq!(end_of_some(&long), STATEMENT + 10);
        let short = b"ab\n".repeat(STATEMENT);
        assert_eq!(end_of_some(&short), STATEMENT / 3 * 3);
    }
}
