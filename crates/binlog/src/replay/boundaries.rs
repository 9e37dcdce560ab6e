//! Partitions whose boundaries are text beyond ASCII, which MySQL reads in the character set of the session that opens the table: after a statement
//! of a session in latin1, rows may lie where nobody looks for them. See [`with_text_boundaries`].

use std::collections::HashSet;

use drover_db::collations::{defaults::SETS, numbers};
use drover_db::sql::partitions::with_text_boundaries;

use super::destination::SideSession;
use super::events::Target;
use crate::Result;
use crate::chain::Trouble;
use crate::event::{Query, Setting};
use crate::log::Short;
use crate::objects::{Object, Objects, Table};

/// What was asked of the target, until a definition changes.
#[derive(Debug, Default)]
pub(super) struct Boundaries {
    /// The tables that have such.
    tables: Option<HashSet<(String, String)>>,
}

impl Boundaries {
    /// The tables whose rows a statement may put into other partitions, and the character set that they are read in.
    pub(super) fn misread(
        &mut self,
        session: &mut SideSession<'_>,
        target: &Target,
        query: &Query<'_>,
    ) -> Result<Vec<(Table, &'static str)>, Trouble> {
        // Servers that partition tables of InnoDB only are the ones that read them so.
        let reads_them = target.partitions_innodb_only;
        let Some(set) = other_set(query)?.filter(|_| reads_them) else { return Ok(Vec::new()) };
        let tables = self.tables(session)?;
        if tables.is_empty() {
            return Ok(Vec::new());
        }
        let Objects::Named { changed, .. } = Objects::of(query)? else { return Ok(Vec::new()) };
        let has_such = |table: &Table| {
            let [schema, name] =
                [&table.schema, &table.name].map(|name| String::from_utf8_lossy(name).to_lowercase());
            tables.contains(&(schema, name))
        };
        let changed = changed.into_iter().filter_map(|object| match object {
            Object::Table(table) => Some(table),
            _ => None,
        });
        Ok(changed.filter(has_such).map(|table| (table, set)).collect())
    }

    fn tables(&mut self, session: &mut SideSession<'_>) -> Result<&HashSet<(String, String)>> {
        if self.tables.is_none() {
            let found = session.with("asking for partitions", with_text_boundaries)?;
            self.tables = Some(found.into_iter().collect());
        }
        Ok(self.tables.get_or_insert_default())
    }
}

/// The character set of a statement's session, if it is none of Unicode.
fn other_set(query: &Query<'_>) -> Result<Option<&'static str>, Short> {
    for setting in query.settings() {
        if let Setting::Charset(_, connection, _) = setting? {
            return Ok(numbers::character_set(connection).filter(|set| !SETS.contains(set)));
        }
    }
    Ok(None)
}
