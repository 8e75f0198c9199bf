mod pair;

use std::{
    fs, io,
    sync::{Arc, LazyLock, Mutex},
    time::Duration,
};

use petstore_domain::{Clock as _, Timestamp};
use rcgen::date_time_ymd;
use tokio::time;
use tracing::{
    Dispatch,
    subscriber::{DefaultGuard, NoSubscriber, set_default},
};

use super::{NOTICE, PairFiles, Tls};
use crate::system::SystemClock;

const DAY: Duration = Duration::from_hours(24);

/// The events of this thread since [`Log::start`], as text.
#[derive(Clone, Default)]
pub(in crate::serve) struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Log {
    pub(in crate::serve) fn start() -> (Self, DefaultGuard) {
        // With one subscriber, tracing disables a callsite for good if a thread without a subscriber reaches it first.
        // A second subscriber prevents this.
        static SECOND: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(NoSubscriber::new()));
        LazyLock::force(&SECOND);
        let log = Self::default();
        let lines = log.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(tracing::Level::DEBUG)
            .with_ansi(false)
            .with_writer(move || lines.clone());
        (log, set_default(subscriber.finish()))
    }

    /// Returns the lines until now.
    pub(in crate::serve) fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }

    /// Removes the lines until now. Returns how many of them contain `what`.
    pub(in crate::serve) fn take(&self, what: &str) -> usize {
        let bytes = std::mem::take(&mut *self.0.lock().unwrap());
        String::from_utf8(bytes).unwrap().lines().filter(|line| line.contains(what)).count()
    }
}

/// Returns TLS with a certificate that is valid from `from` until `until`.
fn tls(from: Timestamp, until: Timestamp) -> Arc<Tls> {
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
async fn the_validity_of_a_certificate_is_logged_at_the_start_and_once_a_day() {
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
        assert_eq!(tls.expiry(), until.since(Timestamp(0)).unwrap().as_secs());
        let reminders = tokio::spawn(tls.remind());
        time::sleep(3 * DAY + DAY / 2).await;
        assert_eq!(log.take(says), 3, "{says}");
        reminders.abort();
    }
}
