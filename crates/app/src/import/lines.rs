//! The lines of a file, none longer than memory allows.

use std::io::{self, BufRead};

/// The longest line, in bytes, as much as the service takes in one request. A record needs at most
/// about 4 KiB, unless its name is escaped.
pub(super) const LONGEST: usize = 64 * 1024;

/// Reads lines that end in LF or CRLF, the last one perhaps in neither. A byte-order mark at the
/// beginning is passed over.
#[derive(Debug)]
pub(super) struct Lines<R> {
    input: R,
    line: Vec<u8>,
    /// Lines that were read.
    pub(super) number: u64,
    /// Bytes that were read.
    pub(super) bytes: u64,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn of(input: R) -> Self {
        Self { input, line: Vec::new(), number: 0, bytes: 0 }
    }

    /// The next line without its end, or what is wrong with it; `None` if there is no more.
    pub(super) fn next(&mut self) -> io::Result<Option<Result<&str, String>>> {
        self.line.clear();
        let mut too_long = false;
        loop {
            let read = match self.input.fill_buf() {
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let end = read.iter().position(|byte| *byte == b'\n');
            let part = &read[..end.unwrap_or(read.len())];
            // Two more for a carriage return and for knowing that there was too much.
            let room = (LONGEST + 2).saturating_sub(self.line.len());
            self.line.extend_from_slice(&part[..part.len().min(room)]);
            too_long |= part.len() > room;
            let used = part.len() + usize::from(end.is_some());
            self.input.consume(used);
            self.bytes += used as u64;
            if used == 0 && self.line.is_empty() {
                return Ok(None);
            }
            if used == 0 || end.is_some() {
                break;
            }
        }
        self.number += 1;
        Ok(Some(text(&self.line, self.number == 1, too_long)))
    }
}

fn text(line: &[u8], first: bool, too_long: bool) -> Result<&str, String> {
    const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let line = if first { line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line) } else { line };
    if too_long || line.len() > LONGEST {
        return Err(format!("the line is longer than {LONGEST} bytes"));
    }
    if line.is_empty() {
        return Err("the line is empty".to_owned());
    }
    std::str::from_utf8(line).map_err(|error| {
        format!("the line must be UTF-8, but its byte {} is not", error.valid_up_to())
    })
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::{LONGEST, Lines};

    fn lines(input: &[u8]) -> Vec<Result<String, String>> {
        // A small buffer, so that lines lie across its ends.
        let mut lines = Lines::of(BufReader::with_capacity(7, input));
        let mut found = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            found.push(line.map(str::to_owned));
        }
        assert_eq!(lines.number, found.len() as u64);
        assert_eq!(lines.bytes, input.len() as u64);
        found
    }

    #[test]
    fn a_line_ends_in_lf_or_crlf_or_with_the_file() {
        let expected: Vec<_> =
            ["a", "the second", "c"].map(|line| Ok::<_, String>(line.to_owned())).into();
        assert_eq!(lines(b"a\nthe second\r\nc"), expected);
        assert_eq!(lines(b"a\r\nthe second\nc\n"), expected);
        assert_eq!(lines(b"\xef\xbb\xbfa\nthe second\nc\r\n"), expected);
        assert_eq!(lines(b""), []);
    }

    #[test]
    fn a_bad_line_does_not_end_the_file() {
        let found = lines(b"a\n\n\xff\n\xef\xbb\xbfb\nc\n");
        assert_eq!(found[1], Err("the line is empty".to_owned()));
        assert_eq!(found[2], Err("the line must be UTF-8, but its byte 0 is not".to_owned()));
        assert_eq!(found[3], Ok("\u{feff}b".to_owned()));
        assert_eq!(found[4], Ok("c".to_owned()));
    }

    #[test]
    fn a_line_has_at_most_its_length_and_the_next_one_is_whole() {
        for end in ["\n", "\r\n"] {
            let longest = "x".repeat(LONGEST);
            let input = format!("{longest}{end}x{longest}{end}{longest}{longest}{end}b{end}");
            let found = lines(input.as_bytes());
            let too_long = Err(format!("the line is longer than {LONGEST} bytes"));
            assert_eq!(found, [Ok(longest), too_long.clone(), too_long, Ok("b".to_owned())]);
        }
    }
}
