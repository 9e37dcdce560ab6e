//! What is looked at once it is known where a replay begins, up to the first transaction.

use std::collections::BTreeSet;

use crate::Result;
use crate::chain::Chain;

use super::ahead::Ahead;
use super::applied::{Applied, Before};
use super::cluster::Node;
use super::destination::SideSession;
use super::dry_run::DryRun;
use super::earlier::Earlier;
use super::events::Target;
use super::marks::{BEGIN, LowWaterMark};
use super::names::Names;
use super::position::{Found, Positions};
use super::provenance::{Provenance, quoted};
use super::reading::Reading;
use super::refusals::{refuse_filled, refuse_half_filled, refuse_made_anew, see_server};
use super::report::{Problem, ReplayReport};
use super::request::{Beginning, Request};
use super::sink::{Goes, Known, Sink};

/// What is known before a log is read.
pub(super) struct Setup<'a> {
    pub(super) request: Request<'a>,
    /// What of the logs is wanted, in one line.
    pub(super) selection: String,
    pub(super) session: SideSession<'a>,
    pub(super) positions: Positions,
    /// What an earlier run left.
    pub(super) found: Option<Found>,
    pub(super) beginning: Beginning,
    /// The only schemas that are wanted.
    pub(super) schemas: Option<BTreeSet<Vec<u8>>>,
}

/// All that it takes to read and to apply.
pub(super) struct Ready<'a> {
    pub(super) reading: Reading<'a>,
    pub(super) sink: Sink<'a>,
    pub(super) positions: Positions,
    /// Where an earlier run ended.
    pub(super) mark: Option<LowWaterMark>,
}

impl<'a> Setup<'a> {
    /// Looks at the logs up to the first transaction that is to be applied, and whether it may be.
    pub(super) fn ready(
        mut self,
        target: &'a Target,
        problems: Vec<Problem>,
        node: Option<Node>,
    ) -> Result<Ready<'a>> {
        let Request { args, after, destination, progress, ends_at_refusal, .. } = self.request;
        let mut provenance = self.found.as_ref().map(|found| found.provenance.clone()).unwrap_or_default();
        let chain = self.open(&mut provenance)?;
        self.refuse_filled()?;
        let mut earlier = self.earlier(provenance)?;
        let Self { mut session, positions, beginning, schemas, .. } = self;
        let (filter, follows, ahead) = (beginning.filter, args.follows(), Ahead::default());
        let mut reading = Reading { chain, ahead, filter, schemas, follows, destination, progress };
        if !args.flashback {
            reading.look_ahead(&mut earlier)?;
        }
        if let Some(after) = after.filter(|_| !args.resume && !ends_at_refusal) {
            progress.phase("comparing the target with the dump");
            after.check_target(&args.filter)?;
        }
        let names = session.with("looking at the target", |connection| {
            Names::of(&args.filter, args.dry_run, &earlier.provenance, connection)
        })?;
        let sink = Sink {
            target,
            session,
            goes: Goes::Nowhere(Box::new(DryRun::new(destination, target, problems, ends_at_refusal))),
            earlier,
            names,
            node,
            known: Known::default(),
            report: ReplayReport {
                dry_run: args.dry_run,
                flashback: args.flashback,
                name: args.replay_name(),
                ..ReplayReport::default()
            },
            left: None,
            skips_missing: args.skip_missing,
        };
        Ok(Ready { reading, sink, positions, mark: beginning.mark })
    }

    /// The logs, from where to begin.
    fn open(&self, provenance: &mut Provenance) -> Result<Chain> {
        let Request { args, origin, after, destination, progress, .. } = self.request;
        if let Some(origin) = origin {
            // Before anything is sent: what is asked of a server that is followed ends with a signal, and then nothing is followed.
            see_server(provenance, origin)?;
        }
        let goes_on = self.beginning.goes_on_at();
        let at = goes_on.or(after.map(|after| (&*after.log, after.position)));
        let filter = &self.beginning.filter;
        let mut chain = args.logs().open_at(origin, Some(filter), at)?.without_gaps()?;
        if let (Some(found), Some((_, BEGIN))) = (&self.found, goes_on)
            && let (Some(state), Some((log, _))) = (&found.provenance.ends, found.provenance.last())
        {
            chain.begin_behind(log.to_owned(), state.clone());
        }
        progress.phase("checking that each log is whole");
        chain.check_ends(&|| destination.stop.is_requested())?;
        progress.expect(chain.size());
        Ok(chain)
    }

    /// Refuses a target that does not hold what the logs begin behind.
    fn refuse_filled(&mut self) -> Result<()> {
        let Request { args, after, destination, .. } = self.request;
        let (connection, schemas) = (&mut self.session.connection, self.schemas.as_ref());
        if let Some(found) = &self.found {
            refuse_filled(found, &self.selection, schemas)?;
            refuse_made_anew(found, after, connection, destination)?;
        }
        match args.flashback {
            true => Ok(()),
            false => refuse_half_filled(args, schemas, connection, destination),
        }
    }

    /// What was applied before. The options must be those of an earlier run.
    fn earlier(&mut self, mut provenance: Provenance) -> Result<Earlier> {
        let Request { args, after, .. } = self.request;
        provenance.is_anew |= args.restart;
        if let Some(after) = after {
            provenance.holds = after.schemas.iter().map(|schema| quoted(schema)).collect();
        }
        let applied = if args.flashback { None } else { Some(self.applied(&provenance)?) };
        let found = self.found.take();
        let goes_on = self.beginning.goes_on;
        let mut earlier = Earlier {
            begins_as_before: found.is_some() && !goes_on && !args.flashback,
            found,
            provenance,
            applied,
            interrupted: args.interrupted,
            is_backwards: args.flashback,
        };
        earlier.see_selection(&self.selection)?;
        match goes_on {
            false if after.is_some() => earlier.see_start("", true)?,
            false => earlier.see_start(&args.start(), true)?,
            true if self.beginning.is_in_first => {}
            true => earlier.see_start(&args.start(), false)?,
        }
        Ok(earlier)
    }

    fn applied(&mut self, provenance: &Provenance) -> Result<Applied> {
        let Request { args, after, .. } = self.request;
        let Self { session, positions, selection, beginning, .. } = self;
        let begins_anywhere = beginning.mark.is_none() && args.begins_anywhere(after);
        let before = begins_anywhere.then(|| Before::excluding(args.filter.exclude_gtids.clone()));
        session.with("looking at the target", |connection| {
            if !args.dry_run {
                Positions::lock_start(connection)?;
            }
            let mut others = positions.others(connection)?;
            others.retain(|_, other| other.provenance.may_share(selection, &provenance.holds));
            Applied::of(connection, provenance.is_anew, beginning.goes_on, others, before)
        })
    }
}
