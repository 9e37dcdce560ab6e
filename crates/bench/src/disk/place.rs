//! The directory that a measurement has for itself below the path that it was given, and what earlier ones left of theirs.
//!
//! Its name is recognisable, and it is locked (flock) for as long as its process lives. So one that can be locked by another is a
//! leftover of a process that was killed, and is removed. All is done from an open directory, by names without a slash, and
//! symbolic links are not followed: nothing outside of the path can be reached.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use drover_units::show;
use rustix::fs::{
    AtFlags, FlockOperation, Mode, OFlags, flock, fstat, mkdirat, open, openat, statat, unlinkat,
};
use rustix::io::Errno;

use crate::{Error, Result};

/// What names of such directories begin with.
const PREFIX: &str = "drover-bench-disk-";
/// The one file in it.
const FILE: &str = "data";

/// A locked directory, which is removed with its file when this is dropped.
#[derive(Debug)]
pub(super) struct Place {
    path: PathBuf,
    name: String,
    parent: OwnedFd,
    directory: OwnedFd,
    is_removed: bool,
}

impl Place {
    /// Makes one below `parent`.
    pub(super) fn make(parent: &Path) -> Result<Self> {
        let opened = open_directory(parent)?;
        loop {
            let name = format!("{PREFIX}{:012x}", fastrand::u64(..1 << 48));
            let path = parent.join(&name);
            match mkdirat(&opened, &name, Mode::RWXU) {
                Err(Errno::EXIST) => continue,
                made => made.map_err(of(&path))?,
            }
            let Some(directory) = locked(&opened, &name).map_err(of(&path))? else { continue };
            // Another one may have taken it for a leftover in the moment before it was locked.
            if is_still_there(&opened, &name, &directory).map_err(of(&path))? {
                return Ok(Self { path, name, parent: opened, directory, is_removed: false });
            }
        }
    }

    /// Makes its file, to be read and written without the page cache.
    pub(super) fn create_file(&self) -> Result<File> {
        let path = self.file_path();
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::DIRECT | OFlags::CLOEXEC;
        match openat(&self.directory, FILE, flags, Mode::RUSR | Mode::WUSR) {
            Ok(file) => Ok(File::from(file)),
            Err(Errno::INVAL) => Err(Error::with_hint(
                format!("{}: this file system takes no direct I/O (O_DIRECT)", self.path.display()),
                "through the page cache memory would be measured, not a disk: give a directory on another file system",
            )),
            Err(errno) => Err(of(&path)(errno)),
        }
    }

    pub(super) fn file_path(&self) -> PathBuf {
        self.path.join(FILE)
    }

    /// Removes it, and says what hindered that.
    pub(super) fn remove(mut self) -> Result<()> {
        self.is_removed = true;
        removed(&self.parent, &self.name, &self.directory).map_err(of(&self.path))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if !self.is_removed {
            // Something else went wrong, which is told; what is left here the next one removes.
            let _ = removed(&self.parent, &self.name, &self.directory);
        }
    }
}

/// Removes what earlier measurements left below `parent`, and tells of each.
pub(super) fn remove_leftovers(parent: &Path) -> Result<Vec<String>> {
    let opened = open_directory(parent)?;
    let mut told = Vec::new();
    for entry in std::fs::read_dir(parent).map_err(Error::file(parent))? {
        let name = entry.map_err(Error::file(parent))?.file_name();
        let Some(name) = name.to_str().filter(|name| name.starts_with(PREFIX)) else { continue };
        told.extend(remove_leftover(&opened, name).transpose().map(|result| {
            let path = parent.join(name);
            match result {
                Ok(bytes) => format!(
                    "removed {}, which a measurement that was killed left: {}",
                    path.display(),
                    show::bytes(bytes)
                ),
                Err(errno) => format!("{} is left as it is: {}", path.display(), std::io::Error::from(errno)),
            }
        }));
    }
    Ok(told)
}

/// Removes one, if it is a leftover, and says how many bytes it held.
fn remove_leftover(parent: &OwnedFd, name: &str) -> rustix::io::Result<Option<u64>> {
    let directory = match locked(parent, name) {
        Ok(Some(directory)) => directory,
        // In use, gone meanwhile, or nothing that a measurement made.
        Ok(None) | Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(None),
        Err(errno) => return Err(errno),
    };
    let bytes =
        statat(&directory, FILE, AtFlags::SYMLINK_NOFOLLOW).map_or(0, |stat| stat.st_blocks as u64 * 512);
    removed(parent, name, &directory).map(|()| Some(bytes))
}

/// The directory of this name with a lock on it; none if another process has that.
fn locked(parent: &OwnedFd, name: &str) -> rustix::io::Result<Option<OwnedFd>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = match openat(parent, name, flags, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(None),
        opened => opened?,
    };
    match flock(&directory, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(directory)),
        Err(Errno::WOULDBLOCK) => Ok(None),
        Err(errno) => Err(errno),
    }
}

fn is_still_there(parent: &OwnedFd, name: &str, directory: &OwnedFd) -> rustix::io::Result<bool> {
    let opened = fstat(directory)?;
    match statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(found) => Ok((found.st_dev, found.st_ino) == (opened.st_dev, opened.st_ino)),
        Err(Errno::NOENT) => Ok(false),
        Err(errno) => Err(errno),
    }
}

/// Removes the file, and then the directory: one that holds anything else stays.
fn removed(parent: &OwnedFd, name: &str, directory: &OwnedFd) -> rustix::io::Result<()> {
    match unlinkat(directory, FILE, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => unlinkat(parent, name, AtFlags::REMOVEDIR),
        Err(errno) => Err(errno),
    }
}

fn open_directory(path: &Path) -> Result<OwnedFd> {
    open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).map_err(of(path))
}

/// Gives an error of the system its path.
fn of(path: &Path) -> impl FnOnce(Errno) -> Error + '_ {
    move |errno| Error::file(path)(errno.into())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_place_is_gone_when_it_is_dropped_or_removed() {
        let dir = tempfile::tempdir().unwrap();
        let place = Place::make(dir.path()).unwrap();
        fs::write(place.file_path(), "data").unwrap();
        assert_eq!(names(dir.path()).len(), 1);
        drop(place);
        assert!(names(dir.path()).is_empty());
        Place::make(dir.path()).unwrap().remove().unwrap();
        assert!(names(dir.path()).is_empty());
    }

    #[test]
    fn leftovers_are_removed_and_what_is_in_use_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let in_use = Place::make(dir.path()).unwrap();
        let left = dir.path().join(format!("{PREFIX}left"));
        fs::create_dir(&left).unwrap();
        fs::write(left.join(FILE), vec![1; 8192]).unwrap();
        let told = remove_leftovers(dir.path()).unwrap();
        assert!(told.len() == 1 && told[0].contains(&format!("{PREFIX}left")), "{told:?}");
        assert_eq!(names(dir.path()), std::slice::from_ref(&in_use.name));
        assert!(remove_leftovers(dir.path()).unwrap().is_empty());
    }

    #[test]
    fn what_is_not_ours_stays() {
        let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let precious = outside.path().join(FILE);
        fs::write(&precious, "precious").unwrap();
        std::os::unix::fs::symlink(outside.path(), dir.path().join(format!("{PREFIX}link"))).unwrap();
        fs::write(dir.path().join(format!("{PREFIX}file")), "a file").unwrap();
        let full = dir.path().join(format!("{PREFIX}full"));
        fs::create_dir(&full).unwrap();
        fs::write(full.join("notes"), "somebody's").unwrap();
        fs::create_dir(dir.path().join("other")).unwrap();
        let told = remove_leftovers(dir.path()).unwrap();
        assert!(told.len() == 1 && told[0].contains("is left as it is"), "{told:?}");
        assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
        assert_eq!(fs::read_to_string(full.join("notes")).unwrap(), "somebody's");
        assert_eq!(names(dir.path()).len(), 4);
    }
}
