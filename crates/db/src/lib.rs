//! Everything drover knows about talking to a MySQL or MariaDB server: the options that say where it is, the
//! connection, what the server is and can do, what accounts may do, what is known of its tables, and how names and values
//! are written into SQL.

mod cluster;
pub mod collations;
pub mod engines;
pub mod er;
mod error;
pub mod grants;
pub mod health;
mod node;
pub mod options;
pub mod quote;
pub mod replays;
pub mod schemas;
pub mod server;
pub mod session;
pub mod sql;
mod stop;
pub mod table;
pub mod wire;

pub use cluster::Substitutes;
pub use error::{Error, Exposure, Kind as ErrorKind, Result, ServerError};
pub use node::Cluster;
pub use server::{Server, Vendor};
pub use stop::{Stop, Watched};
pub use wire::{Connection, Row, Rows};
