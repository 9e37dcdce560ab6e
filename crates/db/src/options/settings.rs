//! What one source (environment, option files, URL, command line) says about the server, and how the sources
//! are laid over each other. The rules for the transport are here because they depend on which source said
//! what.

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;

use super::address::{Address, Protocol};
use super::error::{OptionError, Origin};
use super::exchange::{PasswordExchange, ServerKey};
use super::secret::Secret;
use super::tls::{SslMode, SslOptions};

const DEFAULT_PORT: u16 = 3306;
pub(super) const DEFAULT_TIMEOUT_SECONDS: u32 = 10;
/// The longest connect timeout, in seconds: the mysql client's own limit (`client/mysql.cc`,
/// `connect_timeout`).
pub(super) const MAX_TIMEOUT_SECONDS: u32 = 3600 * 12;

/// How a source gives the password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PasswordSetting {
    Ask,
    Given(Secret),
}

/// What one source says. An empty text means "the default", as it does to the mysql client.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Settings {
    pub(super) user: Option<String>,
    pub(super) password: Option<PasswordSetting>,
    pub(super) host: Option<String>,
    pub(super) port: Option<u16>,
    pub(super) socket: Option<PathBuf>,
    pub(super) protocol: Option<Protocol>,
    pub(super) database: Option<String>,
    pub(super) ssl_mode: Option<SslMode>,
    pub(super) ssl_ca: Option<PathBuf>,
    pub(super) ssl_cert: Option<PathBuf>,
    pub(super) ssl_key: Option<PathBuf>,
    pub(super) get_server_public_key: Option<bool>,
    pub(super) server_public_key_path: Option<PathBuf>,
    pub(super) enable_cleartext_plugin: Option<bool>,
    /// Seconds; 0 waits as long as the mysql client would.
    pub(super) connect_timeout: Option<u32>,
}

/// One option as text, to be taken into [`Settings`].
#[derive(Debug, Clone, Copy)]
pub(super) struct Text<'a> {
    /// The name, with `-` between its words and without leading dashes.
    pub(super) name: &'a str,
    /// What follows the `=`; `None` if there was none.
    pub(super) value: Option<&'a str>,
    pub(super) origin: &'a Origin,
}

impl Settings {
    /// Takes in one option; `false` if there is none of that name.
    pub(super) fn set(&mut self, text: Text<'_>) -> Result<bool, OptionError> {
        match text.name {
            "user" => self.user = Some(text.required()?.to_owned()),
            "password" => self.password = Some(text.password()),
            "skip-password" => self.password = Some(PasswordSetting::Given(Secret::from(""))),
            "host" => self.host = Some(text.required()?.to_owned()),
            "port" => self.port = Some(text.port()?),
            "socket" => self.socket = Some(text.required()?.into()),
            "protocol" => self.protocol = Some(text.choice("tcp or socket")?),
            "database" => self.database = Some(text.required()?.to_owned()),
            "connect-timeout" => self.connect_timeout = Some(text.timeout()?),
            _ => return self.set_ssl(text),
        }
        Ok(true)
    }

    /// `ssl` and `ssl-verify-server-cert` are MariaDB's words for what MySQL says with `ssl-mode`.
    fn set_ssl(&mut self, text: Text<'_>) -> Result<bool, OptionError> {
        match text.name {
            "ssl-mode" => {
                self.ssl_mode =
                    Some(text.choice("DISABLED, PREFERRED, REQUIRED, VERIFY_CA or VERIFY_IDENTITY")?);
            }
            "ssl-ca" => self.ssl_ca = Some(text.required()?.into()),
            "ssl-cert" => self.ssl_cert = Some(text.required()?.into()),
            "ssl-key" => self.ssl_key = Some(text.required()?.into()),
            "ssl" | "enable-ssl" => self.use_ssl(text.boolean()?),
            "skip-ssl" | "disable-ssl" => self.use_ssl(false),
            "ssl-verify-server-cert" | "enable-ssl-verify-server-cert" => {
                self.verify_server(text.boolean()?);
            }
            "skip-ssl-verify-server-cert" | "disable-ssl-verify-server-cert" => self.verify_server(false),
            _ => return self.set_exchange(text),
        }
        Ok(true)
    }

    /// The clients' option parser knows `skip-` and `disable-` before the name of each boolean.
    fn set_exchange(&mut self, text: Text<'_>) -> Result<bool, OptionError> {
        let without = |prefix| text.name.strip_prefix(prefix);
        let taken_back = without("skip-").or_else(|| without("disable-"));
        let yes = || if taken_back.is_some() { Ok(false) } else { text.boolean() };
        match taken_back.unwrap_or(text.name) {
            "get-server-public-key" => self.get_server_public_key = Some(yes()?),
            "enable-cleartext-plugin" => self.enable_cleartext_plugin = Some(yes()?),
            "server-public-key-path" if taken_back.is_none() => {
                self.server_public_key_path = Some(text.required()?.into());
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn use_ssl(&mut self, yes: bool) {
        let mode = if yes { self.ssl_mode.max(Some(SslMode::Required)) } else { Some(SslMode::Disabled) };
        self.ssl_mode = mode;
    }

    fn verify_server(&mut self, yes: bool) {
        let before = self.ssl_mode.unwrap_or(SslMode::Preferred);
        self.ssl_mode = Some(if yes { SslMode::VerifyIdentity } else { before.min(SslMode::Required) });
    }

    /// The transport that this source alone decides on, if it does. `typed`: a port or socket decides too.
    fn transport(&self, typed: bool, host_replaced: bool) -> Result<Option<Protocol>, OptionError> {
        let host = self.host.as_deref().filter(|host| !host_replaced && !is_this_host(host));
        match (self.protocol, host) {
            (Some(Protocol::Socket), Some(host)) => {
                return Err(OptionError::SocketToOtherHost { host: host.to_owned() });
            }
            (Some(protocol), _) => return Ok(Some(protocol)),
            (None, Some(_)) => return Ok(Some(Protocol::Tcp)),
            (None, None) => {}
        }
        let by_port = self.port.map(|_| Protocol::Tcp);
        let by_socket = self.socket.as_ref().map(|_| Protocol::Socket);
        Ok(by_socket.or(by_port).filter(|_| typed))
    }

    /// These settings, and where they say nothing those of `lower`.
    fn over(self, lower: Settings) -> Settings {
        Settings {
            user: self.user.or(lower.user),
            password: self.password.or(lower.password),
            host: self.host.or(lower.host),
            port: self.port.or(lower.port),
            socket: self.socket.or(lower.socket),
            protocol: self.protocol.or(lower.protocol),
            database: self.database.or(lower.database),
            ssl_mode: self.ssl_mode.or(lower.ssl_mode),
            ssl_ca: self.ssl_ca.or(lower.ssl_ca),
            ssl_cert: self.ssl_cert.or(lower.ssl_cert),
            ssl_key: self.ssl_key.or(lower.ssl_key),
            get_server_public_key: self.get_server_public_key.or(lower.get_server_public_key),
            server_public_key_path: self.server_public_key_path.or(lower.server_public_key_path),
            enable_cleartext_plugin: self.enable_cleartext_plugin.or(lower.enable_cleartext_plugin),
            connect_timeout: self.connect_timeout.or(lower.connect_timeout),
        }
    }

    /// TLS options by the mysql client's rule: a CA without a mode asks for its verification
    /// (`include/sslopt-case.h`, `OPT_SSL_CA`).
    pub(super) fn ssl(&self) -> SslOptions {
        let ca = file(&self.ssl_ca);
        let implied = if ca.is_some() { SslMode::VerifyCa } else { SslMode::Preferred };
        let mode = self.ssl_mode.unwrap_or(implied);
        SslOptions { mode, ca, cert: file(&self.ssl_cert), key: file(&self.ssl_key) }
    }

    /// What the password may be told to. A file is taken before what the server sends, as by the mysql client.
    pub(super) fn exchange(&self) -> PasswordExchange {
        let from_server = self.get_server_public_key.unwrap_or_default();
        let server_key = match file(&self.server_public_key_path) {
            Some(path) => ServerKey::File(path),
            None if from_server => ServerKey::FromServer,
            None => ServerKey::Unknown,
        };
        PasswordExchange { server_key, cleartext: self.enable_cleartext_plugin.unwrap_or_default() }
    }

    /// How long to wait for a connection.
    pub(super) fn timeout(&self) -> Duration {
        let seconds = match self.connect_timeout.unwrap_or(DEFAULT_TIMEOUT_SECONDS) {
            0 => MAX_TIMEOUT_SECONDS,
            seconds => seconds,
        };
        Duration::from_secs(seconds.into())
    }
}

impl<'a> Text<'a> {
    fn wrong(self, expected: &'static str) -> OptionError {
        // A URL's value is never shown: a stray character may have made it from the password.
        let found = self.value.filter(|_| *self.origin != Origin::Url).map(str::to_owned);
        OptionError::BadValue { origin: self.origin.clone(), name: self.name.to_owned(), expected, found }
    }

    fn required(self) -> Result<&'a str, OptionError> {
        self.value.ok_or_else(|| self.wrong("followed by = and a value"))
    }

    fn password(self) -> PasswordSetting {
        self.value.map_or(PasswordSetting::Ask, |text| PasswordSetting::Given(Secret::from(text)))
    }

    fn port(self) -> Result<u16, OptionError> {
        let port = self.value.and_then(|v| v.parse().ok()).filter(|&port| port > 0);
        port.ok_or_else(|| self.wrong("a number from 1 to 65535"))
    }

    fn timeout(self) -> Result<u32, OptionError> {
        let seconds = self.value.and_then(|v| v.parse().ok()).filter(|&s| s <= MAX_TIMEOUT_SECONDS);
        seconds.ok_or_else(|| self.wrong("a number of seconds from 0 to 43200"))
    }

    fn choice<T: ValueEnum>(self, expected: &'static str) -> Result<T, OptionError> {
        let choice = self.value.and_then(|v| T::from_str(v, true).ok());
        choice.ok_or_else(|| self.wrong(expected))
    }

    /// A boolean as the server and its clients read it; no value means yes.
    fn boolean(self) -> Result<bool, OptionError> {
        match self.value.map(str::to_ascii_lowercase).as_deref() {
            None | Some("1" | "on" | "true") => Ok(true),
            Some("0" | "off" | "false") => Ok(false),
            Some(_) => Err(self.wrong("1, ON, TRUE, 0, OFF or FALSE")),
        }
    }
}

/// The settings of all sources.
#[derive(Debug, Default)]
pub(super) struct Layers {
    pub(super) command_line: Settings,
    pub(super) url: Settings,
    pub(super) files: Settings,
    pub(super) environment: Settings,
}

impl Layers {
    /// All sources as one, and the address they lead to. `default_socket` is used where no source names a
    /// socket.
    pub(super) fn combine(self, default_socket: PathBuf) -> Result<(Settings, Address), OptionError> {
        let standing = self.files.over(self.environment);
        let transport = transport([&self.command_line, &self.url, &standing])?;
        let all = self.command_line.over(self.url).over(standing);
        let address = match transport {
            Protocol::Tcp => {
                let host = all.host.clone().filter(|h| !h.is_empty()).unwrap_or_else(|| "localhost".into());
                Address::Tcp { host, port: all.port.unwrap_or(DEFAULT_PORT) }
            }
            Protocol::Socket => {
                let given = all.socket.clone().filter(|s| !s.as_os_str().is_empty());
                Address::Socket(given.unwrap_or(default_socket))
            }
        };
        Ok((all, address))
    }
}

/// Decides between TCP and the socket. The first of these that says something decides:
///
/// 1. the command line, where a port alone means TCP and a socket means the socket, whatever host a lower
///    source names (MariaDB's client since 10.6 does so for the host localhost);
/// 2. the URL, likewise;
/// 3. option files and environment, where a port decides nothing: packaged files often hold `port = 3306`.
///
/// A host other than localhost means TCP unless a higher source replaced it; otherwise the socket is used.
fn transport(sources: [&Settings; 3]) -> Result<Protocol, OptionError> {
    let [command_line, url, standing] = sources;
    let mut host_replaced = false;
    for (source, typed) in [(command_line, true), (url, true), (standing, false)] {
        if let Some(protocol) = source.transport(typed, host_replaced)? {
            return Ok(protocol);
        }
        host_replaced |= source.host.is_some();
    }
    Ok(Protocol::Socket)
}

/// A path; an empty one says that there is none.
fn file(path: &Option<PathBuf>) -> Option<PathBuf> {
    path.clone().filter(|path| !path.as_os_str().is_empty())
}

fn is_this_host(host: &str) -> bool {
    host.is_empty() || host.eq_ignore_ascii_case("localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(options: &[(&str, &str)]) -> Settings {
        let mut settings = Settings::default();
        for &(name, value) in options {
            let value = (value != "(bare)").then_some(value);
            assert!(settings.set(Text { name, value, origin: &Origin::Url }).unwrap(), "{name}");
        }
        settings
    }

    fn address(command_line: &[(&str, &str)], url: &[(&str, &str)], files: &[(&str, &str)]) -> String {
        address_with(command_line, url, files, &[]).unwrap()
    }

    fn address_with(
        command_line: &[(&str, &str)],
        url: &[(&str, &str)],
        files: &[(&str, &str)],
        environment: &[(&str, &str)],
    ) -> Result<String, String> {
        let layers = Layers {
            command_line: settings(command_line),
            url: settings(url),
            files: settings(files),
            environment: settings(environment),
        };
        layers.combine("/default.sock".into()).map(|(_, a)| a.to_string()).map_err(|e| e.to_string())
    }

    #[test]
    fn no_host_and_localhost_mean_the_socket() {
        assert_eq!(address(&[], &[], &[]), "socket /default.sock");
        assert_eq!(address(&[("host", "localhost")], &[], &[]), "socket /default.sock");
        assert_eq!(address(&[("host", "")], &[], &[("host", "db")]), "socket /default.sock");
        assert_eq!(address(&[("socket", "/s")], &[], &[]), "socket /s");
        assert_eq!(address(&[("socket", "")], &[], &[("socket", "/s")]), "socket /default.sock");
    }

    #[test]
    fn another_host_means_tcp() {
        assert_eq!(address(&[("host", "127.0.0.1")], &[], &[]), "127.0.0.1:3306");
        assert_eq!(address(&[("host", "::1"), ("port", "3307")], &[], &[]), "[::1]:3307");
        assert_eq!(address(&[("host", "db"), ("socket", "/s")], &[], &[]), "db:3306");
        assert_eq!(address(&[("host", "db")], &[], &[("socket", "/s")]), "db:3306");
        assert_eq!(address(&[], &[], &[("socket", "/s"), ("host", "db")]), "db:3306");
        // As in the mysql client, a socket in an option file does not make MYSQL_HOST a local one.
        assert_eq!(address_with(&[], &[], &[("socket", "/s")], &[("host", "db")]).unwrap(), "db:3306");
    }

    #[test]
    fn a_port_decides_only_where_someone_typed_it() {
        assert_eq!(address(&[("port", "3307")], &[], &[]), "localhost:3307");
        assert_eq!(address(&[("port", "3307"), ("host", "localhost")], &[], &[]), "localhost:3307");
        assert_eq!(address(&[], &[("port", "3307"), ("host", "localhost")], &[]), "localhost:3307");
        assert_eq!(address(&[("port", "3307")], &[], &[("host", "db")]), "db:3307");
        assert_eq!(address(&[("port", "3307"), ("socket", "/s")], &[], &[]), "socket /s");
        assert_eq!(address(&[], &[], &[("port", "3307")]), "socket /default.sock");
        assert_eq!(address(&[("host", "127.0.0.1")], &[], &[("port", "3307")]), "127.0.0.1:3307");
    }

    #[test]
    fn a_protocol_decides() {
        assert_eq!(address(&[("protocol", "TCP")], &[], &[]), "localhost:3306");
        assert_eq!(address(&[("protocol", "tcp"), ("socket", "/s")], &[], &[]), "localhost:3306");
        assert_eq!(address(&[("protocol", "socket"), ("port", "3307")], &[], &[]), "socket /default.sock");
        assert_eq!(address(&[("host", "localhost")], &[], &[("protocol", "tcp")]), "localhost:3306");
        assert_eq!(address(&[("host", "db")], &[], &[("protocol", "socket")]), "db:3306");
    }

    #[test]
    fn a_higher_source_replaces_a_lower_host() {
        assert_eq!(address(&[("socket", "/s")], &[], &[("host", "prod")]), "socket /s");
        assert_eq!(address(&[("host", "localhost")], &[("host", "prod")], &[]), "socket /default.sock");
        assert_eq!(address(&[("host", "localhost")], &[], &[("host", "prod")]), "socket /default.sock");
        assert_eq!(address(&[("host", "b")], &[("host", "a"), ("port", "1")], &[("host", "c")]), "b:1");
    }

    #[test]
    fn a_socket_cannot_reach_another_host() {
        let error = address_with(&[("protocol", "socket"), ("host", "db")], &[], &[], &[]).unwrap_err();
        assert_eq!(error, "protocol 'socket' reaches only a server on this host, but the host is 'db'");
        assert!(address_with(&[], &[], &[("protocol", "socket")], &[("host", "db")]).is_err());
    }

    #[test]
    fn the_highest_source_of_each_setting_wins() {
        let layers = Layers {
            command_line: settings(&[("user", "c")]),
            url: settings(&[("user", "u"), ("database", "u")]),
            files: settings(&[("user", "f"), ("database", "f"), ("connect-timeout", "5")]),
            environment: settings(&[("password", "e")]),
        };
        let (all, _) = layers.combine("/s".into()).unwrap();
        assert_eq!((all.user.as_deref(), all.database.as_deref()), (Some("c"), Some("u")));
        assert_eq!(all.timeout(), Duration::from_secs(5));
        assert_eq!(all.password, Some(PasswordSetting::Given(Secret::from("e"))));
    }

    #[test]
    fn timeouts() {
        assert_eq!(Settings::default().timeout(), Duration::from_secs(10));
        assert_eq!(settings(&[("connect-timeout", "0")]).timeout(), Duration::from_secs(43200));
    }

    #[test]
    fn a_ca_without_a_mode_is_verified() {
        assert_eq!(settings(&[("ssl-ca", "/ca")]).ssl().mode, SslMode::VerifyCa);
        assert_eq!(settings(&[("ssl-ca", "")]).ssl(), Settings::default().ssl());
        assert_eq!(settings(&[("ssl-ca", "/ca"), ("ssl-mode", "required")]).ssl().mode, SslMode::Required);
        assert_eq!(Settings::default().ssl().mode, SslMode::Preferred);
    }

    #[test]
    fn a_password_is_told_to_nobody_unless_someone_says_so() {
        let exchange = |options: &[(&str, &str)]| settings(options).exchange();
        let key = |options: &[(&str, &str)]| exchange(options).server_key;
        assert_eq!(exchange(&[]), PasswordExchange { server_key: ServerKey::Unknown, cleartext: false });
        assert_eq!(key(&[("get-server-public-key", "(bare)")]), ServerKey::FromServer);
        assert_eq!(key(&[("get-server-public-key", "0")]), ServerKey::Unknown);
        for back in ["skip-get-server-public-key", "disable-get-server-public-key"] {
            assert_eq!(key(&[("get-server-public-key", "1"), (back, "(bare)")]), ServerKey::Unknown);
        }
        let both = [("get-server-public-key", "ON"), ("server-public-key-path", "/k.pem")];
        assert_eq!(key(&both), ServerKey::File("/k.pem".into()));
        assert_eq!(key(&[both[0], ("server-public-key-path", "")]), ServerKey::FromServer);
        assert!(exchange(&[("enable-cleartext-plugin", "(bare)")]).cleartext);
        assert!(
            !exchange(&[("enable-cleartext-plugin", "1"), ("skip-enable-cleartext-plugin", "(bare)")])
                .cleartext
        );
    }

    #[test]
    fn mariadb_names_for_tls() {
        let mode = |options: &[(&str, &str)]| settings(options).ssl().mode;
        assert_eq!(mode(&[("ssl", "(bare)")]), SslMode::Required);
        assert_eq!(mode(&[("ssl", "1"), ("ssl-verify-server-cert", "(bare)")]), SslMode::VerifyIdentity);
        assert_eq!(mode(&[("ssl-verify-server-cert", "ON"), ("ssl", "true")]), SslMode::VerifyIdentity);
        assert_eq!(mode(&[("ssl", "off")]), SslMode::Disabled);
        assert_eq!(mode(&[("skip-ssl", "(bare)")]), SslMode::Disabled);
        assert_eq!(mode(&[("ssl-verify-server-cert", "0"), ("ssl-ca", "/ca")]), SslMode::Preferred);
        assert_eq!(mode(&[("ssl", "1"), ("skip-ssl-verify-server-cert", "(bare)")]), SslMode::Required);
    }

    #[test]
    fn values_that_cannot_be() {
        let origin = Origin::File { path: "/etc/my.cnf".into(), line: 7 };
        for (name, value, expected) in [
            ("port", Some("0"), "/etc/my.cnf:7: port must be a number from 1 to 65535, not '0'"),
            ("port", Some("65536"), "/etc/my.cnf:7: port must be a number from 1 to 65535, not '65536'"),
            ("port", None, "/etc/my.cnf:7: port must be a number from 1 to 65535"),
            ("host", None, "/etc/my.cnf:7: host must be followed by = and a value"),
            ("protocol", Some("pipe"), "/etc/my.cnf:7: protocol must be tcp or socket, not 'pipe'"),
            ("ssl", Some("2"), "/etc/my.cnf:7: ssl must be 1, ON, TRUE, 0, OFF or FALSE, not '2'"),
            (
                "connect-timeout",
                Some("-1"),
                "/etc/my.cnf:7: connect-timeout must be a number of seconds from 0 to 43200, not '-1'",
            ),
        ] {
            let error = Settings::default().set(Text { name, value, origin: &origin }).unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
    }

    #[test]
    fn a_password_may_be_asked_for_or_taken_back() {
        assert_eq!(settings(&[("password", "(bare)")]).password, Some(PasswordSetting::Ask));
        let none = Some(PasswordSetting::Given(Secret::from("")));
        assert_eq!(settings(&[("password", "x"), ("skip-password", "(bare)")]).password, none);
    }
}
