//! What can go wrong between the command line and a set of connection options, in words that name the source
//! of the bad value and never contain a password.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// The parameters that may follow the `?`; they mean what the options of the same names mean.
pub(super) const PARAMETERS: [&str; 10] = [
    "ssl-mode",
    "ssl-ca",
    "ssl-cert",
    "ssl-key",
    "socket",
    "protocol",
    "connect-timeout",
    "get-server-public-key",
    "server-public-key-path",
    "enable-cleartext-plugin",
];

/// Where a value was read from, for error messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The environment variable of this name.
    Environment(&'static str),
    /// A line of an option file; lines count from 1.
    File {
        /// The option file.
        path: PathBuf,
        /// The line, from 1.
        line: u32,
    },
    /// The query part of a server URL.
    Url,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Environment(name) => write!(f, "environment variable {name}"),
            Origin::File { path, line } => write!(f, "{}:{line}", path.display()),
            Origin::Url => f.write_str("server URL"),
        }
    }
}

/// Why no connection options could be made. No message contains a password, nor any part of a URL.
#[derive(Debug, thiserror::Error)]
pub enum OptionError {
    /// An option file that was named on the command line cannot be read.
    #[error("cannot read option file {}: {source}", path.display())]
    File {
        /// The option file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Any user of the host may have put something into an option file that was named on the command line.
    #[error("cannot use option file {}: anyone can write to it", path.display())]
    AnyoneWrites {
        /// The option file.
        path: PathBuf,
    },
    /// The directory of an `!includedir` line cannot be read.
    #[error("{origin}: cannot read the directory {} to include: {source}", directory.display())]
    IncludeDirectory {
        /// The `!includedir` line.
        origin: Origin,
        /// The directory it names.
        directory: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// An option stands before the first `[group]` line.
    #[error("{0}: an option stands before the first [group] line")]
    NoGroup(Origin),
    /// A group line has no closing bracket.
    #[error("{0}: a group line has no closing ]")]
    BadGroup(Origin),
    /// A line that matters is not UTF-8.
    #[error("{0} is not valid UTF-8")]
    NotUtf8(Origin),
    /// The `[drover]` group has an option that drover doesn't know.
    #[error("{origin}: unknown option '{name}' in a [drover] group")]
    UnknownOption {
        /// The line of the option.
        origin: Origin,
        /// Its name as written, up to the first character that no name has.
        name: String,
    },
    /// A known option has a value that it cannot have, or lacks one.
    #[error("{origin}: {name} must be {expected}{}", but_found(found.as_deref()))]
    BadValue {
        /// Where the value stands.
        origin: Origin,
        /// The option's name.
        name: String,
        /// What it could be, for people.
        expected: &'static str,
        /// What was found, if it can be shown.
        found: Option<String>,
    },
    /// A server URL is malformed.
    #[error("the server URL {0}")]
    Url(#[from] UrlError),
    /// A socket was asked for together with the name of another host.
    #[error("protocol 'socket' reaches only a server on this host, but the host is '{host}'")]
    SocketToOtherHost {
        /// The host that was asked for.
        host: String,
    },
    /// Nobody typed a password.
    #[error("cannot ask for the password: {0}")]
    Ask(#[source] io::Error),
    /// No user name was given, and the operating system has none for this process.
    #[error("no user name: none was given and this process's user has no name")]
    NoUser,
}

/// What is wrong with a server URL. No part of it is quoted: a stray character can make any part a piece of
/// the password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// Another scheme, or none.
    #[error("does not start with mysql://")]
    Scheme,
    /// A raw `/` or `?` in the user or password, or a raw `@` after the host.
    #[error("has a '/' or '?' before its last '@'")]
    Delimiter,
    /// A `#` anywhere: such a URL has no fragment.
    #[error("has a '#'")]
    Fragment,
    /// The port is not a TCP port.
    #[error("has a port that is not a number from 1 to 65535")]
    Port,
    /// Brackets that do not hold an IPv6 address, or an IPv6 address without brackets.
    #[error("has an IPv6 address that does not stand in [ ]")]
    Brackets,
    /// A second `/` after the host.
    #[error("has more than a database name in its path")]
    Path,
    /// A `%` that does not start an escape.
    #[error("has a '%' that is not followed by two hexadecimal digits")]
    Percent,
    /// Escapes that do not make a text.
    #[error("has %-escapes that are not valid UTF-8")]
    NotUtf8,
    /// A parameter after `?` that is not known.
    #[error("has a parameter that is none of {}", PARAMETERS.join(", "))]
    Parameter,
}

impl OptionError {
    /// What the person can do about it, if there is something to say beyond the message.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            OptionError::File { source, .. } | OptionError::IncludeDirectory { source, .. } => {
                return file_hint(source);
            }
            OptionError::AnyoneWrites { path } => {
                return Some(format!(
                    "chmod o-w {}, and look at what is in it before you use it",
                    path.display()
                ));
            }
            OptionError::NoGroup(_) => "put a line such as [client] above it",
            OptionError::BadGroup(_) => "write it as [name]",
            OptionError::NotUtf8(_) => "write it in UTF-8",
            OptionError::UnknownOption { .. } => {
                "correct the name, or put loose- in front of it to have it ignored where it is not known"
            }
            OptionError::BadValue { .. } => return None,
            OptionError::Url(error) => return Some(error.hint()),
            OptionError::SocketToOtherHost { .. } => "leave out the protocol, or use the host 'localhost'",
            OptionError::Ask(_) => {
                "without a terminal, put the password into an option file that only you can read (chmod 600)"
            }
            OptionError::NoUser => "give one with -u",
        };
        Some(hint.to_owned())
    }
}

fn but_found(value: Option<&str>) -> String {
    value.map(|value| format!(", not '{value}'")).unwrap_or_default()
}

fn file_hint(error: &io::Error) -> Option<String> {
    let hint = match error.kind() {
        io::ErrorKind::NotFound => "check the path; a relative one starts at the current directory",
        io::ErrorKind::PermissionDenied => "make it readable for the user who runs this",
        _ => return None,
    };
    Some(hint.to_owned())
}

impl UrlError {
    fn hint(self) -> String {
        let hint = match self {
            UrlError::Delimiter | UrlError::Fragment | UrlError::Percent | UrlError::NotUtf8 => {
                "in a user name or password write % as %25, @ as %40, / as %2F, ? as %3F, # as %23, : as %3A"
            }
            UrlError::Scheme | UrlError::Path | UrlError::Parameter | UrlError::Port => {
                "write it as mysql://user:password@host:port/database?ssl-mode=REQUIRED"
            }
            UrlError::Brackets => "write it as mysql://user@[::1]:3306",
        };
        hint.to_owned()
    }
}
