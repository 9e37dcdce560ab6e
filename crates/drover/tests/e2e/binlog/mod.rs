//! `drover binlog`.

mod across;
mod applied;
mod chosen;
mod corpus;
mod cost;
mod cost_safety;
mod encryption;
mod extract;
mod extract_files;
mod extract_rows;
mod flashback;
mod follow;
mod gaps;
mod into_cluster;
mod json;
mod names;
mod origin;
mod pitr;
mod replay;
mod runs;
mod sessions;
pub(crate) mod sql;
mod stat;
mod storm;
mod told;
mod undo;
mod variables;
