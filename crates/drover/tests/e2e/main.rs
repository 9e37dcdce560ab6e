//! drover from end to end: the real binary against real servers of both vendors.
//!
//! `DROVER_TEST_FLAVOURS` (default `mariadb,mysql`) says which vendors; one that is named and cannot be started is a
//! failure. What a test expects of the data is found with the vendor's own client, never with drover.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod big;
mod browser;
mod chance;
mod client;
mod compare;
mod doctor;
mod documents;
mod downgrade;
mod drover;
mod files;
mod loops;
mod servers;

mod across;
mod any_case;
mod bench;
mod binlog;
mod by_hand;
mod cases;
mod chunk;
mod chunks;
mod consistency;
mod copy;
mod definers;
mod events;
mod failures;
mod foreign;
mod formats;
mod globals;
mod globals_storm;
mod history;
mod implied;
mod kept;
mod left_out;
mod literals;
mod managed;
mod masking;
mod nodes;
mod one_server;
mod options;
mod queue;
mod reach;
mod reach_mariadb;
mod reach_old;
mod rot;
mod row_bytes;
mod rows_chosen;
mod s3;
mod sandbox;
mod schemas;
mod stock;
mod throttle;
mod tidb;
mod translated;
mod untrusted;
mod users;
