//! The pages for browsers, `/docs` and `/catalogue`. Each is one HTML file that loads nothing but data.

use serde_json::json;

use crate::support::{
    answer::Answer,
    catalogue::pet,
    proxy::{Kind, Proxy},
    raw::{Raw, head},
    server::{Launch, Server},
    store::Store,
};

const PAGES: [&str; 2] = ["/docs", "/catalogue"];

/// Returns the addresses in the markup of a page. A relative address becomes a path from the root.
fn addresses(page: &Answer) -> Vec<String> {
    let (markup, _script) = page.text().split_once("<script").unwrap();
    let starts = ["src=\"", "href=\"", "srcset=\"", "action=\"", "url(", "@import "];
    let begun = starts.iter().flat_map(|start| markup.split(start).skip(1));
    let written =
        begun.map(|rest| rest.trim_start_matches('"').split(['"', ')', ';']).next().unwrap());
    let is_relative = |address: &str| !address.starts_with(['/', '#']) && !address.contains(':');
    let rooted = |address| format!("{}{address}", if is_relative(address) { "/" } else { "" });
    written.map(rooted).collect()
}

/// The tests of `petstore-pages` check the whole policy, and that a page loads nothing but data.
#[test]
fn a_page_is_sent_with_its_policy() {
    let server = Server::in_memory();
    let client = server.client();
    for path in PAGES {
        let answer = client.get(path).anonymous().send().is(200);
        assert_eq!(answer.must("content-type"), "text/html; charset=utf-8", "{path}");
        assert_eq!(answer.must("cache-control"), "no-cache", "{path}");
        assert_eq!(answer.must("referrer-policy"), "no-referrer");
        let policy = answer.must("content-security-policy");
        for part in ["default-src 'none'; script-src 'sha256-", "; frame-ancestors 'none'"] {
            assert!(policy.contains(part) && !policy.contains("unsafe"), "{path}: {policy}");
        }
    }
}

#[petstore_testing::needs(nginx)]
#[test]
fn a_proxy_may_strip_a_prefix_of_the_path() {
    let store = Store::memory();
    let launch = Launch::on(&store).flag("--public-url", "https://pets.example/animals/v1");
    let server = launch.start();
    let proxy = Proxy::start(Kind::Nginx, &server);
    let ask = |method: &str, path: &str, more: &str| {
        let mut raw = Raw::to(proxy.address);
        raw.send(head(method, path, &format!("connection: close\r\n{more}")));
        raw.any_answer(false)
    };
    for name in ["one", "two"] {
        let added = server.client().add(&pet(name)).send().is(201);
        let found = ask("GET", added.must("location"), "").is(200);
        assert_eq!(found.json(), added.json());
        assert_eq!(found.link("successor-version").unwrap(), "/animals/v1/pets?status=available");
    }
    let first = ask("GET", "/animals/v1/pets?limit=1", "").is(200);
    let second = ask("GET", &first.link("next").unwrap(), "").is(200);
    assert_eq!(second.json()[0]["name"], json!("two"));

    for (path, status) in [("/animals/", 307), ("/animals/docs/", 308)] {
        assert_eq!(ask("GET", path, "").is(status).must("location"), "/animals/docs");
    }
    let mut seen = 0;
    for page in ["/animals/docs", "/animals/catalogue"] {
        for address in addresses(&ask("GET", page, "").is(200)) {
            if let Some(path) = address.strip_prefix('/') {
                ask("GET", &format!("/animals/{path}"), "").is(200);
                seen += 1;
            }
        }
    }
    assert!(seen >= 8, "only {seen} addresses");
}
