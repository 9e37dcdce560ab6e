//! `drover binlog`.

mod corpus;
mod encryption;
mod json;
mod replay;
mod sql;
