//! Files that are read again while the service runs, when they change and at SIGHUP: that of its API key, which is read
//! here, and those of TLS (`tls`).

use std::{
    ffi::OsStr,
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use petstore_domain::ServiceKey;
use tokio::{
    signal::unix::Signal,
    task::spawn_blocking,
    time::{Instant, MissedTickBehavior, interval},
};

use crate::system::{
    failure::{Failure, quotable_path},
    files::read_secret,
};

/// How often the files are looked at. They are read when they have not changed for as long: first one is
/// written, then the other. So a change is in force within a second.
const POLL_INTERVAL: Duration = Duration::from_millis(400);
/// Changed files that cannot be used are read again for so long before that counts as a failure: of a pair, the second
/// file may be written a moment after the first.
const FAILURE_GRACE: Duration = Duration::from_secs(3);

/// The variable that may hold the API key of the service itself. It has no flag: a command line is there for
/// everybody to read.
pub(super) const KEY_VARIABLE: &str = "PETSTORE_API_KEY";

/// Names of a key file in the log and in the metrics.
const KEY_NAMES: [&str; 2] = ["the API key of --api-key-file", "api_key"];

/// The state of a file, which changes when it is written or replaced; `None` where there is no file.
pub(super) type Stamp = Vec<Option<(u64, u64, i64, i64)>>;

/// How often files were read again.
#[derive(Debug)]
pub(super) struct Reloads {
    /// The name in the metrics.
    pub(super) file: &'static str,
    succeeded: AtomicU64,
    failed: AtomicU64,
    last_failed: AtomicBool,
}

impl Reloads {
    fn count(&self, succeeded: bool) {
        if succeeded { &self.succeeded } else { &self.failed }.fetch_add(1, Ordering::Relaxed);
        self.last_failed.store(!succeeded, Ordering::Relaxed);
    }

    /// Returns how many have succeeded and failed, and whether the last one has failed.
    pub(super) fn counts(&self) -> (u64, u64, bool) {
        let [succeeded, failed] =
            [&self.succeeded, &self.failed].map(|count| count.load(Ordering::Relaxed));
        (succeeded, failed, self.last_failed.load(Ordering::Relaxed))
    }
}

/// Files whose content is in force.
pub(super) struct Followed {
    /// The name in the log.
    name: &'static str,
    pub(super) paths: Vec<PathBuf>,
    /// The state of the files when they were last read.
    stamp: Stamp,
    /// The state of the files at the last poll, if it differs from `stamp`, and since when.
    changing: Option<(Stamp, Instant)>,
    reload: Arc<Reload>,
    pub(super) reloads: Arc<Reloads>,
}

/// Reads the files and puts their content in force, or leaves that as it was and says why.
type Reload = dyn Fn() -> Result<(), String> + Send + Sync;

impl Followed {
    /// Follows files, which the log calls `name` and the metrics `file`. `stamp` is that of the files before they were
    /// read for the first time.
    pub(super) fn new(
        [name, file]: [&'static str; 2],
        paths: Vec<PathBuf>,
        stamp: Stamp,
        reload: impl Fn() -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        let (succeeded, failed) = (AtomicU64::new(0), AtomicU64::new(0));
        let reloads = Reloads { file, succeeded, failed, last_failed: AtomicBool::new(false) };
        let (reload, reloads) = (Arc::new(reload), Arc::new(reloads));
        Self { name, paths, stamp, changing: None, reload, reloads }
    }

    /// Reads the files if that is asked for, or if they have changed and are at rest.
    async fn look(&mut self, asked: bool) {
        let paths = self.paths.clone();
        // A file system may hang.
        let Ok(stamp) = spawn_blocking(move || stamp(&paths)).await else { return };
        let before = self.changing.take().filter(|(before, _)| *before == stamp);
        if asked || before.is_some() {
            let reload = Arc::clone(&self.reload);
            let outcome = spawn_blocking(move || reload()).await;
            let outcome = outcome.unwrap_or_else(|panic| Err(panic.to_string()));
            let may_be_half_done = before.filter(|(_, since)| since.elapsed() < FAILURE_GRACE);
            if let (Err(_), false, Some(before)) = (&outcome, asked, may_be_half_done) {
                self.changing = Some(before);
                return;
            }
            self.stamp.clone_from(&stamp);
            self.reloads.count(outcome.is_ok());
            match outcome {
                Ok(()) => tracing::info!("{} was read again", self.name),
                Err(error) => tracing::error!(error, "{} in force is kept", self.name),
            }
        } else if stamp != self.stamp {
            self.changing = Some((stamp, Instant::now()));
        }
    }
}

/// Takes up what changes. Never ends.
pub(super) async fn follow(mut followed: Vec<Followed>, mut hangup: Signal) {
    let mut tick = interval(POLL_INTERVAL);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let asked = tokio::select! {
            _ = tick.tick() => false,
            _ = hangup.recv() => true,
        };
        if asked && followed.is_empty() {
            tracing::info!("SIGHUP: there is neither a certificate nor a key file to read again");
        }
        for files in &mut followed {
            files.look(asked).await;
        }
    }
}

/// Returns what the files are now.
pub(super) fn stamp(paths: &[PathBuf]) -> Stamp {
    let stamps = paths.iter().map(|path| {
        let found = fs::metadata(path).ok()?;
        Some((found.ino(), found.size(), found.mtime(), found.mtime_nsec()))
    });
    stamps.collect()
}

/// Reads the key that comes with the configuration instead of the store, from the variable or from the file, whichever
/// is given; with it, what takes up the changes of the file. No failure repeats it.
pub(super) fn service_key(
    variable: Option<&OsStr>,
    file: Option<&Path>,
) -> Result<(Option<ServiceKey>, Option<Followed>), Failure> {
    match (variable, file) {
        (None, None) => Ok((None, None)),
        (Some(_), Some(_)) => Err(Failure::usage(format!(
            "both {KEY_VARIABLE} and --api-key-file (PETSTORE_API_KEY_FILE) are given; give one of them"
        ))),
        // One that is not Unicode is not visible ASCII either, replaced or not.
        (Some(text), None) => Ok((Some(parse(&text.to_string_lossy(), KEY_VARIABLE)?), None)),
        (None, Some(path)) => {
            let paths = vec![path.to_owned()];
            let before = stamp(&paths);
            let (key, path) = (from_file(path)?, path.to_owned());
            let current = key.clone();
            let reload = move || {
                current.replace(&from_file(&path).map_err(|failure| failure.to_string())?);
                Ok(())
            };
            Ok((Some(key), Some(Followed::new(KEY_NAMES, paths, before, reload))))
        }
    }
}

fn from_file(path: &Path) -> Result<ServiceKey, Failure> {
    let key = read_secret(path, "the API key file ")?;
    parse(&key, &format!("the API key file {}", quotable_path(path)))
}

fn parse(key: &str, source: &str) -> Result<ServiceKey, Failure> {
    ServiceKey::parse(key)
        .map_err(|error| Failure::usage(format!("{source} does not hold an API key: {error}")))
}

#[cfg(test)]
mod tests;
