//! `drover queue` from end to end.

mod browser;
mod counts;
mod kills;
mod serve;
mod sharing;
