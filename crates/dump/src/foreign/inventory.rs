//! What a dump will make, found by reading it once before anything is changed: so a target that has one of its tables is
//! refused in time, and so is a file that is damaged or cut off.

use std::collections::{BTreeMap, BTreeSet};

use drover_db::sql::program::Program;
use drover_db::{Connection, Stop};

use super::context::{Context, NOT_MADE, reads_other};
use super::definition::Definition;
use super::modes;
use super::references::References;
use super::script::{Script, Session, Statement, is_system};
use crate::dump::catalog::Name;
use crate::error::Doing;
use crate::restore::rename::{Case, Rename, Renames};
use crate::{Error, Result};
use drover_format::kind::Kind;

/// What a dump holds, by its own names.
#[derive(Debug, Default, Clone)]
pub(super) struct Inventory {
    pub(super) schemas: BTreeSet<String>,
    /// The schema of the dump's head, if statements are in it because no other is named before them.
    pub(super) schema_of_head: Option<String>,
    /// Tables, views and sequences that it creates.
    pub(super) created: BTreeSet<Name>,
    /// Those of them that are tables and keep rows of their own.
    pub(super) tables: BTreeMap<Name, Definition>,
    /// Bytes of the statements that fill each table.
    pub(super) filled: BTreeMap<Name, u64>,
    /// Tables that get rows whose order counts: these may need the keys of the rows before them.
    pub(super) ordered: BTreeSet<Name>,
    /// Tables that keep rows themselves, and sequences, which it creates: what others of its statements may read.
    pub(super) readable: BTreeSet<Name>,
    /// What it reads, and a statement that does.
    pub(super) read: BTreeMap<Name, Statement>,
    /// Tables that it makes triggers on, and a statement that does.
    pub(super) triggered: BTreeMap<Name, Statement>,
    /// Routines, events and triggers: the word for DROP, and the name.
    pub(super) programs: BTreeSet<(&'static str, Name)>,
    /// What it creates with a definer, by what it is called.
    pub(super) with_definers: BTreeMap<String, Program>,
    /// What it changes after it was made, and a statement that does.
    pub(super) changed: BTreeMap<Name, Statement>,
    /// The columns that its foreign keys refer to.
    pub(super) references: References,
    /// Whether all of it comes from mysqldump or mariadb-dump.
    pub(super) is_mysqldump: bool,
    /// Whether it creates tables, or fills some: views come after all those.
    pub(super) has_tables: bool,
}

impl Inventory {
    /// Reads a script to its end. Its settings are run on `probe`, a session of no other use, to know how to read it.
    pub(super) fn read(script: &mut Script<'_>, probe: &mut Connection, stop: &Stop) -> Result<Self> {
        let mut found = Self::default();
        let mut session = Session::of(probe)?;
        script.set_session(&session);
        let mut is_named = false;
        while let Some(statement) = script.next()? {
            if stop.is_requested() {
                return Err(Error::Stopped);
            }
            if let Kind::Refused(why) = statement.kind
                && statement.system_schema().is_none()
            {
                return Err(statement.refused(why));
            }
            if !is_named && statement.needs_schema() {
                found.schema_of_head = script.schema_of_head().map(str::to_owned);
            }
            is_named |= statement.needs_schema() || matches!(statement.kind, Kind::Use(_));
            if statement.kind == Kind::Session && Session::is_concerned(&statement.text) {
                // What the server does not take fails when it counts.
                let set = modes::set(probe, &statement.text, statement.dialect);
                if !matches!(set, Ok(_) | Err(drover_db::Error::Server(_))) {
                    return Err(Error::found("the connection was lost while the dump was being read"));
                }
                session = Session::of(probe)?;
                script.set_session(&session);
            } else {
                found.add(&statement, &session)?;
            }
        }
        script.check_end()?;
        found.is_mysqldump = script.is_mysqldump();
        Ok(found)
    }

    fn add(&mut self, statement: &Statement, session: &Session) -> Result<()> {
        if statement.system_schema().is_some() {
            return Ok(());
        }
        if let Kind::CreateSchema(schema) | Kind::Use(schema) = &statement.kind
            && !is_system(schema)
        {
            self.schemas.insert(schema.clone());
        }
        if let Some(name) = statement.created()? {
            self.schemas.insert(name.schema.clone());
            self.define(&name, statement, session);
            if !matches!(statement.kind, Kind::CreateView(_) | Kind::CreateTableElsewhere(_)) {
                self.readable.insert(name.clone());
            }
            self.created.insert(name);
        }
        if let Some(label) = statement.program()? {
            let program = Program::parse(&statement.text, statement.dialect);
            self.with_definers.extend(program.map(|program| (label, program)));
        }
        for name in statement.reads()? {
            self.read.entry(name).or_insert_with(|| statement.clone());
        }
        if let Some(name) = statement.filled()? {
            self.schemas.insert(name.schema.clone());
            if !matches!(statement.kind, Kind::Insert(_)) {
                self.ordered.insert(name.clone());
            }
            *self.filled.entry(name).or_default() += statement.text.len() as u64;
            self.has_tables = true;
        }
        self.has_tables |= matches!(
            statement.kind,
            Kind::CreateTable(_)
                | Kind::CreateTableFrom(_)
                | Kind::CreateTableElsewhere(_)
                | Kind::AlterTable(_)
                | Kind::SetValue(_)
                | Kind::ChangeRows(_)
        );
        self.add_changes(statement)
    }

    /// Notes what it does to what is there.
    fn add_changes(&mut self, statement: &Statement) -> Result<()> {
        match &statement.kind {
            Kind::CreateTable(_) => self.references.add(statement)?,
            Kind::AlterTable(name) | Kind::SetValue(name) | Kind::ChangeRows(name) => {
                self.references.add(statement)?;
                self.changed.entry(statement.name(name)?).or_insert_with(|| statement.clone());
            }
            Kind::AlterSchema(name)
                if statement.schema.as_deref() != Some(name) && !self.schemas.contains(name) =>
            {
                return Err(statement.refused(NOT_MADE));
            }
            Kind::CreateProgram(word, name) => {
                self.programs.insert((word, statement.name(name)?));
            }
            Kind::CreateTrigger { name, table } => {
                self.triggered.entry(statement.name(table)?).or_insert_with(|| statement.clone());
                self.programs.insert(("TRIGGER", statement.name(name)?));
            }
            _ => {}
        }
        Ok(())
    }

    /// Notes how a table is made. Where a view goes, older tools make a table first.
    fn define(&mut self, name: &Name, statement: &Statement, session: &Session) {
        if !matches!(statement.kind, Kind::CreateTable(_) | Kind::CreateTableFrom(_)) {
            self.tables.remove(name);
            return;
        }
        let mut definition = Definition::of(statement);
        if !definition.is_like {
            definition.engine.get_or_insert_with(|| session.engine.clone());
        }
        self.tables.insert(name.clone(), definition);
    }

    /// A table that it makes and does not fill.
    pub(super) fn table_without_rows(&self) -> Option<&Name> {
        self.tables.keys().find(|name| !self.filled.contains_key(*name))
    }

    /// Refuses two files that make the same table: one would drop what the other has loaded.
    pub(super) fn check_made_once(&self, more: &Self) -> Result<()> {
        let twice = more.tables.iter().find_map(|(name, second)| {
            let first = self.tables.get(name)?;
            (!first.if_not_exists || !second.if_not_exists).then_some((name, first, second))
        });
        let Some((name, first, second)) = twice else { return Ok(()) };
        Err(Error::with_hint(
            format!("{name} is made twice\n  {}\n  {}", first.place, second.place),
            "move the file that is not to be loaded out of the directory",
        ))
    }

    /// Puts two together.
    pub(super) fn extend(&mut self, other: Self) {
        self.schemas.extend(other.schemas);
        self.schema_of_head = self.schema_of_head.take().or(other.schema_of_head);
        // mydumper has views and the tables in their places in different files.
        let views = other.created.iter().filter(|name| !other.tables.contains_key(*name));
        views.for_each(|name| drop(self.tables.remove(name)));
        self.tables.extend(other.tables);
        self.created.extend(other.created);
        for (name, bytes) in other.filled {
            *self.filled.entry(name).or_default() += bytes;
        }
        self.programs.extend(other.programs);
        self.with_definers.extend(other.with_definers);
        self.triggered.extend(other.triggered);
        self.readable.extend(other.readable);
        self.read.extend(other.read);
        self.ordered.extend(other.ordered);
        self.changed.extend(other.changed);
        self.references.extend(other.references);
        self.is_mysqldump &= other.is_mysqldump;
        self.has_tables |= other.has_tables;
    }

    /// What it holds under its new names.
    ///
    /// # Errors
    /// If a schema is renamed that it does not hold, or two things would have one name.
    pub(super) fn renames(&self, into: &[Rename], case: Case) -> Result<Renames> {
        let names =
            self.created.iter().chain(self.filled.keys()).chain(self.programs.iter().map(|(_, name)| name));
        let objects = names.map(|name| (name.schema.clone(), name.name.clone())).collect();
        let renames = Renames::of(into, &self.schemas, objects, case)?;
        renames.check_relations(self.created.iter().cloned())?;
        Ok(renames)
    }

    /// Refuses a target that has something of the dump already, or drops it if that was asked for.
    pub(super) fn make_room(&self, connection: &mut Connection, context: &Context<'_>) -> Result<()> {
        let is_own = |(name, statement): &(&Name, &Statement)| {
            self.created.contains(*name)
                || matches!(statement.kind, Kind::ChangeRows(_)) && self.filled.contains_key(*name)
        };
        if let Some((_, statement)) = self.changed.iter().find(|changed| !is_own(changed)) {
            return Err(statement.refused(NOT_MADE));
        }
        let is_filled = |name: &Name| self.filled.contains_key(name) && !self.created.contains(name);
        if let Some((name, statement)) =
            self.read.iter().find(|(name, _)| !self.readable.contains(*name) && !is_filled(name))
        {
            return Err(reads_other(statement, name));
        }
        let is_own = |name: &Name| self.created.contains(name) || self.filled.contains_key(name);
        if let Some((_, statement)) = self.triggered.iter().find(|(name, _)| !is_own(name)) {
            return Err(statement.refused(NOT_MADE));
        }
        let existing: Vec<_> = self.created.iter().map(|name| context.target(name)).collect();
        let existing: Vec<_> =
            existing.iter().filter_map(|name| Some((context.target.existing(name)?, name))).collect();
        let programs = self.existing_programs(connection, context)?;
        if context.drop_existing {
            self.check_filled(connection, context)?;
            for name in self.created.iter().chain(self.filled.keys()) {
                context.note_filled(connection, &context.target(name).schema)?;
            }
            let dropped = existing.iter().map(|(word, name)| (*word, (*name).clone())).chain(programs);
            for (word, name) in dropped {
                let sql = format!("DROP {word} IF EXISTS {name}");
                connection.execute(&sql).doing(|| sql.clone())?;
            }
            return Ok(());
        }
        let first = existing
            .first()
            .map(|(_, name)| (*name).clone())
            .or(programs.first().map(|(_, name)| name.clone()));
        match first {
            Some(first) => {
                let others = existing.len() + programs.len() - 1;
                let more =
                    if others == 0 { String::new() } else { format!(" and {others} more of the dump") };
                let Error::Found { what, hint } = context.already_there("", &first) else { return Ok(()) };
                Err(Error::Found { what: format!("{what}{more}: nothing was changed"), hint })
            }
            None => self.check_filled(connection, context),
        }
    }

    /// Programs that are there already.
    fn existing_programs(
        &self,
        connection: &mut Connection,
        context: &Context<'_>,
    ) -> Result<Vec<(&'static str, Name)>> {
        let mut found = Vec::new();
        for (word, name) in &self.programs {
            let name = context.target(name);
            if context.target.has_program(connection, word, &name)? {
                found.push((*word, name));
            }
        }
        Ok(found)
    }

    /// Tables that get rows and are not created must be there, and empty: rows would be mixed up.
    fn check_filled(&self, connection: &mut Connection, context: &Context<'_>) -> Result<()> {
        let mut names = self.filled.keys().filter(|name| !self.created.contains(*name));
        names.try_for_each(|name| context.target.check_filled(connection, &context.target(name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::foreign::splitter::Rule;

    #[test]
    fn tables_that_name_no_engine_get_the_session_s() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.sql");
        let text = "CREATE TABLE a (x int);\nCREATE TABLE b SELECT x FROM a;\nCREATE TABLE c LIKE a;\n\
                    CREATE TABLE d ENGINE=Aria SELECT x FROM a;\n";
        std::fs::write(&path, text).unwrap();
        let stop = Stop::default();
        let mut script = Script::open(&path, Rule::Delimiter, Some("s"), None, &stop).unwrap();
        let session = Session { engine: "MyISAM".into(), ..Session::default() };
        let mut found = Inventory::default();
        while let Some(statement) = script.next().unwrap() {
            found.add(&statement, &session).unwrap();
        }
        let engine = |name: &str| found.tables[&Name::new("s", name)].engine.as_deref();
        assert_eq!(["a", "b", "c", "d"].map(engine), [Some("MyISAM"), Some("MyISAM"), None, Some("Aria")]);
    }
}
