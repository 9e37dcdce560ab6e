//! One vendor's programs at one place: the server, its clients, and how to run them.
//!
//! A place is either installed in the system, or a tree of unpacked packages with a C library of its own. Programs of
//! such a tree must be run by the tree's own dynamic loader: the system's may be too old for them.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use crate::{Error, Flavour, find};

/// Where a server and its client programs are, and how they are run.
#[derive(Debug, Clone)]
pub struct ServerBinaries {
    flavour: Flavour,
    version: String,
    server: PathBuf,
    basedir: PathBuf,
    loader: Option<Loader>,
}

#[derive(Debug, Clone)]
struct Loader {
    program: PathBuf,
    library_path: OsString,
}

impl ServerBinaries {
    /// Finds a server: at `path` if given (a `mysqld` or `mariadbd`, or a directory that holds one), else in
    /// `.servers/*` of the working directory and its parents, else on `PATH`, in `/usr/sbin` and in `/usr/libexec`.
    ///
    /// `wanted: None` takes MariaDB if there is one, else MySQL.
    ///
    /// # Errors
    /// `NotFound` with the places searched; `NotAServer` or `WrongFlavour` if `path` was given and does not fit.
    pub fn find(wanted: Option<Flavour>, path: Option<&Path>) -> Result<Self, Error> {
        match path {
            Some(path) => find::at(path, wanted),
            None => find::anywhere(wanted, None),
        }
    }

    /// Finds a server whose version begins with these numbers, such as `5.7`: in `.servers/*` and `.servers/more/*` of the working directory and
    /// its parents, else on `PATH`, in `/usr/sbin` and in `/usr/libexec`; of several the highest.
    ///
    /// # Errors
    /// `NotFound` with the places searched and what was found there.
    pub fn of_version(wanted: Option<Flavour>, version: &str) -> Result<Self, Error> {
        find::anywhere(wanted, Some(version))
    }

    /// Asks the program at `server` what it is, unless this process has asked that same file before: it takes MySQL's 40 ms to say. Only
    /// what it says counts: Debian's MariaDB also installs a `mysqld`.
    ///
    /// The error says in words why it is not a server.
    pub(crate) fn probe(server: &Path) -> Result<Self, String> {
        static KNOWN: Mutex<BTreeMap<(PathBuf, SystemTime), ServerBinaries>> = Mutex::new(BTreeMap::new());
        let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let server = server.canonicalize().map_err(|error| error.to_string())?;
        let modified =
            server.metadata().and_then(|file| file.modified()).map_err(|error| error.to_string())?;
        let file = (server, modified);
        if let Some(found) = known().get(&file) {
            return Ok(found.clone());
        }
        let found = Self::ask(&file.0)?;
        known().insert(file, found.clone());
        Ok(found)
    }

    fn ask(server: &Path) -> Result<Self, String> {
        let basedir = basedir_of(server);
        let loader = Loader::of_tree(&basedir);
        let output = command(loader.as_ref(), server)
            .args(["--no-defaults", "--version"])
            .output()
            .map_err(|error| format!("it does not run: {error}"))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let (flavour, version) = parse_version(&text).ok_or_else(|| {
            let said =
                if text.is_empty() { String::from_utf8_lossy(&output.stderr).into_owned() } else { text };
            format!("--version says {:?}", said.trim())
        })?;
        Ok(Self { flavour, version, server: server.to_owned(), basedir, loader })
    }

    /// The vendor, as the server itself says.
    #[must_use]
    pub fn flavour(&self) -> Flavour {
        self.flavour
    }

    /// The version as the server says it, such as `9.7.4-2` or `10.11.19-MariaDB-0+deb12u1`.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The numbers at the start of the version, for comparison: `[10, 11, 19]`.
    pub(crate) fn version_numbers(&self) -> Vec<u32> {
        find::numbers(&self.version)
    }

    /// The server program, with symbolic links resolved.
    #[must_use]
    pub fn server(&self) -> &Path {
        &self.server
    }

    /// What the server calls its `basedir`: the directory above `bin`, `sbin` and `share`.
    #[must_use]
    pub fn basedir(&self) -> &Path {
        &self.basedir
    }

    /// The directory of the client programs.
    #[must_use]
    pub fn client_dir(&self) -> PathBuf {
        self.basedir.join("bin")
    }

    /// The server with `--no-defaults` and the options that tell it where its own files are.
    #[must_use]
    pub fn server_command(&self) -> Command {
        let mut command = command(self.loader.as_ref(), &self.server);
        command.arg("--no-defaults").arg(path_option("--basedir", &self.basedir));
        if let Some(share) = self.share_dir() {
            command.arg(path_option("--lc-messages-dir", &share));
            command.arg(path_option("--character-sets-dir", &share.join("charsets")));
        }
        let plugins =
            ["lib/mysql/plugin", "lib64/mysql/plugin", "lib/plugin"].map(|dir| self.basedir.join(dir));
        if let Some(plugins) = plugins.iter().find(|dir| dir.is_dir()) {
            command.arg(path_option("--plugin-dir", plugins));
        }
        command
    }

    /// A client program of the same vendor and version, with `--no-defaults` so that nobody's option files matter.
    ///
    /// `program` may have either vendor's name: `mysql`, `mysqlbinlog` and `mysqldump` give `mariadb`,
    /// `mariadb-binlog` and `mariadb-dump` where the server is MariaDB, and the other way round. A tree that has no clients uses those on
    /// PATH, of either vendor. If there is none, running the command says so.
    #[must_use]
    pub fn client_command(&self, program: &str) -> Command {
        let beside = self.client_dir().join(vendor_name(self.flavour, program));
        if !beside.is_file()
            && let Some(elsewhere) = on_path(program)
        {
            let mut command = Command::new(elsewhere);
            command.arg("--no-defaults");
            return command;
        }
        let mut command = command(self.loader.as_ref(), &beside);
        command.arg("--no-defaults");
        if let (Some(_), Some(share)) = (&self.loader, self.share_dir()) {
            command.arg(path_option("--character-sets-dir", &share.join("charsets")));
        }
        command
    }

    /// The directory of messages, character sets and bootstrap scripts.
    pub(crate) fn share_dir(&self) -> Option<PathBuf> {
        let names = match self.flavour {
            Flavour::MariaDb => ["share/mariadb", "share/mysql", "share"],
            Flavour::MySql => ["share/mysql", "share/mysql-8.0", "share"],
        };
        names
            .iter()
            .map(|name| self.basedir.join(name))
            .find(|dir| dir.join("english/errmsg.sys").is_file() && dir.join("charsets").is_dir())
    }
}

impl Loader {
    /// The loader of the tree that `basedir` belongs to, if it is a tree with a C library of its own. The system's
    /// own loader needs no mention, so `/` is no such tree.
    fn of_tree(basedir: &Path) -> Option<Self> {
        let root = if basedir.ends_with("usr") { basedir.parent()? } else { basedir };
        if root == Path::new("/") {
            return None;
        }
        // Before Debian 12 the C library is in the one and what else a server links with is in the other.
        let libraries = [basedir.join("lib"), root.join("lib")];
        let libraries: Vec<_> = libraries.iter().flat_map(|dir| multiarch_dirs(dir)).collect();
        let program = libraries.iter().find_map(|dir| loader_in(dir))?;
        let private = Some(basedir.join("lib/mysql/private")).filter(|dir| dir.is_dir());
        let library_path = std::env::join_paths(libraries.iter().chain(&private)).ok()?;
        Some(Self { program, library_path })
    }
}

/// `lib/x86_64-linux-gnu` and its like.
fn multiarch_dirs(lib: &Path) -> Vec<PathBuf> {
    entries(lib).into_iter().filter(|dir| name_of(dir).contains("-linux-gnu")).collect()
}

fn loader_in(dir: &Path) -> Option<PathBuf> {
    entries(dir).into_iter().find(|file| name_of(file).starts_with("ld-linux"))
}

fn entries(dir: &Path) -> Vec<PathBuf> {
    fs::read_dir(dir).map_or(Vec::new(), |entries| entries.flatten().map(|entry| entry.path()).collect())
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn command(loader: Option<&Loader>, program: &Path) -> Command {
    let Some(loader) = loader else { return Command::new(program) };
    let mut command = Command::new(&loader.program);
    command.arg("--library-path").arg(&loader.library_path).arg(program);
    command
}

/// `--name=path`, for paths of any bytes.
pub(crate) fn path_option(name: &str, path: &Path) -> OsString {
    let mut option = OsString::from(name);
    option.push("=");
    option.push(path);
    option
}

fn basedir_of(server: &Path) -> PathBuf {
    let dir = server.parent().unwrap_or(Path::new("/"));
    let is_program_dir =
        ["bin", "sbin", "libexec"].iter().any(|name| dir.file_name() == Some(OsStr::new(name)));
    let basedir = if is_program_dir { dir.parent() } else { None };
    basedir.unwrap_or(dir).to_owned()
}

/// Reads `…/mysqld  Ver 9.7.4-2 for Linux on x86_64 ((Debian))`. What stands before `Ver` is the program's path, which
/// may say anything.
fn parse_version(text: &str) -> Option<(Flavour, String)> {
    let (program, rest) = text.split_once(" Ver ")?;
    let version = rest.split_whitespace().next()?.to_owned();
    if rest.contains("MariaDB") {
        return Some((Flavour::MariaDb, version));
    }
    let is_server = Path::new(program.trim()).file_name()?.to_string_lossy().starts_with("mysqld");
    is_server.then_some((Flavour::MySql, version))
}

/// `mysqldump` is `mariadb-dump` at the other vendor.
/// The program on PATH, by either vendor's name.
fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let names = [Flavour::MySql, Flavour::MariaDb].map(|flavour| vendor_name(flavour, program));
    let mut found = std::env::split_paths(&path).flat_map(|dir| names.clone().map(|name| dir.join(name)));
    found.find(|file| file.is_file())
}

fn vendor_name(flavour: Flavour, program: &str) -> String {
    let tool = program.strip_prefix("mysql").or_else(|| program.strip_prefix("mariadb"));
    let Some(tool) = tool.map(|tool| tool.trim_start_matches('-')) else { return program.to_owned() };
    match flavour {
        Flavour::MySql => format!("mysql{tool}"),
        Flavour::MariaDb if tool.is_empty() => "mariadb".to_owned(),
        Flavour::MariaDb => format!("mariadb-{tool}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flavour_comes_from_what_the_server_says() {
        let debian = "mariadbd  Ver 10.11.6-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)";
        assert_eq!(parse_version(debian), Some((Flavour::MariaDb, "10.11.6-MariaDB-0+deb12u1".into())));
        let as_mysqld = "/usr/sbin/mysqld  Ver 10.5.1-MariaDB for Linux on x86_64";
        assert_eq!(parse_version(as_mysqld), Some((Flavour::MariaDb, "10.5.1-MariaDB".into())));
        let misleading_path = "/opt/MariaDB/bin/mysqld  Ver 8.4.0 for Linux on x86_64 (MySQL Community)";
        assert_eq!(parse_version(misleading_path), Some((Flavour::MySql, "8.4.0".into())));
        assert_eq!(parse_version("mysql  Ver 9.7.4 for Linux on x86_64 ((Debian))"), None);
        assert_eq!(parse_version("bash, version 5"), None);
    }

    #[test]
    fn programs_have_each_vendors_names() {
        for (mysql, mariadb) in
            [("mysql", "mariadb"), ("mysqlbinlog", "mariadb-binlog"), ("mysqldump", "mariadb-dump")]
        {
            for name in [mysql, mariadb] {
                assert_eq!(vendor_name(Flavour::MySql, name), mysql);
                assert_eq!(vendor_name(Flavour::MariaDb, name), mariadb);
            }
        }
        assert_eq!(vendor_name(Flavour::MariaDb, "innochecksum"), "innochecksum");
    }

    #[test]
    fn the_basedir_is_above_the_program_directory() {
        assert_eq!(basedir_of(Path::new("/usr/sbin/mysqld")), Path::new("/usr"));
        assert_eq!(basedir_of(Path::new("/opt/mysql/bin/mysqld")), Path::new("/opt/mysql"));
        assert_eq!(basedir_of(Path::new("/opt/odd/mysqld")), Path::new("/opt/odd"));
    }

    #[test]
    fn a_tree_with_a_loader_is_run_by_it() {
        let tree = tempfile::tempdir().unwrap();
        let basedir = tree.path().join("usr");
        let libraries = basedir.join("lib/x86_64-linux-gnu");
        fs::create_dir_all(&libraries).unwrap();
        assert!(Loader::of_tree(&basedir).is_none());
        fs::write(libraries.join("ld-linux-x86-64.so.2"), "").unwrap();
        let loader = Loader::of_tree(&basedir).unwrap();
        assert_eq!(loader.library_path, libraries.clone().into_os_string());
        let command = command(Some(&loader), Path::new("/p"));
        assert_eq!(command.get_program(), libraries.join("ld-linux-x86-64.so.2"));
        assert!(command.get_args().last() == Some(OsStr::new("/p")));
    }

    #[test]
    fn the_system_is_not_a_tree_of_its_own() {
        assert!(Loader::of_tree(Path::new("/usr")).is_none());
    }
}
