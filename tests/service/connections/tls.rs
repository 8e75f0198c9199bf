//! HTTPS: `--tls-cert` and `--tls-key`.

use std::{
    io::Read as _,
    net::{Shutdown, TcpStream},
};

use rustls::CipherSuite;
use tempfile::TempDir;

use crate::support::{
    command::petstore,
    server::{Launch, Server},
    store::{Kind, Store},
    tls::{Pair, Tls},
    wait,
};

const OK: &str = "HTTP/1.1 200 OK";

/// A service with TLS, on a store in memory.
struct Service {
    server: Server,
    pair: Pair,
    folder: TempDir,
    _store: Store,
}

impl Service {
    fn start(pair: Pair) -> Self {
        Self::with(pair, |launch| launch)
    }

    fn with(pair: Pair, flags: impl FnOnce(Launch) -> Launch) -> Self {
        let (folder, store) = (tempfile::tempdir().unwrap(), Store::new(Kind::Memory));
        let server = flags(Launch::on(&store).tls(&pair.write(folder.path()))).start();
        Self { server, pair, folder, _store: store }
    }

    fn connect(&self) -> Tls {
        Tls::connect(self.server.address, &self.pair, &["http/1.1"]).unwrap()
    }

    /// Waits until new connections get the certificate of `pair`.
    fn shows(&self, pair: &Pair) {
        wait::until("the certificate is shown", || {
            Tls::connect(self.server.address, pair, &["http/1.1"]).is_ok()
        });
    }
}

#[test]
fn http_1_is_served_inside_tls() {
    let service = Service::start(Pair::new());
    assert!(service.server.out().contains("petstore listens on https://127.0.0.1:"));
    let mut client = service.connect();
    assert_eq!(client.protocol(), "http/1.1");
    // The server chooses the suite.
    assert_eq!(client.cipher_suite(), Some(CipherSuite::TLS13_AES_256_GCM_SHA384));
    for _ in 0..2 {
        assert_eq!(client.ask("GET", "/v1/pets"), (OK.to_owned(), "[]".to_owned()));
    }
    service.server.stop();
}

#[test]
fn http_2_is_chosen_where_the_client_offers_it() {
    const SETTINGS: u8 = 4;
    let service = Service::start(Pair::new());
    let offered = ["http/1.1", "h2"];
    let mut client = Tls::connect(service.server.address, &service.pair, &offered).unwrap();
    assert_eq!(client.protocol(), "h2");
    client.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    client.send([0, 0, 0, SETTINGS, 0, 0, 0, 0, 0]);
    assert_eq!(client.read(9)[3], SETTINGS);
}

#[test]
fn a_stop_does_not_wait_for_a_handshake() {
    let slow = ["--header-timeout", "--shutdown-grace"];
    let service = Service::with(Pair::new(), |launch| {
        slow.iter().fold(launch, |launch, flag| launch.flag(flag, "1h"))
    });
    let mut silent = TcpStream::connect(service.server.address).unwrap();
    assert_eq!(service.connect().ask("GET", "/livez").0, OK);
    service.server.signal("TERM");
    silent.set_read_timeout(Some(wait::LIMIT)).unwrap();
    assert_eq!(silent.read(&mut [0]).unwrap(), 0);
    let _ = silent.shutdown(Shutdown::Both);
}

#[test]
fn a_new_certificate_is_used_without_closing_a_connection() {
    let service = Service::start(Pair::new());
    let mut before = service.connect();
    let next = Pair::new();
    next.write(service.folder.path());
    service.shows(&next);
    assert!(Tls::connect(service.server.address, &service.pair, &[]).is_err());
    assert_eq!(before.ask("GET", "/livez").0, OK);
    service.server.stop();
}

#[test]
fn an_expired_certificate_is_served_and_logged_as_an_error() {
    let service = Service::start(Pair::valid(-2, -1));
    wait::until("the expiry is logged", || {
        service.server.log().contains("the TLS certificate has expired")
    });
    assert!(Tls::connect(service.server.address, &service.pair, &[]).is_err());
    let next = Pair::new();
    next.write(service.folder.path());
    service.shows(&next);
}

#[test]
fn the_certificates_up_to_the_authority_are_shown() {
    let service = Service::start(Pair::chained());
    assert_eq!(service.connect().ask("GET", "/livez").0, OK);
    service.server.stop();
}

#[test]
fn healthcheck_says_that_it_cannot_ask_over_tls() {
    let service = Service::start(Pair::new());
    let address = service.server.address.to_string();
    let refusal = petstore(&["healthcheck", "--listen", &address]).finish();
    refusal.fails(1, "it answers 'HTTP/1.1 400 Bad Request'");
}
