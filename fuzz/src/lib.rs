//! What the targets share that play a server.

use std::time::Duration;

use drover_db::options::{
    Address, ConnectOptions, Logged, OneServer, PasswordExchange, ServerKey, SslMode, SslOptions,
};

/// A server's greeting, and that it takes the login.
pub const LOGIN: &[u8] = include_bytes!("../seeds/server/large-row").split_at(0x58).0;
/// A column of a result.
pub const COLUMN: &[u8] = b"\x03def\0\0\0\x01a\0\x0c\x3f\0\xff\0\0\0\xfd\0\0\0\0\0";
/// The end of the columns, or of the rows.
pub const END: &[u8] = b"\xfe\0\0\x02\0";
/// That a statement was run.
pub const DONE: &[u8] = b"\0\0\0\x02\0\0\0";

/// Appends the packets with which a server replies to a command.
pub fn reply<'a>(sent: &mut Vec<u8>, payloads: impl IntoIterator<Item = &'a [u8]>) {
    for (number, payload) in payloads.into_iter().enumerate() {
        let [a, b, c, _] = (payload.len() as u32).to_le_bytes();
        sent.extend_from_slice(&[a, b, c, (number + 1) as u8]);
        sent.extend_from_slice(payload);
    }
}

/// How a server there is reached.
pub fn options(address: Address) -> ConnectOptions {
    ConnectOptions {
        user: "root".into(),
        password: Some("secret".into()),
        address,
        database: None,
        ssl: SslOptions { mode: SslMode::Disabled, ca: None, cert: None, key: None },
        // All ways to log in are to be reached.
        exchange: PasswordExchange { server_key: ServerKey::FromServer, cleartext: true },
        connect_timeout: Duration::from_secs(1),
        logged: Logged::AsUsual,
        one_server: OneServer::default(),
    }
}
