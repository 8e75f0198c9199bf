//! Metrics and log lines of TLS: the expiry of the certificate, reloads, and failed handshakes.

use std::{
    fs,
    net::{Shutdown, TcpStream},
    time::SystemTime,
};

use tempfile::TempDir;

use super::Watched;
use crate::support::{
    server::Launch,
    store::{Kind, Store},
    tls::{Pair, Tls},
    wait,
};

/// A service with TLS and a metrics listener, its certificate, and the folder of the files.
struct Secure {
    watched: Watched,
    pair: Pair,
    folder: TempDir,
}

impl Secure {
    fn start(flags: &[(&str, &str)]) -> Self {
        let (folder, store, pair) =
            (tempfile::tempdir().unwrap(), Store::new(Kind::Memory), Pair::new());
        let files = pair.write(folder.path());
        let watched = Watched::with(store, |launch| launch.tls(&files).flags(flags));
        Self { watched, pair, folder }
    }

    /// Runs a client whose handshake fails, and waits until the failure is counted.
    #[track_caller]
    fn fails(&self, reason: &str, client: impl FnOnce()) {
        let series = format!("petstore_tls_handshake_failures_total{{reason=\"{reason}\"}}");
        assert!(self.watched.scrape().is_at_zero(&series), "{series}");
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
fn handshakes_that_fail_are_counted_and_logged_by_their_reason() {
    let service = Secure::start(&[("--header-timeout", "1s"), ("--log-format", "json")]);
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
        assert!(Tls::connect(address, &Pair::new(), &["http/1.1"]).is_err());
    });
    service.fails("incompatible", || {
        assert!(Tls::connect(address, &service.pair, &["gopher"]).is_err());
    });
    let silent = connect();
    service.fails("timeout", || ());
    drop(silent);
    service.fails("disconnected", || connect().shutdown(Shutdown::Both).unwrap());
    Tls::connect(address, &service.pair, &["http/1.1"]).unwrap().ask("GET", "/livez");
    assert_eq!(service.lines_about("disconnected").len(), 0, "a line for each probe");
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
fn the_end_of_the_certificate_in_force_and_reloads_are_shown() {
    let service = Secure::start(&[]);
    let of = |name: &str| format!("petstore_{name}{{file=\"tls_certificate\"}}");
    let [all, failed, good] =
        ["reloads_total", "reload_failures_total", "last_reload_successful"].map(of);
    let start = service.watched.scrape();
    assert!(start.is_at_zero(&all) && start.is_at_zero(&failed) && start.value(&good) > 0.5);
    assert!(service.ends_in(1000.0));

    Pair::valid(-1, 20).write(service.folder.path());
    wait::until("the new certificate is in force", || service.ends_in(20.0));
    service.watched.until(&all, 1.0);

    fs::write(service.folder.path().join("cert.pem"), "not a certificate").unwrap();
    service.watched.until(&failed, 1.0);
    service.watched.until(&good, 0.0);
    assert!(service.ends_in(20.0));
    let logs = |text: &str| wait::until(text, || service.watched.server.log().contains(text));
    logs("the TLS certificate in force is kept");
    service.pair.write(service.folder.path());
    service.watched.until(&good, 1.0);
    logs("was read again");
    let end = service.watched.scrape();
    assert!(end.value(&all) > end.value(&failed) && end.value(&failed) > 0.5);
}

#[test]
fn reloads_of_the_key_file_are_counted_apart() {
    let store = Store::memory();
    let file = store.folder().join("key");
    fs::write(&file, "the-first-key-0123456789").unwrap();
    let watched = Watched::with(store, |_| {
        Launch::without_key(&Store::memory()).flag("--api-key-file", file.to_str().unwrap())
    });
    watched.server.signal("HUP");
    watched.until("petstore_reloads_total{file=\"api_key\"}", 1.0);
    assert!(watched.scrape().is_at_zero("petstore_reload_failures_total{file=\"api_key\"}"));
    let without = Watched::start(Kind::Memory).scrape();
    for absent in ["petstore_reloads_total", "petstore_tls_certificate_expiry_timestamp_seconds"] {
        assert!(!without.has(absent), "{absent}");
    }
}
