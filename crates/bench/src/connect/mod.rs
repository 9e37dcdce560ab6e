//! What a connection costs: sessions are opened and ended on a private server with the operator's own binary and settings, and one
//! thing is changed at a time, in turns.
//!
//! `bed` is the servers, `variation` what differs between the sessions that are compared, `rounds` the measuring, `cost` what it
//! says. Nothing that a person set is changed on a server that others may use.

pub mod args;
mod bed;
pub mod cost;
mod drive;
mod page;
mod process;
pub mod profile;
mod rate;
pub mod report;
mod rounds;
mod site;
mod tls;
pub mod variation;
pub mod vary;
pub mod words;
pub mod work;

use std::sync::Arc;
use std::time::Duration;

use drover_db::Stop;
use drover_db::options::{Address, ConnectOptions, SslMode};

use self::args::ConnectArgs;
use self::bed::Bed;
use self::cost::Quantity;
use self::report::{Comparison, ConnectDetail, Rate};
use self::rounds::Rules;
use self::site::Site;
use self::variation::Variation;
use self::vary::Vary;
use crate::report::{Begun, Measure, Report};
use crate::{Environment, Error, Progress, Result};

/// For how long sessions are opened before they count, if nobody says.
const WARM_UP: Duration = Duration::from_secs(2);

/// The servers that a person names.
#[derive(Debug, Clone, Default)]
pub struct Named {
    /// The one to measure, if it runs already.
    pub existing: Option<ConnectOptions>,
    /// The one whose rate of connects is taken.
    pub rate_of: Option<ConnectOptions>,
}

/// Measures what a connect costs, and writes the page if one is asked for.
///
/// # Errors
/// What keeps it from being measured: options that do not go together, a server that does not start, a value that it refuses; or that
/// a stop was asked for.
pub fn run(
    args: &ConnectArgs,
    named: &Named,
    stop: &Arc<Stop>,
    progress: &Progress,
) -> Result<Report<ConnectDetail>> {
    let report = measured(args, named, stop, progress);
    // What broke because of it says nothing else.
    let report = if stop.is_requested() { Err(Error::Stopped) } else { report }?;
    if let Some(path) = &args.measure.html {
        page::write(&report, path)?;
    }
    Ok(report)
}

fn measured(
    args: &ConnectArgs,
    named: &Named,
    stop: &Arc<Stop>,
    progress: &Progress,
) -> Result<Report<ConnectDetail>> {
    args.check()?;
    let begun = Begun::now("connect", args.measure.seed);
    let rate = match &named.rate_of {
        Some(options) => rate::count(options, args.rate_over, stop, progress)?,
        None => Rate { per_second: args.rate, counted_seconds: None },
    };
    progress.phase(if named.existing.is_some() { "connecting" } else { "starting a private server" }, None);
    let mut bed = Bed::new(args, named.existing.as_ref(), stop)?;
    let is_local = is_local(&bed, named.existing.as_ref());
    let environment = Environment::of_machine().with_server(&mut bed.sites[0].control, is_local)?;
    let statement = args.work.statement(args.query());
    let rules = rules(args, statement.as_deref());
    let comparisons = compare_all(args, &mut bed, &rules, rate.per_second, stop, progress)?;
    let measures: Vec<Measure> = comparisons.iter().flat_map(Comparison::measures).collect();
    let detail = ConnectDetail {
        is_private: named.existing.is_none(),
        way: way(&bed),
        work: args.work,
        clients: args.connections_at_once,
        block_seconds: args.block.as_secs_f64(),
        rate,
        comparisons,
        statement,
    };
    let Bed { sites, warnings, .. } = bed;
    sites.into_iter().for_each(Site::end);
    Ok(begun.report(environment, measures, warnings, detail))
}

fn rules<'a>(args: &ConnectArgs, statement: Option<&'a str>) -> Rules<'a> {
    Rules {
        statement,
        clients: args.connections_at_once,
        block: args.block,
        warm_up: args.measure.warm_up.unwrap_or(WARM_UP),
        least: args.measure.repeat,
        precision: args.precision / 100.0,
        most_time: args.max_time,
        seed: args.measure.seed,
    }
}

/// One thing after the other.
fn compare_all(
    args: &ConnectArgs,
    bed: &mut Bed<'_>,
    rules: &Rules<'_>,
    rate: f64,
    stop: &Arc<Stop>,
    progress: &Progress,
) -> Result<Vec<Comparison>> {
    let varied: Vec<Option<&Vary>> =
        if args.vary.is_empty() { vec![None] } else { args.vary.iter().map(Some).collect() };
    let mut comparisons = Vec::new();
    for vary in varied {
        progress
            .phase(vary.map_or("preparing".to_owned(), |vary| format!("preparing {}", vary.name())), None);
        let mut variation = Variation::new(bed, vary, args.at_start)?;
        let rounds = rounds::measure(bed, &mut variation, rules, stop, progress)?;
        let mut comparison = Comparison::new(bed, &variation, rounds, rate);
        if args.profile {
            let cpu: Vec<f64> = comparison.kinds.iter().map(cpu).collect();
            match profile::profile(bed, &variation, rules, &cpu, stop, progress)? {
                Ok(profile) => comparison.profile = Some(profile),
                Err(why) => bed.warnings.push(format!("no profile: {why}")),
            }
        }
        variation.end(bed)?;
        comparisons.push(comparison);
    }
    Ok(comparisons)
}

fn cpu(kind: &report::Kind) -> f64 {
    kind.cost(Quantity::ServerCpu).map_or(0.0, |cost| cost.mean)
}

/// Whether the server shares the processors with the clients, where that is known.
fn is_local(bed: &Bed<'_>, existing: Option<&ConnectOptions>) -> Option<bool> {
    let is_here = existing.is_none_or(|options| matches!(options.address, Address::Socket(_)));
    (is_here || bed.sites[0].process.is_some()).then_some(true)
}

/// How sessions usually come in.
fn way(bed: &Bed<'_>) -> String {
    let options = bed.sites[0].login(bed.way);
    match (&options.address, options.ssl.mode) {
        (Address::Socket(_), _) => "a Unix socket".to_owned(),
        (Address::Tcp { .. }, SslMode::Disabled) => "TCP".to_owned(),
        (Address::Tcp { .. }, SslMode::Preferred) => "TCP, with TLS where the server offers it".to_owned(),
        (Address::Tcp { .. }, _) => "TCP with TLS".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// Options that lead to no server.
    pub(super) fn nowhere() -> ConnectOptions {
        let options = ConnectOptions::by_socket("nobody", Path::new("/nonexistent"));
        ConnectOptions { connect_timeout: Duration::from_secs(1), ..options }
    }

    #[test]
    fn a_server_that_is_not_there_is_an_error() {
        use clap::Parser as _;
        #[derive(Debug, clap::Parser)]
        #[command(disable_help_flag = true)]
        struct Cli {
            #[command(flatten)]
            connect: ConnectArgs,
        }
        let args = Cli::parse_from(["x", "-S", "/nonexistent"]).connect;
        let named = Named { existing: Some(nowhere()), rate_of: None };
        let error = run(&args, &named, &Arc::default(), &Progress::default()).unwrap_err();
        assert!(error.to_string().contains("/nonexistent"), "{error}");
        assert!(error.hint().is_some());
    }
}
