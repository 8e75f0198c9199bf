use std::{fmt, sync::Arc};

use async_trait::async_trait;
use petstore_domain::{MockApiKeyRepository, ServiceKey};
use petstore_http::Settings;
use petstore_memory::MemoryStore;

use super::{Config, run};
use crate::{
    driver::{IfMissing, Problem, StoreLocation, ThrowAwayStores},
    failure::Failure,
    open_store::OpenStore,
    registry::Registry,
};

/// A store whose keys cannot be listed without a panic.
struct Broken;

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("broken:")
    }
}

#[async_trait]
impl StoreLocation for Broken {
    async fn open(&self, _: IfMissing) -> Result<OpenStore, Problem> {
        let mut keys = MockApiKeyRepository::new();
        keys.expect_list().returning(|| panic!("a bug"));
        let mut store = OpenStore::new(Arc::new(MemoryStore::new()));
        store.keys = Arc::new(keys);
        Ok(store)
    }

    fn throw_away(&self) -> Result<ThrowAwayStores, Problem> {
        Err("not here".into())
    }
}

#[tokio::test]
async fn a_service_whose_housekeeping_has_panicked_stops_with_a_failure() {
    let config = Config {
        listen: vec!["127.0.0.1:0".parse().unwrap()],
        listen_backlog: None,
        metrics_listen: None,
        tls: None,
        store: Arc::new(Broken),
        stores: Arc::new(Registry::default()),
        service_key: Some(ServiceKey::parse("a-key-of-24-characters-x").unwrap()),
        key_file: None,
        #[cfg(feature = "otlp")]
        otlp_endpoint: None,
        settings: Settings::default(),
    };
    let Err(Failure::Runtime(why)) = run(config).await else { panic!("it goes on") };
    assert!(why.contains("a task of the service has ended by a bug"), "{why}");
}
