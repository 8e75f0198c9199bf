//! The system's clock.

use std::time::{SystemTime, UNIX_EPOCH};

use petstore_domain::{Clock, Timestamp};

/// The [`Clock`] that reads the system's wall clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one place where time enters the program")]
    fn now(&self) -> Timestamp {
        let epoch = Timestamp(0);
        match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => epoch.plus(since),
            Err(before) => epoch.minus(before.duration()),
        }
    }
}

/// Formats a time by RFC 3339 in UTC, in whole seconds. Formats a time before 1970 or after 9999 as milliseconds since
/// 1970.
pub(crate) fn rfc3339(at: Timestamp) -> String {
    const YEAR_10000: i64 = 253_402_300_800_000;
    let since = at.since(Timestamp(0)).filter(|_| at.0 < YEAR_10000);
    let shown = since.map(|since| humantime::format_rfc3339_seconds(UNIX_EPOCH + since));
    shown.map_or_else(|| format!("{} ms", at.0), |shown| shown.to_string())
}

#[cfg(test)]
mod tests {
    use petstore_domain::Timestamp;

    use super::rfc3339;

    #[test]
    fn every_time_has_a_form() {
        let table = [
            (0, "1970-01-01T00:00:00Z"),
            (1_795_132_800_999, "2026-11-20T00:00:00Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59Z"),
            (253_402_300_800_000, "253402300800000 ms"),
            (-1, "-1 ms"),
            (i64::MAX, "9223372036854775807 ms"),
            (i64::MIN, "-9223372036854775808 ms"),
        ];
        for (millis, text) in table {
            assert_eq!(rfc3339(Timestamp(millis)), text);
        }
    }
}
