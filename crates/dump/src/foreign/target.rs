//! What the target holds: what was there before, which is not the dump's to change, and what this restore made.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use drover_db::sql::{Dialect, Token, tokens_in_comments};
use drover_db::{Connection, quote};

use super::generated::{self, Generated};
use super::history::{Ends, RowEnd};
use crate::dump::catalog::{self, Name, Relation, RelationKind};
use crate::error::Doing;
use crate::{Error, Result};

/// What was made under a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Made {
    /// A table that keeps rows.
    Table,
    Sequence,
    /// A view, or a table that shows rows which are kept elsewhere: rows put into it would go there.
    Other,
}

/// What the target holds.
#[derive(Default)]
pub(super) struct Target {
    /// Tables, views and sequences that were there before.
    there: BTreeMap<Name, Relation>,
    /// Routines, events and triggers that were there before: the word for DROP and the schema, and the names.
    programs: BTreeMap<(String, String), Vec<String>>,
    ends: Ends,
    own: Mutex<Own>,
}

/// What this restore made.
#[derive(Default)]
struct Own {
    made: BTreeMap<Name, Made>,
    programs: BTreeSet<(&'static str, Name)>,
    /// Tables that were there and had no rows.
    empty: BTreeSet<Name>,
    /// Tables whose rows are put in by one connection, in the order of the dump.
    one_by_one: BTreeSet<Name>,
    /// Tables that are system-versioned, and what tells the end of their rows, if it was asked for.
    row_ends: BTreeMap<Name, Option<RowEnd>>,
    /// Tables that may have generated columns, and these, if they were asked for.
    generated: BTreeMap<Name, Option<Generated>>,
    schemas: BTreeSet<String>,
    /// Schemas that the dump has used or made by now.
    entered: BTreeSet<String>,
    /// Tables that get rows.
    begun: BTreeSet<Name>,
    /// Schemas that replays were told of.
    filled: BTreeSet<String>,
}

impl Target {
    pub(super) fn read(connection: &mut Connection) -> Result<Self> {
        let there = catalog::relations(connection)?;
        let there = there.into_iter().map(|relation| (relation.name.clone(), relation)).collect();
        let schemas = catalog::schemas(connection)?.into_iter().collect();
        let own = Mutex::new(Own { schemas, ..Own::default() });
        Ok(Self { there, programs: programs(connection)?, ends: Ends::of(connection)?, own })
    }

    fn own(&self) -> MutexGuard<'_, Own> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The word for DROP, if the target had something of that name before.
    pub(super) fn existing(&self, name: &Name) -> Option<&'static str> {
        Some(match self.there.get(name)?.kind {
            RelationKind::Table | RelationKind::VersionedTable => "TABLE",
            RelationKind::View => "VIEW",
            RelationKind::Sequence => "SEQUENCE",
        })
    }

    /// Whether the target had such a program before. Servers take names of programs for the same that differ in case or accents only.
    pub(super) fn has_program(&self, connection: &mut Connection, word: &str, name: &Name) -> Result<bool> {
        let there = self.programs.get(&(word.to_owned(), name.schema.clone())).into_iter().flatten();
        for other in there {
            if other.to_lowercase() == name.name.to_lowercase()
                || may_be_same(other, &name.name) && is_same(connection, other, &name.name)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    pub(super) fn make(&self, name: &Name, what: Made) {
        self.own().made.insert(name.clone(), what);
    }

    pub(super) fn has_made(&self, name: &Name) -> bool {
        self.own().made.contains_key(name)
    }

    pub(super) fn has_made_all(&self, names: &[Name]) -> bool {
        let own = self.own();
        names.iter().all(|name| own.made.contains_key(name))
    }

    pub(super) fn make_program(&self, word: &'static str, name: &Name) {
        self.own().programs.insert((word, in_lower_case(name)));
    }

    pub(super) fn has_made_program(&self, word: &'static str, name: &Name) -> bool {
        self.own().programs.contains(&(word, in_lower_case(name)))
    }

    /// Whether what is read of it is this dump's.
    pub(super) fn may_be_read(&self, name: &Name) -> bool {
        self.own().made.get(name) == Some(&Made::Sequence) || self.is_filled_here(name)
    }

    /// Whether all rows of a table are this dump's.
    pub(super) fn is_filled_here(&self, name: &Name) -> bool {
        let own = self.own();
        own.made.get(name) == Some(&Made::Table) || own.empty.contains(name)
    }

    /// Refuses to put rows into what is no table, or a table that had rows before.
    pub(super) fn check_filled(&self, connection: &mut Connection, name: &Name) -> Result<()> {
        let mut own = self.own();
        match own.made.get(name) {
            Some(Made::Table) => return Ok(()),
            Some(Made::Sequence | Made::Other) => return Err(no_table(name, "the dump makes")),
            None if own.empty.contains(name) => return Ok(()),
            None => {}
        }
        if self
            .there
            .get(name)
            .is_some_and(|there| self.existing(name) != Some("TABLE") || there.rows_elsewhere())
        {
            return Err(no_table(name, "the target has"));
        }
        check_empty(connection, name)?;
        own.note(name, &catalog::create_table(connection, name)?, Dialect::default());
        own.empty.insert(name.clone());
        Ok(())
    }

    /// Notes that a table gets rows; whether that was not noted before.
    pub(super) fn begin(&self, name: &Name) -> bool {
        self.own().begun.insert(name.clone())
    }

    /// Notes that a schema is filled; whether that was not noted before.
    pub(super) fn fill(&self, schema: &str) -> bool {
        self.own().filled.insert(schema.to_owned())
    }

    /// Whether it was noted.
    pub(super) fn has_begun(&self, name: &Name) -> bool {
        self.own().begun.contains(name)
    }

    /// Notes how a table's rows are to be put in.
    pub(super) fn note(&self, name: &Name, create: &[u8], dialect: Dialect) {
        self.own().note(name, create, dialect);
    }

    /// What tells the end of a table's rows, if it is system-versioned.
    pub(super) fn row_end(&self, connection: &mut Connection, name: &Name) -> Result<Option<RowEnd>> {
        let mut own = self.own();
        let Some(row_end) = own.row_ends.get_mut(name) else { return Ok(None) };
        if row_end.is_none() {
            *row_end = RowEnd::of(connection, name, self.ends)?;
        }
        Ok(row_end.clone())
    }

    /// The generated columns of a table, if it has some.
    pub(super) fn generated(&self, connection: &mut Connection, name: &Name) -> Result<Option<Generated>> {
        let mut own = self.own();
        let Some(known) = own.generated.get_mut(name) else { return Ok(None) };
        if known.is_none() {
            *known = Generated::of(connection, name)?;
        }
        let found = known.clone();
        if found.is_none() {
            own.generated.remove(name);
        }
        Ok(found)
    }

    /// Notes that the columns of a table are others now.
    pub(super) fn alter(&self, name: &Name, definition: &[u8], dialect: Dialect) {
        let mut own = self.own();
        if own.generated.contains_key(name) || generated::may_have_some(definition, dialect) {
            own.generated.insert(name.clone(), None);
        }
    }

    /// The last TIMESTAMP.
    pub(super) fn ends(&self) -> Ends {
        self.ends
    }

    /// Whether a table's rows are put in by one connection, in the order of the dump.
    pub(super) fn is_one_by_one(&self, name: &Name) -> bool {
        self.own().one_by_one.contains(name)
    }

    /// Creates a schema that is not there.
    pub(super) fn create_schema(&self, connection: &mut Connection, schema: &str) -> Result<()> {
        let mut own = self.own();
        own.entered.insert(schema.to_owned());
        if own.schemas.contains(schema) {
            return Ok(());
        }
        let sql = format!("CREATE DATABASE IF NOT EXISTS {}", quote::identifier(schema));
        connection.execute(&sql).doing(|| sql.clone())?;
        own.schemas.insert(schema.to_owned());
        Ok(())
    }

    /// Whether a schema is there; one that is keeps its settings.
    pub(super) fn has_schema(&self, schema: &str) -> bool {
        self.own().schemas.contains(schema)
    }

    pub(super) fn add_schema(&self, schema: &str) {
        let mut own = self.own();
        own.schemas.insert(schema.to_owned());
        own.entered.insert(schema.to_owned());
    }

    /// Whether the dump has used or made a schema by now.
    pub(super) fn has_entered(&self, schema: &str) -> bool {
        self.own().entered.contains(schema)
    }
}

impl Own {
    fn note(&mut self, name: &Name, create: &[u8], dialect: Dialect) {
        if fills_one_by_one(create, dialect) {
            self.one_by_one.insert(name.clone());
        }
        match generated::may_have_some(create, dialect) {
            true => drop(self.generated.insert(name.clone(), None)),
            false => drop(self.generated.remove(name)),
        }
        match is_versioned(create, dialect) {
            true => drop(self.row_ends.insert(name.clone(), None)),
            false => drop(self.row_ends.remove(name)),
        }
    }
}

fn no_table(name: &Name, whose: &str) -> Error {
    Error::with_hint(
        format!("rows for {name}, which {whose} as a view or as a table whose rows are kept elsewhere"),
        "put into it they would change other tables: take them out of the dump",
    )
}

/// Routines, events and triggers of the server: the word for DROP, and the name.
fn programs(connection: &mut Connection) -> Result<BTreeMap<(String, String), Vec<String>>> {
    let sql = "SELECT ROUTINE_SCHEMA, ROUTINE_NAME, ROUTINE_TYPE FROM information_schema.ROUTINES UNION ALL \
               SELECT EVENT_SCHEMA, EVENT_NAME, 'EVENT' FROM information_schema.EVENTS UNION ALL \
               SELECT TRIGGER_SCHEMA, TRIGGER_NAME, 'TRIGGER' FROM information_schema.TRIGGERS";
    let rows = connection.query(sql).doing(|| "reading the list of routines, events and triggers")?;
    let mut found = BTreeMap::<_, Vec<_>>::new();
    for row in rows {
        found.entry((row.string(2), row.string(0))).or_default().push(row.string(1));
    }
    Ok(found)
}

fn in_lower_case(name: &Name) -> Name {
    Name::new(&name.schema, &name.name.to_lowercase())
}

/// Whether two names differ at most in case and in characters beyond ASCII, as `é` and `E` do.
fn may_be_same(one: &str, other: &str) -> bool {
    let is_same = |(a, b): (char, char)| a.eq_ignore_ascii_case(&b) || !a.is_ascii() || !b.is_ascii();
    one.chars().count() == other.chars().count() && one.chars().zip(other.chars()).all(is_same)
}

/// Whether the server takes two names of programs for the same.
fn is_same(connection: &mut Connection, one: &str, other: &str) -> Result<bool> {
    // In hexadecimal, whatever character set the session has.
    let [left, right] = [one, other].map(|name| quote::hex(name.as_bytes()));
    let sql = format!("SELECT _utf8mb4 {left} COLLATE utf8mb4_general_ci = _utf8mb4 {right}");
    let row = connection.first(&sql).doing(|| format!("comparing the names `{one}` and `{other}`"))?;
    Ok(row.is_some_and(|row| row.string(0) == "1"))
}

/// Refuses to fill a table that has rows.
fn check_empty(connection: &mut Connection, name: &Name) -> Result<()> {
    let sql = format!("SELECT 1 FROM {} LIMIT 1", quote::qualified(&name.schema, &name.name));
    let row = connection.first(sql).doing(|| format!("{name}, which the dump fills but does not create"))?;
    match row {
        None => Ok(()),
        Some(_) => Err(Error::with_hint(
            format!(
                "the dump does not create {name}, and the target's has rows already: nothing was changed in it"
            ),
            "TRUNCATE the table, or restore a dump that has its definition",
        )),
    }
}

/// Whether rows that several connections put in at once would be refused: InnoDB's full-text index takes numbers of
/// documents in rising order only, and periods that may not overlap are looked for with locks on the rows around.
fn fills_one_by_one(create: &[u8], dialect: Dialect) -> bool {
    let is_it = |token: &Token<'_>| {
        token.is_word("OVERLAPS") || token.name().is_some_and(|name| name.eq_ignore_ascii_case(b"FTS_DOC_ID"))
    };
    tokens_in_comments(create, dialect).filter(Token::is_code).any(|token| is_it(&token))
}

/// Whether a table is made with a history (MariaDB), or some of its columns are.
fn is_versioned(create: &[u8], dialect: Dialect) -> bool {
    tokens_in_comments(create, dialect).any(|token| token.is_word("VERSIONING"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_that_are_filled_one_by_one() {
        let one_by_one = |text: &str| fills_one_by_one(text.as_bytes(), Dialect::default());
        assert!(one_by_one("CREATE TABLE t (`FTS_DOC_ID` bigint unsigned NOT NULL, FULLTEXT KEY (a))"));
        assert!(one_by_one("CREATE TABLE t (UNIQUE KEY `u` (`a`,`p` WITHOUT OVERLAPS))"));
        assert!(!one_by_one("CREATE TABLE t (a int COMMENT 'FTS_DOC_ID, OVERLAPS')"));
    }

    #[test]
    fn names_that_a_server_may_take_for_the_same() {
        assert!(may_be_same("café", "CAFE") && may_be_same("ö", "Ö"));
        assert!(!may_be_same("cafe", "cafes") && !may_be_same("cafe", "cave"));
    }

    #[test]
    fn only_what_was_made_here_is_changed() {
        let (target, name) = (Target::default(), |name: &str| Name::new("s", name));
        target.make(&name("t"), Made::Table);
        target.make(&name("v"), Made::Other);
        assert!(
            target.has_made_all(&[name("t"), name("v")]) && !target.has_made_all(&[name("t"), name("x")])
        );
        assert!(target.is_filled_here(&name("t")) && !target.is_filled_here(&name("v")));
        target.make(&name("q"), Made::Sequence);
        assert!(
            target.may_be_read(&name("t"))
                && target.may_be_read(&name("q"))
                && !target.may_be_read(&name("v"))
        );
        target.make_program("EVENT", &name("E"));
        assert!(
            target.has_made_program("EVENT", &name("e")) && !target.has_made_program("FUNCTION", &name("e"))
        );
    }
}
