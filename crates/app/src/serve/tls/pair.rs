//! A certificate and its private key, in two files.

use std::{
    fs::File,
    io::{self, Read as _},
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
    sign::{CertifiedKey, SigningKey},
};
use x509_cert::{Certificate, der::Decode as _};

/// More than a key or a chain of certificates has.
const MAX_BYTES: u64 = 1024 * 1024;
/// What the PEM of a key says that is encrypted.
const ENCRYPTED: &[u8] = b"ENCRYPTED";

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

/// Why there is none. Nothing here comes from a parser: its words may hold a piece of the private key.
#[derive(Debug, thiserror::Error)]
pub(super) enum PairError {
    #[error("cannot read {}: {error}", .path.display())]
    Unreadable { path: PathBuf, error: io::Error },
    #[error(
        "the certificate in {} cannot be used: {reason}; it takes PEM blocks that begin with \
         '-----BEGIN CERTIFICATE-----', each line on its own, the first an X.509 certificate of \
         version 3",
        .path.display()
    )]
    Certificate { path: PathBuf, reason: &'static str },
    #[error(
        "the private key in {} cannot be used: {reason}; it takes a PEM block that begins with \
         '-----BEGIN PRIVATE KEY-----', each line on its own, not encrypted, with an ECDSA key on P-256 or \
         P-384, an Ed25519 key, or an RSA key of 2048 to 4096 bits",
        .path.display()
    )]
    Key { path: PathBuf, reason: &'static str },
    #[error(
        "the private key in {} does not belong to the certificate in {}",
        .0.key.display(), .0.certificate.display()
    )]
    Mismatch(PairFiles),
}

impl PairFiles {
    /// Reads both, and holds one against the other.
    ///
    /// # Errors
    /// A file cannot be read or has not what it must, or the two do not belong together.
    pub(super) fn read(&self, provider: &CryptoProvider) -> Result<Pair, PairError> {
        let chain = self.chain()?;
        let first = chain.first().ok_or_else(|| self.certificate("there is none"))?;
        let invalid = || self.certificate("the first is not an X.509 certificate of version 3");
        let validity =
            Certificate::from_der(first).map_err(|_| invalid())?.tbs_certificate.validity;
        let key = CertifiedKey::new(chain, self.private_key(provider)?);
        match key.keys_match() {
            // A provider that does not tell the public key cannot be asked.
            Ok(()) | Err(rustls::Error::InconsistentKeys(InconsistentKeys::Unknown)) => {}
            Err(rustls::Error::InconsistentKeys(_)) => {
                return Err(PairError::Mismatch(self.clone()));
            }
            Err(_) => return Err(invalid()),
        }
        Ok(Pair {
            key: Arc::new(key),
            not_before: timestamp(validity.not_before.to_unix_duration()),
            not_after: timestamp(validity.not_after.to_unix_duration()),
        })
    }

    fn chain(&self) -> Result<Vec<CertificateDer<'static>>, PairError> {
        let text = read(&self.certificate)?;
        let chain: Result<_, _> = CertificateDer::pem_slice_iter(&text).collect();
        chain.map_err(|_| self.certificate("the file is not well-formed PEM"))
    }

    fn private_key(&self, provider: &CryptoProvider) -> Result<Arc<dyn SigningKey>, PairError> {
        let text = read(&self.key)?;
        let unusable = |reason| PairError::Key { path: self.key.clone(), reason };
        // 'Proc-Type: 4,ENCRYPTED', or 'BEGIN ENCRYPTED PRIVATE KEY'.
        if text.windows(ENCRYPTED.len()).any(|window| window == ENCRYPTED) {
            return Err(unusable("it is encrypted"));
        }
        let key = PrivateKeyDer::from_pem_slice(&text).map_err(|error| {
            let is_missing = matches!(error, pem::Error::NoItemsFound);
            unusable(if is_missing { "there is none" } else { "the file is not well-formed PEM" })
        })?;
        let key = provider.key_provider.load_private_key(key);
        key.map_err(|_| unusable("it is of another kind"))
    }

    fn certificate(&self, reason: &'static str) -> PairError {
        PairError::Certificate { path: self.certificate.clone(), reason }
    }
}

/// The beginning of a file, which is the whole of any that has a place here.
fn read(path: &Path) -> Result<Vec<u8>, PairError> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MAX_BYTES).read_to_end(&mut bytes));
    read.map_err(|error| PairError::Unreadable { path: path.to_owned(), error })?;
    Ok(bytes)
}

fn timestamp(since_1970: Duration) -> Timestamp {
    Timestamp(0).plus(since_1970)
}

#[cfg(test)]
mod tests;
