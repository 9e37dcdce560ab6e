//! Options of TLS.

use std::fmt;
use std::path::PathBuf;

/// Whether TLS is used and what is verified, from least to most: MySQL's `--ssl-mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
#[value(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum SslMode {
    /// Never use TLS.
    Disabled,
    /// Use TLS if the server offers it, else go on without.
    Preferred,
    /// Use TLS or fail; without --ssl-ca accept any certificate.
    Required,
    /// As REQUIRED, and the certificate must be signed by a known CA.
    VerifyCa,
    /// As VERIFY_CA, and the certificate must be the host's.
    VerifyIdentity,
}

impl fmt::Display for SslMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SslMode::Disabled => "DISABLED",
            SslMode::Preferred => "PREFERRED",
            SslMode::Required => "REQUIRED",
            SslMode::VerifyCa => "VERIFY_CA",
            SslMode::VerifyIdentity => "VERIFY_IDENTITY",
        })
    }
}

/// TLS options. The files are in PEM format; they are not opened here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SslOptions {
    /// Whether TLS is used and what is verified.
    pub mode: SslMode,
    /// Certificates of the CAs to trust, of which one must have signed the server's whatever the mode; `None` for the system's.
    pub ca: Option<PathBuf>,
    /// The client's certificate.
    pub cert: Option<PathBuf>,
    /// The client's private key.
    pub key: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    #[test]
    fn ssl_modes_are_read_in_any_case_and_printed_as_mysql_writes_them() {
        for mode in SslMode::value_variants() {
            assert_eq!(SslMode::from_str(&mode.to_string().to_lowercase(), true).as_ref(), Ok(mode));
            assert_eq!(mode.to_possible_value().unwrap().get_name(), mode.to_string());
        }
    }
}
