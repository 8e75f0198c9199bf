use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use petstore_domain::{Clock, MockAuthenticator, MockPetService, Timestamp};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    time::{sleep, timeout},
};
use tracing::{Event, Level, Metadata, Subscriber, span};

use super::Server;
use crate::{ports::Ports, settings::Settings};

/// Counts errors.
#[derive(Clone, Default)]
struct Errors(Arc<AtomicUsize>);

impl Subscriber for Errors {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() == Level::ERROR
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, _: &Event<'_>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

/// A clock that panics, outside of every handler: it is asked for the date of an answer.
#[derive(Debug)]
struct Broken;

impl Clock for Broken {
    fn now(&self) -> Timestamp {
        panic!("broken")
    }
}

#[tokio::test]
async fn a_connection_that_panics_is_logged_before_another_one_comes() {
    let errors = Errors::default();
    let _guard = tracing::subscriber::set_default(errors.clone());
    let ports = Ports {
        pets: Arc::new(MockPetService::new()),
        authenticator: Arc::new(MockAuthenticator::new()),
        clock: Arc::new(Broken),
    };
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let client = async {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"GET /livez HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
        let _ = stream.read_to_end(&mut Vec::new()).await;
        while errors.0.load(Ordering::Relaxed) == 0 {
            sleep(Duration::from_millis(1)).await;
        }
    };
    let server = Server::new(ports, Settings::default());
    let noticed = timeout(Duration::from_mins(1), server.run(listener, client));
    assert!(noticed.await.is_ok(), "nothing was logged");
}
