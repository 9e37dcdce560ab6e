//! The exchange of an authentication plugin: the client proves that it knows the password, and tells it to nobody who must not know it.

use mysql_common::auth::plugins::{AuthProc, ChallengeResponsePlugin, Context, Response};
use mysql_common::constants::{CapabilityFlags, MariadbCapabilities};
use mysql_common::io::ParseBuf;
use mysql_common::packets::{AuthPlugin, AuthSwitchRequest, HandshakePacket, HandshakeResponse};
use mysql_common::proto::MySerialize;

use super::handshake::{MAX_ALLOWED_PACKET, MAX_LOGIN, lost, protocol, refuse_error};
use super::packet::Packets;
use super::server_key;
use super::stream::Stream;
use crate::options::{ConnectOptions, ServerKey};
use crate::{Error, Exposure, Result};

/// A login takes at most four questions for each plugin that an account has, of which MariaDB allows several. A server that goes on
/// asking collects answers to nonces of its choice.
const MAX_QUESTIONS: u32 = 64;

/// The part of a login in which the client proves who it is.
pub(super) struct Login<'a> {
    options: &'a ConnectOptions,
    nonce: Vec<u8>,
    ipc: bool,
    tls: bool,
    /// The server's public key as the person has it, where a password may be encrypted with it.
    key: Option<Vec<u8>>,
}

impl<'a> Login<'a> {
    /// For a stream whose server has greeted with this nonce.
    pub(super) fn new(options: &'a ConnectOptions, stream: &Stream, nonce: Vec<u8>) -> Self {
        Self { options, nonce, ipc: stream.is_ipc(), tls: stream.is_tls(), key: None }
    }

    /// Logs in, with these capabilities.
    pub(super) fn run(
        &mut self,
        packets: &mut Packets,
        handshake: &HandshakePacket<'_>,
        capabilities: CapabilityFlags,
        extended: MariadbCapabilities,
    ) -> Result<()> {
        // The greeting names the server's default only: if the account has another plugin, the server names that later.
        let offered = handshake.auth_plugin().map(AuthPlugin::into_owned);
        let usual = offered.filter(|plugin| match plugin {
            AuthPlugin::CachingSha2Password => true,
            // It begins with the request for a key, which may not be allowed.
            AuthPlugin::Sha256Password => {
                !self.is_open() || self.options.exchange.server_key != ServerKey::Unknown
            }
            _ => false,
        });
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
        .with_mariadb_ext_capabilities(extended);
        let mut payload = Vec::new();
        response.serialize(&mut payload);
        self.send(packets, &payload)?;
        self.exchange(packets, procedure)
    }

    /// Answers the server until it says yes or no.
    fn exchange(&mut self, packets: &mut Packets, mut procedure: AuthProc) -> Result<()> {
        let mut payload = Vec::new();
        for _ in 0..MAX_QUESTIONS {
            packets.read_up_to(&mut payload, MAX_LOGIN).map_err(|source| lost(self.options, source))?;
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
        Err(protocol(self.options, "one question after the other instead of an end of the login"))
    }

    fn password(&self) -> &[u8] {
        self.options.password.as_ref().map_or(b"", |password| password.expose().as_bytes())
    }

    /// Whether others can read what is sent.
    fn is_open(&self) -> bool {
        !self.ipc && !self.tls
    }

    fn procedure(&mut self, plugin: &AuthPlugin<'_>) -> Result<AuthProc> {
        match plugin {
            AuthPlugin::MysqlClearPassword => self.check_cleartext()?,
            AuthPlugin::CachingSha2Password | AuthPlugin::Sha256Password if self.is_open() => {
                self.key = self.known_key()?;
            }
            // The vendors' clients refuse it too: who listens to one such login can log in himself.
            AuthPlugin::MysqlOldPassword | AuthPlugin::Parsec => return Err(self.lacks(plugin)),
            _ => {}
        }
        AuthProc::init(plugin).map_err(|_| self.lacks(plugin))
    }

    fn check_cleartext(&self) -> Result<()> {
        match (self.is_open(), self.options.exchange.cleartext) {
            (true, _) => Err(self.exposed(Exposure::OpenCleartext)),
            (false, false) => Err(self.exposed(Exposure::Cleartext)),
            (false, true) => Ok(()),
        }
    }

    fn known_key(&self) -> Result<Option<Vec<u8>>> {
        let ServerKey::File(path) = &self.options.exchange.server_key else { return Ok(None) };
        let key = server_key::read(path, self.password().len());
        key.map(Some).map_err(|source| Error::ServerKey { path: path.clone(), source })
    }

    fn exposed(&self, way: Exposure) -> Error {
        let to = self.options.address.to_string();
        Error::Exposed { to, user: self.options.user.clone(), way }
    }

    fn lacks(&self, plugin: &AuthPlugin<'_>) -> Error {
        let plugin = String::from_utf8_lossy(plugin.as_bytes()).into_owned();
        Error::Plugin { to: self.options.address.to_string(), plugin }
    }

    fn step(&self, procedure: &mut AuthProc, challenge: &[u8]) -> Result<Option<Vec<u8>>> {
        let response = procedure
            .run(Exchange(self), challenge)
            .map_err(|error| protocol(self.options, &format!("a login challenge that failed: {error}")))?;
        let is_refused = self.is_open() && self.options.exchange.server_key != ServerKey::FromServer;
        if is_refused && is_key_request(procedure, &response) {
            return Err(self.exposed(Exposure::UnknownKey));
        }
        Ok(response.data().map(<[u8]>::to_vec))
    }

    fn send(&self, packets: &mut Packets, payload: &[u8]) -> Result<()> {
        packets.write(payload).map_err(|source| lost(self.options, source))
    }
}

/// Whether the server is asked for its public key: by one byte, 1 or 2 (`request_public_key` in `sql-common/client_authentication.cc`).
fn is_key_request(procedure: &AuthProc, response: &Response) -> bool {
    matches!(procedure, AuthProc::CachingSha2Password(_) | AuthProc::Sha256Password(_))
        && matches!(response.data(), Some([_]))
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
        self.0.key.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;
    use std::sync::mpsc;

    use super::super::handshake::tests::{NONCE, OK, greeting_of, listen, log_in_to, native, options_for};
    use super::*;
    use crate::options::{PasswordExchange, SslMode};

    const KEY: &str = super::super::server_key::tests::KEY;

    fn switch_to(plugin: &str) -> Vec<u8> {
        [b"\xfe", plugin.as_bytes(), b"\0", NONCE, b"\0"].concat()
    }

    fn sha2() -> Vec<u8> {
        greeting_of("caching_sha2_password", CapabilityFlags::empty())
    }

    /// Logs in without TLS at a server that sends these payloads and reads an answer after each of them; also what the last of the
    /// answers was.
    fn log_in_with(exchange: &PasswordExchange, payloads: &[Vec<u8>]) -> (Result<u32>, Vec<u8>) {
        let (listener, port) = listen();
        let (heard, answers) = mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let mut packets = Packets::new(Stream::tcp(listener.accept().unwrap().0));
                for payload in payloads {
                    let mut answer = Vec::new();
                    if packets.write(payload).and_then(|()| packets.read(&mut answer)).is_ok() {
                        heard.send(answer).unwrap();
                    }
                }
            });
            let options = options_for(port, SslMode::Disabled);
            let result = log_in_to(&ConnectOptions { exchange: exchange.clone(), ..options });
            (result, answers.iter().last().unwrap_or_default())
        })
    }

    fn log_in_at(payloads: &[Vec<u8>]) -> Result<u32> {
        log_in_with(&PasswordExchange::default(), payloads).0
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
            ("mysql_clear_password", "in clear text over a connection without TLS ('mysql_clear_password')"),
        ] {
            // Offered as the default it is not used, so that the server has to ask for it.
            for greeting in [native(), greeting_of(plugin, CapabilityFlags::empty())] {
                let error = error_at(&[greeting, switch_to(plugin)]);
                assert!(error.ends_with(says), "{error}");
            }
        }
    }

    #[test]
    fn what_to_do_without_the_plugin_is_said() {
        for (plugin, says) in [("parsec", "another plugin, such as"), ("mysql_old_password", "set it anew")] {
            let error = log_in_at(&[native(), switch_to(plugin)]).unwrap_err();
            let words = format!("plugin '{plugin}', which drover does not have");
            assert!(error.to_string().ends_with(&words), "{error}");
            assert!(error.hint().unwrap().contains(says), "{plugin}: {:?}", error.hint());
        }
    }

    /// A rogue server, or whoever is between, has a key of its own.
    #[test]
    fn the_key_of_a_server_is_not_taken_unless_someone_says_so() {
        let asks = [sha2(), vec![1, 4]];
        let (refused, last) = log_in_with(&PasswordExchange::default(), &asks);
        let error = refused.unwrap_err();
        assert!(error.to_string().contains("encrypted with a key that it sends without TLS"), "{error}");
        assert!(error.hint().unwrap().contains("--get-server-public-key"));
        assert_ne!(last, [2], "the key was asked for");
        let switched = [native(), switch_to("sha256_password")];
        assert!(matches!(log_in_at(&switched), Err(Error::Exposed { .. })));
        // The account may have another plugin, which shows nothing.
        let offered = greeting_of("sha256_password", CapabilityFlags::empty());
        assert_eq!(log_in_at(&[offered, OK.into()]).unwrap(), 7);

        let taken = PasswordExchange { server_key: ServerKey::FromServer, ..PasswordExchange::default() };
        let sends = [sha2(), vec![1, 4], [b"\x01", KEY.as_bytes()].concat(), OK.into()];
        let (logged_in, last) = log_in_with(&taken, &sends);
        assert_eq!((logged_in.unwrap(), last.len()), (7, 256));
    }

    #[test]
    fn a_key_of_ones_own_is_never_exchanged_for_the_servers() {
        let path = std::env::temp_dir().join(format!("server-key-{}", std::process::id()));
        let own = PasswordExchange { server_key: ServerKey::File(path.clone()), cleartext: false };
        let asks = [sha2(), vec![1, 4], OK.into()];
        let (missing, _) = log_in_with(&own, &asks);
        assert!(matches!(missing, Err(Error::ServerKey { .. })));
        std::fs::write(&path, "-----BEGIN PUBLIC KEY-----\nMAAw\n-----END PUBLIC KEY-----\n").unwrap();
        let (no_key, _) = log_in_with(&own, &asks);
        assert!(no_key.unwrap_err().to_string().contains("no RSA public key in PEM format"));
        std::fs::write(&path, KEY).unwrap();
        let (logged_in, last) = log_in_with(&own, &asks);
        let (insists, _) = log_in_with(&own, &[sha2(), vec![1, 4], [b"\x01", KEY.as_bytes()].concat()]);
        std::fs::remove_file(&path).unwrap();
        assert_eq!((logged_in.unwrap(), last.len()), (7, 256));
        assert!(matches!(insists, Err(Error::Protocol { .. })));
    }

    #[test]
    fn clear_text_is_sent_where_it_is_allowed_and_nobody_listens() {
        let options = options_for(1, SslMode::Disabled);
        let allowed = PasswordExchange { cleartext: true, ..PasswordExchange::default() };
        let with = ConnectOptions { exchange: allowed, ..options.clone() };
        let socket = Stream::unix(UnixStream::pair().unwrap().0);
        let clear = AuthPlugin::MysqlClearPassword;
        for (is_tls, is_socket, options, is_sent) in [
            (true, false, &options, false),
            (false, true, &options, false),
            (false, false, &options, false),
            (true, false, &with, true),
            (false, true, &with, true),
            (false, false, &with, false),
        ] {
            let mut login = Login::new(options, &socket, NONCE.to_vec());
            (login.tls, login.ipc) = (is_tls, is_socket);
            match login.procedure(&clear) {
                Ok(_) => assert!(is_sent),
                Err(error) => {
                    assert!(!is_sent, "{error}");
                    assert!(error.hint().unwrap().contains("--enable-cleartext-plugin"), "{error}");
                }
            }
        }
    }

    #[test]
    fn a_key_that_is_none_is_an_error() {
        let key = b"\x01-----BEGIN PUBLIC KEY-----\nMAAw\n-----END PUBLIC KEY-----\n";
        let taken = PasswordExchange { server_key: ServerKey::FromServer, ..PasswordExchange::default() };
        let error = log_in_with(&taken, &[sha2(), vec![1, 4], key.to_vec()]).0.unwrap_err().to_string();
        assert!(error.ends_with("a public key that the password cannot be encrypted with"), "{error}");
    }
}
