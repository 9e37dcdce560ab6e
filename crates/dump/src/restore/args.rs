//! `drover restore` and `drover verify`.

use std::path::PathBuf;

use drover_db::options::ServerArgs;

use super::rename::Rename;
use crate::guard::GuardArgs;
use crate::store::StoreArgs;

/// Restore a dump and prove that every row is there
#[derive(Debug, clap::Args)]
pub struct RestoreArgs {
    /// Where the dump is: its directory, or s3://BUCKET/PREFIX; or what another tool made: mydumper's directory, one of scripts
    /// for single tables, or a script of mysqldump or mariadb-dump, perhaps compressed, `-` for standard input
    #[arg(value_name = "SRC")]
    pub dir: PathBuf,

    /// Restore schema OLD as NEW, also in the views, triggers and routines that name it (repeatable)
    #[arg(long, value_name = "OLD=NEW")]
    pub into: Vec<Rename>,

    /// Drop tables, views and routines of the target that the dump also holds, and accounts with --users; without it they
    /// are an error
    #[arg(long)]
    pub drop_existing: bool,

    /// Go on with a restore of this dump that was ended before its time: files that were loaded are not loaded again
    #[arg(long, conflicts_with = "drop_existing")]
    pub resume: bool,

    /// Restore the dump's accounts and roles too. The one in use, its roles and root stay as they are
    #[arg(long)]
    pub users: bool,

    /// Restore nothing: try the whole schema on the target, without rows, and list what is rewritten or lost
    #[arg(long)]
    pub check: bool,

    /// On a server of another vendor, leave out what it cannot hold instead of restoring nothing
    #[arg(long)]
    pub skip_refused: bool,

    /// Connections that load rows, each with its worker [default: twice the cores here, if the server has as many to spare]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=512))]
    pub threads: Option<u16>,

    /// Do not read the restored tables back to compare them with the dump
    #[arg(long)]
    pub no_verify: bool,

    /// Switch the server's global local_infile on for the time of the restore, and back afterwards
    #[arg(long)]
    pub enable_local_infile: bool,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub guard: GuardArgs,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub store: StoreArgs,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub server: ServerArgs,
}

/// Compare a server with a dump, row by row, without changing anything
#[derive(Debug, clap::Args)]
pub struct VerifyArgs {
    /// Where the dump is: its directory, or s3://BUCKET/PREFIX
    #[arg(value_name = "DIR | URL")]
    pub dir: PathBuf,

    /// Compare schema OLD of the dump with schema NEW of the server (repeatable)
    #[arg(long, value_name = "OLD=NEW")]
    pub into: Vec<Rename>,

    /// The server is the one that was dumped: of tables dumped with --where, compare only the rows for which the condition
    /// holds. Without it a table must hold just the rows that the dump has
    #[arg(long)]
    pub source: bool,

    /// Compare accounts and roles too
    #[arg(long)]
    pub users: bool,

    /// Connections that read rows [default: twice the cores here, if the server has as many to spare]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=512))]
    pub threads: Option<u16>,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub store: StoreArgs,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub server: ServerArgs,
}
