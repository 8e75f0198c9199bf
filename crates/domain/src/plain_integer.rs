//! The plain decimal form of an integer, which query parameters and path segments have.

/// Parses the form in which an integer is displayed: an optional `-`, then digits. Returns `None` for any other text,
/// such as `01`, `-0`, `+1`, ` 1` or `1.0`, and for a number out of range.
pub(crate) fn parse<T: std::str::FromStr>(text: &str) -> Option<T> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit())
        && (!digits.starts_with('0') || text == "0");
    if plain { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn only_the_displayed_form_of_an_integer_is_plain() {
        for value in [0, 1, -1, 10, 100, i64::MAX, i64::MIN] {
            assert_eq!(parse(&value.to_string()), Some(value));
        }
        let [above, below] =
            [i128::from(i64::MAX) + 1, i128::from(i64::MIN) - 1].map(|value| value.to_string());
        for text in [
            "", "-", "+1", "01", "-0", "-01", "00", "1.0", "1e2", " 1", "1 ", "0x1", "1_000", "٣",
            "abc", "--1", &above, &below,
        ] {
            assert_eq!(parse::<i64>(text), None, "{text:?}");
        }
    }
}
