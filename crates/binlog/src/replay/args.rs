//! The options of `drover binlog replay`.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::thread;

use drover_db::options::{Secret, ServerArgs};
use drover_throttle::ThrottleArgs;

use super::After;
use super::position::UNDOING;
use super::selection::{EXCLUDING, INCLUDING};
use crate::args::{FileArgs, LogArgs};
use crate::filter::FilterArgs;
use crate::server::{FromServerArgs, StreamArgs};
use crate::source::log_name;
use crate::sql::Session;
use crate::{Error, Result};

/// `drover binlog replay`.
#[derive(Debug, Clone, clap::Args)]
pub struct ReplayArgs {
    /// The logs.
    #[command(flatten)]
    pub files: FileArgs,

    /// Begin where this dump was taken, which its manifest tells: its directory, or s3://BUCKET/PREFIX. Logs before that are left out;
    /// those of another server, or begun anew since, are an error. With --resume, --start-position beside it goes on behind a transaction
    /// that the target did not take
    #[arg(long, value_name = "DUMP", conflicts_with = "after_gtids")]
    pub after: Option<PathBuf>,

    /// Apply nothing: tell what would be applied, what cannot be and why
    #[arg(long)]
    pub dry_run: bool,

    /// Undo the rows of the logs, the last change first, instead of applying them. All is read before anything is undone; what
    /// cannot be undone is an error
    #[arg(long, conflicts_with = "follow")]
    pub flashback: bool,

    /// With --flashback, pass over rows that are not there any more, as a later transaction deleted or changed them, and list them.
    /// Rows are sent one by one
    #[arg(long, requires = "flashback")]
    pub skip_missing: bool,

    /// Resume an earlier replay of this name where it was interrupted
    #[arg(long, conflicts_with = "restart")]
    pub resume: bool,

    /// Start over on a target that was filled anew: what an earlier replay noted there is forgotten. Without it, what the target
    /// has applied already is an error: as the server that wrote the logs, as a replica, by a replay of another name
    #[arg(long)]
    pub restart: bool,

    /// What the replay is called in the table drover.replay on the target, which tells where it is [default: the logs' name without
    /// their number]
    #[arg(long, value_name = "NAME", value_parser = name)]
    pub name: Option<String>,

    /// Connections to the target: transactions that the logs' server committed at once are applied at once [default: as many as
    /// there are processors, at most 8]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub workers: Option<u16>,

    /// Where an earlier replay was interrupted within a transaction on non-transactional tables: apply it again, or take it as applied
    #[arg(long, value_name = "WHAT", requires = "resume")]
    pub interrupted: Option<Interrupted>,

    /// Let scheduled events run on the target meanwhile. Without it they are an error: what they change comes from the logs
    #[arg(long)]
    pub allow_events: bool,

    /// Write nothing of it into the target's own binary log
    #[arg(long)]
    pub skip_binlog: bool,

    /// Read the logs of this server, as a replica does: mysql://USER:PASSWORD@HOST:PORT. Each LOG is the name of one there; all
    /// that it has, if none is named
    #[arg(
        id = "from_server",
        long = "from",
        value_name = "URL",
        value_parser = clap::value_parser!(Secret),
        help_heading = "Logs of a server",
    )]
    pub from: Option<Secret>,

    /// What of them.
    #[command(flatten)]
    pub stream: StreamArgs,

    /// Which transactions.
    #[command(flatten)]
    pub filter: FilterArgs,

    /// Where the target is.
    #[command(flatten)]
    pub server: ServerArgs,

    /// What it may ask of the target.
    #[command(flatten)]
    pub throttle: ThrottleArgs,
}

/// What to do with a transaction that may have been applied in part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Interrupted {
    /// It is applied from its beginning.
    Again,
    /// It is left out.
    Skip,
}

fn name(text: &str) -> Result<String, String> {
    match text.len() {
        1..=180 => Ok(text.into()),
        _ => Err("a name has 1 to 180 bytes".into()),
    }
}

impl ReplayArgs {
    /// The logs, as other commands have them.
    pub(super) fn logs(&self) -> LogArgs {
        let from = FromServerArgs {
            from_server: self.from.is_some(),
            stream: self.stream.clone(),
            server: self.source_server(),
        };
        LogArgs { files: self.files.clone(), from }
    }

    /// The server to read.
    pub fn source_server(&self) -> ServerArgs {
        ServerArgs { url: self.from.clone(), no_defaults: true, ..ServerArgs::default() }
    }

    /// Whether nothing says where to begin: neither an option nor the name of a log. A directory, an index or a server may have lost its
    /// first logs.
    pub(super) fn begins_anywhere(&self, after: Option<&After>) -> bool {
        let FilterArgs { start_position, start_datetime, include_gtids, .. } = &self.filter;
        let is_list = |path: &PathBuf| path.is_dir() || path.extension().is_some_and(|end| end == "index");
        let named = self.files.logs.first();
        named.map_or(self.from.is_some(), |first| self.from.is_none() && is_list(first))
            && self.stream.after_gtids.is_none()
            && after.is_none()
            && start_position.is_none()
            && start_datetime.is_none()
            && include_gtids.is_none()
    }

    /// Whether more is waited for behind the last log, until a signal.
    pub fn follows(&self) -> bool {
        self.stream.follow
    }

    pub(super) fn replay_name(&self) -> String {
        let base = || {
            let first = self.files.logs.first()?;
            let name = log_name(&if first.is_dir() { PathBuf::from("binlog") } else { first.clone() });
            let base = name.rsplit_once('.').map_or(name.clone(), |(base, _)| base.to_owned());
            Some(base).filter(|base| !base.is_empty())
        };
        let name = self.name.clone().or_else(base).unwrap_or_else(|| "binlog".into());
        if self.flashback { format!("{name}{UNDOING}") } else { name }
    }

    /// The position to begin at in the first log. What a dump holds is never applied; beside it, a position is for who goes on behind a transaction.
    pub(super) fn beginning(&self, after: Option<&After>, goes_on: bool) -> Result<Option<u64>> {
        let start = self.filter.start_position;
        let Some(after) = after else { return Ok(start) };
        match start {
            Some(_) if !self.resume => Err(Error::with_hint(
                "--after and --start-position both say where to begin",
                "beside --after, --start-position goes on behind a transaction at which a replay has ended: with --resume",
            )),
            Some(start) if goes_on => Ok(Some(start)),
            start => Ok(start.max(Some(after.position))),
        }
    }

    /// Where options say to begin, in one line.
    pub(super) fn start(&self) -> String {
        let position = self.filter.start_position.map(|position| format!("--start-position {position}"));
        let gtids = self.stream.after_gtids.as_ref().map(|gtids| format!("--after-gtids {gtids}"));
        let time = self.filter.start_datetime.map(|time| format!("--start-datetime {time}"));
        position.or(gtids).or(time).unwrap_or_default()
    }

    /// What of the logs is wanted at all, in one line; where to begin and to end is no part of it.
    pub(super) fn selection(&self, after: Option<&After>) -> String {
        let after = after.map(|After { log, position, .. }| format!("--after a dump of {log} at {position}"));
        let FilterArgs { include_gtids, exclude_gtids, .. } = &self.filter;
        let gtids = [(INCLUDING, include_gtids), (EXCLUDING, exclude_gtids)];
        let gtids = gtids.into_iter().filter_map(|(option, set)| Some(format!("{option}{}", set.as_ref()?)));
        after.into_iter().chain(self.filter.selection()).chain(gtids).collect::<Vec<_>>().join(" ")
    }

    pub(super) fn workers(&self) -> usize {
        const MOST: usize = 8;
        let processors = || thread::available_parallelism().map_or(1, NonZeroUsize::get).min(MOST);
        match self.flashback {
            // What can be applied at once is told for the other direction.
            true => 1,
            false => self.workers.map_or_else(processors, usize::from),
        }
    }

    /// What each session is set to.
    pub(super) fn session_settings(&self) -> Vec<Vec<u8>> {
        let mut settings = Vec::new();
        Session::default().prepare_events(&mut settings);
        if self.skip_binlog {
            settings.push(b"SET @@session.sql_log_bin = 0".to_vec());
        }
        settings
    }
}
