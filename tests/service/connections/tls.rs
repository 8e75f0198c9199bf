//! HTTPS (`--tls-cert` and `--tls-key`): its connections, reloads of the files, metrics and log lines.

use std::{
    fs,
    io::Read as _,
    net::{Shutdown, TcpStream},
    time::SystemTime,
};

use rustls::CipherSuite;
use tempfile::TempDir;

use crate::{
    service::logs_and_metrics::metrics::Watched,
    support::{
        KEY,
        command::petstore,
        server::Launch,
        store::{Kind, Store},
        tls::{Pair, Tls},
        wait,
    },
};

const OK: &str = "HTTP/1.1 200 OK";

/// A service with TLS and a metrics listener, its certificate, and the folder of the files.
struct Service {
    watched: Watched,
    pair: Pair,
    folder: TempDir,
}

impl Service {
    fn start(pair: Pair) -> Self {
        Self::with(pair, &[])
    }

    fn with(pair: Pair, flags: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (files, key) = (pair.write(folder.path()), folder.path().join("key"));
        fs::write(&key, KEY).unwrap();
        let watched = Watched::with(Store::new(Kind::Memory), |_| {
            let launch = Launch::without_key(&Store::memory()).tls(&files).flags(flags);
            launch.flag("--api-key-file", key.to_str().unwrap())
        });
        Self { watched, pair, folder }
    }

    fn offer(&self, pair: &Pair, protocols: &[&str]) -> std::io::Result<Tls> {
        Tls::connect(self.watched.server.address, pair, protocols)
    }

    fn connect(&self) -> Tls {
        self.offer(&self.pair, &["http/1.1"]).unwrap()
    }

    /// Waits until new connections get the certificate of `pair`.
    fn shows(&self, pair: &Pair) {
        wait::until("the certificate is shown", || self.offer(pair, &["http/1.1"]).is_ok());
    }

    /// Waits until the log contains `text`.
    fn logs(&self, text: &str) {
        wait::until(text, || self.watched.server.log().contains(text));
    }

    /// Runs a client whose handshake fails, and waits until the failure is counted.
    #[track_caller]
    fn fails(&self, reason: &str, client: impl FnOnce()) {
        let series = format!("petstore_tls_handshake_failures_total{{reason=\"{reason}\"}}");
        assert!(self.watched.scrape().is_at(&series, 0.0), "{series}");
        client();
        self.watched.until(&series, 1.0);
    }

    fn lines_about(&self, reason: &str) -> Vec<String> {
        let log = self.watched.server.log();
        let wanted = format!("\"reason\":\"{reason}\"");
        log.lines().filter(|line| line.contains(&wanted)).map(str::to_owned).collect()
    }

    /// Returns whether the certificate expires in `days` days, give or take a day.
    fn ends_in(&self, days: f64) -> bool {
        let name = "petstore_tls_certificate_expiry_timestamp_seconds";
        let now = SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs_f64();
        ((self.watched.scrape().value(name) - now) / 86_400.0 - days).abs() < 1.0
    }
}

#[test]
fn both_protocols_are_served_with_every_certificate_up_to_the_authority() {
    const SETTINGS: u8 = 4;
    let service = Service::start(Pair::chained());
    assert!(service.watched.server.out().contains("petstore listens on https://127.0.0.1:"));
    let mut client = service.connect();
    assert_eq!(client.protocol(), "http/1.1");
    // The server chooses the cipher suite.
    assert_eq!(client.cipher_suite(), Some(CipherSuite::TLS13_AES_256_GCM_SHA384));
    for _ in 0..2 {
        assert_eq!(client.ask("GET", "/v1/pets"), (OK.to_owned(), "[]".to_owned()));
    }
    client.ask("GET", "/v1/nothing");
    service.logs(&format!("\"peer\":\"{}\",\"key_name\":\"service key\"", client.local_address()));
    let mut client = service.offer(&service.pair, &["http/1.1", "h2"]).unwrap();
    assert_eq!(client.protocol(), "h2");
    client.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    client.send([0, 0, 0, SETTINGS, 0, 0, 0, 0, 0]);
    assert_eq!(client.read(9)[3], SETTINGS);
    let address = service.watched.server.address.to_string();
    let refusal = petstore(&["healthcheck", "--listen", &address]).finish();
    refusal.fails(1, "it answers 'HTTP/1.1 400 Bad Request'");
}

#[test]
fn a_stop_does_not_wait_for_a_handshake() {
    let slow = [("--header-timeout", "1h"), ("--shutdown-grace", "1h")];
    let service = Service::with(Pair::new(), &slow);
    let mut silent = TcpStream::connect(service.watched.server.address).unwrap();
    assert_eq!(service.connect().ask("GET", "/livez").0, OK);
    service.watched.server.signal("TERM");
    silent.set_read_timeout(Some(wait::LIMIT)).unwrap();
    assert_eq!(silent.read(&mut [0]).unwrap(), 0);
}

#[test]
fn failed_handshakes_are_counted_and_logged_by_reason() {
    let service =
        Service::with(Pair::new(), &[("--header-timeout", "1s"), ("--log-format", "json")]);
    let address = service.watched.server.address;
    let connect = || TcpStream::connect(address).unwrap();
    service.fails("not_tls", || {
        let mut plain = service.watched.server.raw();
        plain.send("GET /v1/pets?secret HTTP/1.1\r\nhost: petstore\r\n\r\n");
        let answer = plain.rest();
        let text = String::from_utf8_lossy(&answer);
        assert!(text.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{text}");
        assert!(text.contains("\r\ncontent-type: text/plain\r\n"), "{text}");
        assert!(text.ends_with("the URL must begin with https://\n"), "{text}");
    });
    service.fails("refused_by_client", || {
        assert!(service.offer(&Pair::new(), &["http/1.1"]).is_err());
    });
    service.fails("incompatible", || {
        assert!(service.offer(&service.pair, &["gopher"]).is_err());
    });
    let silent = connect();
    service.fails("timeout", || ());
    drop(silent);
    service.fails("disconnected", || connect().shutdown(Shutdown::Both).unwrap());
    service.connect().ask("GET", "/livez");
    assert_eq!(service.lines_about("disconnected").len(), 0, "a mere disconnect is logged");
    for reason in ["refused_by_client", "incompatible", "timeout"] {
        let lines = service.lines_about(reason);
        assert!(lines.len() == 1 && lines[0].contains("a TLS handshake failed"), "{lines:?}");
    }
    let lines = service.lines_about("not_tls");
    assert!(lines.len() == 1 && lines[0].contains("plain HTTP"), "{lines:?}");
    assert!(
        lines[0].contains("\"peer\":\"127.0.0.1:") && !lines[0].contains("secret"),
        "{lines:?}"
    );
}

#[test]
fn a_new_certificate_closes_no_connection_and_metrics_show_its_expiry_and_its_reloads() {
    let service = Service::start(Pair::new());
    let mut before = service.connect();
    let of = |name: &str| format!("petstore_{name}{{file=\"tls_certificate\"}}");
    let [all, failed, good] =
        ["reloads_total", "reload_failures_total", "last_reload_successful"].map(of);
    let start = service.watched.scrape();
    assert!(start.is_at(&all, 0.0) && start.is_at(&failed, 0.0) && start.value(&good) > 0.5);
    assert!(service.ends_in(1000.0));

    let next = Pair::valid(-1, 10);
    next.write(service.folder.path());
    service.shows(&next);
    assert!(service.offer(&service.pair, &[]).is_err());
    assert_eq!(before.ask("GET", "/livez").0, OK);
    wait::until("the new expiry is shown", || service.ends_in(10.0));
    service.logs("the TLS certificate expires soon");
    service.watched.until(&all, 1.0);

    for (count, file) in [(1.0, "cert.pem"), (2.0, "key.pem")] {
        fs::write(service.folder.path().join(file), "neither").unwrap();
        service.watched.until(&failed, count);
    }
    service.watched.until(&good, 0.0);
    assert!(service.ends_in(10.0));
    service.logs("the TLS certificate was not read again, and stays as it was");
    fs::write(service.folder.path().join("key"), KEY.replace('b', "c")).unwrap();
    service.watched.until("petstore_reloads_total{file=\"api_key\"}", 1.0);
    service.pair.write(service.folder.path());
    service.watched.until(&good, 1.0);
    service.logs("was read again");
    service.watched.server.signal("HUP");
    service.watched.until("petstore_reloads_total{file=\"api_key\"}", 2.0);
}
