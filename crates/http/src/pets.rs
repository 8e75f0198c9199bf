//! The operations on animals (interface, section 4): each file is a handler, but for `cached`, which both
//! reads share.

mod cached;
pub(crate) mod create;
pub(crate) mod get;
pub(crate) mod list;
