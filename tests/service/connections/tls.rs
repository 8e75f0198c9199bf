//! HTTPS: `--tls-cert` and `--tls-key`.

use std::{
    fs,
    io::Read as _,
    net::{Shutdown, TcpStream},
};

use rustls::CipherSuite;
use tempfile::TempDir;

use crate::support::{
    KEY,
    command::petstore,
    server::{Launch, Server},
    store::{Kind, Store},
    tls::{Files, Pair, Tls},
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

fn launch(store: &Store, files: &Files) -> Launch {
    Launch::on(store)
        .flag("--tls-cert", files.certificate.to_str().unwrap())
        .flag("--tls-key", files.key.to_str().unwrap())
}

impl Service {
    fn start(pair: Pair) -> Self {
        Self::with(pair, |launch| launch)
    }

    fn with(pair: Pair, flags: impl FnOnce(Launch) -> Launch) -> Self {
        let (folder, store) = (tempfile::tempdir().unwrap(), Store::new(Kind::Memory));
        let server = flags(launch(&store, &pair.write(folder.path()))).start();
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
    for _ in 0..2 {
        assert_eq!(client.ask("GET", "/v1/pets"), (OK.to_owned(), "[]".to_owned()));
    }
    service.server.stop();
}

#[test]
fn the_server_chooses_the_cipher_suite() {
    let service = Service::start(Pair::new());
    let suite = service.connect().cipher_suite();
    assert_eq!(suite, Some(CipherSuite::TLS13_AES_256_GCM_SHA384));
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
fn unusable_files_are_logged_and_the_old_certificate_stays() {
    let service = Service::start(Pair::new());
    let certificate = service.folder.path().join("cert.pem");
    let written = fs::read(&certificate).unwrap();
    fs::write(&certificate, "not a certificate").unwrap();
    wait::until("the error is logged", || {
        let log = service.server.log();
        log.contains("the TLS certificate in force is kept") && log.contains("cert.pem")
    });
    assert_eq!(service.connect().ask("GET", "/livez").0, OK);
    fs::write(&certificate, written).unwrap();
    wait::until("the files are read again", || service.server.log().contains("was read again"));
    service.server.stop();
}

#[test]
fn a_hangup_reads_the_files_again_and_ends_nothing() {
    let service = Service::start(Pair::new());
    let mut client = service.connect();
    service.server.signal("HUP");
    wait::until("the files are read again", || service.server.log().contains("was read again"));
    assert_eq!(client.ask("GET", "/livez").0, OK);
    service.server.stop();
}

#[test]
fn unusable_files_are_described_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::new(Kind::Memory);
    let (own, other) = (Pair::new(), tempfile::tempdir().unwrap());
    let (own, other) = (own.write(folder.path()), Pair::new().write(other.path()));
    let empty = folder.path().join("empty.pem");
    fs::write(&empty, "").unwrap();
    let missing = folder.path().join("missing.pem");
    // A parser error would contain bytes of this key.
    let one_line = folder.path().join("one_line.pem");
    fs::write(&one_line, fs::read_to_string(&own.key).unwrap().replace('\n', " ")).unwrap();
    for (certificate, key, message) in [
        (&own.certificate, &missing, "cannot read"),
        (&missing, &own.key, "cannot read"),
        (&empty, &own.key, "empty.pem cannot be used: the file contains none; expected PEM blocks"),
        (&own.key, &own.key, "key.pem cannot be used: the file contains none; expected PEM blocks"),
        (
            &own.certificate,
            &empty,
            "empty.pem cannot be used: the file contains none; expected a PEM block",
        ),
        (
            &own.certificate,
            &one_line,
            "one_line.pem cannot be used: the file is not well-formed PEM; expected",
        ),
    ] {
        let files = Files { certificate: certificate.clone(), key: key.clone() };
        launch(&store, &files).finish().fails(1, message);
    }
    let mixed = Files { certificate: own.certificate.clone(), key: other.key };
    launch(&store, &mixed).finish().fails(1, "does not belong to the certificate");
    let alone = ["serve", "--store", "memory:", "--tls-cert", own.certificate.to_str().unwrap()];
    petstore(&alone).env("PETSTORE_API_KEY", KEY).finish().fails(2, "--tls-key");
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
