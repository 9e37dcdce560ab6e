//! The directories of a sandbox: where they are, how one is claimed, how it is removed.
//!
//! ```text
//! ROOT/NAME/            0700: whoever can reach the socket is root in the server
//!   sandbox.json        what `list`, `stop` and `shell` need to know
//!   data/               the data directory
//!   tmp/                the server's temporary files, which would outlive a killed server elsewhere
//!   error.log  server.pid  mysql.sock
//! ```
//! A socket's path can't be longer than 107 bytes. Where ROOT is too deep for that, the socket gets a directory of
//! its own in the system's temporary directory.

use std::env;
use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use crate::{Error, Flavour, SandboxName};

/// `sizeof(sockaddr_un.sun_path)` less its final NUL, see unix(7).
const MAX_SOCKET_PATH: usize = 107;

/// How often, and with which pause, a directory is removed that fills again.
const REMOVE_TRIES: u32 = 50;
const REMOVE_PAUSE: Duration = Duration::from_millis(100);

const SOCKET_NAME: &str = "mysql.sock";
/// MySQL's, with the id of the process that listens.
const SOCKET_LOCK: &str = "mysql.sock.lock";

/// Where named sandboxes are kept: `$DROVER_SANDBOX_DIR`, or `drover/sandbox` in `$XDG_STATE_HOME` or
/// `~/.local/state`.
///
/// # Errors
/// `NoHome` if none of these variables is set.
pub fn default_root() -> Result<PathBuf, Error> {
    match env::var_os("DROVER_SANDBOX_DIR").filter(|dir| !dir.is_empty()) {
        Some(dir) => absolute(Path::new(&dir)),
        None => user_dir("sandboxes", "XDG_STATE_HOME", ".local/state").map(|dir| dir.join("drover/sandbox")),
    }
}

/// Where templates of data directories are kept: `drover/templates` in `$XDG_CACHE_HOME` or `~/.cache`.
pub(crate) fn template_cache() -> Result<PathBuf, Error> {
    user_dir("templates of data directories", "XDG_CACHE_HOME", ".cache")
        .map(|dir| dir.join("drover/templates"))
}

/// The XDG base directory specification: a relative path in one of its variables is to be ignored.
fn user_dir(what: &'static str, variable: &'static str, in_home: &str) -> Result<PathBuf, Error> {
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|dir| dir.is_absolute());
    absolute(variable)
        .or_else(|| absolute("HOME").map(|home| home.join(in_home)))
        .ok_or(Error::NoHome { what, variable })
}

pub(crate) fn absolute(path: &Path) -> Result<PathBuf, Error> {
    std::path::absolute(path).map_err(Error::io("resolve", path))
}

/// The directory of one sandbox, and that of its socket where the two differ.
#[derive(Debug, Clone)]
pub(crate) struct Home {
    dir: PathBuf,
    socket: PathBuf,
}

impl Home {
    /// Claims `root/name`, or if no name is given the first free one of the flavour.
    pub(crate) fn claim_named(
        root: &Path,
        name: Option<&SandboxName>,
        flavour: Flavour,
    ) -> Result<(SandboxName, Self), Error> {
        let root = absolute(root)?;
        fs::create_dir_all(&root).map_err(Error::io("create", &root))?;
        if let Some(name) = name {
            return Ok((name.clone(), Self::furnish(claim_dir(&root, name)?)?));
        }
        let mut n = 1;
        loop {
            let name = SandboxName::default_for(flavour, n);
            match claim_dir(&root, &name).and_then(Self::furnish) {
                Err(Error::NameTaken { .. }) => n += 1,
                claimed => return claimed.map(|home| (name, home)),
            }
        }
    }

    /// Claims a directory that nobody else has, in `root` or in the system's temporary directory.
    pub(crate) fn claim_ephemeral(root: Option<&Path>, flavour: Flavour) -> Result<Self, Error> {
        let root = absolute(&root.map_or_else(env::temp_dir, Path::to_owned))?;
        fs::create_dir_all(&root).map_err(Error::io("create", &root))?;
        Self::furnish(
            private_dir_in(&root, &format!("drover-{flavour}-")).map_err(Error::io("write to", &root))?,
        )
    }

    fn furnish(dir: PathBuf) -> Result<Self, Error> {
        let home = place_socket(&dir).map(|socket| Self { dir: dir.clone(), socket });
        let home = home.inspect_err(|_| {
            let _only_empty_so_far = fs::remove_dir(&dir);
        })?;
        let tmpdir = home.tmpdir();
        fs::create_dir(&tmpdir).map_err(Error::io("create", &tmpdir)).inspect_err(|_| home.discard())?;
        Ok(home)
    }

    /// The home of a sandbox that exists.
    pub(crate) fn existing(dir: &Path, socket: &Path) -> Self {
        Self { dir: dir.to_owned(), socket: socket.to_owned() }
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.socket.clone()
    }

    /// The socket's own directory, if it is not in the home.
    pub(crate) fn socket_dir(&self) -> Option<&Path> {
        self.socket.parent().filter(|dir| *dir != self.dir)
    }

    pub(crate) fn datadir(&self) -> PathBuf {
        self.dir.join("data")
    }

    pub(crate) fn tmpdir(&self) -> PathBuf {
        self.dir.join("tmp")
    }

    pub(crate) fn error_log(&self) -> PathBuf {
        self.dir.join("error.log")
    }

    pub(crate) fn pid_file(&self) -> PathBuf {
        self.dir.join("server.pid")
    }

    /// Removes what a server that was killed leaves of its socket. MySQL refuses to start while the process named in
    /// its lock file exists in any form, and a zombie that nobody has reaped yet is one.
    pub(crate) fn remove_socket(&self) {
        for file in [self.socket(), self.socket.with_file_name(SOCKET_LOCK)] {
            let _may_be_gone = fs::remove_file(file);
        }
    }

    /// Removes everything. Of the socket's directory only what a server puts there: its path may have been read from
    /// a file that anybody could have edited.
    pub(crate) fn remove(&self) -> Result<(), Error> {
        if let Some(dir) = self.socket_dir() {
            self.remove_socket();
            let _may_be_gone = fs::remove_dir(dir);
        }
        match self.remove_dir() {
            Err(source) if source.kind() != ErrorKind::NotFound => {
                Err(Error::io("remove", &self.dir)(source))
            }
            _ => Ok(()),
        }
    }

    /// Once more if something is put into it meanwhile: a program that the server ran may outlive it for a moment.
    fn remove_dir(&self) -> io::Result<()> {
        for _ in 0..REMOVE_TRIES {
            match fs::remove_dir_all(&self.dir) {
                Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => sleep(REMOVE_PAUSE),
                outcome => return outcome,
            }
        }
        fs::remove_dir_all(&self.dir)
    }

    /// Removes everything on the way out of an error, which matters more than what is left behind.
    pub(crate) fn discard(&self) {
        let _the_first_error_counts = self.remove();
    }
}

/// A private directory for what has this name, which nobody else has yet.
pub(crate) fn claim_dir(root: &Path, name: &SandboxName) -> Result<PathBuf, Error> {
    let dir = root.join(name.as_str());
    DirBuilder::new().mode(0o700).create(&dir).map_err(|source| match source.kind() {
        ErrorKind::AlreadyExists => Error::NameTaken { name: name.clone(), dir: dir.clone() },
        _ => Error::io("create", &dir)(source),
    })?;
    Ok(dir)
}

/// Writes a file beside and renames it, so that nobody ever reads half of one.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let write = || {
        let mut file = tempfile::NamedTempFile::new_in(path.parent().unwrap_or(Path::new("")))?;
        file.write_all(bytes)?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    };
    write().map_err(Error::io("write", path))
}

/// A path for the socket that is short enough: in `dir`, else in `$TMPDIR`, else in `/tmp`.
fn place_socket(dir: &Path) -> Result<PathBuf, Error> {
    let socket = dir.join(SOCKET_NAME);
    if fits(&socket) {
        return Ok(socket);
    }
    for temporary in [env::temp_dir(), PathBuf::from("/tmp")] {
        if fits(&temporary.join("drover-123456").join(SOCKET_NAME)) {
            let own = private_dir_in(&temporary, "drover-").map_err(Error::io("write to", &temporary))?;
            return Ok(own.join(SOCKET_NAME));
        }
    }
    Err(Error::SocketPathTooLong { path: socket })
}

fn fits(socket: &Path) -> bool {
    socket.as_os_str().as_bytes().len() <= MAX_SOCKET_PATH
}

/// A new directory of mode 0700, named `prefix` and six random letters.
fn private_dir_in(root: &Path, prefix: &str) -> io::Result<PathBuf> {
    let private = Permissions::from_mode(0o700);
    let mut builder = tempfile::Builder::new();
    builder.prefix(prefix).rand_bytes(6).permissions(private).tempdir_in(root).map(tempfile::TempDir::keep)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_names_are_counted_up() {
        let root = tempfile::tempdir().unwrap();
        let claim = |name| Home::claim_named(root.path(), name, Flavour::MySql);
        let names: Vec<String> = (0..3).map(|_| claim(None).unwrap().0.to_string()).collect();
        assert_eq!(names, ["mysql", "mysql-2", "mysql-3"]);
        let error = claim(Some(&"mysql-2".parse().unwrap())).unwrap_err();
        assert!(error.hint().unwrap().contains("drover sandbox stop mysql-2"));
    }

    #[test]
    fn a_deep_root_gets_its_socket_elsewhere_and_both_are_removed() {
        let root = tempfile::tempdir().unwrap();
        let deep = root.path().join("x".repeat(100));
        let (_, home) = Home::claim_named(&deep, None, Flavour::MariaDb).unwrap();
        let socket_dir = home.socket_dir().unwrap().to_owned();
        assert!(fits(&home.socket()) && socket_dir.is_dir());
        fs::write(home.socket(), "").unwrap();
        home.remove().unwrap();
        assert!(!socket_dir.exists() && !home.dir().exists());
        home.remove().unwrap();
    }

    #[test]
    fn a_home_that_fills_while_it_is_removed_is_removed_all_the_same() {
        let root = tempfile::tempdir().unwrap();
        let home = Home::claim_ephemeral(Some(root.path()), Flavour::MySql).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| (0..2000).all(|n| fs::write(home.tmpdir().join(n.to_string()), "").is_ok()));
            home.remove().unwrap();
        });
        assert!(!home.dir().exists());
    }

    #[test]
    fn a_home_is_private() {
        let root = tempfile::tempdir().unwrap();
        let (_, named) = Home::claim_named(root.path(), None, Flavour::MySql).unwrap();
        let ephemeral = Home::claim_ephemeral(Some(root.path()), Flavour::MySql).unwrap();
        for home in [named, ephemeral] {
            assert_eq!(home.dir().metadata().unwrap().permissions().mode() & 0o777, 0o700);
        }
    }
}
