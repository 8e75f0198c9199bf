//! The store: what holds a connection to your technology.

use petstore_domain::StoreError;

/// A catalogue and its API keys.
#[derive(Debug)]
pub struct MyStore {}

impl MyStore {
    /// Opens the store called `name`. Makes an empty one where there is none, if `create`.
    pub async fn open(_name: &str, _create: bool) -> Result<Self, StoreError> {
        todo!("connect")
    }
}
