//! Keys made of passwords, as OpenSSL's `EVP_BytesToKey()` makes them with one round.

use ring::digest::{Algorithm, Context};
use zeroize::Zeroizing;

use super::aes::BLOCK;

/// Of a key for AES-256, in bytes.
pub(super) const KEY: usize = 32;

/// A key for AES-256, and the IV to begin with.
pub(super) type KeyAndIv = (Zeroizing<[u8; KEY]>, [u8; BLOCK]);

/// Both are taken from as many digests as it needs, each of the one before it, the password and the salt.
pub(super) fn key_and_iv(digest: &'static Algorithm, password: &[u8], salt: &[u8]) -> KeyAndIv {
    let mut bytes = Zeroizing::new(Vec::with_capacity(KEY + BLOCK + digest.output_len()));
    let mut last = 0..0;
    while bytes.len() < KEY + BLOCK {
        let mut context = Context::new(digest);
        context.update(&bytes[last]);
        context.update(password);
        context.update(salt);
        last = bytes.len()..bytes.len() + digest.output_len();
        bytes.extend_from_slice(context.finish().as_ref());
    }
    let (mut key, mut iv) = (Zeroizing::new([0; KEY]), [0; BLOCK]);
    key.copy_from_slice(&bytes[..KEY]);
    iv.copy_from_slice(&bytes[KEY..KEY + BLOCK]);
    (key, iv)
}

#[cfg(test)]
mod tests {
    use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, SHA256, SHA512};

    use super::super::keyring::unhex;
    use super::*;

    /// What `openssl enc -aes-256-cbc -k secret -S 0123456789abcdef -md … -P` prints.
    #[test]
    fn as_openssl_makes_them() {
        let salt = [0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef];
        for (digest, key, iv) in [
            (
                &SHA1_FOR_LEGACY_USE_ONLY,
                "0367227b84a1c14afa3d9ac56823f56a3d7b9eb46392577deeb7c0acae589260",
                "fea74e549cda237440c90e2f044eb021",
            ),
            (
                &SHA256,
                "f153ef81cbc7ffbf834e5616495d710219caf9d13cbe822dae2ca8dcccae62fa",
                "6d312a5680eec5257d2271334874eb29",
            ),
            (
                &SHA512,
                "95b26a5352ae1d19e0b0d43dec7d498c28e541eee46a9a9b991a696ef759aca4",
                "d6b153a4951f169ac9f37230dd1352fc",
            ),
        ] {
            let found = key_and_iv(digest, b"secret", &salt);
            assert_eq!(found.0.to_vec(), unhex(key.as_bytes()).unwrap());
            assert_eq!(found.1.to_vec(), unhex(iv.as_bytes()).unwrap());
        }
    }
}
