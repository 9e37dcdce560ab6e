//! The command line of `drover sandbox`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use drover_units::read;

use crate::{Flavour, LinkSettings, MAX_DELAY, SandboxName, StartOptions, Topology};

/// Start disposable MySQL and MariaDB servers.
#[derive(Debug, Clone, Args)]
pub struct SandboxArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: SandboxCommand,
}

/// What can be done with sandboxes.
#[derive(Debug, Clone, Subcommand)]
pub enum SandboxCommand {
    /// Start a server on a fresh data directory, or several that replicate from one another
    Start(StartArgs),
    /// Stop servers and remove their data
    Stop(StopArgs),
    /// List the sandboxes and whether they run
    List,
    /// Open the vendor's own client, connected as root
    Shell(ShellArgs),
    /// Show or change the link between a source and its replica while it carries data, cut it, or start it again
    Link(LinkArgs),
    /// Carry a link; for `start --link`
    #[command(hide = true)]
    Forward(ForwardArgs),
}

/// The options of `start`.
#[derive(Debug, Clone, Default, Args)]
#[command(disable_version_flag = true)]
pub struct StartArgs {
    /// The vendor's server to start [default: the topology's, else mariadb if there is one, else mysql]
    #[arg(long, value_enum)]
    pub flavour: Option<Flavour>,

    /// How many servers, and how they replicate
    #[arg(long, value_enum, default_value_t)]
    pub topology: Topology,

    /// The sandbox's name; nodes of a topology get -1, -2… behind it [default: the flavour, or the topology, with a number if taken]
    #[arg(long)]
    pub name: Option<SandboxName>,

    /// The server program, or a directory that holds one [default: .servers/* here and above, then PATH]
    #[arg(long, value_name = "PATH")]
    pub server: Option<PathBuf>,

    /// The version of the server to start, such as 5.7: one whose numbers begin so, the highest; also in .servers/more/*
    #[arg(long, value_name = "VERSION", value_parser = version, conflicts_with = "server")]
    pub version: Option<String>,

    /// Let the replica reach its source over a link of this rate only, such as 20Mbit, in each direction
    #[arg(long, value_name = "RATE", value_parser = read::bit_rate)]
    pub link: Option<u64>,

    /// How long each byte is on its way over the link, such as 30ms, in each direction
    #[arg(long, value_name = "TIME", value_parser = link_delay, requires = "link")]
    pub link_delay: Option<Duration>,

    /// Stay in the foreground; stop the server and remove everything on Ctrl-C or when the calling process ends
    #[arg(long)]
    pub ephemeral: bool,

    /// Options for the servers themselves, after `--`; they win over the sandbox's own
    #[arg(last = true, value_name = "SERVER OPTIONS")]
    pub server_options: Vec<String>,
}

/// The options of `stop`.
#[derive(Debug, Clone, Args)]
pub struct StopArgs {
    /// The sandboxes to stop; a topology's name stands for all its nodes
    #[arg(required_unless_present = "all", value_name = "NAME")]
    pub names: Vec<SandboxName>,

    /// Stop all sandboxes
    #[arg(long, conflicts_with = "names")]
    pub all: bool,
}

/// The options of `shell`.
#[derive(Debug, Clone, Args)]
pub struct ShellArgs {
    /// The sandbox to connect to; of a topology, the node that takes writes
    pub name: SandboxName,

    /// Arguments for the client, after `--`
    #[arg(last = true, value_name = "CLIENT ARGUMENTS")]
    pub client_args: Vec<String>,
}

/// The options of `link`.
#[derive(Debug, Clone, Args)]
pub struct LinkArgs {
    /// The topology that has the link
    pub name: SandboxName,

    /// Have it carry so much, such as 5Mbit or 2MB/s, in each direction
    #[arg(long, value_name = "RATE", value_parser = read::bit_rate)]
    pub rate: Option<u64>,

    /// Have each byte be on its way for so long, such as 30ms, in each direction
    #[arg(long, value_name = "TIME", value_parser = link_delay)]
    pub delay: Option<Duration>,

    /// Cut it: nothing gets through until --up, and nobody is told; connections stay and wait
    #[arg(long, conflicts_with = "up")]
    pub down: bool,

    /// Mend it
    #[arg(long)]
    pub up: bool,
}

/// The options of `forward`.
#[derive(Debug, Clone, Args)]
pub struct ForwardArgs {
    /// The link's description
    pub description: PathBuf,
}

impl LinkArgs {
    /// The settings that are asked for, of a link that has these.
    pub(crate) fn change(&self, now: LinkSettings) -> LinkSettings {
        LinkSettings {
            rate: self.rate.unwrap_or(now.rate),
            delay: self.delay.unwrap_or(now.delay),
            is_down: self.down || now.is_down && !self.up,
        }
    }
}

fn version(text: &str) -> Result<String, String> {
    let is_version = text.split('.').all(|part| part.parse::<u32>().is_ok());
    if is_version {
        Ok(text.to_owned())
    } else {
        Err("a version has numbers and dots, such as 8.0.33".to_owned())
    }
}

fn link_delay(text: &str) -> Result<Duration, String> {
    let delay = read::duration(text)?;
    let too_long = || format!("a delay can be {} s at most", MAX_DELAY.as_secs());
    if delay <= MAX_DELAY { Ok(delay) } else { Err(too_long()) }
}

impl From<&StartArgs> for StartOptions {
    fn from(args: &StartArgs) -> Self {
        let delay = args.link_delay.unwrap_or_default();
        Self {
            flavour: args.flavour,
            name: args.name.clone(),
            server: args.server.clone(),
            version: args.version.clone(),
            server_options: args.server_options.clone(),
            ephemeral: args.ephemeral,
            root: None,
            link: args.link.map(|rate| LinkSettings { delay, ..LinkSettings::of_rate(rate) }),
            forwarder: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Cli {
        #[command(flatten)]
        sandbox: SandboxArgs,
    }

    fn parse(line: &str) -> Result<SandboxCommand, clap::Error> {
        let words = std::iter::once("drover").chain(line.split(' '));
        Cli::try_parse_from(words).map(|cli| cli.sandbox.command)
    }

    #[test]
    fn server_options_come_after_two_dashes() {
        let line = "start --flavour mysql --name shop --ephemeral -- --max-connections=17 -P 3307";
        let Ok(SandboxCommand::Start(args)) = parse(line) else { panic!("{line} does not parse") };
        let options = StartOptions::from(&args);
        assert_eq!((args.topology, options.flavour), (Topology::Single, Some(Flavour::MySql)));
        assert_eq!(options.name.unwrap().as_str(), "shop");
        assert!(options.ephemeral);
        assert_eq!(options.server_options, ["--max-connections=17", "-P", "3307"]);
    }

    #[test]
    fn a_link_has_a_rate_and_may_have_a_delay() {
        let link = |line: &str| match parse(line) {
            Ok(SandboxCommand::Start(args)) => StartOptions::from(&args).link,
            other => panic!("{line}: {other:?}"),
        };
        assert_eq!(link("start --topology replica"), None);
        assert_eq!(link("start --link 20Mbit"), Some(LinkSettings::of_rate(2_500_000)));
        let delay = Duration::from_millis(30);
        let slow = LinkSettings { delay, ..LinkSettings::of_rate(2_500_000) };
        assert_eq!(link("start --link 20Mbit/s --link-delay 30ms"), Some(slow));
        assert!(parse("start --link-delay 30ms").is_err());
        assert!(parse("start --link 20M").unwrap_err().to_string().contains("10Mbit"));
        assert!(parse("start --link 1Mbit --link-delay 3s").unwrap_err().to_string().contains("2 s at most"));
    }

    #[test]
    fn a_link_is_changed_in_what_was_given() {
        let change = |line: &str, now| match parse(line) {
            Ok(SandboxCommand::Link(args)) => args.change(now),
            other => panic!("{line}: {other:?}"),
        };
        let link = LinkSettings { delay: Duration::from_millis(30), ..LinkSettings::of_rate(125_000) };
        assert_eq!(change("link shop", link), link);
        assert_eq!(change("link shop --rate 2Mbit", link), LinkSettings { rate: 250_000, ..link });
        assert_eq!(change("link shop --delay 0", link), LinkSettings::of_rate(125_000));
        let down = change("link shop --down", link);
        assert_eq!(down, LinkSettings { is_down: true, ..link });
        assert_eq!(change("link shop --rate 1Mbit", down), down);
        assert_eq!(change("link shop --up", down), link);
        assert!(parse("link shop --up --down").is_err());
    }

    #[test]
    fn stop_wants_names_or_all() {
        assert!(parse("stop").is_err());
        assert!(parse("stop a --all").is_err());
        assert!(parse("stop a b").is_ok() && parse("stop --all").is_ok());
        assert!(parse("stop ../x").unwrap_err().to_string().contains("cannot name a sandbox"));
    }
}
