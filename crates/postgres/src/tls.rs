//! TLS connections by rustls, and the certificates that they accept.

use std::sync::Arc;

use petstore_storage::tls::{TlsFailure, roots};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error as TlsError, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, ServerName, UnixTime},
};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::config::{PostgresConfig, SslMode};

/// Returns a connector that checks certificates as `sslmode` requires.
pub(crate) fn connector(config: &PostgresConfig) -> Result<MakeRustlsConnect, TlsFailure> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()?;
    let roots = || roots(config.root_certificates.as_deref());
    let chain = match config.ssl_mode {
        SslMode::VerifyFull => {
            let config = builder.with_root_certificates(roots()?).with_no_client_auth();
            return Ok(MakeRustlsConnect::new(config));
        }
        SslMode::VerifyCa => {
            let (roots, provider) = (Arc::new(roots()?), Arc::clone(&provider));
            Some(WebPkiServerVerifier::builder_with_provider(roots, provider).build()?)
        }
        SslMode::Disable | SslMode::Prefer => None,
    };
    let any_host = Arc::new(AnyHost { provider, chain });
    let config = builder.dangerous().with_custom_certificate_verifier(any_host);
    Ok(MakeRustlsConnect::new(config.with_no_client_auth()))
}

/// Accepts a certificate for any host.
#[derive(Debug)]
struct AnyHost {
    provider: Arc<CryptoProvider>,
    /// Checks the signatures of the certificate (`sslmode=verify-ca`). Without this verifier every certificate is accepted
    /// (`sslmode=prefer`), which protects against listeners, but not against an impostor.
    chain: Option<Arc<WebPkiServerVerifier>>,
}

impl ServerCertVerifier for AnyHost {
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
            // The name is checked last.
            Err(TlsError::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
