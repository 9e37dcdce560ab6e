//! Logging in: the server's greeting, TLS if wanted, and the exchange of the authentication plugin.

use std::io;

use mysql_common::auth::plugins::{AuthProc, ChallengeResponsePlugin, Context};
use mysql_common::constants::{CapabilityFlags, MariadbCapabilities};
use mysql_common::io::ParseBuf;
use mysql_common::packets::{AuthPlugin, AuthSwitchRequest, HandshakePacket, HandshakeResponse};
use mysql_common::proto::MySerialize;

use super::packet::{ERROR, Packets};
use super::reply::server_error;
use super::stream::Stream;
use super::{server_key, tls};
use crate::options::{Address, ConnectOptions, SslMode};
use crate::{Error, Result};

/// Every row up to the protocol's own limit is accepted.
const MAX_ALLOWED_PACKET: u32 = 1 << 30;
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
    stream.set_read_timeout(Some(options.connect_timeout)).map_err(lost)?;
    let mut packets = Packets::new(stream);
    let mut payload = Vec::new();
    packets.read(&mut payload).map_err(lost)?;
    refuse_error(&payload, options)?;
    let handshake = greeting(&payload).ok_or_else(|| protocol(options, "no greeting"))?;

    let mut wanted = wanted_capabilities();
    // MySQL refuses a login whose capabilities are not those of the request for TLS before it.
    wanted.set(CapabilityFlags::CLIENT_CONNECT_WITH_DB, options.database.is_some());
    let mut capabilities = wanted & handshake.capabilities();
    let extended = extended_capabilities(&handshake);
    packets = start_tls(packets, &mut capabilities, extended, options)?;
    let mut login = Login {
        options,
        extended,
        nonce: handshake.nonce(),
        ipc: packets.stream().is_ipc(),
        tls: packets.stream().is_tls(),
    };
    login.run(&mut packets, &handshake, capabilities)?;
    packets.stream().set_read_timeout(None).map_err(lost)?;
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
        Stream::Tcp(stream) => {
            tls::secure(stream, host, &options.ssl).map(|tls| Stream::Tls(Box::new(tls))).map_err(failed)
        }
        other => Ok(other),
    })
}

struct Login<'a> {
    options: &'a ConnectOptions,
    extended: MariadbCapabilities,
    nonce: Vec<u8>,
    ipc: bool,
    tls: bool,
}

impl Login<'_> {
    fn run(
        &mut self,
        packets: &mut Packets,
        handshake: &HandshakePacket<'_>,
        capabilities: CapabilityFlags,
    ) -> Result<()> {
        // The greeting names the server's default only: if the account has another plugin, the server names that later.
        let offered = handshake.auth_plugin().map(AuthPlugin::into_owned);
        let usual = offered
            .filter(|plugin| matches!(plugin, AuthPlugin::CachingSha2Password | AuthPlugin::Sha256Password));
        let plugin = usual.unwrap_or(AuthPlugin::MysqlNativePassword);
        let mut procedure = self.procedure(&plugin)?;
        let nonce = self.nonce.clone();
        let first = self.step(&mut procedure, &nonce)?.unwrap_or_default();
        let attributes = [("program_name", "drover"), ("_client_version", env!("CARGO_PKG_VERSION"))];
        let response = HandshakeResponse::new(
            Some(first),
            (8, 0, 0),
            Some(self.options.user.as_bytes()),
            self.options.database.as_deref().map(str::as_bytes),
            Some(plugin),
            capabilities,
            Some(attributes.map(|(name, value)| (name.to_owned(), value.to_owned())).into()),
            MAX_ALLOWED_PACKET,
        )
        .with_mariadb_ext_capabilities(self.extended);
        let mut payload = Vec::new();
        response.serialize(&mut payload);
        self.send(packets, &payload)?;
        self.exchange(packets, procedure)
    }

    /// Answers the server until it says yes or no.
    fn exchange(&mut self, packets: &mut Packets, mut procedure: AuthProc) -> Result<()> {
        let mut payload = Vec::new();
        loop {
            packets.read(&mut payload).map_err(|source| lost(self.options, source))?;
            refuse_error(&payload, self.options)?;
            let answer = match payload.split_first() {
                Some((0x00, _)) => return Ok(()),
                Some((0x01, challenge)) if server_key::is_unusable(challenge, self.password().len()) => {
                    return Err(protocol(
                        self.options,
                        "a public key that the password cannot be encrypted with",
                    ));
                }
                Some((0x01, challenge)) => self.step(&mut procedure, challenge)?,
                Some((0xfe, _)) => {
                    let switch: AuthSwitchRequest<'_> = ParseBuf(&payload)
                        .parse(())
                        .map_err(|_| protocol(self.options, "a login method of before version 4.1"))?;
                    procedure = self.procedure(&switch.auth_plugin())?;
                    self.nonce = switch.plugin_data().to_vec();
                    self.step(&mut procedure, switch.plugin_data())?
                }
                _ => return Err(protocol(self.options, "an unknown packet during login")),
            };
            if let Some(answer) = answer {
                self.send(packets, &answer)?;
            }
        }
    }

    fn password(&self) -> &[u8] {
        self.options.password.as_ref().map_or(b"", |password| password.expose().as_bytes())
    }

    fn procedure(&self, plugin: &AuthPlugin<'_>) -> Result<AuthProc> {
        let open = !self.ipc && !self.tls;
        match plugin {
            AuthPlugin::MysqlClearPassword if open => Err(protocol(
                self.options,
                "a request for the password in clear text over a connection without TLS",
            )),
            // The vendors' clients refuse it too: who listens to one such login can log in himself.
            AuthPlugin::MysqlOldPassword | AuthPlugin::Parsec => Err(self.lacks(plugin)),
            _ => AuthProc::init(plugin).map_err(|_| self.lacks(plugin)),
        }
    }

    fn lacks(&self, plugin: &AuthPlugin<'_>) -> Error {
        let name = String::from_utf8_lossy(plugin.as_bytes());
        protocol(self.options, &format!("the authentication plugin '{name}', which drover does not have"))
    }

    fn step(&self, procedure: &mut AuthProc, challenge: &[u8]) -> Result<Option<Vec<u8>>> {
        let response = procedure
            .run(Exchange(self), challenge)
            .map_err(|error| protocol(self.options, &format!("a login challenge that failed: {error}")))?;
        Ok(response.data().map(<[u8]>::to_vec))
    }

    fn send(&self, packets: &mut Packets, payload: &[u8]) -> Result<()> {
        packets.write(payload).map_err(|source| lost(self.options, source))
    }
}

struct Exchange<'a>(&'a Login<'a>);

impl Context for Exchange<'_> {
    fn pass(&self) -> &[u8] {
        self.0.password()
    }
    fn is_ipc_transport(&self) -> bool {
        self.0.ipc
    }
    fn is_tls_transport(&self) -> bool {
        self.0.tls
    }
    fn scramble(&self) -> &[u8] {
        &self.0.nonce
    }
    fn server_key_pem(&self) -> Option<&[u8]> {
        None
    }
}

fn refuse_error(payload: &[u8], options: &ConnectOptions) -> Result<()> {
    let to = options.address.to_string();
    match payload.first() {
        Some(&ERROR) => {
            Err(Error::Login { to, user: options.user.clone(), source: Box::new(server_error(payload)) })
        }
        Some(_) => Ok(()),
        None => Err(Error::Lost { to, source: io::ErrorKind::UnexpectedEof.into() }),
    }
}

fn lost(options: &ConnectOptions, source: io::Error) -> Error {
    if source.kind() == io::ErrorKind::InvalidData {
        return protocol(options, &source.to_string());
    }
    Error::Lost { to: options.address.to_string(), source }
}

fn protocol(options: &ConnectOptions, what: &str) -> Error {
    Error::Protocol { to: options.address.to_string(), what: what.into() }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;
    use crate::options::{Logged, SslOptions};

    const NONCE: &[u8; 20] = b"12345678901234567890";
    const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];

    fn greeting_of(plugin: &str, capabilities: CapabilityFlags) -> Vec<u8> {
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

    fn native() -> Vec<u8> {
        greeting_of("mysql_native_password", CapabilityFlags::empty())
    }

    fn switch_to(plugin: &str) -> Vec<u8> {
        [b"\xfe", plugin.as_bytes(), b"\0", NONCE, b"\0"].concat()
    }

    fn options_for(port: u16, mode: SslMode) -> ConnectOptions {
        ConnectOptions {
            user: "me".into(),
            password: Some("hunter2".into()),
            address: Address::Tcp { host: "127.0.0.1".into(), port },
            database: None,
            ssl: SslOptions { mode, ca: None, cert: None, key: None },
            connect_timeout: Duration::from_secs(5),
            logged: Logged::AsUsual,
        }
    }

    fn listen() -> (TcpListener, u16) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        (listener, port)
    }

    fn log_in_to(options: &ConnectOptions) -> Result<u32> {
        let Address::Tcp { host, port } = &options.address else { panic!("not TCP") };
        let stream = TcpStream::connect((host.as_str(), *port)).unwrap();
        log_in(Stream::Tcp(stream), options).map(|session| session.id)
    }

    /// Logs in without TLS at a server that sends these payloads and reads an answer after each of them.
    fn log_in_at(payloads: &[Vec<u8>]) -> Result<u32> {
        let (listener, port) = listen();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let mut packets = Packets::new(Stream::Tcp(listener.accept().unwrap().0));
                for payload in payloads {
                    packets.write(payload).unwrap();
                    let _none_to_the_last = packets.read(&mut Vec::new());
                }
            });
            log_in_to(&options_for(port, SslMode::Disabled))
        })
    }

    fn error_at(payloads: &[Vec<u8>]) -> String {
        log_in_at(payloads).unwrap_err().to_string()
    }

    #[test]
    fn the_account_has_another_plugin_than_the_server_offers() {
        assert_eq!(log_in_at(&[native(), OK.into()]).unwrap(), 7);
        assert_eq!(log_in_at(&[native(), switch_to("caching_sha2_password"), OK.into()]).unwrap(), 7);
        let unknown = greeting_of("dialog", CapabilityFlags::empty());
        assert_eq!(log_in_at(&[unknown.clone(), switch_to("mysql_native_password"), OK.into()]).unwrap(), 7);
        let error = error_at(&[unknown, switch_to("dialog")]);
        assert!(error.ends_with("plugin 'dialog', which drover does not have"), "{error}");
    }

    #[test]
    fn a_password_is_not_given_away_to_weak_plugins() {
        for (plugin, says) in [
            ("mysql_old_password", "plugin 'mysql_old_password', which drover does not have"),
            ("mysql_clear_password", "in clear text over a connection without TLS"),
        ] {
            // Offered as the default it is not used, so that the server has to ask for it.
            for greeting in [native(), greeting_of(plugin, CapabilityFlags::empty())] {
                let error = error_at(&[greeting, switch_to(plugin)]);
                assert!(error.ends_with(says), "{error}");
            }
        }
    }

    #[test]
    fn a_key_that_is_none_is_an_error() {
        let key = b"\x01-----BEGIN PUBLIC KEY-----\nMAAw\n-----END PUBLIC KEY-----\n";
        let greeting = greeting_of("caching_sha2_password", CapabilityFlags::empty());
        let error = error_at(&[greeting, vec![1, 4], key.to_vec()]);
        assert!(error.ends_with("a public key that the password cannot be encrypted with"), "{error}");
    }

    /// Whoever sits between could have put it there.
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

    #[test]
    fn a_server_that_says_nothing_is_not_waited_for_for_ever() {
        let (_listener, port) = listen();
        let connect_timeout = Duration::from_millis(50);
        let options = ConnectOptions { connect_timeout, ..options_for(port, SslMode::Disabled) };
        let error = log_in_to(&options).unwrap_err().to_string();
        assert!(error.ends_with("was lost: the server did not answer in time"), "{error}");
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
