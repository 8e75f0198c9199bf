//! A store of your own: the storage ports of petstore on your technology.

mod archive;
mod driver;
mod keys;
mod pets;
mod store;

pub use driver::MY_STORES;
pub use store::{Access, MyStore};
