//! The browser pages of petstore, as data: `/docs`, the interactive reference, and `/catalogue`.
//!
//! A page is one document with its style and its script in it. So a browser that has it asks once, whether it is still
//! as it was, and while two releases run behind a balancer no page ever loads a part of the other one. It runs under a
//! policy without `'unsafe-inline'` that names its own script and style by their hashes. This crate knows nothing of
//! HTTP: whoever serves the pages sends what each says about itself.
//!
//! `/docs` is a page of our own rather than Swagger UI or Scalar: those are 485 and 989 kB compressed, and show nothing
//! until all of that has arrived and run. It keeps an int64 exact. It fetches `/openapi.json` and shows it: nothing
//! about an operation stands in the page itself.
//!
//! In `assets/`, each page has a folder, and `shared/` is what both have: the frame, colours and type, the API key,
//! requests, code. They are plain markup, style sheets and ES modules; the build script puts them together.

/// A page.
#[derive(Clone, Debug)]
pub struct Page {
    /// Where it is served, such as `/docs`.
    pub path: &'static str,
    /// Its `Content-Security-Policy`: what it may run and load, and where it may send.
    pub content_security_policy: &'static str,
    /// The whole document, as `text/html; charset=utf-8`.
    pub html: String,
}

/// A page without the name of the deployment, which stands between its parts.
struct Source {
    path: &'static str,
    policy: &'static str,
    parts: [&'static str; 3],
}

static SOURCES: &[Source] = &include!(concat!(env!("OUT_DIR"), "/pages.rs"));

/// Returns every page, the reference first. Title and header name the `environment`, such as `staging`.
#[must_use]
pub fn pages(environment: Option<&str>) -> Vec<Page> {
    let name = environment.map(escaped);
    let in_title = name.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
    let chip = name.as_ref().map(|name| format!("<span class=\"chip\">{name}</span>"));
    let chip = chip.unwrap_or_default();
    let page = |&Source { path, policy, parts: [start, middle, end] }: &_| Page {
        path,
        content_security_policy: policy,
        html: [start, &in_title, middle, &chip, end].concat(),
    };
    SOURCES.iter().map(page).collect()
}

/// Returns `text` as it stands in markup.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests;
