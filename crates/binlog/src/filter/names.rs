//! Names of schemas and tables that are wanted, on servers where case counts and where it does not.

use std::collections::BTreeSet;

use globset::{Glob, GlobMatcher};

use super::args::FilterArgs;
use super::wants::Wants;
use crate::objects::{Object, Objects, Table};

/// A pattern of names.
#[derive(Debug, Clone)]
pub struct NameGlob {
    exact: GlobMatcher,
    /// In lower case, for names in lower case.
    folded: GlobMatcher,
}

impl std::str::FromStr for NameGlob {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let glob = |text: &str| Glob::new(text).map(|glob| glob.compile_matcher());
        let both = glob(text).and_then(|exact| Ok(Self { exact, folded: glob(&text.to_lowercase())? }));
        both.map_err(|error| error.to_string())
    }
}

impl NameGlob {
    pub(super) fn text(&self) -> &str {
        self.exact.glob().glob()
    }

    fn matches(&self, name: &[u8], folds: bool) -> bool {
        let name = String::from_utf8_lossy(name);
        self.exact.is_match(name.as_ref()) || folds && self.folded.is_match(name.to_lowercase())
    }

    /// Whether it may match a table of this schema.
    fn may_match_in(&self, schema: &[u8], folds: bool) -> bool {
        let Some((before, _)) = self.text().split_once('.') else { return true };
        before.parse::<Self>().map_or(true, |before| before.matches(schema, folds))
    }
}

/// Names of schemas.
#[derive(Debug, Clone, Default)]
pub(super) struct Schemas {
    exact: BTreeSet<Vec<u8>>,
    folded: BTreeSet<String>,
}

impl Schemas {
    pub(super) fn contains(&self, name: &[u8], folds: bool) -> bool {
        self.exact.contains(name) || folds && self.folded.contains(&folded(name))
    }

    pub(super) fn insert(&mut self, name: Vec<u8>) {
        self.folded.insert(folded(&name));
        self.exact.insert(name);
    }
}

impl FromIterator<Vec<u8>> for Schemas {
    fn from_iter<I: IntoIterator<Item = Vec<u8>>>(names: I) -> Self {
        let mut schemas = Self::default();
        names.into_iter().for_each(|name| schemas.insert(name));
        schemas
    }
}

fn folded(name: &[u8]) -> String {
    String::from_utf8_lossy(name).to_lowercase()
}

/// The names that are wanted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Names<'a> {
    pub(super) databases: &'a [NameGlob],
    pub(super) tables: &'a [NameGlob],
    /// The only schemas of them; all where this is not said.
    pub(super) schemas: Option<&'a Schemas>,
    /// Whether names in any case are the same.
    pub(super) folds: bool,
}

impl<'a> Names<'a> {
    pub(super) fn of(args: &'a FilterArgs, schemas: Option<&'a Schemas>, folds: bool) -> Self {
        Self { databases: &args.database, tables: &args.table, schemas, folds }
    }

    /// Whether something of this schema may be wanted.
    pub(super) fn may_take_of(&self, schema: &[u8]) -> bool {
        self.take_database(schema)
            && (self.tables.is_empty()
                || self.tables.iter().any(|glob| glob.may_match_in(schema, self.folds)))
    }

    fn take_database(&self, schema: &[u8]) -> bool {
        self.databases.is_empty() || self.databases.iter().any(|glob| glob.matches(schema, self.folds))
    }

    /// Whether a schema is none of those that are wanted, whatever --database and --table say.
    pub(super) fn leave_out(&self, schema: &[u8]) -> bool {
        // No dump has these, and every server does.
        const OF_SERVERS: [&str; 4] = ["mysql", "information_schema", "performance_schema", "sys"];
        let is_of_server = || OF_SERVERS.iter().any(|name| schema.eq_ignore_ascii_case(name.as_bytes()));
        self.schemas.is_some_and(|schemas| !schemas.contains(schema, self.folds) && !is_of_server())
    }

    /// Whether --database and --table name a table.
    pub(super) fn name(&self, schema: &[u8], table: &[u8]) -> bool {
        let whole = [schema, b".", table].concat();
        let matches = |glob: &NameGlob| glob.matches(&whole, self.folds) || glob.matches(table, self.folds);
        self.take_database(schema) && (self.tables.is_empty() || self.tables.iter().any(matches))
    }

    pub(super) fn take_table(&self, schema: &[u8], table: &[u8]) -> bool {
        !self.leave_out(schema) && self.name(schema, table)
    }

    /// Whether a statement is wanted that was run with this schema.
    pub(super) fn want(&self, schema: &[u8], objects: &Objects) -> Wants {
        let is_of_schema = || self.tables.is_empty() && self.take_database(schema);
        match objects {
            Objects::OfTransaction => Wants::Along,
            Objects::OfServer => Wants::if_so(is_of_schema()),
            Objects::Untold if is_of_schema() => Wants::Yes,
            Objects::Untold => Wants::Untold,
            Objects::Named { changed, read, changes_rows, .. } => match self.want_objects(changed, read) {
                Wants::No if *changes_rows => Wants::Untold,
                wants => wants,
            },
        }
    }

    fn want_objects(&self, changed: &[Object], read: &[Table]) -> Wants {
        let wanted = changed.iter().map(|object| self.want_object(object));
        let reads_others = !read.iter().all(|Table { schema, name }| self.take_table(schema, name));
        let all = wanted.reduce(|one, other| match (one, other) {
            (one, other) if one == other => one,
            (Wants::Untold, _) | (_, Wants::Untold) => Wants::Untold,
            _ => Wants::Partly,
        });
        match all {
            Some(Wants::Yes) if reads_others => Wants::Partly,
            all => all.unwrap_or(Wants::Untold),
        }
    }

    fn want_object(&self, object: &Object) -> Wants {
        let is_in = |schema: &[u8]| !self.leave_out(schema) && self.take_database(schema);
        match object {
            Object::Table(Table { schema, name }) => Wants::if_so(self.take_table(schema, name)),
            Object::Program(schema) => Wants::if_so(is_in(schema) && self.tables.is_empty()),
            Object::Schema(schema) | Object::Trigger(schema) => match is_in(schema) {
                true if self.tables.is_empty() => Wants::Yes,
                // Of some of its tables it is not.
                true if self.may_take_of(schema) => Wants::Untold,
                _ => Wants::No,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_of_names_in_any_case() {
        let glob = |text: &str| text.parse::<NameGlob>().unwrap();
        for (pattern, name, exact, folded) in [
            ("shop", "shop", true, true),
            ("shop", "SHOP", false, true),
            ("SHOP.Ord*", "shop.orders", false, true),
            ("Ärger", "ärGER", false, true),
            ("[A-M]*", "m", false, true),
            ("[!A-Z]*", "abc", true, true),
            ("shop", "shops", false, false),
        ] {
            let matches = [false, true].map(|folds| glob(pattern).matches(name.as_bytes(), folds));
            assert_eq!(matches, [exact, folded], "{pattern} {name}");
        }
        assert!(glob("Shop.a").may_match_in(b"sHOP", true) && !glob("Shop.a").may_match_in(b"shop", false));
    }
}
