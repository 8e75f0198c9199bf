//! A directory that goes when nobody needs it.

use std::{
    fs::{self, DirBuilder},
    io,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

use crate::failure::Failure;

/// A new directory for its owner alone, removed with all that is in it.
#[derive(Debug)]
pub(super) struct Scratch(PathBuf);

impl Scratch {
    /// A directory beside the file `path`, so on the same disk.
    pub(super) fn beside(path: &Path) -> Result<Self, Failure> {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let parent = parent.unwrap_or(Path::new("."));
        Self::within(parent).map_err(|error| {
            let parent = parent.display();
            Failure::runtime(format!("cannot make a directory in {parent}: {error}"))
        })
    }

    /// A directory in this one.
    pub(super) fn inner(&self) -> io::Result<Self> {
        Self::within(&self.0)
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    fn within(parent: &Path) -> io::Result<Self> {
        let random = getrandom::u64().map_err(io::Error::other)?;
        let path = parent.join(format!("petstore-conformance-{random:016x}"));
        DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // If it cannot be removed, its name tells what it was.
        let _ = fs::remove_dir_all(&self.0);
    }
}
