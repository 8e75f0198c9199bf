use std::{net::SocketAddr, num::NonZeroUsize, path::PathBuf, sync::Arc, time::Duration};

use petstore_domain::{KeyName, MockAuthenticator, MockClock};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream, UnixListener, UnixStream},
    time::{Instant, sleep, timeout},
};
use tokio_rustls::{
    TlsConnector,
    rustls::{
        ClientConfig, RootCertStore, ServerConfig,
        crypto::ring,
        pki_types::{PrivateKeyDer, ServerName},
    },
};
use tracing::Level;

use super::{
    DrainOutcome, Server,
    listener::{Listener, close},
};
use crate::{
    connection::stream::Io,
    handlers::metrics::{IDLE_TIMEOUT, MAX_CONNECTIONS},
    observe::{log::tests::Lines, samples::Sample},
    settings::{Limits, Settings, StaticFile},
    state::{
        Ports,
        tests::{SlowPets, ports, unused_ports},
    },
};

#[tokio::test]
async fn a_panic_of_a_connection_is_logged_before_the_next_connection() {
    let lines = Lines::default();
    let _guard = tracing::subscriber::set_default(lines.clone());
    // `late_head` reads the clock where no panic is caught. The mock panics, because it expects no call.
    let ports = Ports { clock: Arc::new(MockClock::new()), ..unused_ports() };
    let listener = listener().await;
    // The bytes are there before the server accepts the connection, however slow this task is.
    let mut stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    stream.write_all(b"GET /livez").await.unwrap();
    let client = async {
        let _ = stream.read_to_end(&mut Vec::new()).await;
        let is_it = |(level, line): &(Level, String)| {
            *level == Level::ERROR && line.contains(" panicked with message ")
        };
        while !lines.take().iter().any(is_it) {
            sleep(Duration::from_millis(1)).await;
        }
    };
    let limits = Limits { header_timeout: SHORT, ..Limits::default() };
    let server = Server::new(ports, Settings { limits, ..Settings::default() });
    let noticed = timeout(Duration::from_secs(10), server.run(vec![listener.into()], client));
    assert!(noticed.await.is_ok(), "nothing was logged");
}

/// The address of a listener.
enum Place {
    Tcp(SocketAddr),
    Tls(SocketAddr, TlsConnector),
    Unix(PathBuf),
}

/// A time in which an answer would arrive. On a slow machine, a test that expects no answer may miss a mistake.
const SHORT: Duration = Duration::from_millis(200);

/// The tolerance of a limit on a paused clock.
const SLACK: Duration = Duration::from_secs(2);

/// The limits of a service. One is not the default, which the metrics listener may have by mistake.
fn limits() -> Limits {
    Limits { header_timeout: Duration::from_secs(8), ..Limits::default() }
}

impl Place {
    async fn connect(&self) -> Box<dyn Io> {
        match self {
            Self::Tcp(address) => Box::new(TcpStream::connect(address).await.unwrap()),
            Self::Tls(address, connector) => {
                let stream = TcpStream::connect(address).await.unwrap();
                let name = ServerName::try_from("localhost").unwrap();
                // The handshake and the first head have one deadline.
                sleep(2 * SLACK).await;
                Box::new(connector.connect(name, stream).await.unwrap())
            }
            Self::Unix(path) => Box::new(UnixStream::connect(path).await.unwrap()),
        }
    }

    /// Connects and sends a request.
    async fn ask(&self, path: &str) -> Box<dyn Io> {
        let mut stream = self.connect().await;
        let request = format!("GET {path} HTTP/1.1\r\nhost: a\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        stream
    }
}

async fn is_answered(stream: &mut Box<dyn Io>) -> bool {
    stream.read_exact(&mut [0; 12]).await.is_ok()
}

/// Returns the value of a series.
async fn value(metrics: &Place, series: &str) -> String {
    let mut stream = metrics.connect().await;
    let request = b"GET /metrics HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
    stream.write_all(request).await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    let value = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    value.expect(series).to_owned()
}

async fn until(metrics: &Place, series: &str, expected: &str) {
    let reached = async {
        while value(metrics, series).await != expected {
            sleep(Duration::from_millis(1)).await;
        }
    };
    assert!(timeout(Duration::from_mins(1), reached).await.is_ok(), "{series} is not {expected}");
}

/// The settings of a server. Its file `/large` and its metrics have at least `large` bytes.
struct Setup {
    /// `true` if the TCP listener speaks TLS.
    is_tls: bool,
    max_connections: usize,
    large: usize,
}

impl Default for Setup {
    fn default() -> Self {
        Self { is_tls: false, max_connections: 8, large: 0 }
    }
}

/// Returns the TLS settings of a server and of its client.
fn tls() -> (Arc<ServerConfig>, TlsConnector) {
    let own = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (certificate, provider) = (own.cert.der().clone(), Arc::new(ring::default_provider()));
    let key = PrivateKeyDer::try_from(own.signing_key.serialize_der()).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).unwrap();
    let server = ServerConfig::builder_with_provider(Arc::clone(&provider));
    let server = server.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let client = ClientConfig::builder_with_provider(provider);
    let client = client.with_safe_default_protocol_versions().unwrap();
    let client = client.with_root_certificates(roots).with_no_client_auth();
    let server = server.with_single_cert(vec![certificate], key).unwrap();
    (Arc::new(server), Arc::new(client).into())
}

impl Setup {
    /// Runs `test` beside the server. The arguments of `test` are the addresses of a listener of each kind, and of the
    /// metrics listener.
    async fn run(self, test: impl AsyncFnOnce([Place; 2], Place)) {
        let Self { is_tls, max_connections, large } = self;
        let mut authenticator = MockAuthenticator::new();
        authenticator.expect_live_keys().returning(|| Ok(0));
        authenticator.expect_named_keys().returning(Vec::new);
        let max_connections = NonZeroUsize::new(max_connections).unwrap();
        let limits = Limits { max_connections, ..limits() };
        let content = vec![b' '; large].into();
        let static_files = vec![StaticFile { path: "/large", content, ..StaticFile::default() }];
        let settings = Settings { limits, static_files, ..Settings::default() };
        let sample =
            Sample::gauge("large", "A large sample.", 0).with_label("a", "x".repeat(large));
        let [clients, metrics] = [listener().await, listener().await];
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let unix = UnixListener::bind(&path).unwrap();
        let address = clients.local_addr().unwrap();
        let of_metrics = Place::Tcp(metrics.local_addr().unwrap());
        let ports = ports(SlowPets::default(), authenticator);
        let server =
            Server::with_metrics(ports, settings, metrics, Arc::new(move || vec![sample.clone()]));
        let (mut server, serving) = server.map_err(|error| error.to_string()).unwrap();
        server.revoked_key_counter()(&KeyName::parse("web").unwrap(), 3);
        let mut tcp = Place::Tcp(address);
        if is_tls {
            let (config, connector) = tls();
            server = server.with_tls(config);
            tcp = Place::Tls(address, connector);
        }
        let listeners = vec![Listener::from(clients), unix.into()];
        tokio::select! {
            _ = server.run(listeners, test([tcp, Place::Unix(path)], of_metrics)) => {}
            never = serving => match never {},
        }
    }
}

async fn listener() -> TcpListener {
    petstore_testing::limit_time();
    TcpListener::bind(("127.0.0.1", 0)).await.unwrap()
}

#[tokio::test]
async fn connections_of_every_socket_are_counted_and_limited() {
    for (first, second) in [(0, 1), (1, 0)] {
        let setup = Setup { max_connections: 1, ..Setup::default() };
        let test = async |places: [Place; 2], metrics| {
            let mut served = places[first].ask("/livez").await;
            assert!(is_answered(&mut served).await);
            let mut waiting = places[second].ask("/livez").await;
            let early = timeout(SHORT, is_answered(&mut waiting)).await;
            assert!(early.is_err(), "{first} {second}: served over the limit");
            assert_eq!(value(&metrics, "petstore_connections_accepted_total").await, "1");
            assert_eq!(value(&metrics, "petstore_connections_open").await, "1");
            let revoked = "petstore_revoked_key_requests_total{key=\"web\"}";
            assert_eq!(value(&metrics, revoked).await, "3");
            drop(served);
            assert!(is_answered(&mut waiting).await, "{first} {second}");
            until(&metrics, "petstore_connections_accepted_total", "2").await;
            drop(waiting);
            until(&metrics, "petstore_connections_open", "0").await;
        };
        setup.run(test).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_drain_reports_the_connections_that_it_cuts_off() {
    let pets = SlowPets { takes: Duration::MAX, ..SlowPets::default() };
    let under_way = Arc::clone(&pets.under_way);
    let limits = Limits { shutdown_grace: SHORT, ..Limits::default() };
    let settings = Settings { limits, ..Settings::default() };
    let server = Server::new(ports(pets, MockAuthenticator::new()), settings);
    let listener = listener().await;
    let place = Place::Tcp(listener.local_addr().unwrap());
    let _streams = [place.ask("/readyz").await, place.ask("/readyz").await];
    let are_under_way = async {
        while Arc::strong_count(&under_way) < 3 {
            sleep(Duration::from_millis(1)).await;
        }
    };
    let shutdown = async { timeout(Duration::from_hours(1), are_under_way).await.unwrap() };
    let began = Instant::now();
    let outcome = server.run(vec![listener.into()], shutdown).await;
    assert_eq!(outcome, DrainOutcome::CutOff { connections: 2 });
    assert!(began.elapsed() >= limits.shutdown_delay + SHORT, "{:?}", began.elapsed());
}

#[tokio::test]
async fn the_metrics_listener_has_a_limit_of_connections() {
    let test = async |_, metrics: Place| {
        let mut served = Vec::new();
        for _ in 0..MAX_CONNECTIONS.get() {
            let mut stream = metrics.ask("/livez").await;
            assert!(is_answered(&mut stream).await);
            served.push(stream);
        }
        let mut waiting = metrics.ask("/livez").await;
        assert!(timeout(SHORT, is_answered(&mut waiting)).await.is_err(), "served over the limit");
        served.pop();
        assert!(is_answered(&mut waiting).await);
    };
    Setup { max_connections: 1, ..Setup::default() }.run(test).await;
}

/// Reads until the server closes the connection. Returns the text and the time.
async fn read_all(stream: &mut Box<dyn Io>) -> (String, Duration) {
    let (began, mut bytes) = (Instant::now(), Vec::new());
    let closed = timeout(Duration::from_hours(1), stream.read_to_end(&mut bytes)).await;
    // A connection over TLS may end without the alert that it is closed.
    let _ = closed.expect("the connection is closed");
    (String::from_utf8(bytes).unwrap(), began.elapsed())
}

#[tokio::test(start_paused = true)]
async fn every_listener_closes_a_connection_without_a_whole_head_in_time() {
    let of_clients = limits();
    let test = async |[tcp, unix]: [Place; 2], metrics: Place| {
        let Place::Tls(address, _) = tcp else { unreachable!() };
        for part in [&b""[..], b"\x16", b"\x16\x03\x01\x01\x00\x01"] {
            let mut stream = Place::Tcp(address).connect().await;
            stream.write_all(part).await.unwrap();
            let (_, took) = read_all(&mut stream).await;
            let head = of_clients.header_timeout;
            assert!(head <= took && took < head + SLACK, "handshake {part:?}: {took:?}");
        }
        for (place, head, idle) in [
            (tcp, of_clients.header_timeout, of_clients.idle_timeout),
            (unix, of_clients.header_timeout, of_clients.idle_timeout),
            (metrics, of_clients.header_timeout, IDLE_TIMEOUT),
        ] {
            for start in ["", "GET /livez HTTP/1.1\r\nhost: a\r\n"] {
                let began = Instant::now();
                let mut stream = place.connect().await;
                stream.write_all(start.as_bytes()).await.unwrap();
                read_all(&mut stream).await;
                let took = began.elapsed();
                assert!(head <= took && took < head + SLACK, "head {start:?}: {took:?}");
            }
            let mut stream = place.ask("/livez").await;
            assert!(is_answered(&mut stream).await);
            let (_, took) = read_all(&mut stream).await;
            assert!(idle <= took && took < idle + SLACK, "idle: {took:?}");
        }
    };
    Setup { is_tls: true, ..Setup::default() }.run(test).await;
}

#[tokio::test(start_paused = true)]
async fn every_listener_cuts_off_a_client_without_reads() {
    // More than the buffers of the system hold.
    const LARGE: usize = 16 << 20;
    let limit = limits().write_timeout;
    let test = async |[tcp, unix]: [Place; 2], metrics: Place| {
        for (place, path) in [(tcp, "/large"), (unix, "/large"), (metrics, "/metrics")] {
            let mut stream = place.ask(path).await;
            sleep(limit + SLACK).await;
            let (received, _) = read_all(&mut stream).await;
            assert!(received.len() < LARGE, "{path}: {}", received.len());
        }
    };
    Setup { is_tls: true, large: LARGE, ..Setup::default() }.run(test).await;
}

#[tokio::test]
async fn closing_listeners_runs_the_on_close_of_each() {
    let (done, is_done) = std::sync::mpsc::channel();
    let [first, shared] = [listener().await, listener().await].map(|listener| {
        let (done, address) = (done.clone(), listener.local_addr().unwrap());
        let connect = move || std::net::TcpStream::connect(address).unwrap();
        Listener::from(listener).on_close(move || done.send(connect()).unwrap())
    });
    assert_eq!(is_done.try_iter().count(), 0);
    // Connections are accepted after the work, because a client may connect while the work runs.
    assert_eq!(close(vec![first, shared.shared()]).await.len(), 1);
    assert_eq!(is_done.try_iter().count(), 2);
}
