//! Who may do what: whoever reaches the page may look, and whoever knows the token may act.

use std::io::Read as _;
use std::net::IpAddr;
use std::path::Path;

use drover_db::options::Secret;
use subtle::ConstantTimeEq;

use crate::private::open_to_others;
use crate::{Error, Result};

/// A shorter token could be guessed.
const SHORTEST: usize = 16;
/// No more of the file is read, in bytes.
const LONGEST: u64 = 64 << 10;

/// What those know who may act. It prints as `***`.
#[derive(Debug, Clone)]
pub struct Token(Secret);

impl Token {
    /// Reads it from a file, without the space around it.
    ///
    /// # Errors
    /// If the file cannot be read, or others can read it too, or its token is too short, or can't be sent in a header.
    pub fn load(path: &Path) -> Result<Self> {
        let mut file = std::fs::File::open(path).map_err(Error::file(path))?;
        let about = file.metadata().map_err(Error::file(path))?;
        if let Some(mode) = open_to_others(&about) {
            return Err(Error::with_hint(
                format!("{}: others may read this token (mode {mode:04o})", path.display()),
                format!("chmod 600 {}", path.display()),
            ));
        }
        let mut text = String::new();
        file.by_ref().take(LONGEST).read_to_string(&mut text).map_err(Error::file(path))?;
        Self::new(text.trim()).map_err(|why| {
            Error::with_hint(
                format!("{}: {why}", path.display()),
                "write one with `openssl rand -hex 32 > FILE`, for yourself alone: chmod 600 FILE",
            )
        })
    }

    fn new(text: &str) -> std::result::Result<Self, String> {
        if text.len() < SHORTEST {
            return Err(format!("the token has fewer than {SHORTEST} characters"));
        }
        match text.bytes().all(|byte| byte.is_ascii_graphic()) {
            true => Ok(Self(Secret::from(text))),
            false => Err("the token holds something else than letters, digits and signs of ASCII".into()),
        }
    }

    /// Whether this is it. How long that takes does not tell how much of it is right.
    pub(crate) fn is(&self, offered: &[u8]) -> bool {
        self.0.expose().as_bytes().ct_eq(offered).into()
    }
}

/// Whether a `Host` header names this machine. A page of a stranger whose name was made to lead here still sends its own name.
pub(crate) fn is_own(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']').map_or("", |(name, port)| if is_port(port) { name } else { "" }),
        None => match host.split_once(':') {
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
            Some(_) => "",
            None => host,
        },
    };
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// What follows the `]` of an address.
fn is_port(text: &str) -> bool {
    text.is_empty()
        || text.strip_prefix(':').is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_token_is_right() {
        let token = Token::new("0123456789abcdef").unwrap();
        assert!(token.is(b"0123456789abcdef"));
        for wrong in ["", "0123456789abcde", "0123456789abcdeF", "0123456789abcdef0"] {
            assert!(!token.is(wrong.as_bytes()), "{wrong}");
        }
        assert!(!format!("{token:?}").contains("0123"));
    }

    #[test]
    fn a_token_that_could_be_guessed_or_not_be_sent_is_refused() {
        assert!(Token::new("0123456789abcde").unwrap_err().contains("16"));
        assert!(Token::new("0123456789 abcdef").is_err() && Token::new("0123456789abcdéf").is_err());
    }

    #[test]
    fn hosts() {
        for own in ["localhost", "LocalHost:8080", "127.0.0.1", "127.8.9.1:80", "[::1]:8080", "[::1]"] {
            assert!(is_own(own), "{own}");
        }
        for other in [
            "",
            "example.com",
            "localhost.example.com:80",
            "127.0.0.1.example.com",
            "10.0.0.1:8080",
            "[::2]:80",
            "[::1]x",
            "::1",
            "localhost:x",
        ] {
            assert!(!is_own(other), "{other}");
        }
    }
}
