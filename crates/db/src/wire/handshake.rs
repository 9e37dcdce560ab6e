//! Logging in: the server's greeting and TLS if wanted; what follows is in `authentication`.

use std::io;

use mysql_common::constants::{CapabilityFlags, MariadbCapabilities};
use mysql_common::io::ParseBuf;
use mysql_common::packets::HandshakePacket;

use super::authentication::Login;
use super::packet::{ERROR, Packets};
use super::reply::server_error;
use super::stream::Stream;
use super::tls::{self, Refusal};
use crate::options::{Address, ConnectOptions, SslMode};
use crate::{Error, Result};

/// Every row up to the protocol's own limit is accepted.
pub(super) const MAX_ALLOWED_PACKET: u32 = 1 << 30;
/// The longest packet of a login, in bytes: keys and certificates have some thousands.
pub(super) const MAX_LOGIN: usize = 64 << 10;
/// utf8mb4_general_ci: known to every server from 5.5.3 on.
const COLLATION: u8 = 45;

/// A session that is logged in.
pub(super) struct Session {
    pub(super) packets: Packets,
    /// The server's number of the connection.
    pub(super) id: u32,
    /// Whether the server takes the values of many rows for one prepared statement.
    pub(super) takes_bulk: bool,
}

/// Logs in on a fresh stream.
pub(super) fn log_in(stream: Stream, options: &ConnectOptions) -> Result<Session> {
    let lost = |source| lost(options, source);
    let mut packets = Packets::new(stream);
    let mut payload = Vec::new();
    packets.read_up_to(&mut payload, MAX_LOGIN).map_err(lost)?;
    refuse_error(&payload, options)?;
    let handshake = greeting(&payload).ok_or_else(|| protocol(options, "no greeting"))?;

    let mut wanted = wanted_capabilities();
    // MySQL refuses a login whose capabilities are not those of the request for TLS before it.
    wanted.set(CapabilityFlags::CLIENT_CONNECT_WITH_DB, options.database.is_some());
    let mut capabilities = wanted & handshake.capabilities();
    let extended = extended_capabilities(&handshake);
    packets = start_tls(packets, &mut capabilities, extended, options)?;
    Login::new(options, packets.stream(), handshake.nonce()).run(
        &mut packets,
        &handshake,
        capabilities,
        extended,
    )?;
    Ok(Session { packets, id: handshake.connection_id(), takes_bulk: !extended.is_empty() })
}

/// What MariaDB offers beyond MySQL and is wanted. It leaves out a bit that MySQL sets, to tell that it has such.
fn extended_capabilities(handshake: &HandshakePacket<'_>) -> MariadbCapabilities {
    match handshake.capabilities().contains(CapabilityFlags::CLIENT_LONG_PASSWORD) {
        true => MariadbCapabilities::empty(),
        false => {
            handshake.mariadb_ext_capabilities() & MariadbCapabilities::MARIADB_CLIENT_STMT_BULK_OPERATIONS
        }
    }
}

fn greeting(payload: &[u8]) -> Option<HandshakePacket<'_>> {
    // mysql_common computes with the length of the login data as with a signed byte. Servers have 21 there.
    let version_ends = payload.iter().skip(1).position(|&byte| byte == 0)? + 1;
    let data_length = payload.get(version_ends + 21)?;
    if *data_length > 0x7f {
        return None;
    }
    ParseBuf(payload).parse(()).ok()
}

fn wanted_capabilities() -> CapabilityFlags {
    CapabilityFlags::CLIENT_LONG_PASSWORD
        | CapabilityFlags::CLIENT_LONG_FLAG
        | CapabilityFlags::CLIENT_LOCAL_FILES
        | CapabilityFlags::CLIENT_PROTOCOL_41
        | CapabilityFlags::CLIENT_TRANSACTIONS
        | CapabilityFlags::CLIENT_SECURE_CONNECTION
        | CapabilityFlags::CLIENT_PLUGIN_AUTH
        | CapabilityFlags::CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA
        | CapabilityFlags::CLIENT_CONNECT_ATTRS
        | CapabilityFlags::CLIENT_SSL
}

fn start_tls(
    packets: Packets,
    capabilities: &mut CapabilityFlags,
    extended: MariadbCapabilities,
    options: &ConnectOptions,
) -> Result<Packets> {
    let Address::Tcp { host, .. } = &options.address else {
        // What passes a Unix socket never leaves the host.
        capabilities.remove(CapabilityFlags::CLIENT_SSL);
        return Ok(packets);
    };
    let offered = capabilities.contains(CapabilityFlags::CLIENT_SSL);
    let failed = |why: String| Error::Tls { to: options.address.to_string(), why };
    match options.ssl.mode {
        SslMode::Disabled => {
            capabilities.remove(CapabilityFlags::CLIENT_SSL);
            return Ok(packets);
        }
        SslMode::Preferred if !offered => return Ok(packets),
        _ if !offered => return Err(failed("the server does not offer it".into())),
        _ => {}
    }
    // What came before TLS must not be read as if it had come through it.
    if packets.has_unread() {
        return Err(protocol(options, "more than a greeting"));
    }
    let mut packets = packets;
    let mut request = Vec::with_capacity(32);
    request.extend_from_slice(&capabilities.bits().to_le_bytes());
    request.extend_from_slice(&MAX_ALLOWED_PACKET.to_le_bytes());
    request.push(COLLATION);
    request.resize(28, 0);
    request.extend_from_slice(&extended.bits().to_le_bytes());
    packets.write(&request).map_err(|error| failed(error.to_string()))?;
    packets.map_stream(|stream| match stream {
        Stream::Plain(socket) => {
            let secured = tls::secure(socket, host, &options.ssl).map(|tls| Stream::Tls(Box::new(tls)));
            secured.map_err(|refusal| match refusal {
                Refusal::TooOld(offers) => Error::TlsTooOld { to: options.address.to_string(), offers },
                Refusal::Other(why) => failed(why),
            })
        }
        other => Ok(other),
    })
}

pub(super) fn refuse_error(payload: &[u8], options: &ConnectOptions) -> Result<()> {
    let to = options.address.to_string();
    match payload.first() {
        Some(&ERROR) => {
            Err(Error::Login { to, user: options.user.clone(), source: Box::new(server_error(payload)) })
        }
        Some(_) => Ok(()),
        None => Err(Error::Lost { to, source: io::ErrorKind::UnexpectedEof.into() }),
    }
}

pub(super) fn lost(options: &ConnectOptions, source: io::Error) -> Error {
    if source.kind() == io::ErrorKind::InvalidData {
        return protocol(options, &source.to_string());
    }
    Error::Lost { to: options.address.to_string(), source }
}

pub(super) fn protocol(options: &ConnectOptions, what: &str) -> Error {
    Error::Protocol { to: options.address.to_string(), what: what.into() }
}

#[cfg(test)]
pub(super) mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;
    use crate::options::{Logged, OneServer, PasswordExchange, SslOptions};

    pub(in crate::wire) const NONCE: &[u8; 20] = b"12345678901234567890";
    pub(in crate::wire) const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];

    pub(in crate::wire) fn greeting_of(plugin: &str, capabilities: CapabilityFlags) -> Vec<u8> {
        let always = CapabilityFlags::CLIENT_SECURE_CONNECTION | CapabilityFlags::CLIENT_PLUGIN_AUTH;
        let [a, b, c, d] = (capabilities | always).bits().to_le_bytes();
        let flags = [0, a, b, COLLATION, 2, 0, c, d, 21];
        [
            b"\x0a8.0.0\0\x07\0\0\0",
            &NONCE[..8],
            &flags,
            &[0; 10],
            &NONCE[8..],
            b"\0",
            plugin.as_bytes(),
            b"\0",
        ]
        .concat()
    }

    pub(in crate::wire) fn native() -> Vec<u8> {
        greeting_of("mysql_native_password", CapabilityFlags::empty())
    }

    pub(in crate::wire) fn options_for(port: u16, mode: SslMode) -> ConnectOptions {
        ConnectOptions {
            user: "me".into(),
            password: Some("hunter2".into()),
            address: Address::Tcp { host: "127.0.0.1".into(), port },
            database: None,
            ssl: SslOptions { mode, ca: None, cert: None, key: None },
            exchange: PasswordExchange::default(),
            connect_timeout: Duration::from_secs(5),
            logged: Logged::AsUsual,
            one_server: OneServer::default(),
        }
    }

    pub(in crate::wire) fn listen() -> (TcpListener, u16) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        (listener, port)
    }

    pub(in crate::wire) fn log_in_to(options: &ConnectOptions) -> Result<u32> {
        let Address::Tcp { host, port } = &options.address else { panic!("not TCP") };
        let stream = TcpStream::connect((host.as_str(), *port)).unwrap();
        log_in(Stream::tcp(stream), options).map(|session| session.id)
    }

    #[test]
    fn nothing_that_came_before_tls_is_read_after_it() {
        use std::io::Write;
        let (listener, port) = listen();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut stream = listener.accept().unwrap().0;
                let greeting = greeting_of("mysql_native_password", CapabilityFlags::CLIENT_SSL);
                let headers = [[greeting.len() as u8, 0, 0, 0], [OK.len() as u8, 0, 0, 2]];
                stream.write_all(&[&headers[0], &greeting[..], &headers[1], OK].concat()).unwrap();
                let _until_the_client_ends = std::io::Read::read(&mut stream, &mut [0; 64]);
            });
            let error = log_in_to(&options_for(port, SslMode::Preferred)).unwrap_err().to_string();
            assert!(error.ends_with("more than a greeting"), "{error}");
        });
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_greeting_or_none(
            bytes in prop::collection::vec(any::<u8>(), 0..80),
            change in prop::option::of((0..70_usize, any::<u8>())),
        ) {
            let _ = greeting(&bytes).map(|found| found.nonce());
            let mut payload = native();
            if let Some((at, byte)) = change {
                payload[at] = byte;
            }
            let _ = greeting(&payload).map(|found| found.nonce());
        }
    }
}
