//! Trying a dump's whole schema on the target, in schemas that are dropped again: what the target does not take is known
//! before a row moves. No row is loaded, and events are made switched off. For an account that may make no schemas see [`super::in_place`].

use std::collections::BTreeSet;

use drover_db::options::ConnectOptions;
use drover_db::session::Use;
use drover_db::{Cluster, Connection, Stop, Vendor, er, quote};
use drover_store::Store;

use super::dependents;
use super::objects::{Scripts, each};
use super::rename::Renames;
use super::scratch::{Names, Scratch};
use super::views;
use crate::ddl::CreateTable;
use crate::definer::Definers;
use crate::dump::catalog::Name;
use crate::error::Doing;
use crate::progress::Progress;
use crate::session;
use crate::translate::{Finding, Translator, ignored, without};
use crate::{Error, Result};
use drover_format::manifest::{Manifest, Object, Schema, Table};

/// What a trial came to.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// The script of each object that could not be made, its label, and the server's words.
    pub(super) refused: Vec<(String, String, String)>,
    pub(super) warnings: Vec<String>,
    /// Objects that were tried.
    pub(super) tried: usize,
}

/// A trial.
pub(super) struct Trial<'a> {
    pub(super) store: &'a Store,
    pub(super) manifest: &'a Manifest,
    pub(super) definers: &'a Definers,
    pub(super) translator: Option<&'a Translator>,
    pub(super) both_mysql: bool,
    pub(super) cluster: Option<Cluster>,
    pub(super) progress: &'a Progress,
}

impl Trial<'_> {
    /// Tries everything and drops it again.
    ///
    /// # Errors
    /// If it could not be tried; what the target refuses is no error.
    pub(super) fn run(&self, options: &ConnectOptions, stop: &Stop) -> Result<Outcome> {
        self.progress.phase("trying the schema on the target");
        let mut connection = session::open(options, Use::Restore)?;
        let _watched = stop.watch(&connection).doing(|| "watching a connection")?;
        let mut outcome = Outcome::default();
        let names = Names::take(&mut connection, &mut outcome.warnings)?;
        let renames = Renames::to_scratch(self.manifest, names.prefix());
        let schemas = self.manifest.schemas.iter().map(|schema| renames.schema(&schema.name).to_owned());
        let mut scratch = Scratch::new(&mut connection, options, schemas.collect())?;
        let scripts = self.scripts(&renames);
        let result = self
            .make_schemas(&mut connection, &scripts, &mut outcome)
            .and_then(|()| self.try_all(&mut connection, &scripts, &mut outcome));
        let dropped = scratch.drop_all(&mut connection);
        result?;
        dropped?;
        let original = |text: &str| renames.undo(text);
        for (_, label, reason) in &mut outcome.refused {
            (*label, *reason) = (original(label), original(reason));
        }
        outcome.warnings = outcome.warnings.iter().map(|warning| original(warning)).collect();
        Ok(outcome)
    }

    /// What the trial of an earlier run came to, of what it found.
    pub(super) fn recall(&self, renames: &Renames, findings: &[Finding]) -> Result<Outcome> {
        let mut outcome = Outcome::default();
        let Some(translator) = self.translator else { return Ok(outcome) };
        // As a trial does: what is noted of a script is noted when it is read.
        let scripts = self.scripts(renames);
        self.manifest.tables().try_for_each(|(_, table)| scripts.read(&table.script).map(drop))?;
        let kinds: [fn(&Schema) -> &Vec<Object>; 5] =
            [|s| &s.sequences, |s| &s.routines, |s| &s.views, |s| &s.triggers, |s| &s.events];
        let mut objects = kinds.into_iter().flat_map(|kind| each(self.manifest, kind));
        objects.try_for_each(|(_, object)| scripts.read(&object.script).map(drop))?;
        outcome.refused = translator.recall(findings);
        dependents::note(self, &outcome)?;
        Ok(outcome)
    }

    pub(super) fn scripts<'s>(&'s self, renames: &'s Renames) -> Scripts<'s> {
        Scripts { store: self.store, renames, definers: self.definers, translator: self.translator }
    }

    /// Tries what goes into the schemas, which are there.
    pub(super) fn try_all(
        &self,
        connection: &mut Connection,
        scripts: &Scripts<'_>,
        outcome: &mut Outcome,
    ) -> Result<()> {
        self.try_objects(connection, scripts, |schema| &schema.sequences, outcome)?;
        let mut made = Vec::new();
        session::bear_old_tables(connection)?;
        for (schema, table) in self.manifest.tables() {
            made.extend(self.try_table(connection, scripts, schema, table, outcome)?);
        }
        session::set(connection, Use::Restore)?;
        let refused = self.refused_tables(scripts, outcome);
        for made in &made {
            self.try_foreign_keys(connection, scripts, made, &refused, outcome)?;
        }
        self.try_objects(connection, scripts, |schema| &schema.routines, outcome)?;
        let made =
            without(self.manifest, |file| outcome.refused.iter().any(|(refused, _, _)| refused == file));
        let failed = views::attempt(scripts, connection, &made, &mut outcome.warnings)?;
        outcome.tried += each(self.manifest, |schema| &schema.views).count();
        for (schema, view, error) in failed {
            refuse(outcome, schema, view, &error);
        }
        self.try_objects(connection, scripts, |schema| &schema.triggers, outcome)?;
        self.try_objects(connection, scripts, |schema| &schema.events, outcome)?;
        dependents::note(self, outcome)
    }

    /// Tables that could not be made, by the names that they were to have.
    fn refused_tables(&self, scripts: &Scripts<'_>, outcome: &Outcome) -> BTreeSet<Name> {
        let files: BTreeSet<_> = outcome.refused.iter().map(|(file, _, _)| file.as_str()).collect();
        let tables = self.manifest.tables().filter(|(_, table)| files.contains(table.script.file.as_str()));
        tables.map(|(schema, table)| scripts.renames.relation(&schema.name, &table.name)).collect()
    }

    /// A schema that is refused is made without its settings, so that what is in it can be tried.
    fn make_schemas(
        &self,
        connection: &mut Connection,
        scripts: &Scripts<'_>,
        outcome: &mut Outcome,
    ) -> Result<()> {
        for schema in &self.manifest.schemas {
            let statements = scripts.read(&schema.script)?;
            let result = scripts.run(connection, &schema.script, &statements, &mut outcome.warnings);
            outcome.tried += 1;
            let Err(error) = result else { continue };
            let reason = error.refusal()?;
            let name = quote::identifier(scripts.renames.schema(&schema.name));
            let made = connection.execute(format!("CREATE DATABASE {name}"));
            let needs = match &made {
                Err(error) if !error.is_denied() => String::new(),
                _ => format!(" ({reason}); the account needs all privileges on `drover\\_check\\_%`.*"),
            };
            made.doing(|| format!("making a schema to try things in{needs}"))?;
            let label = format!("schema {}", quote::identifier(&schema.name));
            outcome.refused.push((schema.script.file.clone(), label, reason));
        }
        Ok(())
    }

    fn try_objects(
        &self,
        connection: &mut Connection,
        scripts: &Scripts<'_>,
        objects: fn(&Schema) -> &Vec<Object>,
        outcome: &mut Outcome,
    ) -> Result<()> {
        for (schema, object) in each(self.manifest, objects) {
            outcome.tried += 1;
            let warnings = &mut outcome.warnings;
            let result = match object.kind.as_str() {
                "EVENT" => scripts.create_event(connection, schema, object, warnings),
                _ => scripts.run_in(connection, &schema.name, &object.script, warnings),
            };
            if let Err(error) = result {
                refuse(outcome, schema, object, &Error::found(error.refusal()?));
            }
        }
        Ok(())
    }

    /// Makes a table without its foreign keys; those that are to be added, with their places in the statement.
    fn try_table<'t>(
        &self,
        connection: &mut Connection,
        scripts: &Scripts<'_>,
        schema: &Schema,
        table: &'t Table,
        outcome: &mut Outcome,
    ) -> Result<Option<Made<'t>>> {
        outcome.tried += 1;
        let target = scripts.renames.schema(&schema.name);
        session::use_schema(connection, target)?;
        let create = scripts.read(&table.script)?.pop().unwrap_or_default();
        let parts = CreateTable::parse(&create);
        let mut parts =
            parts.ok_or_else(|| Error::found(format!("{}: no CREATE TABLE statement", table.script.file)))?;
        if self.both_mysql {
            parts.inherit_collations();
        }
        let is_foreign = |item: &[u8]| kind_of(item) == Kind::ForeignKey;
        let foreign_keys: Vec<_> =
            parts.items.iter().cloned().enumerate().filter(|(_, item)| is_foreign(item)).collect();
        let foreign: Vec<usize> = foreign_keys.iter().map(|(place, _)| *place).collect();
        let create = |without: &[usize]| [parts.without(without).to_text()];
        let made = scripts.run(connection, &table.script, &create(&foreign), &mut outcome.warnings);
        let Err(error) = made else {
            let made = Made { target: Name::new(target, &table.name), table, foreign_keys };
            self.note_ignored(connection, scripts, &made)?;
            return self.taken_by_all(connection, schema, made, outcome);
        };
        let reason = error.refusal_by_server()?;
        let mut attempts = Attempts {
            scripts,
            connection,
            table,
            target: quote::qualified(target, &table.name),
            optional: self.optional(&parts),
            parts: &parts,
            foreign: &foreign,
            is_made: false,
        };
        let left_out = attempts.smallest(&mut outcome.warnings)?;
        let (Some(left_out), Some(translator)) = (left_out, self.translator) else {
            let label = format!("table {}", quote::qualified(&schema.name, &table.name));
            outcome.refused.push((table.script.file.clone(), label, reason));
            return Ok(None);
        };
        let left_out: Vec<_> =
            left_out.into_iter().map(|(place, reason)| (place, scripts.renames.undo(&reason))).collect();
        translator.leave_out(&table.script.file, &left_out);
        // The places of what follows have changed.
        let made = self.foreign_keys(scripts, target, table)?;
        self.note_ignored(connection, scripts, &made)?;
        self.taken_by_all(connection, schema, made, outcome)
    }

    /// Compares a table with what the server shows of it: some take what they do not keep.
    fn note_ignored(
        &self,
        connection: &mut Connection,
        scripts: &Scripts<'_>,
        made: &Made<'_>,
    ) -> Result<()> {
        let Some(translator) = self.translator.filter(|translator| translator.is_other()) else {
            return Ok(());
        };
        let sql = format!("SHOW CREATE TABLE {}", made.target);
        let shown = match connection.first(&sql) {
            // Tables of tables that are not there, and of other servers', cannot be shown.
            Err(drover_db::Error::Server(_)) => None,
            shown => shown.doing(|| sql)?,
        };
        let shown = shown.as_ref().and_then(|row| row.bytes(1));
        let asked = scripts.read(&made.table.script)?.pop();
        let (Some(asked), Some(shown)) =
            (asked.and_then(|text| CreateTable::parse(&text)), shown.and_then(CreateTable::parse))
        else {
            return Ok(());
        };
        translator.note_ignored(&made.table.script.file, &ignored(&asked, &shown));
        Ok(())
    }

    /// The table, if the target takes its rows as they are.
    fn taken_by_all<'t>(
        &self,
        connection: &mut Connection,
        schema: &Schema,
        made: Made<'t>,
        outcome: &mut Outcome,
    ) -> Result<Option<Made<'t>>> {
        let Some(reason) = self.refuses_rows(connection, &made)? else { return Ok(Some(made)) };
        // What needs it is refused, too.
        let drop = format!("DROP TABLE {}", made.target);
        connection.execute(drop).doing(|| format!("dropping {}", made.target))?;
        let label = format!("table {}", quote::qualified(&schema.name, &made.table.name));
        outcome.refused.push((made.table.script.file.clone(), label, reason));
        Ok(None)
    }

    /// Why rows of a table cannot come in, or not to all nodes of a cluster.
    fn refuses_rows(&self, connection: &mut Connection, made: &Made<'_>) -> Result<Option<String>> {
        let target = &made.target.to_string();
        if self.translator.is_some_and(Translator::is_for_tidb) && has_latin1(connection, target)? {
            return Ok(Some(LATIN1.into()));
        }
        // Rows that are kept elsewhere come from there.
        let cluster =
            self.cluster.filter(|cluster| *cluster != Cluster::Galera || !made.table.rows_elsewhere);
        match cluster {
            Some(cluster) => cluster
                .refuses(connection, target, &made.table.engine)
                .doing(|| format!("trying to change {target}")),
            None => Ok(None),
        }
    }

    fn foreign_keys<'t>(&self, scripts: &Scripts<'_>, target: &str, table: &'t Table) -> Result<Made<'t>> {
        let create = scripts.read(&table.script)?.pop().unwrap_or_default();
        let items = CreateTable::parse(&create).map(|parts| parts.items).unwrap_or_default();
        let foreign_keys =
            items.into_iter().enumerate().filter(|(_, item)| kind_of(item) == Kind::ForeignKey).collect();
        Ok(Made { target: Name::new(target, &table.name), table, foreign_keys })
    }

    /// What a table may be made without, so that its rows at least can be restored: its constraints, then its keys.
    fn optional(&self, parts: &CreateTable) -> Vec<usize> {
        if !self.translator.is_some_and(Translator::is_other) {
            return Vec::new();
        }
        let of_kind = |kind| {
            let is_one = move |(_, item): &(usize, &Vec<u8>)| kind_of(item) == kind;
            parts.items.iter().enumerate().filter(is_one).map(|(place, _)| place)
        };
        of_kind(Kind::Check).chain(of_kind(Kind::Key)).collect()
    }

    fn try_foreign_keys(
        &self,
        connection: &mut Connection,
        scripts: &Scripts<'_>,
        made: &Made<'_>,
        refused_tables: &BTreeSet<Name>,
        outcome: &mut Outcome,
    ) -> Result<()> {
        let mut refused = Vec::new();
        for (place, item) in &made.foreign_keys {
            let parent = dependents::parent(item, &made.target.schema);
            // The server takes it, and then no row of the table any more.
            if let Some(parent) = parent.filter(|parent| refused_tables.contains(parent)) {
                refused.push((*place, format!("table {parent} cannot be made"), true));
                continue;
            }
            let sql = [format!("ALTER TABLE {} ADD ", made.target).into_bytes(), item.clone()].concat();
            match connection.execute(sql).doing(|| "adding a foreign key") {
                Ok(_) => {}
                Err(error) => refused.push((*place, error.refusal_by_server()?, false)),
            }
        }
        for (place, reason, lacks_parent) in refused.into_iter().rev() {
            let reason = scripts.renames.undo(&reason);
            match self.translator.filter(|translator| lacks_parent || translator.is_other()) {
                Some(translator) => translator.leave_out(&made.table.script.file, &[(place, reason)]),
                None => {
                    let label = format!("a foreign key of {}", made.target);
                    outcome.refused.push((made.table.script.file.clone(), label, reason));
                }
            }
        }
        Ok(())
    }
}

/// Source: TiDB's manual, "Character Set and Collation".
const LATIN1: &str = "it has text in latin1, which TiDB takes for UTF-8: ALTER TABLE … CONVERT TO CHARACTER SET utf8mb4 on the source, first";

fn has_latin1(connection: &mut Connection, table: &str) -> Result<bool> {
    let sql = format!("SHOW FULL COLUMNS FROM {table} WHERE Collation LIKE 'latin1%'");
    Ok(connection.first(sql).doing(|| format!("reading the columns of {table}"))?.is_some())
}

/// A table that was made, and its foreign keys with their places in the statement.
struct Made<'a> {
    target: Name,
    table: &'a Table,
    foreign_keys: Vec<(usize, Vec<u8>)>,
}

/// Tries to make a table that the target refuses with fewer constraints and keys.
struct Attempts<'a, 'b> {
    scripts: &'a Scripts<'b>,
    connection: &'a mut Connection,
    table: &'a Table,
    target: String,
    parts: &'a CreateTable,
    /// Places of the foreign keys, which are added later.
    foreign: &'a [usize],
    /// Places of what the table may be made without.
    optional: Vec<usize>,
    /// Whether the last attempt made it.
    is_made: bool,
}

impl Attempts<'_, '_> {
    /// Makes the table with all that the target takes; what it is made without, each with the server's words. None if it is refused even
    /// without all that is optional.
    fn smallest(&mut self, warnings: &mut Vec<String>) -> Result<Option<Vec<(usize, String)>>> {
        let Some(mut kept) = self.least()? else { return Ok(None) };
        let mut left_out = Vec::new();
        for place in self.optional.clone() {
            if kept.contains(&place) {
                continue;
            }
            kept.push(place);
            if let Some(reason) = self.refusal(&kept, &mut Vec::new())? {
                kept.pop();
                left_out.push((place, reason));
            }
        }
        let refusal = self.refusal(&kept, warnings)?;
        left_out.sort();
        Ok(refusal.is_none().then_some(left_out))
    }

    /// The fewest optional items with which it can be made: none, or the key that an AUTO_INCREMENT column needs.
    fn least(&mut self) -> Result<Option<Vec<usize>>> {
        if self.optional.is_empty() {
            return Ok(None);
        }
        let sets =
            std::iter::once(Vec::new()).chain(self.optional.clone().into_iter().map(|place| vec![place]));
        for kept in sets {
            if self.refusal(&kept, &mut Vec::new())?.is_none() {
                return Ok(Some(kept));
            }
        }
        Ok(None)
    }

    /// Why the table cannot be made with only these of what is optional.
    fn refusal(&mut self, kept: &[usize], warnings: &mut Vec<String>) -> Result<Option<String>> {
        if self.is_made {
            let drop = format!("DROP TABLE {}", self.target);
            self.connection.execute(drop).doing(|| format!("dropping {}", self.target))?;
        }
        let left_out = self.optional.iter().filter(|place| !kept.contains(place));
        let without: Vec<usize> = self.foreign.iter().chain(left_out).copied().collect();
        let create = [self.parts.without(&without).to_text()];
        let made = self.scripts.run(self.connection, &self.table.script, &create, warnings);
        self.is_made = made.is_ok();
        made.err().map(Error::refusal_by_server).transpose()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    ForeignKey,
    Check,
    Key,
    Other,
}

pub(super) fn kind_of(item: &[u8]) -> Kind {
    use drover_db::sql::{Dialect, Token, tokens};
    let words: Vec<_> = tokens(item, Dialect::default()).filter(Token::is_code).take(3).collect();
    let is = |at: usize, word: &str| words.get(at).is_some_and(|token| token.is_word(word));
    match () {
        () if is(0, "CONSTRAINT") && is(2, "FOREIGN") => Kind::ForeignKey,
        () if is(0, "CHECK") || is(0, "CONSTRAINT") && is(2, "CHECK") => Kind::Check,
        () if ["KEY", "UNIQUE", "FULLTEXT", "SPATIAL", "VECTOR"].iter().any(|word| is(0, word)) => Kind::Key,
        () => Kind::Other,
    }
}

fn refuse(outcome: &mut Outcome, schema: &Schema, object: &Object, error: &Error) {
    let name = quote::qualified(&schema.name, &object.name);
    let reason = match error {
        Error::Server { source: drover_db::Error::Server(error), .. } => error.message.clone(),
        other => other.to_string(),
    };
    if object.broken && is_about_what_it_needs(error) {
        outcome.warnings.push(format!("view {name} was broken when it was dumped: {reason}"));
        return;
    }
    let label = format!("{} {name}", object.kind.to_lowercase());
    outcome.refused.push((object.script.file.clone(), label, reason));
}

/// Whether a view cannot be made for want of what it reads, as one that was broken when it was dumped. Other reasons are the target's own: the
/// view may have lacked its definer only.
fn is_about_what_it_needs(error: &Error) -> bool {
    // ER_BAD_DB_ERROR, ER_BAD_FIELD_ERROR, ER_NO_SUCH_TABLE, ER_SP_DOES_NOT_EXIST, ER_VIEW_INVALID, ER_NO_SUCH_USER
    const LACKS: [u16; 6] = [
        er::BAD_DB,
        er::BAD_FIELD,
        er::NO_SUCH_TABLE,
        er::SP_DOES_NOT_EXIST,
        er::VIEW_INVALID,
        er::NO_SUCH_USER,
    ];
    matches!(error, Error::Server { source, .. } if source.code().is_some_and(|code| LACKS.contains(&code)))
}

/// Whether both servers are MySQL, whose way to print collations differs.
pub(super) fn both_mysql(a: Vendor, b: Vendor) -> bool {
    a == Vendor::MySql && b == Vendor::MySql
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_of_a_table() {
        assert_eq!(kind_of(b"CONSTRAINT `c` CHECK (`a` > 0)"), Kind::Check);
        assert_eq!(kind_of(b"CHECK (`a` > 0)"), Kind::Check);
        assert_eq!(kind_of(b"CONSTRAINT `f` FOREIGN KEY (`a`) REFERENCES `t` (`a`)"), Kind::ForeignKey);
        assert_eq!(kind_of(b"UNIQUE KEY `u` (`a`)"), Kind::Key);
        assert_eq!(kind_of(b"PRIMARY KEY (`a`)"), Kind::Other);
    }
}
