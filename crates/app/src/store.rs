//! The store that a command works on.

use std::{path::Path, sync::Arc, time::Duration};

use petstore_domain::{ApiKeyRepository, Archive, PetRepository};
use petstore_memory::MemoryStore;
use petstore_postgres::PostgresStore;
use petstore_sqlite::{SqliteConfig, SqliteStore};
use tokio::{task, time};

use crate::{failure::Failure, store_url::StoreUrl};

/// How long closing may take. All that was acknowledged is durable before, so nothing is lost.
const CLOSING: Duration = Duration::from_secs(5);
/// How often closing looks whether somebody still uses the store.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// The storage ports of one store.
pub(crate) struct Store {
    pub(crate) pets: Arc<dyn PetRepository>,
    pub(crate) keys: Arc<dyn ApiKeyRepository>,
    pub(crate) archive: Arc<dyn Archive>,
    /// The same store once more, where closing it is more than dropping it.
    postgres: Option<Arc<PostgresStore>>,
}

impl Store {
    /// Opens a store; a file, or tables, that are not there are created.
    pub(crate) async fn open(url: &StoreUrl) -> Result<Self, Failure> {
        match url {
            StoreUrl::Memory => Ok(Self::over(Arc::new(MemoryStore::new()))),
            StoreUrl::Sqlite { path, synchronous } => {
                let config = SqliteConfig { path: path.clone(), synchronous: *synchronous };
                let store = SqliteStore::open(&config).map_err(Failure::runtime)?;
                Ok(Self::over(Arc::new(store)))
            }
            StoreUrl::Postgres(config) => {
                let store = PostgresStore::connect(config).await.map_err(Failure::runtime)?;
                Ok(Self::over_postgres(store))
            }
        }
    }

    /// Opens a store that is there already.
    pub(crate) async fn open_existing(url: &StoreUrl) -> Result<Self, Failure> {
        match url {
            StoreUrl::Memory => {}
            StoreUrl::Sqlite { path, .. } => must_exist(path)?,
            StoreUrl::Postgres(config) => {
                let store = PostgresStore::connect_existing(config).await;
                return Ok(Self::over_postgres(store.map_err(Failure::runtime)?));
            }
        }
        Self::open(url).await
    }

    fn over_postgres(store: PostgresStore) -> Self {
        let store = Arc::new(store);
        Self { postgres: Some(store.clone()), ..Self::over(store) }
    }

    fn over<S: PetRepository + ApiKeyRepository + Archive + 'static>(store: Arc<S>) -> Self {
        Self { pets: store.clone(), keys: store.clone(), archive: store, postgres: None }
    }

    /// Closes the store once nobody else uses it. `false` if that took too long; it then closes
    /// with the process.
    pub(crate) async fn close(self) -> bool {
        let Self { pets, keys, archive, postgres } = self;
        drop((pets, archive));
        let ours = 1 + usize::from(postgres.is_some());
        let close = async {
            while Arc::strong_count(&keys) > ours {
                time::sleep(LOOK_AGAIN).await;
            }
            if let Some(store) = postgres {
                // Additions whose callers have gone away are still written.
                store.close().await;
            }
            // Waits for the disk, so not on a thread that others need.
            task::spawn_blocking(|| drop(keys)).await.is_ok()
        };
        time::timeout(CLOSING, close).await.unwrap_or(false)
    }
}

fn must_exist(path: &Path) -> Result<(), Failure> {
    let path_shown = path.display();
    match path.try_exists() {
        Ok(true) => Ok(()),
        Ok(false) => Err(Failure::runtime(format!(
            "there is no store at {path_shown}; 'petstore keys create' and 'petstore serve' make one"
        ))),
        Err(error) => Err(Failure::runtime(format!("cannot look for {path_shown}: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::Store;
    use crate::store_url::StoreUrl;

    #[tokio::test(start_paused = true)]
    async fn closing_waits_for_whoever_still_uses_the_store_but_not_for_ever() {
        let store = Store::open(&StoreUrl::Memory).await.unwrap();
        assert!(store.close().await);

        let store = Store::open(&StoreUrl::Memory).await.unwrap();
        let used = Arc::clone(&store.pets);
        assert!(!store.close().await);
        drop(used);
    }

    #[tokio::test]
    async fn a_missing_store_is_not_made_by_looking_at_it() {
        let url = StoreUrl::parse("sqlite:/nowhere/at/all.db").unwrap();
        let refusal = Store::open_existing(&url).await.map(drop).unwrap_err().to_string();
        assert!(refusal.starts_with("there is no store at /nowhere/at/all.db; "), "{refusal}");
    }
}
