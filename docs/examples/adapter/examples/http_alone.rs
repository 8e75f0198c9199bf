//! The HTTP adapter alone on a store of one's own, without the commands of petstore: for a program
//! that has its own configuration, log and signals.

use std::{
    error::Error,
    future,
    path::Path,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use example_adapter::FileStore;
use petstore_domain::{Catalogue, Clock, KeyRing, ServiceKey, Timestamp};
use petstore_http::{Ports, Server, Settings};
use tokio::net::TcpListener;

struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one place where time enters the program")]
    fn now(&self) -> Timestamp {
        Timestamp(0).plus(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let store = Arc::new(FileStore::open(Path::new("petstore.ndjson"))?);
    let clock = Arc::new(SystemClock);
    let service_key = ServiceKey::parse(&std::env::var("PETSTORE_API_KEY")?)?;
    let ports = Ports {
        pets: Arc::new(Catalogue::new(store.clone(), clock.clone())),
        authenticator: Arc::new(KeyRing::new(store, clock.clone(), Some(service_key))),
        clock,
    };
    let listener = TcpListener::bind("127.0.0.1:8080").await?;
    let stop = future::pending(); // Resolves when the service is to stop.
    Server::new(ports, Settings::default()).run(listener, stop).await;
    Ok(())
}
