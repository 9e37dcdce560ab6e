//! A certificate for a private server that makes itself none.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::{Error, Result};

/// A certificate and its key, in files that are removed when this is dropped.
#[derive(Debug)]
pub(super) struct Certificate {
    dir: TempDir,
}

impl Certificate {
    /// What a person should know of it.
    pub(super) const WARNING: &'static str = "this server makes itself no certificate, so that it was given one with a key of ECDSA on \
         P-256; a key of RSA costs more at each login: name yours behind --, as in `-- --ssl-cert=FILE --ssl-key=FILE`";

    /// A new one, which is its own authority.
    ///
    /// # Errors
    /// If it cannot be made or written.
    pub(super) fn new() -> Result<Self> {
        let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()])
            .map_err(|error| Error::found(format!("a certificate for the private server: {error}")))?;
        let temporary = std::env::temp_dir();
        let made_dir = tempfile::Builder::new().prefix("drover-bench-").tempdir();
        let certificate = Self { dir: made_dir.map_err(Error::file(&temporary))? };
        write(&certificate.file(), &made.cert.pem())?;
        write(&certificate.key(), &made.signing_key.serialize_pem())?;
        Ok(certificate)
    }

    /// The file of the certificate.
    pub(super) fn file(&self) -> PathBuf {
        self.dir.path().join("cert.pem")
    }

    /// The file of its key.
    pub(super) fn key(&self) -> PathBuf {
        self.dir.path().join("key.pem")
    }
}

fn write(path: &Path, text: &str) -> Result<()> {
    let opened = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    opened.and_then(|mut file| file.write_all(text.as_bytes())).map_err(Error::file(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_private_and_go_with_it() {
        use std::os::unix::fs::PermissionsExt as _;
        let certificate = Certificate::new().unwrap();
        let (file, key) = (certificate.file(), certificate.key());
        assert!(std::fs::read_to_string(&file).unwrap().contains("BEGIN CERTIFICATE"));
        assert_eq!(key.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        drop(certificate);
        assert!(!file.exists() && !key.exists());
    }
}
