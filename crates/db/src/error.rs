//! What can go wrong between drover and a server.

use std::io;

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

    /// Why MySQL could not show information_schema.INNODB_TRX, if this is that error: one transaction whose statement has a character of
    /// four bytes is enough (ER_CANNOT_CONVERT_STRING, seen with 9.7.4). It passes with that statement, of which the error's own text
    /// quotes a part.
    pub fn hidden_transactions(&self) -> Option<&'static str> {
        const CANNOT_CONVERT_STRING: u16 = 3854;
        (self.code() == Some(CANNOT_CONVERT_STRING)).then_some(
            "MySQL shows no transactions while one of them runs a statement with characters of four bytes (error 3854)",
        )
    }

    /// What a person can do about it, where that is known.
    pub fn hint(&self) -> Option<String> {
        let text = match self {
            Self::Connect { .. } => "is the server running, and are --host, --port and --socket right?",
            // 1698 is how MariaDB refuses an account that is bound to a user of the system.
            Self::Login { source, .. } if matches!(source.code, 1045 | 1698) => {
                "check --user and --password (-p asks for it); the account may also be limited to other hosts"
            }
            Self::Tls { .. } => {
                "--ssl-mode says how much is asked of TLS, --ssl-ca names who signs the server's certificate"
            }
            Self::Lost { .. } => {
                "look into the server's error log for a crash, a restart or a killed connection"
            }
            _ => return None,
        };
        Some(text.into())
    }
}

/// The result of talking to a server.
pub type Result<T> = std::result::Result<T, Error>;
