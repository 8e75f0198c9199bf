//! The certificate authorities that may sign the certificate of a server.

use std::{io, path::Path};

use rustls::{
    Error as TlsError, RootCertStore,
    client::VerifierBuilderError,
    pki_types::{
        CertificateDer,
        pem::{Error as PemError, PemObject as _},
    },
};

/// The reason for which certificates cannot be checked.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages describe the variants")]
pub enum TlsFailure {
    #[error("{parameter} {path} cannot be read ({cause}); name a PEM file with certificates")]
    Unreadable { parameter: &'static str, path: String, cause: io::Error },
    /// The message has no words of the parser, because the file may contain a private key.
    #[error("{parameter} {path} is not well-formed; name a PEM file with certificates")]
    Malformed { parameter: &'static str, path: String },
    #[error("sslrootcert {0} holds no certificate; name a PEM file with certificates")]
    Empty(String),
    #[error("the system trusts no authority; name the server's with sslrootcert=PATH")]
    NoSystemRoots,
    #[error("TLS cannot be set up: {0}")]
    Rustls(#[from] TlsError),
    #[error("TLS cannot be set up: {0}")]
    Verifier(#[from] VerifierBuilderError),
}

impl TlsFailure {
    /// Makes the error of the file in a parameter.
    #[must_use]
    pub fn of_file(parameter: &'static str, path: &Path, error: PemError) -> Self {
        let path = path.display().to_string();
        if let PemError::Io(cause) = error {
            Self::Unreadable { parameter, path, cause }
        } else {
            Self::Malformed { parameter, path }
        }
    }
}

/// Returns the certificate authorities in the PEM file at `path`, or the authorities that the system trusts.
///
/// # Errors
/// [`TlsFailure`].
pub fn roots(path: Option<&Path>) -> Result<RootCertStore, TlsFailure> {
    let mut roots = RootCertStore::empty();
    let Some(path) = path else {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        return if roots.is_empty() { Err(TlsFailure::NoSystemRoots) } else { Ok(roots) };
    };
    let failed = |error| TlsFailure::of_file("sslrootcert", path, error);
    for certificate in CertificateDer::pem_file_iter(path).map_err(failed)? {
        roots.add(certificate.map_err(failed)?)?;
    }
    let shown = || path.display().to_string();
    if roots.is_empty() { Err(TlsFailure::Empty(shown())) } else { Ok(roots) }
}

/// Texts of rustls about the certificate of a server, and their replacements, which say what to do.
const REMEDIES: [(&str, &str); 2] = [
    (
        "Other(OtherError(CaUsedAsEndEntity))",
        "it is the certificate of an authority itself (CA:TRUE): give the server another one, which that authority has \
         signed without CA:TRUE, and name the authority's with sslrootcert",
    ),
    (
        "UnknownIssuer",
        "UnknownIssuer, no authority that is trusted has signed it: name the one that has with sslrootcert",
    ),
];

/// Replaces texts of rustls in an error message by words for an operator.
#[must_use]
pub(crate) fn in_words(message: &str) -> String {
    REMEDIES.iter().fold(message.to_owned(), |text, (word, words)| text.replace(word, words))
}
