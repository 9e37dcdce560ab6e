//! Private servers for measurements: the operator's own binary and settings on data of their own, gone when the work ends, however
//! it ends.
//!
//! The only account is root's, by a socket that only its owner can reach; a measurement makes those that it needs.

use std::path::{Path, PathBuf};

use drover_db::options::{Address, ConnectOptions, ServerFile};
use drover_sandbox::{Flavour, Server, ServerBinaries, StartOptions};

use crate::{Error, Result};

/// Options of a private server.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct PrivateArgs {
    /// The private server's program, or a directory that holds one [default: .servers/* here and above, then PATH]
    #[arg(long, value_name = "PATH", help_heading = HEADING)]
    pub server_binary: Option<PathBuf>,

    /// The private server's vendor [default: mariadb if there is one, else mysql]
    #[arg(long, value_enum, help_heading = HEADING)]
    pub flavour: Option<Flavour>,

    /// Settings for it from an option file, such as a copy of your my.cnf; what says where its files and ports are is left out
    #[arg(long, value_name = "FILE", help_heading = HEADING)]
    pub server_defaults: Option<PathBuf>,

    /// Options for it, after `--`, such as `-- --performance-schema=OFF`; they win over those of the file
    #[arg(last = true, value_name = "SERVER OPTIONS", help_heading = HEADING)]
    pub server_options: Vec<String>,
}

const HEADING: &str = "Private server";

impl PrivateArgs {
    /// Whether any of them was given.
    pub fn is_given(&self) -> bool {
        let Self { server_binary, flavour, server_defaults, server_options } = self;
        server_binary.is_some()
            || flavour.is_some()
            || server_defaults.is_some()
            || !server_options.is_empty()
    }
}

/// How to start private servers that differ in little.
#[derive(Debug)]
pub(crate) struct Plan {
    flavour: Flavour,
    binary: PathBuf,
    options: Vec<String>,
    /// What a person should know of it.
    pub(crate) warnings: Vec<String>,
}

impl Plan {
    /// Finds the server and reads its settings.
    ///
    /// # Errors
    /// If there is no such server, or the option file cannot be read.
    pub(crate) fn new(args: &PrivateArgs) -> Result<Self> {
        let binaries = ServerBinaries::find(args.flavour, args.server_binary.as_deref())?;
        let mut plan = Self {
            flavour: binaries.flavour(),
            binary: binaries.server().to_owned(),
            options: Vec::new(),
            warnings: Vec::new(),
        };
        if let Some(file) = &args.server_defaults {
            plan.take(file, &groups(binaries.flavour(), binaries.version()))?;
        }
        plan.options.extend(args.server_options.iter().cloned());
        Ok(plan)
    }

    /// Whose server it is.
    pub(crate) fn flavour(&self) -> Flavour {
        self.flavour
    }

    /// Whether a person gave an option of this name.
    pub(crate) fn has_option(&self, name: &str) -> bool {
        self.options.iter().any(|option| is_option(option, name))
    }

    /// Adds an option that names a file, for all servers.
    pub(crate) fn add_option(&mut self, name: &str, file: &Path) {
        self.options.push(format!("--{name}={}", file.display()));
    }

    /// Starts a server, with more options that win over all others.
    ///
    /// # Errors
    /// If it does not come up: with the end of its log.
    pub(crate) fn start(&self, more: &[String]) -> Result<Private> {
        self.start_below(None, more)
    }

    /// Starts a server whose data lies below a directory.
    ///
    /// # Errors
    /// If it does not come up: with the end of its log.
    pub(crate) fn start_in(&self, directory: &Path) -> Result<Private> {
        self.start_below(Some(directory.to_owned()), &[])
    }

    fn start_below(&self, root: Option<PathBuf>, more: &[String]) -> Result<Private> {
        let options = StartOptions {
            server: Some(self.binary.clone()),
            server_options: self.options.iter().chain(more).cloned().collect(),
            root,
            ..StartOptions::ephemeral(self.flavour)
        };
        Ok(Private { server: Server::start(&options)? })
    }

    fn take(&mut self, file: &Path, groups: &[String]) -> Result<()> {
        let read = ServerFile::read(file, groups)
            .map_err(|error| Error::Found { what: error.to_string(), hint: error.hint() })?;
        self.warnings.extend(read.warnings);
        let (left_out, taken): (Vec<_>, Vec<_>) =
            read.options.into_iter().partition(|(name, value)| is_of_a_place(name, value.as_deref()));
        self.options.extend(taken.into_iter().map(|(name, value)| match value {
            Some(value) => format!("--{name}={value}"),
            None => format!("--{name}"),
        }));
        if !left_out.is_empty() {
            let names = left_out.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
            let file = file.display();
            self.warnings.push(format!("{file}: not for a private server, and left out: {names}"));
        }
        Ok(())
    }
}

/// A private server that runs. It ends when this is dropped, or with this process.
#[derive(Debug)]
pub(crate) struct Private {
    server: Server,
}

impl Private {
    /// How root gets in.
    pub(crate) fn root(&self) -> ConnectOptions {
        ConnectOptions::by_socket("root", self.server.socket())
    }

    /// Where it listens on TCP.
    pub(crate) fn tcp(&self) -> Address {
        Address::Tcp { host: "127.0.0.1".to_owned(), port: self.server.port() }
    }

    /// Its process.
    pub(crate) fn pid(&self) -> u32 {
        self.server.pid()
    }
}

/// The groups of option files that a server reads, by both vendors' manuals.
fn groups(flavour: Flavour, version: &str) -> Vec<String> {
    let series = version.splitn(3, '.').take(2).collect::<Vec<_>>().join(".");
    let (own, common): (&[&str], &[&str]) = match flavour {
        Flavour::MariaDb => (&["mysqld", "mariadb", "mariadbd"], &["server", "client-server"]),
        Flavour::MySql => (&["mysqld"], &["server"]),
    };
    let with_series = own.iter().map(|name| format!("{name}-{series}"));
    own.iter().chain(common).map(|&name| name.to_owned()).chain(with_series).collect()
}

/// Whether `option`, as on a command line, is the one of this name.
fn is_option(option: &str, name: &str) -> bool {
    let given = option.trim_start_matches('-').split('=').next().unwrap_or_default().replace('_', "-");
    given == name
}

/// Whether an option says where files, ports or other servers are, or how the data directory was made: a private server has its
/// own. Certificates and plugins are the operator's.
fn is_of_a_place(name: &str, value: Option<&str>) -> bool {
    const NAMES: [&str; 22] = [
        "admin-address",
        "admin-port",
        "basedir",
        "bind-address",
        "chroot",
        "daemonize",
        "datadir",
        "extra-port",
        "init-file",
        "innodb-data-file-path",
        "innodb-page-size",
        "lower-case-table-names",
        "mysqlx-bind-address",
        "mysqlx-port",
        "pid-file",
        "port",
        "read-only",
        "server-id",
        "socket",
        "super-read-only",
        "tmpdir",
        "user",
    ];
    const BEGINNINGS: [&str; 3] = ["group-replication", "report-", "wsrep"];
    const KEPT: [&str; 2] = ["plugin-", "ssl-"];
    let name = name.strip_prefix("loose-").unwrap_or(name);
    let is_path = value.is_some_and(|value| value.starts_with('/'));
    NAMES.contains(&name)
        || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
        || (is_path && !KEPT.iter().any(|kept| name.starts_with(kept)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_private_server_takes_of_an_option_file() {
        for (name, value) in [
            ("datadir", Some("/var/lib/mysql")),
            ("slow-query-log-file", Some("/var/log/slow")),
            ("loose-group-replication-group-name", Some("x")),
            ("super-read-only", None),
        ] {
            assert!(is_of_a_place(name, value), "{name}");
        }
        for (name, value) in [
            ("read-buffer-size", Some("5M")),
            ("ssl-cert", Some("/etc/mysql/cert.pem")),
            ("plugin-dir", Some("/usr/lib/plugin")),
            ("skip-name-resolve", None),
            ("log-bin", Some("binlog")),
        ] {
            assert!(!is_of_a_place(name, value), "{name}");
        }
    }

    #[test]
    fn groups_are_those_of_the_vendor_and_the_series() {
        let mysql = groups(Flavour::MySql, "9.7.4-2");
        assert_eq!(mysql, ["mysqld", "server", "mysqld-9.7"]);
        let mariadb = groups(Flavour::MariaDb, "10.11.19-MariaDB");
        assert!(
            mariadb.contains(&"mariadb-10.11".to_owned()) && mariadb.contains(&"client-server".to_owned())
        );
    }

    #[test]
    fn options_have_one_name_however_they_are_written() {
        let options = vec!["--ssl_cert=/mine".to_owned(), "--skip-log-bin".to_owned()];
        let mut plan =
            Plan { flavour: Flavour::MariaDb, binary: PathBuf::new(), options, warnings: Vec::new() };
        assert!(
            plan.has_option("ssl-cert") && plan.has_option("skip-log-bin") && !plan.has_option("ssl-key")
        );
        plan.add_option("ssl-key", Path::new("/key"));
        assert!(plan.has_option("ssl-key"));
    }
}
