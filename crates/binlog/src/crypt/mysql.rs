//! Logs that MySQL encrypted (`binlog_encryption`, from 8.0.14 on): a header of 512 bytes, then the whole log, magic and all,
//! with AES-256 in CTR mode. The key of that is made of a password of the log's own, which is in the header, encrypted with a
//! key of the server's keyring. Positions are those in the log as it was before. Source: MySQL `sql/rpl_log_encryption.h`,
//! `sql/stream_cipher.cc`.

use std::io::{self, Cursor as Bytes, Read};

use ::aes::Aes256;
use ctr::cipher::{KeyIvInit, StreamCipher};
use ring::digest::SHA512;
use zeroize::Zeroizing;

use super::aes::{Aes, BLOCK};
use super::derive::{KEY, key_and_iv};
use super::keyring::Keyring;
use crate::log::{Cursor, MAGIC, Short};
use crate::{Error, Result};

/// What encrypted logs begin with.
const ENCRYPTED: [u8; 4] = *b"\xfdbin";
/// Of the header, in bytes.
const HEADER: u64 = 512;
/// The only version there is.
const VERSION: u8 = 1;

/// Fields of the header.
mod field {
    pub(super) const END: u8 = 0;
    pub(super) const KEY_ID: u8 = 1;
    pub(super) const PASSWORD: u8 = 2;
    pub(super) const IV: u8 = 3;
}

/// The log as it was before it was encrypted; one that is not, as it is.
///
/// # Errors
/// If it is encrypted and cannot be opened with these keys.
pub(crate) fn opened(
    log: &str,
    mut input: Box<dyn Read + Send>,
    keyring: Option<&Keyring>,
) -> Result<Box<dyn Read + Send>> {
    let magic = taken(log, &mut input, ENCRYPTED.len() as u64)?;
    if *magic != ENCRYPTED {
        return Ok(Box::new(Bytes::new(magic).chain(input)));
    }
    let rest = taken(log, &mut input, HEADER - ENCRYPTED.len() as u64)?;
    let header = Header::parse(&rest).map_err(|Short| {
        Error::found(format!("{log}: the header that says how it is encrypted is damaged"))
    })?;
    let cipher = header.cipher(log, keyring)?;
    let mut input = Decrypted { input, cipher };
    let magic = taken(log, &mut input, MAGIC.len() as u64)?;
    if !MAGIC.starts_with(&magic) {
        let keyring = keyring.map_or_else(String::new, |keyring| format!(" in {}", keyring.name()));
        return Err(Error::with_hint(
            format!("{log}: the key {}{keyring} does not open it", header.key_id),
            "give the keyring file of the server that wrote the log, or of one that has its keys",
        ));
    }
    Ok(Box::new(Bytes::new(magic).chain(input)))
}

/// So many bytes, or fewer at the end.
fn taken(log: &str, input: &mut impl Read, count: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = input.take(count).read_to_end(&mut bytes);
    read.map_err(|source| Error::Read { log: log.to_owned(), position: 0, source })?;
    Ok(bytes)
}

/// What the header says.
struct Header<'a> {
    key_id: String,
    /// The log's password, encrypted.
    password: &'a [u8],
    /// What its encryption began with.
    iv: &'a [u8; BLOCK],
}

impl<'a> Header<'a> {
    /// Reads what follows the magic.
    fn parse(bytes: &'a [u8]) -> std::result::Result<Self, Short> {
        let mut at = Cursor::new(bytes);
        let (mut key_id, mut password, mut iv) = (None, None, None);
        if at.u8()? != VERSION {
            return Err(Short);
        }
        loop {
            match at.u8()? {
                field::END => break,
                field::KEY_ID => key_id = Some(String::from_utf8_lossy(at.short_text()?).into_owned()),
                field::PASSWORD => password = Some(at.take(KEY)?),
                field::IV => iv = at.take(BLOCK)?.first_chunk(),
                _ => return Err(Short),
            }
        }
        Ok(Self { key_id: key_id.ok_or(Short)?, password: password.ok_or(Short)?, iv: iv.ok_or(Short)? })
    }

    /// What decrypts the log.
    fn cipher(&self, log: &str, keyring: Option<&Keyring>) -> Result<ctr::Ctr128BE<Aes256>> {
        let id = &self.key_id;
        let Some(keyring) = keyring else {
            return Err(Error::with_hint(
                format!("{log}: it is encrypted by MySQL, with the key {id}"),
                "give the server's keyring file, which its component_keyring_file.cnf names, with --keyring",
            ));
        };
        let key = keyring.of_mysql(id).map_err(|why| {
            Error::with_hint(
                format!("{log}: it is encrypted by MySQL, with the key {id}: {why}"),
                "give the keyring file of the server that wrote the log, or of one that has its keys",
            )
        })?;
        let aes = Aes::new(key.bytes()).filter(|_| key.bytes().len() == KEY);
        let what = || {
            Error::found(format!("{}: its key {id} does not have the {KEY} bytes it should", keyring.name()))
        };
        let mut password = Zeroizing::new(self.password.to_vec());
        aes.ok_or_else(what)?.decrypt_cbc(self.iv, &mut password);
        let (key, mut iv) = key_and_iv(&SHA512, &password, &[]);
        // The second half counts the blocks, from 0.
        iv[BLOCK / 2..].fill(0);
        Ok(ctr::Ctr128BE::new((&*key).into(), &iv.into()))
    }
}

/// Reads what lies behind the header.
struct Decrypted<R> {
    input: R,
    cipher: ctr::Ctr128BE<Aes256>,
}

impl<R: Read> Read for Decrypted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.cipher.apply_keystream(&mut buffer[..read]);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::keyring::tests::{of_mariadb, of_mysql};
    use super::*;

    const ID: &str = "MySQLReplicationKey_0d31_1";

    /// A log as the server would encrypt it if the log's password, encrypted, were all zeros.
    fn encrypted(plain: &[u8], key: &[u8]) -> Vec<u8> {
        let mut log = [&ENCRYPTED[..], &[VERSION, field::KEY_ID, ID.len() as u8], ID.as_bytes()].concat();
        log.push(field::PASSWORD);
        log.extend([0; KEY]);
        log.push(field::IV);
        log.extend([7; BLOCK]);
        log.resize(HEADER as usize, 0);
        let keyring = of_mysql(ID, key.to_vec());
        let mut cipher =
            Header::parse(&log[ENCRYPTED.len()..]).unwrap().cipher("log", Some(&keyring)).unwrap();
        let mut content = plain.to_vec();
        cipher.apply_keystream(&mut content);
        [log, content].concat()
    }

    fn read(log: Vec<u8>, keyring: Option<&Keyring>) -> std::result::Result<Vec<u8>, String> {
        let input = opened("log", Box::new(Bytes::new(log)), keyring);
        let mut input = input.map_err(|error| format!("{error}; {}", error.hint().unwrap_or_default()))?;
        let mut plain = Vec::new();
        input.read_to_end(&mut plain).unwrap();
        Ok(plain)
    }

    proptest! {
        #[test]
        fn an_encrypted_log_reads_as_it_was(
            content in prop::collection::vec(any::<u8>(), 0..3000),
            key in prop::collection::vec(any::<u8>(), KEY),
        ) {
            let plain = [&MAGIC[..], &content].concat();
            let log = encrypted(&plain, &key);
            prop_assert_ne!(&log[HEADER as usize..], &plain[..]);
            prop_assert_eq!(read(log, Some(&of_mysql(ID, key))), Ok(plain));
        }

        #[test]
        fn any_header_is_an_error_at_most(header in prop::collection::vec(any::<u8>(), 0..600)) {
            let log = [&ENCRYPTED[..], &[VERSION], &header].concat();
            let _ = read(log, Some(&of_mysql("", vec![1; KEY])));
        }
    }

    #[test]
    fn a_log_that_is_not_encrypted_stays_as_it_is() {
        for log in [&b""[..], b"\xfd", b"\xfebin", b"\xfebin and more"] {
            assert_eq!(read(log.to_vec(), None).unwrap(), log);
        }
    }

    #[test]
    fn without_its_key_a_log_is_not_opened() {
        let log = encrypted(&MAGIC, &[3; KEY]);
        let error = |keyring: Option<Keyring>| read(log.clone(), keyring.as_ref()).unwrap_err();
        for (keyring, said) in [
            (
                None,
                "log: it is encrypted by MySQL, with the key MySQLReplicationKey_0d31_1; give the server's keyring file",
            ),
            (
                Some(of_mysql("other", vec![3; KEY])),
                "with the key MySQLReplicationKey_0d31_1: keyring does not have it",
            ),
            (
                Some(of_mariadb(1, vec![3; KEY])),
                "with the key MySQLReplicationKey_0d31_1: keyring has keys of MariaDB",
            ),
            (
                Some(of_mysql(ID, vec![4; KEY])),
                "log: the key MySQLReplicationKey_0d31_1 in keyring does not open it",
            ),
            (
                Some(of_mysql(ID, vec![3; 16])),
                "keyring: its key MySQLReplicationKey_0d31_1 does not have the 32 bytes",
            ),
        ] {
            let error = error(keyring);
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn a_log_that_ends_in_its_header_is_damaged() {
        let log = encrypted(&MAGIC, &[3; KEY]);
        for length in 4..5 + 2 + ID.len() + 1 + KEY + 1 + BLOCK {
            let error = read(log[..length].to_vec(), Some(&of_mysql(ID, vec![3; KEY]))).unwrap_err();
            assert!(error.starts_with("log: the header that says how it is encrypted is damaged"), "{error}");
        }
    }
}
