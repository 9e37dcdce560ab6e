//! The file that keeps what is deleted, in the form of a dump's row files (docs/dump-format.md): a line for each row. It is written out
//! before the transaction that deletes the rows is committed, and cut back to what that transaction noted where it was not.

use std::fs::{File, OpenOptions};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use drover_db::table::{ColumnFacts, Name, ReadColumn, text, to_read};
use drover_db::wire::RawRow;
use drover_db::{Connection, quote};

use crate::error::Doing;
use crate::{Error, Result};

/// zstd's level for files whose name ends with .zst: the default of a dump.
const LEVEL: i32 = 3;

/// An archive that is open.
#[derive(Debug)]
pub(crate) struct Archive {
    path: PathBuf,
    file: File,
    is_packed: bool,
    /// What reads each column.
    reads: Vec<String>,
    /// The command that unpacks the file, if it is packed.
    pub(crate) unpack: Option<String>,
    /// The statements that load the file, unpacked.
    pub(crate) load: String,
}

impl Archive {
    /// Opens the file, which nobody else may read, and cuts it to the length that was noted: 0 for a run that begins, whose file must not be there.
    ///
    /// # Errors
    /// If it cannot be opened, is there, or holds less than was noted.
    pub(crate) fn open(
        path: &Path,
        noted: u64,
        is_new: bool,
        table: &Name,
        facts: &[ColumnFacts],
    ) -> Result<Self> {
        let file = OpenOptions::new().write(true).create_new(is_new).mode(0o600).open(path);
        let file = file.map_err(|source| match source.kind() {
            std::io::ErrorKind::AlreadyExists => Error::with_hint(
                format!("{} is there already", path.display()),
                "an archive belongs to one run: name another file, or move that one away",
            ),
            _ => Error::file(path)(source),
        })?;
        let columns = to_read(facts, false);
        let reads = columns.iter().map(|column| {
            let facts = facts.iter().find(|facts| facts.name == column.column.name);
            let read = column.column.read.clone().unwrap_or_else(|| quote::identifier(&column.column.name));
            facts.filter(|facts| facts.data_type == "timestamp").map_or(read, in_utc)
        });
        let reads = reads.collect();
        let load = load_statement(path, table, &columns);
        let is_packed = path.extension().is_some_and(|extension| extension == "zst");
        let unpack = is_packed.then(|| format!("zstd -d {}", shell_word(&path.display().to_string())));
        let mut archive = Self { path: path.to_owned(), file, is_packed, reads, unpack, load };
        let length = archive.file.metadata().map_err(Error::file(path))?.len();
        if length < noted {
            return Err(Error::with_hint(
                format!("{} has {length} bytes, but {noted} were written to it", path.display()),
                "bring back the file as it was; without it rows that were deleted are lost",
            ));
        }
        archive.cut(noted)?;
        if is_new {
            sync_directory(path)?;
        }
        Ok(archive)
    }

    /// Cuts the file to a length that was noted.
    ///
    /// # Errors
    /// What the system said.
    pub(crate) fn cut(&mut self, length: u64) -> Result<()> {
        self.file
            .set_len(length)
            .and_then(|()| self.file.seek(SeekFrom::Start(length)))
            .map(drop)
            .map_err(Error::file(&self.path))
    }

    /// Writes the rows of a part, which it locks, behind all others; gives how many they are, and the file's length.
    ///
    /// # Errors
    /// What the server or the system said.
    pub(crate) fn keep(&mut self, connection: &mut Connection, from: &str) -> Result<(u64, u64)> {
        let sql = format!("SELECT {} {from} FOR UPDATE", self.reads.join(", "));
        let mut lines = Vec::new();
        let mut rows = 0;
        let doing = || "reading the rows to keep";
        let mut stream = connection.stream(sql).doing(doing)?;
        while let Some(row) = stream.next_row().doing(doing)? {
            line(&mut lines, row, self.reads.len())
                .ok_or_else(|| Error::found("the server sent a row that is too short"))?;
            rows += 1;
        }
        if self.is_packed && rows > 0 {
            lines = zstd::bulk::compress(&lines, LEVEL).map_err(Error::file(&self.path))?;
        }
        let written = self.file.write_all(&lines).and_then(|()| self.file.sync_data());
        written.map_err(Error::file(&self.path))?;
        let length = self.file.stream_position().map_err(Error::file(&self.path))?;
        Ok((rows, length))
    }
}

/// Appends the line of a row; `None` if the row has not so many columns.
fn line(lines: &mut Vec<u8>, row: RawRow<'_>, columns: usize) -> Option<()> {
    match row {
        RawRow::Whole(payload) => text::line_into(lines, payload, columns).map(drop)?,
        RawRow::Large(mut row) => {
            for column in 0..columns {
                if column > 0 {
                    lines.push(b'\t');
                }
                let Some(mut left) = row.next_field().ok()? else {
                    lines.extend_from_slice(b"\\N");
                    continue;
                };
                while left > 0 {
                    let piece = row.piece().ok()?;
                    text::escape_into(lines, piece);
                    left = left.saturating_sub(piece.len() as u64);
                }
            }
        }
    }
    lines.push(b'\n');
    Some(())
}

/// A word of a shell's command.
fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+".contains(c);
    if text.chars().all(is_plain) { text.to_owned() } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

/// The statements that load the file, unpacked, into the table again: its times are in UTC.
fn load_statement(path: &Path, table: &Name, columns: &[ReadColumn]) -> String {
    let (mut fields, mut assignments) = (Vec::new(), Vec::new());
    for (index, column) in columns.iter().enumerate() {
        let name = quote::identifier(&column.column.name);
        match &column.column.load {
            None => fields.push(name),
            Some(expression) => {
                let variable = format!("@v{index}");
                assignments.push(format!("{name} = {}", expression.replace("@value", &variable)));
                fields.push(variable);
            }
        }
    }
    let set = if assignments.is_empty() { String::new() } else { format!(" SET {}", assignments.join(", ")) };
    let file = path.display().to_string();
    format!(
        "SET time_zone = '+00:00'; LOAD DATA LOCAL INFILE {} INTO TABLE {table} CHARACTER SET binary FIELDS TERMINATED BY '\\t' ESCAPED BY '\\\\' LINES \
         TERMINATED BY '\\n' ({}){set}",
        quote::string(file.strip_suffix(".zst").unwrap_or(&file)),
        fields.join(", ")
    )
}

/// A TIMESTAMP's text in UTC, as a dump has it, whatever the session's time zone is; the zero value is no moment.
fn in_utc(facts: &ColumnFacts) -> String {
    let name = quote::identifier(&facts.name);
    let digits = facts
        .column_type
        .split_once('(')
        .and_then(|(_, rest)| rest.split_once(')'))
        .map_or("0", |(digits, _)| digits);
    format!(
        "IF({name} + 0 = 0, CAST({name} AS CHAR), CAST(TIMESTAMP'1970-01-01 00:00:00' + INTERVAL UNIX_TIMESTAMP({name}) SECOND AS \
         DATETIME({digits})))"
    )
}

fn sync_directory(path: &Path) -> Result<()> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(directory).and_then(|directory| directory.sync_all()).map_err(Error::file(directory))
}
