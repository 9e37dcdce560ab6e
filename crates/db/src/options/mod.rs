//! From the command line, option files, a URL and the environment to one set of connection options, with the
//! mysql client's names and rules. Nothing here connects, prints or asks by itself.
//!
//! Sources from weakest to strongest: environment variables (`MYSQL_HOST`, `MYSQL_TCP_PORT`,
//! `MYSQL_UNIX_PORT`, `MYSQL_PWD`, `MYSQL_GROUP_SUFFIX`), the groups `[client]`, `[client-server]`,
//! `[client-mariadb]` and `[drover]` of the option files, `--url`, the other options of the command line. As for
//! every client of either vendor, an option that stands later in the files wins, whichever of the groups it is
//! in. `~/.mylogin.cnf` is not read.

mod args;
mod error;
mod files;
mod limits;
mod resolve;
mod secret;
mod server_file;
mod settings;
mod url;

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use args::{ServerArgs, ask_on_terminal, normalise_arguments};
pub use error::{OptionError, Origin, UrlError};
pub use limits::Load;
pub use resolve::{Resolved, beside};
pub use secret::{Secret, hide_passwords_in_process_list, without_passwords};
pub use server_file::ServerFile;

pub use crate::wire::OneServer;

/// Everything that is needed to connect to one server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectOptions {
    /// The account's user name; never empty.
    pub user: String,
    /// The password; `None` if there is none. Never an empty one.
    pub password: Option<Secret>,
    /// Where the server listens.
    pub address: Address,
    /// The default database.
    pub database: Option<String>,
    /// Whether and how to use TLS.
    pub ssl: SslOptions,
    /// What the password may be told to.
    pub exchange: PasswordExchange,
    /// How long to wait for the connection; 1 s to 12 h.
    pub connect_timeout: Duration,
    /// How what its sessions change comes into the server's binary log.
    pub logged: Logged,
    /// What proves that its connections lead to one server.
    pub one_server: OneServer,
}

impl ConnectOptions {
    /// An account without a password, over the Unix socket of a server of this host.
    pub fn by_socket(user: &str, socket: &Path) -> Self {
        Self {
            user: user.to_owned(),
            password: None,
            address: Address::Socket(socket.to_owned()),
            database: None,
            ssl: SslOptions { mode: SslMode::Disabled, ca: None, cert: None, key: None },
            exchange: PasswordExchange::default(),
            connect_timeout: Duration::from_secs(settings::DEFAULT_TIMEOUT_SECONDS.into()),
            logged: Logged::AsUsual,
            one_server: OneServer::default(),
        }
    }
}

/// What is allowed beyond ways to log in that tell a password to nobody who does not know it. All of it is up to the person: whoever
/// takes the server's place can ask for any of these.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PasswordExchange {
    /// The key that the password is encrypted with where there is neither TLS nor a Unix socket.
    pub server_key: ServerKey,
    /// Whether the password is sent as it is to a server that asks for that; over TLS or a Unix socket only.
    pub cleartext: bool,
}

/// Where the server's RSA public key comes from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ServerKey {
    /// From nowhere: a password is not encrypted with such a key.
    #[default]
    Unknown,
    /// A file in PEM format; it is not opened here.
    File(PathBuf),
    /// The server itself: whoever can change what passes the network can put another key there.
    FromServer,
}

/// How a session's changes come into the server's binary log; other ways than the server's own take a privilege.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Logged {
    /// As the server is set up.
    #[default]
    AsUsual,
    /// As statements, never as rows.
    AsStatements,
    /// Not at all.
    Not,
}

/// Where a server listens. Prints as `127.0.0.1:3306`, `[::1]:3306` or `socket /run/mysqld/mysqld.sock`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Address {
    /// A TCP port.
    Tcp {
        /// A name or an address, IPv6 without brackets; never empty.
        host: String,
        /// From 1 to 65535.
        port: u16,
    },
    /// A Unix socket.
    Socket(PathBuf),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Address::Tcp { host, port } => write!(f, "{host}:{port}"),
            Address::Socket(path) => write!(f, "socket {}", path.display()),
        }
    }
}

/// How to reach the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Protocol {
    /// TCP, also to localhost.
    Tcp,
    /// The Unix socket.
    Socket,
}

/// Whether TLS is used and what is verified, from least to most: MySQL's `--ssl-mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
#[value(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum SslMode {
    /// Never use TLS.
    Disabled,
    /// Use TLS if the server offers it, else go on without.
    Preferred,
    /// Use TLS or fail; without --ssl-ca accept any certificate.
    Required,
    /// As REQUIRED, and the certificate must be signed by a known CA.
    VerifyCa,
    /// As VERIFY_CA, and the certificate must be the host's.
    VerifyIdentity,
}

impl fmt::Display for SslMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SslMode::Disabled => "DISABLED",
            SslMode::Preferred => "PREFERRED",
            SslMode::Required => "REQUIRED",
            SslMode::VerifyCa => "VERIFY_CA",
            SslMode::VerifyIdentity => "VERIFY_IDENTITY",
        })
    }
}

/// TLS options. The files are in PEM format; they are not opened here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SslOptions {
    /// Whether TLS is used and what is verified.
    pub mode: SslMode,
    /// Certificates of the CAs to trust, of which one must have signed the server's whatever the mode; `None` for the system's.
    pub ca: Option<PathBuf>,
    /// The client's certificate.
    pub cert: Option<PathBuf>,
    /// The client's private key.
    pub key: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    #[test]
    fn addresses_print_as_people_write_them() {
        let tcp = |host: &str| Address::Tcp { host: host.into(), port: 3306 }.to_string();
        assert_eq!(tcp("127.0.0.1"), "127.0.0.1:3306");
        assert_eq!(tcp("::1"), "[::1]:3306");
        assert_eq!(Address::Socket("/run/s.sock".into()).to_string(), "socket /run/s.sock");
    }

    #[test]
    fn ssl_modes_are_read_in_any_case_and_printed_as_mysql_writes_them() {
        for mode in SslMode::value_variants() {
            assert_eq!(SslMode::from_str(&mode.to_string().to_lowercase(), true).as_ref(), Ok(mode));
            assert_eq!(mode.to_possible_value().unwrap().get_name(), mode.to_string());
        }
    }
}
