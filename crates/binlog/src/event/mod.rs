//! What is in the bodies of events, one file for each kind that is looked into. Bodies are borrowed, never copied; one that is
//! too short gives [`crate::log::Short`].
//!
//! Sources: MySQL `libs/mysql/binlog/event/*.h`, MariaDB `sql/log_event.h` and `sql/log_event.cc`.

mod gtid;
mod load;
mod query;
mod rows;
mod small;
mod table_map;

pub(crate) use gtid::uuid_text;
pub use gtid::{Clock, Gtid, MariadbGtid, MysqlGtid, XaName};
pub use load::{Block, Clauses, Duplicates, ExecuteLoad, OldLoad};
pub use query::{Query, Setting, Status};
pub(crate) use rows::SECOND_VERSION;
pub use rows::{Rows, rows_head_length, rows_masks_start};
pub use small::{Intvar, Rotate, UserValue, UserVar, file_id, incident, rand_seeds, statement_of_rows, xid};
pub use table_map::TableMap;
