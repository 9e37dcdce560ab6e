//! The options a sandboxed server is started with.
//!
//! They suit tests and trials: small buffers, a binary log, durability left to the operating system's cache. What the
//! person gives comes last, so it wins.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::binaries::path_option;
use crate::home::Home;
use crate::{Error, Flavour};

/// Options that say where the server is, or detach it: the sandbox could not find, watch or stop it any more.
const RESERVED: [&str; 4] = ["datadir", "socket", "daemonize", "no-defaults"];
const RESERVED_SHORT: [char; 2] = ['h', 'S'];

/// What both vendors know. What a server lets its clients do is as its vendor ships it; but the directory for files that MySQL is built with
/// comes with its package.
const COMMON: [&str; 7] = [
    "--bind-address=127.0.0.1",
    "--skip-name-resolve",
    "--log-bin=binlog",
    "--sync-binlog=0",
    "--innodb-flush-log-at-trx-commit=2",
    "--innodb-buffer-pool-size=256M",
    "--secure-file-priv=",
];

/// Redo logs that a bulk load does not fill at once. `loose-` marks options that some versions lack.
const MARIADB: [&str; 1] = ["--innodb-log-file-size=256M"];
const MYSQL: [&str; 2] = ["--loose-mysqlx=OFF", "--loose-innodb-redo-log-capacity=512M"];

/// All options for one launch, apart from those that say where the vendor's files are.
pub(crate) fn for_launch(
    flavour: Flavour,
    home: &Home,
    port: u16,
    of_node: &[OsString],
    extra: &[String],
) -> Vec<OsString> {
    let vendor: &[&str] = match flavour {
        Flavour::MariaDb => &MARIADB,
        Flavour::MySql => &MYSQL,
    };
    let mut options = as_root();
    options.extend([
        path_option("--datadir", &home.datadir()),
        path_option("--socket", &home.socket()),
        path_option("--pid-file", &home.pid_file()),
        path_option("--log-error", &home.error_log()),
        path_option("--tmpdir", &home.tmpdir()),
        format!("--port={port}").into(),
        // Two sandboxes of one host never share a port, so replicas of each other never share an id.
        format!("--server-id={port}").into(),
    ]);
    options.extend(COMMON.iter().chain(vendor).map(OsString::from));
    options.extend_from_slice(of_node);
    options.extend(extra.iter().map(OsString::from));
    options
}

/// Both vendors' servers refuse to run as root, as in most containers, unless told to.
pub(crate) fn as_root() -> Vec<OsString> {
    if is_this_user(0) { vec!["--user=root".into()] } else { Vec::new() }
}

/// Whether this process runs as the user of that id: the owner of this directory is the effective user (proc(5)).
pub(crate) fn is_this_user(id: u32) -> bool {
    fs::metadata("/proc/self").is_ok_and(|process| process.uid() == id)
}

/// Refuses the options in `extra` that the sandbox must set itself.
pub(crate) fn check(extra: &[String]) -> Result<(), Error> {
    match extra.iter().find(|option| is_reserved(option)) {
        Some(option) => Err(Error::ReservedOption { option: option.clone() }),
        None => Ok(()),
    }
}

fn is_reserved(option: &str) -> bool {
    let Some(long) = option.strip_prefix("--") else {
        return option.strip_prefix('-').is_some_and(|short| short.starts_with(RESERVED_SHORT));
    };
    let name = long.split('=').next().unwrap_or(long).replace('_', "-");
    RESERVED.contains(&name.as_str()) || name.starts_with("defaults-")
}

/// The port that `extra` asks for, if it does; of several the last, as the server takes it.
pub(crate) fn fixed_port(extra: &[String]) -> Option<u16> {
    let mut port = None;
    for (index, option) in extra.iter().enumerate() {
        let value = match option.as_str() {
            "--port" | "-P" => extra.get(index + 1).map(String::as_str),
            other => other.strip_prefix("--port=").or_else(|| other.strip_prefix("-P")),
        };
        port = value.and_then(|value| value.parse().ok()).or(port);
    }
    port
}

/// What makes one server process recognisable among all: the data directory in its arguments.
pub(crate) fn mark(datadir: &Path) -> OsString {
    path_option("--datadir", datadir)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(options: &[&str]) -> Vec<String> {
        options.iter().map(|option| (*option).to_owned()).collect()
    }

    #[test]
    fn the_last_port_given_counts() {
        assert_eq!(fixed_port(&strings(&["--max-connections=5"])), None);
        assert_eq!(fixed_port(&strings(&["--port=1", "-P", "2"])), Some(2));
        assert_eq!(fixed_port(&strings(&["-P77"])), Some(77));
        assert_eq!(fixed_port(&strings(&["--port", "3307", "--sql-mode="])), Some(3307));
    }

    #[test]
    fn options_that_would_lose_the_server_are_refused() {
        for bad in ["--datadir=/x", "--socket", "-S/x", "-h", "--daemonize", "--defaults-file=/x"] {
            assert!(check(&strings(&[bad])).unwrap_err().to_string().contains(bad));
        }
        check(&strings(&["--max-connections=17", "--port=3307", "--socket-umask=1", "-P3307"])).unwrap();
    }
}
