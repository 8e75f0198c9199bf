use std::io::Write as _;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use flate2::{Compression, write::GzEncoder};
use sha2::{Digest, Sha256};

use super::{Page, pages};

/// The largest size of a compressed page, in bytes: half a second on a line of 500 kbit/s.
const MAX_PAGE: usize = 28_000;
/// The largest compressed size of the style and markup before the script: ten packets, the initial congestion window of
/// TCP (RFC 6928).
const MAX_FIRST_ROUND_TRIP: usize = 10 * 1_460;

fn compressed(text: &str) -> usize {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap().len()
}

/// Returns the content of the only element that begins with `start`.
fn inside<'p>(page: &'p Page, start: &str, end: &str) -> &'p str {
    let mut parts = page.html.split(start);
    let (before, rest) = (parts.next(), parts.next().unwrap());
    assert!(before.is_some() && parts.next().is_none(), "{} needs exactly one {start}", page.path);
    rest.split_once(end).unwrap().0
}

#[test]
fn no_placeholder_is_left() {
    for page in pages(None) {
        assert!(!page.html.contains("{{"), "{}", page.path);
        assert!(page.html.contains(env!("CARGO_PKG_VERSION")), "{}", page.path);
    }
}

#[test]
fn a_page_is_readable_within_one_round_trip_and_small_as_a_whole() {
    for page in pages(Some("staging")) {
        let (first, _) = page.html.split_once("<script").unwrap();
        let (first, whole) = (compressed(first), compressed(&page.html));
        assert!(first < MAX_FIRST_ROUND_TRIP, "{}: {first} bytes", page.path);
        assert!(whole < MAX_PAGE, "{}: {whole} bytes", page.path);
    }
}

#[test]
fn the_policy_allows_only_the_script_and_the_style_of_the_page() {
    for page in pages(Some("staging")) {
        let hash = |text: &str| STANDARD.encode(Sha256::digest(text));
        let script = hash(inside(&page, "<script type=\"module\">", "</script>"));
        let style = hash(inside(&page, "<style>", "</style>"));
        let expected = [
            "default-src 'none'",
            &format!("script-src 'sha256-{script}'"),
            &format!("style-src 'sha256-{style}'"),
            "img-src data:",
            "connect-src 'self'",
            "base-uri 'none'",
            "form-action 'self'",
            "frame-ancestors 'none'",
        ];
        let policy = page.content_security_policy.split("; ").collect::<Vec<_>>();
        assert_eq!(policy, expected, "{}", page.path);
        assert!(
            !page.html.contains(" style=") && !page.html.contains(" onclick="),
            "{}",
            page.path
        );
    }
}

#[test]
fn the_deployment_is_named_in_title_and_header_as_text() {
    for page in pages(Some("<b>blue & green</b>")) {
        let name = "&lt;b&gt;blue &amp; green&lt;/b&gt;";
        assert!(page.html.contains(&format!(" – petstore ({name})</title>")), "{}", page.path);
        assert!(
            page.html.contains(&format!("<span class=\"chip\">{name}</span>")),
            "{}",
            page.path
        );
        assert!(!page.html.contains("<b>"), "{}", page.path);
    }
    for page in pages(None) {
        assert!(page.html.contains(" – petstore</title>"), "{}", page.path);
        assert!(!page.html.contains("<span class=\"chip\">"), "{}", page.path);
    }
}

#[test]
fn the_reference_is_readable_before_a_script_runs() {
    let page = &pages(None)[0];
    let (_, body) = page.html.split_once("<body>").unwrap();
    for text in [">API reference</h1>", "List the animals", "curl http", "href=\"openapi.json\""] {
        assert!(body.contains(text), "{text}");
    }
    for page in pages(None) {
        let notice = inside(&page, "<noscript>", "</noscript>");
        assert!(notice.contains("href=\"openapi.json\""), "{}", page.path);
    }
}

/// A proxy may serve the pages below a path prefix, so an absolute path would lead elsewhere.
#[test]
fn every_address_is_relative_and_exists() {
    let known = ["docs", "catalogue", "openapi.json"];
    for page in pages(None) {
        let (markup, script) = page.html.split_once("<script").unwrap();
        let begun = ["href=\"", "src=\""].iter().flat_map(|start| markup.split(start).skip(1));
        let addresses = begun.map(|rest| rest.split('"').next().unwrap());
        let own = addresses.filter(|it| !it.starts_with('#') && !it.starts_with("data:"));
        let own = own.inspect(|address| assert!(known.contains(address), "{address}"));
        assert!(own.count() >= 4, "{}", page.path);
        for absolute in ["/v1", "/docs", "/catalogue", "/openapi"] {
            for quote in ['"', '\'', '`'] {
                assert!(
                    !script.contains(&format!("{quote}{absolute}")),
                    "{}: {absolute}",
                    page.path
                );
            }
        }
    }
}
