//! Events that MariaDB encrypted (`encrypt_binlog`, from 10.1 on). Behind the format description stands an event which says so;
//! from there on each event is encrypted by itself, its length left readable. The mode is the key manager's, and not told in
//! the log. Source: MariaDB `sql/log_event.cc`, `Log_event_writer` and `read_log_event()`; `mysys_ssl/my_crypt.cc`.

use super::aes::{Aes, BLOCK};
use super::keyring::Keyring;
use crate::log::{Cursor, Short};
use crate::{Error, Result};

/// Of the event's body that differs from log to log, in bytes.
const NONCE: usize = 12;
/// The only way there is.
const SCHEME: u8 = 1;
/// The key that logs are encrypted with: MariaDB `include/mysql/plugin_encryption.h`, `ENCRYPTION_KEY_SYSTEM_DATA`.
const KEY_ID: u32 = 1;
/// The only version that keys of `file_key_management` have.
const KEY_VERSION: u32 = 1;
/// Where an event's length stands.
const SIZE: std::ops::Range<usize> = 9..13;
/// What of an event is not encrypted, in bytes. The first bytes of the header, the timestamp's place, take what the length
/// displaces.
const DISPLACED: usize = 4;

/// What the event says that stands before those which are encrypted.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Start {
    scheme: u8,
    key_version: u32,
    nonce: [u8; NONCE],
}

impl Start {
    /// Reads its body.
    pub(crate) fn parse(body: &[u8]) -> std::result::Result<Self, Short> {
        let mut at = Cursor::new(body);
        let (scheme, key_version) = (at.u8()?, at.u32()?);
        let nonce = at.take(NONCE)?.first_chunk().ok_or(Short)?;
        Ok(Self { scheme, key_version, nonce: *nonce })
    }

    /// What decrypts the events behind it, which begin at that position.
    ///
    /// # Errors
    /// If there is no key for it.
    pub(crate) fn cipher(&self, log: &str, from: u64, keyring: Option<&Keyring>) -> Result<EventCipher> {
        let Self { scheme, key_version, nonce } = *self;
        let what = format!("{log}: from {from} on it is encrypted by MariaDB, with the key {KEY_ID}");
        if scheme != SCHEME {
            return Err(Error::found(format!(
                "{what} in the way number {scheme}, which drover does not know"
            )));
        }
        let Some(keyring) = keyring else {
            return Err(Error::with_hint(
                what,
                "give the server's file of keys, which its file_key_management_filename names, with --keyring",
            ));
        };
        let hint = "give the file of keys of the plugin file_key_management of the server that wrote the log";
        if key_version != KEY_VERSION {
            let what = format!("{what} in its version {key_version}: {} knows no versions", keyring.name());
            return Err(Error::with_hint(what, "drover reads the files of file_key_management only"));
        }
        let key =
            keyring.of_mariadb(KEY_ID).map_err(|why| Error::with_hint(format!("{what}: {why}"), hint))?;
        let aes = Aes::new(key.bytes());
        let aes =
            aes.ok_or_else(|| Error::with_hint(format!("{what}, which has no size that AES has"), hint))?;
        Ok(EventCipher { aes, nonce, mode: None, keyring: keyring.name().to_owned() })
    }
}

/// Decrypts events.
pub(crate) struct EventCipher {
    aes: Aes,
    nonce: [u8; NONCE],
    /// `None` before the first event that tells it.
    mode: Option<Mode>,
    keyring: String,
}

/// What `file_key_management_encryption_algorithm` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Cbc,
    Ctr,
}

impl EventCipher {
    /// Decrypts a whole event that begins at this position of the log. While the mode is not known, `fits` is asked whether the
    /// event came out as it should.
    ///
    /// # Errors
    /// If it does so in no mode: the key is another one, or the event is damaged.
    pub(crate) fn decrypt(
        &mut self,
        position: u64,
        event: &mut [u8],
        fits: impl Fn(&[u8]) -> bool,
    ) -> std::result::Result<(), String> {
        if let Some(mode) = self.mode {
            self.decrypt_in(mode, position, event);
            return Ok(());
        }
        for mode in [Mode::Cbc, Mode::Ctr] {
            let mut copy = event.to_vec();
            self.decrypt_in(mode, position, &mut copy);
            if fits(&copy) {
                // One of less than a block comes out right in both.
                self.mode = (event.len() >= DISPLACED + BLOCK).then_some(mode);
                event.copy_from_slice(&copy);
                return Ok(());
            }
        }
        Err(format!(
            "the key {KEY_ID} in {} does not open the event, or its bytes were changed",
            self.keyring
        ))
    }

    fn decrypt_in(&self, mode: Mode, position: u64, event: &mut [u8]) {
        let Some(size) = event.get(SIZE).and_then(|size| size.first_chunk::<DISPLACED>()).copied() else {
            return;
        };
        event.copy_within(..DISPLACED, SIZE.start);
        let encrypted = &mut event[DISPLACED..];
        let iv = self.iv(position);
        match mode {
            Mode::Cbc => self.decrypt_cbc(&iv, encrypted),
            Mode::Ctr => self.aes.apply_ctr(&iv, encrypted),
        }
        event.copy_within(SIZE, 0);
        event[SIZE].copy_from_slice(&size);
    }

    /// What is left behind the last whole block was encrypted as in CTR mode, with the IV as it was for the first block.
    fn decrypt_cbc(&self, iv: &[u8; BLOCK], bytes: &mut [u8]) {
        let whole = bytes.len() - bytes.len() % BLOCK;
        let (blocks, rest) = bytes.split_at_mut(whole);
        self.aes.decrypt_cbc(iv, blocks);
        self.aes.apply_ctr(iv, rest);
    }

    /// Behind the nonce comes the event's position, of which the lower 32 bits count.
    fn iv(&self, position: u64) -> [u8; BLOCK] {
        let mut iv = [0; BLOCK];
        iv[..NONCE].copy_from_slice(&self.nonce);
        iv[NONCE..].copy_from_slice(&(position as u32).to_le_bytes());
        iv
    }
}

#[cfg(test)]
mod tests {
    use ctr::cipher::array::Array;
    use ctr::cipher::{BlockModeEncrypt, KeyIvInit};
    use proptest::prelude::*;

    use super::super::keyring::tests::{of_mariadb, of_mysql};
    use super::*;

    const START: Start = Start { scheme: SCHEME, key_version: KEY_VERSION, nonce: [9; NONCE] };

    fn cipher(key: &[u8], mode: Option<Mode>) -> EventCipher {
        let cipher = START.cipher("log", 256, Some(&of_mariadb(KEY_ID, key.to_vec())));
        EventCipher { mode, ..cipher.unwrap() }
    }

    /// As the server encrypts an event.
    fn encrypted(event: &[u8], key: &[u8; 16], mode: Mode, position: u64) -> Vec<u8> {
        let cipher = cipher(key, None);
        let iv = cipher.iv(position);
        let mut out = event.to_vec();
        out.copy_within(..DISPLACED, SIZE.start);
        let whole = (out.len() - DISPLACED) / BLOCK * BLOCK;
        let (blocks, rest) = out[DISPLACED..].split_at_mut(whole);
        match mode {
            Mode::Ctr => cipher.aes.apply_ctr(&iv, &mut out[DISPLACED..]),
            Mode::Cbc => {
                let mut cbc = cbc::Encryptor::<aes::Aes128>::new(key.into(), &iv.into());
                cbc.encrypt_blocks(Array::slice_as_chunks_mut(blocks).0);
                cipher.aes.apply_ctr(&iv, rest);
            }
        }
        out.copy_within(SIZE, 0);
        out[SIZE].copy_from_slice(&event[SIZE]);
        out
    }

    proptest! {
        #[test]
        fn an_encrypted_event_reads_as_it_was(
            event in prop::collection::vec(any::<u8>(), 19..300),
            key: [u8; 16],
            position in 0..1_u64 << 40,
            is_ctr: bool,
        ) {
            let mode = if is_ctr { Mode::Ctr } else { Mode::Cbc };
            let stored = encrypted(&event, &key, mode, position);
            prop_assert_eq!(&stored[SIZE], &event[SIZE]);
            let mut cipher = cipher(&key, None);
            let mut found = stored.clone();
            cipher.decrypt(position, &mut found, |found| found == event).unwrap();
            prop_assert_eq!((&found, cipher.mode), (&event, (event.len() >= 20).then_some(mode)));
            found = stored;
            cipher.decrypt(position, &mut found, |found| found == event).unwrap();
            prop_assert_eq!(found, event);
        }
    }

    #[test]
    fn an_event_of_any_length_is_no_panic() {
        for mode in [Mode::Cbc, Mode::Ctr] {
            for length in 0..40 {
                cipher(&[1; 24], Some(mode)).decrypt(4, &mut vec![5; length], |_| true).unwrap();
            }
        }
    }

    #[test]
    fn without_its_key_a_log_is_not_opened() {
        let error = |start: &Start, keyring: Option<Keyring>| match start.cipher("log", 256, keyring.as_ref())
        {
            Ok(_) => panic!("it has a key"),
            Err(error) => format!("{error}; {}", error.hint().unwrap_or_default()),
        };
        for (start, keyring, said) in [
            (
                START,
                None,
                "log: from 256 on it is encrypted by MariaDB, with the key 1; give the server's file of keys",
            ),
            (START, Some(of_mariadb(2, vec![0; 16])), "with the key 1: keyring does not have it"),
            (START, Some(of_mysql("1", vec![0; 16])), "with the key 1: keyring has keys of MySQL"),
            (START, Some(of_mariadb(1, vec![0; 15])), "with the key 1, which has no size that AES has"),
            (
                Start { key_version: 3, ..START },
                Some(of_mariadb(1, vec![0; 16])),
                "the key 1 in its version 3",
            ),
            (Start { scheme: 2, ..START }, Some(of_mariadb(1, vec![0; 16])), "in the way number 2"),
        ] {
            let error = error(&start, keyring);
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn a_start_cut_short_is_none() {
        let body = [&[SCHEME, 1, 0, 0, 0][..], &[9; NONCE]].concat();
        assert_eq!(Start::parse(&body), Ok(START));
        for length in 0..body.len() {
            assert_eq!(Start::parse(&body[..length]), Err(Short));
        }
    }
}
