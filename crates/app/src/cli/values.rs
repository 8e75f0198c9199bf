//! Values of flags: durations, sizes, counts, names; and of variables.

use std::{
    env,
    ffi::{OsStr, OsString},
    num::NonZeroU32,
    ops::RangeInclusive,
    time::Duration,
};

use bytesize::ByteSize;

const DAY: Duration = Duration::from_hours(24);
const CENTURY: Duration = Duration::from_hours(24 * 36_525);

/// Reads a time limit: 1 ms to 24 h.
pub(crate) fn timeout(text: &str) -> Result<Duration, String> {
    duration(text, Duration::from_millis(1)..=DAY, "1ms to 24h")
}

/// Reads a time limit that may be nothing: 0 s to 24 h.
pub(super) fn grace(text: &str) -> Result<Duration, String> {
    duration(text, Duration::ZERO..=DAY, "0s to 24h")
}

/// Reads the lifetime of a key: 1 s to 100 years.
pub(crate) fn lifetime(text: &str) -> Result<Duration, String> {
    // A bare number most likely means days.
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!("a duration has a unit; write {text}d for {text} days"));
    }
    duration(text, Duration::from_secs(1)..=CENTURY, "1s to 100years")
}

/// Reads how long a key outlives its successor's creation: 0 s to 100 years.
pub(crate) fn overlap(text: &str) -> Result<Duration, String> {
    duration(text, Duration::ZERO..=CENTURY, "0s to 100years")
}

fn duration(
    text: &str,
    allowed: RangeInclusive<Duration>,
    allowed_shown: &str,
) -> Result<Duration, String> {
    /// Whatever is longer is no sensible duration. humantime 2.4.0 panics on some that have more
    /// than `u64::MAX` seconds in sum, and those need more than this.
    const MAX_CHARS: usize = 20;
    let outside = || format!("the duration must be {allowed_shown}");
    if text.len() > MAX_CHARS {
        return Err(outside());
    }
    let duration = humantime::parse_duration(text)
        .map_err(|_| "a duration is written like 10s, 500ms or 24h".to_owned())?;
    if allowed.contains(&duration) { Ok(duration) } else { Err(outside()) }
}

/// Reads the size of a request body: 1 B to 16 MiB.
pub(super) fn body_size(text: &str) -> Result<usize, String> {
    size(text, 1..=16 * bytesize::MIB, "1B to 16MiB, written like 64KiB or 65536")
}

/// Reads an amount of memory that may be used: up to 64 GiB.
pub(super) fn memory(text: &str) -> Result<usize, String> {
    size(text, 0..=64 * bytesize::GIB, "0 to 64GiB, written like 16MiB or 16777216")
}

fn size(text: &str, allowed: RangeInclusive<u64>, allowed_shown: &str) -> Result<usize, String> {
    let size = text.parse().ok().map(|ByteSize(bytes)| bytes);
    let size = size.filter(|size| allowed.contains(size)).and_then(|size| size.try_into().ok());
    size.ok_or_else(|| format!("the size must be {allowed_shown}"))
}

/// Reads a number of number: 1 to 1 000 000.
pub(super) fn number<N: TryFrom<NonZeroU32>>(text: &str) -> Result<N, String> {
    text.parse()
        .ok()
        .filter(|number: &NonZeroU32| number.get() <= 1_000_000)
        .and_then(|number| N::try_from(number).ok())
        .ok_or_else(|| "the number must be 1 to 1000000".to_owned())
}

/// Reads the name of a deployment: 1 to 64 characters without control characters.
pub(super) fn environment(text: &str) -> Result<String, String> {
    let fits = (1..=64).contains(&text.chars().count());
    if fits && !text.chars().any(char::is_control) {
        Ok(text.to_owned())
    } else {
        Err("the name must have 1 to 64 characters, none of them a control character".to_owned())
    }
}

/// Returns the value of an environment variable that is set, and not to nothing.
pub(crate) fn variable(name: impl AsRef<OsStr>) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

/// Returns the variable named after a flag: `--header-timeout`, `PETSTORE_HEADER_TIMEOUT`.
pub(super) fn variable_of(flag: &str) -> String {
    let words = flag.trim_start_matches('-').replace('-', "_");
    format!("PETSTORE_{}", words.to_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{body_size, environment, grace, lifetime, memory, number, timeout};

    #[test]
    fn a_timeout_is_1_ms_to_24_hours() {
        let table =
            [("10s", 10_000), ("500ms", 500), ("24h", 86_400_000), ("1m 30s", 90_000), ("1ms", 1)];
        for (text, millis) in table {
            assert_eq!(timeout(text), Ok(Duration::from_millis(millis)), "{text:?}");
        }
        for text in ["0s", "999us", "25h", "86401s", "1000y", "18446744073709551615s1000ms"] {
            assert_eq!(
                timeout(text),
                Err("the duration must be 1ms to 24h".to_owned()),
                "{text:?}"
            );
        }
        for text in
            ["", " ", "10", "s", "10x", "-1s", "1e3s", "1,5s", "ten s", "18446744073709551616s"]
        {
            assert!(timeout(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_stop_may_have_no_grace_and_a_key_may_live_long() {
        assert_eq!(grace("0s"), Ok(Duration::ZERO));
        assert_eq!(lifetime("90d"), Ok(Duration::from_hours(90 * 24)));
        assert!(lifetime("100y").is_ok());
        assert!(lifetime("0s").is_err());
        let days = "a duration has a unit; write 90d for 90 days";
        assert_eq!(lifetime("90"), Err(days.to_owned()));
        assert!(lifetime("").unwrap_err().contains("like 10s, 500ms or 24h"));
        assert!(lifetime("101y").is_err());
    }

    #[test]
    fn a_body_has_1_byte_to_16_mebibytes_and_memory_may_be_none() {
        let table =
            [("1", 1), ("1B", 1), ("64KiB", 65_536), ("64kb", 64_000), ("16MiB", 16_777_216)];
        for (text, bytes) in table {
            assert_eq!(body_size(text), Ok(bytes), "{text:?}");
            assert_eq!(memory(text), Ok(bytes), "{text:?}");
        }
        for text in ["0", "0KiB", "16777217", "17MiB"] {
            assert!(body_size(text).is_err(), "{text:?}");
            assert!(memory(text).is_ok(), "{text:?}");
        }
        for text in ["", "99999EiB", "65GiB", "-1", "64 monkeys", "KiB"] {
            assert!(body_size(text).is_err() && memory(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn at_least_one_connection_is_served() {
        assert_eq!(number("10000").map(std::num::NonZeroUsize::get), Ok(10_000));
        for text in ["", "0", "-1", "1000001", "1e3", "99999999999999999999999"] {
            assert!(number::<std::num::NonZeroU32>(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn an_environment_fits_a_log_line() {
        for text in ["production", "blue/green 2", "Zürich \"A\""] {
            assert_eq!(environment(text).as_deref(), Ok(text));
        }
        for text in ["", "a\nb", &"x".repeat(65)] {
            assert!(environment(text).is_err(), "{text:?}");
        }
    }
}
