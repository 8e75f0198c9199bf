//! The certificate that clients are shown, read again when its files change or at SIGHUP.

pub(crate) mod pair;

use std::{
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use petstore_domain::Clock as _;
use rustls::{
    ServerConfig,
    crypto::{CryptoProvider, ring},
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};
use tokio::time;

use self::pair::{Pair, PairFiles};
use crate::{
    clock::{SystemClock, rfc3339},
    failure::Failure,
    serve::reload::{self, Followed},
};

/// What the log calls the pair.
const NAME: &str = "the TLS certificate";
/// How long after one reminder of the certificate's end the next comes.
const REMINDER_INTERVAL: Duration = Duration::from_hours(24);
/// How long before the end of the certificate the log begins to warn.
const NOTICE: Duration = Duration::from_hours(14 * 24);

/// The protocols by ALPN, the preferred one first.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// TLS of the service.
#[derive(Clone, Debug)]
pub(super) struct Tls {
    files: PairFiles,
    provider: Arc<CryptoProvider>,
    current: Arc<Current>,
}

/// The pair that new connections get.
#[derive(Debug)]
struct Current(RwLock<Arc<Pair>>);

impl ResolvesServerCert for Current {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.get().key))
    }
}

impl Current {
    fn get(&self) -> Arc<Pair> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn set(&self, pair: Pair) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(pair);
    }
}

impl Tls {
    /// Reads `files`; with the value, what takes up their changes.
    ///
    /// # Errors
    /// The pair cannot be used.
    pub(super) fn new(files: PairFiles) -> Result<(Self, Followed), Failure> {
        let failed = |error| Failure::runtime(format!("TLS: {error}"));
        let provider = Arc::new(ring::default_provider());
        let paths = vec![files.certificate.clone(), files.key.clone()];
        let before = reload::stamp(&paths);
        let pair = files.read(&provider).map_err(failed)?;
        let tls = Self { files, provider, current: Arc::new(Current(RwLock::new(Arc::new(pair)))) };
        tls.log_validity();
        let reloading = tls.clone();
        Ok((tls, Followed::new(NAME, paths, before, move || reloading.reload())))
    }

    /// For the server: TLS 1.2 and 1.3, with the server's order of cipher suites.
    ///
    /// # Errors
    /// The cryptography has none of these versions.
    pub(super) fn config(&self) -> Result<Arc<ServerConfig>, Failure> {
        let mut config = ServerConfig::builder_with_provider(Arc::clone(&self.provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| Failure::runtime(format!("TLS: {error}")))?
            .with_no_client_auth()
            .with_cert_resolver(Arc::clone(&self.current) as Arc<dyn ResolvesServerCert>);
        // Not the client, which may be old.
        config.ignore_client_order = true;
        config.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).into();
        Ok(Arc::new(config))
    }

    /// A pair that cannot be used leaves the one before in force.
    fn reload(&self) -> Result<(), String> {
        self.current.set(self.files.read(&self.provider).map_err(|error| error.to_string())?);
        self.log_validity();
        Ok(())
    }

    /// Logs once a day how long the certificate is valid. Never ends.
    pub(super) async fn remind(self) {
        loop {
            time::sleep(REMINDER_INTERVAL).await;
            self.log_validity();
        }
    }

    fn log_validity(&self) {
        log_validity(&self.current.get());
    }
}

fn log_validity(pair: &Pair) {
    let now = SystemClock.now();
    let [from, until] = [pair.not_before, pair.not_after].map(rfc3339);
    if now > pair.not_after {
        tracing::error!(%until, "the TLS certificate has expired: clients refuse it");
    } else if now < pair.not_before {
        tracing::error!(%from, "the TLS certificate is not valid yet: clients refuse it");
    } else if now.plus(NOTICE) > pair.not_after {
        tracing::warn!(%until, "the TLS certificate expires soon");
    } else {
        tracing::info!(%until, "the TLS certificate is valid");
    }
}
