//! The queue, from its command line.

mod kills;
mod sharing;
