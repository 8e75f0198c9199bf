//! How a promise ends.

use std::{error::Error, fmt};

/// Why a promise was not kept: what was expected, and what came instead.
///
/// Any error turns into one by `?`: a store that fails where nothing is wrong breaks its promise.
/// Its `Debug` form is the plain text, so that a test that returns it shows it readably.
#[derive(Clone, PartialEq, Eq)]
pub struct Broken(String);

impl Broken {
    /// Says in words how the promise was broken.
    pub fn new(what: impl fmt::Display) -> Self {
        Self(what.to_string())
    }

    /// Puts what was tried in front.
    #[must_use]
    pub fn context(self, tried: impl fmt::Display) -> Self {
        Self(format!("{tried}: {}", self.0))
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<E: Error> From<E> for Broken {
    fn from(error: E) -> Self {
        Self(format!("it failed where nothing is wrong: {error}"))
    }
}

/// What a promise returns.
pub(crate) type Checked = Result<(), Broken>;

/// Ends the promise unless the condition holds.
macro_rules! ensure {
    ($holds:expr, $($what:tt)+) => {
        if !$holds {
            return Err($crate::broken::Broken::new(format!($($what)+)));
        }
    };
}
pub(crate) use ensure;

/// Ends the promise unless the actual value is the expected one.
pub(crate) fn same<T, U>(what: impl fmt::Display, actual: &T, expected: &U) -> Checked
where
    T: PartialEq<U> + fmt::Debug,
    U: fmt::Debug,
{
    ensure!(actual == expected, "{what}: {} instead of {}", short(actual), short(expected));
    Ok(())
}

/// Returns the value, cut to the length of a line.
pub(crate) fn short(value: &impl fmt::Debug) -> String {
    const MAX_CHARS: usize = 400;
    let text = format!("{value:?}");
    match text.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::{Broken, same};

    #[test]
    fn a_difference_names_both_sides_in_one_short_line() {
        let broken = same("the page", &[1, 2], &[2, 1]).unwrap_err();
        assert_eq!(broken.to_string(), "the page: [1, 2] instead of [2, 1]");
        let long = same("", &"é".repeat(1000), &"").unwrap_err();
        assert!(long.to_string().chars().count() < 500);
    }

    #[test]
    fn any_error_breaks_the_promise_it_comes_up_in() {
        let failing = || -> Result<(), Broken> {
            "x".parse::<u8>()?;
            Ok(())
        };
        let broken = failing().unwrap_err().context("adding");
        assert!(format!("{broken:?}").starts_with("adding: it failed where nothing is wrong: "));
    }
}
