//! The signals SIGHUP, SIGUSR1 and SIGUSR2, and changes of the API key file.

use std::fs;

use crate::{
    service::logs_and_metrics::metrics::Watched,
    support::{
        server::{Launch, Server},
        store::Store,
        wait,
    },
};

const FIRST: &str = "the-first-key-0123456789";
const SECOND: &str = "the-second-key-0123456789";

#[test]
fn only_the_stop_signals_stop_a_service() {
    let server = Server::in_memory();
    let mut hangups = 0;
    for signal in ["HUP", "USR1", "USR2", "HUP"] {
        server.signal(signal);
        hangups += usize::from(signal == "HUP");
        let said = "no certificate and no key file is configured";
        wait::until("the hangup is logged", || server.log().matches(said).count() == hangups);
        server.client().get("/v1/pets").send().is(200);
    }
    server.stop();
}

#[test]
fn the_key_is_read_again_without_a_signal_and_stays_while_its_file_has_none() {
    let store = Store::memory();
    let file = store.write("key", FIRST);
    let watched = Watched::with(store, |_| {
        Launch::without_key(&Store::memory()).flag("--api-key-file", &file)
    });
    let server = &watched.server;
    let status = |key: &str| server.client().get("/v1/pets").key(key).send().status;
    let kept = "the API key of --api-key-file was not read again, and stays as it was";
    for content in [Some("short"), None] {
        let before = server.log().matches(kept).count();
        content.map_or_else(|| fs::remove_file(&file), |text| fs::write(&file, text)).unwrap();
        wait::until("the error is logged", || server.log().matches(kept).count() > before);
        assert_eq!(status(FIRST), 200);
    }
    fs::write(&file, format!("{SECOND}\n")).unwrap();
    wait::until("the new key works", || status(SECOND) == 200);
    assert_eq!(status(FIRST), 401);
    watched.until("petstore_reload_failures_total{file=\"api_key\"}", 2.0);
    watched.until("petstore_reloads_total{file=\"api_key\"}", 3.0);
    server.signal("HUP");
    watched.until("petstore_reloads_total{file=\"api_key\"}", 4.0);
    let log = watched.server.stop();
    assert_eq!(log.matches(kept).count(), 2, "{log}");
    assert!(!log.contains("short\""), "{log}");
    assert_eq!(log.matches("the API key of --api-key-file was read again").count(), 2, "{log}");
}
