//! Fresh data directories, each a copy of a template that is made once per server.
//!
//! Initialising costs MySQL about 3 s, copying the result a tenth of one. A template belongs to one server program
//! and version. It is made under a lock, in a directory that gets its final name only when it is complete.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, ErrorKind, Seek, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::binaries::path_option;
use crate::log::{SHOWN_LINES, last_lines};
use crate::{Error, Flavour, ServerBinaries, options};

/// Options that a data directory keeps as they were when it was made.
const KEPT: [&str; 2] = ["lower-case-table-names", "innodb-page-size"];

/// Part of every template's name; to be raised when this code makes them differently.
const GENERATION: u32 = 2;

/// The order in which MariaDB's `mariadb-install-db` feeds its scripts to the server. Up to 10.x some of them are
/// named `mysql_…`.
const MARIADB_SCRIPTS: [&str; 6] = [
    "mariadb_system_tables.sql",
    "mariadb_performance_tables.sql",
    "mariadb_system_tables_data.sql",
    "fill_help_tables.sql",
    "maria_add_gis_sp_bootstrap.sql",
    MARIADB_SYS,
];

/// The same for MySQL before 5.7, which cannot initialise itself.
const MYSQL_SCRIPTS: [&str; 3] =
    ["mysql_system_tables.sql", "mysql_system_tables_data.sql", "fill_help_tables.sql"];

/// `@auth_root_socket` NULL makes root@localhost an account with an empty password instead of one bound to the
/// system's root.
const FIRST: &str = "CREATE DATABASE mysql;\nUSE mysql;\nSET @auth_root_socket = NULL;\n";

/// Servers before 10.6 have no schema `sys`.
const MARIADB_SYS: &str = "mariadb_sys_schema.sql";

/// The scripts also make root accounts for TCP, with empty passwords. MySQL makes none.
fn mariadb_last(scripts: &[u8]) -> String {
    // Accounts are in this table from 10.4 on.
    let is_new = scripts.windows(b"global_priv".len()).any(|part| part == b"global_priv");
    let accounts = if is_new { "global_priv" } else { "user" };
    format!(
        "\nUSE mysql;\n\
         DELETE FROM {accounts} WHERE User = 'root' AND Host <> 'localhost';\n\
         DELETE FROM proxies_priv WHERE User = 'root' AND Host <> 'localhost';\n"
    )
}

/// The template for this server with these options in `cache`, made now if it isn't there.
pub(crate) fn ensure(binaries: &ServerBinaries, options: &[String], cache: &Path) -> Result<PathBuf, Error> {
    let kept: Vec<_> = options.iter().filter(|option| is_kept(option)).collect();
    let key = key(binaries, &kept);
    let template = cache.join(&key);
    if template.is_dir() {
        return Ok(template);
    }
    fs::create_dir_all(cache).map_err(Error::io("create", cache))?;
    let lock_path = cache.join(format!("{key}.lock"));
    let lock = File::create(&lock_path).map_err(Error::io("create", &lock_path))?;
    lock.lock().map_err(Error::io("lock", &lock_path))?;
    if !template.is_dir() {
        make(binaries, &kept, cache, &key)?;
    }
    Ok(template)
}

/// Copies a template to `datadir`, which must not exist.
pub(crate) fn copy(template: &Path, datadir: &Path) -> Result<(), Error> {
    DirBuilder::new().mode(0o700).create(datadir).map_err(Error::io("create", datadir))?;
    for entry in fs::read_dir(template).map_err(Error::io("read", template))? {
        let entry = entry.map_err(Error::io("read", template))?;
        let (from, to) = (entry.path(), datadir.join(entry.file_name()));
        if from.is_dir() {
            copy(&from, &to)?;
        } else {
            fs::copy(&from, &to).map_err(Error::io("write", &to))?;
        }
    }
    Ok(())
}

fn is_kept(option: &str) -> bool {
    let name = option.trim_start_matches("--").split('=').next().unwrap_or_default();
    KEPT.contains(&name.replace('_', "-").as_str())
}

fn key(binaries: &ServerBinaries, kept: &[&String]) -> String {
    let mut hasher = DefaultHasher::new();
    (GENERATION, binaries.server(), binaries.version(), kept).hash(&mut hasher);
    let version: Vec<String> = binaries.version_numbers().iter().map(u32::to_string).collect();
    format!("{}-{}-{:016x}", binaries.flavour(), version.join("."), hasher.finish())
}

/// Makes the template `key` while its lock is held.
fn make(binaries: &ServerBinaries, kept: &[&String], cache: &Path, key: &str) -> Result<(), Error> {
    let prefix = format!(".making-{key}-");
    remove_leftovers(cache, &prefix);
    let work = tempfile::Builder::new()
        .prefix(&prefix)
        .tempdir_in(cache)
        .map_err(Error::io("create a directory in", cache))?;
    initialise(binaries, kept, work.path())?;
    // The server's UUID: each copy makes its own at its first start.
    remove_if_there(&work.path().join("auto.cnf"))?;
    fs::rename(work.path(), cache.join(key)).map_err(Error::io("rename", work.path()))
}

/// What a killed process left of the same template. Its lock is ours now, so it is no longer at work.
fn remove_leftovers(cache: &Path, prefix: &str) {
    for entry in cache.read_dir().into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(prefix) {
            let _only_disk_space_is_at_stake = fs::remove_dir_all(entry.path());
        }
    }
}

fn remove_if_there(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(source) if source.kind() != ErrorKind::NotFound => Err(Error::io("remove", path)(source)),
        _ => Ok(()),
    }
}

fn initialise(binaries: &ServerBinaries, kept: &[&String], datadir: &Path) -> Result<(), Error> {
    let mut command = binaries.server_command();
    command.args(options::as_root()).arg(path_option("--datadir", datadir)).stdin(Stdio::null());
    match binaries.flavour() {
        Flavour::MySql if is_scripted(binaries)? => {
            command.arg("--bootstrap").stdin(mysql_scripts(binaries)?)
        }
        Flavour::MySql => command.args(["--initialize-insecure", "--loose-innodb-redo-log-capacity=64M"]),
        Flavour::MariaDb => command.args(mariadb_bootstrap()).stdin(mariadb_scripts(binaries)?),
    };
    command.args(kept);
    run(binaries, &mut command)
}

fn run(binaries: &ServerBinaries, command: &mut Command) -> Result<(), Error> {
    let output = command.output().map_err(Error::io("run", binaries.server()))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Error::Initialise { server: binaries.server().to_owned(), output: last_lines(&said, SHOWN_LINES) })
}

/// As `mariadb-install-db` has them, and a small redo log: the server resizes it when it starts. The script itself
/// can't be used, since it runs the server without the loader of an unpacked tree.
fn mariadb_bootstrap() -> Vec<OsString> {
    let options = [
        "--bootstrap",
        "--silent-startup",
        "--log-warnings=0",
        "--enforce-storage-engine=",
        "--max-allowed-packet=8M",
        "--net-buffer-length=16K",
        "--innodb-log-file-size=4M",
    ];
    options.iter().map(OsString::from).collect()
}

/// All scripts as one nameless file, from its start.
fn mariadb_scripts(binaries: &ServerBinaries) -> Result<File, Error> {
    let missing = io::Error::new(ErrorKind::NotFound, "there is no share directory with MariaDB's messages");
    let share = binaries.share_dir().ok_or(missing).map_err(Error::io("use", binaries.basedir()))?;
    let mut sql = FIRST.as_bytes().to_vec();
    for name in MARIADB_SCRIPTS {
        let path = script_path(&share, name);
        if name == MARIADB_SYS && !path.is_file() {
            continue;
        }
        sql.extend(fs::read(&path).map_err(Error::io("read", &path))?);
        sql.push(b'\n');
    }
    sql.extend(mariadb_last(&sql).into_bytes());
    nameless_file(&sql).map_err(Error::io("write to", &std::env::temp_dir()))
}

/// Whether a MySQL is made by scripts that come with it, as before 5.7: it knows no option that would do it.
fn is_scripted(binaries: &ServerBinaries) -> Result<bool, Error> {
    let mut command = binaries.server_command();
    command.args(options::as_root()).args(["--verbose", "--help"]).stdin(Stdio::null());
    let help = command.output().map_err(Error::io("run", binaries.server()))?;
    Ok(!String::from_utf8_lossy(&help.stdout).contains("--initialize-insecure"))
}

/// All scripts as one nameless file, from its start. They make accounts for TCP and nameless ones, too.
fn mysql_scripts(binaries: &ServerBinaries) -> Result<File, Error> {
    let share = binaries.share_dir().unwrap_or_default();
    let mut sql = FIRST.as_bytes().to_vec();
    for path in MYSQL_SCRIPTS.map(|name| share.join(name)) {
        sql.extend(fs::read(&path).map_err(Error::io("read", &path))?);
        sql.push(b'\n');
    }
    sql.extend(
        b"\nUSE mysql;\nDELETE FROM user WHERE User = '' OR Host <> 'localhost';\nDELETE FROM db;\n\
          DELETE FROM proxies_priv WHERE Host <> 'localhost';\n",
    );
    nameless_file(&sql).map_err(Error::io("write to", &std::env::temp_dir()))
}

fn script_path(share: &Path, name: &str) -> PathBuf {
    let path = share.join(name);
    if path.is_file() { path } else { share.join(name.replacen("mariadb_", "mysql_", 1)) }
}

fn nameless_file(bytes: &[u8]) -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made_at_once_by(threads: usize, flavour: Flavour) {
        let cache = tempfile::tempdir().unwrap();
        let binaries = ServerBinaries::find(Some(flavour), None).unwrap();
        let make = || ensure(&binaries, &[], cache.path()).unwrap();
        let templates: Vec<PathBuf> = std::thread::scope(|scope| {
            let makers: Vec<_> = (0..threads).map(|_| scope.spawn(make)).collect();
            makers.into_iter().map(|maker| maker.join().unwrap()).collect()
        });
        assert!(templates.iter().all(|template| *template == templates[0]));
        assert!(!templates[0].join("auto.cnf").exists(), "every copy would have the same server UUID");
        let names: Vec<_> =
            cache.path().read_dir().unwrap().flatten().map(|entry| entry.file_name()).collect();
        assert_eq!(names.len(), 2, "a template and its lock, but there is {names:?}");
    }

    #[test]
    fn concurrent_starts_share_one_mariadb_template() {
        made_at_once_by(4, Flavour::MariaDb);
    }

    #[test]
    fn concurrent_starts_share_one_mysql_template() {
        made_at_once_by(2, Flavour::MySql);
    }

    #[test]
    fn copies_hold_all_directories_and_leave_the_template_alone() {
        let dir = tempfile::tempdir().unwrap();
        let (template, copied) = (dir.path().join("t"), dir.path().join("c"));
        fs::create_dir_all(template.join("mysql")).unwrap();
        fs::write(template.join("mysql/user.frm"), "x").unwrap();
        copy(&template, &copied).unwrap();
        assert_eq!(fs::read(copied.join("mysql/user.frm")).unwrap(), b"x");
        let error = copy(&template, &copied).unwrap_err();
        assert!(error.to_string().starts_with("cannot create"), "{error}");
    }

    #[test]
    fn options_that_a_directory_keeps_have_templates_of_their_own() {
        assert!(is_kept("--lower-case-table-names=1") && is_kept("--innodb_page_size=4k"));
        assert!(!is_kept("--lower-case-table") && !is_kept("--log-bin"));
        let binaries = ServerBinaries::find(Some(Flavour::MariaDb), None).unwrap();
        assert_ne!(key(&binaries, &[]), key(&binaries, &[&"--innodb-page-size=4k".to_owned()]));
    }

    #[test]
    fn leftovers_of_a_killed_process_are_removed() {
        let cache = tempfile::tempdir().unwrap();
        for name in [".making-a-1", ".making-ab-1"] {
            fs::create_dir(cache.path().join(name)).unwrap();
        }
        remove_leftovers(cache.path(), ".making-a-");
        assert!(!cache.path().join(".making-a-1").exists() && cache.path().join(".making-ab-1").exists());
    }
}
