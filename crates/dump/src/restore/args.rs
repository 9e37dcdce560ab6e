//! `drover restore` and `drover verify`.

use std::path::PathBuf;

use drover_db::options::{ConnectOptions, Logged, ServerArgs};
use drover_store::StoreArgs;
use drover_throttle::ThrottleArgs;

use super::events::Events;
use super::rename::Rename;
use crate::definer::Definer;

/// What may become of the server that is filled: options of a restore and of a copy.
#[derive(Debug, clap::Args)]
pub struct TargetArgs {
    /// Make schema OLD under the name NEW, also in the views, triggers and routines that name it (repeatable)
    #[arg(long, value_name = "OLD=NEW")]
    pub into: Vec<Rename>,

    /// Drop tables, views and routines of the target that come anew, and accounts with --users; without it they are an error
    #[arg(long)]
    pub drop_existing: bool,

    /// Try everything on the target first, and leave out what it does not take instead of changing nothing
    #[arg(long)]
    pub skip_refused: bool,

    /// What becomes of the definers of views, triggers, routines and events: `keep`, `current-user` (the account that fills the target) or
    /// an account as USER@HOST. What the account may not create is told before anything is changed
    #[arg(long, value_name = "WHICH", default_value = "keep")]
    pub definer: Definer,

    /// Do not read the tables back to compare them with what was sent
    #[arg(long)]
    pub no_verify: bool,

    /// Whether scheduled events that run on the source run on the target too. Where it goes on to follow the source they must not, as what
    /// they change comes from there: they are made with DISABLE ON SLAVE [default: on once all is proved; off for a copy, and on a
    /// server that is a replica]
    #[arg(long, value_name = "WHETHER")]
    pub events: Option<Events>,

    /// Switch the target's global local_infile on meanwhile, and back afterwards
    #[arg(long)]
    pub enable_local_infile: bool,

    /// Leave what is done out of the target's binary log: faster, but no replica gets it, and no log can repeat it
    #[arg(long)]
    pub skip_binlog: bool,

    /// Have rows in the target's binary log as statements with the file that they load, not one by one: less work for MySQL,
    /// but what reads rows from the log (CDC) misses them
    #[arg(long, conflicts_with = "skip_binlog")]
    pub log_statements: bool,

    /// Switch InnoDB's redo log off for the whole server until the rows are in (MySQL). If the server dies meanwhile, ALL that
    /// it holds is lost
    #[arg(long)]
    pub disable_redo: bool,
}

impl TargetArgs {
    /// How the sessions that change the target are opened.
    pub(crate) fn options(&self, options: &ConnectOptions) -> ConnectOptions {
        let logged = match (self.skip_binlog, self.log_statements) {
            (true, _) => Logged::Not,
            (false, true) => Logged::AsStatements,
            (false, false) => Logged::AsUsual,
        };
        ConnectOptions { logged, ..options.clone() }
    }
}

/// Restore a dump and prove that every row is there
#[derive(Debug, clap::Args)]
pub struct RestoreArgs {
    /// Where the dump is: its directory, or s3://BUCKET/PREFIX; or what another tool made: mydumper's directory, one of scripts
    /// for single tables, or a script of mysqldump or mariadb-dump, perhaps compressed, `-` for standard input
    #[arg(value_name = "SRC")]
    pub dir: PathBuf,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub target: TargetArgs,

    /// Resume an interrupted restore of this dump: files that were loaded are not loaded again. With --drop-existing, what the target
    /// has is dropped only if there is nothing to resume
    #[arg(long)]
    pub resume: bool,

    /// Restore the dump's accounts and roles too. The one in use, its roles and root stay as they are
    #[arg(long)]
    pub users: bool,

    /// Restore nothing: try the whole schema on the target, without rows, and list what is rewritten or lost
    #[arg(long)]
    pub check: bool,

    /// Connections that load rows, each with its worker [default: two for each core here, 4 to 32, and at most
    /// half of the connections that the server has left]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=512))]
    pub threads: Option<u16>,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub throttle: ThrottleArgs,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub store: StoreArgs,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub server: ServerArgs,
}

/// Compare a server with a dump, row by row, and the dump's files with its manifest, without changing anything
#[derive(Debug, clap::Args)]
pub struct VerifyArgs {
    /// Where the dump is: its directory, or s3://BUCKET/PREFIX
    #[arg(value_name = "DIR | URL")]
    pub dir: PathBuf,

    /// Compare schema OLD of the dump with schema NEW of the server (repeatable)
    #[arg(long, value_name = "OLD=NEW")]
    pub into: Vec<Rename>,

    /// The definers that the restore or copy was to give (--definer): `keep`, `current-user` (the account that verifies) or an account as
    /// USER@HOST
    #[arg(long, value_name = "WHICH", default_value = "keep", conflicts_with = "no_server")]
    pub definer: Definer,

    /// The server is the one that was dumped: of tables dumped with --where, compare only the rows for which the condition
    /// holds. Without it a table must hold just the rows that the dump has
    #[arg(long)]
    pub source: bool,

    /// Compare accounts and roles too
    #[arg(long)]
    pub users: bool,

    /// Do not read the dump's files of rows: compare the server with what the manifest says of them
    #[arg(long, conflicts_with = "no_server")]
    pub no_files: bool,

    /// Read the dump's files only, each to its end: are they as they were written? No server is asked
    #[arg(long, conflicts_with_all = ["into", "source", "users"])]
    pub no_server: bool,

    /// Connections that read rows [default: two for each core here, 4 to 32, and at most half of the connections that the server has
    /// left; with --no-server one for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=512))]
    pub threads: Option<u16>,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub store: StoreArgs,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub server: ServerArgs,
}
