//! Files: small ones that are read whole, and large ones that appear under their name whole or not at all.

use std::{
    fs::{self, File, Permissions, TryLockError},
    io::{self, Read as _, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use tempfile::{Builder, NamedTempFile};
use tokio::time::{Instant, sleep};

use crate::system::failure::{Failure, quotable_path};

/// The largest file of settings, of a secret or of certificates that is read, in bytes.
const MAX_BYTES: u64 = 1024 * 1024;
/// Limits the wait for the lock of a folder, which petstore itself holds for some milliseconds.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
/// The interval at which a locked folder is tried again.
const LOCK_INTERVAL: Duration = Duration::from_millis(20);

/// Reads a whole file of at most 1 MiB.
///
/// # Errors
/// It cannot be read, or is larger: a device has no end.
pub(crate) fn read_bounded(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(io::Error::other(format!("it has more than {MAX_BYTES} bytes")));
    }
    Ok(bytes)
}

/// Reads a file of text, within the same bound.
pub(crate) fn read_text(path: &Path) -> io::Result<String> {
    String::from_utf8(read_bounded(path)?).map_err(|_| io::Error::other("it is not UTF-8"))
}

/// Reads the secret that is the only line of a file. `what` the file is begins the message that it cannot be read.
pub(crate) fn read_secret(path: &Path, what: &str) -> Result<String, Failure> {
    let text = read_text(path).map_err(|error| {
        Failure::runtime(format!("cannot read {what}{}: {error}", quotable_path(path)))
    })?;
    let line = text.strip_suffix('\n').unwrap_or(&text);
    Ok(line.strip_suffix('\r').unwrap_or(line).to_owned())
}

/// A file under a temporary name beside its own. It is removed when this is dropped before the end. One that a
/// killed process has left is in no other's way: the name is a new one each time.
#[derive(Debug)]
pub(crate) struct PartialFile {
    file: NamedTempFile,
    path: PathBuf,
    if_exists: IfExists,
}

/// The treatment of an existing file of that name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IfExists {
    /// It stays, and the work fails with this hint.
    Refuse(&'static str),
    /// The new file takes its place, and its permissions.
    Replace,
}

/// Who may read and write a new file, before the process's mask.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Access {
    Everybody = 0o666,
    OwnerOnly = 0o600,
}

impl PartialFile {
    /// Begins a file that is to be at `path`.
    pub(crate) fn begin(path: &Path, if_exists: IfExists, access: Access) -> Result<Self, Failure> {
        if_exists.check(path)?;
        // A link stays; the file that it leads to is replaced.
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let name = path.file_name().ok_or_else(|| {
            Failure::runtime(format!("{} is not the name of a file", quotable_path(&path)))
        })?;
        let mut builder = Builder::new();
        let prefix = format!(".{}.", name.to_string_lossy());
        builder.prefix(&prefix).suffix(".partial");
        let replaced = fs::metadata(&path).ok().map(|file| file.permissions().mode() & 0o777);
        let mode = replaced.unwrap_or(access as u32);
        builder.permissions(Permissions::from_mode(mode));
        let begun = builder.tempfile_in(folder_of(&path)).and_then(|file| {
            // As they were, whatever the process's mask.
            let permissions = replaced.map(Permissions::from_mode);
            permissions.map_or(Ok(()), |mode| file.as_file().set_permissions(mode))?;
            Ok(file)
        });
        let file = begun.map_err(|error| cannot_begin(&path, &error))?;
        Ok(Self { file, path, if_exists })
    }

    /// Returns the path that the file has until it is finished.
    pub(crate) fn temporary(&self) -> &Path {
        self.file.path()
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.file.write_all(bytes).map_err(failed(&self.path))
    }

    /// Makes the file durable under its name. Returns where it is, for people.
    pub(crate) fn finish(self) -> Result<String, Failure> {
        let Self { file, path, if_exists } = self;
        file.as_file().sync_all().map_err(failed(&path))?;
        if_exists.check(&path)?;
        // Another process may make the file just now.
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
    fn check(self, path: &Path) -> Result<(), Failure> {
        let shown = quotable_path(path);
        match (fs::metadata(path), self) {
            (Ok(metadata), _) if !metadata.is_file() => {
                Err(Failure::runtime(format!("{shown} is not a plain file; name another")))
            }
            (Ok(_), Self::Refuse(hint)) => {
                Err(Failure::runtime(format!("{shown} is there already; {hint}")))
            }
            (Ok(_), Self::Replace) => Ok(()),
            (Err(error), _) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            (Err(error), _) => Err(failed(path)(error)),
        }
    }
}

/// Returns why nothing can be written beside `path`. Names a directory that is missing.
fn cannot_begin(path: &Path, error: &io::Error) -> Failure {
    let shown = quotable_path(path);
    // Without the temporary name, which `tempfile` adds.
    let error = error.kind();
    let folder = folder_of(path);
    if folder.exists() {
        return Failure::runtime(format!("cannot write {shown}: {error}"));
    }
    Failure::runtime(format!(
        "cannot write {shown}: there is no directory {}; create it, or name another file",
        quotable_path(folder)
    ))
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Locks the folder of a file until the value is dropped: of two processes that make the file at once, one does all of
/// it before the other.
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

    use super::{Access, IfExists, PartialFile, read_bounded, read_secret};

    #[test]
    fn what_a_killed_process_has_left_is_in_nobodys_way() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pets.csv");
        let begin = || PartialFile::begin(&path, IfExists::Replace, Access::Everybody).unwrap();
        let left = begin();
        begin().finish().unwrap();
        assert!(left.temporary().exists() && path.exists());
    }

    #[test]
    fn a_file_that_is_replaced_keeps_its_permissions() {
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
    fn a_file_without_an_end_is_refused() {
        let endless = Path::new("/dev/zero");
        for refused in [
            read_bounded(endless).map(drop).map_err(|error| error.to_string()),
            read_secret(endless, "").map(drop).map_err(|failure| failure.to_string()),
        ] {
            assert!(refused.unwrap_err().ends_with("it has more than 1048576 bytes"));
        }
    }
}
