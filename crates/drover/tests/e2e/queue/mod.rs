//! `drover queue` from end to end.

mod serve;
