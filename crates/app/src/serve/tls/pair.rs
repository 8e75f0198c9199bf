//! A certificate and its private key, in two files.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use petstore_domain::Timestamp;
use rustls::{
    crypto::CryptoProvider,
    pki_types::{
        CertificateDer, PrivateKeyDer,
        pem::{self, PemObject as _},
    },
    sign::CertifiedKey,
};
use x509_cert::{Certificate, der::Decode as _};

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

impl PairFiles {
    /// Reads both, and holds one against the other.
    ///
    /// # Errors
    /// A file cannot be read or has not what it must, or the two do not belong together. No error has words of
    /// a parser, which may hold a piece of the private key.
    pub(super) fn read(&self, provider: &CryptoProvider) -> Result<Pair, String> {
        let chain = self.chain()?;
        let first = chain.first().ok_or_else(|| self.certificate("there is none"))?;
        let invalid = || self.certificate("the first is not an X.509 certificate of version 3");
        let validity =
            Certificate::from_der(first).map_err(|_| invalid())?.tbs_certificate.validity;
        let key = self.private_key()?;
        let key = CertifiedKey::from_der(chain, key, provider).map_err(|error| {
            if let rustls::Error::InconsistentKeys(_) = error {
                let [key, certificate] = [&self.key, &self.certificate].map(|path| path.display());
                format!(
                    "the private key in {key} does not belong to the certificate in {certificate}"
                )
            } else if let rustls::Error::InvalidCertificate(_) = error {
                invalid()
            } else {
                self.unusable_key("it is of another kind")
            }
        })?;
        Ok(Pair {
            key: Arc::new(key),
            not_before: timestamp(validity.not_before.to_unix_duration()),
            not_after: timestamp(validity.not_after.to_unix_duration()),
        })
    }

    fn chain(&self) -> Result<Vec<CertificateDer<'static>>, String> {
        let text = read(&self.certificate)?;
        let chain: Result<_, _> = CertificateDer::pem_slice_iter(&text).collect();
        chain.map_err(|_| self.certificate("the file is not well-formed PEM"))
    }

    fn private_key(&self) -> Result<PrivateKeyDer<'static>, String> {
        let text = read(&self.key)?;
        // 'Proc-Type: 4,ENCRYPTED', or 'BEGIN ENCRYPTED PRIVATE KEY'.
        if text.windows(ENCRYPTED.len()).any(|window| window == ENCRYPTED) {
            return Err(self.unusable_key("it is encrypted"));
        }
        PrivateKeyDer::from_pem_slice(&text).map_err(|error| {
            let is_missing = matches!(error, pem::Error::NoItemsFound);
            let ill_formed = "the file is not well-formed PEM";
            self.unusable_key(if is_missing { "there is none" } else { ill_formed })
        })
    }

    fn unusable_key(&self, reason: &str) -> String {
        format!(
            "the private key in {} cannot be used: {reason}; it takes a PEM block that begins with \
             '-----BEGIN PRIVATE KEY-----', each line on its own, not encrypted, with an ECDSA key on \
             P-256 or P-384, an Ed25519 key, or an RSA key of 2048 to 4096 bits",
            self.key.display()
        )
    }

    fn certificate(&self, reason: &str) -> String {
        format!(
            "the certificate in {} cannot be used: {reason}; it takes PEM blocks that begin with \
             '-----BEGIN CERTIFICATE-----', each line on its own, the first an X.509 certificate of \
             version 3",
            self.certificate.display()
        )
    }
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

fn timestamp(since_1970: Duration) -> Timestamp {
    Timestamp(0).plus(since_1970)
}

#[cfg(test)]
mod tests;
