//! A restore before its rows come, and after: what both have to do whose rows come from files and whose come from a server.

use std::time::Instant;

use drover_db::{Connection, Server, quote, replays};

use super::dependents;
use super::events::{self, Events};
use super::global::{LocalInfile, RedoLog, redo_log_warning};
use super::job::{NO_FILES, Restore};
use super::objects::Scripts;
use super::report::{RestoreReport, grouped};
use super::rows_only;
use super::steps::{self, Steps};
use super::targets::Target;
use super::users::Users;
use super::verified::{Verify, VerifyReport};
use crate::error::Doing;
use crate::translate::Translator;
use crate::{Error, Result};
use drover_format::manifest::Manifest;

/// What a restore has found and made before the first row.
pub(crate) struct Begun {
    pub(crate) server: Server,
    /// How far an earlier run has come, if this one goes on with it.
    pub(crate) steps: Steps,
    users: Option<Users>,
    pub(crate) warnings: Vec<String>,
    redo_log: RedoLog,
    local_infile: LocalInfile,
}

impl Begun {
    /// Whether the server takes files from its clients.
    pub(super) fn takes_files(&self) -> bool {
        self.local_infile.is_on()
    }
}

/// What a person is told whose target follows another server.
pub(super) const A_REPLICA: &str = "the target is a replica: what is written here is not on its source, and ends its replication where the two meet, as \
                         with GTIDs; restore on the source, and it comes here by itself";

/// What a person is told where events run whose server may follow another one.
const MAY_BE_A_REPLICA: &str = "scheduled events run on the target from now on: this account may not see whether it is a replica (REPLICATION CLIENT, \
                                on MariaDB REPLICA MONITOR, shows it), on which they would run besides what comes from its source; --events off \
                                leaves them off";

impl<'a> Restore<'a> {
    pub(super) fn scripts(&self) -> Scripts<'a> {
        Scripts {
            store: self.store,
            renames: self.renames,
            definers: self.definers,
            translator: self.translator,
        }
    }

    /// Whether the target has all tables, views and sequences.
    pub(super) fn has_all(&self, coordinator: &mut Connection) -> Result<bool> {
        if !self.manifest.contents.has_definitions() {
            return Ok(false);
        }
        let schemas = self.manifest.schemas.iter();
        let all: usize = schemas.map(|s| s.tables.len() + s.views.len() + s.sequences.len()).sum();
        Ok(all > 0 && self.scripts().existing(coordinator, self.manifest)?.len() == all)
    }

    /// Makes room, or finds what an earlier run has done; makes the schemas.
    pub(crate) fn begin(&self, coordinator: &mut Connection, mut steps: Steps) -> Result<Begun> {
        let server = Server::of(coordinator).doing(|| "asking for the server's version")?;
        let mut warnings = Vec::new();
        let scripts = self.scripts();
        if let Some(schema) = scripts.impossible_schemas(coordinator, self.manifest)?.first() {
            return Err(Error::with_hint(
                format!(
                    "no server makes a schema called {}: nothing was changed",
                    quote::identifier(schema.new)
                ),
                schema.way_out(),
            ));
        }
        let mut redo_log = RedoLog::new(self.options, self.args.disable_redo)?;
        let local_infile = LocalInfile::wish(self.options, self.args.enable_local_infile)?;
        if !local_infile.is_on() {
            warnings.push(NO_FILES.into());
        }
        if events::is_replica(coordinator)? == Some(true) {
            warnings.push(A_REPLICA.into());
        }
        steps::lock_schemas(coordinator, self.manifest, self.renames)?;
        self.progress.phase("creating the tables");
        let users = self.users(coordinator, &steps)?;
        if let Err(error) = self.take(coordinator, &mut steps, users.as_ref(), &mut warnings) {
            return Err(steps.maybe_of_others(coordinator, error));
        }
        warnings.extend(dependents::keys_to_nowhere(&scripts, coordinator, self.manifest)?);
        if self.args.disable_redo {
            redo_log.disable()?;
        }
        Ok(Begun { server, steps, users, warnings, redo_log, local_infile })
    }

    /// Makes the schemas and the table of the steps, unless an earlier run has.
    fn take(
        &self,
        coordinator: &mut Connection,
        steps: &mut Steps,
        users: Option<&Users>,
        warnings: &mut Vec<String>,
    ) -> Result<()> {
        let scripts = self.scripts();
        let goes_on = steps.is_there && self.resume;
        if goes_on {
            steps.end_sessions(coordinator)?;
            // Triggers that are there already would run for rows that come, or are replaced.
            scripts.drop_programs(coordinator, self.manifest)?;
        } else {
            self.make_room(coordinator, &scripts, steps)?;
        }
        self.note_filled(coordinator)?;
        let mut of_schemas = Vec::new();
        scripts.create_schemas(coordinator, self.manifest, &mut of_schemas)?;
        if goes_on {
            warnings.extend(steps.warnings());
        } else {
            steps.begin(coordinator)?;
        }
        if !steps.have_begun() {
            steps.note_warnings(coordinator, &of_schemas)?;
            let findings = self.translator.map(Translator::findings).unwrap_or_default();
            steps.note_findings(coordinator, &findings)?;
            users.into_iter().try_for_each(|users| users.note(coordinator, steps))?;
            steps.note_begun(coordinator)?;
        }
        warnings.extend(of_schemas);
        steps.lead(coordinator)
    }

    /// Completes what was begun, now that all rows are in, and proves it. `filled` is the manifest with those rows; the steps
    /// stay, so that a run that is ended here can be gone on with.
    pub(crate) fn finish(
        &self,
        coordinator: &mut Connection,
        begun: &mut Begun,
        targets: &[Target<'_>],
        filled: &Manifest,
        loading: Instant,
        threads: usize,
    ) -> Result<RestoreReport> {
        let scripts = self.scripts();
        self.progress.phase("adding foreign keys");
        let goes_on = begun.steps.is_there;
        targets.iter().try_for_each(|target| target.add_foreign_keys(coordinator, goes_on))?;
        begun.redo_log.enable()?;
        begun.warnings.extend(redo_log_warning(coordinator)?);
        let load_seconds = loading.elapsed().as_secs_f64();
        self.progress.phase("creating routines, views, triggers and events");
        let mut users = begun.users.take();
        users.iter_mut().try_for_each(|users| users.create(coordinator))?;
        scripts.create_programs(coordinator, self.manifest, &mut begun.warnings)?;
        users.iter_mut().try_for_each(|users| users.finish(coordinator))?;
        if self.args.no_verify {
            begun
                .warnings
                .extend(self.translator.and_then(|it| it.zeros_unseen(filled).transpose()).transpose()?);
        }
        let mut verify = self.verify(filled, threads)?;
        if let (Some(users), Some(report)) = (&users, &mut verify) {
            users.verify(coordinator, report)?;
        }
        let is_proved = verify.as_ref().is_none_or(|report| report.differences.is_empty());
        let (events_off, events_unsure) =
            self.switch_events_on(coordinator, &scripts, is_proved, &mut begun.warnings)?;
        Ok(RestoreReport {
            events_off,
            events_unsure,
            server: begun.server.clone(),
            tables: targets.len(),
            rows: filled.rows(),
            bytes: filled.bytes(),
            there_bytes: 0,
            seconds: 0.0,
            paused_seconds: 0.0,
            load_seconds,
            definers_changed: self.definers_changed,
            mixed: filled.mixed(),
            warnings: grouped(&begun.warnings),
            rewrites: self.rewrites(&begun.server),
            refused: self.translator.map(Translator::refused).unwrap_or_default(),
            users: users.map(Users::report),
            verify,
        })
    }

    /// Lets events run, unless they are to stay off, or it is not proved that all is right. The statements that
    /// would switch on those that are off, and why those that run perhaps should not.
    fn switch_events_on(
        &self,
        coordinator: &mut Connection,
        scripts: &Scripts<'_>,
        is_proved: bool,
        warnings: &mut Vec<String>,
    ) -> Result<(Vec<String>, Option<String>)> {
        let off = scripts.events_to_switch_on(coordinator, self.manifest, warnings)?;
        if off.is_empty() {
            return Ok((Vec::new(), None));
        }
        let mut is_unsure = false;
        let are_on = match self.args.events {
            Some(events) => events == Events::On,
            None if self.manifest.copied => false,
            None => {
                let is_replica = events::is_replica(coordinator)?;
                is_unsure = is_replica.is_none();
                is_replica != Some(true)
            }
        };
        if are_on && is_proved {
            scripts.switch_on(coordinator, &off)?;
            return Ok((Vec::new(), is_unsure.then(|| MAY_BE_A_REPLICA.into())));
        }
        let off: Result<_> = off.iter().map(|event| event.enable(coordinator)).collect();
        Ok((off?, None))
    }

    /// The same where an earlier run has completed all: what it left off stays off unless `--events on` says otherwise.
    pub(crate) fn events_of_earlier(
        &self,
        coordinator: &mut Connection,
        verify: Option<&VerifyReport>,
        warnings: &mut Vec<String>,
    ) -> Result<Vec<String>> {
        let scripts = self.scripts();
        let off = scripts.events_to_switch_on(coordinator, self.manifest, warnings)?;
        let is_proved = verify.is_none_or(|report| report.differences.is_empty());
        if self.args.events != Some(Events::On) || !is_proved || off.is_empty() {
            return off.iter().map(|event| event.enable(coordinator)).collect();
        }
        steps::lock_schemas(coordinator, self.manifest, self.renames)?;
        scripts.switch_on(coordinator, &off)?;
        Ok(Vec::new())
    }

    /// Compares the target with what was loaded, unless a person will do without.
    pub(crate) fn verify(&self, filled: &Manifest, threads: usize) -> Result<Option<VerifyReport>> {
        if self.args.no_verify { Ok(None) } else { self.prove(filled, threads).map(Some) }
    }

    /// Compares the target with what was loaded.
    pub(super) fn prove(&self, filled: &Manifest, threads: usize) -> Result<VerifyReport> {
        let verify = Verify {
            store: self.store,
            manifest: filled,
            renames: self.renames,
            definers: self.definers,
            translator: self.translator,
            is_source: false,
            progress: self.progress,
        };
        verify.run(self.options, threads, self.stop)
    }

    pub(super) fn users(&self, coordinator: &mut Connection, steps: &Steps) -> Result<Option<Users>> {
        let may_drop = |account: &str| {
            self.args.drop_existing || self.resume && steps.has(&format!("account {account}"))
        };
        let prepare = || Users::prepare(coordinator, self.store, self.manifest, self.renames, may_drop);
        self.users.then(prepare).transpose()
    }

    /// Tells replays of what is filled anew.
    fn note_filled(&self, coordinator: &mut Connection) -> Result<()> {
        self.manifest.schemas.iter().try_for_each(|schema| {
            replays::note_filled(coordinator, self.renames.schema(&schema.name))
                .doing(|| "noting for replays that the target is filled")
        })
    }

    fn make_room(&self, coordinator: &mut Connection, scripts: &Scripts<'_>, steps: &Steps) -> Result<()> {
        if !self.manifest.contents.has_definitions() {
            return rows_only::check(coordinator, self.manifest, self.renames, self.args.drop_existing);
        }
        if self.args.drop_existing {
            steps.end_all_sessions(coordinator)?;
            self.note_filled(coordinator)?;
            scripts.drop_existing(coordinator, self.manifest)?;
            return steps.forget_others(coordinator);
        }
        let existing = scripts.existing(coordinator, self.manifest)?;
        let Some((_, first)) = existing.first() else { return Ok(()) };
        if steps.is_there {
            return Err(Error::with_hint(
                format!(
                    "the target has what an earlier {} left when it was ended: nothing was changed",
                    steps.whose()
                ),
                "--resume resumes it, --drop-existing begins anew",
            ));
        }
        let others = existing.len() - 1;
        let more = if others == 0 { String::new() } else { format!(" and {others} more of the dump") };
        Err(Error::with_hint(
            format!("the target already has {first}{more}: nothing was changed"),
            "--drop-existing drops what the dump also holds; --into OLD=NEW restores into another schema",
        ))
    }
}
