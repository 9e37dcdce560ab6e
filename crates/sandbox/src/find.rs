//! Looks for servers: at a given place, in `.servers`, on `PATH`.

use std::env;
use std::fs::Metadata;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::options::is_this_user;
use crate::{Error, Flavour, ServerBinaries};

/// The names that either vendor gives to the server; Debian's MariaDB has both.
const SERVER_NAMES: [&str; 2] = ["mariadbd", "mysqld"];

/// Where in a tree the server may be: unpacked packages, then an unpacked tarball, then the directory itself.
const PROGRAM_DIRS: [&str; 7] = ["usr/sbin", "usr/bin", "usr/libexec", "sbin", "bin", "libexec", ""];

/// Directories that hold servers though they are seldom on an ordinary user's `PATH`.
const SYSTEM_DIRS: [&str; 2] = ["/usr/sbin", "/usr/libexec"];

/// Where below a server's `basedir`, or a tree's, packages put Galera.
const GALERA: [&str; 3] =
    ["lib/galera/libgalera_smm.so", "lib/libgalera_smm.so", "lib64/galera-4/libgalera_smm.so"];

/// The library of Galera: beside the server, in `.servers` here and above, or the system's.
pub(crate) fn galera_library(binaries: &ServerBinaries) -> Result<PathBuf, Error> {
    let here = env::current_dir().unwrap_or_default();
    let mut basedirs = vec![binaries.basedir().to_owned()];
    basedirs.extend(trusted_trees(&here).map(|tree| tree.join("usr")));
    basedirs.push(PathBuf::from("/usr"));
    let found = basedirs.iter().flat_map(|dir| GALERA.map(|file| dir.join(file))).find(|file| file.is_file());
    found.ok_or_else(|| Error::NoGalera {
        looked_in: vec![
            binaries.basedir().display().to_string(),
            format!("{}/.servers and those of its parents", here.display()),
            "/usr".to_owned(),
        ],
    })
}

/// What is in the `.servers` directories of `here` and above, the nearest first, apart from planted ones.
fn trusted_trees(here: &Path) -> impl Iterator<Item = PathBuf> {
    let trees = here.ancestors().filter_map(|dir| {
        let servers = dir.join(".servers");
        let trees = servers.read_dir().ok()?;
        let planted = is_planted(&dir.metadata().ok()?, &servers.metadata().ok()?);
        (!planted).then_some(trees)
    });
    trees.flat_map(|trees| trees.flatten().map(|tree| tree.path()))
}

/// The server at `path`, a program or a directory.
pub(crate) fn at(path: &Path, wanted: Option<Flavour>) -> Result<ServerBinaries, Error> {
    let not_a_server = |reason: String| Error::NotAServer { path: path.to_owned(), reason };
    path.metadata().map_err(|error| not_a_server(error.to_string()))?;
    let programs = if path.is_dir() { servers_in_tree(path) } else { vec![path.to_owned()] };
    let mut search = Search::new(wanted);
    if let Some(found) = programs.iter().find_map(|program| search.accept(program)) {
        return Ok(found);
    }
    match (search.of_other_flavour, wanted) {
        (Some(other), Some(wanted)) => Err(Error::WrongFlavour {
            path: path.to_owned(),
            wanted,
            found: other.flavour(),
            version: other.version().to_owned(),
        }),
        _ if programs.is_empty() => Err(not_a_server("no mariadbd or mysqld is in it".to_owned())),
        _ => Err(not_a_server(search.rejected.join("; "))),
    }
}

/// The best server on this host; of a version, if one is wanted: that of all servers whose numbers begin so.
pub(crate) fn anywhere(wanted: Option<Flavour>, version: Option<&str>) -> Result<ServerBinaries, Error> {
    let Some(flavour) = wanted else {
        let of = |flavour| anywhere(Some(flavour), version);
        return of(Flavour::MariaDb).or_else(|_| of(Flavour::MySql)).map_err(either);
    };
    let mut search = Search { version: version.map(numbers).unwrap_or_default(), ..Search::new(wanted) };
    let here = env::current_dir().unwrap_or_default();
    if let Some(found) = in_servers_dirs(&here, &mut search).or_else(|| on_path(&mut search)) {
        return Ok(found);
    }
    let mut looked_in =
        vec![format!("{}/.servers and those of its parents", here.display()), "PATH".to_owned()];
    looked_in.extend(SYSTEM_DIRS.map(str::to_owned));
    looked_in.extend(search.rejected);
    Err(Error::NotFound { wanted: Some(flavour), version: version.map(str::to_owned), looked_in })
}

fn either(error: Error) -> Error {
    match error {
        Error::NotFound { version, looked_in, .. } => Error::NotFound { wanted: None, version, looked_in },
        other => other,
    }
}

/// The numbers at the start of a version.
pub(crate) fn numbers(version: &str) -> Vec<u32> {
    let end = version.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(version.len());
    version[..end].split('.').map_while(|part| part.parse().ok()).collect()
}

/// The highest version in the nearest `.servers` that has the flavour. Those below `more` are taken only if a version is asked for.
fn in_servers_dirs(here: &Path, search: &mut Search) -> Option<ServerBinaries> {
    here.ancestors().find_map(|dir| {
        let servers = dir.join(".servers");
        let trees = servers.read_dir().ok()?;
        if is_planted(&dir.metadata().ok()?, &servers.metadata().ok()?) {
            search.rejected.push(format!("{} (somebody else put it where anyone can)", servers.display()));
            return None;
        }
        let more = servers.join("more").read_dir().ok().filter(|_| !search.version.is_empty());
        let trees = trees.chain(more.into_iter().flatten());
        let programs = trees.flatten().flat_map(|tree| servers_in_tree(&tree.path()));
        programs.filter_map(|program| search.accept(&program)).max_by_key(ServerBinaries::version_numbers)
    })
}

/// Whether `.servers` is another user's in a directory such as `/tmp`: what is in it would be run.
fn is_planted(dir: &Metadata, servers: &Metadata) -> bool {
    let anyone_writes = dir.permissions().mode() & 0o002 != 0;
    anyone_writes && servers.uid() != 0 && !is_this_user(servers.uid())
}

fn on_path(search: &mut Search) -> Option<ServerBinaries> {
    let path = env::var_os("PATH").unwrap_or_default();
    let dirs = env::split_paths(&path).chain(SYSTEM_DIRS.iter().map(PathBuf::from));
    let programs = dirs.flat_map(|dir| SERVER_NAMES.map(|name| dir.join(name)));
    programs.filter(|program| program.is_file()).find_map(|program| search.accept(&program))
}

fn servers_in_tree(tree: &Path) -> Vec<PathBuf> {
    let names = PROGRAM_DIRS.iter().flat_map(|dir| SERVER_NAMES.map(|name| tree.join(dir).join(name)));
    names.filter(|program| program.is_file()).collect()
}

/// One search: what is wanted, and what was seen that did not fit.
struct Search {
    wanted: Option<Flavour>,
    /// The numbers that its version begins with.
    version: Vec<u32>,
    seen: Vec<PathBuf>,
    rejected: Vec<String>,
    of_other_flavour: Option<ServerBinaries>,
}

impl Search {
    fn new(wanted: Option<Flavour>) -> Self {
        Self { wanted, version: Vec::new(), seen: Vec::new(), rejected: Vec::new(), of_other_flavour: None }
    }

    /// The server at `program` if it is what is wanted. A program with several names is asked once.
    fn accept(&mut self, program: &Path) -> Option<ServerBinaries> {
        let canonical = program.canonicalize().ok()?;
        if self.seen.contains(&canonical) {
            return None;
        }
        self.seen.push(canonical);
        match ServerBinaries::probe(program) {
            Ok(found) if self.fits(&found) => Some(found),
            Ok(other) => self.reject(program, other),
            Err(reason) => {
                self.rejected.push(format!("{} ({reason})", program.display()));
                None
            }
        }
    }

    fn fits(&self, found: &ServerBinaries) -> bool {
        self.wanted.is_none_or(|wanted| wanted == found.flavour())
            && found.version_numbers().starts_with(&self.version)
    }

    fn reject(&mut self, program: &Path, other: ServerBinaries) -> Option<ServerBinaries> {
        self.rejected.push(format!(
            "{} (is {} {})",
            program.display(),
            other.flavour().title(),
            other.version()
        ));
        self.of_other_flavour = Some(other);
        None
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A stand-in that answers `--version`, for what needs no running server.
    fn fake_server(tree: &Path, name: &str, says: &str) -> PathBuf {
        let dir = tree.join("usr/sbin");
        fs::create_dir_all(&dir).unwrap();
        let program = dir.join(name);
        fs::write(&program, format!("#!/bin/sh\necho '{name}  Ver {says} for Linux on x86_64'\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        // A process that another test is just starting may have the file open for writing still.
        let is_busy = |error: &std::io::Error| error.kind() == std::io::ErrorKind::ExecutableFileBusy;
        while std::process::Command::new(&program).output().is_err_and(|error| is_busy(&error)) {
            std::thread::yield_now();
        }
        program
    }

    #[test]
    fn below_more_is_what_is_asked_for_by_its_version() {
        let root = tempfile::tempdir().unwrap();
        fake_server(&root.path().join(".servers/new"), "mysqld", "9.7.4");
        fake_server(&root.path().join(".servers/more/a"), "mysqld", "5.7.22");
        fake_server(&root.path().join(".servers/more/b"), "mysqld", "5.70.1");
        let search = |version| {
            let search = Search::new(Some(Flavour::MySql));
            in_servers_dirs(root.path(), &mut Search { version: numbers(version), ..search })
                .map(|found| found.version().to_owned())
        };
        assert_eq!(search("").as_deref(), Some("9.7.4"));
        assert_eq!(search("5.7").as_deref(), Some("5.7.22"));
        assert_eq!(search("5").as_deref(), Some("5.70.1"));
        assert_eq!(search("9").as_deref(), Some("9.7.4"));
        assert_eq!(search("5.7.2"), None);
    }

    #[test]
    fn the_nearest_servers_directory_and_its_highest_version_win() {
        let root = tempfile::tempdir().unwrap();
        let inner = root.path().join("a");
        fake_server(&root.path().join(".servers/far"), "mysqld", "99.0.0");
        fake_server(&inner.join(".servers/old"), "mysqld", "9.7.4");
        fake_server(&inner.join(".servers/new"), "mysqld", "10.0.1");
        fake_server(&inner.join(".servers/other"), "mariadbd", "11.8.6-MariaDB");
        let search = |flavour| in_servers_dirs(&inner.join("b/c"), &mut Search::new(Some(flavour)));
        assert_eq!(search(Flavour::MySql).unwrap().version(), "10.0.1");
        assert_eq!(search(Flavour::MariaDb).unwrap().version(), "11.8.6-MariaDB");
    }

    #[test]
    fn what_somebody_else_put_where_anyone_can_is_not_run() {
        let [open, closed] = ["/tmp", "/etc"].map(|dir| Path::new(dir).metadata().unwrap());
        let mine = tempfile::tempdir().unwrap();
        let mine = mine.path().metadata().unwrap();
        assert!(!is_planted(&open, &mine) && !is_planted(&open, &closed) && !is_planted(&closed, &mine));

        let root = tempfile::tempdir().unwrap();
        let servers = root.path().join(".servers");
        fake_server(&servers.join("theirs"), "mysqld", "9.7.4");
        fs::set_permissions(root.path(), fs::Permissions::from_mode(0o1777)).unwrap();
        let found = || in_servers_dirs(root.path(), &mut Search::new(Some(Flavour::MySql)));
        assert!(found().is_some());
        // Only root can give it away.
        if std::os::unix::fs::chown(&servers, Some(12345), None).is_ok() {
            assert!(found().is_none());
            fs::set_permissions(root.path(), fs::Permissions::from_mode(0o755)).unwrap();
            assert!(found().is_some());
        }
    }

    #[test]
    fn a_given_path_must_be_of_the_flavour_asked_for() {
        let tree = tempfile::tempdir().unwrap();
        let program = fake_server(tree.path(), "mysqld", "9.7.4");
        for path in [tree.path(), &tree.path().join("usr"), &program] {
            assert_eq!(at(path, None).unwrap().flavour(), Flavour::MySql);
            let error = at(path, Some(Flavour::MariaDb)).unwrap_err();
            assert!(matches!(error, Error::WrongFlavour { .. }), "{error}");
            assert!(error.to_string().contains("is MySQL 9.7.4, but MariaDB was asked for"), "{error}");
        }
    }

    #[test]
    fn a_path_without_a_server_says_what_was_seen() {
        let dir = tempfile::tempdir().unwrap();
        let message = |path: &Path| at(path, None).unwrap_err().to_string();
        assert!(message(dir.path()).ends_with("is not a server: no mariadbd or mysqld is in it"));
        assert!(message(&dir.path().join("none")).contains("No such file"));
        assert!(message(Path::new("/bin/sh")).contains("--version says"));
    }
}
