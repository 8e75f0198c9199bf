//! How petstore's commands know this store: by URLs `mine:NAME`.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use petstore::{OpenMode, OpenStore, Problem, StoreDriver, StoreLocation};

use crate::store::MyStore;

/// The stores whose URLs are `mine:NAME`.
pub const MY_STORES: StoreDriver = StoreDriver {
    schemes: &["mine"],
    usage: "mine:NAME",
    summary: "a store of our own",
    is_lasting: true,
    parse: |url| match url.strip_prefix("mine:") {
        Some(name) if !name.is_empty() => Ok(Arc::new(MyLocation(name.to_owned()))),
        _ => Err("no name is given; use mine:NAME".into()),
    },
};

/// Where one store is.
struct MyLocation(String);

impl fmt::Display for MyLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "mine:{}", self.0)
    }
}

#[async_trait]
impl StoreLocation for MyLocation {
    async fn open(&self, mode: OpenMode) -> Result<OpenStore, Problem> {
        let store = Arc::new(MyStore::open(&self.0, mode == OpenMode::Create).await?);
        Ok(OpenStore::new(store.clone()).with_archive(store))
    }
}
