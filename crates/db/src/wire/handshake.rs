//! Logging in: the server's greeting, TLS if wanted, and the exchange of the authentication plugin.

use std::io;

use mysql_common::auth::plugins::{AuthProc, ChallengeResponsePlugin, Context};
use mysql_common::constants::CapabilityFlags;
use mysql_common::io::ParseBuf;
use mysql_common::packets::{AuthPlugin, AuthSwitchRequest, HandshakePacket, HandshakeResponse};
use mysql_common::proto::MySerialize;

use super::connection::server_error;
use super::packet::Packets;
use super::stream::Stream;
use super::tls;
use crate::options::{Address, ConnectOptions, SslMode};
use crate::{Error, Result};

/// Every row up to the protocol's own limit is accepted.
const MAX_ALLOWED_PACKET: u32 = 1 << 30;
/// utf8mb4_general_ci: known to every server from 5.5.3 on.
const COLLATION: u8 = 45;

/// What the greeting says of the server.
pub(super) struct Greeting {
    pub(super) connection_id: u32,
    pub(super) version: String,
}

/// Logs in on a fresh stream.
pub(super) fn log_in(stream: Stream, options: &ConnectOptions) -> Result<(Packets, Greeting)> {
    let lost = |source| Error::Lost { to: options.address.to_string(), source };
    stream.set_read_timeout(Some(options.connect_timeout)).map_err(lost)?;
    let mut packets = Packets::new(stream);
    let mut payload = Vec::new();
    packets.read(&mut payload).map_err(lost)?;
    refuse_error(&payload, options)?;
    let handshake: HandshakePacket<'_> =
        ParseBuf(&payload).parse(()).map_err(|_| protocol(options, "no greeting"))?;

    let mut wanted = wanted_capabilities();
    // MySQL refuses a login whose capabilities are not those of the request for TLS before it.
    wanted.set(CapabilityFlags::CLIENT_CONNECT_WITH_DB, options.database.is_some());
    let mut capabilities = wanted & handshake.capabilities();
    packets = start_tls(packets, &mut capabilities, options)?;
    let mut login = Login {
        options,
        nonce: handshake.nonce(),
        ipc: packets.stream().is_ipc(),
        tls: packets.stream().is_tls(),
    };
    login.run(&mut packets, &handshake, capabilities)?;
    packets.stream().set_read_timeout(None).map_err(lost)?;
    let version = handshake.server_version_str().into_owned();
    Ok((packets, Greeting { connection_id: handshake.connection_id(), version }))
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
    let mut packets = packets;
    let mut request = Vec::with_capacity(32);
    request.extend_from_slice(&capabilities.bits().to_le_bytes());
    request.extend_from_slice(&MAX_ALLOWED_PACKET.to_le_bytes());
    request.push(COLLATION);
    request.resize(32, 0);
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
        // A plugin that is not known here may be the server's default only: the account's own is named in the switch.
        let offered = handshake.auth_plugin().map(AuthPlugin::into_owned);
        let known = offered.filter(|plugin| !matches!(plugin, AuthPlugin::Other(_)));
        let plugin = known.unwrap_or(AuthPlugin::MysqlNativePassword);
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
        );
        let mut payload = Vec::new();
        response.serialize(&mut payload);
        self.send(packets, &payload)?;
        self.exchange(packets, procedure)
    }

    /// Answers the server until it says yes or no.
    fn exchange(&mut self, packets: &mut Packets, mut procedure: AuthProc) -> Result<()> {
        let mut payload = Vec::new();
        loop {
            packets
                .read(&mut payload)
                .map_err(|source| Error::Lost { to: self.options.address.to_string(), source })?;
            refuse_error(&payload, self.options)?;
            let answer = match payload.split_first() {
                Some((0x00, _)) => return Ok(()),
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

    fn procedure(&self, plugin: &AuthPlugin<'_>) -> Result<AuthProc> {
        let open = !self.ipc && !self.tls;
        if matches!(plugin, AuthPlugin::MysqlClearPassword) && open {
            return Err(protocol(
                self.options,
                "a request for the password in clear text over a connection without TLS",
            ));
        }
        AuthProc::init(plugin).map_err(|_| {
            let name = String::from_utf8_lossy(plugin.as_bytes()).into_owned();
            protocol(self.options, &format!("the authentication plugin '{name}', which drover does not have"))
        })
    }

    fn step(&self, procedure: &mut AuthProc, challenge: &[u8]) -> Result<Option<Vec<u8>>> {
        let response = procedure
            .run(Exchange(self), challenge)
            .map_err(|error| protocol(self.options, &format!("a login challenge that failed: {error}")))?;
        Ok(response.data().map(<[u8]>::to_vec))
    }

    fn send(&self, packets: &mut Packets, payload: &[u8]) -> Result<()> {
        packets.write(payload).map_err(|source| Error::Lost { to: self.options.address.to_string(), source })
    }
}

struct Exchange<'a>(&'a Login<'a>);

impl Context for Exchange<'_> {
    fn pass(&self) -> &[u8] {
        self.0.options.password.as_ref().map_or(b"", |password| password.expose().as_bytes())
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
        Some(0xff) => {
            Err(Error::Login { to, user: options.user.clone(), source: Box::new(server_error(payload)) })
        }
        Some(_) => Ok(()),
        None => Err(Error::Lost { to, source: io::ErrorKind::UnexpectedEof.into() }),
    }
}

fn protocol(options: &ConnectOptions, what: &str) -> Error {
    Error::Protocol { to: options.address.to_string(), what: what.into() }
}
