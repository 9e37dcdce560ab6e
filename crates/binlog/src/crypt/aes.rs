//! AES with a key of any size, in the modes that both vendors use.

use aes::{Aes128, Aes192, Aes256};
use ctr::cipher::array::Array;
use ctr::cipher::consts::U16;
use ctr::cipher::{
    BlockCipherDecrypt, BlockCipherEncrypt, BlockModeDecrypt, BlockSizeUser, InnerIvInit, KeyInit,
    StreamCipherCore,
};

/// Of a block, in bytes.
pub(super) const BLOCK: usize = 16;

/// A key, made ready.
pub(super) enum Aes {
    Of128(Aes128),
    Of192(Aes192),
    Of256(Aes256),
}

impl Aes {
    /// With a key of 16, 24 or 32 bytes; `None` for one of another size.
    pub(super) fn new(key: &[u8]) -> Option<Self> {
        let of_128 = || Aes128::new_from_slice(key).ok().map(Self::Of128);
        let of_192 = || Aes192::new_from_slice(key).ok().map(Self::Of192);
        let of_256 = || Aes256::new_from_slice(key).ok().map(Self::Of256);
        of_128().or_else(of_192).or_else(of_256)
    }

    /// Decrypts in CBC mode all that makes up whole blocks.
    pub(super) fn decrypt_cbc(&self, iv: &[u8; BLOCK], bytes: &mut [u8]) {
        match self {
            Self::Of128(key) => decrypt_cbc(key, iv, bytes),
            Self::Of192(key) => decrypt_cbc(key, iv, bytes),
            Self::Of256(key) => decrypt_cbc(key, iv, bytes),
        }
    }

    /// Encrypts or decrypts in CTR mode, which is the same.
    pub(super) fn apply_ctr(&self, iv: &[u8; BLOCK], bytes: &mut [u8]) {
        match self {
            Self::Of128(key) => apply_ctr(key, iv, bytes),
            Self::Of192(key) => apply_ctr(key, iv, bytes),
            Self::Of256(key) => apply_ctr(key, iv, bytes),
        }
    }
}

fn decrypt_cbc<C>(key: &C, iv: &[u8; BLOCK], bytes: &mut [u8])
where
    C: BlockCipherDecrypt + BlockSizeUser<BlockSize = U16>,
{
    let (blocks, _) = Array::slice_as_chunks_mut(bytes);
    cbc::Decryptor::inner_iv_init(key, iv.into()).decrypt_blocks(blocks);
}

/// The counter is all of the IV, as in OpenSSL: 2^128 blocks are never used up, at which this would panic.
fn apply_ctr<C>(key: &C, iv: &[u8; BLOCK], bytes: &mut [u8])
where
    C: BlockCipherEncrypt + BlockSizeUser<BlockSize = U16>,
{
    let stream = ctr::CtrCore::<&C, ctr::flavors::Ctr128BE>::inner_iv_init(key, iv.into());
    stream.apply_keystream_partial(bytes.into());
}

#[cfg(test)]
mod tests {
    use super::super::keyring::unhex;
    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        unhex(hex.as_bytes()).unwrap()
    }

    fn block(hex: &str) -> [u8; BLOCK] {
        bytes(hex).try_into().unwrap()
    }

    const KEYS: [&str; 3] = [
        "2b7e151628aed2a6abf7158809cf4f3c",
        "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b",
        "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
    ];
    const PLAIN: &str = "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51";

    /// NIST SP 800-38A, F.2: the first two blocks.
    #[test]
    fn cbc_as_nist_has_it() {
        let encrypted = [
            "7649abac8119b246cee98e9b12e9197d5086cb9b507219ee95db113a917678b2",
            "4f021db243bc633d7178183a9fa071e8b4d9ada9ad7dedf4e5e738763f69145a",
            "f58c4c04d6e5f1ba779eabfb5f7bfbd69cfc4e967edb808d679f777bc6702c7d",
        ];
        for (key, encrypted) in KEYS.iter().zip(encrypted) {
            let mut found = bytes(encrypted);
            found.extend(b"rest");
            let iv = block("000102030405060708090a0b0c0d0e0f");
            Aes::new(&bytes(key)).unwrap().decrypt_cbc(&iv, &mut found);
            assert_eq!(found, [bytes(PLAIN), b"rest".to_vec()].concat());
        }
    }

    /// NIST SP 800-38A, F.5: the first two blocks.
    #[test]
    fn ctr_as_nist_has_it() {
        let encrypted = [
            "874d6191b620e3261bef6864990db6ce9806f66b7970fdff8617187bb9fffdff",
            "1abc932417521ca24f2b0459fe7e6e0b090339ec0aa6faefd5ccc2c6f4ce8e94",
            "601ec313775789a5b7a7f504bbf3d228f443e3ca4d62b59aca84e990cacaf5c5",
        ];
        for (key, encrypted) in KEYS.iter().zip(encrypted) {
            let mut found = bytes(encrypted);
            let iv = block("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff");
            Aes::new(&bytes(key)).unwrap().apply_ctr(&iv, &mut found);
            assert_eq!(found, bytes(PLAIN));
        }
    }

    #[test]
    fn keys_of_other_sizes_are_none() {
        for size in [0, 15, 17, 31, 33] {
            assert!(Aes::new(&vec![1; size]).is_none());
        }
    }
}
