//! The client side of the MySQL protocol, as far as drover needs it: text statements, rows as raw bytes, LOCAL INFILE
//! streams, prepared statements, batches, binary logs. It never reconnects: a connection that broke stays broken, so a snapshot
//! cannot be lost unseen.
//!
//! Login packets and plugins come from `mysql_common`; framing and rows are our own, because they are the row path:
//! a row is handed out as the bytes that lie in the receive buffer, and one that is larger than the buffer in pieces.
//! Statements are bytes, not strings: the text of a routine may be in any character set.
//!
//! Source: MySQL Internals, "Client/Server Protocol"; MariaDB Knowledge Base, "Clients & Utilities / protocol".

mod attempt;
mod authentication;
mod binary;
mod bulk;
mod catalog;
mod catch_up;
mod connect;
mod connection;
mod fields;
mod handshake;
mod many_rows;
mod one_server;
mod open;
mod packet;
mod quit;
mod replication;
mod reply;
mod result;
mod row_inserts;
mod rows;
mod server_key;
mod statement;
mod stream;
mod tls;
mod value_text;

pub use attempt::interrupt_logins;
pub use bulk::{BulkRows, Prepared};
pub use connection::Connection;
pub use fields::{Field, next_field};
pub use many_rows::ManyRows;
pub use one_server::OneServer;
pub use packet::{BUFFER, LargeRow};
pub use replication::{BinlogRequest, BinlogStart, BinlogStream, EVENT_HEADER};
pub use reply::Outcome;
pub use result::{Row, Rows};
pub use row_inserts::RowInserts;
pub use rows::{RawRow, RowStream};
pub use statement::{Answer, Batch, Moment, ParameterKind, Value};
pub use stream::Breaker;
