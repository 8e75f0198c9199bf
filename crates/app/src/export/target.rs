//! The target of an export: standard output, or a file that appears whole or not at all.

#[cfg(test)]
mod tests;

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
    process,
};

use crate::{cli::FileArg, console::stdout_failed, failure::Failure};

/// What an export is written to.
#[derive(Debug)]
pub(super) enum Target {
    Standard,
    File(PartialFile),
}

/// A file under a temporary name beside its own. It is removed when this is dropped before the end.
#[derive(Debug)]
pub(super) struct PartialFile {
    file: File,
    temporary: PathBuf,
    path: PathBuf,
    force: bool,
}

impl Target {
    /// Begins to write. A file that is there is refused unless `force` is given.
    pub(super) fn open(file: FileArg, force: bool) -> Result<Self, Failure> {
        match file {
            FileArg::Standard => Ok(Self::Standard),
            FileArg::Path(path) => PartialFile::open(&path, force).map(Self::File),
        }
    }

    pub(super) fn write(&mut self, text: &[u8]) -> Result<(), Failure> {
        match self {
            Self::Standard => {
                let mut stdout = io::stdout().lock();
                let written = stdout.write_all(text).and_then(|()| stdout.flush());
                written.map_err(|error| stdout_failed(&error))
            }
            Self::File(PartialFile { file, temporary, .. }) => {
                file.write_all(text).map_err(failed(temporary))
            }
        }
    }

    /// Makes the file durable under its name. Says where it is, for people.
    pub(super) fn finish(self) -> Result<String, Failure> {
        match self {
            Self::Standard => Ok("standard output".to_owned()),
            Self::File(file) => file.finish(),
        }
    }
}

impl PartialFile {
    fn open(path: &Path, force: bool) -> Result<Self, Failure> {
        refuse_existing(path, force)?;
        // What a link leads to is replaced, not the link.
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let name = path.file_name().ok_or_else(|| {
            Failure::runtime(format!("{} is not the name of a file", path.display()))
        })?;
        let hidden = format!(".{}.{}.partial", name.to_string_lossy(), process::id());
        let temporary = path.with_file_name(hidden);
        let mut options = OpenOptions::new();
        let file =
            options.write(true).create_new(true).open(&temporary).map_err(failed(&temporary))?;
        Ok(Self { file, temporary, path, force })
    }

    fn finish(self) -> Result<String, Failure> {
        self.file.sync_all().map_err(failed(&self.temporary))?;
        // Another process may have made it meanwhile.
        refuse_existing(&self.path, self.force)?;
        fs::rename(&self.temporary, &self.path).map_err(failed(&self.path))?;
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed(folder))?;
        Ok(self.path.display().to_string())
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        // After a rename there is nothing to remove.
        let _ = fs::remove_file(&self.temporary);
    }
}

fn refuse_existing(path: &Path, force: bool) -> Result<(), Failure> {
    let shown = path.display();
    match fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => Err(Failure::runtime(format!(
            "{shown} is not a plain file; use '-' and redirect standard output"
        ))),
        Ok(_) if !force => {
            Err(Failure::runtime(format!("{shown} is there already; --force replaces it")))
        }
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(failed(path)(error)),
    }
}

fn failed(path: &Path) -> impl Fn(io::Error) -> Failure {
    move |error| Failure::runtime(format!("cannot write {}: {error}", path.display()))
}
