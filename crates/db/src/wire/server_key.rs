//! The RSA key that a server sends where a password is to be encrypted without TLS. `mysql_common` panics if the lengths
//! in it are wrong or the password is too long for it, so a key is looked at here before it gets there.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use rustls::pki_types::SubjectPublicKeyInfoDer;
use rustls::pki_types::pem::PemObject;

const BEGIN: &[u8] = b"-----BEGIN ";
const HEADING: &[u8] = b"-----BEGIN PUBLIC KEY-----";

const SEQUENCE: u8 = 0x30;
const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;

/// What the padding takes of a modulus, in bytes (OAEP with SHA-1: 42), and one more for the password's final NUL.
const PADDING: usize = 43;
/// The longest modulus, in bytes: 16384 bits are more than anybody's key has, and take long.
const MAX_MODULUS: usize = 2048;
/// The longest exponent, in bytes. In practice it is 65537.
const MAX_EXPONENT: usize = 8;

/// More than any file with one key has, in bytes.
const MAX_FILE: u64 = 64 << 10;

/// The key in a file, with which a password of `length` bytes can be encrypted.
pub(super) fn read(path: &Path, length: usize) -> io::Result<Vec<u8>> {
    let mut pem = Vec::new();
    File::open(path)?.take(MAX_FILE).read_to_end(&mut pem)?;
    if is_usable(&pem, length) {
        return Ok(pem);
    }
    Err(io::Error::new(io::ErrorKind::InvalidData, "no RSA public key in PEM format that is long enough"))
}

/// Whether this part of a login is a public key, and not one that a password of `length` bytes can be encrypted with.
pub(super) fn is_unusable(challenge: &[u8], length: usize) -> bool {
    keys(challenge) > 0 && !is_usable(challenge, length)
}

fn is_usable(pem: &[u8], length: usize) -> bool {
    keys(pem) == 1 && pem.starts_with(HEADING) && is_rsa_key_for(pem, length)
}

fn keys(pem: &[u8]) -> usize {
    pem.windows(BEGIN.len()).filter(|window| *window == BEGIN).count()
}

fn is_rsa_key_for(pem: &[u8], length: usize) -> bool {
    let Ok(key) = SubjectPublicKeyInfoDer::from_pem_slice(pem) else { return false };
    rsa_lengths(&key).is_some_and(|(modulus, exponent)| {
        modulus > PADDING + length && modulus <= MAX_MODULUS && exponent <= MAX_EXPONENT
    })
}

/// The lengths of modulus and exponent, in bytes, of a `SubjectPublicKeyInfo` (RFC 3279, section 2.3.1).
fn rsa_lengths(der: &[u8]) -> Option<(usize, usize)> {
    let (info, _) = value(der, SEQUENCE)?;
    let (_algorithm, rest) = value(info, SEQUENCE)?;
    let (key, _) = value(rest, BIT_STRING)?;
    let (numbers, _) = value(key.strip_prefix(&[0])?, SEQUENCE)?;
    let (modulus, rest) = value(numbers, INTEGER)?;
    let (exponent, _) = value(rest, INTEGER)?;
    Some((significant(modulus), significant(exponent)))
}

/// The value at the start of `der`, which must have this tag, and what follows it.
fn value(der: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (&first, rest) = der.strip_prefix(&[tag])?.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81 | 0x82 => {
            let (bytes, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            (bytes.iter().fold(0, |length, &byte| length << 8 | usize::from(byte)), rest)
        }
        _ => return None,
    };
    rest.split_at_checked(length)
}

fn significant(integer: &[u8]) -> usize {
    integer.len() - integer.iter().take_while(|&&byte| byte == 0).count()
}

#[cfg(test)]
pub(super) mod tests {
    use mysql_common::crypto::encrypt;
    use proptest::prelude::*;

    use super::*;

    pub(in crate::wire) const KEY: &str = "-----BEGIN PUBLIC KEY-----
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAtgKHZaGh07foIwnODrjt
NJ+pDL+j85frd4PNZi/T4sRRBEffg96qu+8WNAyAy0MSu7enXaNWPdEuPdr+1oMS
YuZvOPtZA69R8yUBi7g3w5zfvH3Y1ZZ/eFn20GzNA3LEkQqY+29wV7L4cJTLDqGh
UFg7BeuOn9opzemjaHQH/m9IcBnSab1zj6kHkVzatnux0tequSnJs52wRKn35eLH
Nd26Ey36l6+Ki8vlLtyLv3Xc4ew4Rd/bXccNnW4yOsr2khX+vuIA1MdoOpQpW9jp
Ss/x+ZtvNoa/gmkrucYKGtGK0rxrKgKsACiev5x8Ax3bolcIrMTH7XG+SE276ukN
qQIDAQAB
-----END PUBLIC KEY-----
";
    /// 512 bits.
    const SHORT_KEY: &str = "-----BEGIN PUBLIC KEY-----
MFwwDQYJKoZIhvcNAQEBBQADSwAwSAJBALg3GmKY1WoVPvVlq+c0wT57hejAYATK
OgA1hnQuZb2i48e8sHNcNt+VtUIhb7Ta9TocCF83/FPnxfln6rODB4MCAwEAAQ==
-----END PUBLIC KEY-----
";

    /// Every length that is let through can be encrypted.
    #[test]
    fn a_password_must_fit_into_the_key() {
        for (key, longest) in [(KEY, 256 - PADDING - 1), (SHORT_KEY, 64 - PADDING - 1)] {
            for length in 0..300 {
                assert_eq!(is_unusable(key.as_bytes(), length), length > longest, "{length}");
            }
            for length in 0..=longest {
                encrypt(&vec![b'x'; length + 1], key.as_bytes()).unwrap();
            }
        }
    }

    #[test]
    fn only_one_whole_key_will_do() {
        let pkcs1 = KEY.replace("PUBLIC KEY", "RSA PUBLIC KEY");
        let empty = "-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----\n";
        let (two, mixed, later) = (format!("{KEY}{KEY}"), format!("{pkcs1}{KEY}"), format!("x{KEY}"));
        for bad in [&pkcs1, &two, &mixed, &later, empty, &KEY[..200]] {
            assert!(is_unusable(bad.as_bytes(), 8), "{bad}");
        }
        for other in [&b""[..], b"\x04", b"a nonce of twenty bytes"] {
            assert!(!is_unusable(other, 8));
        }
    }

    proptest! {
        #[test]
        fn no_key_that_passes_makes_the_encryption_panic(
            changes in prop::collection::vec((0..370_usize, "[A-Za-z0-9+/]"), 1..4),
            cut in prop::option::of(0..98_usize),
        ) {
            let mut key = KEY.to_owned();
            let body = HEADING.len() + 1;
            for (offset, letter) in changes {
                let at = body + offset;
                if key.as_bytes()[at] != b'\n' {
                    key.replace_range(at..=at, &letter);
                }
            }
            if let Some(fours) = cut {
                key.replace_range(body..body + 4 * fours, "");
            }
            if !is_unusable(key.as_bytes(), 8) {
                let _may_fail = encrypt(b"12345678\0", key.as_bytes());
            }
        }
    }
}
