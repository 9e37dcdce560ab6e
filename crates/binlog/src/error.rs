//! What can go wrong with a binary log; every error names the log and the position.

use std::io;
use std::path::{Path, PathBuf};

use drover_db::{ErrorKind, er};

/// An error that ends the command.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or directory could not be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// Its path.
        path: PathBuf,
        /// The system's words.
        source: io::Error,
    },
    /// A log could not be read on.
    #[error("{log}: at {position}: {source}")]
    Read {
        /// What the log is called.
        log: String,
        /// Where the bytes were to be read, from the log's beginning.
        position: u64,
        /// The system's words.
        source: io::Error,
    },
    /// A log does not hold what it should.
    #[error("{log}: at {position}: {what}")]
    Damaged {
        /// What the log is called.
        log: String,
        /// Where the event begins in which the damage is.
        position: u64,
        /// What is wrong with it.
        what: String,
        /// Where the last transaction ends that is whole; `None` where nobody looked.
        whole: Option<u64>,
        /// Whether the log ends within the event, as where its server crashed while it wrote.
        is_torn: bool,
    },
    /// A server said no, or is gone.
    #[error("{doing}: {source}")]
    Server {
        /// What was being done.
        doing: String,
        /// The server's words.
        source: Box<drover_db::Error>,
    },
    /// A server did not send a log on.
    #[error("{log}: at {position}: {source}")]
    Sent {
        /// The log's name.
        log: String,
        /// Where the event begins that was to come.
        position: u64,
        /// The server's words, or how the connection ended.
        source: Box<drover_db::Error>,
        /// Where the last transaction ends that is whole; `None` where nobody looked.
        whole: Option<u64>,
    },
    /// The server that logs are applied to said no, or is gone.
    #[error("{doing}: {source}")]
    Target {
        /// What was being done, with the log and the position.
        doing: String,
        /// The server's words.
        source: Box<drover_db::Error>,
    },
    /// Something else is wrong with what was asked for or found.
    #[error("{what}")]
    Found {
        /// What is wrong, with the log and the position where it is.
        what: String,
        /// What a person can do about it.
        hint: Option<String>,
    },
    /// The target is a node of a cluster, which does not take something of the logs.
    #[error("{what}")]
    Refused {
        /// What that is, with the log and the position where it is.
        what: String,
        /// What a person can do about it.
        hint: &'static str,
    },
    /// Something cannot be watched, or a limit is exceeded that ends the work.
    #[error("{0}")]
    Throttle(drover_throttle::Error),
    /// A person or a signal stopped the work.
    #[error("stopped by a signal")]
    Stopped,
    /// The same, where what was done so far is noted.
    #[error("stopped by a signal")]
    StoppedMidway,
}

impl From<drover_throttle::Error> for Error {
    fn from(error: drover_throttle::Error) -> Self {
        match error {
            drover_throttle::Error::Server { doing, source } => {
                Self::Target { doing: doing.into(), source: Box::new(source) }
            }
            drover_throttle::Error::Stopped => Self::Stopped,
            other => Self::Throttle(other),
        }
    }
}

impl Error {
    /// An error without a hint.
    pub(crate) fn found(what: impl Into<String>) -> Self {
        Self::Found { what: what.into(), hint: None }
    }

    /// An error with a hint.
    pub(crate) fn with_hint(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Found { what: what.into(), hint: Some(hint.into()) }
    }

    pub(crate) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::File { path: path.to_owned(), source }
    }

    /// An error of standard output.
    pub(crate) fn writing(source: io::Error) -> Self {
        Self::File { path: "standard output".into(), source }
    }

    /// An error of what a log is read from, which may be one of ours.
    pub(crate) fn read(log: &str, position: u64, source: io::Error) -> Self {
        match source.downcast() {
            Ok(error) => error,
            Err(source) => Self::Read { log: log.into(), position, source },
        }
    }

    /// The same error of a log whose last whole transaction ends there.
    pub(crate) fn with_whole(self, end: u64) -> Self {
        match self {
            Self::Damaged { log, position, what, is_torn, .. } => {
                Self::Damaged { log, position, what, whole: Some(end), is_torn }
            }
            Self::Sent { log, position, source, .. } => {
                Self::Sent { log, position, source, whole: Some(end) }
            }
            other => other,
        }
    }

    /// Whether a log ends within an event.
    pub(crate) fn is_torn(&self) -> bool {
        matches!(self, Self::Damaged { is_torn: true, .. })
    }

    /// The same error of a command that goes on in another way behind what a server has sent.
    pub(crate) fn with_way_on(self, way: &str) -> Self {
        match &self {
            Self::Sent { source, .. } if server_hint(source).is_none() => {
                Self::with_hint(self.to_string(), way)
            }
            _ => self,
        }
    }

    /// What a person can do about it, where that is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Damaged { whole: Some(end), .. } => Some(format!(
                "the last whole transaction ends at {end}; all before it is right: --stop-position {end} reads just that, with no \
                 log named behind this one"
            )),
            Self::Read { log, source, .. } if source.kind() == io::ErrorKind::Unsupported => {
                Some(format!("unpack it first: zstd -d --long=31 {log}"))
            }
            Self::Server { source, .. } => server_hint(source),
            Self::Sent { log, position, source, whole } => server_hint(source).or_else(|| {
                Some(format!(
                    "to go on from there: --from-server --start-position {} {log}",
                    whole.unwrap_or(*position)
                ))
            }),
            Self::File { source, .. } if source.kind() == io::ErrorKind::StorageFull => {
                Some(FREE_SPACE.into())
            }
            Self::Target { source, .. } => target_hint(source),
            Self::Found { hint, .. } => hint.clone(),
            Self::Throttle(error) => error.hint(),
            Self::Refused { hint, .. } => Some((*hint).into()),
            Self::StoppedMidway => Some("the same command with --resume resumes it".into()),
            _ => None,
        }
    }
}

/// What to do about a full disk.
pub(crate) const FREE_SPACE: &str = "free some space, or name a directory on another disk";

/// What a server says of a stream has one number, and differs by its text. Sources: MySQL `sql/rpl_binlog_sender.cc`, MariaDB
/// `sql/sql_repl.cc`.
const STREAM_HINTS: [(&[&str], &str); 7] = [
    (
        &["find first log file"],
        "SHOW BINARY LOGS lists the logs that are there; older ones may have been purged",
    ),
    (
        &["> file size", "impossible position", "bogus data", "max_allowed_packet", "truncated", "corrupt"],
        "a position must be where an event begins, as drover binlog ls tells it: a log that was begun anew under the same name has others; \
         if it is one, the server's log is damaged",
    ),
    (
        &["same server_uuid", "same server_id"],
        "another reader came with the same server_id: --server-id-as gives this one another",
    ),
    (
        &[
            "has purged",
            "purged required",
            "gtid state requested",
            "not in the master's binlog",
            "missing the gtid",
            "missing gtids",
        ],
        "what comes behind these transactions is in logs that the server does not have any more, or they are not its own",
    ),
    (
        &["cannot replicate gtid-transaction"],
        "the log has transactions with GTIDs, and the server's gtid_mode is OFF: with OFF_PERMISSIVE it sends them, from any position; or read \
         the files",
    ),
    (&["gtid_mode"], "that server gives out no GTIDs: name a log and --start-position, or read the files"),
    (&["log is not open", "log is not enabled"], NO_LOG),
];

const NO_LOG: &str = "the server writes no binary log: it has to be started with --log-bin";

fn server_hint(error: &drover_db::Error) -> Option<String> {
    let hint = match error {
        drover_db::Error::Server(error) => match error.kind() {
            ErrorKind::Denied => {
                "GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO the account, or use another"
            }
            _ if error.code == er::NO_BINARY_LOGGING => NO_LOG,
            _ => {
                let text = error.message.to_lowercase();
                let fits = |(texts, _): &&(&[&str], &str)| texts.iter().any(|part| text.contains(part));
                STREAM_HINTS.iter().find(fits)?.1
            }
        },
        drover_db::Error::Lost { .. } => return None,
        other => return other.hint(),
    };
    Some(hint.into())
}

fn target_hint(error: &drover_db::Error) -> Option<String> {
    let hint = match error.code() {
        Some(
            er::KEY_NOT_FOUND
            | er::DUP_ENTRY
            | er::TABLE_EXISTS
            | er::BAD_TABLE
            | er::NO_SUCH_TABLE
            | er::BAD_DB
            | er::DB_CREATE_EXISTS,
        ) => {
            "the target is not what the logs' server was where the logs begin: restore the dump that was taken before them, and replay with \
             --after and that dump"
        }
        _ if error.is_denied() => {
            "the account needs all rights on what is changed, and BINLOG_ADMIN or REPLICATION_APPLIER, SESSION_VARIABLES_ADMIN (MySQL from 8.0 on), \
             BINLOG REPLAY, BINLOG ADMIN (MariaDB from 10.5 on) or SUPER (older ones); for programs of other definers SET_ANY_DEFINER (MySQL; SET_USER_ID \
             before 8.2), SET USER (MariaDB), SUPER on older ones, and SYSTEM_USER for a definer that has it; and may make the schema \
             drover. Where nobody gets these, as on managed servers: drover binlog sql --columns-of URL LOG | mysql"
        }
        Some(er::BINLOG_UNSAFE_ROUTINE | er::BINLOG_CREATE_ROUTINE_NEED_SUPER) => {
            "SET GLOBAL log_bin_trust_function_creators = ON on the target, then --resume"
        }
        Some(
            er::NOT_ALLOWED_COMMAND | er::CLIENT_LOCAL_FILES_DISABLED | er::LOAD_INFILE_CAPABILITY_DISABLED,
        ) => "SET GLOBAL local_infile = ON on the target",
        // MariaDB `sql/sql_binlog.cc`, `mysql_client_binlog_statement()`: of what applying an event reports it keeps the text for its log.
        Some(er::UNKNOWN_ERROR) => {
            "the target's error log tells why: it may be that a column has another type there than where the log was written"
        }
        Some(er::OPTION_PREVENTS_STATEMENT) if is_read_only(error) => {
            "the target is read-only: SET GLOBAL read_only = OFF there (super_read_only too on MySQL), then --resume"
        }
        Some(er::NET_PACKET_TOO_LARGE) => "SET GLOBAL max_allowed_packet on the target, to 1G at most",
        Some(_) if error.hint().is_none() => PAST,
        _ => return error.hint(),
    };
    Some(hint.into())
}

/// Whether an option of the server that prevents a statement is that: `--read-only`, `--super-read-only`, `read_only`.
fn is_read_only(error: &drover_db::Error) -> bool {
    let text = error.to_string().to_lowercase();
    text.contains("read-only") || text.contains("read_only")
}

/// How to go on where the target does not take a statement.
const PAST: &str = "put right on the target what it needs, then --resume; who does not want this transaction goes on behind it: with --resume and \
    --exclude-gtids, or --start-position with a number above its own, and this log named first, beside the same --name (drover binlog ls shows \
    positions and GTIDs)";

/// The result of the binlog family.
pub type Result<T, E = Error> = std::result::Result<T, E>;
