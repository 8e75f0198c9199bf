//! The HTTP interface alone, over a store of your own: here, the store in memory.
//!
//! Any type that implements `PetRepository` and `KeyStore` can replace `MemoryStore`.

use std::{
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use petstore_domain::{Catalogue, Clock, KeyRing, ServiceKey, Timestamp};
use petstore_http::{DrainOutcome, KeyRingAuthenticator, Ports, Server, Settings};
use petstore_memory::MemoryStore;
use tokio::net::TcpListener;

/// The system's clock.
#[derive(Debug)]
struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        #[expect(
            clippy::disallowed_methods,
            reason = "the one place that reads the system's clock"
        )]
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}

/// Serves a store on `listener` until `shutdown`; `key` is the API key for the clients.
pub async fn serve(
    listener: TcpListener,
    key: ServiceKey,
    shutdown: impl Future<Output = ()>,
) -> DrainOutcome {
    let (store, clock) = (Arc::new(MemoryStore::new()), Arc::new(SystemClock));
    let keys = KeyRing::new(store.clone(), clock.clone(), Some(key));
    let authentication = Arc::new(KeyRingAuthenticator::new(Arc::new(keys)));
    let ports = Ports {
        pets: Arc::new(Catalogue::new(store, clock.clone())),
        authenticator: authentication.clone(),
        clock,
    };
    let server = Server::new(ports, Settings::default());
    tokio::select! {
        drained = server.run(vec![listener.into()], shutdown) => drained,
        never = authentication.keep_fresh() => match never {},
    }
}
