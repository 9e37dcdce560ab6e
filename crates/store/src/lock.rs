//! One run at a time writes into a directory: it holds a lock on a file there for as long as its process lives. Objects cannot
//! be locked: a run that begins below a prefix leaves its mark there, and one that finds another's stops.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::limits::LOCK;
use crate::{Error, Result, Store};

/// The lock, until it is dropped.
#[derive(Debug)]
pub struct Lock {
    path: PathBuf,
    _file: File,
}

/// Takes a prefix from whoever may still write below it; a directory has its [`Lock`].
pub fn take_prefix(store: &Store) -> Result<()> {
    match store {
        Store::Directory(_) => Ok(()),
        Store::Bucket(bucket) => store.at(LOCK, bucket.take(LOCK)),
    }
}

/// Removes the mark, when the work is done.
pub fn leave_prefix(store: &Store) -> Result<()> {
    match store {
        Store::Directory(_) => Ok(()),
        Store::Bucket(_) => store.remove(LOCK),
    }
}

impl Lock {
    /// Takes the lock of a directory that is there; `None` in a bucket.
    ///
    /// # Errors
    /// If another run holds it, or the file system locks no files.
    pub fn take(store: &Store) -> Result<Option<Self>> {
        let Some(dir) = store.directory() else { return Ok(None) };
        let path = dir.join(LOCK);
        loop {
            let file = open(&path).map_err(Error::file(&path))?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    return Err(Error::Held(dir.to_owned()));
                }
                Err(TryLockError::Error(source)) => return Err(Error::File { path, source }),
            }
            // Whoever held it may have removed the file after it was opened here.
            if is_at(&file, &path).map_err(Error::file(&path))? {
                return Ok(Some(Self { path, _file: file }));
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path); // one that stays does no harm
    }
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
    options.open(path)
}

fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let here = file.metadata()?;
    match fs::symlink_metadata(path) {
        Ok(there) => Ok((here.dev(), here.ino()) == (there.dev(), there.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

    use super::*;

    #[test]
    fn one_at_a_time_holds_it_however_many_try() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::Directory(dir.path().to_owned());
        let (is_held, taken) = (AtomicBool::new(false), AtomicU32::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while taken.load(Ordering::SeqCst) < 400 {
                        let Ok(lock) = Lock::take(&store) else { continue };
                        assert!(!is_held.swap(true, Ordering::SeqCst), "two hold it");
                        taken.fetch_add(1, Ordering::SeqCst);
                        is_held.store(false, Ordering::SeqCst);
                        drop(lock);
                    }
                });
            }
        });
        assert!(store.list("").unwrap().is_empty());
    }

    #[test]
    fn a_file_that_was_left_is_no_lock() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::Directory(dir.path().to_owned());
        fs::write(dir.path().join(LOCK), "").unwrap();
        assert!(store.is_empty().unwrap());
        assert!(Lock::take(&store).unwrap().is_some());
    }
}
