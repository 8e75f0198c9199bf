//! Reads small files completely, and writes files that get their final name only when they are complete.

use std::{
    fs::{self, File, Permissions, TryLockError},
    io::{self, Read as _, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use tempfile::{Builder, NamedTempFile};
use tokio::time::{Instant, sleep};

use crate::system::{Failure, quotable_path};

/// The largest file of settings, of a secret or of certificates, in bytes.
const MAX_BYTES: u64 = 1024 * 1024;
/// The time limit for locking a folder. petstore itself holds such a lock for a few milliseconds.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
/// The interval between attempts to lock a folder.
const LOCK_INTERVAL: Duration = Duration::from_millis(20);

/// Reads a file of at most 1 MiB.
///
/// # Errors
/// The file cannot be read, or is larger than 1 MiB, such as an endless device.
pub(crate) fn read_bounded(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(io::Error::other(format!("it has more than {MAX_BYTES} bytes")));
    }
    Ok(bytes)
}

/// Reads a text file of at most 1 MiB.
pub(crate) fn read_text(path: &Path) -> io::Result<String> {
    String::from_utf8(read_bounded(path)?).map_err(|_| io::Error::other("it is not UTF-8"))
}

/// Reads a secret: the text of a file without its last line ending. `what` precedes the path in messages.
pub(crate) fn read_secret(path: &Path, what: &str) -> Result<String, Failure> {
    let cannot = format!("cannot read {what}{}", quotable_path(path));
    let text = read_text(path).map_err(Failure::context(cannot))?;
    let line = text.strip_suffix('\n').unwrap_or(&text);
    Ok(line.strip_suffix('\r').unwrap_or(line).to_owned())
}

/// A file under a temporary name beside its final name. Dropping the value removes an unfinished file. Each temporary
/// name is new, so the file of a killed process is not in the way.
#[derive(Debug)]
pub(crate) struct PartialFile {
    file: NamedTempFile,
    path: PathBuf,
    if_exists: IfExists,
}

/// The handling of an existing file with the final name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IfExists {
    /// Fail with this hint, and keep the existing file.
    Refuse(&'static str),
    /// Replace the file, and keep its permissions.
    Replace,
}

/// The permissions of a new file, before the umask.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Access {
    Everybody = 0o666,
    OwnerOnly = 0o600,
}

impl PartialFile {
    /// Creates a file that [`finish`](Self::finish) will rename to `path`.
    pub(crate) fn begin(path: &Path, if_exists: IfExists, access: Access) -> Result<Self, Failure> {
        let replaced = if_exists.check(path)?;
        // Replaces the target of a symbolic link, not the link.
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let name = path.file_name().ok_or_else(|| {
            Failure::runtime(format!("{} is not the name of a file", quotable_path(&path)))
        })?;
        let mut builder = Builder::new();
        let prefix = format!(".{}.", name.to_string_lossy());
        builder.prefix(&prefix).suffix(".partial");
        fs::metadata(folder_of(&path)).map_err(failed(&path))?;
        let mode = replaced.unwrap_or(access as u32);
        builder.permissions(Permissions::from_mode(mode));
        // The whole error would show the temporary name.
        let file = builder.tempfile_in(folder_of(&path));
        let file = file.map_err(|error| failed(&path)(error.kind().into()))?;
        // The umask does not apply to the permissions of a replaced file.
        if let Some(mode) = replaced {
            file.as_file().set_permissions(Permissions::from_mode(mode)).map_err(failed(&path))?;
        }
        Ok(Self { file, path, if_exists })
    }

    /// Returns the temporary path.
    pub(crate) fn temporary(&self) -> &Path {
        self.file.path()
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.file.write_all(bytes).map_err(failed(&self.path))
    }

    /// Makes the file durable under its final name. Returns its path, for messages.
    pub(crate) fn finish(self) -> Result<String, Failure> {
        let Self { file, path, if_exists } = self;
        file.as_file().sync_all().map_err(failed(&path))?;
        if_exists.check(&path)?;
        // Another process may have created the file meanwhile.
        let named = match if_exists {
            IfExists::Replace => file.persist(&path),
            IfExists::Refuse(_) => file.persist_noclobber(&path),
        };
        named.map_err(|unnamed| failed(&path)(unnamed.error))?;
        let folder = folder_of(&path);
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed(folder))?;
        Ok(path.display().to_string())
    }
}

impl IfExists {
    /// Returns the permissions of the file that is replaced; `None` if there is none.
    fn check(self, path: &Path) -> Result<Option<u32>, Failure> {
        let shown = quotable_path(path);
        match (fs::metadata(path), self) {
            (Ok(metadata), _) if !metadata.is_file() => {
                Err(Failure::runtime(format!("{shown} is not a plain file; name another")))
            }
            (Ok(_), Self::Refuse(hint)) => {
                Err(Failure::runtime(format!("{shown} exists already; {hint}")))
            }
            (Ok(metadata), Self::Replace) => Ok(Some(metadata.permissions().mode() & 0o777)),
            (Err(error), _) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            (Err(error), _) => Err(failed(path)(error)),
        }
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Locks the folder of a file until the returned value is dropped, so that two processes do not create the file at
/// once.
///
/// # Errors
/// The folder cannot be opened, or another process holds the lock for longer than [`LOCK_TIMEOUT`].
pub(crate) async fn lock_folder_of(file: &Path) -> io::Result<File> {
    let (path, began) = (folder_of(file), Instant::now());
    let folder = File::open(path)?;
    loop {
        match folder.try_lock() {
            Ok(()) => return Ok(folder),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if began.elapsed() >= LOCK_TIMEOUT => {
                let shown = quotable_path(path);
                return Err(io::Error::other(format!(
                    "another process holds a lock (flock) of the folder {shown} for more than {LOCK_TIMEOUT:?}; \
                     'lslocks' shows it"
                )));
            }
            Err(TryLockError::WouldBlock) => sleep(LOCK_INTERVAL).await,
        }
    }
}

fn failed(path: &Path) -> impl Fn(io::Error) -> Failure {
    move |error| Failure::runtime(format!("cannot write {}: {error}", quotable_path(path)))
}

#[cfg(test)]
mod tests {
    use std::{
        fs::{self, Permissions},
        os::unix::fs::PermissionsExt as _,
        path::Path,
    };

    use tokio::time::{Instant, timeout};

    use super::{
        Access, IfExists, LOCK_TIMEOUT, MAX_BYTES, PartialFile, lock_folder_of, read_bounded,
        read_secret,
    };

    #[test]
    fn the_file_of_a_killed_process_disturbs_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pets.csv");
        let begin = || PartialFile::begin(&path, IfExists::Replace, Access::Everybody).unwrap();
        let left = begin();
        begin().finish().unwrap();
        assert!(left.temporary().exists() && path.exists());
        let nowhere = Path::new("/proc/pets.csv");
        let refused = PartialFile::begin(nowhere, IfExists::Replace, Access::Everybody);
        let refused = refused.unwrap_err().to_string();
        assert!(refused.starts_with("cannot write /proc/pets.csv: "), "{refused}");
        assert!(!refused.contains(".partial"), "{refused}");
    }

    #[test]
    fn a_file_that_appears_meanwhile_is_replaced_only_if_that_is_asked_for() {
        for (if_exists, kept) in [(IfExists::Replace, "ours"), (IfExists::Refuse("no"), "theirs")] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("pets.csv");
            let mut file = PartialFile::begin(&path, if_exists, Access::Everybody).unwrap();
            file.write(b"ours").unwrap();
            fs::write(&path, "theirs").unwrap();
            assert_eq!(file.finish().is_ok(), kept == "ours");
            assert_eq!(fs::read_to_string(&path).unwrap(), kept);
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "a partial file is left");
        }
    }

    #[test]
    fn a_replaced_file_keeps_its_permissions() {
        for mode in [0o600, 0o640, 0o666] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("pets.csv");
            fs::write(&path, "old").unwrap();
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            let file = PartialFile::begin(&path, IfExists::Replace, Access::Everybody).unwrap();
            let mode_of = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
            // The temporary file is as private as the file will be.
            assert_eq!(mode_of(file.temporary()), mode);
            file.finish().unwrap();
            assert_eq!(mode_of(&path), mode);
        }
    }

    #[test]
    fn a_file_of_the_largest_size_is_read_and_a_larger_or_endless_one_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for (bytes, is_read) in [(MAX_BYTES, true), (MAX_BYTES + 1, false)] {
            file.as_file().set_len(bytes).unwrap();
            assert_eq!(read_bounded(file.path()).is_ok(), is_read, "{bytes}");
        }
        let endless = Path::new("/dev/zero");
        for refusal in [
            read_bounded(endless).unwrap_err().to_string(),
            read_secret(endless, "").unwrap_err().to_string(),
        ] {
            assert!(refusal.ends_with("it has more than 1048576 bytes"), "{refusal}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_caller_waits_for_a_locked_folder_up_to_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        let held = lock_folder_of(&file).await.unwrap();
        let began = Instant::now();
        let refused = timeout(2 * LOCK_TIMEOUT, lock_folder_of(&file)).await;
        let refusal = refused.unwrap().unwrap_err().to_string();
        let says = format!("a lock (flock) of the folder {} for", folder.path().display());
        assert!(refusal.contains(&says) && began.elapsed() >= LOCK_TIMEOUT, "{refusal}");
        drop(held);
        assert!(lock_folder_of(&file).await.is_ok());
    }
}
