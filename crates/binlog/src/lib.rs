//! Binary logs of MySQL and MariaDB, of all versions since 3.23: what is in them, and what it costs.
//!
//! [`log`] makes events of bytes and tells which make up a transaction, [`event`] what is in their bodies; [`chain::Chain`] goes
//! through several logs. Each command has a module of its own.

mod args;
pub mod chain;
mod command;
mod cost;
mod crypt;
mod definitions;
mod error;
pub mod event;
mod extract;
mod filter;
mod flashback;
pub mod gtid_set;
mod gtid_state;
pub mod json;
mod link;
mod loads;
pub mod log;
mod ls;
mod objects;
mod replay;
pub mod rows;
pub mod server;
mod shortened;
pub mod source;
mod sql;
mod stat;
mod time;

pub use args::{FileArgs, LogArgs};
pub use command::{BinlogArgs, BinlogCommand};
pub use cost::{
    Basis, CostArgs, CostReport, CureReport, KeySource, LagReport, LagSpan, LinkReport, Safety,
    SafetyVerdict, StatementCost, TableCost, cost,
};
pub use crypt::Keyring;
pub use definitions::ColumnsArgs;
pub use error::{Error, Result};
pub use extract::{ExtractArgs, ExtractReport, extract};
pub use filter::{EventType, Filter, FilterArgs, NameGlob, Verdict};
pub use ls::{LsArgs, ls};
pub use replay::{
    After, Compare, Destination, Interrupted, NearestCollation, NotKept, Partial, Problem, ReplayArgs,
    ReplayReport, replay,
};
pub use sql::{SqlArgs, SqlReport, sql};
pub use stat::{StatArgs, StatReport, stat};
