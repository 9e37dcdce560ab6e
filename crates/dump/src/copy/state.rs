//! The directory of a copy. Beside what a dump's directory holds but for row files, it has a file that tells this copy from
//! all others: `copy.json`, which is there from the first change to the last and stays.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use drover_db::options::ConnectOptions;
use drover_store::{Store, StoreArgs, unfinished};
use serde::{Deserialize, Serialize};

use super::args::CopyArgs;
use crate::dump::catalog::Name;
use crate::dump::journal::{Journal, Kept, Wanted};
use crate::restore::steps::{self, Steps};
use crate::{Error, Result};
use drover_format::digest::Digest;
use drover_format::manifest::FILE_NAME as MANIFEST;

pub(crate) const FILE_NAME: &str = "copy.json";

/// What its steps are called after.
const COPY: &str = "copy";

/// What a copy is.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct State {
    /// Tells it from all others.
    id: String,
    /// Where the rows come from, and where they go: addresses.
    from: String,
    to: String,
    /// The new names of schemas.
    into: Vec<(String, String)>,
    /// The schema of the target in which the steps are noted.
    steps_in: String,
    /// The tables, views and sequences that it makes on the target, or found there to fill.
    made: BTreeSet<String>,
}

/// How far a copy is when a run begins.
pub(super) enum Standing {
    /// Not begun, or gone on with: what an earlier run has copied.
    Open(Kept),
    /// All was done but to say so.
    Whole,
}

/// Where the state of a copy is if nobody says it: a directory that the same command finds again.
pub(super) fn directory(args: &CopyArgs, from: &ConnectOptions, to: &ConnectOptions) -> Result<PathBuf> {
    if let Some(dir) = &args.state {
        return Ok(dir.clone());
    }
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || variable("HOME").map(|home| home.join(".local/state"));
    let base = variable("XDG_STATE_HOME").or_else(home).ok_or_else(|| {
        Error::with_hint(
            "there is no home directory to keep the state of the copy in",
            "name one with --state DIR",
        )
    })?;
    let source = &args.source;
    let what = (&source.what, &source.include, &source.exclude, &source.conditions, &source.mask);
    let how = (source.no_data, source.no_schema, source.users, &args.target.into);
    let id = Digest::of(format!("{} {} {what:?} {how:?}", from.address, to.address).as_bytes());
    Ok(base.join("drover").join(format!("copy-{}", &id.to_string()[..12])))
}

/// The new names that a copy gave schemas, old and new; none of a dump.
///
/// # Errors
/// If it cannot be read.
pub fn renames(place: &Path) -> Result<Vec<(String, String)>> {
    let state = State::load(&Store::open(place, &StoreArgs::default())?)?;
    Ok(state.map(|state| state.into).unwrap_or_default())
}

impl State {
    /// What this run would be if it were the first.
    pub(super) fn new(args: &CopyArgs, from: &ConnectOptions, to: &ConnectOptions, steps_in: &str) -> Self {
        let now = jiff::Timestamp::now();
        let id = Digest::of(format!("{now} {} {}", std::process::id(), from.address).as_bytes());
        Self {
            id: id.to_string(),
            from: from.address.to_string(),
            to: to.address.to_string(),
            into: args.target.into.iter().map(|one| (one.old.clone(), one.new.clone())).collect(),
            steps_in: steps_in.into(),
            made: BTreeSet::new(),
        }
    }

    /// Begins in a directory that is empty, goes on with what is unfinished, or takes the place of what is finished.
    ///
    /// # Errors
    /// If the directory holds anything else, or this run asks for another copy.
    pub(super) fn take(self, args: &CopyArgs, store: &Store, wanted: &Wanted) -> Result<(Self, Standing)> {
        store.prepare()?;
        let place = store.path("");
        let Some(old) = Self::load(store)? else {
            if store.is_empty()? {
                return self.begin(store, wanted);
            }
            return Err(Error::with_hint(
                format!("{}: the directory is not empty", place.display()),
                "choose another one with --state; nothing in it says that it is that of a copy",
            ));
        };
        // One that has read nothing has changed nothing.
        let has_begun =
            Kept::load(store)?.is_some_and(|kept| !kept.snapshots.is_empty()) || store.has(MANIFEST)?;
        if args.resume && (has_begun || !args.target.drop_existing) {
            return old.go_on(&self, store);
        }
        if has_begun && !args.target.drop_existing {
            let (what, hint) = match store.has(MANIFEST)? {
                true => ("a finished copy", "--drop-existing copies anew; --state names another directory"),
                false => ("an unfinished copy", "--resume resumes it; --drop-existing begins anew"),
            };
            return Err(Error::with_hint(format!("{}: this is the state of {what}", place.display()), hint));
        }
        clear(&place)?;
        // Under the old name its steps on the target are found, and dropped.
        Self { id: old.id, ..self }.begin(store, wanted)
    }

    fn begin(self, store: &Store, wanted: &Wanted) -> Result<(Self, Standing)> {
        self.write(store)?;
        Journal::begin(store, wanted, Vec::new(), &Default::default())?.settle()?;
        Ok((self, Standing::Open(Kept::default())))
    }

    fn go_on(self, run: &Self, store: &Store) -> Result<(Self, Standing)> {
        if (&self.from, &self.to, &self.into) != (&run.from, &run.to, &run.into) {
            return Err(Error::with_hint(
                format!(
                    "{}: this is the state of a copy from {} to {}, or with other names for --into",
                    store.path("").display(),
                    self.from,
                    self.to
                ),
                "--resume needs the same arguments; another copy needs another directory: --state",
            ));
        }
        if store.has(MANIFEST)? {
            return Ok((self, Standing::Whole));
        }
        let kept = Kept::load(store)?.unwrap_or_default();
        Ok((self, Standing::Open(kept)))
    }

    fn load(store: &Store) -> Result<Option<Self>> {
        let Some(text) = store.read_if_there(FILE_NAME)? else { return Ok(None) };
        let damaged = |error| {
            Error::found(format!("{}: not the state of a copy: {error}", store.path(FILE_NAME).display()))
        };
        serde_json::from_slice(&text).map(Some).map_err(damaged)
    }

    fn write(&self, store: &Store) -> Result<()> {
        let mut text = serde_json::to_vec_pretty(self)
            .map_err(|error| Error::found(format!("{}: {error}", store.path(FILE_NAME).display())))?;
        text.push(b'\n');
        Ok(store.publish(FILE_NAME, &text)?)
    }

    /// Looks for the steps of an earlier run on the target.
    pub(super) fn steps(&self, target: &mut drover_db::Connection) -> Result<Steps> {
        Steps::find(target, COPY, self.note())
    }

    /// The table that holds them.
    pub(super) fn note(&self) -> Name {
        steps::note(COPY, &self.steps_in, &self.id)
    }

    /// Whether a table, view or sequence of the target is this copy's own.
    pub(super) fn has_made(&self, name: &str) -> bool {
        self.made.contains(name)
    }

    /// Notes what it has from now on.
    pub(super) fn makes(&mut self, names: &BTreeSet<String>, store: &Store) -> Result<()> {
        self.made.clone_from(names);
        self.write(store)
    }
}

/// Removes what a copy leaves in its directory, and nothing else; last of all what tells that it is one.
fn clear(dir: &Path) -> Result<()> {
    let remove = |path: &Path| fs::remove_file(path).map_err(Error::file(path));
    let list = |path: &Path| -> Result<Vec<PathBuf>> {
        let read = || -> std::io::Result<_> { fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect() };
        read().map_err(Error::file(path))
    };
    for path in list(dir)? {
        if path.is_dir() {
            let scripts =
                list(&path)?.into_iter().filter(|file| file.extension().is_some_and(|end| end == "sql"));
            scripts.into_iter().try_for_each(|script| remove(&script))?;
            fs::remove_dir(&path).map_err(Error::file(&path))?;
        }
    }
    for name in [MANIFEST, "journal.jsonl", "@users.json", "@users.sql"] {
        let path = dir.join(name);
        let there = [unfinished(&path), path].into_iter().filter(|path| path.exists());
        there.into_iter().try_for_each(|path| remove(&path))?;
    }
    remove(&dir.join(FILE_NAME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_copy_left_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let make = |name: &str| fs::write(dir.path().join(name), "").unwrap();
        fs::create_dir(dir.path().join("shop")).unwrap();
        ["copy.json", MANIFEST, "shop/t.sql", "shop/@schema.sql", "@users.sql"].into_iter().for_each(make);
        clear(dir.path()).unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        fs::create_dir(dir.path().join("shop")).unwrap();
        ["copy.json", "shop/letter.txt"].into_iter().for_each(make);
        assert!(clear(dir.path()).is_err());
        assert!(dir.path().join("shop/letter.txt").exists() && dir.path().join("copy.json").exists());
    }
}
