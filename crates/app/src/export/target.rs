//! Where an export goes: a file that appears whole or not at all, or standard output.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
    process,
};

use crate::{
    cli::FileArg,
    console::{Console, Output as _, stdout_failed},
    failure::Failure,
};

/// Takes what is exported.
#[derive(Debug)]
pub(super) enum Target {
    Standard,
    File(Draft),
}

/// A file under a temporary name beside the one that it will have. Dropping it removes it.
#[derive(Debug)]
pub(super) struct Draft {
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
            FileArg::Path(path) => Draft::open(&path, force).map(Self::File),
        }
    }

    pub(super) fn write(&mut self, text: &str) -> Result<(), Failure> {
        match self {
            Self::Standard => Console.answer(text).map_err(|error| stdout_failed(&error)),
            Self::File(draft) => {
                draft.file.write_all(text.as_bytes()).map_err(failed(&draft.temporary))
            }
        }
    }

    /// Makes what was written last; where it is, for people.
    pub(super) fn finish(self) -> Result<String, Failure> {
        match self {
            Self::Standard => Ok("standard output".to_owned()),
            Self::File(draft) => draft.finish(),
        }
    }
}

impl Draft {
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
        // It may have come meanwhile.
        refuse_existing(&self.path, self.force)?;
        fs::rename(&self.temporary, &self.path).map_err(failed(&self.path))?;
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed(folder))?;
        Ok(self.path.display().to_string())
    }
}

impl Drop for Draft {
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
