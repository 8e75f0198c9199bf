//! Helpers shared by all black-box tests.

pub(crate) mod answer;
pub(crate) mod catalogue;
pub(crate) mod client;
pub(crate) mod command;
pub(crate) mod disk;
pub(crate) mod frames;
pub(crate) mod memory;
pub(crate) mod preload;
pub(crate) mod proxy;
pub(crate) mod raw;
pub(crate) mod rules;
pub(crate) mod server;
pub(crate) mod store;
pub(crate) mod tls;
pub(crate) mod wait;

pub(crate) use server::KEY;
