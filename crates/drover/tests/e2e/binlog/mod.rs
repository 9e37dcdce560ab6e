//! `drover binlog`.

mod corpus;
mod encryption;
mod extract;
mod extract_files;
mod extract_rows;
mod json;
mod replay;
mod sql;
