//! What a password may be told to.

use std::path::PathBuf;

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
