//! What the tests share.

#![expect(dead_code, reason = "the suite of the service uses the rest")]

pub(crate) mod browser;
pub(crate) mod chromedriver;
mod hands;
pub(crate) mod traffic;
pub(crate) mod zoo;

#[path = "../service/support/answer.rs"]
pub(crate) mod answer;
#[path = "../service/support/catalogue.rs"]
pub(crate) mod catalogue;
#[path = "../service/support/client.rs"]
pub(crate) mod client;
#[path = "../service/support/command.rs"]
pub(crate) mod command;
#[path = "../service/support/raw.rs"]
pub(crate) mod raw;
#[path = "../service/support/rules.rs"]
pub(crate) mod rules;
#[path = "../service/support/server.rs"]
pub(crate) mod server;
#[path = "../service/support/store.rs"]
pub(crate) mod store;
#[path = "../service/support/wait.rs"]
pub(crate) mod wait;

/// The key that every server of the suite takes besides those of its store.
pub(crate) const KEY: &str = "black-box-suite-0123456789";
/// What a store is that nobody says more of.
pub(crate) const KIND: store::Kind = store::Kind::Memory;
