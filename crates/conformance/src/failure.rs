//! Failures of promises, and the checks that find them.

use std::{
    error::Error,
    fmt::{self, Write as _},
};

/// The reason why a promise was not kept: the expected and the actual result.
///
/// `?` converts any error to a failure, because an unexpected error of a store breaks a promise. The `Debug` form is
/// plain text, which the test runner prints.
#[derive(Clone, PartialEq, Eq)]
pub struct Failure(String);

impl Failure {
    /// Creates a failure with a reason.
    pub fn new(reason: impl fmt::Display) -> Self {
        Self(with_short_digests(&reason.to_string()))
    }

    /// Prepends the attempted action to the reason.
    #[must_use]
    pub fn context(self, tried: impl fmt::Display) -> Self {
        Self::new(format_args!("{tried}: {}", self.0))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<E: Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(format!("unexpected error: {error}"))
    }
}

/// The result of a promise, and of each call that it makes.
pub(crate) type PromiseResult<T = ()> = Result<T, Failure>;

/// Breaks the promise unless the condition holds.
macro_rules! ensure {
    ($holds:expr, $($reason:tt)+) => {
        if !$holds {
            return Err($crate::failure::Failure::new(format!($($reason)+)));
        }
    };
}
pub(crate) use ensure;

/// Breaks the promise unless the result matches the pattern.
macro_rules! ensure_matches {
    ($what:expr, $actual:expr, $pattern:pat $(if $guard:expr)?) => {
        let actual = $actual;
        $crate::failure::ensure!(
            matches!(&actual, $pattern $(if $guard)?),
            "{}: {actual:?} instead of {}",
            $what,
            stringify!($pattern)
        );
    };
}
pub(crate) use ensure_matches;

/// Converts an error, which breaks the promise, and prepends the attempted action.
pub(crate) fn tried<T>(what: &str, done: Result<T, impl fmt::Display>) -> PromiseResult<T> {
    done.map_err(|problem| Failure::new(format_args!("{what}: {problem}")))
}

/// Breaks the promise unless `actual` equals `expected`.
pub(crate) fn ensure_eq<T, U>(what: impl fmt::Display, actual: &T, expected: &U) -> PromiseResult
where
    T: PartialEq<U> + fmt::Debug + ?Sized,
    U: fmt::Debug + ?Sized,
{
    ensure!(actual == expected, "{what}: {} instead of {}", short(actual), short(expected));
    Ok(())
}

/// Breaks the promise unless two lists are equal. Names the first different element.
pub(crate) fn ensure_eq_lists<T: PartialEq + fmt::Debug>(
    what: impl fmt::Display,
    actual: &[T],
    expected: &[T],
) -> PromiseResult {
    let equal = actual.iter().zip(expected).take_while(|(actual, expected)| actual == expected);
    let index = equal.count();
    let [actual, expected] = [actual, expected].map(|list| (list.get(index), list.len()));
    ensure_eq(format_args!("{what}: element {index} and the length"), &actual, &expected)
}

/// Returns the `Debug` form of `value` on one line, truncated to a readable length.
pub(crate) fn short(value: &(impl fmt::Debug + ?Sized)) -> String {
    const MAX_CHARS: usize = 400;
    let text = with_short_digests(&format!("{value:?}"));
    match text.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Replaces each list of 16 or more bytes by its first 8 hexadecimal digits.
fn with_short_digests(text: &str) -> String {
    let (mut short, mut rest) = (String::new(), text);
    while let Some(start) = rest.find('[') {
        let list = &rest[start + 1..];
        let end = list.find(']').unwrap_or_default();
        let bytes: Result<Vec<u8>, _> = list[..end].split(", ").map(str::parse).collect();
        short.push_str(&rest[..=start]);
        rest = list;
        if let Ok([a, b, c, d, others @ ..]) = bytes.as_deref()
            && others.len() >= 12
        {
            let _ = write!(short, "{:08x}…", u32::from_be_bytes([*a, *b, *c, *d]));
            rest = &list[end..];
        }
    }
    short + rest
}
