//! The browser pages of petstore, as data: `/docs`, the interactive reference, and `/catalogue`.
//!
//! They lie as ordinary files in `assets/`; the build script compresses and tags each once. This
//! crate knows nothing of HTTP: whoever serves the files sends what each says about itself.
//!
//! `/docs` is Swagger UI with style sheets and plug-ins of our own in `assets/docs/`. It was taken
//! rather than Scalar because it is half the size (485 against 989 kB compressed), asks no other
//! host for anything, runs under a policy without `'unsafe-inline'`, and lets a plug-in switch the
//! try-out of one operation off. `assets/swagger-ui/` holds files of the npm package
//! `swagger-ui-dist`, byte for byte, with their licences; a test has their digests. For a newer one,
//! replace the files, the digests, and the version in `assets/docs/index.html`.

use std::fmt;

/// A file of a page.
#[derive(Clone, Copy)]
pub struct File {
    /// Where it is served, such as `/docs` or `/docs/swagger-ui.css`.
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
