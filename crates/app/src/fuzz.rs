//! Fuzz targets for imported files and store URLs. Compiled only for tests and cargo-fuzz.

use std::{io::BufReader, str};

use sha2::{Digest as _, Sha256};

use crate::{
    commands::{import::lines::Lines, records::RecordReader},
    stores::{self, Registry},
};

/// A password that no message and no displayed URL may contain.
const PASSWORD: &str = "CANARY";

/// Reads `data` like the command `import`, as NDJSON and as CSV.
///
/// # Panics
/// A byte or a line is not read.
pub fn import(data: &[u8]) {
    let header = data.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let csv = RecordReader::csv(header.trim_ascii_end(), ',');
    let pieces = data.split(|byte| *byte == b'\n').count();
    let is_last_empty = data.is_empty() || data.ends_with(b"\n");
    for reader in [Ok(RecordReader::Ndjson), csv].into_iter().flatten() {
        // A small buffer, so that lines cross its end.
        let mut lines = Lines::new(BufReader::with_capacity(16, data));
        // Reading from memory never fails.
        while let Ok(Some(line)) = lines.next() {
            let Ok(line) = line else { continue };
            assert!(!line.contains(&b'\n'));
            let _ = reader.read(line);
        }
        assert_eq!(lines.digest(), <[u8; 32]>::from(Sha256::digest(data)), "bytes were not read");
        assert_eq!(lines.number, (pieces - usize::from(is_last_empty)) as u64);
    }
}

/// Parses `data` as a store URL, and its lines as the parts of a URL around a password.
///
/// # Panics
/// A displayed URL is another URL when it is parsed again, or a message or a displayed URL contains the password.
pub fn store_url(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let built_in = Registry(stores::BUILT_IN.to_vec());
    // Only the displayed URL of a file is parsed again, because the displayed URL of a database lacks its password.
    if text.starts_with("sqlite:")
        && let Ok(store) = built_in.parse(text, false)
    {
        let shown = store.location.to_string();
        let again = built_in.parse(&shown, false).map(|store| store.location.to_string());
        assert_eq!(again.ok(), Some(shown));
    }
    let mut parts = text.split('\n');
    let [before, after, place] = [(); 3].map(|()| parts.next().unwrap_or_default());
    if place.contains('@') {
        return; // The last `@` in front of a `?` ends the password, so a part of `place` would belong to the password.
    }
    let url = format!("postgres://user:{before}{PASSWORD}{after}@{place}");
    let shown = match built_in.parse(&url, false) {
        // If a `?` follows, the last `@` in front of it may be in `before`. Then `PASSWORD` is not in the password.
        Ok(_) if before.contains('@') => return,
        Ok(store) => store.location.to_string(),
        Err(refusal) => refusal.to_string(),
    };
    assert!(!shown.contains(PASSWORD), "{shown}");
}

#[cfg(test)]
mod tests {
    use petstore_testing::fuzz;

    #[test]
    fn any_file_is_imported_without_a_broken_promise() {
        fuzz("import", super::import);
    }

    #[test]
    fn any_store_url_is_parsed_without_a_broken_promise() {
        fuzz("store_url", super::store_url);
    }
}
