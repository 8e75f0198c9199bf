//! The certificate authorities that may sign the certificate of a server, and errors of TLS in words for an operator.

use std::path::Path;

use rustls::{
    Error as TlsError, RootCertStore,
    client::VerifierBuilderError,
    pki_types::{
        CertificateDer,
        pem::{Error as PemError, PemObject as _},
    },
};

/// The reason why TLS cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum TlsFailure {
    /// A file cannot be used. The message does not quote the parser, because the file may contain a private key.
    #[error("{0}; name a PEM file")]
    File(String),
    /// The system has no certificates of certificate authorities.
    #[error("the system trusts no authority; name the server's authority with sslrootcert=PATH")]
    NoSystemRoots,
    /// rustls refuses a certificate or a key.
    #[error("TLS cannot be set up: {0}")]
    Rustls(#[from] TlsError),
    /// rustls refuses the certificate authorities.
    #[error("TLS cannot be set up: {0}")]
    Verifier(#[from] VerifierBuilderError),
}

impl TlsFailure {
    /// Makes the error of the file that the URL parameter `parameter` names.
    #[must_use]
    pub fn of_file(parameter: &str, path: &Path, error: PemError) -> Self {
        let path = path.display();
        Self::File(if let PemError::Io(cause) = error {
            format!("{parameter} {path} cannot be read ({cause})")
        } else {
            format!("{parameter} {path} is not well-formed")
        })
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
    let empty = || TlsFailure::File(format!("sslrootcert {} holds no certificate", path.display()));
    if roots.is_empty() { Err(empty()) } else { Ok(roots) }
}

/// Texts of rustls about the certificate of a server, each with its replacement for an operator.
const REMEDIES: [(&str, &str); 2] = [
    (
        "Other(OtherError(CaUsedAsEndEntity))",
        "it is the certificate of an authority itself (CA:TRUE): give the server a certificate without \
         CA:TRUE that this authority has signed, and name the authority's certificate with sslrootcert",
    ),
    (
        "UnknownIssuer",
        "UnknownIssuer, no authority that is trusted has signed it: name its authority with sslrootcert",
    ),
];

/// Replaces texts of rustls in an error message by words for an operator.
pub(crate) fn in_words(message: &str) -> String {
    REMEDIES.iter().fold(message.to_owned(), |text, (word, words)| text.replace(word, words))
}

#[cfg(test)]
mod tests {
    use std::{env, fs, process};

    use super::roots;

    #[test]
    fn a_file_without_certificates_is_named_and_never_quoted() {
        let path = env::temp_dir().join(format!("petstore-roots-{}.pem", process::id()));
        let refusal = || roots(Some(&path)).unwrap_err().to_string();
        assert!(refusal().contains("cannot be read"), "{}", refusal());
        let key = "-----BEGIN PRIVATE KEY-----\naHVzaA==\n-----END PRIVATE KEY-----\n";
        for (content, says) in [
            ("", "holds no certificate; name a PEM file"),
            (key, "holds no certificate"),
            ("-----BEGIN CERTIFICATE-----\nhush", "is not well-formed"),
        ] {
            fs::write(&path, content).unwrap();
            let refusal = refusal();
            assert!(refusal.starts_with(&format!("sslrootcert {}", path.display())), "{refusal}");
            assert!(refusal.contains(says) && !refusal.contains("hush"), "{refusal}");
        }
        fs::remove_file(&path).unwrap();
    }
}
