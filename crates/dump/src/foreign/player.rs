//! Running statements of a dump over one connection: settings and definitions one by one, rows in batches that are
//! committed together.

use std::borrow::Cow;
use std::io::Read;
use std::path::Path;

use drover_db::sql::{Dialect, Token, tokens_in_comments};
use drover_db::{Connection, Vendor, er};

use super::context::Context;
use super::generated::Generated;
use super::history::RowEnd;
use super::input;
use super::kept;
use super::modes;
use super::replicated;
use super::script::{Statement, contains, use_statement};
use super::target::Made;
use crate::definer::CURRENT_USER;
use crate::dump::catalog::Name;
use crate::error::Doing;
use crate::schema::SchemaOptions;
use crate::{Error, Result};
use drover_format::kind::Kind;

/// Statements with rows are committed together up to this many bytes of text. Measured: with less, commits cost; with
/// more, the other workers wait.
pub(super) const BATCH: usize = 4 << 20;
/// How often a batch that the server rolled back to end a deadlock is tried again.
pub(super) const ATTEMPTS: u32 = 10;
/// Warnings that are not about what is kept: old ways of writing, index options that an engine passes over, and values of
/// generated columns, which mariadb-dump writes and the server computes.
const PASSED_OVER: [u16; 9] = [
    er::ILLEGAL_HA,
    er::WARN_DEPRECATED_SYNTAX,
    er::ILLEGAL_HA_CREATE_OPTION,
    er::WARN_DEPRECATED_SYNTAX_NO_REPLACEMENT,
    er::WARNING_NON_DEFAULT_VALUE_FOR_GENERATED_COLUMN,
    er::SQL_MODE_MERGED,
    er::DEPRECATED_UTF8_ALIAS,
    er::DEPRECATED_NATIONAL,
    er::DEPRECATED_UTF8MB3_COLLATION,
];
/// Warnings of values that were not kept as they were, among those of statements that also define something: NULL, out of range, cut
/// off, of another type or character set, and in keys twice.
const OF_VALUES: [u16; 15] = [
    er::BAD_NULL_ERROR,
    er::DUP_ENTRY,
    er::WARN_NULL_TO_NOTNULL,
    er::WARN_DATA_OUT_OF_RANGE,
    er::WARN_DATA_TRUNCATED,
    er::TRUNCATED_WRONG_VALUE,
    er::INVALID_CHARACTER_STRING,
    er::DIVISION_BY_ZERO,
    er::TRUNCATED_WRONG_VALUE_FOR_FIELD,
    er::DATA_TOO_LONG,
    er::WRONG_VALUE_FOR_TYPE,
    er::CANT_CREATE_GEOMETRY_OBJECT,
    er::DATETIME_FUNCTION_OVERFLOW,
    er::DATA_OUT_OF_RANGE,
    er::CANNOT_CONVERT_CHARACTER,
];
/// In the place of the code of a warning that the server does not list.
const UNKNOWN: u16 = 0;
/// Warnings of one statement that are kept.
const KEPT: usize = 3;

/// Columns whose values the target makes itself.
struct ComputedColumns {
    row_end: Option<RowEnd>,
    generated: Option<Generated>,
}

/// Runs statements over a connection.
pub(super) struct Player<'a, 'c> {
    pub(super) connection: &'a mut Connection,
    pub(super) context: &'a Context<'c>,
}

impl Player<'_, '_> {
    /// Runs a statement that is no data; the context takes it.
    pub(super) fn run(&mut self, statement: &Statement) -> Result<()> {
        if let Kind::Use(schema) = &statement.kind {
            return self.use_schema(schema, statement);
        }
        if let Kind::CreateSchema(schema) = &statement.kind {
            let schema = self.context.renames.any_schema(schema);
            if self.context.target.has_schema(&schema) {
                return self.give_options(&schema, statement);
            }
            self.context.target.add_schema(&schema);
        }
        let text = self.redefined(statement)?;
        let text = self.context.renames.statement(&text, statement.dialect);
        match &statement.kind {
            Kind::CreateProgram(word, name) => {
                self.run_program(word, &statement.name(name)?, statement, &text)
            }
            Kind::CreateTrigger { name, .. } => {
                self.run_program("TRIGGER", &statement.name(name)?, statement, &text)
            }
            _ => self.run_as(statement, &text),
        }
    }

    /// Gives a schema that is there the options that the dump has for it, if nothing is in it yet.
    fn give_options(&mut self, schema: &str, statement: &Statement) -> Result<()> {
        if self.context.target.has_entered(schema) {
            return Ok(());
        }
        let then = SchemaOptions::of_statement(self.connection, &statement.text, statement.dialect)?;
        let kept = then.give(self.connection, schema, |_| false)?;
        self.context.tally.warn(kept, 0);
        Ok(())
    }

    /// The text of a statement, of a view or program with its new definer.
    fn redefined<'s>(&self, statement: &'s Statement) -> Result<Cow<'s, [u8]>> {
        let Some(label) = statement.program()? else { return Ok((&statement.text[..]).into()) };
        let text = self.context.definers.statement(&statement.text, statement.dialect);
        if matches!(text, Cow::Owned(_)) {
            self.context.tally.lock().redefined.insert(label);
        }
        Ok(text)
    }

    /// Makes a program. It keeps the sql_mode of the session, which a script that sets none leaves to the server.
    fn run_program(
        &mut self,
        word: &'static str,
        name: &Name,
        statement: &Statement,
        text: &[u8],
    ) -> Result<()> {
        let (context, name) = (self.context, self.context.target(name));
        let is_made = context.target.has_made_program(word, &name);
        if !is_made && context.target.has_program(self.connection, word, &name)? {
            if !context.drop_existing {
                return Err(self.context.already_there(&format!("{}: ", statement.place()), &name));
            }
            let sql = format!("DROP {word} IF EXISTS {name}");
            self.connection.execute(&sql).doing(|| sql.clone())?;
        }
        context.target.make_program(word, &name);
        if statement.sets_mode {
            return self.run_as(statement, text);
        }
        let doing = || "setting sql_mode";
        let set = "SET @drover_sql_mode = @@SESSION.sql_mode, SESSION sql_mode = @@GLOBAL.sql_mode";
        self.connection.execute(set).doing(doing)?;
        self.run_as(statement, text)?;
        self.connection.set("sql_mode", "@drover_sql_mode").doing(doing)
    }

    /// Runs a SET of the session's; what it has run, if the target did not take that. drover commits: without autocommit, what comes between
    /// its transactions would be lost.
    pub(super) fn set(&mut self, statement: &Statement) -> Result<Option<Vec<u8>>> {
        let other = modes::set(self.connection, &statement.text, statement.dialect);
        let other = other.map_err(|source| failed(statement, source))?;
        if contains(&statement.text, b"autocommit") {
            self.connection.set("autocommit", 1).doing(|| "setting autocommit")?;
        }
        Ok(other)
    }

    /// Before rows go into a table: refuses what is not to be filled.
    pub(super) fn begin_rows(&mut self, table: &Name) -> Result<()> {
        self.context.target.check_filled(self.connection, table)?;
        self.context.note_filled(self.connection, &table.schema)?;
        match self.context.target.begin(table) {
            true => replicated::check_one(self.connection, self.context.cluster, table),
            false => Ok(()),
        }
    }

    /// Runs a statement with another text.
    pub(super) fn run_as(&mut self, statement: &Statement, text: &[u8]) -> Result<()> {
        let created = statement.created()?.map(|name| self.context.target(&name));
        if let Some(name) = &created {
            self.make_room(name, statement)?;
        }
        let text = self.context.collated(statement, text);
        let text = &*self.as_kept(statement, text)?;
        let outcome = self.connection.execute(text).map_err(|source| {
            if matches!(source, drover_db::Error::Server(_)) {
                created.iter().for_each(|name| self.context.tally.not_made(name));
            }
            failed(statement, source)
        })?;
        if outcome.warnings > 0 {
            self.collect_warnings(statement, outcome.warnings)?;
        }
        self.count(statement, created.as_ref(), outcome.affected)?;
        self.context.tally.ran(1, text.len() as u64);
        match &statement.kind {
            Kind::CreateTable(name) | Kind::AlterTable(name) => {
                let table = self.context.target(&statement.name(name)?);
                self.context.target.alter(&table, text, statement.dialect);
                kept::note(self.context, &table, text, statement.dialect)
            }
            _ => Ok(()),
        }
    }

    /// A definition of a table as the target keeps it.
    fn as_kept<'s>(&mut self, statement: &Statement, text: Cow<'s, [u8]>) -> Result<Cow<'s, [u8]>> {
        let of_table =
            matches!(statement.kind, Kind::CreateTable(_) | Kind::CreateTableFrom(_) | Kind::AlterTable(_));
        if !of_table {
            return Ok(text);
        }
        if self.context.server.vendor == Vendor::MySql {
            return Ok(self.context.with_partitions(statement, text));
        }
        let reads_utf8mb4 = !text.is_ascii() && {
            let character_set = self.connection.first("SELECT @@character_set_client");
            let row = character_set.doing(|| "asking for the session's character set")?;
            row.is_some_and(|row| row.string(0) == "utf8mb4")
        };
        Ok(self.context.with_kept_literals(statement, text, reads_utf8mb4))
    }

    /// Counts the rows that a statement makes or removes which is none of the dump's data.
    fn count(&mut self, statement: &Statement, created: Option<&Name>, rows: u64) -> Result<()> {
        match (&statement.kind, created) {
            (Kind::CreateTableFrom(_), Some(name)) if rows > 0 => {
                self.context.tally.rows(name, rows);
                self.context.progress.count(rows, 0);
                replicated::check_one(self.connection, self.context.cluster, name)
            }
            (Kind::Empty(name), _) => {
                self.context.tally.emptied(&self.context.target(&statement.name(name)?));
                Ok(())
            }
            (Kind::ChangeRows(name), _) if is_delete(&statement.text) => {
                self.context.tally.removed(&self.context.target(&statement.name(name)?), rows);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// A name that is to be made must be free, or may be dropped.
    fn make_room(&mut self, name: &Name, statement: &Statement) -> Result<()> {
        self.context.note_filled(self.connection, &name.schema)?;
        let target = &self.context.target;
        let existing = target.existing(name).filter(|_| !target.has_made(name));
        if let Some(word) = existing {
            if !self.context.drop_existing {
                return Err(self.context.already_there(&format!("{}: ", statement.place()), name));
            }
            let sql = format!("DROP {word} IF EXISTS {name}");
            self.connection.execute(&sql).doing(|| sql.clone())?;
        }
        target.note(name, &statement.text, statement.dialect);
        let is_table = matches!(statement.kind, Kind::CreateTable(_) | Kind::CreateTableFrom(_));
        target.make(
            name,
            match statement.kind {
                Kind::CreateSequence(_) => Made::Sequence,
                _ if is_table => Made::Table,
                _ => Made::Other,
            },
        );
        if is_table || matches!(statement.kind, Kind::CreateTableElsewhere(_)) {
            self.context.tally.rows(name, 0);
        } else {
            // Where a view goes, the tools make a table first, so that others can be made on it.
            self.context.tally.lock().tables.remove(name);
        }
        Ok(())
    }

    fn use_schema(&mut self, schema: &str, statement: &Statement) -> Result<()> {
        let target = self.context.renames.any_schema(schema);
        self.connection.execute(use_statement(&target)).map_err(|source| failed(statement, source))?;
        Ok(())
    }

    /// Makes a schema of the dump the default one, and creates it if it is not there.
    pub(super) fn enter(&mut self, schema: &str) -> Result<()> {
        let target = self.context.renames.any_schema(schema);
        self.context.target.create_schema(self.connection, &target)?;
        self.connection.execute(use_statement(&target)).doing(|| format!("using schema '{target}'"))?;
        Ok(())
    }

    /// Runs statements that put rows into one table, as one transaction.
    pub(super) fn run_batch(&mut self, table: &Name, batch: &[Statement]) -> Result<()> {
        self.begin_rows(table)?;
        let own = ComputedColumns {
            row_end: self.context.target.row_end(self.connection, table)?,
            generated: match self.context.server.vendor {
                Vendor::MySql => self.context.target.generated(self.connection, table)?,
                Vendor::MariaDb => None,
            },
        };
        self.context.throttle.pass()?;
        let mut attempts = 0;
        let rows = loop {
            match self.try_batch(batch, &own) {
                Ok(rows) => break rows,
                Err(error) => {
                    attempts += 1;
                    // If this fails the connection is gone, and the server rolls back by itself.
                    let rolled_back = self.connection.execute("ROLLBACK");
                    let whole =
                        rolled_back.is_ok_and(|outcome| outcome.warnings == 0 || !self.is_incomplete());
                    if !is_deadlock(&error) || attempts == ATTEMPTS || !whole {
                        return Err(error);
                    }
                }
            }
        };
        self.context.tally.rows(table, rows);
        let bytes = batch.iter().map(|statement| statement.text.len() as u64).sum();
        self.context.throttle.spend(bytes);
        self.context.tally.ran(batch.len() as u64, bytes);
        self.context.progress.count(rows, 0);
        Ok(())
    }

    fn try_batch(&mut self, batch: &[Statement], own: &ComputedColumns) -> Result<u64> {
        self.connection.execute("START TRANSACTION").doing(|| "beginning a transaction")?;
        let mut rows = 0;
        for statement in batch {
            let outcome = match &statement.kind {
                Kind::Load(file, _) => self.load(file, statement)?,
                _ => self
                    .connection
                    .execute(self.text(statement, own))
                    .map_err(|source| failed(statement, source))?,
            };
            if outcome.warnings > 0 {
                self.collect_warnings(statement, outcome.warnings)?;
            }
            rows += outcome.affected;
        }
        self.connection.execute("COMMIT").map_err(|source| match batch.last() {
            Some(last) => Error::Server { doing: format!("committing up to {}", last.place()), source },
            None => Error::Server { doing: "committing".into(), source },
        })?;
        Ok(rows)
    }

    /// The text with the new names, and with what the target's table makes itself.
    fn text<'s>(&self, statement: &'s Statement, own: &ComputedColumns) -> Cow<'s, [u8]> {
        let text = match may_name_schemas(statement) {
            true => self.context.renames.statement(&statement.text, statement.dialect),
            false => (&statement.text[..]).into(),
        };
        let text = match &own.generated {
            Some(generated) => generated.translate(text, statement.dialect),
            None => text,
        };
        match &own.row_end {
            Some(row_end) => row_end.translate(text, statement.dialect),
            None => text,
        }
    }

    /// Whether the last ROLLBACK left rows behind.
    fn is_incomplete(&mut self) -> bool {
        let said = self.connection.query("SHOW WARNINGS").map(|rows| rows.rows).unwrap_or_default();
        said.iter().any(|row| row.parse(1) == Some(er::WARNING_NOT_COMPLETE_ROLLBACK))
    }

    /// Sends the file that a LOAD DATA names, which lies beside the script.
    fn load(&mut self, file: &str, statement: &Statement) -> Result<drover_db::wire::Outcome> {
        let path = self.context.dir.and_then(|dir| row_file(dir, file));
        let path = path.ok_or_else(|| {
            Error::found(format!("{}: there is no file '{file}' in the dump", statement.place()))
        })?;
        let text = self.context.renames.statement(&statement.text, statement.dialect);
        self.upload(&text, &path, statement)
    }

    /// Runs a LOAD DATA LOCAL with the content of a file, whatever name the statement has for it.
    pub(super) fn upload(
        &mut self,
        sql: &[u8],
        path: &Path,
        statement: &Statement,
    ) -> Result<drover_db::wire::Outcome> {
        let mut input = input::open(path, Some(self.context.progress))?;
        self.connection.begin_load(sql).map_err(|source| failed(statement, source))?;
        let sent = self.send(&mut input, path, statement);
        // It is ended in any case, so that the connection stays usable.
        let outcome = self.connection.end_load().map_err(|source| failed(statement, source));
        let bytes = sent?;
        self.context.tally.ran(0, bytes);
        outcome
    }

    /// Sends the content of a file; gives its bytes.
    fn send(&mut self, input: &mut impl Read, path: &Path, statement: &Statement) -> Result<u64> {
        let (mut buffer, mut bytes) = (vec![0; 256 << 10], 0);
        loop {
            let count = input
                .read(&mut buffer)
                .map_err(|error| input::unreadable(&path.display().to_string(), &error))?;
            if count == 0 {
                return Ok(bytes);
            }
            self.connection.send(&buffer[..count]).map_err(|source| failed(statement, source))?;
            self.context.throttle.spend(count as u64);
            bytes += count as u64;
        }
    }

    /// Keeps what the server warns of; notes are not kept.
    pub(super) fn collect_warnings(&mut self, statement: &Statement, count: u16) -> Result<()> {
        let rows = self.connection.query("SHOW WARNINGS").doing(|| "asking for warnings")?;
        let listed = rows.rows.len();
        let found: Vec<_> = rows
            .into_iter()
            .map(|row| (row.string(0), row.parse::<u16>(1).unwrap_or_default(), row.string(2)))
            .filter(|(level, code, _)| level != "Note" && !PASSED_OVER.contains(code))
            .collect();
        // The dump may have set max_error_count, or there are more than any server lists.
        let more = usize::from(count).saturating_sub(listed);
        let is_unknown = more > 0 && (listed == 0 || !found.is_empty());
        let place = format!("{}, line {}", statement.file, statement.line);
        let unlisted =
            (more > 0 || count == u16::MAX).then_some("and warnings that the server does not list");
        let texts = found.iter().map(|(_, _, text)| text.as_str());
        let shown = texts.take(KEPT).chain(unlisted).map(|said| format!("{place}: {said}"));
        let is_of_rows = |code: u16| match &statement.kind {
            kind if kind.is_data() => true,
            Kind::ChangeRows(_) => true,
            Kind::AlterTable(_) | Kind::CreateTableFrom(_) => code == UNKNOWN || OF_VALUES.contains(&code),
            _ => false,
        };
        let unknown = std::iter::repeat_n(UNKNOWN, if is_unknown { more } else { 0 });
        let codes = found.iter().map(|(_, code, _)| *code).chain(unknown);
        self.context.tally.warn(shown, codes.filter(|code| is_of_rows(*code)).count() as u64);
        Ok(())
    }
}

/// The file of rows that a script names, perhaps compressed. Only its last name counts: a dump may not reach out of its
/// directory.
fn row_file(dir: &Path, name: &str) -> Option<std::path::PathBuf> {
    let base = Path::new(name).file_name()?.to_str()?;
    let stem = [".zst", ".gz", ".lz4"].iter().find_map(|end| base.strip_suffix(end)).unwrap_or(base);
    let candidates = [
        base.to_owned(),
        stem.to_owned(),
        format!("{stem}.zst"),
        format!("{stem}.gz"),
        format!("{stem}.lz4"),
    ];
    candidates.into_iter().map(|name| dir.join(name)).find(|path| path.is_file())
}

/// The error for a statement that the server did not take.
pub(super) fn failed(statement: &Statement, source: drover_db::Error) -> Error {
    let hint = match source.code() {
        Some(er::TABLE_EXISTS) => Some("--drop-existing drops what the dump also holds"),
        Some(er::SPECIFIC_ACCESS_DENIED) if matches!(statement.program(), Ok(Some(_))) => Some(CURRENT_USER),
        // So MariaDB says, while it fills an empty table and unique_checks is off, that a key is there twice.
        Some(er::ERROR_DURING_COMMIT) => {
            Some("two of the rows have the same key: this server tells no more of it here")
        }
        // The dump holds it as it is; the server of another vendor or version does not.
        Some(
            er::PARSE_ERROR | er::UNKNOWN_CHARACTER_SET | er::UNKNOWN_COLLATION | er::UNKNOWN_STORAGE_ENGINE,
        ) => Some(
            "this server does not understand the statement: was the dump made on another vendor's or a newer server? A dump or a copy by drover \
             is translated for the server that it goes to; or change the statement in the file",
        ),
        _ => None,
    };
    match hint {
        Some(hint) => Error::with_hint(format!("{}: {source}", statement.place()), hint),
        None => Error::Server { doing: statement.place(), source },
    }
}

/// Whether a statement with rows may name schemas. Plain rows are not looked through for names, as there are many of them.
fn may_name_schemas(statement: &Statement) -> bool {
    let is_qualified = statement.kind.object().is_some_and(|table| table.schema.is_some());
    let is_plain = matches!(statement.kind, Kind::Insert(_)) && statement.reads.is_empty();
    is_qualified || !is_plain
}

/// Whether a statement that changes rows removes them.
fn is_delete(text: &[u8]) -> bool {
    tokens_in_comments(text, Dialect::default())
        .find(Token::is_code)
        .is_some_and(|first| first.is_word("DELETE"))
}

pub(super) fn is_deadlock(error: &Error) -> bool {
    matches!(error, Error::Server { source, .. } if source.code() == Some(er::LOCK_DEADLOCK))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::foreign::script::Script;
    use crate::foreign::splitter::Rule;

    #[test]
    fn rows_that_read_something_name_schemas() {
        let may_name = |text: &str| {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("a.sql");
            std::fs::write(&path, text).unwrap();
            let stop = drover_db::Stop::default();
            let mut script = Script::open(&path, Rule::Delimiter, Some("old"), None, &stop).unwrap();
            may_name_schemas(&script.next().unwrap().unwrap())
        };
        assert!(!may_name("INSERT INTO t VALUES (1, 'old.x');"));
        for text in [
            "INSERT INTO old.t VALUES (1);",
            "INSERT INTO t VALUES (NEXTVAL(old.s));",
            "INSERT INTO t VALUES ((SELECT MAX(a) FROM old.x));",
            "REPLACE INTO t VALUES (1);",
        ] {
            assert!(may_name(text), "{text}");
        }
    }

    #[test]
    fn files_of_rows_are_found_beside_the_script_and_nowhere_else() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("s.t.00000.dat.zst"), "").unwrap();
        let found = |name: &str| row_file(dir.path(), name).is_some();
        assert!(found("s.t.00000.dat") && found("s.t.00000.dat.zst") && found("/elsewhere/s.t.00000.dat"));
        assert!(!found("/etc/passwd") && !found("..") && !found(""));
    }
}
