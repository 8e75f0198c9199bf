//! Fuzz targets in an ordinary test: the corpus of the repository, and inputs mutated from it.
//!
//! The corpus of a target is the file with its name in `tests/fuzz/corpus`: one input per line, escaped as in a byte
//! string of Rust. Every run uses the same inputs. `PETSTORE_TEST_FUZZ` sets the number of mutated inputs per target.

use std::{
    env, fs,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    path::Path,
};

use fastrand::Rng;

use crate::skip::say;

/// The number of mutated inputs for each target.
const INPUTS: u64 = 5_000;
/// The longest mutated input, in bytes.
const MAX_BYTES: usize = 4096;
/// The largest number of mutations of one input.
const MAX_MUTATIONS: usize = 6;
/// Bytes with a meaning for at least one target.
const BYTES: &[u8] = b"\"{}[]:,\\\xff\0\n %&=+?@/";
/// Longer pieces with a meaning for at least one target.
const TOKENS: [&[u8]; 21] = [
    b"\\ud83d",
    b"\\udc15",
    b"\\u0000",
    b"null",
    b"true",
    b"-0",
    b"1e2",
    b"5.0",
    b"9223372036854775808",
    b"\"id\":1,",
    b"\"name\":",
    b"\"categoryId\":",
    b"\"status\":\"sold\"",
    b"\xef\xbb\xbf",
    b"\xc3\xa9",
    b"\r\n",
    b"%00",
    b"limit=",
    b"status=",
    b"cursor=",
    b"host: a\r\n",
];

/// Runs `target` on its corpus, then on inputs mutated from it. Prints the input that makes `target` panic.
///
/// # Panics
/// The target panics, or it has no corpus.
pub fn fuzz(name: &str, target: impl Fn(&[u8])) {
    let corpus = corpus(name);
    for input in &corpus {
        run(&target, input);
    }
    let mut mutations = Mutations::new(corpus);
    for _ in 0..inputs() {
        run(&target, &mutations.next_input());
    }
}

fn inputs() -> u64 {
    let Ok(number) = env::var("PETSTORE_TEST_FUZZ") else { return INPUTS };
    let number = number.parse();
    assert!(number.is_ok(), "PETSTORE_TEST_FUZZ must be a number");
    number.unwrap_or(INPUTS)
}

fn run(target: impl Fn(&[u8]), input: &[u8]) {
    let done = catch_unwind(AssertUnwindSafe(|| target(input)));
    if let Err(panic) = done {
        say(&format!("the target panicked with the input b\"{}\"", input.escape_ascii()));
        resume_unwind(panic);
    }
}

/// Returns the corpus of the target `name`.
///
/// # Panics
/// There is no corpus.
#[must_use]
pub fn corpus(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fuzz/corpus");
    let text = fs::read_to_string(folder.join(name).with_extension("txt")).unwrap_or_default();
    let inputs: Vec<_> = text.lines().map(unescaped).collect();
    assert!(!inputs.is_empty(), "no corpus of {name} in {}", folder.display());
    inputs
}

/// Undoes [`slice::escape_ascii`].
fn unescaped(line: &str) -> Vec<u8> {
    let mut bytes = line.bytes();
    let mut input = Vec::new();
    while let Some(byte) = bytes.next() {
        let escaped = (byte == b'\\').then(|| bytes.next()).flatten();
        input.push(match escaped {
            None => byte,
            Some(b't') => b'\t',
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b'x') => {
                let digits: String = bytes.by_ref().take(2).map(char::from).collect();
                u8::from_str_radix(&digits, 16).unwrap_or_default()
            }
            Some(quoted) => quoted,
        });
    }
    input
}

/// Inputs mutated from a corpus, in the same order in every run.
#[derive(Debug)]
pub struct Mutations {
    corpus: Vec<Vec<u8>>,
    random: Rng,
}

impl Mutations {
    /// Mutates the inputs of `corpus`.
    #[must_use]
    pub fn new(corpus: Vec<Vec<u8>>) -> Self {
        Self::with_seed(corpus, 1)
    }

    /// Mutates the inputs of `corpus` with the random numbers of `seed`.
    #[must_use]
    pub fn with_seed(corpus: Vec<Vec<u8>>, seed: u64) -> Self {
        Self { corpus, random: Rng::with_seed(seed) }
    }

    /// Returns the next input.
    pub fn next_input(&mut self) -> Vec<u8> {
        let mut input = self.random.choice(&self.corpus).cloned().unwrap_or_default();
        for _ in 0..self.random.usize(1..=MAX_MUTATIONS) {
            self.mutate(&mut input);
        }
        input.truncate(MAX_BYTES);
        input
    }

    fn mutate(&mut self, input: &mut Vec<u8>) {
        let at = self.random.usize(..=input.len());
        let end = self.random.usize(at..=input.len().min(at + 16));
        match self.random.u8(..8) {
            0 => {
                let bit = 1 << self.random.u8(..8);
                input.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= bit);
            }
            1 => input.insert(at, self.random.u8(..)),
            6 => input.insert(at, self.random.choice(BYTES).copied().unwrap_or_default()),
            2 => drop(input.drain(at..end)),
            3 => input.truncate(at),
            4 => {
                let piece = input[at..end].to_vec();
                insert(input, at, &piece);
            }
            5 => {
                let other = self.random.choice(&self.corpus).cloned().unwrap_or_default();
                input.truncate(at);
                input.extend_from_slice(&other[self.random.usize(..=other.len())..]);
            }
            _ => insert(input, at, self.random.choice(TOKENS).unwrap_or_default()),
        }
    }
}

fn insert(input: &mut Vec<u8>, at: usize, piece: &[u8]) {
    input.splice(at..at, piece.iter().copied());
}

#[cfg(test)]
mod tests {
    use super::unescaped;

    #[test]
    fn every_byte_survives_the_escaping() {
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(unescaped(&all.escape_ascii().to_string()), all);
    }
}
