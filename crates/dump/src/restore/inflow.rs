//! Rows' lines on their way into a table: the file of a LOAD DATA, or, where the server takes them, the values of a prepared
//! INSERT, many rows at a time. benchmarks/ways measures what each costs the server. Either way the rows are part of the
//! transaction that is open, and nothing but values that the table holds as they were sent comes in without an error or a warning.

use std::collections::BTreeMap;

use drover_db::table::ValueKind;
use drover_db::wire::{Outcome, Prepared};
use drover_db::{Connection, Row, Server, Vendor, quote, server};

use super::objects::OLD_FASHIONED;
use crate::dump::catalog::Name;
use crate::error::Doing;
use crate::format::bulk::Bulk;
use crate::format::literals::Literals;
use crate::format::manifest::{Column, Table};
use crate::{Error, Result};

/// Bytes of values that are sent at a time, about.
const BATCH: usize = 256 << 10;
/// Lines are taken apart in pieces of this many bytes.
const PIECE: usize = 64 << 10;
/// The longest row that is sent as values, in bytes.
const LONGEST_ROW: usize = 256 << 10;
/// What the server must take in one packet for these, in bytes; the default is 16 times as much.
const PACKET: usize = 1 << 20;

/// How lines come into a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// As the values of a prepared INSERT. The table must be one that forgets them if anything goes wrong.
    Values,
    /// As a file in this character set.
    File(Charset),
    /// As INSERT statements of at most so many bytes, where the server takes no files.
    Inserts(usize),
}

impl Way {
    /// The way for columns that hold bytes.
    pub(crate) fn of_bytes(self) -> Self {
        match self {
            Self::Inserts(most) => Self::Inserts(most),
            Self::Values | Self::File(_) => Self::File(Charset::Binary),
        }
    }
}

/// What a file's bytes are to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Charset {
    /// Bytes, which a column takes as text of its own character set: right for all columns.
    Binary,
    /// Text in the character set that all columns have. MySQL need not convert it.
    Utf8mb4,
}

/// What of these a server takes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Takes {
    values: bool,
    /// Whether a value may stand within an expression.
    converted: bool,
    files: bool,
    /// Bytes of a statement.
    packet: usize,
}

/// Before it, CONVERT of a value is NULL for all rows behind a NULL of the same statement. Found with MariaDB 10.2.11, and not with 10.5.23.
const KEEPS_VALUES_BEHIND_NULL: (u32, u32, u32) = (10, 5, 0);

impl Takes {
    /// Asks; `files` says whether the server takes these.
    pub(crate) fn of(connection: &mut Connection, files: bool) -> Result<Self> {
        let most =
            server::variable(connection, "max_allowed_packet").doing(|| "reading max_allowed_packet")?;
        let packet = most.and_then(|most| most.parse().ok()).unwrap_or(PACKET);
        let values = connection.takes_bulk() && packet >= PACKET;
        let server = Server::of(connection).doing(|| "asking for the server's version")?;
        let converted = server.numbers() >= KEEPS_VALUES_BEHIND_NULL;
        Ok(Self { values, converted, files, packet })
    }

    /// Whether a table with these columns takes values.
    pub(crate) fn values(self, columns: &[Column]) -> bool {
        self.values
            && has_values(columns)
            && (self.converted || columns.iter().all(|column| column.load.is_none()))
    }

    /// Whether rows come as statements where they do not come as values.
    pub(crate) fn takes_no_files(self) -> bool {
        !self.files
    }

    /// As statements, if the table's rows can come so.
    pub(crate) fn inserts(self, table: &Table) -> Option<Way> {
        table.columns.iter().all(is_used_once).then_some(Way::Inserts(self.packet))
    }

    /// The way for what cannot come as values, if files come in this character set.
    ///
    /// # Errors
    /// If the table's rows can come as a file only, and the server takes none.
    pub(crate) fn otherwise(self, charset: Charset, table: &Table, target: &Name) -> Result<Way> {
        if self.files {
            return Ok(Way::File(charset));
        }
        match table.columns.iter().find(|column| !is_used_once(column)) {
            None => Ok(Way::Inserts(self.packet)),
            Some(column) => Err(Error::with_hint(
                format!(
                    "{target}: column '{}' is loaded by an expression that needs a file, and the server takes none (local_infile is OFF)",
                    column.name
                ),
                "--enable-local-infile switches it on meanwhile",
            )),
        }
    }
}

/// The character set in which files for a table are loaded fastest.
pub(crate) fn charset(
    connection: &mut Connection,
    vendor: Vendor,
    table: &Table,
    target: &Name,
) -> Result<Charset> {
    // Only for MySQL it is less work.
    if vendor != Vendor::MySql || table.columns.iter().any(|column| column.load.is_some()) {
        return Ok(Charset::Binary);
    }
    let all = kinds(connection, target)?.into_values().all(is_utf8mb4);
    Ok(if all { Charset::Utf8mb4 } else { Charset::Binary })
}

/// For each column of a table, whether its values can stand in a statement as text, which is UTF-8: a server reads a string that is marked
/// as bytes more slowly.
pub(crate) fn as_text(connection: &mut Connection, table: &Table, target: &Name) -> Result<Vec<bool>> {
    let kinds = kinds(connection, target)?;
    let is_text = |column: &Column| {
        column.load.is_none() && kinds.get(&column.name).is_some_and(|kind| is_utf8mb4(*kind))
    };
    Ok(table.columns.iter().map(is_text).collect())
}

fn is_utf8mb4(kind: ValueKind) -> bool {
    matches!(kind, ValueKind::Number | ValueKind::Word | ValueKind::Utf8)
}

/// What the columns of a table hold.
fn kinds(connection: &mut Connection, target: &Name) -> Result<BTreeMap<String, ValueKind>> {
    let sql = format!(
        "SELECT TABLE_SCHEMA, TABLE_NAME, DATA_TYPE, CHARACTER_SET_NAME, COLUMN_NAME FROM information_schema.COLUMNS WHERE {}",
        target.condition()
    );
    let rows = connection.query(sql).doing(|| format!("reading the columns of {target}"))?;
    let kind = |row: Row| {
        let kind = ValueKind::of(&row.string(2).to_ascii_lowercase(), row.text(3).as_deref());
        (row.string(4), kind)
    };
    Ok(rows.into_iter().filter(|row| target.begins(row)).map(kind).collect())
}

/// What comes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rows<'a> {
    /// The columns that the lines have.
    pub(crate) columns: &'a [Column],
    /// Those that the server computes.
    pub(crate) computed: &'a [String],
    pub(crate) target: &'a Name,
    /// The name of the file or chunk, for the server's own messages.
    pub(crate) file: &'a str,
    /// Which columns' values stand in a statement as text: see [`as_text`]. Those beyond it as bytes.
    pub(crate) as_text: &'a [bool],
}

/// Lines on their way.
pub(crate) enum Inflow {
    File,
    Values(Box<Values>),
    Inserts(Box<Inserts>),
}

/// What the server did with lines.
#[derive(Debug, Default)]
pub(crate) struct Loaded {
    /// Rows that came in.
    pub(crate) affected: u64,
    pub(crate) warnings: u64,
    /// The first of them: number and words.
    pub(crate) said: Vec<(u16, String)>,
}

impl Loaded {
    fn of(connection: &mut Connection, outcome: &Outcome) -> drover_db::Result<Self> {
        let warnings =
            super::load::counted(&outcome.info, "Warnings:").unwrap_or_else(|| u64::from(outcome.warnings));
        let said = if warnings == 0 { Vec::new() } else { connection.query("SHOW WARNINGS")?.rows };
        let said = said.iter().map(|row| (row.parse(1).unwrap_or(0), row.string(2)));
        let (of_table, said): (Vec<_>, Vec<_>) = said.partition(|(code, _)| OLD_FASHIONED.contains(code));
        // 5.7 says of each statement that fills a partitioned table of MyISAM that such tables go out of use.
        let warnings = warnings.saturating_sub(of_table.len() as u64);
        Ok(Self { affected: outcome.affected, warnings, said })
    }

    /// Adds what came of the next rows; numbers of rows count from the first of all.
    fn add(&mut self, next: Self, rows_before: u64) {
        self.affected += next.affected;
        self.warnings += next.warnings;
        self.said.extend(next.said.into_iter().map(|(code, text)| (code, renumbered(text, rows_before))));
    }
}

/// `… at row 3` where there were so many rows before.
fn renumbered(text: String, rows_before: u64) -> String {
    match text.rsplit_once(" at row ").and_then(|(words, row)| Some((words, row.parse::<u64>().ok()?))) {
        Some((words, row)) => format!("{words} at row {}", row + rows_before),
        None => text,
    }
}

/// Statements on their way.
pub(crate) struct Inserts {
    /// Up to the first row.
    head: Vec<u8>,
    lines: Literals,
    /// Bytes that a statement may have.
    most: usize,
    rows: u64,
    loaded: Loaded,
    is_refused: bool,
}

impl Inserts {
    fn send(&mut self, connection: &mut Connection, text: &[u8], doing: &impl Fn() -> String) -> Result<()> {
        let batch = (self.most / 4).min(BATCH);
        for piece in text.chunks(PIECE.min(batch)) {
            self.lines.pass(piece);
            if self.lines.len() >= batch {
                self.execute(connection, doing)?;
            }
        }
        Ok(())
    }

    /// Runs a statement of the rows that are whole.
    fn execute(&mut self, connection: &mut Connection, doing: &impl Fn() -> String) -> Result<()> {
        if self.is_refused {
            return Ok(());
        }
        let executed = self.try_execute(connection, doing);
        self.is_refused = executed.is_err();
        executed
    }

    fn try_execute(&mut self, connection: &mut Connection, doing: &impl Fn() -> String) -> Result<()> {
        if self.lines.is_malformed() {
            return Err(Error::found(format!("{}: a line has more or fewer fields than the table", doing())));
        }
        let room = self.most.saturating_sub(self.head.len() + 1);
        let mut from = 0;
        while from < self.lines.rows() {
            let (rows, next) = self.lines.some(from, room);
            if rows.len() > room {
                return Err(self.too_long(doing()));
            }
            let outcome = connection.execute([&self.head, rows].concat()).doing(doing)?;
            let loaded = Loaded::of(connection, &outcome).doing(doing)?;
            self.loaded.add(loaded, self.rows);
            self.rows += (next - from) as u64;
            from = next;
        }
        self.lines.forget();
        if self.lines.len() > room { Err(self.too_long(doing())) } else { Ok(()) }
    }

    fn too_long(&self, doing: String) -> Error {
        Error::with_hint(
            format!(
                "{doing}: row {} is longer than the server takes in a statement (max_allowed_packet: {} bytes)",
                self.rows + 1,
                self.most
            ),
            "SET GLOBAL max_allowed_packet to more, or local_infile = ON (--enable-local-infile)",
        )
    }
}

/// Values on their way.
pub(crate) struct Values {
    statement: Prepared,
    lines: Bulk,
    /// What the server did with those that it has.
    outcome: Outcome,
    /// Whether it refused some; nothing more is sent then, since the transaction may be gone.
    is_refused: bool,
}

impl Inflow {
    /// Makes the server wait for lines.
    ///
    /// # Errors
    /// What the server said.
    pub(crate) fn begin(connection: &mut Connection, way: Way, rows: Rows<'_>) -> drover_db::Result<Self> {
        match way {
            Way::Values => {
                let statement = connection.prepare(rows.insert())?;
                let lines = Bulk::new(rows.columns.len());
                let values = Values { statement, lines, outcome: Outcome::default(), is_refused: false };
                Ok(Self::Values(Box::new(values)))
            }
            Way::File(charset) => connection.begin_load(rows.load_data(charset)).map(|()| Self::File),
            Way::Inserts(most) => {
                let (head, lines) = (rows.insert_head(), Literals::new(rows.columns, rows.as_text));
                let (rows, loaded) = (0, Loaded::default());
                Ok(Self::Inserts(Box::new(Inserts { head, lines, most, rows, loaded, is_refused: false })))
            }
        }
    }

    /// Sends the next piece of the lines.
    ///
    /// # Errors
    /// What the server said, or that rows cannot come this way.
    pub(crate) fn send(
        &mut self,
        connection: &mut Connection,
        text: &[u8],
        doing: impl Fn() -> String,
    ) -> Result<()> {
        match self {
            Self::File => connection.send(text).doing(doing),
            Self::Inserts(inserts) => inserts.send(connection, text, &doing),
            Self::Values(values) => text.chunks(PIECE).try_for_each(|piece| {
                values.lines.pass(piece);
                if values.lines.rows().size() < BATCH { Ok(()) } else { values.execute(connection, &doing) }
            }),
        }
    }

    /// Ends, also after an error, so that the connection stays usable; tells what the server did with the lines.
    ///
    /// # Errors
    /// What the server said, or that rows cannot come this way.
    pub(crate) fn end(self, connection: &mut Connection, doing: impl Fn() -> String) -> Result<Loaded> {
        match self {
            Self::File => {
                let outcome = connection.end_load().doing(&doing)?;
                Loaded::of(connection, &outcome).doing(doing)
            }
            Self::Inserts(mut inserts) => {
                inserts.execute(connection, &doing)?;
                Ok(inserts.loaded)
            }
            Self::Values(mut values) => {
                let executed = values.execute(connection, &doing);
                let Values { statement, outcome, .. } = *values;
                connection.close(statement).doing(&doing)?;
                executed?;
                Loaded::of(connection, &outcome).doing(doing)
            }
        }
    }
}

impl Values {
    fn execute(&mut self, connection: &mut Connection, doing: &impl Fn() -> String) -> Result<()> {
        if self.is_refused {
            return Ok(());
        }
        let executed = self.try_execute(connection, doing);
        self.is_refused = executed.is_err();
        executed
    }

    fn try_execute(&mut self, connection: &mut Connection, doing: &impl Fn() -> String) -> Result<()> {
        if self.lines.is_malformed() {
            return Err(Error::found(format!("{}: a line has more or fewer fields than the table", doing())));
        }
        let rows = self.lines.rows();
        if rows.rows() > 0 {
            let outcome = connection.execute_bulk(&self.statement, rows).doing(doing)?;
            self.outcome.affected += outcome.affected;
            self.outcome.warnings = self.outcome.warnings.saturating_add(outcome.warnings);
        }
        if rows.size() > LONGEST_ROW {
            return Err(Error::found(format!("{}: a row is longer than {LONGEST_ROW} bytes", doing())));
        }
        Ok(())
    }
}

/// Whether rows that were refused as values may be taken as a file, or refused in words that say why: no deadlock, and no session
/// that was ended by somebody.
pub(crate) fn is_refused(error: &Error) -> bool {
    match error {
        Error::Server { source, .. } => {
            source.code().is_some_and(|code| ![1053, 1213, 1317, 1927].contains(&code))
        }
        Error::Found { .. } => true,
        Error::File { .. } | Error::Stopped => false,
    }
}

/// Whether the server says of a file that it has no value for a column. MySQL 8.0 before 8.0.33 says so of a geometry that must not be NULL,
/// though the file has one (found with 8.0.12).
pub(crate) fn is_unfilled(error: &Error) -> bool {
    const NO_DEFAULT_FOR_FIELD: u16 = 1364;
    matches!(error, Error::Server { source, .. } if source.code() == Some(NO_DEFAULT_FOR_FIELD))
}

/// Whether lines can come as values.
pub(crate) fn has_values(columns: &[Column]) -> bool {
    !columns.is_empty() && columns.iter().all(is_used_once)
}

/// Whether a value stands in its column's expression just once.
fn is_used_once(column: &Column) -> bool {
    column.load.as_ref().is_none_or(|load| load.matches("@value").count() == 1)
}

impl Rows<'_> {
    /// The statement that takes values.
    fn insert(self) -> String {
        let value =
            |column: &Column| column.load.as_ref().map_or("?".into(), |load| load.replace("@value", "?"));
        let values: Vec<_> = self.columns.iter().map(value).collect();
        let names = quote::identifiers(self.columns.iter().map(|column| column.name.as_str()));
        format!("INSERT INTO {} ({names}) VALUES ({})", self.target, values.join(", "))
    }

    /// What a statement of literals begins with. IGNORE makes warnings of what does not come in as it was sent, as LOAD DATA LOCAL does.
    fn insert_head(self) -> Vec<u8> {
        let names = quote::identifiers(self.columns.iter().map(|column| column.name.as_str()));
        format!("INSERT IGNORE INTO {} ({names}) VALUES ", self.target).into_bytes()
    }

    /// The statement that takes a file.
    fn load_data(self, charset: Charset) -> String {
        let (mut fields, mut assignments) = (Vec::new(), Vec::new());
        for (index, column) in self.columns.iter().enumerate() {
            let name = quote::identifier(&column.name);
            match &column.load {
                None => fields.push(name),
                Some(expression) => {
                    let variable = format!("@v{index}");
                    assignments.push(format!("{name} = {}", expression.replace("@value", &variable)));
                    fields.push(variable);
                }
            }
        }
        if fields.is_empty() {
            fields.push("@unused".into());
        }
        assignments.extend(self.computed.iter().map(|name| format!("{} = DEFAULT", quote::identifier(name))));
        let set =
            if assignments.is_empty() { String::new() } else { format!(" SET {}", assignments.join(", ")) };
        let charset = match charset {
            Charset::Binary => "binary",
            Charset::Utf8mb4 => "utf8mb4",
        };
        format!(
            "LOAD DATA LOCAL INFILE {} INTO TABLE {} CHARACTER SET {charset} FIELDS TERMINATED BY '\\t' ESCAPED BY \
             '\\\\' LINES TERMINATED BY '\\n' ({}){set}",
            quote::string(self.file),
            self.target,
            fields.join(", ")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str, load: Option<&str>) -> Column {
        Column { name: name.into(), read: None, load: load.map(Into::into) }
    }

    #[test]
    fn a_file_goes_into_columns_and_expressions() {
        let columns = [column("a", None), column("j", Some("CONVERT(@value USING utf8mb4)"))];
        let target = Name::new("s", "t");
        let computed = ["g".to_owned()];
        let rows = Rows {
            columns: &columns,
            computed: &computed,
            target: &target,
            file: "s/t.00001.tsv",
            as_text: &[],
        };
        let sql = rows.load_data(Charset::Binary);
        assert!(
            sql.starts_with("LOAD DATA LOCAL INFILE 's/t.00001.tsv' INTO TABLE `s`.`t` CHARACTER SET binary"),
            "{sql}"
        );
        let end = r"LINES TERMINATED BY '\n' (`a`, @v1) SET `j` = CONVERT(@v1 USING utf8mb4), `g` = DEFAULT";
        assert!(sql.ends_with(end), "{sql}");
        let rows = Rows { columns: &[], computed: &[], ..rows };
        assert!(rows.load_data(Charset::Utf8mb4).ends_with("(@unused)"));
    }

    #[test]
    fn values_go_into_the_same() {
        let columns = [column("a", None), column("j", Some("CONVERT(@value USING utf8mb4)"))];
        let rows =
            Rows { columns: &columns, computed: &[], target: &Name::new("s", "t"), file: "", as_text: &[] };
        assert_eq!(rows.insert(), "INSERT INTO `s`.`t` (`a`, `j`) VALUES (?, CONVERT(? USING utf8mb4))");
        assert!(has_values(&columns));
        assert!(!has_values(&[]));
        assert!(!has_values(&[column("a", Some("IF(@value = '', NULL, @value)"))]));
    }
}
