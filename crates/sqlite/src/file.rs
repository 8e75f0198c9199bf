//! The database file as the file system sees it.

use std::{
    collections::BTreeMap,
    fs::{File, OpenOptions},
    io,
    os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt},
    path::Path,
    sync::{Mutex, PoisonError},
};

/// Only the owner may read and write: the catalogue's owner decides who else.
const MODE: u32 = 0o600;

/// The database file, created if need be and held open for as long as the store.
///
/// Closing a file drops every POSIX lock that the process has on it, SQLite's too, through
/// whichever handle they were taken (<https://sqlite.org/howtocorrupt.html>, section 2.2). So a
/// handle is closed only when no other store of this process has the same file open.
#[derive(Debug)]
pub(crate) struct DatabaseFile {
    /// Taken out when this value is dropped.
    file: Option<File>,
    identity: Identity,
}

/// Device and inode: two paths may lead to one file.
type Identity = (u64, u64);

/// The files that stores of this process use.
static IN_USE: Mutex<BTreeMap<Identity, Uses>> = Mutex::new(BTreeMap::new());

#[derive(Default)]
struct Uses {
    stores: usize,
    /// Handles of stores that were closed while others stayed open.
    retired: Vec<File>,
}

impl DatabaseFile {
    /// Opens `path`, or creates it.
    pub(crate) fn open_or_create(path: &Path) -> io::Result<Self> {
        let mut in_use = IN_USE.lock().unwrap_or_else(PoisonError::into_inner);
        let mut options = OpenOptions::new();
        options.read(true).write(true).mode(MODE);
        let file = match options.clone().create_new(true).open(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => options.open(path)?,
            created => created?,
        };
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a plain file"));
        }
        let identity = (metadata.dev(), metadata.ino());
        in_use.entry(identity).or_default().stores += 1;
        Ok(Self { file: Some(file), identity })
    }

    /// The file's first bytes, at most `N`.
    pub(crate) fn head<const N: usize>(&self) -> io::Result<Vec<u8>> {
        let mut head = [0; N];
        let mut length = 0;
        if let Some(file) = &self.file {
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
        let mut in_use = IN_USE.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(uses) = in_use.get_mut(&self.identity) else { return };
        uses.stores -= 1;
        if uses.stores == 0 {
            // Still under the lock, so that nobody opens the file in between.
            in_use.remove(&self.identity);
            self.file = None;
        } else {
            uses.retired.extend(self.file.take());
        }
    }
}
