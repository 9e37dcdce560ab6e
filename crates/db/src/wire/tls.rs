//! TLS by rustls, in the grades that `--ssl-mode` names.

use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, SignatureScheme, StreamOwned,
};

use super::stream::Socket;
use crate::options::{SslMode, SslOptions};

/// Where Debian, Red Hat and SUSE keep the certificates that the system trusts.
const SYSTEM_ROOTS: [&str; 3] =
    ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem"];

/// Why there is no TLS.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The server's is too old; what it offers.
    TooOld(String),
    /// In words.
    Other(String),
}

impl From<String> for Refusal {
    fn from(why: String) -> Self {
        Self::Other(why)
    }
}

/// Runs the TLS handshake over `stream`.
pub(super) fn secure(
    stream: Socket,
    host: &str,
    options: &SslOptions,
) -> Result<StreamOwned<ClientConnection, Socket>, Refusal> {
    let config = config(options)?;
    let name =
        ServerName::try_from(host.to_owned()).map_err(|error| format!("host name '{host}': {error}"))?;
    let mut connection = ClientConnection::new(Arc::new(config), name).map_err(|error| error.to_string())?;
    let mut heard = Heard { stream, head: Vec::new() };
    if let Err(error) = connection.complete_io(&mut heard) {
        let of_tls = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
        let offers = of_tls.and_then(|error| too_old(error, &heard.head));
        return Err(offers.map_or_else(|| Refusal::Other(error.to_string()), Refusal::TooOld));
    }
    Ok(StreamOwned::new(connection, heard.stream))
}

/// What a server with an old TLS offers, if that is why it came to nothing; `head` is what it has sent first.
fn too_old(error: &rustls::Error, head: &[u8]) -> Option<String> {
    use rustls::{AlertDescription, InvalidMessage, PeerIncompatible};
    let is_version = matches!(
        error,
        rustls::Error::InvalidMessage(InvalidMessage::UnknownProtocolVersion)
            | rustls::Error::AlertReceived(AlertDescription::ProtocolVersion)
            | rustls::Error::PeerIncompatible(
                PeerIncompatible::ServerDoesNotSupportTls12Or13
                    | PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig
            )
    );
    if is_version {
        return Some(match head.get(..3) {
            Some([HANDSHAKE, 3, 0]) => "the server offers SSL 3 at most, which is not safe".into(),
            Some([HANDSHAKE, 3, minor @ 1..=2]) => {
                format!(
                    "the server offers TLS 1.{} at most, which is not safe; drover has 1.2 and 1.3",
                    minor - 1
                )
            }
            _ => "the server offers neither TLS 1.2 nor 1.3".into(),
        });
    }
    let is_cipher = matches!(
        error,
        rustls::Error::AlertReceived(AlertDescription::HandshakeFailure)
            | rustls::Error::PeerIncompatible(PeerIncompatible::NoCipherSuitesInCommon)
    );
    is_cipher.then(|| {
        "the server has no cipher in common with drover, as one of before OpenSSL 1.1 that knows no ECDHE"
            .into()
    })
}

/// The type of a record of the handshake: RFC 5246, 6.2.1. The version follows.
const HANDSHAKE: u8 = 22;

/// A stream of which the first bytes that were read are kept.
struct Heard {
    stream: Socket,
    head: Vec<u8>,
}

impl Read for Heard {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let read = self.stream.read(buf)?;
        let missing = 3_usize.saturating_sub(self.head.len()).min(read);
        self.head.extend_from_slice(&buf[..missing]);
        Ok(read)
    }
}

impl Write for Heard {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.stream.write(buf)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

fn config(options: &SslOptions) -> Result<ClientConfig, String> {
    let verifier = Arc::new(Verifier::new(options)?);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    match (&options.cert, &options.key) {
        (Some(cert), Some(key)) => {
            let key =
                PrivateKeyDer::from_pem_file(key).map_err(|error| format!("{}: {error}", key.display()))?;
            builder.with_client_auth_cert(certificates(cert)?, key).map_err(|error| error.to_string())
        }
        (None, None) => Ok(builder.with_no_client_auth()),
        _ => Err("--ssl-cert and --ssl-key go together".into()),
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let read = || CertificateDer::pem_file_iter(path)?.collect::<Result<Vec<_>, _>>();
    read().map_err(|error| format!("{}: {error}", path.display()))
}

/// Checks as much of the server's certificate as the mode asks.
#[derive(Debug)]
struct Verifier {
    /// `None` accepts any certificate: PREFERRED and REQUIRED without a CA encrypt and no more, as in the vendors' clients.
    chain: Option<Arc<WebPkiServerVerifier>>,
    name: bool,
    schemes: Vec<SignatureScheme>,
}

impl Verifier {
    fn new(options: &SslOptions) -> Result<Self, String> {
        let name = options.mode == SslMode::VerifyIdentity;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let schemes = provider.signature_verification_algorithms.supported_schemes();
        if options.ca.is_none() && options.mode < SslMode::VerifyCa {
            return Ok(Self { chain: None, name, schemes });
        }
        let mut roots = rustls::RootCertStore::empty();
        let path = match &options.ca {
            Some(path) => path.as_path(),
            None => {
                SYSTEM_ROOTS.iter().map(Path::new).find(|path| path.exists()).ok_or("--ssl-ca is needed")?
            }
        };
        roots.add_parsable_certificates(certificates(path)?);
        let chain = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
            .build()
            .map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Self { chain: Some(chain), name, schemes })
    }

    /// A certificate that is not checked proves nothing, and neither does a signature by its key.
    fn signature(
        &self,
        check: impl FnOnce(&WebPkiServerVerifier) -> Result<HandshakeSignatureValid, rustls::Error>,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.chain.as_deref().map_or_else(|| Ok(HandshakeSignatureValid::assertion()), check)
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(chain) = &self.chain else { return Ok(ServerCertVerified::assertion()) };
        match chain.verify_server_cert(certificate, intermediates, server_name, ocsp_response, now) {
            // The name is checked last: this error means that the chain is good.
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.name => Ok(ServerCertVerified::assertion()),
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.signature(|chain| chain.verify_tls12_signature(message, certificate, signature))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.signature(|chain| chain.verify_tls13_signature(message, certificate, signature))
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_tls_is_told() {
        use rustls::{AlertDescription, InvalidMessage};
        let version = rustls::Error::InvalidMessage(InvalidMessage::UnknownProtocolVersion);
        assert!(too_old(&version, &[HANDSHAKE, 3, 2]).unwrap().contains("TLS 1.1 at most"));
        assert!(too_old(&version, &[21, 3, 1]).unwrap().contains("neither TLS 1.2 nor 1.3"));
        let cipher = rustls::Error::AlertReceived(AlertDescription::HandshakeFailure);
        assert!(too_old(&cipher, &[]).unwrap().contains("ECDHE"));
        assert_eq!(too_old(&rustls::Error::DecryptError, &[HANDSHAKE, 3, 3]), None);
    }
}
