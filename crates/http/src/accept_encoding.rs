//! Which codings of a body a client takes (RFC 9110, section 12.5.3).

use hyper::{HeaderMap, header::ACCEPT_ENCODING};

use crate::coding::Coding;

/// The one of `offered` that a client names and prefers, unless it prefers the body as it is. The first of
/// them if it likes several alike. `*` names none: a client that sends it need not know them all.
pub(crate) fn preferred(
    headers: &HeaderMap,
    offered: impl IntoIterator<Item = Coding>,
) -> Option<Coding> {
    let lists = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|list| list.to_str().ok());
    let sent: Vec<_> = lists.flat_map(|list| list.split(',')).map(coding).collect();
    let weight = |name: &str| {
        let named = sent.iter().find(|(coding, _)| coding.eq_ignore_ascii_case(name));
        named.map(|(_, weight)| *weight)
    };
    let least = weight("identity").unwrap_or(0).max(1);
    let mut best = None;
    for coding in offered {
        let alias = (coding == Coding::Gzip).then(|| weight("x-gzip")).flatten();
        let weight = weight(coding.as_str()).or(alias).unwrap_or(0);
        if weight >= best.map_or(least, |(best, _)| best + 1) {
            best = Some((weight, coding));
        }
    }
    best.map(|(_, coding)| coding)
}

/// Whether a client takes this coding, and does not prefer the body as it is.
pub(crate) fn takes(headers: &HeaderMap, coding: Coding) -> bool {
    preferred(headers, [coding]).is_some()
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

    use super::{preferred, takes};
    use crate::coding::Coding;

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
            assert_eq!(takes(&headers, Coding::Gzip), expected, "{sent:?}");
        }
        assert!(!takes(&HeaderMap::new(), Coding::Gzip));
        let mut headers = HeaderMap::new();
        headers.append(ACCEPT_ENCODING, HeaderValue::from_static("br"));
        headers.append(ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
        assert!(takes(&headers, Coding::Gzip));
    }

    #[test]
    fn of_several_codings_the_one_of_the_largest_weight_is_sent() {
        let table = [
            ("gzip, deflate, br, zstd", Some(Coding::Zstd)),
            ("zstd;q=0.5, gzip;q=0.5", Some(Coding::Zstd)),
            ("zstd;q=0.5, gzip;q=0.501", Some(Coding::Gzip)),
            ("gzip;q=0.2, *;q=0.1", Some(Coding::Gzip)),
            ("gzip, *;q=0", Some(Coding::Gzip)),
            ("*, gzip;q=0.1", Some(Coding::Gzip)),
            ("zstd;q=0, *", None),
            ("ZSTD", Some(Coding::Zstd)),
            ("*", None),
            ("gzip, *", Some(Coding::Gzip)),
            ("identity;q=0.7, gzip;q=0.7, zstd;q=0.6", Some(Coding::Gzip)),
            ("identity, gzip;q=0.7, zstd;q=0.6", None),
            ("br", None),
            ("", None),
        ];
        for (sent, expected) in table {
            let sent = HeaderValue::from_static(sent);
            let headers = HeaderMap::from_iter([(ACCEPT_ENCODING, sent.clone())]);
            assert_eq!(preferred(&headers, Coding::ALL), expected, "{sent:?}");
            let gzip = preferred(&headers, [Coding::Gzip]);
            assert_eq!(gzip.is_some(), takes(&headers, Coding::Gzip), "{sent:?}");
            assert_ne!(gzip, Some(Coding::Zstd), "it is not offered");
        }
    }
}
