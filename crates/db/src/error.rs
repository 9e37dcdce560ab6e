//! What can go wrong between drover and a server.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::er;
use crate::node::Cluster;

/// An error the server sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} (error {code}, SQLSTATE {state})")]
pub struct ServerError {
    /// The server's error number, such as 1146; the numbers up to 1880 mean the same on both vendors.
    pub code: u16,
    /// The SQLSTATE, five characters.
    pub state: String,
    /// The server's words.
    pub message: String,
}

/// What an error of a server is about, whatever its number: who asks for a kind counts the same numbers as everybody else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The account lacks a privilege.
    Denied,
    /// Another session was in the way, or was chosen to go first: tried again, the same may go well.
    Contended,
    /// The statement took longer than it may.
    TimedOut,
    /// Somebody ended the statement or the session, or the server is being shut down.
    Ended,
    /// The server has no memory for it at the moment.
    OutOfMemory,
    /// The server's disk, or a table, is full.
    Full,
    /// The server has no such schema, table, column, variable or routine.
    Missing,
    /// A key has that value already.
    Duplicate,
    /// The server takes no changes.
    ReadOnly,
    /// The server does not understand the statement.
    Syntax,
    /// Anything else.
    Other,
}

impl Kind {
    /// Of what kind an error number is.
    pub fn of(code: u16) -> Self {
        match code {
            er::DBACCESS_DENIED
            | er::ACCESS_DENIED
            | er::TABLEACCESS_DENIED
            | er::COLUMNACCESS_DENIED
            | er::SPECIFIC_ACCESS_DENIED
            | er::PROCACCESS_DENIED => Self::Denied,
            er::CHECKREAD
            | er::LOCK_WAIT_TIMEOUT
            | er::LOCK_DEADLOCK
            | er::TIDB_TRANSACTION_RETRY
            | er::TIDB_TRANSACTION_RETRIED_OUT
            | er::TIDB_SCHEMA_CHANGED
            | er::TIDB_PD_TIMEOUT..=er::TIDB_REGION_UNAVAILABLE
            | er::TIDB_WRITE_CONFLICT => Self::Contended,
            er::STATEMENT_TIMEOUT | er::QUERY_TIMEOUT => Self::TimedOut,
            er::SERVER_SHUTDOWN | er::QUERY_INTERRUPTED | er::CONNECTION_KILLED => Self::Ended,
            er::OUTOFMEMORY | er::OUT_OF_RESOURCES => Self::OutOfMemory,
            er::DISK_FULL | er::RECORD_FILE_FULL => Self::Full,
            // NO_DB is what MySQL from 5.7 on says of a function where no schema is chosen.
            er::NO_DB
            | er::BAD_DB
            | er::BAD_FIELD
            | er::UNKNOWN_TABLE
            | er::NO_SUCH_TABLE
            | er::UNKNOWN_SYSTEM_VARIABLE
            | er::SP_DOES_NOT_EXIST => Self::Missing,
            er::DUP_ENTRY => Self::Duplicate,
            er::OPTION_PREVENTS_STATEMENT
            | er::CANT_EXECUTE_IN_READ_ONLY_TRANSACTION
            | er::READ_ONLY_MODE => Self::ReadOnly,
            er::PARSE_ERROR => Self::Syntax,
            _ => Self::Other,
        }
    }
}

impl ServerError {
    /// What it is about.
    pub fn kind(&self) -> Kind {
        Kind::of(self.code)
    }

    /// Whether the server takes no changes. With the same number it also says that other options of it prevent a statement.
    fn is_read_only(&self) -> bool {
        let text = self.message.to_lowercase();
        self.kind() == Kind::ReadOnly
            && ["read-only", "read_only", "read only"].iter().any(|word| text.contains(word))
    }
}

/// An error of a connection or of a statement sent over it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No connection could be made.
    #[error("cannot connect to {to}: {source}")]
    Connect {
        /// The address as a person would write it.
        to: String,
        /// What the system said.
        source: io::Error,
    },
    /// Connecting, TLS and the login took longer than they may together.
    #[error("{to} did not complete the login within {} s", limit.as_secs_f64())]
    TooSlow {
        /// The address.
        to: String,
        /// How long they may take.
        limit: Duration,
    },
    /// A signal came before the login was done, or other work was to stop.
    #[error("the login at {to} was interrupted")]
    Interrupted {
        /// The address.
        to: String,
    },
    /// The server refused the login.
    #[error("{to} refused the login of '{user}': {source}")]
    Login {
        /// The address.
        to: String,
        /// The user name that was sent.
        user: String,
        /// The server's words.
        source: Box<ServerError>,
    },
    /// TLS could not be set up as asked.
    #[error("no TLS with {to}: {why}")]
    Tls {
        /// The address.
        to: String,
        /// What failed.
        why: String,
    },
    /// The server's TLS is too old, or has no cipher that today's clients have.
    #[error("no TLS with {to}: {offers}")]
    TlsTooOld {
        /// The address.
        to: String,
        /// What the server offers.
        offers: String,
    },
    /// The server asked for the password in a way that tells it to whoever listens, or to whoever takes the server's place.
    #[error("{to} asks for the password of '{user}' {way}")]
    Exposed {
        /// The address.
        to: String,
        /// The user name that was sent.
        user: String,
        /// In which way.
        way: Exposure,
    },
    /// The account logs in by a plugin that drover does not have.
    #[error("{to} wants a login by the authentication plugin '{plugin}', which drover does not have")]
    Plugin {
        /// The address.
        to: String,
        /// The plugin's name.
        plugin: String,
    },
    /// The file that is to hold the server's public key cannot be used.
    #[error("cannot use the server's public key in {}: {source}", path.display())]
    ServerKey {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: io::Error,
    },
    /// The server answered a statement with an error.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// The connection broke. Nothing on it can be trusted any more: a snapshot or lock it held is gone.
    #[error("the connection to {to} was lost: {source}")]
    Lost {
        /// The address.
        to: String,
        /// What the system said.
        source: io::Error,
    },
    /// The server sent bytes that are not what the protocol allows here.
    #[error("{to} sent something unexpected: {what}")]
    Protocol {
        /// The address.
        to: String,
        /// What was wrong with it.
        what: String,
    },
    /// Connections to one address lead to different servers.
    #[error("{to} leads to more than one server: the first connection is to {first}, another to {other}")]
    OtherServer {
        /// The address.
        to: String,
        /// The server of the first connection.
        first: String,
        /// That of a later one; the same words may stand for a copy of it.
        other: String,
    },
    /// The connection that proves which server an address leads to was lost, and a new one may lead to another.
    #[error(
        "the first connection to {to} ({server}) was lost; whether a new one leads to the same server cannot be proved"
    )]
    Unproved {
        /// The address.
        to: String,
        /// What the server calls itself; a copy of it does the same.
        server: String,
    },
    /// The server is a node of a cluster, and has not applied in time what was committed on others.
    #[error("{to} is behind its cluster: what others have committed is not to be seen there yet: {why}")]
    Behind {
        /// The address.
        to: String,
        /// What keeps the nodes alike.
        cluster: Cluster,
        /// The server's words, or that there were none.
        why: String,
    },
    /// What was to be sent to the server could not be read.
    #[error("{0}")]
    Source(io::Error),
}

impl Error {
    /// The server's error number, if the server sent one.
    pub fn code(&self) -> Option<u16> {
        match self {
            Self::Server(error) => Some(error.code),
            Self::Login { source, .. } => Some(source.code),
            _ => None,
        }
    }

    /// What it is about, if the server sent it as the answer to a statement.
    pub fn kind(&self) -> Option<Kind> {
        match self {
            Self::Server(error) => Some(error.kind()),
            _ => None,
        }
    }

    /// Whether the account lacks a privilege.
    pub fn is_denied(&self) -> bool {
        self.kind() == Some(Kind::Denied)
    }

    /// Whether another session was in the way: tried again, the same may go well.
    pub fn is_contended(&self) -> bool {
        self.kind() == Some(Kind::Contended)
    }

    /// Whether the server gives out no connection now: it is full, or the account has as many as it may have at once.
    pub fn is_full(&self) -> bool {
        let error = match self {
            Self::Server(error) => error,
            Self::Login { source, .. } => source,
            _ => return false,
        };
        match error.code {
            er::CON_COUNT_ERROR | er::TOO_MANY_USER_CONNECTIONS => true,
            // Others are so many in an hour.
            er::USER_LIMIT_REACHED => error.message.contains("max_user_connections"),
            _ => false,
        }
    }

    /// Why MySQL could not show information_schema.INNODB_TRX, if this is that error: one transaction whose statement has a character of
    /// four bytes is enough (ER_CANNOT_CONVERT_STRING, seen with 9.7.4). It passes with that statement, of which the error's own text
    /// quotes a part.
    pub fn hidden_transactions(&self) -> Option<&'static str> {
        (self.code() == Some(er::CANNOT_CONVERT_STRING)).then_some(
            "MySQL shows no transactions while one of them runs a statement with characters of four bytes (error 3854)",
        )
    }

    /// What a person can do about it, where that is known.
    pub fn hint(&self) -> Option<String> {
        let text = match self {
            _ if self.is_full() => {
                "SHOW PROCESSLIST shows who has them (max_user_connections, max_connections); for a dump or a restore three connections at once are enough, then \
                 with one worker; a dump of tables without transactions (MyISAM) needs four, and limits that are watched one more"
            }
            Self::Server(error) if error.is_read_only() => {
                "the server takes no changes: it is a replica, or read_only is set there; use the one that is written to"
            }
            Self::Connect { .. } => {
                "is the server running, and are --host, --port and --socket, or those of the URL, right?"
            }
            Self::TooSlow { .. } => {
                "the server may be overloaded, or something else listens there; --connect-timeout allows more seconds"
            }
            // 1698 is how MariaDB refuses an account that is bound to a user of the system.
            Self::Login { source, .. }
                if matches!(source.code, er::ACCESS_DENIED | er::ACCESS_DENIED_NO_PASSWORD) =>
            {
                "check the user and the password: --user and --password (-p asks for it), or those of the URL; the account may also be limited to other \
                 hosts, or to TLS"
            }
            Self::Tls { .. } => {
                "--ssl-mode says how much is asked of TLS, --ssl-ca names who signs the server's certificate"
            }
            Self::TlsTooOld { .. } => {
                "--ssl-mode=DISABLED, in a URL ?ssl-mode=DISABLED, does without TLS, on a network that you trust; or use the Unix socket on the server's host, through an \
                 SSH tunnel for example"
            }
            Self::Plugin { plugin, .. } if plugin == "mysql_old_password" => {
                "the account's password is kept as before MySQL 4.1: set it anew there, with old_passwords = 0"
            }
            Self::Plugin { .. } => {
                "use an account of another plugin, such as mysql_native_password, caching_sha2_password, ed25519 or unix_socket"
            }
            Self::Exposed { way, .. } => way.hint(),
            Self::ServerKey { .. } => {
                "--server-public-key-path names a copy of the file public_key.pem in the server's data directory"
            }
            _ => return self.hint_later().map(Into::into),
        };
        Some(text.into())
    }

    /// The same of what goes wrong behind the login.
    fn hint_later(&self) -> Option<&'static str> {
        match self {
            Self::Lost { .. } => {
                Some("look into the server's error log for a crash, a restart or a killed connection")
            }
            Self::Unproved { .. } => Some(
                "it holds a lock by name and is idle: let nothing end idle connections meanwhile, and run the command again",
            ),
            Self::Behind { cluster: Cluster::Galera, .. } => Some(
                "wait until it has caught up (SHOW STATUS LIKE 'wsrep_local_recv_queue' shows 0), or name another node; SHOW PROCESSLIST shows \
                 who locks all tables there",
            ),
            Self::Behind { .. } => Some(
                "performance_schema.replication_group_members shows the members, replication_group_member_stats how far they are: wait until it has \
                 caught up, or name another one; with STOP GROUP_REPLICATION it is a server of its own, whose rows can be read as they are",
            ),
            Self::OtherServer { .. } => Some(
                "name one server itself: no reader endpoint, no name with several addresses, no proxy or balancer that deals out \
                 connections or statements",
            ),
            _ => None,
        }
    }
}

/// How a password would come to be known to others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exposure {
    /// Encrypted with a key that came over a connection that others can change.
    UnknownKey,
    /// As it is, to a server that may be another one.
    Cleartext,
    /// As it is, over a connection that others can read.
    OpenCleartext,
}

impl Exposure {
    fn hint(self) -> &'static str {
        match self {
            Self::UnknownKey => {
                "use --ssl-mode=REQUIRED or the Unix socket; or --server-public-key-path=FILE with a copy of the server's key; \
                 or, on a network you trust, --get-server-public-key"
            }
            Self::Cleartext => {
                "--enable-cleartext-plugin sends it; --ssl-ca makes sure that it is the server who gets it"
            }
            Self::OpenCleartext => {
                "--ssl-mode=REQUIRED or the Unix socket hides it from the network; --enable-cleartext-plugin allows it then"
            }
        }
    }
}

impl fmt::Display for Exposure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UnknownKey => {
                "encrypted with a key that it sends without TLS: whoever is between could send another one"
            }
            Self::Cleartext => "in clear text ('mysql_clear_password')",
            Self::OpenCleartext => "in clear text over a connection without TLS ('mysql_clear_password')",
        })
    }
}

/// The result of talking to a server.
pub type Result<T> = std::result::Result<T, Error>;
