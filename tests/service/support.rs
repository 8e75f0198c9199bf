//! What the tests share.

pub(crate) mod answer;
pub(crate) mod catalogue;
pub(crate) mod client;
pub(crate) mod command;
pub(crate) mod raw;
pub(crate) mod rules;
pub(crate) mod server;
pub(crate) mod shared;
pub(crate) mod store;
pub(crate) mod wait;

/// The key that every server of the suite takes besides those of its store.
pub(crate) const KEY: &str = "black-box-suite-0123456789";
pub(crate) use crate::KIND;
