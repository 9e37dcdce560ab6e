//! One binary log: from bytes to events, and from events to transactions. What is in an event's body is told in
//! [`crate::event`].

mod cursor;
mod feed;
mod format;
mod group;
mod header;
mod kind;
mod reader;
mod unpack;

pub(crate) use cursor::push_packed;
pub use cursor::{Cursor, Short};
pub use format::Format;
pub use group::{Grouper, Place};
pub use header::Header;
pub(crate) use header::widened;
pub use kind::{Kind, RowChange};
pub(crate) use reader::MAGIC;
pub use reader::{Event, Reader};
pub use unpack::Unpacked;
