//! The file.

use std::{
    fs::{File, OpenOptions, TryLockError},
    hash::{BuildHasher, RandomState},
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    path::Path,
};

use crate::{line::Line, state::State};

/// An append-only file of lines, open for this process alone.
pub(crate) struct Journal {
    file: File,
    /// Up to here the file holds whole lines that the disk has.
    length: u64,
}

impl Journal {
    /// Opens the file and applies its lines.
    pub(crate) fn open(path: &Path) -> io::Result<(Self, State)> {
        let options = OpenOptions::new().read(true).append(true).create(true).clone();
        let mut file = options.open(path)?;
        file.try_lock().map_err(locked)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        // A line without its end was never acknowledged: the process died while it was written, perhaps within a
        // character.
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let mut state = State::default();
        for line in bytes[..whole].split_inclusive(|byte| *byte == b'\n') {
            state.apply(serde_json::from_slice(line)?).map_err(io::Error::other)?;
        }
        let mut journal = Self { file, length: whole as u64 };
        if whole == 0 {
            let line = Line::Store { epoch: RandomState::new().hash_one(()) };
            journal.append(&line)?;
            sync_directory(path)?;
            state.apply(line).map_err(io::Error::other)?;
        }
        Ok((journal, state))
    }

    /// Writes the line and waits for the disk.
    pub(crate) fn append(&mut self, line: &Line) -> io::Result<()> {
        // Whatever an append that failed has left behind goes first.
        self.file.set_len(self.length)?;
        self.file.seek(SeekFrom::End(0))?;
        let mut bytes = serde_json::to_vec(line)?;
        bytes.push(b'\n');
        self.file.write_all(&bytes)?;
        self.file.sync_data()?;
        self.length += bytes.len() as u64;
        Ok(())
    }
}

fn locked(error: TryLockError) -> io::Error {
    match error {
        TryLockError::WouldBlock => io::Error::other(
            "another process has it open; stop that, or try again when it has ended",
        ),
        TryLockError::Error(error) => error,
    }
}

/// A new file is on the disk when its directory is.
fn sync_directory(path: &Path) -> io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
}

#[cfg(test)]
mod tests {
    use std::fs::{self, OpenOptions};

    use petstore_domain::{CategoryId, Pet, PetId, PetName};

    use super::Journal;
    use crate::line::{Line, PetLine};

    #[test]
    fn a_file_opens_wherever_its_last_line_was_torn() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("petstore.ndjson");
        let (mut journal, _) = Journal::open(&path).unwrap();
        let before = journal.length;
        let name = PetName::parse("é🐕").unwrap();
        let pet = Pet { id: PetId(1), name, category_id: CategoryId(1), status: None };
        journal.append(&Line::Pet { pet: PetLine::from(&pet), record: None }).unwrap();
        drop(journal);
        let whole = fs::metadata(&path).unwrap().len();
        for torn in (before..whole).rev() {
            OpenOptions::new().write(true).open(&path).unwrap().set_len(torn).unwrap();
            let (journal, state) = Journal::open(&path).unwrap();
            assert_eq!((journal.length, state.pets.len()), (before, 0), "{torn}");
        }
    }
}
