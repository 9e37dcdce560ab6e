//! The file of MariaDB's plugin `file_key_management`: a line `NUMBER;KEY` for each key, in hexadecimal digits. It may be
//! encrypted with a password, by `openssl enc -aes-256-cbc`. Source: MariaDB `plugin/file_key_management/parser.cc`.

use std::collections::HashMap;

use ring::digest::{Algorithm, SHA1_FOR_LEGACY_USE_ONLY, SHA256, SHA384, SHA512};
use zeroize::Zeroizing;

use super::unhex;
use crate::crypt::aes::{Aes, BLOCK};
use crate::crypt::derive::key_and_iv;
use crate::crypt::secret::Secret;

/// What a file begins with that is encrypted.
pub(super) const ENCRYPTED: &[u8] = b"Salted__";
/// Of what comes then, in bytes.
const SALT: usize = 8;
/// What the password may have been digested with: SHA-1, since 12.0 what `file_key_management_digest` says.
const DIGESTS: [&Algorithm; 4] = [&SHA1_FOR_LEGACY_USE_ONLY, &SHA256, &SHA384, &SHA512];

/// The keys by their numbers. The error says in which line what is wrong, and nothing of the content.
pub(super) fn keys(bytes: &[u8]) -> Result<HashMap<u32, Secret>, String> {
    let mut keys = HashMap::new();
    for (number, line) in bytes.split(|&byte| byte == b'\n').enumerate() {
        let line = line.trim_ascii_start();
        if line.is_empty() || line.starts_with(b"#") {
            continue;
        }
        let (id, key) = key(line).ok_or_else(|| {
            format!("its line {} is not NUMBER;KEY with a key of 32, 48 or 64 hexadecimal digits", number + 1)
        })?;
        keys.insert(id, key);
    }
    if keys.is_empty() { Err("it is empty".into()) } else { Ok(keys) }
}

/// What follows a key in its line is a remark.
fn key(line: &[u8]) -> Option<(u32, Secret)> {
    let (id, rest) = line.split_at(line.iter().position(|&byte| byte == b';')?);
    let rest = &rest[1..]; // the `;`
    let digits = rest.iter().take_while(|digit| digit.is_ascii_hexdigit()).count();
    if !matches!(digits, 32 | 48 | 64) {
        return None;
    }
    let id = std::str::from_utf8(id).ok()?.parse().ok()?;
    Some((id, unhex(&rest[..digits])?.into()))
}

/// What the file holds, if that password opens it.
pub(super) fn decrypted(file: &[u8], password: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let (salt, encrypted) = file.strip_prefix(ENCRYPTED)?.split_at_checked(SALT)?;
    DIGESTS.iter().find_map(|digest| {
        let (key, iv) = key_and_iv(digest, password, salt);
        let mut plain = Zeroizing::new(encrypted.to_vec());
        Aes::new(key.as_slice())?.decrypt_cbc(&iv, &mut plain);
        let length = unpadded(&plain)?;
        plain.truncate(length);
        // With a wrong password the padding is right for one in 256.
        keys(&plain).ok().map(|_| plain)
    })
}

/// The length without the padding: up to a block of bytes that all say how many they are (PKCS #7).
fn unpadded(plain: &[u8]) -> Option<usize> {
    let padding = usize::from(*plain.last()?);
    let length = plain.len().checked_sub(padding)?;
    let is_right =
        (1..=BLOCK).contains(&padding) && plain[length..].iter().all(|&byte| usize::from(byte) == padding);
    (plain.len().is_multiple_of(BLOCK) && is_right).then_some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The forms that MariaDB's own test data has (`std_data/keys.txt`).
    #[test]
    fn lines_as_the_plugin_takes_them() {
        let text = "#\n# a remark\n1;770A8A65DA156D24EE2A093277530142\n  # another\n\
            4;18420B5CBA31CCDFFE9716E91EB61374D05914F3ADE23E03 --> ignored\n\n\
            33;b374a26a71490437aa024e4fadd5b497fdff1a8ea6ff12f6fb65af2720b59ccf\r\n";
        let keys = keys(text.as_bytes()).unwrap();
        let sizes = [1, 4, 33].map(|id| keys[&id].bytes().len());
        assert_eq!((keys.len(), sizes), (3, [16, 24, 32]));
        assert_eq!(keys[&1].bytes()[..3], [0x77, 0x0a, 0x8a]);
    }

    #[test]
    fn an_error_names_the_line_and_shows_nothing_of_it() {
        let good = "1;770A8A65DA156D24EE2A093277530142\n";
        for bad in
            ["2;5EC4E7", "2 770A8A65DA156D24EE2A093277530142", "x;770A8A65DA156D24EE2A093277530142", "5ec4e7"]
        {
            let error = keys(format!("{good}{bad}").as_bytes()).unwrap_err();
            assert!(error.contains("line 2 ") && !error.to_lowercase().contains("5ec4e7"), "{error}");
        }
        assert_eq!(keys(b"# nothing\n").unwrap_err(), "it is empty");
    }

    /// Encrypted with `openssl enc -aes-256-cbc -k secret -md …`, the salt being 0123456789abcdef.
    const ENCRYPTED_WITH: [(&str, &str); 2] = [
        (
            "sha1",
            "53616c7465645f5f0123456789abcdefd29fe6fad959465fc37e83ef8dcf5340\
             3e6f590e07902facd8dbf5ad8a719db6a1b43f1f0d1dad103dbaa95de40f53e5",
        ),
        (
            "sha512",
            "53616c7465645f5f0123456789abcdef6eb233bdb09420f50f0c08178ffff991\
             e5b2a1ce2edadbe40b7d7c99ecbc49f76f82079b3ec4c0de6c745515e5d9f874",
        ),
    ];

    #[test]
    fn an_encrypted_file_opens_with_its_password_only() {
        for (digest, hex) in ENCRYPTED_WITH {
            let file = unhex(hex.as_bytes()).unwrap();
            let plain = decrypted(&file, b"secret").unwrap();
            assert_eq!(plain.as_slice(), b"1;770A8A65DA156D24EE2A093277530142\n", "{digest}");
            assert!(decrypted(&file, b"Secret").is_none() && decrypted(&file, b"").is_none());
            for length in 0..file.len() {
                assert!(decrypted(&file[..length], b"secret").is_none(), "{digest}, {length} bytes");
            }
        }
    }
}
