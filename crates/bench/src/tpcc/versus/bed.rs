//! Where the comparison runs: private servers with loaded tables, and how one changes from one thing to the next.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use drover_db::options::{ConnectOptions, ServerArgs};
use drover_db::{Connection, Stop};
use drover_host::scheduler::Switch;
use drover_host::undo::{Step, Undo};

use super::SCHEMA;
use super::args::{Subject, VersusArgs};
use super::room::Room;
use crate::environment::Environment;
use crate::loops::LoopFileSystem;
use crate::private::{Plan, Private};
use crate::tpcc::args::{LoadArgs, PlaceArgs};
use crate::tpcc::load;
use crate::{Error, Progress, Result};

/// Servers and what is changed. Dropped, it puts everything back.
#[derive(Debug)]
pub(super) struct Bed {
    // In this order they are dropped: a file system is not unmounted while a server uses it.
    sites: Vec<Site>,
    switch: Option<Switch>,
    undo: Undo,
    names: Vec<String>,
    warnings: Vec<String>,
    is_on_loop: bool,
}

/// A server with its data in one place.
#[derive(Debug)]
struct Site {
    // Dropped before the server, whose process number somebody else may have afterwards.
    room: Room,
    server: Private,
    place: PathBuf,
}

impl Bed {
    /// Makes the places, starts the servers, and loads the tables.
    pub(super) fn make(
        args: &VersusArgs,
        subject: &Subject,
        stop: &Arc<Stop>,
        progress: &Progress,
    ) -> Result<Self> {
        let plan = Plan::new(&args.server)?;
        let mut undo = Undo::start()?;
        progress.phase("making a place for the data", None);
        let places = places(args, subject, &mut undo)?;
        let switch = match (subject, places.first()) {
            (Subject::Scheduler(wanted), Some(place)) => Some(Switch::below(place, wanted, &mut undo)?),
            _ => None,
        };
        let mut bed = Self {
            sites: Vec::new(),
            switch,
            undo,
            names: subject.values(),
            warnings: plan.warnings.clone(),
            is_on_loop: args.loop_bytes.is_some(),
        };
        for place in places {
            progress.phase("starting a server", None);
            let home = home(&place, &mut bed.undo)?;
            let room = Room::watch(&place);
            let server = plan.start_in(&home).map_err(|error| room.shortage().unwrap_or(error))?;
            room.guard(server.pid());
            let site = Site { room, server, place };
            let options = site.options();
            bed.sites.push(site);
            load(&load_args(args), &options, stop, progress).map_err(|error| bed.why(error))?;
        }
        Ok(bed)
    }

    /// What is behind an error: a server that was stopped for want of room, or the error itself.
    pub(super) fn why(&self, error: Error) -> Error {
        self.sites.iter().find_map(|site| site.room.shortage()).unwrap_or(error)
    }

    /// What is compared, in the order in which it was named.
    pub(super) fn names(&self) -> Vec<String> {
        self.names.clone()
    }

    /// What a person should know.
    pub(super) fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }

    /// The devices whose scheduler is changed, and that stay.
    pub(super) fn devices(&self) -> Vec<String> {
        self.switch.as_ref().filter(|_| !self.is_on_loop).map(Switch::devices).unwrap_or_default()
    }

    /// Changes to one of them, and says where its tables are.
    pub(super) fn change_to(&mut self, at: usize) -> Result<ConnectOptions> {
        let site = match &self.switch {
            Some(switch) => {
                switch.set(&self.names[at])?;
                self.sites.first()
            }
            None => self.sites.get(at),
        };
        // `make` has made one for each, or one for all.
        site.map(Site::options)
            .ok_or_else(|| Error::found(format!("{}: there is no server for it", self.names[at])))
    }

    /// What it runs on.
    pub(super) fn environment(&self) -> Result<Environment> {
        let environment =
            Environment::of_machine().with_paths(self.sites.iter().map(|site| site.place.as_path()))?;
        let Some(site) = self.sites.first() else { return Ok(environment) };
        let mut connection = Connection::open(&site.options()).map_err(Error::server("connecting"))?;
        environment.with_server(&mut connection, Some(true))
    }

    /// Ends the servers and has everything put back.
    ///
    /// # Errors
    /// What could not be put back.
    pub(super) fn put_back(self) -> Result<()> {
        drop(self.sites);
        Ok(self.undo.finish()?)
    }
}

impl Site {
    fn options(&self) -> ConnectOptions {
        ConnectOptions { database: Some(SCHEMA.to_owned()), ..self.server.root() }
    }
}

fn load_args(args: &VersusArgs) -> LoadArgs {
    LoadArgs {
        warehouses: args.warehouses,
        threads: None,
        seed: args.measure.seed,
        drop_existing: false,
        place: PlaceArgs { database: None, server: ServerArgs::default() },
    }
}

/// The directories that servers' data is to lie in: one for each thing that is compared, or one for all.
fn places(args: &VersusArgs, subject: &Subject, undo: &mut Undo) -> Result<Vec<PathBuf>> {
    let data = || {
        args.data.clone().ok_or_else(|| {
            Error::with_hint("it is not said where the data is to lie", "--data DIRECTORY says it")
        })
    };
    let on_loop = |kind: &str, bytes: u64, undo: &mut Undo| -> Result<PathBuf> {
        Ok(LoopFileSystem::make(&data()?, kind, bytes, undo)?.point)
    };
    match (subject, args.loop_bytes) {
        (Subject::Scheduler(_), None) => Ok(vec![data()?]),
        (Subject::Scheduler(_), Some(bytes)) => Ok(vec![on_loop("ext4", bytes, undo)?]),
        (Subject::FileSystem(_), None) => Err(Error::with_hint(
            "file systems are compared on loop devices, and it is not said how large these are to be",
            "--loop SIZE says it; path=/a,/b compares file systems that are mounted",
        )),
        (Subject::FileSystem(kinds), Some(bytes)) => {
            kinds.iter().map(|kind| on_loop(kind, bytes, undo)).collect()
        }
        (Subject::Path(_), Some(_)) => {
            Err(Error::with_hint("paths are compared as they are, without loop devices", "leave --loop out"))
        }
        (Subject::Path(paths), None) => paths.iter().map(|path| present(path)).collect(),
    }
}

/// A new directory for a server below a place. A server removes its own files, but not if it is killed with this process.
fn home(place: &Path, undo: &mut Undo) -> Result<PathBuf> {
    let made = tempfile::Builder::new().prefix("drover-bench-").tempdir_in(place);
    let home = made.map_err(Error::file(place))?.keep();
    undo.add(&Step::RemoveTree(home.clone()))?;
    Ok(home)
}

fn present(path: &Path) -> Result<PathBuf> {
    path.canonicalize().map_err(Error::file(path))
}
