//! Which logs a command reads, and how they are opened.

use std::path::PathBuf;
use std::sync::Arc;

use crate::chain::Chain;
use crate::filter::FilterArgs;
use crate::log::MAGIC;
use crate::server::{FromServerArgs, Origin, ServerLogs};
use crate::source::{Source, are_of_one_list, log_number, not_named, place};
use crate::{Error, Keyring, Result};

/// The logs to read, as files or from a server.
#[derive(Debug, Clone, clap::Args)]
pub struct LogArgs {
    /// Which they are.
    #[command(flatten)]
    pub files: FileArgs,

    /// Whether they are a server's.
    #[command(flatten)]
    pub from: FromServerArgs,
}

/// Which logs to read, and how they are opened.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct FileArgs {
    /// Logs, in their order; packed with gzip or zstd too. A directory or an .index file stands for the logs that belong to it, -
    /// for standard input
    #[arg(value_name = "LOG", required_unless_present = "from_server")]
    pub logs: Vec<PathBuf>,

    /// Do not compare the events' checksums
    #[arg(long)]
    pub no_checksums: bool,

    /// Take this log as it is where another follows it, though it has no end and no GTIDs tell whether it is whole, as of a server
    /// that crashed; repeatable
    #[arg(long, value_name = "LOG", conflicts_with = "from_server")]
    pub allow_unclosed: Vec<String>,

    /// Read encrypted logs with the keys in this file: the one that component_keyring_file (MySQL) or file_key_management
    /// (MariaDB) has on the server that wrote them
    #[arg(long, value_name = "FILE", conflicts_with = "from_server")]
    pub keyring: Option<PathBuf>,

    /// The file with the password that the file of keys is encrypted with (MariaDB: file_key_management_filekey)
    #[arg(long, value_name = "FILE", requires = "keyring")]
    pub keyring_password_file: Option<PathBuf>,
}

impl LogArgs {
    /// The logs' events. `origin` is the server of `--from-server`; `filter` says what is left out of them later, so that a server
    /// need not send it.
    ///
    /// # Errors
    /// If something named is not there, or a server does not send it.
    pub fn open(&self, origin: Option<&Origin>, filter: Option<&FilterArgs>) -> Result<Chain> {
        self.open_at(origin, filter, None)
    }

    /// The same, but nothing of the logs before the one with this name, and of a server's log what comes from this position on.
    ///
    /// # Errors
    /// The same, and if no log has that name.
    pub(crate) fn open_at(
        &self,
        origin: Option<&Origin>,
        filter: Option<&FilterArgs>,
        at: Option<(&str, u64)>,
    ) -> Result<Chain> {
        let FileArgs { logs, no_checksums, .. } = &self.files;
        let verifies = !no_checksums;
        if let (true, Some(origin)) = (self.from.from_server, origin) {
            let start = self.start(filter)?;
            let logs = ServerLogs::find(origin, &self.from.stream, logs, start, at)?;
            return Ok(Chain::of_server(logs, verifies));
        }
        let mut sources = Source::find(logs)?;
        let password = self.files.keyring_password_file.as_deref();
        let keyring = self
            .files
            .keyring
            .as_deref()
            .map(|path| Keyring::read(path, password))
            .transpose()?
            .map(Arc::new);
        if let Some((log, position)) = at {
            let names: Vec<_> = sources.iter().map(Source::log_name).collect();
            let first = place(&names, log)?;
            // Where the beginning of a log is where to go on, those before it are done with.
            let are_done = || {
                let is_done = |source: &Source| {
                    let name = source.log_name();
                    are_of_one_list(&name, log) && log_number(&name) < log_number(log)
                };
                (position <= MAGIC.len() as u64 && sources.iter().all(is_done)).then_some(sources.len())
            };
            let first = first.or_else(are_done).ok_or_else(|| not_named(log))?;
            check_left_out(&sources, first, keyring.as_ref())?;
            sources.drain(..first);
        }
        if sources.iter().filter(|source| **source == Source::Stdin).count() > 1 {
            return Err(Error::found("standard input (-) is named more than once"));
        }
        Ok(Chain::new(sources, verifies, keyring).with_unclosed(&self.files.allow_unclosed))
    }

    /// Where to begin in the first log of a server, if a position says so.
    fn start(&self, filter: Option<&FilterArgs>) -> Result<Option<u64>> {
        let Some(filter) = filter else { return Ok(None) };
        let begins_elsewhere = self.from.stream.after_gtids.is_some();
        if begins_elsewhere && filter.start_position.is_some() {
            return Err(Error::found("--start-position and --after-gtids both say where to begin"));
        }
        if filter.stop_position.is_some() && (begins_elsewhere || self.from.stream.follow) {
            return Err(Error::with_hint(
                "--stop-position is one in the last log, and which that is nobody knows beforehand with --follow or --after-gtids",
                "give --stop-datetime, or name the logs",
            ));
        }
        Ok(filter.start_position)
    }
}

/// Logs that are left out unread are those before the one where to go on; where names do not tell, by when they were begun.
fn check_left_out(sources: &[Source], first: usize, keyring: Option<&Arc<Keyring>>) -> Result<()> {
    let (left_out, rest) = sources.split_at(first);
    let Some(log) = rest.first().filter(|log| **log != Source::Stdin) else { return Ok(()) };
    let begun = |log: &Source| Chain::new(vec![log.clone()], false, keyring.cloned()).begun();
    let name = log.log_name();
    for other in left_out.iter().filter(|other| !are_of_one_list(&other.log_name(), &name)) {
        if *other == Source::Stdin {
            return Err(Error::with_hint(
                format!(
                    "standard input is named before {name}, which is where to go on: what comes in there would be lost"
                ),
                "leave out what was read, and name what comes behind it in its order",
            ));
        }
        if begun(other)? > begun(log)? {
            return Err(Error::with_hint(
                format!(
                    "{} was begun after {name}, which is where to go on, and is named before it",
                    other.log_name()
                ),
                "name the logs in the order in which they were begun",
            ));
        }
    }
    Ok(())
}
