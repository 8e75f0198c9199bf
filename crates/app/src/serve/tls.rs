//! The TLS certificate of the service and the private key. Both files are reloaded when one of them changes, and at
//! SIGHUP.

#[cfg(test)]
pub(super) mod tests;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use clap::Args;
use petstore_domain::{Clock as _, Timestamp};
use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{
        CertificateDer, PrivateKeyDer,
        pem::{self, PemObject as _},
    },
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};
use tokio::{sync::watch, time};
use x509_cert::{Certificate, der::Decode as _, time::Validity};

use crate::{
    serve::reload::{self, WatchedFiles},
    system::{Failure, SystemClock, read_bounded, rfc3339},
};

/// The names of the pair (certificate and key) in the log and in the metrics.
const NAMES: [&str; 2] = ["the TLS certificate", "tls_certificate"];
/// The interval between two log lines about the validity of the certificate.
const REMINDER_INTERVAL: Duration = Duration::from_hours(24);
/// The remaining validity at which the log starts to warn.
const NOTICE: Duration = Duration::from_hours(14 * 24);

/// The ALPN protocols, in order of preference.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];
/// The rule for a private key, in messages.
const KEY_RULE: &str = "an unencrypted PEM block, such as one that begins with '-----BEGIN PRIVATE KEY-----', with its \
     line breaks; the key is ECDSA (P-256 or P-384), Ed25519, or RSA (2048 to 4096 bits)";
/// The rule for certificates, in messages.
const CERTIFICATE_RULE: &str = "PEM blocks that begin with '-----BEGIN CERTIFICATE-----' and still have their line \
     breaks; the first block is an X.509 version 3 certificate";
/// The reason for which a file that is not PEM is unusable.
const ILL_FORMED: &str = "the file is not well-formed PEM";

/// The TLS configuration of the service, with the current pair for new connections.
#[derive(Debug)]
pub(super) struct Tls {
    files: PairFiles,
    current: watch::Sender<Pair>,
}

impl ResolvesServerCert for Tls {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.current.borrow().key))
    }
}

impl Tls {
    /// Reads the pair from `files`. Also returns the watched files: the pair is reloaded when one of them changes.
    ///
    /// # Errors
    /// The reason why the pair is unusable.
    pub(super) fn new(files: PairFiles) -> Result<(Arc<Self>, WatchedFiles), Failure> {
        let paths = vec![files.certificate.clone(), files.key.clone()];
        let before = reload::stamp(&paths);
        let pair = files.read().map_err(Failure::context("TLS"))?;
        let tls = Arc::new(Self { files, current: watch::Sender::new(pair) });
        tls.log_validity();
        let reloading = Arc::clone(&tls);
        Ok((tls, WatchedFiles::new(NAMES, paths, before, move || reloading.reload())))
    }

    /// Returns the server configuration: TLS 1.2 and 1.3, with the server's order of cipher suites.
    ///
    /// # Errors
    /// The crypto provider supports neither version.
    pub(super) fn config(self: &Arc<Self>) -> Result<Arc<ServerConfig>, Failure> {
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(Failure::context("TLS"))?
            .with_no_client_auth()
            .with_cert_resolver(Arc::clone(self) as Arc<dyn ResolvesServerCert>);
        // Old clients prefer weaker cipher suites.
        config.ignore_client_order = true;
        config.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).into();
        Ok(Arc::new(config))
    }

    /// Reloads the pair. Keeps the current pair if the new pair is unusable.
    fn reload(&self) -> Result<(), Failure> {
        self.current.send_replace(self.files.read().map_err(Failure::runtime)?);
        self.log_validity();
        Ok(())
    }

    /// Returns the time at which the certificate expires, in seconds since 1970.
    pub(super) fn expiry(&self) -> u64 {
        self.current.borrow().validity.not_after.to_unix_duration().as_secs()
    }

    /// Logs the validity of the certificate once a day. Never ends.
    pub(super) async fn remind(self: Arc<Self>) {
        loop {
            time::sleep(REMINDER_INTERVAL).await;
            self.log_validity();
        }
    }

    fn log_validity(&self) {
        let (now, Validity { not_before, not_after }) =
            (SystemClock.now(), self.current.borrow().validity);
        let [not_before, not_after] =
            [not_before, not_after].map(|at| Timestamp(0).plus(at.to_unix_duration()));
        let [from, until] = [not_before, not_after].map(rfc3339);
        if now > not_after {
            tracing::error!(%until, "the TLS certificate has expired, so clients refuse it");
        } else if now < not_before {
            tracing::error!(%from, "the TLS certificate is not valid yet, so clients refuse it");
        } else if now.plus(NOTICE) > not_after {
            tracing::warn!(%until, "the TLS certificate expires soon");
        } else {
            tracing::info!(%until, "the TLS certificate is valid");
        }
    }
}

/// The flags with the paths of the pair.
#[derive(Clone, Debug, Args)]
pub(super) struct PairFiles {
    /// Certificate chain for HTTPS, without the root: a PEM file, read again when it changes and at SIGHUP
    #[arg(long = "tls-cert", value_name = "PATH", required = false, requires = "key")]
    certificate: PathBuf,

    /// Private key of the certificate: a PEM file
    #[arg(long = "tls-key", value_name = "PATH", required = false, requires = "certificate")]
    key: PathBuf,
}

/// A loaded pair, and the validity of its certificate.
#[derive(Debug)]
struct Pair {
    key: Arc<CertifiedKey>,
    validity: Validity,
}

impl PairFiles {
    /// Reads both files, and checks that the key belongs to the certificate.
    ///
    /// # Errors
    /// The reason why a file or the pair is unusable. No error quotes a parser's message, because the message may
    /// contain a part of the private key.
    fn read(&self) -> Result<Pair, String> {
        let [chain, key] = [&self.certificate, &self.key].map(|path| read(path));
        let (chain, key) = (self.chain(&chain?, key.as_deref().unwrap_or_default())?, key?);
        let first = chain
            .first()
            .ok_or_else(|| self.unusable_certificate("the file contains no certificate"))?;
        let invalid = || self.unusable_certificate("the first certificate is not X.509 version 3");
        let validity =
            Certificate::from_der(first).map_err(|_| invalid())?.tbs_certificate.validity;
        let key = self.private_key(&key)?;
        let key = CertifiedKey::from_der(chain, key, &ring::default_provider()).map_err(|error| {
            if let rustls::Error::InconsistentKeys(_) = error {
                let [key, certificate] = [&self.key, &self.certificate].map(|path| path.display());
                format!(
                    "the private key in {key} does not belong to the certificate in {certificate}"
                )
            } else if let rustls::Error::InvalidCertificate(_) = error {
                invalid()
            } else {
                self.unusable_key("this kind of key is not supported")
            }
        })?;
        Ok(Pair { key: Arc::new(key), validity })
    }

    /// Returns the certificates in `text`. Returns a specific error if the two files are swapped. `key` is the content of
    /// the other file.
    fn chain(&self, text: &str, key: &str) -> Result<Vec<CertificateDer<'static>>, String> {
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text.as_bytes()).collect();
        let chain = chain.map_err(|_| self.unusable_certificate(ILL_FORMED))?;
        if chain.is_empty() && text.contains("PRIVATE KEY") && key.contains("BEGIN CERTIFICATE") {
            let [certificate, key] = [&self.certificate, &self.key].map(|path| path.display());
            return Err(format!(
                "the two files are swapped: {certificate} holds a private key, and {key} a certificate"
            ));
        }
        Ok(chain)
    }

    fn private_key(&self, text: &str) -> Result<PrivateKeyDer<'static>, String> {
        // Matches both 'Proc-Type: 4,ENCRYPTED' and 'BEGIN ENCRYPTED PRIVATE KEY'.
        if text.contains("ENCRYPTED") {
            return Err(self.unusable_key("it is encrypted"));
        }
        PrivateKeyDer::from_pem_slice(text.as_bytes()).map_err(|error| {
            let is_missing = matches!(error, pem::Error::NoItemsFound);
            let missing = "the file contains no private key";
            self.unusable_key(if is_missing { missing } else { ILL_FORMED })
        })
    }

    fn unusable_key(&self, reason: &str) -> String {
        let path = self.key.display();
        format!("the private key in {path} cannot be used: {reason}; expected {KEY_RULE}")
    }

    fn unusable_certificate(&self, reason: &str) -> String {
        let path = self.certificate.display();
        format!("the certificate in {path} cannot be used: {reason}; expected {CERTIFICATE_RULE}")
    }
}

/// Reads a PEM file. Replaces bytes that are not UTF-8, which no PEM block contains.
fn read(path: &Path) -> Result<String, String> {
    let bytes = read_bounded(path);
    let bytes = bytes.map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
