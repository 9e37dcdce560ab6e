//! Rows in row events: their values, as the columns' types say.

mod address;
mod beyond;
mod column;
mod converted;
pub(crate) mod decimal;
mod defined;
pub(crate) mod digits;
mod image;
mod kept;
mod retimed;
mod retyped;
mod table;
mod tables;
mod temporal;
mod value;

pub(crate) use beyond::{Lacks, negative_zero};
pub(crate) use column::Width;
pub use column::{Column, ColumnType};
pub(crate) use defined::{DefinedColumn, Definition, words};
pub(crate) use image::is_set;
pub use image::{Field, Row, RowReader, Spans};
pub(crate) use kept::{Kept, KeptColumn, KeptHistory, Misfit};
pub(crate) use retyped::{Retyped, Untellable};
pub use table::{NotUnderstood, Table};
pub use tables::Tables;
pub use temporal::{Date, DateTime, Time};
pub use value::{Value, inflate, write_decimal};
