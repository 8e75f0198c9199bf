//! Strict percent-decoding.

use super::invalid_url::InvalidUrl;

/// Decodes `text`, which is the URL's `part`. A `%` without two hexadecimal digits is a fault, not a
/// character, and no control character can be meant.
pub(super) fn decode(text: &str, part: &'static str) -> Result<String, InvalidUrl> {
    let wrong = || InvalidUrl::Encoding(part);
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        rest = behind;
        if first != b'%' {
            bytes.push(first);
            continue;
        }
        let (digits, behind) = rest.split_at_checked(2).ok_or_else(wrong)?;
        let value = |digit: u8| char::from(digit).to_digit(16);
        let (high, low) = value(digits[0]).zip(value(digits[1])).ok_or_else(wrong)?;
        bytes.push(u8::try_from(high * 16 + low).map_err(|_| wrong())?);
        rest = behind;
    }
    let text = String::from_utf8(bytes).map_err(|_| wrong())?;
    if text.chars().any(char::is_control) { Err(wrong()) } else { Ok(text) }
}
