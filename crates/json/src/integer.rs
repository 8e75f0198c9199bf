//! Integers as JSON Schema defines them: numbers whose value is whole, such as `5.0`.

use std::borrow::Cow;

/// Returns the plain digits of a JSON number whose exact value is an int64: `5` for `5.0`, `100` for `1e2`, `0` for
/// `-0`. Returns any other number unchanged, so that the parser of the field refuses it.
pub(crate) fn in_plain_digits(number: &str) -> Cow<'_, str> {
    let is_plain = number != "-0" && !number.contains(['.', 'e', 'E']);
    let value = if is_plain { None } else { exact(number) };
    value.map_or(Cow::Borrowed(number), |value| Cow::Owned(value.to_string()))
}

/// Returns the value of a JSON number if it is an int64. The work grows with the length of the text, not with the
/// exponent.
fn exact(number: &str) -> Option<i64> {
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let significant = digits.trim_end_matches('0');
    if ["", "-"].contains(&significant) {
        return Some(0);
    }
    // The number is `significant` times a power of ten.
    let trailing = i64::try_from(digits.len() - significant.len()).ok()?;
    let shift = trailing - i64::try_from(fraction.len()).ok()?;
    let zeros = u32::try_from(exponent.parse::<i64>().ok()?.checked_add(shift)?).ok()?;
    significant.parse::<i64>().ok()?.checked_mul(10_i64.checked_pow(zeros)?)
}

#[cfg(test)]
mod tests {
    use super::{exact, in_plain_digits};

    #[test]
    fn a_number_is_an_integer_by_its_value() {
        let long = format!("1{}e-70000", "0".repeat(70_000));
        let small = format!("0.{}1e70001", "0".repeat(70_000));
        for (number, value) in [
            ("5.0", 5),
            ("1e2", 100),
            ("1E+2", 100),
            ("10e-1", 1),
            ("1.5e1", 15),
            ("-12.50e1", -125),
            ("-0", 0),
            ("0.0", 0),
            ("-0.0e-99999999999999999999", 0),
            ("0e99999999999999999999", 0),
            ("1e000000000000000000000000000001", 10),
            ("9223372036854775807.0", i64::MAX),
            ("922337203685477580.7e1", i64::MAX),
            ("-9.223372036854775808e18", i64::MIN),
            ("1e18", 1_000_000_000_000_000_000),
            (&long, 1),
            (&small, 1),
        ] {
            assert_eq!(exact(number), Some(value), "{number}");
            assert_eq!(in_plain_digits(number), value.to_string(), "{number}");
        }
    }

    #[test]
    fn any_other_number_is_returned_unchanged() {
        for number in [
            "5.5",
            "1e-1",
            "1.05e1",
            "9223372036854775808.0",
            "1e19",
            "1e9223372036854775807",
            "10e9223372036854775807",
            "0.1e-9223372036854775808",
            "1e99999999999999999999",
            "1e-99999999999999999999",
        ] {
            assert_eq!(exact(number), None, "{number}");
            assert_eq!(in_plain_digits(number), number);
        }
    }
}
