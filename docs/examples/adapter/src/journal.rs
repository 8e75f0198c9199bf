//! The append-only file: opens it, reads its lines and appends to it.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    path::Path,
};

use petstore_domain::{Corruption, Phase, StoreError, StoreId, StoreState};

use crate::{
    line::{Group, StoredGroup, Write},
    state::State,
    store::random,
};

/// The purpose for which the file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reads only; other processes may read the file too.
    Read,
    /// Reads and writes; no other process has the file open.
    Write,
    /// As `Write`, and creates the file if there is none.
    Create,
}

/// An append-only file of lines: a checksum, a space, and JSON.
pub(crate) struct Journal {
    file: File,
    /// Total length of the whole lines on the disk, in bytes.
    length: u64,
}

impl Journal {
    /// Opens the file and applies its lines.
    pub(crate) fn open(path: &Path, access: Access) -> Result<(Self, State), StoreError> {
        let failed = |error: io::Error| StoreError::unavailable(error);
        let writes = access != Access::Read;
        let mut options = OpenOptions::new();
        options.read(true).append(writes).create(access == Access::Create);
        let mut file = options.open(path).map_err(failed)?;
        let lock = if writes { file.try_lock() } else { file.try_lock_shared() };
        lock.map_err(|error| locked(path, error))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failed)?;
        let (state, length) = apply(&bytes)?;
        let mut journal = Self { file, length: length as u64 };
        let mut state = state;
        if writes {
            // A new file is on the disk once its directory is synced. The process that created it may have died before.
            sync_directory(path).map_err(failed)?;
            if length == 0 {
                let group = first().map_err(failed)?;
                journal.append(&group).map_err(failed)?;
                state.apply(group);
            }
        }
        Ok((journal, state))
    }

    /// Writes the group as a line, and waits for the disk.
    pub(crate) fn append(&mut self, group: &Group) -> io::Result<()> {
        if group.writes.is_empty() {
            return Ok(());
        }
        let json = serde_json::to_vec(&StoredGroup::from(group))?;
        let mut line = format!("{:016x} ", checksum(&json)).into_bytes();
        line.extend(json);
        line.push(b'\n');
        // A failed append may have left bytes after the last whole line.
        self.file.set_len(self.length)?;
        self.file.seek(SeekFrom::End(0))?;
        self.file.write_all(&line)?;
        self.file.sync_data()?;
        self.length += line.len() as u64;
        Ok(())
    }
}

/// Applies the lines. Returns the state, and the length of the whole lines. A last line that is damaged was never
/// acknowledged: the process or the machine died while it was written.
fn apply(bytes: &[u8]) -> Result<(State, usize), StoreError> {
    let (mut state, mut length) = (State::empty(), 0);
    let mut lines = bytes.split_inclusive(|byte| *byte == b'\n').enumerate().peekable();
    while let Some((number, line)) = lines.next() {
        let is_last = lines.peek().is_none();
        match parse(line) {
            Some(group) => {
                let group = group.try_into().map_err(|it: Corruption| in_line(number, &it))?;
                state.apply(group);
                length += line.len();
            }
            None if is_last => {}
            None => return Err(in_line(number, &"its checksum is right").into()),
        }
    }
    Ok((state, length))
}

/// Returns the content of a line, unless it is damaged.
fn parse(line: &[u8]) -> Option<StoredGroup> {
    let (sum, json) = line.strip_suffix(b"\n")?.split_at_checked(17)?;
    let sum = std::str::from_utf8(sum.strip_suffix(b" ")?).ok()?;
    let is_right = u64::from_str_radix(sum, 16).ok()? == checksum(json);
    if is_right { serde_json::from_slice(json).ok() } else { None }
}

/// Returns the FNV-1a checksum, which detects damage by a disk.
fn checksum(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

fn in_line(number: usize, rule: &dyn std::fmt::Display) -> Corruption {
    Corruption::new(format_args!("line {}", number + 1), rule)
}

/// Returns the first line: the identity of the store.
fn first() -> io::Result<Group> {
    let id = StoreId(random()?.to_be_bytes());
    let state = StoreState { id, revision: 0, rewrites: 0, phase: Phase::Open { from: None } };
    Ok(Group { random: random()?, writes: vec![Write::State(state), Write::Saved] })
}

fn locked(path: &Path, error: TryLockError) -> StoreError {
    match error {
        TryLockError::WouldBlock => StoreError::unavailable(format!(
            "another process has {} open; stop that process, or try again when it has ended",
            path.display()
        )),
        TryLockError::Error(error) => StoreError::unavailable(error),
    }
}

fn sync_directory(path: &Path) -> io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use petstore_domain::{Pet, StoreError};

    use super::{Access, Journal};
    use crate::line::{Group, Write};

    fn group(id: i64) -> Group {
        let pet = Pet::from_stored(id, "é🐕", 1, None).unwrap();
        Group { random: 7, writes: vec![Write::Pet(pet)] }
    }

    #[test]
    fn a_file_opens_wherever_its_last_line_was_torn() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("petstore.log");
        let (mut journal, _) = Journal::open(&path, Access::Create).unwrap();
        let before = usize::try_from(journal.length).unwrap();
        journal.append(&group(1)).unwrap();
        drop(journal);
        let whole = fs::read(&path).unwrap();
        for torn in before..whole.len() {
            // The rest of the line is missing, or it is zeros up to the line ending.
            let mut zeros = whole.clone();
            zeros[torn..whole.len() - 1].fill(0);
            let cut = &whole[..torn];
            for bytes in [cut, &zeros] {
                if bytes == whole {
                    continue;
                }
                fs::write(&path, bytes).unwrap();
                let (mut journal, state) = Journal::open(&path, Access::Write).unwrap();
                assert_eq!((journal.length, state.pets.len()), (before as u64, 0), "at {torn}");
                journal.append(&group(2)).unwrap();
                drop(journal);
                let (_, state) = Journal::open(&path, Access::Read).unwrap();
                assert_eq!(state.pets.len(), 1, "torn at byte {torn}");
            }
        }
    }

    #[test]
    fn a_damaged_line_in_the_middle_is_corrupt() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("petstore.log");
        let (mut journal, _) = Journal::open(&path, Access::Create).unwrap();
        let middle = usize::try_from(journal.length).unwrap() + 30;
        for id in [1, 2] {
            journal.append(&group(id)).unwrap();
        }
        drop(journal);
        let mut bytes = fs::read(&path).unwrap();
        bytes[middle] ^= 1;
        fs::write(&path, bytes).unwrap();
        let end = Journal::open(&path, Access::Read).map(drop);
        assert!(matches!(end, Err(StoreError::Corrupt(it)) if it.what == "line 2"));
    }
}
