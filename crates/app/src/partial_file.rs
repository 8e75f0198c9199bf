//! A file that appears under its name whole or not at all.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    process,
};

use crate::failure::{Failure, quotable_path};

/// A file under a temporary name beside its own. It is removed when this is dropped before the end.
#[derive(Debug)]
pub(crate) struct PartialFile {
    file: File,
    temporary: PathBuf,
    path: PathBuf,
    if_exists: IfExists,
}

/// What becomes of a file that has the name already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IfExists {
    /// It stays, and the work fails with this hint.
    Refuse(&'static str),
    /// The new file takes its place.
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
        // What a link leads to is replaced, not the link.
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let name = path.file_name().ok_or_else(|| {
            Failure::runtime(format!("{} is not the name of a file", quotable_path(&path)))
        })?;
        let hidden = format!(".{}.{}.partial", name.to_string_lossy(), process::id());
        let temporary = path.with_file_name(hidden);
        let mut options = OpenOptions::new();
        let opened = options.write(true).create_new(true).mode(access as u32).open(&temporary);
        let file = opened.map_err(|error| cannot_begin(&path, &error))?;
        Ok(Self { file, temporary, path, if_exists })
    }

    /// Where it is until it is finished.
    pub(crate) fn temporary(&self) -> &Path {
        &self.temporary
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.file.write_all(bytes).map_err(failed(&self.temporary))
    }

    /// Makes the file durable under its name. Says where it is, for people.
    pub(crate) fn finish(self) -> Result<String, Failure> {
        self.file.sync_all().map_err(failed(&self.temporary))?;
        self.take_name()?;
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed(folder))?;
        Ok(self.path.display().to_string())
    }

    /// Another process may have made the file meanwhile: a link never replaces it, a rename would.
    fn take_name(&self) -> Result<(), Failure> {
        self.if_exists.check(&self.path)?;
        if self.if_exists != IfExists::Replace && fs::hard_link(&self.temporary, &self.path).is_ok()
        {
            return Ok(());
        }
        // Some file systems have no links; and a file that has appeared just now is refused here.
        self.if_exists.check(&self.path)?;
        fs::rename(&self.temporary, &self.path).map_err(failed(&self.path))
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        // After a rename there is nothing to remove.
        let _ = fs::remove_file(&self.temporary);
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

/// Why nothing can be written beside `path`. Names a directory that is missing.
fn cannot_begin(path: &Path, error: &io::Error) -> Failure {
    let shown = quotable_path(path);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    match folder.filter(|folder| !folder.exists()) {
        Some(folder) => Failure::runtime(format!(
            "cannot write {shown}: there is no directory {}: {error}; create it, or name another file",
            quotable_path(folder)
        )),
        None => Failure::runtime(format!("cannot write {shown}: {error}")),
    }
}

fn failed(path: &Path) -> impl Fn(io::Error) -> Failure {
    move |error| Failure::runtime(format!("cannot write {}: {error}", quotable_path(path)))
}
