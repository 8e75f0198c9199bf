//! The paths of addresses: the base path, and the decoding of needless escapes.

use hyper::Uri;

/// The base path, to which the paths of the interface are relative.
pub(crate) const BASE_PATH: &str = "/v1";

/// Returns the base path in the URLs of clients: the path of `public_url`, or [`BASE_PATH`] without a URL. The paths
/// differ if a proxy strips a prefix.
pub(crate) fn public_base(public_url: Option<&str>) -> &str {
    let authority_and_path = public_url.and_then(|url| url.split_once("://"));
    let path = authority_and_path.and_then(|(_, rest)| rest.split_at_checked(rest.find('/')?));
    path.map_or(BASE_PATH, |(_, path)| path)
}

/// Returns whether `path` is under the base path. Every request to such a path except a preflight needs a credential,
/// even if the path has no route. So no row of the route table can open an operation by mistake.
pub(crate) fn is_under_base(path: &str) -> bool {
    path.strip_prefix(BASE_PATH).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Decodes escaped characters that need no escape, so that `/v1/pets/%31` is `/v1/pets/1` (RFC 3986, section 6.2.2.2).
pub(crate) fn normalize(uri: &mut Uri) {
    if !uri.path().as_bytes().contains(&b'%') {
        return;
    }
    let mut parts = uri.path().split('%');
    let mut path = parts.next().unwrap_or_default().to_owned();
    for escaped in parts {
        let (char, after) = unreserved(escaped).unwrap_or(('%', escaped));
        path.push(char);
        path.push_str(after);
    }
    if let Some(query) = uri.query() {
        path.extend(["?", query]);
    }
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = path.try_into().ok();
    // A decoded character is valid in a path, so this never fails.
    if let Ok(normal) = Uri::from_parts(parts) {
        *uri = normal;
    }
}

/// Decodes the two hexadecimal digits at the beginning of `escaped`. Returns the character if it is unreserved (RFC
/// 3986, section 2.3), and the rest of the text.
fn unreserved(escaped: &str) -> Option<(char, &str)> {
    let (digits, after) = escaped.split_at_checked(2)?;
    // The parser accepts `+` before one digit too, but no such number is an unreserved character.
    let char = char::from(u8::from_str_radix(digits, 16).ok()?);
    (char.is_ascii_alphanumeric() || "-._~".contains(char)).then_some((char, after))
}

#[cfg(test)]
mod tests {
    use super::{BASE_PATH, is_under_base, normalize};

    #[test]
    fn only_needless_escapes_are_decoded() {
        for (sent, normal) in [
            ("/v1/pets/%31", "/v1/pets/1"),
            ("/%761/%70ets", "/v1/pets"),
            ("/v1/pets?x=%31", "/v1/pets?x=%31"),
            ("/%76%31?x=%31", "/v1?x=%31"),
            ("http://a:1/%76", "http://a:1/v"),
            ("/%7E%2d%2E%5f%5A%7a", "/~-._Zz"),
            // Not decoded: reserved characters, `%`, spaces, characters beyond ASCII, and control characters.
            ("/v1%2Fpets", "/v1%2Fpets"),
            ("/v1/%3f%25%20%C3%AB%00%2531", "/v1/%3f%25%20%C3%AB%00%2531"),
            // A `%` without two hexadecimal digits is no escape.
            ("/%", "/%"),
            ("/%3", "/%3"),
            ("/%zz%31%+1%%31", "/%zz1%+1%1"),
            ("/%\u{eb}%31", "/%\u{eb}1"),
            ("*", "*"),
            ("/", "/"),
        ] {
            let mut uri = sent.parse().unwrap();
            normalize(&mut uri);
            assert_eq!(uri.to_string(), normal, "{sent}");
        }
    }

    #[test]
    fn only_the_base_path_and_paths_below_it_need_a_credential() {
        for path in [BASE_PATH, "/v1/", "/v1/pets", "/v1/nothing", "/v1//"] {
            assert!(is_under_base(path), "{path}");
        }
        for path in ["/", "", "/v1x", "/v2/pets", "/V1/pets", "//v1/pets", "/docs"] {
            assert!(!is_under_base(path), "{path}");
        }
    }
}
