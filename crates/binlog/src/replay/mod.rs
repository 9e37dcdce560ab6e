//! `drover binlog replay`: applies logs to a server, each transaction as a whole, and goes on where it was ended.
//!
//! One thread reads the logs and makes statements of the events ([`builder`]): BINLOG statements of rows ([`events`]), others as they were
//! run, files over the wire. Workers with a connection each apply them ([`worker`]), several at once where the log's server tells that it did
//! so too ([`queue`]). With each transaction its position is committed ([`marks`], [`position`]); what commits by itself is
//! recognised by what it changed ([`definitions`]).

mod after;
mod ahead;
mod applied;
mod applier;
mod apply;
mod args;
mod boundaries;
mod builder;
mod cluster;
mod collations;
mod computed;
mod constraints;
mod decoder;
mod definitions;
mod destination;
mod dry_run;
mod earlier;
mod events;
mod keeper;
mod logged;
mod marks;
mod names;
mod not_kept;
mod passwords;
mod position;
mod programs;
mod provenance;
mod queue;
mod reading;
mod refusals;
mod report;
mod request;
mod scheduled;
mod selection;
mod setup;
mod sink;
mod staying;
mod tables;
mod target_tables;
mod transaction;
mod trial;
mod types;
mod worker;

use drover_report::Progress;

use crate::server::Origin;
use crate::{Error, Result};

pub use after::{After, Compare, Partial};
pub use args::{Interrupted, ReplayArgs};
pub use collations::NearestCollation;
pub use destination::Destination;
pub use not_kept::NotKept;
pub use report::{Problem, ReplayReport};

use apply::apply;
use cluster::Node;
use destination::SideSession;
use marks::LowWaterMark;
use position::Positions;
use queue::Queue;
use request::Request;
use setup::{Ready, Setup};

/// Applies logs to `destination`; `origin` is the server of `--from`, `after` tells of the dump of `--after`.
///
/// # Errors
/// If a log cannot be read or is damaged, after all before that was applied; if the target refuses something: the error says what
/// and where, and the same command goes on from there with `--resume`.
pub fn replay(
    args: &ReplayArgs,
    origin: Option<&Origin>,
    after: Option<&After>,
    destination: &Destination,
    progress: &Progress,
) -> Result<ReplayReport> {
    run(Request { args, origin, after, destination, progress, ends_at_refusal: false })
}

fn run(request: Request<'_>) -> Result<ReplayReport> {
    let Request { origin, after, destination, progress, .. } = request;
    let selection = request.args.selection(after);
    let dumped = after.and_then(|after| after.lower_case_table_names);
    let args = &ReplayArgs { filter: request.args.filter.of_logs(origin, dumped)?, ..request.args.clone() };
    let request = Request { args, ..request };
    let mut session = SideSession::begin(destination)?;
    let (target, problems) = request.see_target(&mut session)?;
    request.check_dump()?;
    let positions = Positions::of(&args.replay_name());
    let found = request.find_earlier(&positions, &mut session)?;
    let beginning = request.beginning(found.as_ref())?;
    let schemas = request.schemas(&positions, &mut session)?;
    if beginning.mark.is_none() {
        request.check_first_log()?;
    }
    let node = session.with("looking at the target", |connection| Node::of(connection, args.skip_binlog))?;
    if node.is_some() && !args.dry_run && !args.follows() {
        refuse_beforehand(request)?;
    }
    let setup = Setup { request, selection, session, positions, found, beginning, schemas };
    let Ready { reading, mut sink, mut positions, mark } = setup.ready(&target, problems, node)?;
    if !args.dry_run {
        let throttle = request.throttle()?;
        sink.session.with("looking at the target", |connection| positions.create(connection))?;
        let mark = mark.unwrap_or(LowWaterMark { log: "".into(), position: 0 });
        let queue = Queue::new(args.workers(), mark);
        return apply(args, &positions, (&queue, &throttle), reading, sink);
    }
    progress.phase(if request.ends_at_refusal { "looking for what the cluster refuses" } else { "dry run" });
    reading.into_sink(&mut sink)?;
    sink.end_dry_run()
}

/// Reads all that is to be applied, and changes nothing: what the cluster refuses is known before the first row. What else is wrong is said where
/// the replay comes to it.
fn refuse_beforehand(request: Request<'_>) -> Result<()> {
    let args = ReplayArgs { dry_run: true, ..request.args.clone() };
    match run(Request { args: &args, ends_at_refusal: true, ..request }) {
        Err(error @ (Error::Refused { .. } | Error::Stopped)) => Err(error),
        _ => Ok(()),
    }
}
