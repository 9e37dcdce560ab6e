//! `drover copy --check`: what the source has now, tried on the target.

use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;

use drover_db::options::ConnectOptions;
use drover_db::session::Use;
use drover_db::{Connection, Stop};
use drover_store::Store;
use drover_throttle::Throttle;

use super::args::CopyArgs;
use super::run::{held_by, lost_history};
use crate::dump::job::Place;
use crate::dump::source::Source;
use crate::error::Doing;
use crate::progress::Progress;
use crate::restore::CheckReport;
use crate::restore::check::try_on_target;
use crate::session;
use crate::{Error, Result};
use drover_format::files::Compressor;
use drover_format::manifest::RowFormat;

/// A directory for scripts, gone when the value is dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Self> {
        let now = jiff::Timestamp::now().as_nanosecond();
        let dir = std::env::temp_dir().join(format!("drover-check-{}-{now}", std::process::id()));
        // For this user only, and never one that is there.
        fs::DirBuilder::new().mode(0o700).create(&dir).map_err(Error::file(&dir))?;
        Ok(Self(dir))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What is left in a directory for temporary files is no reason to fail.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Tries the whole schema of the source on the target, without rows, and leaves nothing behind.
///
/// # Errors
/// If it could not be tried; what the target does not take is no error but part of the report.
pub fn check_copy(
    args: &CopyArgs,
    from: &ConnectOptions,
    to: &ConnectOptions,
    stop: &Stop,
    progress: &Progress,
) -> Result<CheckReport> {
    let scratch = Scratch::new()?;
    match check_in(&scratch, args, from, to, stop, progress) {
        Err(_) if stop.is_requested() => Err(Error::Stopped),
        other => other,
    }
}

fn check_in(
    scratch: &Scratch,
    args: &CopyArgs,
    from: &ConnectOptions,
    to: &ConnectOptions,
    stop: &Stop,
    progress: &Progress,
) -> Result<CheckReport> {
    progress.phase("reading the catalogue");
    let mut coordinator = session::open(from, Use::Dump)?;
    let mut target = session::open(to, Use::Restore)?;
    let watch = |connection: &Connection| stop.watch(connection).doing(|| "watching a connection");
    let _watched = (watch(&coordinator)?, watch(&target)?);
    let throttle = Throttle::start(None, &[], stop, progress)?;
    let place = Place {
        store: Store::Directory(scratch.0.clone()),
        format: RowFormat::default(),
        compressor: Compressor::NONE,
        chunk_bytes: args.chunk_size.0,
    };
    let mut source = Source::new(&args.source, from, place, &throttle, &mut coordinator)?;
    source.holds = held_by(&mut target, &source.server)?;
    let manifest = source.look(&mut coordinator, progress)?;
    let (store, users) = (&source.place.store, args.source.users);
    let mut report = try_on_target(store, manifest, &args.target, users, to, stop, progress)?;
    report.rewrites.extend(lost_history(&source, &mut coordinator)?);
    Ok(report)
}
