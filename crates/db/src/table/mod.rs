//! What is known of a table, and how its rows are walked and told: its columns and unique keys as the catalogue has them, how
//! each column is read so that its value survives exactly, conditions for the rows before and behind a border, rows as lines.
//! Nothing here says which rows are wanted or where they go.

mod catalog;
pub mod column;
pub mod keys;
mod numbering;
pub mod text;
mod value_kind;

use std::fmt;

pub use catalog::{
    ColumnFacts, ROW_TIMES, UniqueKey, clustering_key, columns, implicit_row_times, unique_keys,
};
pub use column::{Column, ReadColumn, to_read};
pub use keys::{Key, KeyColumn, Literal, key_of};
pub use numbering::{Mark, Numbering, Numbers, mark};
pub use value_kind::ValueKind;

use crate::{Row, quote};

/// A schema's name and the name of something in it.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name {
    /// The schema's name in the server.
    pub schema: String,
    /// The other name.
    pub name: String,
}

impl Name {
    /// Both names as the server has them, without backticks.
    pub fn new(schema: &str, name: &str) -> Self {
        Self { schema: schema.into(), name: name.into() }
    }

    /// The condition for the rows of a view of `information_schema` that are about this table. The catalogue takes `Shop` and
    /// `shop` for the same: [`Name::begins`] tells them apart.
    pub fn condition(&self) -> String {
        format!(
            "TABLE_SCHEMA = {} AND TABLE_NAME = {}",
            quote::string(&self.schema),
            quote::string(&self.name)
        )
    }

    /// Whether a row's first two columns are these names, byte for byte.
    pub fn begins(&self, row: &Row) -> bool {
        row.string(0) == self.schema && row.string(1) == self.name
    }
}

/// In backticks, so that it serves in SQL and in messages.
impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&quote::qualified(&self.schema, &self.name))
    }
}
