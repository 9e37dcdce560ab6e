//! From the command line, option files, a URL and the environment to one set of connection options, with the
//! mysql client's names and rules. Nothing here connects, prints or asks by itself.
//!
//! Sources from weakest to strongest: environment variables (`MYSQL_HOST`, `MYSQL_TCP_PORT`,
//! `MYSQL_UNIX_PORT`, `MYSQL_PWD`, `MYSQL_GROUP_SUFFIX`), the groups `[client]`, `[client-server]`,
//! `[client-mariadb]` and `[drover]` of the option files, `--url`, the other options of the command line. As for
//! every client of either vendor, an option that stands later in the files wins, whichever of the groups it is
//! in. `~/.mylogin.cnf` is not read.

mod address;
mod args;
mod error;
mod exchange;
mod files;
mod limits;
mod resolve;
mod secret;
mod server_file;
mod settings;
mod tls;
mod url;

use std::path::Path;
use std::time::Duration;

pub use address::{Address, Protocol};
pub use args::{ServerArgs, ask_on_terminal, normalise_arguments};
pub use error::{OptionError, Origin, UrlError};
pub use exchange::{PasswordExchange, ServerKey};
pub use limits::Load;
pub use resolve::{Resolved, beside};
pub use secret::{Secret, hide_passwords_in_process_list, without_passwords};
pub use server_file::ServerFile;
pub use tls::{SslMode, SslOptions};

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
