//! The entry through which petstore's commands open this store: URLs `mine:NAME`.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use petstore::{BoxError, OpenOptions, OpenStore, StoreDriver, StoreLocation};
use tokio_util::sync::CancellationToken;

use crate::store::MyStore;

/// The stores whose URLs are `mine:NAME`.
pub const MY_STORES: StoreDriver = StoreDriver {
    schemes: &["mine"],
    usage: "mine:NAME",
    summary: "a store of our own",
    is_persistent: true,
    parse: |url| match url.strip_prefix("mine:") {
        Some(name) if !name.is_empty() => Ok(Arc::new(MyLocation(name.to_owned()))),
        _ => Err("no name is given; use mine:NAME".into()),
    },
};

/// The place of one store.
struct MyLocation(String);

impl fmt::Display for MyLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "mine:{}", self.0)
    }
}

#[async_trait]
impl StoreLocation for MyLocation {
    async fn open(&self, options: OpenOptions) -> Result<OpenStore, BoxError> {
        let panicked = CancellationToken::new();
        let OpenOptions { mode, reads_while_sealed, .. } = options;
        // Do not wrap this error: `serve` recognizes `StoreError::Unavailable` by its type, and tries again later.
        let store = MyStore::open(&self.0, mode.into(), reads_while_sealed, &panicked).await?;
        let store = Arc::new(store);
        let opened = OpenStore::new(store.clone()).with_panic_token(panicked);
        Ok(opened.with_archive(store.clone()).with_handover(store))
    }
}
