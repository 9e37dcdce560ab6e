//! What the cluster that the target is a node of does not take of the logs: XA transactions (Galera), rows of tables without a key or of other
//! engines than InnoDB (Group Replication). The target says it of what is there; of tables that the logs define, these do.

mod shape;
mod target;

use std::collections::{BTreeSet, HashMap};

use drover_db::sql::{Dialect, Token, tokens_in_comments};
use drover_db::table::Name;
use drover_db::{Cluster, Connection, Substitutes, server};

use crate::event::Query;
use crate::objects::{Object, Objects, Table};

use shape::Shape;
use target::{engine, there};

/// The target as a node of a cluster.
#[derive(Debug)]
pub(super) struct Node {
    cluster: Cluster,
    substitutes: Substitutes,
    /// Engines that the target has, in capitals.
    engines: BTreeSet<String>,
    default_engine: String,
    /// Whether names of tables are the same in any case.
    folds: bool,
    tables: HashMap<Name, Known>,
    /// Schemas that the logs have dropped: what the target has of them is not there by then.
    dropped: BTreeSet<String>,
    /// Tables of sessions: their rows stay there.
    temporary: BTreeSet<Name>,
    /// What was said: it is once.
    told: BTreeSet<Name>,
    has_told_xa: bool,
    /// Whether sessions keep what they do out of the target's log: then Group Replication looks at rows of events only (found with 9.7.4).
    skips_binlog: bool,
}

/// What is known of a table where the logs have come to.
#[derive(Debug, Clone)]
enum Known {
    /// It is as the target has it: why its rows are refused, if they are.
    There(Option<String>),
    /// The logs have made or changed it.
    Defined(Shape),
    /// The logs have dropped it.
    Gone,
}

/// What is refused, and what to do about it.
pub(super) type Refusal = (String, &'static str);

const XA_HINT: &str = "replay into a server outside of the cluster, and bring its schemas here with drover copy; --exclude-gtids leaves the \
                       transaction out";
const TABLE_HINT: &str = "replay into a server outside of the cluster, ALTER the table there, and bring it here with drover copy; --database and \
                          --table with the others leave it out";

impl Node {
    /// Asks the target.
    pub(super) fn of(connection: &mut Connection, skips_binlog: bool) -> drover_db::Result<Option<Self>> {
        let Some(cluster) = Cluster::of(connection)? else { return Ok(None) };
        let engines = connection.query(
            "SELECT UPPER(ENGINE) FROM information_schema.ENGINES WHERE SUPPORT IN ('YES', 'DEFAULT')",
        )?;
        Ok(Some(Self {
            cluster,
            substitutes: Substitutes::of(connection)?,
            engines: engines.into_iter().map(|row| row.string(0)).collect(),
            default_engine: server::variable(connection, "GLOBAL.default_storage_engine")?
                .unwrap_or_default(),
            folds: server::takes_any_case(connection)?,
            tables: HashMap::new(),
            dropped: BTreeSet::new(),
            temporary: BTreeSet::new(),
            told: BTreeSet::new(),
            has_told_xa: false,
            skips_binlog,
        }))
    }

    /// Why XA transactions are refused; said once.
    pub(super) fn xa_refused(&mut self, connection: &mut Connection) -> drover_db::Result<Option<Refusal>> {
        if std::mem::replace(&mut self.has_told_xa, true) {
            return Ok(None);
        }
        let refused = Cluster::refuses_xa(connection)?;
        Ok(refused.map(|why| (format!("XA transactions: {why}"), XA_HINT)))
    }

    /// Why rows of a table are refused; said once.
    pub(super) fn rows_refused(
        &mut self,
        connection: &mut Connection,
        schema: &[u8],
        table: &[u8],
    ) -> drover_db::Result<Option<Refusal>> {
        if self.cluster == Cluster::Galera {
            return Ok(None); // it takes them, though it keeps those of MyISAM to this node
        }
        let name = self.name(schema, table);
        if self.told.contains(&name) {
            return Ok(None);
        }
        let Some(why) = self.refusal(connection, &name)? else { return Ok(None) };
        let what = format!("rows of {}.{}: {why}", name.schema, name.name);
        self.told.insert(name);
        Ok(Some((what, TABLE_HINT)))
    }

    /// The same of a statement, which may change rows. What it reads counts, too: the server looks at all tables that are open.
    pub(super) fn statement_refused(
        &mut self,
        connection: &mut Connection,
        objects: &Objects,
    ) -> drover_db::Result<Option<Refusal>> {
        let Objects::Named { changed, read, changes_rows, .. } = objects else { return Ok(None) };
        if !changes_rows {
            // CREATE TEMPORARY TABLE
            self.temporary.extend(
                tables(changed).map(|table| self.name(&table.schema, &table.name)).collect::<Vec<_>>(),
            );
            return Ok(None);
        }
        if self.skips_binlog {
            return Ok(None);
        }
        for Table { schema, name } in tables(changed).chain(read) {
            if self.temporary.contains(&self.name(schema, name)) {
                continue;
            }
            if let Some(refused) = self.rows_refused(connection, schema, name)? {
                return Ok(Some(refused));
            }
        }
        Ok(None)
    }

    fn name(&self, schema: &[u8], table: &[u8]) -> Name {
        let name = |bytes: &[u8]| {
            let name = String::from_utf8_lossy(bytes);
            if self.folds { name.to_lowercase() } else { name.into_owned() }
        };
        Name { schema: name(schema), name: name(table) }
    }

    fn refusal(&mut self, connection: &mut Connection, name: &Name) -> drover_db::Result<Option<String>> {
        match self.tables.get(name) {
            Some(Known::There(why)) => Ok(why.clone()),
            Some(Known::Defined(shape)) => Ok(self.shape_refused(shape)),
            Some(Known::Gone) => Ok(None),
            None if self.dropped.contains(&name.schema) => Ok(None),
            None => {
                let why = self.ask(connection, name)?;
                self.tables.insert(name.clone(), Known::There(why.clone()));
                Ok(why)
            }
        }
    }

    fn ask(&self, connection: &mut Connection, name: &Name) -> drover_db::Result<Option<String>> {
        let Some(engine) = engine(connection, name)? else { return Ok(None) };
        match self.cluster.refuses(connection, &name.to_string(), &engine) {
            // As to an account that may not delete there.
            Err(drover_db::Error::Server(_)) => {
                Ok(there(connection, name)?.and_then(|shape| self.shape_refused(&shape)))
            }
            asked => asked,
        }
    }

    fn shape_refused(&self, shape: &Shape) -> Option<String> {
        let engine = shape.engine.as_ref().unwrap_or(&self.default_engine);
        let is_kept = self.engines.contains(&engine.to_ascii_uppercase()) && self.substitutes.keeps(engine);
        if shape.is_uncertain || !is_kept {
            return None;
        }
        self.cluster.refuses_definition(Some(engine), shape.has_key() || self.substitutes.makes_keys)
    }

    /// What a table is like where the logs have come to.
    fn shape(&self, connection: &mut Connection, name: &Name) -> drover_db::Result<Option<Shape>> {
        match self.tables.get(name) {
            Some(Known::Defined(shape)) => Ok(Some(shape.clone())),
            Some(Known::Gone) => Ok(None),
            None if self.dropped.contains(&name.schema) => Ok(None),
            Some(Known::There(_)) | None => there(connection, name),
        }
    }

    fn define(&mut self, name: Name, shape: Option<Shape>) {
        self.tables.insert(name, shape.map_or(Known::Gone, Known::Defined));
    }

    /// Takes in a statement that changes definitions, before it is run.
    pub(super) fn learn(
        &mut self,
        connection: &mut Connection,
        query: &Query<'_>,
        objects: &Objects,
        dialect: Dialect,
    ) -> drover_db::Result<()> {
        let Objects::Named { changed, read, .. } = objects else { return Ok(()) };
        let names: Vec<_> = tables(changed).map(|table| self.name(&table.schema, &table.name)).collect();
        let what = Definition::of(query.text, dialect);
        if query.error != 0 && what != Definition::Other {
            // Some of what it was to do may have been done.
            names.into_iter().for_each(|name| self.define(name, Some(Shape::uncertain())));
            return Ok(());
        }
        let Some(first) = names.first() else {
            if what == Definition::DropSchema {
                changed.iter().for_each(|object| self.drop_schema(object));
            }
            return Ok(());
        };
        match what {
            Definition::CreateTable { if_not_exists } => {
                if if_not_exists && self.shape(connection, first)?.is_some() {
                    return Ok(());
                }
                let like = read.first().filter(|_| !has_select(query.text, dialect));
                let shape = match like {
                    Some(like) => self.shape(connection, &self.name(&like.schema, &like.name))?,
                    None => Some(Shape::created(query.text, dialect)),
                };
                self.define(first.clone(), shape.or_else(|| Some(Shape::uncertain())));
            }
            Definition::DropTable => names.into_iter().for_each(|name| self.define(name, None)),
            Definition::RenameTable => {
                for pair in names.chunks_exact(2) {
                    self.rename(connection, &pair[0], &pair[1])?;
                }
            }
            Definition::AlterTable { renames } => {
                self.change(connection, first, |shape| shape.alter(query.text, dialect))?;
                if let (true, Some(new)) = (renames, names.get(1)) {
                    self.rename(connection, first, new)?;
                }
            }
            Definition::CreateIndex => {
                self.change(connection, first, |shape| shape.create_index(query.text, dialect))?;
            }
            Definition::DropIndex => {
                self.change(connection, first, |shape| shape.drop_index(query.text, dialect))?;
            }
            Definition::Unread => {
                names.into_iter().for_each(|name| self.define(name, Some(Shape::uncertain())))
            }
            Definition::DropSchema | Definition::Other => {}
        }
        Ok(())
    }

    fn change(
        &mut self,
        connection: &mut Connection,
        name: &Name,
        change: impl FnOnce(&mut Shape),
    ) -> drover_db::Result<()> {
        if let Some(mut shape) = self.shape(connection, name)? {
            change(&mut shape);
            self.define(name.clone(), Some(shape));
        }
        Ok(())
    }

    fn rename(&mut self, connection: &mut Connection, old: &Name, new: &Name) -> drover_db::Result<()> {
        let shape = self.shape(connection, old)?;
        self.define(old.clone(), None);
        self.define(new.clone(), shape.or_else(|| Some(Shape::uncertain())));
        Ok(())
    }

    fn drop_schema(&mut self, object: &Object) {
        let Object::Schema(schema) = object else { return };
        let Name { schema, .. } = self.name(schema, b"");
        self.tables.retain(|name, _| name.schema != schema);
        self.dropped.insert(schema);
    }
}

/// What a statement does to tables, by its first words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Definition {
    CreateTable {
        if_not_exists: bool,
    },
    AlterTable {
        renames: bool,
    },
    DropTable,
    RenameTable,
    CreateIndex,
    DropIndex,
    DropSchema,
    /// It may change tables in ways that are not told here.
    Unread,
    /// It changes neither engines nor keys.
    Other,
}

impl Definition {
    fn of(text: &[u8], dialect: Dialect) -> Self {
        let code: Vec<_> = tokens_in_comments(text, dialect).filter(Token::is_code).collect();
        let is = |at: usize, words: &[&str]| {
            code.get(at).is_some_and(|token| words.iter().any(|word| token.is_word(word)))
        };
        // What may come between: OR REPLACE, ONLINE, IGNORE, UNIQUE.
        let is_among = |end: usize, words: &[&str]| (1..end).any(|at| is(at, words));
        let renames = |at: usize| is(at, &["RENAME"]) && !is(at + 1, &["COLUMN", "INDEX", "KEY"]);
        let created = if is(1, &["OR"]) { 3 } else { 1 };
        match () {
            () if is(0, &["SET"]) => Self::Unread,
            () if is(0, &["DROP"]) && is(1, &["DATABASE", "SCHEMA"]) => Self::DropSchema,
            () if is(0, &["DROP"]) && is(1, &["TABLE", "TABLES"]) => Self::DropTable,
            () if is(0, &["DROP"]) && is(1, &["INDEX"]) => Self::DropIndex,
            () if is(0, &["RENAME"]) && is(1, &["TABLE", "TABLES"]) => Self::RenameTable,
            () if is(0, &["ALTER"]) && is_among(4, &["TABLE"]) => {
                Self::AlterTable { renames: (0..code.len()).any(renames) }
            }
            () if is(0, &["CREATE"]) && is(created, &["TABLE"]) => {
                Self::CreateTable { if_not_exists: is(created + 1, &["IF"]) }
            }
            () if is(0, &["CREATE"]) && is_among(6, &["INDEX"]) => Self::CreateIndex,
            () => Self::Other,
        }
    }
}

fn has_select(text: &[u8], dialect: Dialect) -> bool {
    tokens_in_comments(text, dialect).any(|token| token.is_word("SELECT"))
}

fn tables(objects: &[Object]) -> impl Iterator<Item = &Table> {
    objects.iter().filter_map(|object| match object {
        Object::Table(table) => Some(table),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_statements_do_to_tables() {
        let of = |text: &str| Definition::of(text.as_bytes(), Dialect::default());
        for text in
            ["CREATE TABLE t (INDEX (a))", "create or replace table t (a INT)", "CREATE TABLE `index` LIKE u"]
        {
            assert_eq!(of(text), Definition::CreateTable { if_not_exists: false }, "{text}");
        }
        assert_eq!(
            of("CREATE TABLE IF NOT EXISTS t (a INT)"),
            Definition::CreateTable { if_not_exists: true }
        );
        assert_eq!(of("CREATE OR REPLACE UNIQUE INDEX i ON t (a)"), Definition::CreateIndex);
        assert_eq!(of("DROP INDEX i ON t"), Definition::DropIndex);
        assert_eq!(of("DROP TABLE IF EXISTS t /* generated by server */"), Definition::DropTable);
        assert_eq!(of("DROP DATABASE d"), Definition::DropSchema);
        assert_eq!(of("RENAME TABLE a TO b"), Definition::RenameTable);
        assert_eq!(of("ALTER ONLINE IGNORE TABLE t RENAME u"), Definition::AlterTable { renames: true });
        assert_eq!(of("ALTER TABLE t RENAME COLUMN a TO b"), Definition::AlterTable { renames: false });
        assert_eq!(of("SET STATEMENT sql_mode = '' FOR ALTER TABLE t ADD a INT"), Definition::Unread);
        for text in [
            "CREATE VIEW v AS TABLE t",
            "TRUNCATE TABLE t",
            "ALTER VIEW v AS TABLE t",
            "DROP VIEW v",
            "GRANT INDEX ON a.b TO c",
            "",
        ] {
            assert_eq!(of(text), Definition::Other, "{text}");
        }
    }
}
