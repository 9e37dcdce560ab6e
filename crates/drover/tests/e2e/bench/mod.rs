//! `drover bench`, on real servers, disks and processes.

mod connect;
mod disk;
mod malloc;
mod tpcc;
mod versus;
