//! Bytes that nobody may see.

use std::fmt;

use zeroize::Zeroize;

/// A key or a password: overwritten when it goes, and never shown.
pub(super) struct Secret(Vec<u8>);

impl Secret {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl From<Vec<u8>> for Secret {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}
