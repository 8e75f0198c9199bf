use std::io;

use super::Output;

/// An output that records results and notes.
#[derive(Debug, Default)]
pub(crate) struct Recorded {
    pub(crate) answers: String,
    pub(crate) notes: String,
    /// The number of results before stdout breaks; `None` if it never breaks.
    pub(crate) breaks_after: Option<usize>,
    /// `true` if stdout was closed from the beginning.
    pub(crate) closed: bool,
    pub(crate) is_terminal: bool,
}

impl Output for Recorded {
    fn write(&mut self, text: &[u8]) -> io::Result<()> {
        match &mut self.breaks_after {
            Some(0) => return Err(io::ErrorKind::StorageFull.into()),
            Some(left) => *left -= 1,
            None => {}
        }
        self.answers.push_str(str::from_utf8(text).unwrap());
        Ok(())
    }

    fn note(&mut self, line: &str) {
        self.notes.push_str(line);
        self.notes.push('\n');
    }

    fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    fn has_reader(&self) -> io::Result<()> {
        if self.closed { Err(io::Error::other("it is closed")) } else { Ok(()) }
    }
}
