//! The command line of `drover sandbox`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::{Flavour, SandboxName, StartOptions, Topology};

/// Private throw-away servers.
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
}

/// The options of `start`.
#[derive(Debug, Clone, Default, Args)]
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

impl From<&StartArgs> for StartOptions {
    fn from(args: &StartArgs) -> Self {
        Self {
            flavour: args.flavour,
            name: args.name.clone(),
            server: args.server.clone(),
            server_options: args.server_options.clone(),
            ephemeral: args.ephemeral,
            root: None,
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
    fn stop_wants_names_or_all() {
        assert!(parse("stop").is_err());
        assert!(parse("stop a --all").is_err());
        assert!(parse("stop a b").is_ok() && parse("stop --all").is_ok());
        assert!(parse("stop ../x").unwrap_err().to_string().contains("cannot name a sandbox"));
    }
}
