//! MySQL's binary JSON, as it stands in row events: whole documents, and what changed in them.
//!
//! [`write_text`] writes a document as the server shows it, [`write_sql`] as an expression that makes it anew. [`Diffs`] is what
//! a partial update says of a column. MariaDB keeps JSON as text, and has none of this.
//!
//! Sources: MySQL `sql-common/json_binary.h` (the format), `sql-common/json_dom.cc` (the text), `sql-common/json_diff.h` (partial
//! updates).

mod binary;
mod diff;
#[cfg(test)]
mod made;
mod number;
mod opaque;
mod quote;
mod sql;
mod text;
mod types;

pub use diff::{Change, Diff, Diffs};
pub use sql::write_sql;
pub use text::write_text;
pub(crate) use text::{Era, write_text_of};
pub(crate) use types::write_types;

use crate::log::Short;

/// Why bytes are not a document, or not a list of changes in one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    /// Something lies beyond the end.
    #[error("JSON that is cut short, or that points outside itself")]
    Short,
    /// Two values are said to lie in the same bytes.
    #[error("JSON with values that overlap")]
    Overlap,
    /// More containers in each other than a server allows.
    #[error("JSON that is nested deeper than {}", binary::DEPTH)]
    Deep,
    /// A value of a type that nobody knows.
    #[error("JSON with a value of type {0}, which nobody knows")]
    Type(u8),
    /// A literal other than null, true and false, or a number that is none.
    #[error("JSON with a literal or a number that cannot be")]
    Literal,
    /// A string or a name that is not UTF-8.
    #[error("JSON with text that is not UTF-8")]
    Text,
    /// A decimal, a date or a time that cannot be; its column type.
    #[error("JSON with a value of column type {0} that cannot be")]
    Opaque(u8),
    /// A change of a kind that nobody knows.
    #[error("a change of JSON of kind {0}, which nobody knows")]
    Change(u8),
    /// A path that does not begin where all do.
    #[error("a change of JSON at a path that is none")]
    Path,
}

impl From<Short> for Invalid {
    fn from(Short: Short) -> Self {
        Self::Short
    }
}
