//! The files of the browser pages: `/docs`, `/catalogue`, and all that these two load.

use std::io::Read as _;

use flate2::read::GzDecoder;

use serde_json::json;

use crate::support::{
    answer::Answer,
    catalogue::pet,
    client::Client,
    proxy::{Kind, Proxy},
    raw::{Raw, head},
    server::Launch,
    shared,
    store::Store,
};

const PAGES: [&str; 2] = ["/docs", "/catalogue"];

/// What the pages consist of, as far as their markup and style sheets say.
fn files(client: &Client) -> Vec<String> {
    let mut found: Vec<String> = PAGES.map(str::to_owned).into();
    let mut next = 0;
    while let Some(path) = found.get(next) {
        let answer = client.get(path).anonymous().send().is(200);
        for address in addresses(&answer) {
            if address.starts_with('/') && is_of_a_page(&address) && !found.contains(&address) {
                found.push(address);
            }
        }
        next += 1;
    }
    assert!(found.len() >= 15, "{found:?}");
    found
}

fn is_of_a_page(address: &str) -> bool {
    PAGES.iter().any(|page| address.strip_prefix(page).is_some_and(|rest| rest.starts_with('/')))
}

/// What a page or a style sheet loads or leads to. Those of a page are relative to the root, where it is.
fn addresses(answer: &Answer) -> Vec<String> {
    let kind = answer.must("content-type");
    let starts: &[&str] = if kind.starts_with("text/html") {
        &["src=\"", "href=\"", "srcset=\"", "action=\"", "url("]
    } else if kind.starts_with("text/css") {
        &["url(", "@import "]
    } else {
        &[]
    };
    let text = answer.text();
    let begun = starts.iter().flat_map(|start| text.split(start).skip(1));
    let written =
        begun.map(|rest| rest.trim_start_matches('"').split(['"', ')', ';']).next().unwrap());
    let is_relative = |address: &str| !address.starts_with(['/', '#']) && !address.contains(':');
    let rooted = |address| format!("{}{address}", if is_relative(address) { "/" } else { "" });
    written.map(rooted).collect()
}

fn decompressed(answer: &Answer) -> Vec<u8> {
    let mut content = Vec::new();
    GzDecoder::new(answer.body.as_slice()).read_to_end(&mut content).unwrap();
    content
}

#[test]
fn every_file_has_the_media_type_of_its_name() {
    let client = shared::server().client();
    for path in files(&client) {
        let expected = match path.rsplit_once('.') {
            None => "text/html; charset=utf-8",
            Some((_, "css")) => "text/css; charset=utf-8",
            Some((_, "js")) => "text/javascript; charset=utf-8",
            Some((_, "txt")) => "text/plain; charset=utf-8",
            Some((_, "svg")) => "image/svg+xml",
            Some(other) => panic!("{other:?}"),
        };
        let answer = client.get(&path).anonymous().send().is(200);
        assert_eq!(answer.must("content-type"), expected, "{path}");
        assert_eq!(answer.must("cache-control"), "no-cache", "{path}");
        assert!(!answer.body.is_empty(), "{path}");
    }
}

#[test]
fn both_forms_of_a_file_have_the_same_content_and_tag() {
    let client = shared::server().client();
    for path in files(&client) {
        let plain = client.get(&path).anonymous().send().is(200);
        assert_eq!(plain.header("content-encoding"), None, "{path}");
        let gzip = client.get(&path).anonymous().header("accept-encoding", "gzip, br").send();
        let gzip = gzip.is(200);
        assert_eq!(gzip.must("content-encoding"), "gzip", "{path}");
        assert!(decompressed(&gzip) == plain.body, "{path}");
        assert_eq!(gzip.must("etag"), plain.must("etag"), "{path}");
        for answer in [plain, gzip] {
            assert_eq!(answer.must("vary"), "accept-encoding", "{path}");
        }
    }
}

#[test]
fn a_file_that_the_browser_has_is_not_sent_again() {
    let client = shared::server().client();
    for path in files(&client) {
        for coding in ["gzip", "identity"] {
            let call = client.get(&path).anonymous().header("accept-encoding", coding);
            let tag = call.clone().send().is(200).must("etag").to_owned();
            let again = call.clone().header("if-none-match", &tag).send().is(304);
            assert_eq!(again.must("etag"), tag, "{path}");
            call.header("if-none-match", "\"other\"").send().is(200);
        }
    }
}

#[test]
fn every_file_can_only_be_read() {
    let client = shared::server().client();
    for path in files(&client) {
        let get = client.get(&path).anonymous().send();
        let head = client.head(&path).anonymous().send().is(200);
        assert_eq!(head.lasting_headers(), get.lasting_headers(), "{path}");
        for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
            let refusal = client.call(method, &path).anonymous().send();
            assert_eq!(refusal.refuses(405, "method_not_allowed").allow(), ["GET", "HEAD"]);
        }
    }
}

#[test]
fn a_page_runs_only_what_this_server_serves() {
    let client = shared::server().client();
    for path in files(&client) {
        let answer = client.get(&path).anonymous().send().is(200);
        let policy = answer.must("content-security-policy");
        let directives: Vec<_> = policy.split("; ").collect();
        for directive in [
            "default-src 'none'",
            "script-src 'self'",
            "connect-src 'self'",
            "base-uri 'none'",
            "form-action 'self'",
            "frame-ancestors 'none'",
        ] {
            assert!(directives.contains(&directive), "{path}: {policy}");
        }
        assert_eq!(answer.must("referrer-policy"), "no-referrer");
        if answer.must("content-type").starts_with("text/html") {
            let markup = answer.text().to_lowercase();
            for script in markup.split("<script").skip(1) {
                let (tag, inside) = script.split_once('>').unwrap();
                assert!(!tag.contains("//") && inside.starts_with("</script>"), "{path}: {tag}");
            }
            assert!(!markup.contains(" style=") && !markup.contains("<style"), "{path}");
        }
    }
}

#[test]
fn nothing_is_loaded_from_another_host() {
    let client = shared::server().client();
    let mut seen = 0;
    for path in files(&client) {
        for address in addresses(&client.get(&path).anonymous().send()) {
            let own = address.starts_with('/') && !address.starts_with("//");
            let inside = address.starts_with('#') || address.starts_with("data:");
            assert!(own || inside, "{path} leads to {address}");
            seen += 1;
        }
    }
    assert!(seen >= 40, "{seen}");
}

#[test]
fn the_pages_can_be_switched_off() {
    let client = shared::server().client();
    let files = files(&client);
    let store = Store::memory();
    let server = Launch::on(&store).env("PETSTORE_NO_DOCS", "true").start();
    let without = server.client();
    for path in files.iter().map(String::as_str).chain(["/", "/docs/", "/catalogue/"]) {
        without.get(path).anonymous().send().refuses(404, "route_not_found");
        without.call("POST", path).anonymous().send().refuses(404, "route_not_found");
    }
    for path in ["/openapi.json", "/livez", "/readyz"] {
        without.get(path).anonymous().send().is(200);
    }
}

#[test]
fn a_proxy_may_strip_a_path_of_its_own() {
    let store = Store::memory();
    let launch = Launch::on(&store).flag("--public-url", "https://pets.example/animals/v1");
    let server = launch.start();
    let test = "a path of the proxy's own";
    let Some(proxy) = Proxy::start_or_skip(Kind::Nginx, &server, test) else { return };
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
    assert!(seen >= 25, "{seen}");
}
