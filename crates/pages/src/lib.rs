//! The browser pages of petstore, as data: `/docs`, the interactive reference, and `/catalogue`.
//!
//! ```
//! let pages = petstore_pages::pages(Some("staging"));
//! assert_eq!(pages[0].path, "/docs");
//! assert!(pages[0].html.contains("<title>API reference – petstore (staging)</title>"));
//! assert!(pages[0].content_security_policy.starts_with("default-src 'none'"));
//! ```
//!
//! A page is one document that contains its style and its script. So a browser needs one request to revalidate a page.
//! While two releases run behind a balancer, a page never loads a part of the other release. The policy names the
//! script and the style by their hashes, without `'unsafe-inline'`.
//!
//! `/docs` does not use Swagger UI or Scalar, which take 485 and 989 kB compressed. Both show nothing until their whole
//! script has run, and round int64 values. The page takes every text about an operation from `/openapi.json`.
//!
//! In `assets/`, each page has a folder of plain markup, style sheets and ES modules, and `shared/` has the common
//! parts. The build script puts the files together.

/// A page for browsers.
#[derive(Clone, Debug)]
pub struct Page {
    /// The path that the page is served at, such as `/docs`.
    pub path: &'static str,
    /// The value of `Content-Security-Policy`: what the page may run, load and send.
    pub content_security_policy: &'static str,
    /// The whole document, of the media type `text/html; charset=utf-8`.
    pub html: String,
}

/// A page in three parts, between which the name of the environment is inserted.
struct Source {
    path: &'static str,
    policy: &'static str,
    parts: [&'static str; 3],
}

static SOURCES: &[Source] = &include!(concat!(env!("OUT_DIR"), "/pages.rs"));

/// Returns every page, the reference first. The title and the header name the `environment`, such as `staging`.
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

/// Returns `text` with the characters of markup escaped.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests;
