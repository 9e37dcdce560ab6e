//! `drover binlog`.

mod corpus;
mod encryption;
mod flashback;
mod json;
mod sql;
