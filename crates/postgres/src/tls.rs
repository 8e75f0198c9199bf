//! TLS connections by rustls, and the certificates that they accept.

use std::sync::Arc;

use petstore_storage::tls::{TlsFailure, roots};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error as TlsError, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::{WebPkiSupportedAlgorithms, ring},
    pki_types::{CertificateDer, ServerName, UnixTime},
};
use tokio_postgres::config::SslMode;
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::config::PostgresConfig;

/// Returns a connector that checks certificates as `sslmode` requires.
pub(crate) fn connector(config: &PostgresConfig) -> Result<MakeRustlsConnect, TlsFailure> {
    let provider = Arc::new(ring::default_provider());
    let mut verifier = Verifier {
        algorithms: provider.signature_verification_algorithms,
        chain: None,
        allows_any_host: config.allows_any_host,
    };
    if config.driver.get_ssl_mode() == SslMode::Require {
        let roots = Arc::new(roots(config.root_certificates.as_deref())?);
        let chain = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider));
        verifier.chain = Some(chain.build()?);
    }
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

/// Checks a certificate as rustls does by itself, except without `chain` or with `allows_any_host`.
#[derive(Debug)]
struct Verifier {
    algorithms: WebPkiSupportedAlgorithms,
    /// Checks the certificate. Without this verifier every certificate is accepted (`sslmode=prefer`), which protects
    /// against listeners, but not against an impostor.
    chain: Option<Arc<WebPkiServerVerifier>>,
    /// `true` if the certificate may name another host (`sslmode=verify-ca`).
    allows_any_host: bool,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        host: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, TlsError> {
        let Some(chain) = &self.chain else { return Ok(ServerCertVerified::assertion()) };
        match chain.verify_server_cert(certificate, others, host, ocsp, now) {
            // The name is checked last, so everything else is valid.
            Err(TlsError::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if self.allows_any_host => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        rustls::crypto::verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        rustls::crypto::verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
