//! Loading one file of rows: streamed to the server, checked against the manifest, committed only then.

use std::io;
use std::path::Path;

use drover_db::wire::Outcome;
use drover_db::{Connection, quote};

use crate::dump::catalog::Name;
use crate::error::Doing;
use crate::format::files::{Compression, FileReader};
use crate::format::manifest::{Chunk, Table};
use crate::progress::Progress;
use crate::{Error, Result};

/// Text is read from the decompressor in pieces of this many bytes.
const PIECE: usize = 256 << 10;
/// "Data truncated": what MariaDB says of an ENUM's error value.
const WARN_DATA_TRUNCATED: u16 = 1265;

/// The statement that loads a file into a table.
pub(super) fn statement(table: &Table, target: &Name, file: &str) -> String {
    let (mut fields, mut assignments) = (Vec::new(), Vec::new());
    for (index, column) in table.columns.iter().enumerate() {
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
    assignments.extend(table.computed.iter().map(|name| format!("{} = DEFAULT", quote::identifier(name))));
    let set = if assignments.is_empty() { String::new() } else { format!(" SET {}", assignments.join(", ")) };
    format!(
        "LOAD DATA LOCAL INFILE {} INTO TABLE {target} CHARACTER SET binary FIELDS TERMINATED BY '\\t' ESCAPED BY \
         '\\\\' LINES TERMINATED BY '\\n' ({}){set}",
        quote::string(file),
        fields.join(", ")
    )
}

/// One file to load.
pub(super) struct Load<'a> {
    pub(super) dir: &'a Path,
    pub(super) compression: Compression,
    pub(super) table: &'a Table,
    pub(super) target: Name,
    pub(super) chunk: &'a Chunk,
    pub(super) progress: &'a Progress,
}

impl Load<'_> {
    /// Loads the file in a transaction of its own.
    pub(super) fn run(&self, connection: &mut Connection) -> Result<()> {
        if self.chunk.rows == 0 {
            return Ok(());
        }
        connection.execute("START TRANSACTION").doing(|| self.doing())?;
        match self.load(connection) {
            Ok(()) => connection.execute("COMMIT").map(drop).doing(|| self.doing()),
            Err(error) => {
                // If this fails the connection is gone, and the server rolls back by itself.
                let _ = connection.execute("ROLLBACK");
                Err(error)
            }
        }
    }

    fn doing(&self) -> String {
        format!("loading {} into {}", self.dir.join(&self.chunk.file).display(), self.target)
    }

    fn load(&self, connection: &mut Connection) -> Result<()> {
        let mut reader = Some(FileReader::open(&self.dir.join(&self.chunk.file), self.compression)?);
        let mut damaged = None;
        let sql = statement(self.table, &self.target, &self.chunk.file);
        let result = connection.load(sql, |upload| {
            let mut buffer = vec![0; PIECE];
            while let Some(input) = &mut reader {
                match input.read(&mut buffer) {
                    Ok(0) => break,
                    Ok(count) => {
                        upload.send(&buffer[..count])?;
                        self.progress.count(0, count as u64);
                        self.progress.done(count as u64);
                    }
                    Err(error) => {
                        damaged = Some(error);
                        return Err(io::ErrorKind::InvalidData.into());
                    }
                }
            }
            Ok(())
        });
        if let Some(error) = damaged {
            return Err(error);
        }
        let outcome = result.doing(|| self.doing())?.outcome;
        if let Some(reader) = reader {
            self.check_file(reader)?;
        }
        self.check_outcome(connection, &outcome)?;
        self.progress.count(self.chunk.rows, 0);
        Ok(())
    }

    fn check_file(&self, reader: FileReader) -> Result<()> {
        let stored = reader.finish()?;
        if stored.bytes == self.chunk.stored_bytes && stored.checksum == self.chunk.checksum {
            return Ok(());
        }
        Err(Error::found(format!(
            "{}: the file is damaged: its checksum is {}, the manifest says {}",
            self.dir.join(&self.chunk.file).display(),
            stored.checksum,
            self.chunk.checksum
        )))
    }

    /// Compares what the server did with what was sent.
    fn check_outcome(&self, connection: &mut Connection, outcome: &Outcome) -> Result<()> {
        let warnings = counted(&outcome.info, "Warnings:").unwrap_or_else(|| u64::from(outcome.warnings));
        let rows = self.chunk.rows;
        if outcome.affected == rows && warnings == 0 {
            return Ok(());
        }
        let said = connection.query("SHOW WARNINGS").doing(|| self.doing())?;
        let is_enum_error = |row: &drover_db::Row| row.parse(1) == Some(WARN_DATA_TRUNCATED);
        let expected = warnings <= self.chunk.enum_errors && said.rows.iter().all(is_enum_error);
        if outcome.affected == rows && expected {
            return Ok(());
        }
        let said: Vec<_> = said.rows.iter().take(3).map(|row| format!("\n  {}", row.string(2))).collect();
        Err(Error::with_hint(
            format!(
                "{}: the file holds {rows} rows, the server took {} with {warnings} warnings{}",
                self.doing(),
                outcome.affected,
                said.concat()
            ),
            "nothing of this file was kept; row numbers are those in the file",
        ))
    }
}

/// A number in the server's summary, such as that behind `Warnings:`.
fn counted(info: &str, word: &str) -> Option<u64> {
    info.split_once(word)?.1.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::manifest::Column;

    #[test]
    fn the_statement_names_columns_and_converts_what_must_be() {
        let column = |name: &str, load: Option<&str>| Column { name: name.into(), read: None, load: load.map(Into::into) };
        let mut table = Table {
            name: "t".into(),
            script: String::new(),
            engine: String::new(),
            columns: vec![column("a", None), column("j", Some("CONVERT(@value USING utf8mb4)"))],
            computed: vec![],
            rows_elsewhere: false,
            with_history: false,
            key: vec![],
            files: vec![],
        };
        let sql = statement(&table, &Name::new("s", "t"), "s/t.00001.tsv");
        assert!(sql.starts_with("LOAD DATA LOCAL INFILE 's/t.00001.tsv' INTO TABLE `s`.`t` CHARACTER SET binary"), "{sql}");
        assert!(sql.ends_with(r"LINES TERMINATED BY '\n' (`a`, @v1) SET `j` = CONVERT(@v1 USING utf8mb4)"), "{sql}");
        table.columns.clear();
        assert!(statement(&table, &Name::new("s", "t"), "f").ends_with("(@unused)"));
    }

    #[test]
    fn the_summary_of_a_load() {
        let info = "Records: 3  Deleted: 0  Skipped: 1  Warnings: 70000";
        assert_eq!((counted(info, "Records:"), counted(info, "Warnings:")), (Some(3), Some(70_000)));
        assert_eq!(counted("", "Warnings:"), None);
    }
}
