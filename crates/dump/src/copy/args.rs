//! `drover copy`.

use std::path::PathBuf;

use drover_db::options::{Secret, ServerArgs};
use drover_throttle::ThrottleArgs;
use drover_units::read::Size;

use crate::dump::SourceArgs;
use crate::restore::TargetArgs;

// Given to each option by itself: clap's `next_help_heading` would go on to the options of the command.
const HEADING: &str = "Server options";

/// Copy schemas or tables from one server to another, with no files between, and prove that every row is there
#[derive(Debug, clap::Args)]
pub struct CopyArgs {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub source: SourceArgs,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub target: TargetArgs,

    /// Resume an interrupted copy, with the same arguments: rows that are there stay. What is missing is read from a new snapshot, so
    /// that rows of a table may belong to different moments (reported). With --drop-existing, what the target has is dropped only if
    /// there is nothing to resume
    #[arg(long)]
    pub resume: bool,

    /// Resume with one consistent snapshot, now or in a later run: rows that were copied are read again on the source, and kept only
    /// if they are unchanged in the new snapshot
    #[arg(long)]
    pub consistent_resume: bool,

    /// Copy nothing: try the whole schema on the target, without rows, and list what is rewritten or lost
    #[arg(long)]
    pub check: bool,

    /// Directory that notes how far the copy is and what it came to, for --resume and for drover verify; no rows
    /// [default: one below ~/.local/state/drover that the same command finds again]
    #[arg(long, value_name = "DIR")]
    pub state: Option<PathBuf>,

    /// Rows' text that is committed together: 32M, 1G
    #[arg(long, value_name = "SIZE", default_value = "32M")]
    pub chunk_size: Size,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub throttle: ThrottleArgs,

    /// The server to read: mysql://USER:PASSWORD@HOST:PORT. Parts may be left out; parameters may follow, such as
    /// ?ssl-mode=REQUIRED or ?socket=/run/mysqld/mysqld.sock
    #[arg(long, value_name = "URL", value_parser = clap::value_parser!(Secret), help_heading = HEADING)]
    pub from: Secret,

    /// The server to fill, in the same way
    #[arg(long, value_name = "URL", value_parser = clap::value_parser!(Secret), help_heading = HEADING)]
    pub to: Secret,

    /// Password for the server to read; asks on the terminal if no value is given
    #[arg(
        long,
        value_name = "PASSWORD",
        num_args = 0..=1,
        require_equals = true,
        value_parser = clap::value_parser!(Secret),
        help_heading = HEADING,
    )]
    pub from_password: Option<Option<Secret>>,

    /// Password for the server to fill; asks on the terminal if no value is given
    #[arg(
        long,
        value_name = "PASSWORD",
        num_args = 0..=1,
        require_equals = true,
        value_parser = clap::value_parser!(Secret),
        help_heading = HEADING,
    )]
    pub to_password: Option<Option<Secret>>,

    /// Read only this option file for the server to read
    #[arg(long, value_name = "FILE", conflicts_with = "no_defaults", help_heading = HEADING)]
    pub from_defaults_file: Option<PathBuf>,

    /// Read only this option file for the server to fill
    #[arg(long, value_name = "FILE", conflicts_with = "no_defaults", help_heading = HEADING)]
    pub to_defaults_file: Option<PathBuf>,

    /// Read no option files
    #[arg(long, help_heading = HEADING)]
    pub no_defaults: bool,
}

impl CopyArgs {
    /// The server to read.
    pub fn source_server(&self) -> ServerArgs {
        self.server(&self.from, &self.from_password, &self.from_defaults_file)
    }

    /// The server to fill.
    pub fn target_server(&self) -> ServerArgs {
        self.server(&self.to, &self.to_password, &self.to_defaults_file)
    }

    fn server(
        &self,
        url: &Secret,
        password: &Option<Option<Secret>>,
        defaults_file: &Option<PathBuf>,
    ) -> ServerArgs {
        ServerArgs {
            url: Some(url.clone()),
            password: password.clone(),
            defaults_file: defaults_file.clone(),
            no_defaults: self.no_defaults,
            ..ServerArgs::default()
        }
    }

    /// What is watched on the server to read: what is done there holds nobody up but by its load.
    pub(super) fn source_throttle(&self) -> ThrottleArgs {
        ThrottleArgs { max_lag: None, replica: Vec::new(), min_free: None, ..self.throttle.clone() }
    }
}
