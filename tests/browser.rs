//! The pages for people, in a real browser: the real binary, Chromium, real clicks and keys.
//!
//! Needs `chromium` and `chromedriver` on the `PATH`. Each test has a server and a tab of its own. A
//! test that fails leaves a screenshot behind.

mod catalogue;
mod cross_origin;
mod docs;
mod every_page;
mod screenshots;
