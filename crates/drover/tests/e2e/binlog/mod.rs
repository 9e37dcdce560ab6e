//! `drover binlog`.

mod corpus;
mod encryption;
mod flashback;
mod follow;
mod json;
mod sql;
mod variables;
