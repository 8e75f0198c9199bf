//! The pages for browsers, `/docs` and `/catalogue`. Each is one HTML file that loads nothing but data.

use crate::support::server::Server;

const PAGES: [&str; 2] = ["/docs", "/catalogue"];

/// The tests of `petstore-pages` check the whole policy, and that a page loads nothing but data.
#[test]
fn a_page_is_sent_with_its_policy() {
    let server = Server::in_memory();
    let client = server.client();
    let mut policies = Vec::new();
    for path in PAGES {
        let answer = client.get(path).anonymous().send().is(200);
        assert_eq!(answer.must("content-type"), "text/html; charset=utf-8", "{path}");
        assert_eq!(answer.must("cache-control"), "no-cache", "{path}");
        assert_eq!(answer.must("referrer-policy"), "no-referrer");
        let policy = answer.must("content-security-policy");
        for part in ["default-src 'none'; script-src 'sha256-", "; frame-ancestors 'none'"] {
            assert!(policy.contains(part) && !policy.contains("unsafe"), "{path}: {policy}");
        }
        policies.push(policy.to_owned());
    }
    assert_ne!(policies[0], policies[1], "each page has its own scripts");
}
