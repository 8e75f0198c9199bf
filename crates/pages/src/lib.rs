//! The browser pages of petstore, as data: `/docs`, the interactive reference, and `/catalogue`.
//!
//! They lie as ordinary files in `assets/`; the build script compresses and tags each once. This
//! crate knows nothing of HTTP: whoever serves the files sends what each says about itself.
//!
//! `/docs` is a page of our own rather than Swagger UI or Scalar: those are 485 and 989 kB compressed,
//! and show nothing until all of that has arrived and run. This one is under 40 kB, and its markup and
//! style sheets, which fit into the first round trip, are readable by themselves. It keeps an int64
//! exact, and runs under a policy without `'unsafe-inline'`. It is plain markup and ES modules without
//! a build step. `assets/docs/reference.js` fetches `/openapi.json` and shows it: nothing about an
//! operation stands in the page itself.
//!
//! `assets/shared/` is what both pages load: colours and type, the API key, and building elements.

use std::fmt;

/// A file of a page.
#[derive(Clone, Copy)]
pub struct File {
    /// Where it is served, such as `/docs` or `/docs/reference.css`.
    pub path: &'static str,
    /// Its `Content-Type`.
    pub media_type: &'static str,
    /// Its `Content-Security-Policy`: what the page may load and where it may send.
    pub content_security_policy: &'static str,
    /// Changes with the bytes of either form; hexadecimal, 32 characters.
    pub tag: &'static str,
    /// As it is.
    pub content: &'static [u8],
    /// The same, compressed by gzip.
    pub gzip: &'static [u8],
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("File").field("path", &self.path).finish_non_exhaustive()
    }
}

/// Nothing but what this server serves, nothing inline, no frame around the page. `data:` images
/// are the icons in style sheets.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
     img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'self'; \
     frame-ancestors 'none'";

/// Every file; the page of the reference is the first.
pub static FILES: &[File] = &include!(concat!(env!("OUT_DIR"), "/files.rs"));

#[cfg(test)]
mod tests;
