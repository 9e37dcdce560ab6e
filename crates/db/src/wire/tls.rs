//! TLS by rustls, in the grades that `--ssl-mode` names.

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

/// Runs the TLS handshake over `stream`.
pub(super) fn secure(
    stream: Socket,
    host: &str,
    options: &SslOptions,
) -> Result<StreamOwned<ClientConnection, Socket>, String> {
    let config = config(options)?;
    let name =
        ServerName::try_from(host.to_owned()).map_err(|error| format!("host name '{host}': {error}"))?;
    let mut connection = ClientConnection::new(Arc::new(config), name).map_err(|error| error.to_string())?;
    let mut stream = stream;
    connection.complete_io(&mut stream).map_err(|error| error.to_string())?;
    Ok(StreamOwned::new(connection, stream))
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
