//! Where files are put: each comes to be there whole, under its name, or not at all.

use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use crate::loads::{Keep, SpoolReader};
use crate::{Error, Result};

/// A directory for files.
#[derive(Debug)]
pub(super) struct Directory {
    /// From the root on, so that a statement can name what is in it.
    path: PathBuf,
    replaces: bool,
}

impl Directory {
    /// That of this name, made for this user only if it is not there. `replaces` says whether files that are there already may be replaced.
    pub(super) fn open(path: &Path, replaces: bool) -> Result<Self> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(Error::file(path))?;
        let path = path.canonicalize().map_err(Error::file(path))?;
        Ok(Self { path, replaces })
    }

    /// What becomes of the bytes of files that are under way.
    pub(super) fn keep(&self) -> Keep {
        Keep::In(self.path.clone())
    }

    /// The path of a file in it.
    pub(super) fn path_of(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Looks whether a file may be put there.
    pub(super) fn check(&self, name: &str) -> Result<()> {
        let path = self.path_of(name);
        if !self.replaces && path.symlink_metadata().is_ok() { Err(is_there(&path)) } else { Ok(()) }
    }

    /// Puts what was kept under a name.
    pub(super) fn put(&self, name: &str, content: SpoolReader) -> Result<()> {
        match content {
            SpoolReader::File(file) => self.link(name, file),
            SpoolReader::Memory(bytes) => self.put_bytes(name, bytes.get_ref()),
        }
    }

    /// Puts bytes under a name.
    pub(super) fn put_bytes(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let path = self.path_of(name);
        let mut file = tempfile::tempfile_in(&self.path).map_err(Error::file(&path))?;
        file.write_all(bytes).map_err(Error::file(&path))?;
        self.link(name, file)
    }

    /// Gives a file its name; nobody else may read it. What ends the process before leaves nothing: until then it has none.
    fn link(&self, name: &str, file: File) -> Result<()> {
        let path = self.path_of(name);
        file.set_permissions(Permissions::from_mode(0o600)).map_err(Error::file(&path))?;
        file.sync_all().map_err(Error::file(&path))?;
        if self.replaces {
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(Error::file(&path)(error));
                }
                _ => {}
            }
        }
        match give_name(&file, &path) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(is_there(&path)),
            // The file system has no files without names, or the system does not tell them.
            Err(_) => self.copy(file, &path),
        }
    }

    /// The same by a copy with a name of its own until it is whole.
    fn copy(&self, mut file: File, path: &Path) -> Result<()> {
        let copied = || -> io::Result<_> {
            let mut part =
                tempfile::Builder::new().prefix(".drover-").suffix(".part").tempfile_in(&self.path)?;
            io::Seek::rewind(&mut file)?;
            io::copy(&mut file, &mut part)?;
            part.as_file().sync_all()?;
            Ok(part)
        };
        let part = { copied }().map_err(Error::file(path))?;
        match part.persist_noclobber(path) {
            Ok(_) => Ok(()),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Err(is_there(path)),
            Err(error) => Err(Error::file(path)(error.error)),
        }
    }

    /// All names that were given are kept, whatever happens to the machine.
    pub(super) fn sync(&self) -> Result<()> {
        File::open(&self.path).and_then(|directory| directory.sync_all()).map_err(Error::file(&self.path))
    }
}

fn is_there(path: &Path) -> Error {
    Error::with_hint(
        format!("{}: it is there already", path.display()),
        "name another directory with --out, or replace such files with --force",
    )
}

/// Source: `man 2 open`, O_TMPFILE.
#[cfg(target_os = "linux")]
fn give_name(file: &File, path: &Path) -> io::Result<()> {
    use std::os::fd::AsRawFd;

    use rustix::fs::{AtFlags, CWD, linkat};

    let now = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(linkat(CWD, now, CWD, path, AtFlags::SYMLINK_FOLLOW)?)
}

#[cfg(not(target_os = "linux"))]
fn give_name(_: &File, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;
    use crate::loads::Spool;

    #[test]
    fn files_get_their_names_when_they_are_whole() {
        let home = tempfile::tempdir().unwrap();
        let names = || fs::read_dir(home.path()).unwrap().count();
        let directory = Directory::open(home.path(), false).unwrap();
        for (name, length) in [("none", 0), ("small", 10), ("large", 1 << 20)] {
            let before = names();
            let bytes = vec![b'x'; length];
            let mut spool = Spool::new(&directory.keep());
            bytes.chunks(5000).for_each(|block| spool.write(block).unwrap());
            assert_eq!(names(), before);
            directory.check(name).unwrap();
            directory.put(name, spool.into_reader().unwrap()).unwrap();
            let path = home.path().join(name);
            assert_eq!(fs::read(&path).unwrap(), bytes);
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
            assert_eq!(names(), before + 1);
        }
        directory.sync().unwrap();
    }

    #[test]
    fn what_is_there_stays_unless_it_may_be_replaced() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a");
        let (keeps, replaces) = (Directory::open(home.path(), false), Directory::open(home.path(), true));
        keeps.as_ref().unwrap().put_bytes("a", b"first").unwrap();
        assert!(
            keeps.as_ref().unwrap().check("a").unwrap_err().to_string().contains("/a: it is there already")
        );
        assert!(keeps.as_ref().unwrap().put_bytes("a", b"second").unwrap_err().hint().is_some());
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"copied").unwrap();
        assert!(keeps.as_ref().unwrap().copy(file, &path).is_err());
        assert_eq!(fs::read(&path).unwrap(), b"first");
        let replaces = replaces.unwrap();
        replaces.check("a").unwrap();
        replaces.put_bytes("a", b"second").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second");
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_copy_is_the_same() {
        let home = tempfile::tempdir().unwrap();
        let directory = Directory::open(&home.path().join("new/er"), false).unwrap();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"content").unwrap();
        directory.copy(file, &directory.path_of("b")).unwrap();
        let mut read = String::new();
        File::open(directory.path_of("b")).unwrap().read_to_string(&mut read).unwrap();
        assert_eq!(read, "content");
        assert_eq!(fs::read_dir(home.path().join("new/er")).unwrap().count(), 1);
    }
}
