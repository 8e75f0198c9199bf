//! The pages for people, in a real browser: the real binary, Chromium, real clicks and keys.
//!
//! Needs `chromium` and `chromedriver` on the `PATH`. Each test has a server and a browser of its
//! own. A test that fails leaves a screenshot behind.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "tests"
)]

mod support;

mod catalogue;
mod docs;
mod every_page;
mod screenshots;
