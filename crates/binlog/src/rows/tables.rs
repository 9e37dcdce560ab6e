//! The tables that a log describes, as far as it was read.

use std::collections::HashMap;

use crate::definitions::Definitions;
use crate::event::TableMap;
use crate::log::Format;

use super::table::{NotUnderstood, Table};

/// The tables that were described, by their numbers.
#[derive(Debug, Default)]
pub struct Tables {
    by_id: HashMap<u64, Known>,
    /// What tells of columns what the logs do not.
    definitions: Option<Definitions>,
}

#[derive(Debug)]
struct Known {
    /// The description as it came: the same comes again before each statement.
    description: Vec<u8>,
    /// Its schema and its name.
    name: (Vec<u8>, Vec<u8>),
    table: std::result::Result<Table, NotUnderstood>,
}

impl Tables {
    /// With these definitions beside the logs, if there are any.
    pub(crate) fn with(definitions: Option<Definitions>) -> Self {
        Self { by_id: HashMap::new(), definitions }
    }

    /// Forgets all that were described.
    pub(crate) fn clear(&mut self) {
        self.by_id.clear();
    }

    /// Takes in a description; `body` is that of its event.
    ///
    /// # Errors
    /// If the server that has the definitions cannot be asked.
    pub fn learn(&mut self, map: &TableMap<'_>, body: &[u8], format: &Format) -> crate::Result<()> {
        if self.by_id.get(&map.id).is_some_and(|known| known.description == body) {
            return Ok(());
        }
        let mut table = Table::of(map, format);
        // No log tells which columns are generated.
        if let (Ok(table), Some(definitions)) = (&mut table, &self.definitions) {
            definitions.complete(table, format)?;
        }
        let name = (map.schema.to_vec(), map.table.to_vec());
        self.by_id.insert(map.id, Known { description: body.to_vec(), name, table });
        Ok(())
    }

    /// The schema and the name of the table with this number, also if its columns are not understood.
    pub(crate) fn name(&self, id: u64) -> Option<(&[u8], &[u8])> {
        self.by_id.get(&id).map(|Known { name: (schema, name), .. }| (&schema[..], &name[..]))
    }

    /// The table with this number; `None` if it was not described.
    pub fn get(&self, id: u64) -> Option<Result<&Table, NotUnderstood>> {
        self.by_id.get(&id).map(|known| known.table.as_ref().map_err(|why| *why))
    }
}
