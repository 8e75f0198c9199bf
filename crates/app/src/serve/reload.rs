//! Watched files, which the service reloads when they change and at SIGHUP: the API key file, whose parser is here, and
//! the TLS files. The files are polled, because notifications are not reliable on network file systems and mounted
//! secrets.

use std::{
    ffi::OsStr,
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use petstore_domain::ServiceKey;
use tokio::{
    signal::unix::Signal,
    sync::watch,
    task::spawn_blocking,
    time::{Instant, timeout},
};

use crate::system::{Failure, quotable_path, read_secret};

/// The polling interval. A changed file is read after it has stayed the same for one interval, because the files of a
/// pair are written one after the other. A change takes effect within a second.
const POLL_INTERVAL: Duration = Duration::from_millis(400);
/// The time for which unusable files are read again before the reload fails. The second file of a pair may be written a
/// moment after the first.
const FAILURE_GRACE: Duration = Duration::from_secs(3);

/// The variable for the API key of the service. The key has no flag, because every user can read a command line.
pub(super) const KEY_VARIABLE: &str = "PETSTORE_API_KEY";

/// The names of the key file in the log and in the metrics.
const KEY_NAMES: [&str; 2] = ["the API key of --api-key-file", "api_key"];

/// Inode, size and modification time of each file, which change when the file is written or replaced. `None` for a
/// missing file.
pub(super) type Stamp = Vec<Option<(u64, u64, i64, i64)>>;

/// Counters of the reloads of watched files. A clone shares them.
#[derive(Clone, Debug)]
pub(super) struct Reloads {
    /// The label in the metrics.
    pub(super) file: &'static str,
    /// The number of reloads, the number of failures, and whether the last reload has failed.
    pub(super) counts: watch::Sender<(u64, u64, bool)>,
}

/// Files that are reloaded together, such as a certificate and its key.
pub(super) struct WatchedFiles {
    /// The name in the log.
    name: &'static str,
    pub(super) paths: Vec<PathBuf>,
    /// The state of the files when they were last read.
    stamp: Stamp,
    /// The state of the files at the last poll if it differs from `stamp`, and the time of the change.
    changing: Option<(Stamp, Instant)>,
    /// Reads the files and applies their content. If that fails, keeps the current content and returns the reason.
    reload: Arc<dyn Fn() -> Result<(), Failure> + Send + Sync>,
    pub(super) reloads: Reloads,
}

impl WatchedFiles {
    /// Watches `paths`, which the log calls `name` and the metrics `file`. `stamp` is the state of the files before they
    /// were first read.
    pub(super) fn new(
        [name, file]: [&'static str; 2],
        paths: Vec<PathBuf>,
        stamp: Stamp,
        reload: impl Fn() -> Result<(), Failure> + Send + Sync + 'static,
    ) -> Self {
        let reloads = Reloads { file, counts: watch::Sender::default() };
        Self { name, paths, stamp, changing: None, reload: Arc::new(reload), reloads }
    }

    /// Reloads the files if a reload `is_asked`, or if they have changed and then stayed the same for one interval.
    async fn poll(&mut self, is_asked: bool) {
        let paths = self.paths.clone();
        // On a blocking thread, because the file system may hang.
        let Ok(stamp) = spawn_blocking(move || stamp(&paths)).await else { return };
        let before = self.changing.take().filter(|(before, _)| *before == stamp);
        if is_asked || before.is_some() {
            let reload = Arc::clone(&self.reload);
            let outcome = spawn_blocking(move || reload()).await;
            let outcome = outcome.unwrap_or_else(|panic| Err(Failure::runtime(panic)));
            let may_be_half_written = before.filter(|(_, since)| since.elapsed() < FAILURE_GRACE);
            if let (Err(_), false, Some(before)) = (&outcome, is_asked, may_be_half_written) {
                self.changing = Some(before);
                return;
            }
            self.stamp.clone_from(&stamp);
            self.reloads.counts.send_modify(|(all, failures, last_failed)| {
                *all += 1;
                *last_failed = outcome.is_err();
                *failures += u64::from(*last_failed);
            });
            match outcome {
                Ok(()) => tracing::info!("{} was read again", self.name),
                Err(failure) => {
                    let error = failure.to_string();
                    tracing::error!(error, "{} was not read again, and stays as it was", self.name);
                }
            }
        } else if stamp != self.stamp {
            self.changing = Some((stamp, Instant::now()));
        }
    }
}

/// Polls the watched files, and reloads all of them at SIGHUP. Never ends.
pub(super) async fn watch(mut watched: Vec<WatchedFiles>, mut hangup: Signal) {
    loop {
        let is_asked = timeout(POLL_INTERVAL, hangup.recv()).await.is_ok();
        if is_asked && watched.is_empty() {
            tracing::info!("SIGHUP was ignored: no certificate and no key file is configured");
        }
        for files in &mut watched {
            files.poll(is_asked).await;
        }
    }
}

/// Returns the state of the files.
pub(super) fn stamp(paths: &[PathBuf]) -> Stamp {
    let stamps = paths.iter().map(|path| {
        let found = fs::metadata(path).ok()?;
        Some((found.ino(), found.size(), found.mtime(), found.mtime_nsec()))
    });
    stamps.collect()
}

/// Reads the API key of the service from the variable or from the file, whichever is given. Also returns the watched file.
/// No failure quotes the key.
pub(super) fn service_key(
    variable: Option<&OsStr>,
    file: Option<&Path>,
) -> Result<(Option<ServiceKey>, Option<WatchedFiles>), Failure> {
    match (variable, file) {
        (None, None) => Ok((None, None)),
        (Some(_), Some(_)) => Err(Failure::usage(format!(
            "both {KEY_VARIABLE} and --api-key-file (PETSTORE_API_KEY_FILE) are given; give one of them"
        ))),
        // Invalid Unicode becomes U+FFFD here. `parse` refuses it, because it is not visible ASCII.
        (Some(text), None) => Ok((Some(parse(&text.to_string_lossy(), KEY_VARIABLE)?), None)),
        (None, Some(path)) => {
            let paths = vec![path.to_owned()];
            let before = stamp(&paths);
            let (key, path) = (from_file(path)?, path.to_owned());
            let current = key.clone();
            let reload = move || from_file(&path).map(|new| current.replace(&new));
            Ok((Some(key), Some(WatchedFiles::new(KEY_NAMES, paths, before, reload))))
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
