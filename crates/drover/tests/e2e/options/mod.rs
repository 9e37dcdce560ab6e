//! What the options say, happens.

mod connection;
mod into;
mod large;
mod local_infile;
mod logs;
mod reports;
mod selection;
mod tls;
mod verify;
