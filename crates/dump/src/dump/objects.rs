//! Everything that is not rows: each object becomes a script with the statement as the server gives it, in the sql_mode,
//! character set and time zone that it was made in.

use std::collections::{BTreeMap, BTreeSet};

use drover_db::{Connection, Server, Vendor, er, quote, server};
use drover_store::Store;

use super::catalog::{self, Name};
use super::programs::{definition, schema_collation};
use super::{view_order, views};
use crate::error::Doing;
use crate::session;
use crate::translate::defaults::in_full;
use crate::{Error, Result};
use drover_format::manifest::{Object, Script};
use drover_format::{names, script};

/// Writes the scripts of one schema's objects.
pub(crate) struct Scripts<'a> {
    store: &'a Store,
    schema: &'a str,
    /// The server, if they are run by whoever has a client, in whichever schema and on whichever server that is: then they say what is to be
    /// there before, and leave no collation to be guessed.
    by_hand: Option<&'a Server>,
    /// The schema's own default collation.
    collation: String,
}

impl<'a> Scripts<'a> {
    /// Makes the schema's directory and its own script, and gives that script too.
    pub(crate) fn begin(
        connection: &mut Connection,
        store: &'a Store,
        schema: &'a str,
        by_hand: Option<&'a Server>,
    ) -> Result<(Self, Script)> {
        session::use_schema(connection, schema)?;
        store.folder(&names::file_name(schema))?;
        let scripts = Self { store, schema, by_hand, collation: schema_collation(connection)? };
        let unless = if by_hand.is_some() { "IF NOT EXISTS " } else { "" };
        let row = connection
            .first(format!("SHOW CREATE DATABASE {unless}{}", quote::identifier(schema)))
            .doing(|| format!("reading the definition of schema '{schema}'"))?;
        let create = row.and_then(|row| row.bytes(1).map(<[u8]>::to_vec)).unwrap_or_default();
        let create = by_hand.map_or_else(|| create.clone(), |server| in_full(&create, server));
        // No name in a server becomes a file name with an @, so these cannot clash with a table's.
        let file = scripts.file("@schema");
        let text =
            script::render(&one_line(&format!("Schema {}", quote::identifier(schema))), None, &[create]);
        store.write(&file, &text)?;
        Ok((scripts, Script::of(file, &text)))
    }

    fn file(&self, stem: &str) -> String {
        format!("{}/{stem}.sql", names::file_name(self.schema))
    }

    fn text(&self, comment: &str, statements: &[Vec<u8>]) -> Vec<u8> {
        script::render(&one_line(comment), self.by_hand.map(|_| self.schema), statements)
    }

    fn write(&self, stem: &str, comment: &str, statements: &[Vec<u8>]) -> Result<Script> {
        let (file, text) = (self.file(stem), self.text(comment, statements));
        self.store.write(&file, &text)?;
        Ok(Script::of(file, &text))
    }

    fn name(&self, name: &str) -> Name {
        Name::new(self.schema, name)
    }

    /// A table's script in a file of its own.
    pub(crate) fn table(&self, vendor: Vendor, name: &str, create: Vec<u8>) -> Result<Script> {
        let text = self.table_text(vendor, name, create);
        let file = self.file(&names::file_name(name));
        self.store.write(&file, &text)?;
        Ok(Script::of(file, &text))
    }

    /// The text of a table's script; the settings are those under which it means the same everywhere.
    pub(crate) fn table_text(&self, vendor: Vendor, name: &str, create: Vec<u8>) -> Vec<u8> {
        let bear = match vendor {
            Vendor::MariaDb => ",IGNORE_BAD_TABLE_OPTIONS",
            Vendor::MySql => "",
        };
        let sql_mode =
            format!("sql_mode = 'NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES,NO_ENGINE_SUBSTITUTION{bear}'");
        let mut settings = vec!["character_set_client = utf8mb4", &sql_mode, "foreign_key_checks = 0"];
        if self.by_hand.is_some() {
            // As they are in drover's own sessions.
            settings.extend(["collation_connection = utf8mb4_bin", "time_zone = '+00:00'"]);
            if vendor == Vendor::MariaDb {
                settings.push("innodb_strict_mode = OFF"); // on MySQL it takes a privilege
            }
        }
        let mut statements: Vec<_> =
            settings.into_iter().map(|setting| format!("SET {setting}").into_bytes()).collect();
        statements.push(self.by_hand.map_or_else(|| create.clone(), |server| in_full(&create, server)));
        self.text(&format!("Table {}", self.name(name)), &statements)
    }

    /// A sequence, with the values that it stands at.
    pub(crate) fn sequence(&self, connection: &mut Connection, name: &str) -> Result<Object> {
        let create = catalog::create_table(connection, &self.name(name))?;
        let set = match server::is_tidb(connection).doing(|| "asking which server it is")? {
            true => self.set_value_of_tidb(connection, name)?,
            false => Some(self.row_of_sequence(connection, name)?),
        };
        let statements: Vec<_> = [Some(create), set.map(String::into_bytes)].into_iter().flatten().collect();
        let stem = format!("{}.sequence", names::file_name(name));
        let script = self.write(&stem, &format!("Sequence {}", self.name(name)), &statements)?;
        Ok(Object { kind: "SEQUENCE".into(), name: name.into(), script, broken: false, catalogue: None })
    }

    /// Where a sequence of TiDB goes on from, which has no row to be read. What its servers hold ready is passed over. One that has given
    /// no value is as it was made.
    fn set_value_of_tidb(&self, connection: &mut Connection, name: &str) -> Result<Option<String>> {
        let doing = || format!("reading sequence {}", self.name(name));
        let rows = connection.query(format!("SHOW TABLE {} NEXT_ROW_ID", self.name(name))).doing(doing)?;
        // The rows' own ids, which a sequence has too, are numbered beside it. Numbers below 0 are shown as what their bits make without
        // a sign.
        let of_sequence = rows.rows.iter().find(|row| row.string(4) == "SEQUENCE");
        let next = of_sequence.and_then(|row| row.parse::<u64>(3));
        let sql = format!(
            "SELECT START, INCREMENT FROM information_schema.SEQUENCES WHERE SEQUENCE_SCHEMA = {} AND SEQUENCE_NAME = {}",
            quote::string(self.schema),
            quote::string(name)
        );
        let made = connection.first(sql).doing(doing)?;
        let made = made.and_then(|row| Some((row.parse::<i64>(0)?, row.parse::<i64>(1)?)));
        let (Some(next), Some((start, increment))) = (next, made) else {
            return Err(Error::found(format!("the server does not tell where {} goes on", self.name(name))));
        };
        let last = next.cast_signed().wrapping_sub(1);
        let is_unused = last == start.wrapping_sub(increment.signum());
        Ok((!is_unused).then(|| format!("SELECT SETVAL({}, {last})", quote::identifier(name))))
    }

    fn row_of_sequence(&self, connection: &mut Connection, name: &str) -> Result<String> {
        let row = connection
            .first(format!("SELECT * FROM {}", self.name(name)))
            .doing(|| format!("reading sequence {}", self.name(name)))?
            .ok_or_else(|| Error::found(format!("sequence {} has no row", self.name(name))))?;
        let values: Vec<_> = (0..row.len()).map(|index| row.string(index)).collect();
        Ok(format!("INSERT INTO {} VALUES ({})", quote::identifier(name), values.join(", ")))
    }

    /// Views, each after those that it reads; the statements that create them are added to `statements`.
    pub(crate) fn views(
        &self,
        connection: &mut Connection,
        names: &[String],
        statements: &mut BTreeMap<Name, Vec<u8>>,
        warnings: &mut Vec<String>,
    ) -> Result<Vec<Object>> {
        let (mut views, mut own) = (BTreeMap::new(), BTreeMap::new());
        for name in names {
            let view = views::read(connection, &self.name(name), &self.collation)?;
            own.insert(self.name(name), view.statements.last().cloned().unwrap_or_default());
            views.insert(self.name(name), view);
        }
        let mut objects = Vec::new();
        for name in view_order::in_order(&own) {
            let (view, name) = (&views[&name], name.name);
            let stem = format!("{}.view", names::file_name(&name));
            let script = self.write(&stem, &format!("View {}", self.name(&name)), &view.statements)?;
            let unusable = view.broken.as_ref();
            warnings.extend(
                unusable.map(|why| format!("view {} cannot be used on this server: {why}", self.name(&name))),
            );
            let (broken, catalogue) = (view.broken.is_some(), view.catalogue.clone());
            objects.push(Object { kind: "VIEW".into(), name, script, broken, catalogue });
        }
        statements.extend(own);
        Ok(objects)
    }

    /// The triggers of the given tables, in the order in which they are to be created.
    pub(crate) fn triggers(
        &self,
        connection: &mut Connection,
        tables: &BTreeSet<String>,
    ) -> Result<Vec<Object>> {
        let sql = format!(
            "SELECT TRIGGER_NAME, EVENT_OBJECT_TABLE, TRIGGER_SCHEMA FROM information_schema.TRIGGERS WHERE \
             TRIGGER_SCHEMA = {} ORDER BY EVENT_OBJECT_TABLE, ACTION_TIMING, EVENT_MANIPULATION, ACTION_ORDER",
            quote::string(self.schema)
        );
        let rows =
            connection.query(sql).doing(|| format!("listing the triggers of schema '{}'", self.schema))?;
        let wanted =
            rows.into_iter().filter(|row| row.string(2) == self.schema && tables.contains(&row.string(1)));
        wanted.map(|row| self.program(connection, "TRIGGER", &row.string(0))).collect()
    }

    /// Libraries of functions in other languages (MySQL from 9.2 on); a server without them has no such catalogue.
    fn libraries(&self, connection: &mut Connection) -> Result<Vec<Object>> {
        let sql = format!(
            "SELECT LIBRARY_NAME, LIBRARY_SCHEMA FROM information_schema.LIBRARIES WHERE LIBRARY_SCHEMA = {} \
             ORDER BY LIBRARY_NAME",
            quote::string(self.schema)
        );
        let rows = match connection.query(sql) {
            // ER_UNKNOWN_TABLE, and ER_NO_SUCH_TABLE of TiDB
            Err(error) if matches!(error.code(), Some(er::UNKNOWN_TABLE | er::NO_SUCH_TABLE)) => {
                return Ok(Vec::new());
            }
            other => other.doing(|| format!("listing the libraries of schema '{}'", self.schema))?,
        };
        let wanted = rows.into_iter().filter(|row| row.string(1) == self.schema);
        wanted.map(|row| self.program(connection, "LIBRARY", &row.string(0))).collect()
    }

    /// What others use first: libraries, packages before their bodies, functions before procedures.
    pub(crate) fn routines(&self, connection: &mut Connection) -> Result<Vec<Object>> {
        let mut objects = self.libraries(connection)?;
        let sql = format!(
            "SELECT ROUTINE_TYPE, ROUTINE_NAME, ROUTINE_SCHEMA FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = \
             {} ORDER BY FIELD(ROUTINE_TYPE, 'PACKAGE', 'PACKAGE BODY', 'FUNCTION', 'PROCEDURE'), ROUTINE_NAME",
            quote::string(self.schema)
        );
        let rows =
            connection.query(sql).doing(|| format!("listing the routines of schema '{}'", self.schema))?;
        let wanted = rows.into_iter().filter(|row| row.string(2) == self.schema);
        for row in wanted {
            objects.push(self.program(connection, &row.string(0), &row.string(1))?);
        }
        Ok(objects)
    }

    pub(crate) fn events(&self, connection: &mut Connection) -> Result<Vec<Object>> {
        let sql = format!(
            "SELECT EVENT_NAME, EVENT_SCHEMA FROM information_schema.EVENTS WHERE EVENT_SCHEMA = {} ORDER BY EVENT_NAME",
            quote::string(self.schema)
        );
        let rows =
            connection.query(sql).doing(|| format!("listing the events of schema '{}'", self.schema))?;
        let wanted = rows.into_iter().filter(|row| row.string(1) == self.schema);
        wanted.map(|row| self.program(connection, "EVENT", &row.string(0))).collect()
    }

    fn program(&self, connection: &mut Connection, kind: &str, name: &str) -> Result<Object> {
        let statements = definition(connection, kind, &self.name(name), &self.collation)?;
        let stem = format!("{}.{}", names::file_name(name), kind.to_lowercase().replace(' ', "-"));
        let script = self.write(&stem, &format!("{kind} {}", self.name(name)), &statements)?;
        Ok(Object { kind: kind.into(), name: name.into(), script, broken: false, catalogue: None })
    }
}

fn one_line(comment: &str) -> String {
    comment.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
