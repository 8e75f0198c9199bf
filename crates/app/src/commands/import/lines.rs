//! Reads the lines of a file with bounded memory.

use std::io::{self, BufRead};

use sha2::{Digest as _, Sha256};

/// The longest line, in bytes, like the default of `--max-body`. A record needs at most about 4 KiB, even if every
/// character is escaped.
const MAX_LINE_BYTES: usize = 64 * 1024;
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();
/// The number of bytes of a line that are kept, which is enough for the longest line.
const MAX_READ: usize = BYTE_ORDER_MARK.len() + MAX_LINE_BYTES + b"\r\n".len();

/// Reads lines that end in LF, in CRLF or with the file. Skips a byte-order mark at the beginning of the file.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    input: R,
    line: Vec<u8>,
    /// The number of lines read.
    pub(crate) number: u64,
    digest: Sha256,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(input: R) -> Self {
        Self { input, line: Vec::new(), number: 0, digest: Sha256::new() }
    }

    /// Returns the SHA-256 digest of the bytes read.
    pub(crate) fn digest(&self) -> [u8; 32] {
        self.digest.clone().finalize().into()
    }

    /// Returns the next line without its line ending, or why the line is refused; `None` at end of file.
    pub(crate) fn next(&mut self) -> io::Result<Option<Result<&[u8], String>>> {
        self.line.clear();
        loop {
            let buffer = self.input.fill_buf()?;
            let read = buffer.split_inclusive(|byte| *byte == b'\n').next().unwrap_or_default();
            let room = MAX_READ - self.line.len();
            // Truncates a line over the limit.
            self.line.extend_from_slice(&read[..read.len().min(room)]);
            self.digest.update(read);
            let (count, is_end) = (read.len(), read.is_empty() || read.ends_with(b"\n"));
            self.input.consume(count);
            if is_end {
                break;
            }
        }
        if self.line.is_empty() {
            return Ok(None);
        }
        self.number += 1;
        let line = self.line.strip_suffix(b"\n").unwrap_or(&self.line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let mark = if self.number == 1 { BYTE_ORDER_MARK } else { b"" };
        let line = line.strip_prefix(mark).unwrap_or(line);
        let too_long = || format!("the line is longer than {MAX_LINE_BYTES} bytes");
        Ok(Some(if line.len() > MAX_LINE_BYTES { Err(too_long()) } else { Ok(line) }))
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use sha2::{Digest as _, Sha256};

    use super::{Lines, MAX_LINE_BYTES};

    fn lines(input: &[u8]) -> Vec<Result<Vec<u8>, String>> {
        // A small buffer, so that lines cross its end.
        let mut lines = Lines::new(BufReader::with_capacity(7, input));
        let mut found = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            found.push(line.map(<[u8]>::to_vec));
        }
        assert_eq!(lines.number, found.len() as u64);
        assert_eq!(lines.digest(), <[u8; 32]>::from(Sha256::digest(input)));
        found
    }

    #[test]
    fn a_line_ends_in_lf_or_crlf_or_with_the_file() {
        let expected: Vec<_> =
            ["a", "the second", "c"].map(|line| Ok::<_, String>(line.as_bytes().to_vec())).into();
        assert_eq!(lines(b"a\nthe second\r\nc"), expected);
        assert_eq!(lines(b"a\r\nthe second\nc\n"), expected);
        assert_eq!(lines(b"\xef\xbb\xbfa\nthe second\nc\r\n"), expected);
        assert_eq!(lines(b""), []);
    }

    #[test]
    fn a_line_may_be_empty_or_contain_a_byte_order_mark_or_a_carriage_return() {
        let found = lines(b"a\n\n\xef\xbb\xbfb\r\rc\r\n\r\n");
        let expected = [&b"a"[..], b"", b"\xef\xbb\xbfb\r\rc", b""];
        assert_eq!(found, expected.map(|line| Ok(line.to_vec())));
    }

    #[test]
    fn a_line_over_the_limit_is_refused_and_the_next_line_is_read() {
        for end in ["\n", "\r\n"] {
            let longest = "x".repeat(MAX_LINE_BYTES);
            let input = format!(
                "\u{feff}{longest}{end}x{longest}{end}{longest}{longest}{end}b{end}{longest}xyz"
            );
            let found = lines(input.as_bytes());
            let too_long = Err(format!("the line is longer than {MAX_LINE_BYTES} bytes"));
            let good = Ok(longest.into_bytes());
            let b = Ok(b"b".to_vec());
            assert_eq!(found, [good, too_long.clone(), too_long.clone(), b, too_long]);
        }
    }
}
