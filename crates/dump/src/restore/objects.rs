//! Running the scripts of a dump against the target.

use std::collections::BTreeSet;

use drover_db::session::Use;
use drover_db::sql::{Dialect, Kind, Token, tokens};
use drover_db::{Connection, er, quote};
use drover_store::Store;

use super::rename::Renames;
use super::steps::is_note;
use super::{typed, views};
use crate::definer::Definers;
use crate::dump::programs::{alter_collation, schema_collation};
use crate::error::Doing;
use crate::schema::SchemaOptions;
use crate::session;
use crate::translate::Translator;
use crate::{Error, Result};
use drover_db::schemas::{is_odd, on_disk};
use drover_format::manifest::{Manifest, Object, Schema, Script};
use drover_format::script::{dialect, parse};

/// Warnings that say only that an older way of writing is going out of use: integer display widths, names of character
/// sets, collations, options and sql_modes. They come for nearly every object of an older server.
pub(super) const OLD_FASHIONED: [u16; 6] = [
    er::WARN_DEPRECATED_SYNTAX,
    er::WARN_DEPRECATED_SYNTAX_NO_REPLACEMENT,
    er::SQL_MODE_MERGED,
    er::DEPRECATED_UTF8_ALIAS,
    er::DEPRECATED_NATIONAL,
    er::DEPRECATED_UTF8MB3_COLLATION,
];

/// A schema that no server makes under the name that it is to have: a directory had it that no CREATE DATABASE made.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ImpossibleSchema<'m> {
    /// Its name in the dump.
    old: &'m str,
    /// The name that it is to have.
    pub(super) new: &'m str,
}

impl ImpossibleSchema<'_> {
    /// How it is restored all the same.
    pub(super) fn way_out(&self) -> String {
        let plain = on_disk(self.new).unwrap_or(self.new);
        format!("--into '{}={plain}' restores it as `{plain}`", self.old)
    }
}

/// Where scripts are read from and what is changed in them.
pub(super) struct Scripts<'a> {
    pub(super) store: &'a Store,
    pub(super) renames: &'a Renames,
    pub(super) definers: &'a Definers,
    /// What rewrites them for a target of another vendor or version.
    pub(super) translator: Option<&'a Translator>,
}

impl Scripts<'_> {
    /// The statements of a script, with the new names and definers.
    pub(super) fn read(&self, script: &Script) -> Result<Vec<Vec<u8>>> {
        let text = script.read(self.store)?;
        let statements = parse(&self.store.path(&script.file), &text)?;
        let statements = match self.translator {
            Some(translator) => translator.script(&script.file, statements),
            None => statements,
        };
        let dialect = dialect(&statements);
        Ok(self.renames.script(self.definers.statements(statements, dialect)))
    }

    /// Runs statements that belong to one script; what the server warns of is added to `warnings`.
    pub(super) fn run(
        &self,
        connection: &mut Connection,
        script: &Script,
        statements: &[Vec<u8>],
        warnings: &mut Vec<String>,
    ) -> Result<()> {
        for statement in statements {
            let outcome = connection
                .execute(statement)
                .doing(|| format!("running {}", self.store.path(&script.file).display()))?;
            if outcome.warnings > 0 {
                collect_warnings(connection, &script.file, warnings)?;
            }
        }
        Ok(())
    }

    /// Runs a whole script in `schema` and sets the session up again.
    pub(super) fn run_in(
        &self,
        connection: &mut Connection,
        schema: &str,
        script: &Script,
        warnings: &mut Vec<String>,
    ) -> Result<()> {
        self.run_changed(connection, schema, script, warnings, |create| create.to_vec())
    }

    /// The same with its CREATE statement changed; there may be settings before it and a collation after it.
    pub(super) fn run_changed(
        &self,
        connection: &mut Connection,
        schema: &str,
        script: &Script,
        warnings: &mut Vec<String>,
        change: impl Fn(&[u8]) -> Vec<u8>,
    ) -> Result<()> {
        session::use_schema(connection, self.renames.schema(schema))?;
        let mut statements = self.read(script)?;
        if let Some(last) = statements.last_mut().filter(|last| last.starts_with(b"ALTER DATABASE ")) {
            // A schema that keeps its own options has them after a program that was made under others, too.
            *last = alter_collation(self.renames.schema(schema), &schema_collation(connection)?);
        }
        for create in statements.iter_mut().filter(|statement| statement.starts_with(b"CREATE ")) {
            *create = change(create);
        }
        let result = self.run(connection, script, &statements, warnings);
        session::set(connection, Use::Restore)?;
        result
    }

    /// Runs the script of a sequence on TiDB, which passes over a SETVAL that leads from the first value towards 0 as long as the sequence
    /// has given none, and answers NULL.
    pub(super) fn make_sequence_of_tidb(
        &self,
        connection: &mut Connection,
        schema: &str,
        script: &Script,
        name: &str,
    ) -> Result<()> {
        let doing = || format!("running {}", self.store.path(&script.file).display());
        session::use_schema(connection, self.renames.schema(schema))?;
        for statement in self.read(script)? {
            if !statement.starts_with(b"SELECT SETVAL(") {
                connection.execute(&statement).doing(doing)?;
                continue;
            }
            let answer = connection.first(statement.clone()).doing(doing)?;
            if answer.is_none_or(|row| row.bytes(0).is_none()) {
                connection.first(format!("SELECT NEXTVAL({name})")).doing(doing)?;
                connection.first(statement).doing(doing)?;
            }
        }
        session::set(connection, Use::Restore)
    }

    /// The schemas that are to be made, and that no server makes under their name.
    pub(super) fn impossible_schemas<'m>(
        &'m self,
        connection: &mut Connection,
        manifest: &'m Manifest,
    ) -> Result<Vec<ImpossibleSchema<'m>>> {
        let there = crate::dump::catalog::schemas(connection)?;
        let all = manifest.schemas.iter();
        let all =
            all.map(|schema| ImpossibleSchema { old: &schema.name, new: self.renames.schema(&schema.name) });
        let is_impossible = |schema: &ImpossibleSchema<'_>| {
            is_odd(schema.new) && !there.iter().any(|known| known == schema.new)
        };
        Ok(all.filter(is_impossible).collect())
    }

    /// Creates the schemas that are not there; one that is there gets the dump's options, unless it holds more than the dump's.
    pub(super) fn create_schemas(
        &self,
        connection: &mut Connection,
        manifest: &Manifest,
        warnings: &mut Vec<String>,
    ) -> Result<()> {
        let there = crate::dump::catalog::schemas(connection)?;
        for schema in &manifest.schemas {
            let name = self.renames.schema(&schema.name);
            warnings.extend(self.read_only(schema)?);
            if !there.iter().any(|there| there == name) {
                self.run(connection, &schema.script, &self.read(&schema.script)?, warnings)?;
            } else if let Some(options) = self.options(connection, schema)? {
                warnings.extend(options.give(connection, name, |object| is_of(schema, object))?);
            }
        }
        Ok(())
    }

    /// What to say of a schema that was read-only: MySQL's option would keep out what is restored.
    fn read_only(&self, schema: &Schema) -> Result<Option<String>> {
        if schema.script.is_absent() {
            return Ok(None);
        }
        let create = self.read(&schema.script)?.concat();
        let is_it = |token: Token<'_>| token.kind == Kind::Comment && token.text == b"/* READ ONLY = 1 */";
        let name = quote::identifier(self.renames.schema(&schema.name));
        Ok(tokens(&create, Dialect::default()).any(is_it).then(|| {
            format!("schema {name} was read-only where it was dumped and is not here; ALTER DATABASE {name} READ ONLY = 1 makes it so")
        }))
    }

    /// The options of a schema, as its script is written for this server; `None` of a dump that holds rows only.
    pub(super) fn options(
        &self,
        connection: &mut Connection,
        schema: &Schema,
    ) -> Result<Option<SchemaOptions>> {
        if schema.script.is_absent() {
            return Ok(None);
        }
        let create = self.read(&schema.script)?.pop().unwrap_or_default();
        SchemaOptions::of_statement(connection, &create, Dialect::default()).map(Some)
    }

    /// Creates everything that reads rows or changes them: routines, views, triggers, and events, which do not run yet.
    pub(super) fn create_programs(
        &self,
        connection: &mut Connection,
        manifest: &Manifest,
        warnings: &mut Vec<String>,
    ) -> Result<()> {
        warnings.extend(typed::warnings(self, manifest)?);
        for (schema, object) in each(manifest, |schema| &schema.routines) {
            self.run_in(connection, &schema.name, &object.script, warnings)?;
        }
        views::create(self, connection, manifest, warnings)?;
        for (schema, object) in each(manifest, |schema| &schema.triggers) {
            self.run_in(connection, &schema.name, &object.script, warnings)?;
        }
        self.create_events(connection, manifest, warnings)
    }

    /// Which tables, views and sequences of the dump the target has already, as SQL names with the word for DROP.
    pub(super) fn existing(
        &self,
        connection: &mut Connection,
        manifest: &Manifest,
    ) -> Result<Vec<(String, String)>> {
        let there = crate::dump::catalog::relations(connection)?;
        let mut existing = Vec::new();
        for schema in &manifest.schemas {
            let tables = schema.tables.iter().map(|table| &table.name);
            let names = tables.chain(schema.views.iter().chain(&schema.sequences).map(|object| &object.name));
            for name in names {
                let name = self.renames.relation(&schema.name, name);
                let found = there.iter().find(|relation| relation.name == name);
                existing
                    .extend(found.map(|relation| (drop_word(relation.kind).to_owned(), name.to_string())));
            }
        }
        Ok(existing)
    }

    /// Drops what [`Scripts::create_programs`] makes, as far as it is there.
    pub(super) fn drop_programs(&self, connection: &mut Connection, manifest: &Manifest) -> Result<()> {
        for (schema, object) in
            each(manifest, |schema| &schema.views).chain(each(manifest, |schema| &schema.triggers))
        {
            let name = quote::qualified(self.renames.schema(&schema.name), &object.name);
            let sql = format!("DROP {} IF EXISTS {name}", object.kind);
            connection.execute(&sql).doing(|| sql.clone())?;
        }
        self.drop_routines_and_events(connection, manifest)
    }

    /// Drops what the dump also holds. What the server may refuse comes first, and the rows last.
    pub(super) fn drop_existing(&self, connection: &mut Connection, manifest: &Manifest) -> Result<()> {
        let (views, others): (Vec<_>, Vec<_>) =
            self.existing(connection, manifest)?.into_iter().partition(|(word, _)| word == "VIEW");
        let mut programs = views;
        programs.extend(self.routines_and_events(connection, manifest)?);
        let of_others = definers_of_others(connection)?;
        programs.sort_by_key(|(_, name)| !of_others.contains(name));
        let mut has_dropped = false;
        for (word, name) in programs {
            drop_program(connection, &word, &name, has_dropped)?;
            has_dropped = true;
        }
        session::set(connection, Use::Restore)?;
        for (word, name) in others {
            let sql = format!("DROP {word} IF EXISTS {name}");
            connection.execute(&sql).doing(|| sql.clone())?;
        }
        Ok(())
    }

    fn drop_routines_and_events(&self, connection: &mut Connection, manifest: &Manifest) -> Result<()> {
        for (word, name) in self.routines_and_events(connection, manifest)? {
            drop_program(connection, &word, &name, true)?;
        }
        session::set(connection, Use::Restore)
    }

    /// Those of the dump in schemas that are there, as [`Scripts::existing`].
    fn routines_and_events(
        &self,
        connection: &mut Connection,
        manifest: &Manifest,
    ) -> Result<Vec<(String, String)>> {
        let there = crate::dump::catalog::schemas(connection)?;
        let mut found = Vec::new();
        for schema in &manifest.schemas {
            let target = self.renames.schema(&schema.name);
            // A package takes its body with it; triggers go with their tables.
            let objects = schema.routines.iter().rev().chain(&schema.events);
            let objects = objects
                .filter(|object| there.iter().any(|name| name == target) && object.kind != "PACKAGE BODY");
            found.extend(objects.map(|object| (object.kind.clone(), quote::qualified(target, &object.name))));
        }
        Ok(found)
    }
}

/// Drops a view, routine or event, if it is there.
fn drop_program(connection: &mut Connection, word: &str, name: &str, has_dropped: bool) -> Result<()> {
    if word == "PACKAGE" {
        connection.set("sql_mode", "'ORACLE'").doing(|| "setting sql_mode")?;
    }
    let sql = format!("DROP {word} IF EXISTS {name}");
    match connection.execute(&sql) {
        // MySQL from 8.0.16 on, of what an account with SYSTEM_USER has made.
        Err(error) if error.is_denied() && !has_dropped => Err(Error::with_hint(
            format!("{sql}: {error}: nothing was changed"),
            "grant the account what the server names, or have somebody with it drop it",
        )),
        dropped => dropped.map(drop).doing(|| sql.clone()),
    }
}

/// The views, routines and events whose definer is another account: the server may refuse to drop them.
fn definers_of_others(connection: &mut Connection) -> Result<BTreeSet<String>> {
    let of = |view: &str, word: &str| {
        format!(
            "SELECT {word}_SCHEMA, {word}_NAME FROM information_schema.{view} WHERE DEFINER <> CURRENT_USER()"
        )
    };
    let sql = [of("VIEWS", "TABLE"), of("ROUTINES", "ROUTINE"), of("EVENTS", "EVENT")].join(" UNION ALL ");
    let rows = connection.query(sql).doing(|| "asking for definers")?;
    Ok(rows.into_iter().map(|row| quote::qualified(&row.string(0), &row.string(1))).collect())
}

/// Whether something in a schema has the name of what the dump has there, or of a note of how far a restore is.
fn is_of(schema: &Schema, object: &str) -> bool {
    let tables = schema.tables.iter().map(|table| &table.name);
    let objects = [&schema.sequences, &schema.views, &schema.routines, &schema.events];
    let mut names = tables.chain(objects.into_iter().flatten().map(|object| &object.name));
    is_note(object) || names.any(|name| name.to_lowercase() == object.to_lowercase())
}

/// What DROP calls it.
pub(crate) fn drop_word(kind: crate::dump::catalog::RelationKind) -> &'static str {
    use crate::dump::catalog::RelationKind;
    match kind {
        RelationKind::Table | RelationKind::VersionedTable => "TABLE",
        RelationKind::View => "VIEW",
        RelationKind::Sequence => "SEQUENCE",
    }
}

/// All objects of one kind with their schemas.
pub(super) fn each<'a>(
    manifest: &'a Manifest,
    objects: impl Fn(&'a Schema) -> &'a Vec<Object>,
) -> impl Iterator<Item = (&'a Schema, &'a Object)> {
    manifest.schemas.iter().flat_map(move |schema| objects(schema).iter().map(move |object| (schema, object)))
}

fn collect_warnings(connection: &mut Connection, file: &str, warnings: &mut Vec<String>) -> Result<()> {
    let rows = connection.query("SHOW WARNINGS").doing(|| "asking for warnings")?;
    let worth_saying =
        rows.into_iter().filter(|row| !row.parse(1).is_some_and(|code| OLD_FASHIONED.contains(&code)));
    warnings.extend(worth_saying.map(|row| format!("{file}: {}", row.string(2))));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn into_takes_the_name_that_the_dump_has() {
        let way_out = |old, new| ImpossibleSchema { old, new }.way_out();
        assert_eq!(way_out("#mysql50#a-b", "#mysql50#a-b"), "--into '#mysql50#a-b=a-b' restores it as `a-b`");
        assert_eq!(way_out("shop", "#MySQL50#Shop"), "--into 'shop=Shop' restores it as `Shop`");
    }
}
