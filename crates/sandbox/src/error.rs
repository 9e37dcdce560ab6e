//! What can go wrong with a sandbox, and what to do about it.

use std::io;
use std::path::{Path, PathBuf};

use crate::{Flavour, SandboxName, Topology};

/// Why a sandbox could not be started, found or stopped. Messages name the path, the name or the server's own words.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No server of the flavour asked for (`None`: of either) is on this host.
    #[error("no {} server{} found; looked in {}", title(*wanted), of_version(version.as_deref()), looked_in.join(", "))]
    NotFound {
        /// The flavour that was asked for.
        wanted: Option<Flavour>,
        /// The version that was asked for.
        version: Option<String>,
        /// The places searched, with what was found there and did not fit.
        looked_in: Vec<String>,
    },

    /// The path given does not hold a server that runs.
    #[error("{} is not a server: {reason}", path.display())]
    NotAServer {
        /// The path as given.
        path: PathBuf,
        /// What was seen instead.
        reason: String,
    },

    /// The server at the path given is of the other vendor.
    #[error("{} is {} {version}, but {} was asked for", path.display(), found.title(), wanted.title())]
    WrongFlavour {
        /// The path as given.
        path: PathBuf,
        /// The flavour asked for.
        wanted: Flavour,
        /// The flavour of the server there.
        found: Flavour,
        /// Its version.
        version: String,
    },

    /// The text is no flavour.
    #[error("{text:?} is neither mariadb nor mysql")]
    BadFlavour {
        /// The text given.
        text: String,
    },

    /// The text can't name a sandbox.
    #[error("{text:?} cannot name a sandbox")]
    BadName {
        /// The text given.
        text: String,
    },

    /// A sandbox of this name exists already.
    #[error("there is a sandbox named {name} already, in {}", dir.display())]
    NameTaken {
        /// The name.
        name: SandboxName,
        /// Its directory.
        dir: PathBuf,
    },

    /// No sandbox has this name.
    #[error("no sandbox is named {name} in {}", root.display())]
    NoSuchSandbox {
        /// The name asked for.
        name: SandboxName,
        /// Where sandboxes are kept.
        root: PathBuf,
        /// The names that exist.
        known: Vec<SandboxName>,
    },

    /// The sandbox exists, but its server does not run.
    #[error("the server of sandbox {name} is not running")]
    NotRunning {
        /// The name.
        name: SandboxName,
    },

    /// The server ended before it was ready.
    #[error("the server exited before it was ready; {}", ends_with(log, log_tail))]
    ExitedEarly {
        /// Its error log (gone by now, unless the sandbox existed before).
        log: PathBuf,
        /// The last lines of it.
        log_tail: String,
    },

    /// The port was free when it was chosen, and somebody else's when the server opened it.
    #[error("the server could not open port {port}; {}", ends_with(log, log_tail))]
    PortTaken {
        /// The TCP port.
        port: u16,
        /// Its error log.
        log: PathBuf,
        /// The last lines of it.
        log_tail: String,
    },

    /// The server runs, but did not greet in time.
    #[error("the server was not ready after {seconds} s; {}", ends_with(log, log_tail))]
    NotReady {
        /// How long it was given, in seconds.
        seconds: u64,
        /// Its error log.
        log: PathBuf,
        /// The last lines of it.
        log_tail: String,
    },

    /// An ephemeral server ended by itself while it was waited on.
    #[error("the server of sandbox {name} ended by itself; {}", ends_with(log, log_tail))]
    Died {
        /// The name of the sandbox.
        name: SandboxName,
        /// Its error log.
        log: PathBuf,
        /// The last lines of it.
        log_tail: String,
    },

    /// The vendor's servers cannot do that.
    #[error("{} has no topology {topology}", wanted.title())]
    NoSuchTopology {
        /// The topology asked for.
        topology: Topology,
        /// The flavour asked for, or found.
        wanted: Flavour,
        /// The one that has it.
        only: Flavour,
    },

    /// Several servers cannot have the same port.
    #[error("--port cannot be given for a topology of several servers ({topology})")]
    PortOfSeveral {
        /// The topology.
        topology: Topology,
    },

    /// A link has a place only where a source and a replica are.
    #[error("--link cannot be given for --topology {topology}: a link is between a source and its replica")]
    NoPlaceForLink {
        /// The topology.
        topology: Topology,
    },

    /// The topology was started without a link, or is none.
    #[error("{name} has no link")]
    NoLink {
        /// The name asked for.
        name: SandboxName,
    },

    /// The process that is to carry a link ended, or did not listen in time.
    #[error("the link's process did not come up; {}", ends_with(log, log_tail))]
    NoForwarder {
        /// Its log.
        log: PathBuf,
        /// The last lines of it.
        log_tail: String,
    },

    /// The library that makes a Galera node of a MariaDB server is not on this host.
    #[error("no library of Galera found; looked in {}", looked_in.join(", "))]
    NoGalera {
        /// The directories.
        looked_in: Vec<String>,
    },

    /// A Galera node cannot have its files there.
    #[error("the path of a node of Galera can hold only letters, digits and the characters /._-: {}", path.display())]
    PathNotPlain {
        /// The node's directory.
        path: PathBuf,
    },

    /// Something went wrong with one node of a topology.
    #[error("node {name}: {source}")]
    Node {
        /// The node's name.
        name: SandboxName,
        /// What went wrong.
        source: Box<Error>,
    },

    /// A node runs, or ran, but did not become what it should.
    #[error("the server did not come to {what}{}; {}", because(why), ends_with(log, log_tail))]
    NotFormed {
        /// What it should have come to.
        what: &'static str,
        /// What it said last; may be empty.
        why: String,
        /// Its error log.
        log: PathBuf,
        /// The last lines of it.
        log_tail: String,
    },

    /// A node refused a statement that makes it one.
    #[error("the server could not be set up: {source}; {}", ends_with(log, log_tail))]
    Statement {
        /// The server's words.
        source: drover_db::Error,
        /// Its error log.
        log: PathBuf,
        /// The last lines of it.
        log_tail: String,
    },

    /// A new data directory could not be filled.
    #[error("{} could not initialise a data directory; it said:\n{}", server.display(), indent(output))]
    Initialise {
        /// The server binary.
        server: PathBuf,
        /// The last lines that it wrote.
        output: String,
    },

    /// A server option that would take from the sandbox what it must know.
    #[error("the server option {option} cannot be given: the sandbox sets it")]
    ReservedOption {
        /// The option as given.
        option: String,
    },

    /// No directory with a short enough path for the socket could be found.
    #[error("the socket's path is longer than the 107 bytes that the system allows: {}", path.display())]
    SocketPathTooLong {
        /// The path.
        path: PathBuf,
    },

    /// The environment does not say where the user's files belong.
    #[error("cannot tell where to keep {what}: neither {variable} nor HOME is set")]
    NoHome {
        /// What was to be kept.
        what: &'static str,
        /// The variable that could say so.
        variable: &'static str,
    },

    /// A sandbox's description could not be understood.
    #[error("{} does not describe a sandbox: {source}", path.display())]
    BadRecord {
        /// The `sandbox.json`.
        path: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },

    /// The file system or the system refused something.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// On which file, directory or program.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
}

impl Error {
    /// For `map_err`: an I/O error that says what was tried on which path.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }

    /// This error as that of one node, unless it is that already.
    pub(crate) fn of_node(self, name: &SandboxName) -> Self {
        match self {
            node @ Self::Node { .. } => node,
            source => Self::Node { name: name.clone(), source: Box::new(source) },
        }
    }

    /// Whether a port was somebody else's. Galera says it of its own ports in the log only, and a link's process there.
    pub(crate) fn is_port_taken(&self) -> bool {
        match self {
            Self::Node { source, .. } => source.is_port_taken(),
            Self::PortTaken { .. } => true,
            Self::ExitedEarly { log_tail, .. }
            | Self::NotFormed { log_tail, .. }
            | Self::NoForwarder { log_tail, .. } => log_tail.contains("Address already in use"),
            _ => false,
        }
    }

    /// What the person at the keyboard can do about it, if that is known.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NotFound { version: Some(version), .. } => Some(format!(
                "`scripts/servers {version}` fetches one, if it is known to it; or name one with --server PATH"
            )),
            Self::NotFound { version: None, .. } => Some(
                "`scripts/setup` fetches both vendors' servers; or name one with --server PATH".to_owned(),
            ),
            Self::NotAServer { .. } => {
                Some("name a mariadbd or mysqld binary, or a directory that holds one".to_owned())
            }
            Self::WrongFlavour { found, .. } => {
                Some(format!("ask for --flavour {found}, or for another server"))
            }
            Self::BadName { .. } => Some(
                "a name has 1 to 64 letters, digits, '-', '_' and '.', and starts with a letter or a digit"
                    .to_owned(),
            ),
            Self::NameTaken { name, .. } => {
                Some(format!("choose another --name, or remove it with `drover sandbox stop {name}`"))
            }
            Self::NoSuchSandbox { known, .. } => Some(known_names(known)),
            Self::NotRunning { name } => {
                Some(format!("`drover sandbox stop {name}` removes what is left of it"))
            }
            Self::NoSuchTopology { topology, only, .. } => Some(format!(
                "{topology} is {}'s: give --flavour {only}; both vendors have --topology replica",
                only.title()
            )),
            Self::PortOfSeveral { .. } => {
                Some("leave it out: each node gets a free port of its own".to_owned())
            }
            Self::NoPlaceForLink { .. } => Some("give --topology replica".to_owned()),
            Self::NoLink { .. } => Some(
                "`drover sandbox start --topology replica --link RATE` starts one with a link".to_owned(),
            ),
            Self::NoGalera { .. } => {
                Some("`scripts/setup` fetches it; Debian's package is galera-4".to_owned())
            }
            Self::PathNotPlain { .. } => {
                Some("set DROVER_SANDBOX_DIR, or for --ephemeral TMPDIR, to another directory".to_owned())
            }
            Self::Node { source, .. } => source.hint(),
            Self::ReservedOption { .. } => {
                Some("DROVER_SANDBOX_DIR says where sandboxes are kept; leave the option out".to_owned())
            }
            Self::SocketPathTooLong { .. } => Some("set TMPDIR to a directory with a short path".to_owned()),
            Self::NoHome { variable, .. } => Some(format!("set HOME or {variable}")),
            Self::BadRecord { path, .. } => path
                .parent()
                .map(|dir| format!("if it was a sandbox, end its server and remove {}", dir.display())),
            _ => None,
        }
    }
}

fn of_version(version: Option<&str>) -> String {
    version.map_or(String::new(), |version| format!(" of version {version}"))
}

fn title(wanted: Option<Flavour>) -> &'static str {
    wanted.map_or("MariaDB or MySQL", Flavour::title)
}

fn known_names(known: &[SandboxName]) -> String {
    if known.is_empty() {
        return "there are none; `drover sandbox start` makes one".to_owned();
    }
    let names: Vec<&str> = known.iter().map(SandboxName::as_str).collect();
    format!("there are: {}", names.join(", "))
}

fn ends_with(log: &Path, tail: &str) -> String {
    if tail.is_empty() {
        return format!("it wrote nothing to its error log {}", log.display());
    }
    format!("its error log {} ends with:\n{}", log.display(), indent(tail))
}

fn because(why: &str) -> String {
    if why.is_empty() { String::new() } else { format!(" ({why})") }
}

fn indent(text: &str) -> String {
    text.lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_server_says_where_it_was_looked_for() {
        let error = Error::NotFound {
            wanted: Some(Flavour::MySql),
            version: None,
            looked_in: vec!["/a".into(), "/b".into()],
        };
        assert_eq!(error.to_string(), "no MySQL server found; looked in /a, /b");
        assert!(error.hint().unwrap().contains("scripts/setup"));
    }

    #[test]
    fn the_log_tail_is_indented_below_the_message() {
        let error = Error::ExitedEarly { log: "/x/error.log".into(), log_tail: "one\ntwo".into() };
        let text =
            "the server exited before it was ready; its error log /x/error.log ends with:\n  one\n  two";
        assert_eq!(error.to_string(), text);
    }

    #[test]
    fn an_unknown_name_hints_at_the_known_ones() {
        let name = |text: &str| text.parse::<SandboxName>().unwrap();
        let known = vec![name("a"), name("b")];
        let error = Error::NoSuchSandbox { name: name("x"), root: "/r".into(), known };
        assert_eq!(error.hint().unwrap(), "there are: a, b");
    }
}
