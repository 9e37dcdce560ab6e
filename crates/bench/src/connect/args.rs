//! The command line of `drover bench connect`.

use std::time::Duration;

use drover_db::options::{Secret, ServerArgs};
use drover_units::read::{duration, per_second};

use super::vary::Vary;
use super::work::Work;
use crate::measuring::MeasureArgs;
use crate::private::PrivateArgs;
use crate::{Error, Result};

/// Options of `bench connect`.
#[derive(Debug, clap::Args)]
pub struct ConnectArgs {
    /// Compare values of one thing: a server variable (read_buffer_size=128K,5M), tls=off,on, auth=PLUGIN,PLUGIN, or `again`: the
    /// same twice. May be given several times: one is varied after the other
    #[arg(long, value_name = "NAME=VALUE,VALUE", value_parser = Vary::parse)]
    pub vary: Vec<Vary>,

    /// Start a server for each value of a variable, anew for each round, also where it could be set: some settings are read at the
    /// start only
    #[arg(long, requires = "vary")]
    pub at_start: bool,

    /// What each session does between its login and its end
    #[arg(long, value_enum, default_value_t)]
    pub work: Work,

    /// The statement of `--work query` [default: SELECT 1]
    #[arg(long, value_name = "SQL")]
    pub query: Option<String>,

    /// How many clients open sessions at once
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub connections_at_once: u32,

    /// Connect over TCP, not over the Unix socket
    #[arg(long)]
    pub tcp: bool,

    /// Connect over TCP and TLS
    #[arg(long)]
    pub tls: bool,

    /// For how many connects a second the share of a core is told
    #[arg(long, value_name = "CONNECTS", default_value_t = 100.0, value_parser = per_second)]
    pub rate: f64,

    /// Take that rate from a running server, as mysql://USER@HOST
    #[arg(long, value_name = "URL", conflicts_with = "rate")]
    pub rate_of: Option<Secret>,

    /// For how long to look at that server
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    pub rate_over: Duration,

    /// How long connects of one kind are measured before it is the turn of the next
    #[arg(long, value_name = "TIME", default_value = "500ms", value_parser = duration)]
    pub block: Duration,

    /// Stop once the interval is this narrow: so many per cent of what a connect costs, to both sides
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0, value_parser = per_cent)]
    pub precision: f64,

    /// Stop after this time, for each --vary, if --repeat rounds are done
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    pub max_time: Duration,

    /// Show where the server spends its time, function by function; takes the program `perf` and the right to use it
    #[arg(long)]
    pub profile: bool,

    /// How to measure.
    #[command(flatten)]
    pub measure: MeasureArgs,

    /// What to start.
    #[command(flatten)]
    pub private: PrivateArgs,

    /// A server that runs already.
    #[command(flatten)]
    pub server: ServerArgs,
}

impl ConnectArgs {
    /// Whether a server that runs already is to be measured, and not a private one.
    pub fn is_existing(&self) -> bool {
        let ServerArgs { host, port, user, password, socket, protocol, url, .. } = &self.server;
        host.is_some()
            || port.is_some()
            || user.is_some()
            || password.is_some()
            || socket.is_some()
            || protocol.is_some()
            || url.is_some()
            || self.server.defaults_file.is_some()
            || self.server.defaults_extra_file.is_some()
    }

    /// The statement of `--work query`.
    pub(super) fn query(&self) -> &str {
        self.query.as_deref().unwrap_or("SELECT 1")
    }

    /// Whether these options go together.
    ///
    /// # Errors
    /// Which do not.
    pub(super) fn check(&self) -> Result<()> {
        if self.query.is_some() && self.work != Work::Query {
            return Err(Error::with_hint("--query is the statement of --work query", "leave --work out"));
        }
        if self.block.is_zero() {
            return Err(Error::found("--block must be longer than nothing"));
        }
        if !self.is_existing() {
            return Ok(());
        }
        if self.private.is_given() {
            let what = "options of a private server and of one that runs already cannot be given at once";
            let hint = "leave out either --host, --socket, --user and so on, or --server-binary, --flavour and what stands behind --";
            return Err(Error::with_hint(what, hint));
        }
        if self.tcp || self.tls {
            let hint = "--host 127.0.0.1 and --ssl-mode say so of a server that runs already";
            return Err(Error::with_hint("--tcp and --tls are of private servers", hint));
        }
        if !matches!(self.work, Work::Connect | Work::Query) {
            let hint = "--query takes a statement that reads tables which are there";
            return Err(Error::with_hint("this --work makes tables, on private servers only", hint));
        }
        self.vary.iter().try_for_each(Vary::check_shared)
    }
}

fn per_cent(text: &str) -> std::result::Result<f64, String> {
    let number = text.trim_end_matches('%').trim_end().parse().ok();
    number
        .filter(|number: &f64| number.is_finite() && *number > 0.0)
        .ok_or_else(|| "write per cent, such as 1".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    #[command(disable_help_flag = true)]
    struct Cli {
        #[command(flatten)]
        connect: ConnectArgs,
    }

    fn parse(line: &str) -> ConnectArgs {
        Cli::try_parse_from(std::iter::once("x").chain(line.split_whitespace())).unwrap().connect
    }

    fn refused(line: &str) -> String {
        parse(line).check().unwrap_err().to_string()
    }

    #[test]
    fn a_server_is_private_unless_it_is_named() {
        let private = parse("--vary read_buffer_size=128K,5M --no-defaults -- --performance-schema=OFF");
        assert!(!private.is_existing() && private.check().is_ok());
        assert_eq!(private.private.server_options, ["--performance-schema=OFF"]);
        for line in ["-h db", "-u bob", "-S /s", "--url mysql://db"] {
            assert!(parse(line).is_existing(), "{line}");
        }
    }

    #[test]
    fn what_does_not_go_together_is_told() {
        assert!(refused("-h db --flavour mysql").contains("at once"));
        assert!(refused("-h db --tls").contains("--tls"));
        assert!(refused("-h db --work scan").contains("--work"));
        assert!(refused("-h db --vary sort_buffer_size=1,2").contains("sort_buffer_size"));
        assert!(refused("--work sort --query DO").contains("--query"));
        assert!(refused("--block 0s").contains("--block"));
        assert!(parse("-h db --vary again --vary tls=off,on").check().is_ok());
    }

    #[test]
    fn rates_and_precisions() {
        assert_eq!((per_second("99.5"), per_cent("0.5 %")), (Ok(99.5), Ok(0.5)));
        for text in ["", "0", "-1", "inf", "NaN", "x"] {
            assert!(per_second(text).is_err() && per_cent(text).is_err(), "{text}");
        }
    }
}
