mod pair;

use std::{
    fs,
    sync::{Arc, LazyLock},
    time::Duration,
};

use petstore_domain::{Clock as _, Timestamp};
use rcgen::{CertificateParams, date_time_ymd};
use tempfile::TempDir;
use tokio::time;
use tracing::{
    Dispatch,
    subscriber::{DefaultGuard, NoSubscriber, set_default},
};

use super::{NOTICE, PairFiles, Tls};
use crate::system::{Memory, SystemClock, rfc3339};

const DAY: Duration = Duration::from_hours(24);

/// Records the events of this thread until the guard is dropped.
pub(in crate::serve) fn record_events() -> (Memory, DefaultGuard) {
    // With one subscriber, tracing disables a callsite for good if a thread without a subscriber reaches it first. A
    // second subscriber prevents this.
    static SECOND: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(NoSubscriber::new()));
    LazyLock::force(&SECOND);
    let log = Memory::default();
    let lines = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::DEBUG)
        .with_ansi(false)
        .with_writer(move || lines.clone());
    (log, set_default(subscriber.finish()))
}

/// A certificate file and a key file in a temporary folder.
pub(in crate::serve) struct Files {
    _folder: TempDir,
    files: PairFiles,
}

impl Files {
    fn new(certificate: impl AsRef<[u8]>, key: impl AsRef<[u8]>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let [certificate_file, key_file] =
            ["cert.pem", "key.pem"].map(|name| folder.path().join(name));
        fs::write(&certificate_file, certificate).unwrap();
        fs::write(&key_file, key).unwrap();
        let files = PairFiles { certificate: certificate_file, key: key_file };
        Self { _folder: folder, files }
    }

    /// Returns the files of a valid certificate and its key.
    pub(in crate::serve) fn generated() -> Self {
        let [certificate, key] = generated(&params());
        Self::new(certificate, key)
    }

    /// Returns the flags that name the files.
    pub(in crate::serve) fn flags(&self) -> String {
        let PairFiles { certificate, key } = &self.files;
        format!("--tls-cert {} --tls-key {}", certificate.display(), key.display())
    }
}

fn params() -> CertificateParams {
    CertificateParams::new(vec!["localhost".to_owned()]).unwrap()
}

/// Returns a self-signed certificate and its key in PEM.
fn generated(params: &CertificateParams) -> [String; 2] {
    let key = rcgen::KeyPair::generate().unwrap();
    [params.self_signed(&key).unwrap().pem(), key.serialize_pem()]
}

/// Returns TLS with a certificate that is valid from `from` until `until`.
fn tls(from: Timestamp, until: Timestamp) -> Arc<Tls> {
    let mut params = params();
    [params.not_before, params.not_after] =
        [from, until].map(|at| date_time_ymd(1970, 1, 1) + at.since(Timestamp(0)).unwrap());
    let [certificate, key] = generated(&params);
    // The certificate of the authority has another validity.
    let chain = certificate + &generated(&self::params())[0];
    Tls::new(Files::new(chain, key).files).unwrap().0
}

#[tokio::test(start_paused = true)]
async fn the_validity_of_a_certificate_is_logged_at_the_start_and_once_a_day() {
    let now = SystemClock.now();
    let (log, _guard) = record_events();
    for (from, until, says) in [
        (now.minus(DAY), now.plus(NOTICE + DAY), "is valid until"),
        (now.minus(DAY), now.plus(NOTICE).minus(DAY), "expires soon until"),
        (now.minus(2 * DAY), now.minus(DAY), "has expired, so clients refuse it until"),
        (now.plus(DAY), now.plus(NOTICE), "is not valid yet, so clients refuse it from"),
    ] {
        let tls = tls(from, until);
        let at = rfc3339(if says.ends_with("from") { from } else { until });
        let says = &format!("the TLS certificate {says}={at}");
        assert_eq!(log.take(says), 1, "{says}");
        assert_eq!(tls.expiry(), until.since(Timestamp(0)).unwrap().as_secs());
        let reminders = tokio::spawn(tls.remind());
        time::sleep(3 * DAY + DAY / 2).await;
        assert_eq!(log.take(says), 3, "{says}");
        reminders.abort();
    }
}
