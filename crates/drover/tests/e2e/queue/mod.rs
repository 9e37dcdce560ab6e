//! `drover queue` from end to end.

mod browser;
mod serve;
