//! The queue, from its command line.

mod counts;
mod kills;
mod sharing;
