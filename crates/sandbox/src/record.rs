//! `sandbox.json`: what is kept of a named sandbox for `list`, `stop` and `shell`.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::home::{Home, absolute, write_whole};
use crate::process::ServerProcess;
use crate::topology::Membership;
use crate::{Error, Flavour, SandboxName};

const FILE_NAME: &str = "sandbox.json";

/// What the system says of a description in a directory that is no sandbox of this user's.
const NOT_OURS: [ErrorKind; 3] = [ErrorKind::NotFound, ErrorKind::NotADirectory, ErrorKind::PermissionDenied];

/// The description of one sandbox. Fields are only ever added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxInfo {
    /// Its name, unique among named sandboxes.
    pub name: SandboxName,
    /// The vendor.
    pub flavour: Flavour,
    /// The server's version as it says it.
    pub version: String,
    /// The server's process id; none before its first launch.
    pub pid: Option<u32>,
    /// The path of its Unix socket.
    pub socket: PathBuf,
    /// Its TCP port on 127.0.0.1.
    pub port: u16,
    /// Its data directory.
    pub datadir: PathBuf,
    /// The server program.
    pub server: PathBuf,
    /// The server options that were given beyond the sandbox's own.
    pub options: Vec<String>,
    /// When the sandbox was made, RFC 3339 in UTC.
    pub started_at: String,
    /// Which topology it is a node of, if it is.
    #[serde(flatten)]
    pub membership: Option<Membership>,
}

impl SandboxInfo {
    /// The process that the sandbox's server had when it was last launched.
    pub(crate) fn process(&self) -> Option<ServerProcess> {
        self.pid.map(|pid| ServerProcess::new(pid, &self.datadir))
    }

    /// Whether the server runs now.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.process().is_some_and(|process| process.is_running())
    }

    pub(crate) fn home(&self, root: &Path) -> Home {
        Home::existing(&root.join(self.name.as_str()), &self.socket)
    }

    /// Writes the description.
    pub(crate) fn save(&self, home: &Home) -> Result<(), Error> {
        let path = home.dir().join(FILE_NAME);
        let text = serde_json::to_vec_pretty(self).map_err(|source| bad(&path, source))?;
        write_whole(&path, &text)
    }
}

/// The sandbox of this name.
pub(crate) fn named(root: &Path, name: &SandboxName) -> Result<SandboxInfo, Error> {
    match read(&root.join(name.as_str()))? {
        Some(info) => Ok(info),
        None => {
            // The names are a help only: that another sandbox has a broken description does not matter here.
            let known = all(root).unwrap_or_default().into_iter().map(|info| info.name).collect();
            Err(Error::NoSuchSandbox { name: name.clone(), root: root.to_owned(), known })
        }
    }
}

/// All sandboxes, by name. A root that does not exist yet has none.
pub(crate) fn all(root: &Path) -> Result<Vec<SandboxInfo>, Error> {
    let root = absolute(root)?;
    let entries = match fs::read_dir(&root) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        entries => entries.map_err(Error::io("read", &root))?,
    };
    let mut sandboxes = Vec::new();
    for entry in entries {
        let dir = entry.map_err(Error::io("read", &root))?.path();
        sandboxes.extend(read(&dir)?);
    }
    sandboxes.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(sandboxes)
}

/// The sandbox in `dir`; none if it holds no description or is closed to this user, since the root may hold anything
/// else too, such as somebody else's sandboxes.
fn read(dir: &Path) -> Result<Option<SandboxInfo>, Error> {
    let path = dir.join(FILE_NAME);
    let text = match fs::read(&path) {
        Err(error) if NOT_OURS.contains(&error.kind()) => return Ok(None),
        text => text.map_err(Error::io("read", &path))?,
    };
    let info: SandboxInfo = serde_json::from_slice(&text).map_err(|source| bad(&path, source))?;
    // A directory that was copied or renamed describes another sandbox, which `stop` must not end by this name.
    Ok(Some(info).filter(|info| dir.file_name().is_some_and(|name| name == info.name.as_str())))
}

fn bad(path: &Path, source: serde_json::Error) -> Error {
    Error::BadRecord { path: path.to_owned(), source }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A made-up sandbox whose server runs.
    pub(crate) fn info(name: &str) -> SandboxInfo {
        SandboxInfo {
            name: name.parse().unwrap(),
            flavour: Flavour::MySql,
            version: "9.7.4".into(),
            pid: Some(4711),
            socket: format!("/run/{name}/mysql.sock").into(),
            port: 3307,
            datadir: format!("/run/{name}/data").into(),
            server: "/usr/sbin/mysqld".into(),
            options: vec!["--max-connections=17".into()],
            started_at: "2026-01-01T00:00:00Z".into(),
            membership: None,
        }
    }

    fn save(root: &Path, name: &str) -> Home {
        let (_, home) = Home::claim_named(root, Some(&name.parse().unwrap()), Flavour::MySql).unwrap();
        info(name).save(&home).unwrap();
        home
    }

    #[test]
    fn saved_sandboxes_are_found_again_and_strangers_are_not() {
        let root = tempfile::tempdir().unwrap();
        save(root.path(), "b");
        save(root.path(), "a");
        fs::create_dir(root.path().join("stranger")).unwrap();
        fs::write(root.path().join("file"), "").unwrap();
        assert_eq!(all(root.path()).unwrap(), [info("a"), info("b")]);
        assert_eq!(named(root.path(), &"a".parse().unwrap()).unwrap(), info("a"));
        let error = named(root.path(), &"stranger".parse().unwrap()).unwrap_err();
        assert_eq!(error.hint().unwrap(), "there are: a, b");
    }

    #[test]
    fn a_copied_directory_is_not_the_sandbox() {
        let root = tempfile::tempdir().unwrap();
        let home = save(root.path(), "a");
        fs::rename(home.dir(), root.path().join("copy")).unwrap();
        assert_eq!(all(root.path()).unwrap(), []);
    }

    #[test]
    fn a_broken_description_is_named() {
        let root = tempfile::tempdir().unwrap();
        let home = save(root.path(), "a");
        fs::write(home.dir().join(FILE_NAME), "{").unwrap();
        let error = all(root.path()).unwrap_err();
        assert!(error.to_string().contains("a/sandbox.json does not describe a sandbox"), "{error}");
        let error = named(root.path(), &"b".parse().unwrap()).unwrap_err();
        assert!(matches!(error, Error::NoSuchSandbox { .. }), "{error}");
    }

    #[test]
    fn a_root_that_does_not_exist_has_no_sandboxes() {
        assert_eq!(all(Path::new("/nonexistent/root")).unwrap(), []);
    }
}
