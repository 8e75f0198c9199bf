//! The pages in a real browser: the real binary, Chromium, real clicks and keys.
//!
//! Needs `chromium` and `chromedriver` on the `PATH`. Each test has a server and a tab of its own. A failed test
//! leaves a screenshot.

#![expect(
    dead_code,
    unused_imports,
    unused_macros,
    reason = "each suite uses only a part of the shared helpers"
)]

/// Helpers of these tests. Some are shared with the black-box suite.
mod support {
    pub(crate) mod browser;
    pub(crate) mod chromedriver;
    mod guard;
    mod hands;
    mod network;
    pub(crate) mod traffic;
    pub(crate) mod zoo;

    #[path = "../../support/answer.rs"]
    pub(crate) mod answer;
    #[path = "../../support/catalogue.rs"]
    pub(crate) mod catalogue;
    #[path = "../../support/client.rs"]
    pub(crate) mod client;
    #[path = "../../support/command.rs"]
    pub(crate) mod command;
    #[path = "../../support/disk.rs"]
    mod disk;
    #[path = "../../support/preload.rs"]
    mod preload;
    #[path = "../../support/raw.rs"]
    pub(crate) mod raw;
    #[path = "../../support/rules.rs"]
    pub(crate) mod rules;
    #[path = "../../support/server.rs"]
    pub(crate) mod server;
    #[path = "../../support/store.rs"]
    pub(crate) mod store;
    #[path = "../../support/wait.rs"]
    pub(crate) mod wait;

    pub(crate) use server::KEY;
}

mod catalogue;
mod cross_origin;
mod docs;
mod frame;
mod rules;
mod states;
