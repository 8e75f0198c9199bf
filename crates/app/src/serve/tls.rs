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
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    task::{JoinHandle, spawn_blocking},
    time::{MissedTickBehavior, interval},
};

use self::pair::{Pair, PairError, PairFiles, Stamp};
use crate::{
    clock::{SystemClock, rfc3339},
    failure::Failure,
};

/// How often the files are looked at. They are read when they have not changed for as long: first one is
/// written, then the other.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// How often, in looks at the files, the end of the certificate is thought of: once a day.
const POLLS_A_DAY: u32 = 24 * 60 * 60;
/// How long before the end of the certificate the log begins to warn.
const NOTICE: Duration = Duration::from_hours(14 * 24);

/// The protocols by ALPN, the preferred one first.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// TLS of the service.
#[derive(Debug)]
pub(super) struct Tls {
    files: PairFiles,
    stamp: Stamp,
    provider: Arc<CryptoProvider>,
    current: Arc<Current>,
    hangup: Signal,
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
    /// Reads `files`. From now on SIGHUP does not end the process.
    ///
    /// # Errors
    /// The pair cannot be used.
    pub(super) fn new(files: PairFiles) -> Result<Self, Failure> {
        let failed = |error: &dyn std::fmt::Display| Failure::runtime(format!("TLS: {error}"));
        let provider = Arc::new(ring::default_provider());
        let stamp = files.stamp();
        let pair = files.read(&provider).map_err(|error| failed(&error))?;
        log_validity(&pair);
        let current = Arc::new(Current(RwLock::new(Arc::new(pair))));
        let hangup = signal(SignalKind::hangup()).map_err(|error| failed(&error))?;
        Ok(Self { files, stamp, provider, current, hangup })
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

    /// Takes up what changes, in a task of its own, until that is aborted.
    pub(super) fn follow(self) -> JoinHandle<()> {
        tokio::spawn(self.run())
    }

    async fn run(mut self) {
        let mut changing = None;
        let mut polls: u32 = 0;
        let mut tick = interval(POLL_INTERVAL);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let asked = tokio::select! {
                _ = tick.tick() => false,
                _ = self.hangup.recv() => true,
            };
            let files = self.files.clone();
            // A file system may hang.
            let Ok(stamp) = spawn_blocking(move || files.stamp()).await else { return };
            if asked || changing == Some(stamp) {
                self.reload(stamp).await;
            }
            changing = (stamp != self.stamp).then_some(stamp);
            polls = polls.wrapping_add(1);
            if polls.is_multiple_of(POLLS_A_DAY) {
                log_validity(&self.current.get());
            }
        }
    }

    /// Reads the files. A pair that cannot be used leaves the one before in force.
    async fn reload(&mut self, stamp: Stamp) {
        self.stamp = stamp;
        let (files, provider) = (self.files.clone(), Arc::clone(&self.provider));
        match spawn_blocking(move || files.read(&provider)).await {
            Ok(Ok(pair)) => {
                tracing::info!("the TLS certificate was read again");
                log_validity(&pair);
                self.current.set(pair);
            }
            Ok(Err(error)) => log_kept(&error),
            Err(error) => tracing::error!(%error, "reading the TLS certificate panicked"),
        }
    }
}

fn log_kept(error: &PairError) {
    tracing::error!(%error, "the TLS certificate in force is kept");
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
