//! The certificate that clients are shown, read again when its files change or at SIGHUP.

pub(crate) mod pair;

use std::{sync::Arc, time::Duration};

use petstore_domain::Clock as _;
use rustls::{
    ServerConfig,
    crypto::{CryptoProvider, ring},
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};
use tokio::{sync::watch, time};

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
struct Current(watch::Sender<Pair>);

impl ResolvesServerCert for Current {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0.borrow().key))
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
        let tls = Self { files, provider, current: Arc::new(Current(watch::Sender::new(pair))) };
        tls.log_validity();
        let reloading = tls.clone();
        Ok((tls, Followed::new(NAME, paths, before, move || reloading.reload())))
    }

    /// Returns the configuration of the server: TLS 1.2 and 1.3, with the server's order of cipher suites.
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
        self.current.0.send_replace(self.files.read(&self.provider)?);
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
        let (now, pair) = (SystemClock.now(), self.current.0.borrow());
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
}

#[cfg(test)]
mod tests {
    use std::{
        fs, io,
        sync::{Arc, Mutex},
        time::Duration,
    };

    use petstore_domain::{Clock as _, Timestamp};
    use rcgen::date_time_ymd;
    use tokio::time;

    use super::{NOTICE, Tls, pair::PairFiles};
    use crate::clock::SystemClock;

    const DAY: Duration = Duration::from_hours(24);

    /// Everything that is logged, from now on, by this thread.
    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Log {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Log {
        fn start() -> (Self, tracing::subscriber::DefaultGuard) {
            let log = Self::default();
            let lines = log.clone();
            let subscriber = tracing_subscriber::fmt().with_writer(move || lines.clone()).finish();
            (log, tracing::subscriber::set_default(subscriber))
        }

        /// Takes the lines until now: how many of them hold `what`.
        fn take(&self, what: &str) -> usize {
            let bytes = std::mem::take(&mut *self.0.lock().unwrap());
            String::from_utf8(bytes).unwrap().lines().filter(|line| line.contains(what)).count()
        }
    }

    /// TLS with a certificate of this time.
    fn tls(from: Timestamp, until: Timestamp) -> Tls {
        let folder = tempfile::tempdir().unwrap();
        let [certificate, key] = ["cert.pem", "key.pem"].map(|name| folder.path().join(name));
        let pair = rcgen::KeyPair::generate().unwrap();
        let mut params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        [params.not_before, params.not_after] =
            [from, until].map(|at| date_time_ymd(1970, 1, 1) + at.since(Timestamp(0)).unwrap());
        fs::write(&certificate, params.self_signed(&pair).unwrap().pem()).unwrap();
        fs::write(&key, pair.serialize_pem()).unwrap();
        Tls::new(PairFiles { certificate, key }).unwrap().0
    }

    #[tokio::test(start_paused = true)]
    async fn the_end_of_a_certificate_is_logged_at_the_start_and_once_a_day() {
        let now = SystemClock.now();
        let (log, _guard) = Log::start();
        for (from, until, says) in [
            (now.minus(DAY), now.plus(NOTICE + DAY), "the TLS certificate is valid"),
            (now.minus(DAY), now.plus(NOTICE).minus(DAY), "the TLS certificate expires soon"),
            (now.minus(DAY), now.plus(DAY), "the TLS certificate expires soon"),
            (now.minus(2 * DAY), now.minus(DAY), "the TLS certificate has expired"),
            (now.plus(DAY), now.plus(NOTICE), "the TLS certificate is not valid yet"),
        ] {
            let tls = tls(from, until);
            assert_eq!(log.take(says), 1, "{says}");
            let reminders = tokio::spawn(tls.remind());
            time::sleep(3 * DAY + DAY / 2).await;
            assert_eq!(log.take(says), 3, "{says}");
            reminders.abort();
        }
    }
}
