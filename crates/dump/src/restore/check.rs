//! `drover restore --check`, and what a restore to another vendor does before it begins: the dump as the target takes it.

use std::collections::BTreeMap;
use std::time::Instant;

use drover_db::options::ConnectOptions;
use drover_db::session::Use;
use drover_db::sql::program::Program;
use drover_db::{Cluster, Connection, Server, Stop, quote, server};
use drover_store::Store;
use serde::Serialize;

use super::args::{RestoreArgs, TargetArgs};
use super::dependents;
use super::in_place::{self, InPlace};
use super::job::NO_FILES;
use super::objects::{ImpossibleSchema, Scripts, each};
use super::privileges::{Lacking, programs};
use super::rename::{Case, Renames};
use super::report::grouped;
use super::rows_only;
use super::trial::{Outcome, Trial, both_mysql};
use super::users::{Users, UsersReport};
use crate::definer::{Asked, Definers};
use crate::dump::catalog::Name;
use crate::dump::warnings::lost_documents;
use crate::error::Doing;
use crate::progress::Progress;
use crate::session;
use crate::translate::{Translator, one_line};
use crate::{Error, Result};
use drover_format::manifest::{Manifest, Object, Schema};
use drover_format::script::dialect;
use drover_format::{Refusal, Rewrite};

/// How many refusals an error lists.
const SHOWN: usize = 20;

/// What a check found.
#[derive(Debug, Clone, Serialize)]
pub struct CheckReport {
    /// The server that the dump comes from.
    pub from: Server,
    /// The server that it was tried on.
    pub server: Server,
    /// Schemas, tables, views and programs that were tried.
    pub objects: usize,
    /// Views and stored programs that would get another definer: `--definer`.
    pub definers_changed: usize,
    /// What is written otherwise for this server, or left out.
    pub rewrites: Vec<Rewrite>,
    /// What cannot be made there at all.
    pub refused: Vec<Refusal>,
    /// What would become of the accounts; absent without `--users`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub users: Option<UsersReport>,
    /// What the server warned of, and what else stands in the way of a restore.
    pub warnings: Vec<String>,
    /// Wall-clock time, in seconds.
    pub seconds: f64,
}

impl CheckReport {
    /// Whether the target can hold everything as the dump has it.
    pub fn keeps_all(&self) -> bool {
        let holds_accounts = self.users.as_ref().is_none_or(|users| users.not_held.is_empty());
        self.refused.is_empty() && holds_accounts && !self.rewrites.iter().any(|rewrite| rewrite.loses)
    }
}

/// Tries a dump's whole schema on the target, without rows, and leaves nothing behind.
///
/// # Errors
/// If it could not be tried; what the target does not take is no error but part of the report.
pub fn check(
    args: &RestoreArgs,
    options: &ConnectOptions,
    stop: &Stop,
    progress: &Progress,
) -> Result<CheckReport> {
    let store = &Store::open(&args.dir, &args.store)?;
    let _store_watched = store.watch(stop);
    let manifest = Manifest::with_rows(store)?;
    try_on_target(store, manifest, &args.target, args.users, options, stop, progress)
}

/// Tries what a manifest describes.
///
/// # Errors
/// As for [`check`].
pub(crate) fn try_on_target(
    store: &Store,
    manifest: Manifest,
    args: &TargetArgs,
    users: bool,
    options: &ConnectOptions,
    stop: &Stop,
    progress: &Progress,
) -> Result<CheckReport> {
    let started = Instant::now();
    let options = &args.options(options);
    let mut connection = session::open(options, Use::Restore)?;
    let server = Server::of(&mut connection).doing(|| "asking for the server's version")?;
    let definers = &Definers::of(&args.definer, &mut connection)?;
    let asked = ask(store, &manifest, definers, &mut connection, users)?;
    let renames = &Renames::new(&args.into, &manifest, Case::of(&mut connection)?)?;
    let preparation = Preparation {
        store,
        options,
        stop,
        progress,
        renames,
        definers,
        always: true,
        note: None,
        is_check: true,
        resume: false,
    };
    let Prepared { translator, outcome, .. } = match preparation.run(&manifest, &mut connection) {
        Err(_) if stop.is_requested() => return Err(Error::Stopped),
        // An account that may create nothing for others can often make no schemas to try things in either.
        Err(error) => return Err(asked.error().unwrap_or(error)),
        Ok(prepared) => prepared,
    };
    let mut refused = refused(&outcome.refused, translator.as_ref(), &asked);
    refused.extend(impossible_schemas(&mut connection, args, store, &manifest)?);
    refused.sort();
    refused.dedup();
    let accounts = users.then(|| accounts(&mut connection, args, store, &manifest)).transpose()?;
    let mut warnings = grouped(&beside_accounts(outcome.warnings, accounts.as_ref()));
    warnings.extend(asked.hints.iter().cloned());
    let scripts = Scripts { store, renames, definers, translator: translator.as_ref() };
    warnings.extend(dependents::keys_to_nowhere(&scripts, &mut connection, &manifest)?);
    if manifest.contents.has_rows() && !args.enable_local_infile && !takes_files(&mut connection)? {
        warnings.push(NO_FILES.into());
    }
    let mut rewrites = translator.map(|translator| translator.rewrites()).unwrap_or_default();
    rewrites.extend(lost_documents(&manifest, &server));
    Ok(CheckReport {
        from: manifest.server,
        server,
        objects: outcome.tried,
        definers_changed: asked.changed,
        rewrites,
        refused,
        users: accounts.map(Users::report),
        warnings,
        seconds: started.elapsed().as_secs_f64(),
    })
}

/// What cannot be made on the target: what the trial, the translation and the definers' names say.
fn refused(
    tried: &[(String, String, String)],
    translator: Option<&Translator>,
    asked: &Asked,
) -> Vec<Refusal> {
    let of_trial = |(_, object, reason): &(_, String, String)| Refusal {
        object: object.clone(),
        reason: one_line(reason),
    };
    let mut refused: Vec<_> = tried.iter().map(of_trial).collect();
    refused.extend(translator.into_iter().flat_map(Translator::refused));
    refused.retain(|one| !asked.refused.iter().any(|known| known.object == one.object));
    refused.extend(asked.refused.iter().cloned());
    refused
}

/// The warnings but those of definers that come with the accounts.
fn beside_accounts(mut warnings: Vec<String>, accounts: Option<&Users>) -> Vec<String> {
    warnings.retain(|warning| !accounts.is_some_and(|users| users.comes_as_definer(warning)));
    warnings
}

/// Whether the server takes files from its clients.
fn takes_files(connection: &mut Connection) -> Result<bool> {
    let value = server::variable(connection, "GLOBAL.local_infile").doing(|| "reading local_infile")?;
    Ok(value.as_deref() != Some("0"))
}

/// What would become of the accounts, and which are in the way.
fn accounts(
    connection: &mut Connection,
    args: &TargetArgs,
    store: &Store,
    manifest: &Manifest,
) -> Result<Users> {
    let renames = Renames::new(&args.into, manifest, Case::of(connection)?)?;
    let mut users = Users::prepare(connection, store, manifest, &renames, |_| true)?;
    if !args.drop_existing {
        users.leave_those_in_the_way();
    }
    Ok(users)
}

/// Schemas that are tried under other names than those that they cannot have.
fn impossible_schemas(
    connection: &mut Connection,
    args: &TargetArgs,
    store: &Store,
    manifest: &Manifest,
) -> Result<Vec<Refusal>> {
    if !manifest.contents.has_definitions() {
        return Ok(Vec::new());
    }
    let renames = &Renames::new(&args.into, manifest, Case::of(connection)?)?;
    let scripts = Scripts { store, renames, definers: &Definers::default(), translator: None };
    let refusal = |schema: &ImpossibleSchema<'_>| Refusal {
        object: format!("schema {}", quote::identifier(schema.new)),
        reason: format!("no server makes a schema of this name; {}", schema.way_out()),
    };
    Ok(scripts.impossible_schemas(connection, manifest)?.iter().map(refusal).collect())
}

/// Refuses a dump with views and programs that the account may not create; how many get another definer. With `skip` the trial finds and
/// leaves out what is refused.
pub(crate) fn may_create(
    store: &Store,
    manifest: &Manifest,
    definers: &Definers,
    connection: &mut Connection,
    skip: bool,
    users: bool,
) -> Result<usize> {
    let asked = ask(store, manifest, definers, connection, users)?;
    if skip { Ok(asked.changed) } else { asked.into_result() }
}

/// Asks whether the account may create the views and programs of a dump. A view that was broken then is none that must be there now.
fn ask(
    store: &Store,
    manifest: &Manifest,
    definers: &Definers,
    connection: &mut Connection,
    users: bool,
) -> Result<Asked> {
    if !manifest.contents.has_definitions() {
        return Ok(Asked::default());
    }
    let (renames, as_dumped) = (&Renames::default(), &Definers::default());
    let scripts = Scripts { store, renames, definers: as_dumped, translator: None };
    let kinds: [fn(&Schema) -> &Vec<Object>; 4] =
        [|s| &s.views, |s| &s.routines, |s| &s.triggers, |s| &s.events];
    let objects = kinds.into_iter().flat_map(|kind| each(manifest, kind));
    let (mut programs, mut zones) = (BTreeMap::new(), BTreeMap::<_, Vec<_>>::new());
    for (schema, object) in objects.filter(|(_, object)| !object.broken) {
        let statements = scripts.read(&object.script)?;
        let dialect = dialect(&statements);
        let program = statements.iter().find_map(|text| Program::parse(text, dialect));
        let name = quote::qualified(&schema.name, &object.name);
        let name = format!("{} {name}", object.kind.to_lowercase());
        let zone = statements.iter().find_map(|text| text.strip_prefix(b"SET time_zone = "));
        zone.into_iter().for_each(|zone| zones.entry(zone.to_vec()).or_default().push(name.clone()));
        programs.extend(program.map(|program| (name, program)));
    }
    let mut asked = Asked::of(connection, definers, &programs, users)?;
    asked.ask_about_zones(connection, &zones)?;
    Ok(asked)
}

/// A dump as the target takes it.
pub(crate) struct Prepared {
    /// What is to be restored.
    pub(crate) manifest: Manifest,
    pub(crate) translator: Option<Translator>,
    outcome: Outcome,
    /// What is to be told of the trial: why there was none, where there should have been one.
    pub(crate) told: Option<String>,
}

/// How a dump is made ready for a target.
pub(crate) struct Preparation<'a> {
    pub(crate) store: &'a Store,
    pub(crate) options: &'a ConnectOptions,
    pub(crate) stop: &'a Stop,
    pub(crate) progress: &'a Progress,
    /// Where it goes.
    pub(crate) renames: &'a Renames,
    pub(crate) definers: &'a Definers,
    /// Whether it is tried on any target.
    pub(crate) always: bool,
    /// The table in which an earlier run of the same work notes how far it is.
    pub(crate) note: Option<Name>,
    /// Whether nothing else comes after that.
    pub(crate) is_check: bool,
    /// Whether an earlier run may have done all of it.
    pub(crate) resume: bool,
}

impl Preparation<'_> {
    /// The dump as the target takes it, without what it refuses where that is wished; one of rows only as the tables are there.
    pub(crate) fn for_target(&self, manifest: &Manifest, coordinator: &mut Connection) -> Result<Prepared> {
        let prepared = self.run(manifest, coordinator);
        let prepared = match prepared.and_then(|it| it.without_refused(self.always)) {
            Err(_) if self.stop.is_requested() => return Err(Error::Stopped),
            other => other?,
        };
        let manifest = match prepared.manifest.contents.has_definitions() {
            true => prepared.manifest,
            false => rows_only::on_target(coordinator, prepared.manifest, self.renames)?,
        };
        Ok(Prepared { manifest, ..prepared })
    }

    /// Translates the dump, and tries it on a target of another vendor or version or in a cluster.
    pub(crate) fn run(&self, manifest: &Manifest, connection: &mut Connection) -> Result<Prepared> {
        let Self { store, progress, renames, definers, always, .. } = *self;
        if !manifest.contents.has_definitions() {
            // The tables are there: nothing is to be written otherwise.
            return Ok(Prepared {
                manifest: manifest.clone(),
                translator: None,
                outcome: Outcome::default(),
                told: None,
            });
        }
        let lacking =
            Lacking::of(connection, &Scripts { store, renames, definers, translator: None }, manifest)?;
        // What is skipped if it is refused may be programs that the account must not make.
        let in_the_way = if always { lacking.for_tables() } else { lacking.for_all() };
        if let Some(error) = in_the_way.filter(|_| !self.is_check) {
            return Err(error);
        }
        let server = Server::of(connection).doing(|| "asking for the server's version")?;
        let cluster = Cluster::of(connection).doing(|| "asking for the target's cluster")?;
        let always = always || cluster.is_some();
        let translator = match always {
            true => Some(Translator::always(connection, store, manifest, &server)?),
            false => Translator::new(connection, store, manifest, &server)?,
        };
        let translated = match &translator {
            Some(translator) => translator.manifest(manifest)?,
            None => manifest.clone(),
        };
        let Some(of_another) = &translator else {
            return Ok(Prepared {
                manifest: translated,
                translator,
                outcome: Outcome::default(),
                told: None,
            });
        };
        let may_be_untried = !always && !of_another.crosses();
        let trial = Trial {
            store,
            manifest: &translated,
            definers,
            translator: translator.as_ref(),
            both_mysql: both_mysql(server.vendor, manifest.server.vendor),
            cluster,
            progress,
        };
        let (mut outcome, told) = self.attempt(&trial, &lacking, may_be_untried)?;
        outcome.warnings.extend(lacking.for_tables().map(|error| error.to_string()));
        if let Some(translator) = &translator {
            if always {
                refuse_unprivileged(&lacking, &translated, renames, translator, &mut outcome);
            }
            outcome.refused.iter().for_each(|(file, _, reason)| translator.refuse(file, reason));
        }
        Ok(Prepared { manifest: translated, translator, outcome, told })
    }

    /// What the trial came to, and what is to be told of it: why there was none where there should have been one.
    fn attempt(
        &self,
        trial: &Trial<'_>,
        lacking: &Lacking,
        may_be_untried: bool,
    ) -> Result<(Outcome, Option<String>)> {
        let error = match trial.run(self.options, self.stop) {
            Err(error) if is_denied(&error) => error,
            outcome => return Ok((outcome?, None)),
        };
        if let Some(lacks) = lacking.for_tables() {
            return Err(nowhere_to_try(&lacks));
        }
        let told = match in_place::run(trial, self.renames, self.note.as_ref(), self.options, self.stop)? {
            InPlace::Tried(outcome, told) => return Ok((outcome, told)),
            InPlace::Begun(findings) => {
                let told = "the schema is not tried again: an earlier run has begun here".into();
                return Ok((trial.recall(self.renames, &findings)?, Some(told)));
            }
            // What one version takes another one mostly does: who may make no schema is not turned away for it.
            InPlace::Occupied if may_be_untried => format!(
                "the target is of another version, and the schema was not tried on it before the first row: {error}"
            ),
            InPlace::Occupied if self.resume => NOT_TOLD_AGAIN.into(),
            InPlace::Occupied => return Err(Error::with_hint(error.to_string(), WHERE_TO_TRY)),
        };
        Ok((Outcome::default(), Some(told)))
    }
}

/// Refuses programs that the account must not make, whatever the trial made of them.
fn refuse_unprivileged(
    lacking: &Lacking,
    manifest: &Manifest,
    renames: &Renames,
    translator: &Translator,
    outcome: &mut Outcome,
) {
    for (schema, object, privilege) in programs(manifest) {
        let Some(reason) = lacking.refusal(renames.schema(&schema.name), privilege) else { continue };
        outcome.refused.retain(|(file, _, _)| *file != object.script.file);
        translator.refuse(&object.script.file, &reason);
    }
}

impl Prepared {
    /// The same without what the target refuses; an error that lists it, unless it may be skipped.
    pub(crate) fn without_refused(mut self, skip: bool) -> Result<Self> {
        let Some(translator) = &self.translator else { return Ok(self) };
        let refused = translator.refused();
        if refused.is_empty() {
            return Ok(self);
        }
        if !skip {
            return Err(refusal(&refused));
        }
        self.manifest = translator.without_refused(&self.manifest);
        Ok(self)
    }
}

/// What is told where a run may be one more of what is done.
const NOT_TOLD_AGAIN: &str = "the dump is not tried on the target, whose schemas are not empty: what an earlier run had to leave out is not told again";

/// What helps an account that may try nothing.
const WHERE_TO_TRY: &str = "a dump is tried on the target before the first row: in schemas that are there and empty, or, with all privileges on \
                            `drover\\_check\\_%`.*, in schemas of their own";

/// The error for an account that may try nothing, neither in schemas of their own nor in those that are to be filled.
fn nowhere_to_try(lacks: &Error) -> Error {
    Error::with_hint(lacks.to_string(), format!("{}; {WHERE_TO_TRY}", lacks.hint().unwrap_or_default()))
}

/// Whether the account lacks a privilege.
fn is_denied(error: &Error) -> bool {
    matches!(error, Error::Server { source, .. } if source.is_denied())
}

fn refusal(refused: &[Refusal]) -> Error {
    let lines = refused.iter().take(SHOWN).map(|one| format!("\n  {}: {}", one.object, one.reason));
    let more = refused.len().saturating_sub(SHOWN);
    let more = if more == 0 { String::new() } else { format!("\n  and {more} more") };
    let count = refused.len();
    let objects = if count == 1 { "object" } else { "objects" };
    Error::with_hint(
        format!(
            "the target cannot hold {count} {objects} of the dump: nothing was changed{}{more}",
            lines.collect::<String>()
        ),
        "--skip-refused leaves these out and brings over everything else; --check lists all that is rewritten or lost",
    )
}
