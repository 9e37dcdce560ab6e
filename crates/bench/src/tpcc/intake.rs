//! How a part's lines come into a table: as a file, or by prepared INSERT statements where the server takes no files from its clients.

use drover_db::wire::{ManyRows, ParameterKind, RowInserts, Value};
use drover_db::{Connection, server};

use super::rows::Lines;
use super::schema::kinds;
use crate::{Error, Result};

/// The way that a server takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// LOAD DATA LOCAL, with this character set.
    File(&'static str),
    /// INSERT statements of many rows; whether the server answers at once.
    Statements { is_near: bool },
}

/// Whether the server takes files from its clients. MySQL does not, as its vendor ships it.
pub(super) fn takes_files(connection: &mut Connection) -> Result<bool> {
    let setting =
        server::variable(connection, "GLOBAL.local_infile").map_err(Error::server("reading local_infile"))?;
    Ok(!matches!(setting.as_deref(), Some("0" | "OFF")))
}

/// Lines on their way, in a transaction of their own.
#[derive(Debug)]
pub(super) struct Intake {
    statements: Option<Statements>,
    affected: u64,
    warnings: u32,
}

#[derive(Debug)]
struct Statements {
    inserts: RowInserts,
    kinds: Vec<ParameterKind>,
    rows: ManyRows,
}

impl Intake {
    pub(super) fn begin(connection: &mut Connection, way: Way, table: &str) -> drover_db::Result<Self> {
        let statements = match way {
            Way::File(charset) => {
                connection.begin_load(format!(
                    "LOAD DATA LOCAL INFILE '{table}' INTO TABLE {table} CHARACTER SET {charset}"
                ))?;
                None
            }
            Way::Statements { is_near } => {
                connection.execute("START TRANSACTION")?;
                let kinds = kinds(table);
                let head = format!("INSERT INTO {table} VALUES ");
                let inserts = RowInserts::new(head, kinds.len(), is_near);
                Some(Statements { inserts, rows: ManyRows::new(kinds.iter().copied()), kinds })
            }
        };
        Ok(Self { statements, affected: 0, warnings: 0 })
    }

    pub(super) fn send(&mut self, connection: &mut Connection, lines: &Lines) -> drover_db::Result<()> {
        let Some(statements) = &mut self.statements else { return connection.send(&lines.bytes) };
        self.warnings += statements.add(&lines.bytes);
        self.execute(connection, false)
    }

    /// Executes statements for the rows that wait: for as many as make up the largest statement, or for all.
    fn execute(&mut self, connection: &mut Connection, all: bool) -> drover_db::Result<()> {
        let Some(Statements { inserts, rows, .. }) = &mut self.statements else { return Ok(()) };
        while let Some(outcome) = inserts.execute(connection, rows, all)? {
            self.affected += outcome.affected;
            self.warnings += u32::from(outcome.warnings);
        }
        rows.forget();
        Ok(())
    }

    /// How many rows came in, and with how many warnings.
    pub(super) fn end(mut self, connection: &mut Connection) -> drover_db::Result<(u64, u32)> {
        self.execute(connection, true)?;
        match self.statements {
            None => connection.end_load().map(|outcome| (outcome.affected, outcome.warnings.into())),
            Some(Statements { inserts, .. }) => {
                inserts.close(connection)?;
                connection.execute("COMMIT").map(|_| (self.affected, self.warnings))
            }
        }
    }
}

impl Statements {
    /// Adds the rows of lines, whose fields hold no escapes, but for `\N`; how many fields are not of their column's kind.
    fn add(&mut self, lines: &[u8]) -> u32 {
        let mut unfit = 0;
        for line in lines.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
            for (field, kind) in line.split(|&byte| byte == b'\t').zip(&self.kinds) {
                let value = if field == b"\\N" { Some(Value::Null) } else { kind.of_text(field) };
                unfit += u32::from(value.is_none());
                self.rows.push(value.unwrap_or(Value::Null));
            }
            self.rows.end_row();
        }
        unfit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_as_rows() {
        let kinds = vec![ParameterKind::Int, ParameterKind::Text, ParameterKind::Decimal];
        let inserts = RowInserts::new(String::new(), kinds.len(), true);
        let of = |kinds: &[ParameterKind]| ManyRows::new(kinds.iter().copied());
        let mut expected = of(&kinds);
        for row in [
            [Value::Int(1), Value::Text(b"ab"), Value::Null],
            [Value::Int(2), Value::Text(b""), Value::Decimal(b"-3.5")],
        ] {
            row.into_iter().for_each(|value| expected.push(value));
            expected.end_row();
        }
        let mut statements = Statements { inserts, rows: of(&kinds), kinds };
        let unfit = statements.add(b"1\tab\t\\N\n2\t\t-3.5\n");
        assert_eq!((unfit, &statements.rows), (0, &expected));
        assert_eq!(statements.add(b"x\tab\t1\n"), 1);
    }
}
