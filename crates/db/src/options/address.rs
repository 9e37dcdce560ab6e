//! Where a server listens, and how it is reached.

use std::fmt;
use std::path::PathBuf;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_print_as_people_write_them() {
        let tcp = |host: &str| Address::Tcp { host: host.into(), port: 3306 }.to_string();
        assert_eq!(tcp("127.0.0.1"), "127.0.0.1:3306");
        assert_eq!(tcp("::1"), "[::1]:3306");
        assert_eq!(Address::Socket("/run/s.sock".into()).to_string(), "socket /run/s.sock");
    }
}
