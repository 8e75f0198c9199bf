//! Whether a client takes a body compressed by gzip (RFC 9110, section 12.5.3).

use hyper::{HeaderMap, header::ACCEPT_ENCODING};

/// Returns whether a client names gzip, and does not prefer the body as it is. `*` names nothing: a client
/// that sends it need not know every coding.
pub(crate) fn takes_gzip(headers: &HeaderMap) -> bool {
    let lists = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|list| list.to_str().ok());
    let sent: Vec<_> = lists.flat_map(|list| list.split(',')).map(coding).collect();
    let weight = |name: &str| {
        let named = sent.iter().find(|(coding, _)| coding.eq_ignore_ascii_case(name));
        named.map(|(_, weight)| *weight)
    };
    let gzip = weight("gzip").or_else(|| weight("x-gzip")).unwrap_or(0);
    gzip > 0 && gzip >= weight("identity").unwrap_or(0)
}

/// A coding, and its weight in thousandths: 0 if it is not wanted, or its weight cannot be read.
fn coding(member: &str) -> (&str, u16) {
    let (name, parameters) = member.split_once(';').unwrap_or((member, "q=1"));
    let value = parameters.trim().strip_prefix(['q', 'Q']).and_then(|rest| rest.strip_prefix('='));
    (name.trim(), value.and_then(thousandths).unwrap_or(0))
}

/// Reads `1`, `0.5` or `0.125` (RFC 9110, section 12.4.2).
fn thousandths(weight: &str) -> Option<u16> {
    let (whole, fraction) = weight.split_once('.').unwrap_or((weight, ""));
    let whole = ["0", "1"].iter().position(|digit| *digit == whole)?;
    let is_plain = fraction.len() <= 3 && fraction.bytes().all(|byte| byte.is_ascii_digit());
    let fraction = format!("{fraction:0<3}").parse::<u16>().ok().filter(|_| is_plain)?;
    Some(1000 * u16::try_from(whole).ok()? + fraction).filter(|weight| *weight <= 1000)
}

#[cfg(test)]
mod tests {
    use hyper::{
        HeaderMap,
        header::{ACCEPT_ENCODING, HeaderValue},
    };

    use super::takes_gzip;

    #[test]
    fn gzip_is_sent_to_those_who_prefer_it() {
        let table = [
            ("gzip", true),
            ("GZIP", true),
            ("x-gzip", true),
            ("gzip, deflate, br, zstd", true),
            ("br;q=1.0, gzip;q=0.5", true),
            ("br , gzip ; q=0.001", true),
            ("gzip;Q=1.000", true),
            ("*", false),
            ("*;q=0.5", false),
            ("gzip, identity", true),
            ("identity;q=0.5, gzip;q=0.5", true),
            ("identity;q=0, gzip;q=0.1", true),
            ("identity, *;q=0.5", false),
            ("gzip;q=0.5, identity;q=0.501", false),
            ("gzip;q=0.9, identity", false),
            ("gzip, *", true),
            ("gzip;q=0.2, *;q=0.1", true),
            ("gzip, *;q=0", true),
            ("*, gzip;q=0.1", true),
            ("gzip;q=0", false),
            ("gzip; q=0.000, *", false),
            ("gzip;q=x", false),
            ("gzip;q=1.001", false),
            ("gzip;q=0.1234", false),
            ("gzip;q=0.0123", false),
            ("gzip;q=0.+5", false),
            ("gzip;q=1e0", false),
            ("gzip;q=", false),
            ("gzip;level=9", false),
            ("*;q=0", false),
            ("identity", false),
            ("br, deflate", false),
            ("", false),
        ];
        for (sent, expected) in table {
            let sent = HeaderValue::from_static(sent);
            let headers = HeaderMap::from_iter([(ACCEPT_ENCODING, sent.clone())]);
            assert_eq!(takes_gzip(&headers), expected, "{sent:?}");
        }
        assert!(!takes_gzip(&HeaderMap::new()));
        let mut headers = HeaderMap::new();
        headers.append(ACCEPT_ENCODING, HeaderValue::from_static("br"));
        headers.append(ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
        assert!(takes_gzip(&headers));
    }
}
