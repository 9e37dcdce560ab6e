//! What the options say, happens.

mod connection;
mod few;
mod into;
mod large;
mod local_infile;
mod login;
mod logs;
mod reports;
mod selection;
mod terminal;
mod tls;
mod verify;
