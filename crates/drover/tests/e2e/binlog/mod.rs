//! `drover binlog`.

mod corpus;
mod encryption;
mod json;
mod sql;
