//! Hands the browser pages to the HTTP adapter.

use petstore_http::Page;
use petstore_pages::{FILES, File};

/// Every file of the pages, the reference first.
pub(super) fn all() -> Vec<Page> {
    FILES.iter().map(page).collect()
}

fn page(file: &File) -> Page {
    let File { path, media_type, content_security_policy, tag, content, gzip } = *file;
    Page { path, media_type, content_security_policy, tag, content, gzip }
}
