//! TLS by rustls: which certificates are accepted.

use std::{io, path::Path, sync::Arc};

use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error as TlsError, RootCertStore,
    SignatureScheme,
    client::{
        VerifierBuilderError, WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::{CryptoProvider, ring},
    pki_types::{
        CertificateDer, ServerName, UnixTime,
        pem::{Error as PemError, PemObject as _},
    },
};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::config::{PostgresConfig, SslMode};

/// Why no certificate can be checked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TlsFailure {
    #[error("sslrootcert {path} cannot be read ({cause}); name a PEM file with certificates")]
    Unreadable { path: String, cause: io::Error },
    /// Without the words of a parser: the file may be one with a private key.
    #[error("sslrootcert {0} is not well-formed; name a PEM file with certificates")]
    Malformed(String),
    #[error("sslrootcert {0} holds no certificate; name a PEM file with certificates")]
    Empty(String),
    #[error("the system trusts no authority; name the server's with sslrootcert=PATH")]
    NoSystemRoots,
    #[error("TLS cannot be set up: {0}")]
    Rustls(#[from] TlsError),
    #[error("TLS cannot be set up: {0}")]
    Verifier(#[from] VerifierBuilderError),
}

/// Makes TLS connections as `sslmode` asks for.
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

fn roots(path: Option<&Path>) -> Result<RootCertStore, TlsFailure> {
    let mut roots = RootCertStore::empty();
    let Some(path) = path else {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        return if roots.is_empty() { Err(TlsFailure::NoSystemRoots) } else { Ok(roots) };
    };
    let shown = || path.display().to_string();
    let failed = |error| {
        if let PemError::Io(cause) = error {
            TlsFailure::Unreadable { path: shown(), cause }
        } else {
            TlsFailure::Malformed(shown())
        }
    };
    for certificate in CertificateDer::pem_file_iter(path).map_err(failed)? {
        roots.add(certificate.map_err(failed)?)?;
    }
    if roots.is_empty() { Err(TlsFailure::Empty(shown())) } else { Ok(roots) }
}

/// Accepts a certificate whatever host it names.
#[derive(Debug)]
struct AnyHost {
    provider: Arc<CryptoProvider>,
    /// Checks by whom it is signed (`sslmode=verify-ca`). Without it every certificate is accepted
    /// (`sslmode=prefer`): a listener learns nothing, which is more than in clear, but whoever answers may be
    /// somebody else.
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
            // The name is looked at last.
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
