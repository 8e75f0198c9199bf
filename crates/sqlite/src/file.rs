//! The database file as the file system sees it.

use std::{
    collections::BTreeMap,
    fs::{self, File, Metadata, OpenOptions},
    io, mem,
    os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt},
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Only the owner may read and write: the catalogue's owner decides who else.
const MODE: u32 = 0o600;

/// The database file, created if need be and held open for as long as a value of this type lives.
///
/// Closing a file drops every POSIX lock that the process has on it, SQLite's too, through
/// whichever handle they were taken (<https://sqlite.org/howtocorrupt.html>, section 2.2). So the
/// process has one handle for each file, which all its stores share, and the last one closes it.
#[derive(Debug)]
pub(crate) struct DatabaseFile(Identity);

/// Device and inode: two paths may lead to one file.
pub(crate) type Identity = (u64, u64);

/// The one handle of this process for a file.
struct Handle {
    file: File,
    /// How many values of [`DatabaseFile`] share it.
    users: usize,
}

static HANDLES: Mutex<BTreeMap<Identity, Handle>> = Mutex::new(BTreeMap::new());

/// What becomes of opening a file that is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IfMissing {
    /// It is created, to be read and written.
    Create,
    /// It must be there, and is only read.
    Refuse,
}

impl DatabaseFile {
    /// Opens `path`.
    pub(crate) fn open(path: &Path, if_missing: IfMissing) -> io::Result<Self> {
        let mut handles = handles();
        // Looked up before it is opened: a second handle could not be closed again.
        if let Ok(metadata) = fs::metadata(path)
            && let Some(handle) = handles.get_mut(&identity(&metadata))
        {
            handle.users += 1;
            return Ok(Self(identity(&metadata)));
        }
        let mut options = OpenOptions::new();
        options.read(true).write(if_missing == IfMissing::Create).mode(MODE);
        let create = if_missing == IfMissing::Create;
        let file = match options.clone().create_new(create).open(path) {
            Err(error) if create && error.kind() == io::ErrorKind::AlreadyExists => {
                options.open(path)?
            }
            opened => opened?,
        };
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a plain file"));
        }
        let identity = identity(&metadata);
        if let Some(handle) = handles.get_mut(&identity) {
            // It was renamed to this path since the look-up. Its second handle stays open.
            mem::forget(file);
            handle.users += 1;
        } else {
            handles.insert(identity, Handle { file, users: 1 });
        }
        Ok(Self(identity))
    }

    /// The same file once more: it stays open for as long as either value lives.
    pub(crate) fn share(&self) -> Self {
        if let Some(handle) = handles().get_mut(&self.0) {
            handle.users += 1;
        }
        Self(self.0)
    }

    /// Which file it is.
    pub(crate) fn identity(&self) -> Identity {
        self.0
    }

    /// The file's first bytes, at most `N`.
    pub(crate) fn head<const N: usize>(&self) -> io::Result<Vec<u8>> {
        let mut head = [0; N];
        let mut length = 0;
        if let Some(Handle { file, .. }) = handles().get(&self.0) {
            while length < N {
                match file.read_at(&mut head[length..], length as u64)? {
                    0 => break,
                    read => length += read,
                }
            }
        }
        Ok(head[..length].to_vec())
    }
}

impl Drop for DatabaseFile {
    fn drop(&mut self) {
        let mut handles = handles();
        if let Some(handle) = handles.get_mut(&self.0) {
            handle.users -= 1;
            if handle.users == 0 {
                // Closed under the lock, so that nobody opens the file in between.
                handles.remove(&self.0);
            }
        }
    }
}

pub(crate) fn identity(metadata: &Metadata) -> Identity {
    (metadata.dev(), metadata.ino())
}

fn handles() -> MutexGuard<'static, BTreeMap<Identity, Handle>> {
    HANDLES.lock().unwrap_or_else(PoisonError::into_inner)
}
