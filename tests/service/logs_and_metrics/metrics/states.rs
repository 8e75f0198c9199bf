//! Metrics of the service's state, and counters that are exported from the start, with the value 0.

use std::{fs, time::SystemTime};

use serde_json::Value;

use super::Watched;
use crate::support::{store::Kind, wait};

#[test]
fn counters_of_alerts_are_zero_before_the_first_request() {
    let watched = Watched::start(Kind::Memory);
    let before = watched.scrape();
    let openapi: Value =
        serde_json::from_str(include_str!("../../../../crates/http/openapi.json")).unwrap();
    let codes = openapi["components"]["schemas"]["Error"]["properties"]["code"]["enum"].as_array();
    let codes = codes.unwrap().iter().map(|code| code.as_str().unwrap());
    assert!(codes.len() > 10);
    for code in codes {
        let series = format!("petstore_rejected_requests_total{{code=\"{code}\"}}");
        assert!(before.is_at_zero(&series), "{series}");
    }
    for (route, method, statuses) in [
        ("/v1/pets", "GET", ["200", "500", "503"]),
        ("/v1/pets", "POST", ["201", "500", "503"]),
        ("/v1/pets/{petId}", "GET", ["200", "500", "503"]),
        ("/v1/store/orders", "GET", ["501", "500", "503"]),
    ] {
        for status in statuses {
            let labels = format!("method=\"{method}\",route=\"{route}\",status=\"{status}\"");
            let series = format!("petstore_http_requests_total{{{labels}}}");
            assert!(before.is_at_zero(&series), "{series}");
        }
        let buckets = "petstore_http_request_duration_seconds_bucket";
        let series = format!("{buckets}{{route=\"{route}\",le=\"0.5\"}}");
        assert!(before.is_at_zero(&series), "{series}");
    }
    for reason in
        ["not_tls", "incompatible", "refused_by_client", "disconnected", "timeout", "other"]
    {
        let series = format!("petstore_tls_handshake_failures_total{{reason=\"{reason}\"}}");
        assert!(before.is_at_zero(&series), "{series}");
    }
    assert!(before.is_at_zero("petstore_deprecated_requests_total{key=\"service key\"}"));
    assert_eq!(
        before.series_of("petstore_revoked_key_requests_total"),
        0,
        "the service key is in no store"
    );
}

#[test]
fn every_live_key_has_counters_and_its_expiry() {
    const DAY: f64 = 86_400.0;
    let watched = Watched::start(Kind::Sqlite);
    let store = &watched.store;
    store.keys(&["create", "lasting"]).succeeds();
    store.keys(&["create", "brief", "--expires", "30d"]).succeeds();
    let of = |family: &str, key: &str| format!("{family}{{key=\"{key}\"}}");
    let (deprecated, revoked) =
        ("petstore_deprecated_requests_total", "petstore_revoked_key_requests_total");
    watched.until("petstore_live_keys", 2.0);
    let after = watched.scrape();
    for key in ["lasting", "brief"] {
        for family in [deprecated, revoked] {
            assert!(after.is_at_zero(&of(family, key)), "{family} {key}");
        }
    }
    let ends = "petstore_key_expiry_timestamp_seconds";
    assert_eq!(after.series_of(ends), 1, "only one key expires");
    let now = SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs_f64();
    let left = after.value(&of(ends, "brief")) - now;
    assert!((29.0 * DAY..=30.0 * DAY).contains(&left), "{left} seconds");
    // The metric shows the newest key of a name: it is valid for 30 days again, and the old key for at most 24 hours.
    store.keys(&["roll", "brief", "--overlap", "24h"]).succeeds();
    watched.until("petstore_live_keys", 3.0);
    let rolled = watched.scrape();
    assert!(rolled.value(&of(ends, "brief")) - now > 29.0 * DAY);
    store.keys(&["revoke", "brief"]).succeeds();
    wait::until("the revoked key's expiry is gone", || watched.scrape().series_of(ends) == 0);
    assert!(
        watched.scrape().is_at_zero(&of(revoked, "brief")),
        "the counters of the revoked key must stay"
    );
}

#[test]
fn the_metrics_report_an_unready_service_even_without_requests() {
    let watched = Watched::start(Kind::Sqlite);
    watched.until("petstore_ready", 1.0);
    let file = watched.store.file();
    let aside = file.with_extension("aside");
    fs::rename(&file, &aside).unwrap();
    wait::until("the service is not ready", || watched.scrape().is_at_zero("petstore_ready"));
    assert!(watched.scrape().is_at_zero("petstore_store_errors_total"));
    fs::rename(&aside, &file).unwrap();
    watched.until("petstore_ready", 1.0);
    // The service writes its log on another thread, so a line may arrive late.
    let lines = ["the store does not answer: the service is not ready", "the store answers again"];
    for line in lines.into_iter().chain(["was removed"]) {
        wait::until(line, || watched.server.log().contains(line));
    }
    // On a busy machine, the check may exceed its time limit, which adds a pair of lines.
    let log = watched.server.log();
    let said = log.lines().filter_map(|line| lines.iter().position(|said| line.contains(said)));
    let said: Vec<_> = said.collect();
    assert!(said.iter().copied().eq((0..said.len()).map(|number| number % 2)), "{log}");
}
