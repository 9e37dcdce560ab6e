//! Files of keys. What a file is, its content says:
//!
//! - that of MySQL's `component_keyring_file` is JSON ([`component`]);
//! - that of MariaDB's plugin `file_key_management` is lines of text ([`file_key_management`]), or these encrypted with a
//!   password, which begins with `Salted__`.

mod component;
mod file_key_management;

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use zeroize::Zeroizing;

use super::secret::Secret;
use crate::{Error, Result};

/// The keys of a server.
#[derive(Debug)]
pub struct Keyring {
    /// What errors call it.
    name: String,
    keys: Keys,
}

#[derive(Debug)]
enum Keys {
    /// By their `data_id`.
    MySql(HashMap<String, Secret>),
    /// By their number.
    MariaDb(HashMap<u32, Secret>),
}

/// No file of keys is larger, in bytes.
const LARGEST: u64 = 16 << 20;
/// What the files of MySQL's former plugin `keyring_file` begin with.
const PLUGIN: &[u8] = b"Keyring file version:";

impl Keyring {
    /// Reads a file of keys; if it is encrypted, with the password that is the content of the other file, as in
    /// `file_key_management_filekey=FILE:…`.
    ///
    /// # Errors
    /// If a file cannot be read, or does not hold what it should. Nothing of its content is in the error.
    pub fn read(path: &Path, password: Option<&Path>) -> Result<Self> {
        let name = path.display().to_string();
        let bytes = content(path)?;
        let keys = if bytes.starts_with(file_key_management::ENCRYPTED) {
            let plain = decrypted(&name, &bytes, password)?;
            file_key_management::keys(&plain).map(Keys::MariaDb)
        } else if bytes.starts_with(PLUGIN) {
            return Err(Error::with_hint(
                format!(
                    "{name}: it is the file of the former plugin keyring_file, which drover does not read"
                ),
                "copy its keys into a file of component_keyring_file: mysqld --keyring-migration-to-component does that",
            ));
        } else if bytes.trim_ascii_start().starts_with(b"{") {
            component::keys(&bytes).map(Keys::MySql)
        } else {
            file_key_management::keys(&bytes).map(Keys::MariaDb)
        };
        let keys = keys.map_err(|what| {
            Error::with_hint(
                format!("{name}: it is no file of keys: {what}"),
                "give the file of MySQL's component_keyring_file or of MariaDB's plugin file_key_management",
            )
        })?;
        Ok(Self { name, keys })
    }

    /// What errors call it.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// MySQL's key of this name. The error says why there is none.
    pub(super) fn of_mysql(&self, id: &str) -> std::result::Result<&Secret, String> {
        match &self.keys {
            Keys::MySql(keys) => keys.get(id).ok_or_else(|| format!("{} does not have it", self.name)),
            Keys::MariaDb(_) => Err(format!("{} has keys of MariaDB", self.name)),
        }
    }

    /// MariaDB's key of this number. The error says why there is none.
    pub(super) fn of_mariadb(&self, id: u32) -> std::result::Result<&Secret, String> {
        match &self.keys {
            Keys::MariaDb(keys) => keys.get(&id).ok_or_else(|| format!("{} does not have it", self.name)),
            Keys::MySql(_) => Err(format!("{} has keys of MySQL", self.name)),
        }
    }
}

fn decrypted(name: &str, bytes: &[u8], password: Option<&Path>) -> Result<Zeroizing<Vec<u8>>> {
    let Some(path) = password else {
        return Err(Error::with_hint(
            format!("{name}: it is encrypted with a password"),
            "give the file that the password is in, the server's file_key_management_filekey, with \
             --keyring-password-file",
        ));
    };
    let password = content(path)?;
    // As the server reads it: a line end is no part of it.
    let end = password.iter().rposition(|byte| !b"\r\n".contains(byte)).map_or(0, |last| last + 1);
    file_key_management::decrypted(bytes, &password[..end]).ok_or_else(|| {
        Error::with_hint(
            format!("{name}: the password in {} does not open it", path.display()),
            "if it was encrypted with -pbkdf2, decrypt it with `openssl enc -d` and give what comes out",
        )
    })
}

fn content(path: &Path) -> Result<Zeroizing<Vec<u8>>> {
    let mut bytes = Zeroizing::new(Vec::new());
    let file = File::open(path).map_err(Error::file(path))?;
    file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(Error::file(path))?;
    if bytes.len() as u64 > LARGEST {
        return Err(Error::found(format!("{}: it is too large for a file of keys", path.display())));
    }
    Ok(bytes)
}

/// The bytes that these hexadecimal digits stand for.
pub(super) fn unhex(digits: &[u8]) -> Option<Vec<u8>> {
    let digit = |digit: u8| char::from(digit).to_digit(16).map(|value| value as u8);
    let (pairs, []) = digits.as_chunks::<2>() else { return None };
    pairs.iter().map(|&[high, low]| Some(digit(high)? << 4 | digit(low)?)).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A keyring named `keyring` with one key of MySQL.
    pub(crate) fn of_mysql(id: &str, key: Vec<u8>) -> Keyring {
        Keyring { name: "keyring".into(), keys: Keys::MySql(HashMap::from([(id.to_owned(), key.into())])) }
    }

    /// A keyring named `keyring` with one key of MariaDB.
    pub(crate) fn of_mariadb(id: u32, key: Vec<u8>) -> Keyring {
        Keyring { name: "keyring".into(), keys: Keys::MariaDb(HashMap::from([(id, key.into())])) }
    }

    fn read(content: &[u8], password: Option<&[u8]>) -> std::result::Result<Keyring, String> {
        let directory = tempfile::tempdir().unwrap();
        let [file, other] = ["keys", "password"].map(|name| directory.path().join(name));
        std::fs::write(&file, content).unwrap();
        std::fs::write(&other, password.unwrap_or_default()).unwrap();
        Keyring::read(&file, password.map(|_| other.as_path())).map_err(|error| {
            let shown = format!("{error} {}", error.hint().unwrap_or_default());
            shown.replace(&format!("{}/", directory.path().display()), "")
        })
    }

    const LINE: &[u8] = b"1;770A8A65DA156D24EE2A093277530142\n";
    const JSON: &[u8] = br#"
        {"elements": [{"user": "", "data_id": "K", "data_type": "AES", "data": "770A", "extension": []}]}"#;

    #[test]
    fn what_a_file_is_its_content_says() {
        assert_eq!(read(LINE, None).unwrap().of_mariadb(1).unwrap().bytes()[..2], [0x77, 0x0a]);
        assert_eq!(read(JSON, None).unwrap().of_mysql("K").unwrap().bytes(), [0x77, 0x0a]);
        for (content, said) in [
            (&b""[..], "keys: it is no file of keys: it is empty"),
            (b"\xfebin", "keys: it is no file of keys: its line 1 is not NUMBER;KEY"),
            (b"{}", "keys: it is no file of keys: as JSON it is wrong in line 1"),
            (b"Keyring file version:2.0\x01", "keys: it is the file of the former plugin keyring_file"),
            (b"Salted__", "keys: it is encrypted with a password give the file that the password is in"),
        ] {
            let error = read(content, None).unwrap_err();
            assert!(error.starts_with(said), "{error}");
        }
    }

    #[test]
    fn a_line_end_is_no_part_of_the_password() {
        let hex = "53616c7465645f5f0123456789abcdefd29fe6fad959465fc37e83ef8dcf5340\
                   3e6f590e07902facd8dbf5ad8a719db6a1b43f1f0d1dad103dbaa95de40f53e5";
        let file = unhex(hex.as_bytes()).unwrap();
        for password in [&b"secret"[..], b"secret\n", b"secret\r\n"] {
            assert!(read(&file, Some(password)).is_ok());
        }
        let error = read(&file, Some(b"hush")).unwrap_err();
        assert!(error.starts_with("keys: the password in password does not open it"), "{error}");
    }

    #[test]
    fn keys_are_not_shown() {
        for content in [LINE, JSON] {
            let shown = format!("{:?}", read(content, None).unwrap());
            assert!(
                shown.contains("Secret") && !shown.to_lowercase().contains("770a") && !shown.contains("119"),
                "{shown}"
            );
        }
    }

    #[test]
    fn each_vendors_keys_are_for_its_logs() {
        assert_eq!(of_mysql("K", vec![1]).of_mariadb(1).unwrap_err(), "keyring has keys of MySQL");
        assert_eq!(of_mariadb(1, vec![1]).of_mysql("K").unwrap_err(), "keyring has keys of MariaDB");
        assert_eq!(of_mysql("K", vec![1]).of_mysql("L").unwrap_err(), "keyring does not have it");
        assert_eq!(of_mariadb(2, vec![1]).of_mariadb(1).unwrap_err(), "keyring does not have it");
    }

    #[test]
    fn digits_that_are_none_or_odd_are_nothing() {
        assert_eq!(unhex(b"00fFa0"), Some(vec![0x00, 0xff, 0xa0]));
        assert_eq!((unhex(b"0"), unhex(b"0g"), unhex(b"+1")), (None, None, None));
    }
}
