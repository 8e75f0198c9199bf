//! TLS by rustls: which certificates are accepted.

use std::{io, path::Path, sync::Arc};

use rustls::{
    ClientConfig, DigitallySignedStruct, Error as TlsError, RootCertStore, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, ring},
    pki_types::{
        CertificateDer, ServerName, UnixTime,
        pem::{Error as PemError, PemObject as _},
    },
};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::config::{Parameters, SslMode};

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
}

/// Makes TLS connections as `sslmode` asks for.
pub(crate) fn connector(parameters: &Parameters) -> Result<MakeRustlsConnect, TlsFailure> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()?;
    let config = match parameters.ssl_mode {
        SslMode::VerifyFull => {
            builder.with_root_certificates(roots(parameters.root_certificates.as_deref())?)
        }
        SslMode::Disable | SslMode::Prefer => {
            builder.dangerous().with_custom_certificate_verifier(Arc::new(AcceptAny(provider)))
        }
    };
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

/// Accepts every certificate (`sslmode=prefer`): a listener learns nothing, which is more than in
/// clear, but whoever answers may be somebody else.
#[derive(Debug)]
struct AcceptAny(Arc<CryptoProvider>);

impl ServerCertVerifier for AcceptAny {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, TlsError> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
