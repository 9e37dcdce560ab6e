//! The URL form of a server: `mysql://user:password@host:port/database?ssl-mode=REQUIRED&socket=/path`.
//!
//! Parsed by hand, because a general parser repairs what it is given and quotes it in its errors. Here a
//! character that could be a piece of the password is refused, and no error shows any part of the URL.

use super::error::{OptionError, Origin, PARAMETERS, UrlError};
use super::secret::Secret;
use super::settings::{PasswordSetting, Settings, Text};

const SCHEMES: [&str; 2] = ["mysql://", "mariadb://"];

/// What a URL says. All its parts may be absent: `mysql://` is the default server.
///
/// # Errors
/// Fails if the URL has another scheme, an unknown parameter, a bad value, or a character that should be
/// escaped.
pub(super) fn parse(url: &str) -> Result<Settings, OptionError> {
    let rest = SCHEMES.iter().find_map(|scheme| url.strip_prefix(scheme)).ok_or(UrlError::Scheme)?;
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
    // Else `mysql://u:pa/ss@h` would be a connection to the host `u`.
    if database.contains('@') || query.contains('@') {
        return Err(UrlError::Delimiter.into());
    }
    if url.contains('#') {
        return Err(UrlError::Fragment.into());
    }
    let mut settings = Settings { database: self::database(database)?, ..Settings::default() };
    let (login, server) = authority.rsplit_once('@').unwrap_or(("", authority));
    set_login(&mut settings, login)?;
    set_server(&mut settings, server)?;
    set_parameters(&mut settings, query)?;
    Ok(settings)
}

fn database(path: &str) -> Result<Option<String>, UrlError> {
    if path.contains('/') {
        return Err(UrlError::Path);
    }
    some_text(path)
}

fn set_login(settings: &mut Settings, login: &str) -> Result<(), UrlError> {
    let (user, password) = match login.split_once(':') {
        Some((user, password)) => (user, Some(password)),
        None => (login, None),
    };
    settings.user = some_text(user)?;
    settings.password = match password {
        Some(password) => Some(PasswordSetting::Given(Secret::from(decode(password)?))),
        None => None,
    };
    Ok(())
}

fn set_server(settings: &mut Settings, server: &str) -> Result<(), UrlError> {
    let (host, port) = match server.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']').ok_or(UrlError::Brackets)?;
            let port = match after.strip_prefix(':') {
                Some(port) => Some(port),
                None if after.is_empty() => None,
                None => return Err(UrlError::Brackets),
            };
            (host, port)
        }
        None => match server.split_once(':') {
            Some((_, port)) if port.contains(':') => return Err(UrlError::Brackets),
            Some((host, port)) => (host, Some(port)),
            None => (server, None),
        },
    };
    settings.host = some_text(host)?;
    settings.port = port.map(parse_port).transpose()?;
    Ok(())
}

fn parse_port(port: &str) -> Result<u16, UrlError> {
    let number = Some(port).filter(|p| p.bytes().all(|b| b.is_ascii_digit())).and_then(|p| p.parse().ok());
    number.filter(|&n| n > 0).ok_or(UrlError::Port)
}

fn set_parameters(settings: &mut Settings, query: &str) -> Result<(), OptionError> {
    for parameter in query.split('&').filter(|p| !p.is_empty()) {
        let (name, value) = match parameter.split_once('=') {
            Some((name, value)) => (name, Some(decode(value)?)),
            None => (parameter, None),
        };
        let name = name.replace('_', "-");
        if !PARAMETERS.contains(&name.as_str()) {
            return Err(UrlError::Parameter.into());
        }
        settings.set(Text { name: &name, value: value.as_deref(), origin: &Origin::Url })?;
    }
    Ok(())
}

/// The decoded text; an absent part says nothing.
fn some_text(part: &str) -> Result<Option<String>, UrlError> {
    if part.is_empty() { Ok(None) } else { decode(part).map(Some) }
}

/// Resolves `%XX`. A `+` is a plus: that it means a space holds for HTML forms only.
fn decode(part: &str) -> Result<String, UrlError> {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.as_bytes();
    while let [first, tail @ ..] = rest {
        (rest, _) = match (first, tail) {
            (b'%', [high, low, tail @ ..]) => (tail, bytes.push(hex(*high)? << 4 | hex(*low)?)),
            (b'%', _) => return Err(UrlError::Percent),
            (plain, tail) => (tail, bytes.push(*plain)),
        };
    }
    String::from_utf8(bytes).map_err(|_| UrlError::NotUtf8)
}

fn hex(digit: u8) -> Result<u8, UrlError> {
    let value = char::from(digit).to_digit(16).ok_or(UrlError::Percent)?;
    // A hexadecimal digit is at most 15.
    Ok(value as u8)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Protocol, SslMode};
    use super::*;

    fn given(password: &str) -> Option<PasswordSetting> {
        Some(PasswordSetting::Given(Secret::from(password)))
    }

    #[test]
    fn all_parts() {
        let settings =
            parse("mysql://bob:s%40cret@db.example:3307/shop?ssl-mode=verify_ca&ssl-ca=/a%26b").unwrap();
        let expected = Settings {
            user: Some("bob".into()),
            password: given("s@cret"),
            host: Some("db.example".into()),
            port: Some(3307),
            database: Some("shop".into()),
            ssl_mode: Some(SslMode::VerifyCa),
            ssl_ca: Some("/a&b".into()),
            ..Settings::default()
        };
        assert_eq!(settings, expected);
    }

    #[test]
    fn all_parts_may_be_absent() {
        for url in ["mysql://", "mysql:///", "mariadb://", "mysql://@", "mysql:///?", "mysql://?&"] {
            assert_eq!(parse(url).unwrap(), Settings::default(), "{url}");
        }
        assert_eq!(parse("mysql://h").unwrap().host.as_deref(), Some("h"));
        assert_eq!(parse("mysql://u@").unwrap().user.as_deref(), Some("u"));
    }

    #[test]
    fn passwords() {
        let password = |url| parse(url).unwrap().password;
        assert_eq!(password("mysql://u@h"), None);
        assert_eq!(password("mysql://u:@h"), given(""));
        assert_eq!(password("mysql://u:a:b@h"), given("a:b"));
        assert_eq!(password("mysql://u:a@b@h"), given("a@b"));
        assert_eq!(password("mysql://u:a+b@h"), given("a+b"));
        assert_eq!(password("mysql://u:%C3%bc@h"), given("ü"));
    }

    #[test]
    fn ipv6_addresses() {
        let settings = parse("mysql://u@[2001:db8::1]:3307/db").unwrap();
        assert_eq!((settings.host.as_deref(), settings.port), (Some("2001:db8::1"), Some(3307)));
        assert_eq!(parse("mysql://[::1]").unwrap().host.as_deref(), Some("::1"));
        assert_eq!(parse("mysql://[fe80::1%25eth0]").unwrap().host.as_deref(), Some("fe80::1%eth0"));
    }

    #[test]
    fn parameters() {
        let settings = parse("mysql://h?get-server-public-key&server-public-key-path=/k.pem").unwrap();
        assert_eq!(settings.get_server_public_key, Some(true));
        assert_eq!(settings.server_public_key_path, Some("/k.pem".into()));
        assert_eq!(parse("mysql://h?enable_cleartext_plugin=1").unwrap().enable_cleartext_plugin, Some(true));
        let settings = parse("mysql://u@/db?socket=/run/s.sock&protocol=socket&connect_timeout=3").unwrap();
        assert_eq!(settings.socket, Some("/run/s.sock".into()));
        assert_eq!((settings.protocol, settings.connect_timeout), (Some(Protocol::Socket), Some(3)));
    }

    #[test]
    fn errors_name_the_fault_and_never_the_password() {
        for (url, expected) in [
            ("", "does not start with mysql://"),
            ("http://u:hunter2@h", "does not start with mysql://"),
            ("u:hunter2@h", "does not start with mysql://"),
            ("mysql://u:hun/ter2@h", "has a '/' or '?' before its last '@'"),
            ("mysql://u:hun?ter2@h", "has a '/' or '?' before its last '@'"),
            ("mysql://u:hunter2@x/hunter2@h", "has a '/' or '?' before its last '@'"),
            ("mysql://u:hunter2#@h", "has a '#'"),
            ("mysql://u:hun#ter2@h", "has a '#'"),
            ("mysql://u:hunter2", "has a port that is not a number from 1 to 65535"),
            ("mysql://u:hun:ter2", "has an IPv6 address that does not stand in [ ]"),
            ("mysql://u:hunter2@h:0", "has a port that is not a number from 1 to 65535"),
            ("mysql://u:hunter2@h:", "has a port that is not a number from 1 to 65535"),
            ("mysql://u:hunter2@h:+1", "has a port that is not a number from 1 to 65535"),
            ("mysql://u:hunter2@h:65536", "has a port that is not a number from 1 to 65535"),
            ("mysql://u:hunter2@::1", "has an IPv6 address that does not stand in [ ]"),
            ("mysql://u:hunter2@[::1", "has an IPv6 address that does not stand in [ ]"),
            ("mysql://u:hunter2@[::1]3306", "has an IPv6 address that does not stand in [ ]"),
            ("mysql://u:hunter2@h/a/b", "has more than a database name in its path"),
            ("mysql://u:hunter2%@h", "has a '%' that is not followed by two hexadecimal digits"),
            ("mysql://u:hunter2%4@h", "has a '%' that is not followed by two hexadecimal digits"),
            ("mysql://u:hunter2%g0@h", "has a '%' that is not followed by two hexadecimal digits"),
            ("mysql://u:hunter2%ff@h", "has %-escapes that are not valid UTF-8"),
            ("mysql://u:hun?hunter2", "has a port that is not a number from 1 to 65535"),
        ] {
            let error = parse(url).unwrap_err();
            assert_eq!(error.to_string(), format!("the server URL {expected}"), "{url}");
            assert!(error.hint().is_some());
        }
    }

    #[test]
    fn bad_parameters() {
        let error = |url| parse(url).unwrap_err().to_string();
        assert_eq!(
            error("mysql://h?hunter2=1"),
            "the server URL has a parameter that is none of ssl-mode, ssl-ca, ssl-cert, ssl-key, socket, \
             protocol, connect-timeout, get-server-public-key, server-public-key-path, \
             enable-cleartext-plugin"
        );
        assert_eq!(
            error("mysql://h?ssl-mode=hunter2"),
            "server URL: ssl-mode must be DISABLED, PREFERRED, REQUIRED, VERIFY_CA or VERIFY_IDENTITY"
        );
        assert_eq!(error("mysql://h?socket"), "server URL: socket must be followed by = and a value");
    }

    fn encode(text: &str) -> String {
        let escape = |b: u8| match b {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(b).to_string(),
            other => format!("%{other:02X}"),
        };
        text.bytes().map(escape).collect()
    }

    proptest! {
        #[test]
        fn decoding_undoes_encoding(text in any::<String>()) {
            prop_assert_eq!(decode(&encode(&text)), Ok(text));
        }

        #[test]
        fn every_user_password_and_database_gets_through(
            user in ".+",
            password in any::<String>(),
            db in ".+",
        ) {
            let url = format!("mysql://{}:{}@h:1/{}", encode(&user), encode(&password), encode(&db));
            let settings = parse(&url).unwrap();
            prop_assert_eq!((settings.user, settings.database), (Some(user), Some(db)));
            prop_assert_eq!(settings.password, given(&password));
            prop_assert_eq!((settings.host.as_deref(), settings.port), (Some("h"), Some(1)));
        }

        #[test]
        fn no_error_shows_the_password(
            url in "mysql://u:[/?#@:%&=]?qzjx[/?#@:%&=]?(@h)?(:3)?(/d)?([?]p=1)?",
        ) {
            if let Err(error) = parse(&url) {
                let shown = format!("{error} {error:?} {:?}", error.hint());
                prop_assert!(!shown.contains("qzjx"));
            }
        }
    }
}
