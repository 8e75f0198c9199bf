//! A certificate and its private key, in two files.

use std::{
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use petstore_domain::Timestamp;
use rustls::{
    InconsistentKeys,
    crypto::CryptoProvider,
    pki_types::{
        CertificateDer, PrivateKeyDer,
        pem::{self, PemObject as _},
    },
    sign::CertifiedKey,
};
use x509_cert::{Certificate, der::Decode as _};

/// Where the pair is.
#[derive(Clone, Debug)]
pub(crate) struct PairFiles {
    /// PEM: the certificate of the service, then those between it and the authority.
    pub(crate) certificate: PathBuf,
    /// PEM: one private key, not encrypted.
    pub(crate) key: PathBuf,
}

/// The pair, and until when it is valid.
#[derive(Debug)]
pub(super) struct Pair {
    pub(super) key: Arc<CertifiedKey>,
    pub(super) not_before: Timestamp,
    pub(super) not_after: Timestamp,
}

/// Why there is none.
#[derive(Debug, thiserror::Error)]
pub(super) enum PairError {
    #[error("cannot read {}: {error}", .path.display())]
    Unreadable { path: PathBuf, error: io::Error },
    #[error("{} has no {what}: a PEM block that begins with '-----BEGIN {label}-----'", .path.display())]
    Missing { path: PathBuf, what: &'static str, label: &'static str },
    #[error("{} cannot be used: {reason}", .path.display())]
    Malformed { path: PathBuf, reason: String },
    #[error(
        "the private key in {} does not belong to the certificate in {}",
        .0.key.display(), .0.certificate.display()
    )]
    Mismatch(PairFiles),
}

/// What changes when a file is written or replaced; `None` where there is no file.
pub(super) type Stamp = [Option<(u64, u64, i64, i64)>; 2];

impl PairFiles {
    /// What the files are now.
    pub(super) fn stamp(&self) -> Stamp {
        [&self.certificate, &self.key].map(|path| {
            let found = fs::metadata(path).ok()?;
            Some((found.ino(), found.size(), found.mtime(), found.mtime_nsec()))
        })
    }

    /// Reads both, and holds one against the other.
    ///
    /// # Errors
    /// A file cannot be read or has not what it must, or the two do not belong together.
    pub(super) fn read(&self, provider: &CryptoProvider) -> Result<Pair, PairError> {
        let chain = self.chain()?;
        let malformed = |reason: String| malformed(&self.certificate, reason);
        let first = chain.first().ok_or_else(|| self.missing_certificate())?;
        let parsed = Certificate::from_der(first).map_err(|error| malformed(error.to_string()))?;
        let validity = parsed.tbs_certificate.validity;
        let key = CertifiedKey::from_der(chain, self.private_key()?, provider);
        let mismatch = rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch);
        let key = key.map_err(|error| {
            if error == mismatch {
                PairError::Mismatch(self.clone())
            } else {
                malformed(error.to_string())
            }
        })?;
        Ok(Pair {
            key: Arc::new(key),
            not_before: timestamp(validity.not_before.to_unix_duration()),
            not_after: timestamp(validity.not_after.to_unix_duration()),
        })
    }

    fn chain(&self) -> Result<Vec<CertificateDer<'static>>, PairError> {
        let blocks = CertificateDer::pem_file_iter(&self.certificate);
        let chain: Result<Vec<_>, _> = blocks.and_then(Iterator::collect);
        chain.map_err(|error| unreadable(&self.certificate, error, || self.missing_certificate()))
    }

    fn private_key(&self) -> Result<PrivateKeyDer<'static>, PairError> {
        let missing = || PairError::Missing {
            path: self.key.clone(),
            what: "private key that is not encrypted",
            label: "PRIVATE KEY",
        };
        PrivateKeyDer::from_pem_file(&self.key)
            .map_err(|error| unreadable(&self.key, error, missing))
    }

    fn missing_certificate(&self) -> PairError {
        let path = self.certificate.clone();
        PairError::Missing { path, what: "certificate", label: "CERTIFICATE" }
    }
}

fn unreadable(path: &Path, error: pem::Error, missing: impl FnOnce() -> PairError) -> PairError {
    if let pem::Error::Io(error) = error {
        return PairError::Unreadable { path: path.to_owned(), error };
    }
    if matches!(error, pem::Error::NoItemsFound) {
        missing()
    } else {
        malformed(path, error.to_string())
    }
}

fn timestamp(since_1970: Duration) -> Timestamp {
    Timestamp(0).plus(since_1970)
}

fn malformed(path: &Path, reason: String) -> PairError {
    PairError::Malformed { path: path.to_owned(), reason }
}
