//! The metrics listener, requests and states that change the metrics, and counters that are exported from the start.

mod alerts;
mod exposition;

use std::{fs, net::SocketAddr, ops::RangeInclusive, thread};

use petstore_testing::needs;
use serde_json::Value;

use self::exposition::Exposition;
use crate::support::{
    catalogue::{add, id_of, pet},
    command::petstore,
    server::{Launch, Server},
    store::{Kind, Store},
    wait,
};

/// A server with a metrics listener, and the address of this listener.
pub(crate) struct Watched {
    pub(crate) server: Server,
    address: SocketAddr,
    pub(crate) store: Store,
}

impl Watched {
    fn start(kind: Kind) -> Self {
        Self::with(Store::new(kind), |launch| launch)
    }

    /// Starts a server on `store` with more flags.
    pub(crate) fn with(store: Store, flags: impl FnOnce(Launch) -> Launch) -> Self {
        let launch = flags(Launch::on(&store)).flag("--metrics-listen", "127.0.0.1:0");
        let server = launch.start();
        let mut address = None;
        wait::until("the log says where the metrics are", || {
            address = server.log().lines().find_map(|line| {
                let line: Value = serde_json::from_str(line).ok()?;
                let is_it = line["fields"]["message"] == "metrics are served";
                line["fields"]["address"].as_str().filter(|_| is_it)?.parse().ok()
            });
            address.is_some()
        });
        Self { server, address: address.unwrap(), store }
    }

    /// Returns status, media type and body of an answer of the metrics listener.
    fn ask(&self, method: &str, path: &str) -> (u16, String, String) {
        let client = reqwest::blocking::Client::builder().no_proxy().timeout(wait::LIMIT);
        let method = method.parse().unwrap();
        let request =
            client.build().unwrap().request(method, format!("http://{}{path}", self.address));
        let answer = request.send().unwrap();
        let media_type = answer.headers()["content-type"].to_str().unwrap().to_owned();
        (answer.status().as_u16(), media_type, answer.text().unwrap())
    }

    #[track_caller]
    pub(crate) fn scrape(&self) -> Exposition {
        let (status, media_type, text) = self.ask("GET", "/metrics");
        assert_eq!((status, media_type.as_str()), (200, "text/plain; version=0.0.4"));
        Exposition::parse(&text)
    }

    /// Waits until a series has this value.
    #[track_caller]
    pub(crate) fn until(&self, series: &str, value: f64) {
        wait::until(series, || self.scrape().is_at(series, value));
    }
}

/// Asserts that a series has grown by `by`.
#[track_caller]
fn assert_grown(series: &str, by: f64, before: &Exposition, after: &Exposition) {
    let grown = after.value(series) - before.value(series);
    assert!((grown - by).abs() < 1e-9, "{series} has grown by {grown}, not {by}");
}

#[test]
fn the_metrics_listener_serves_metrics_and_health_only() {
    let watched = Watched::start(Kind::Memory);
    for path in ["/livez", "/readyz"] {
        let (status, media_type, _) = watched.ask("GET", path);
        assert_eq!((status, media_type.as_str()), (200, "application/json"), "{path}");
    }
    assert_eq!(watched.ask("HEAD", "/metrics").0, 200);
    for path in ["/", "/openapi.json", "/docs", "/metrics/", "/Metrics"] {
        let (status, _, body) = watched.ask("GET", path);
        assert_eq!(status, 404, "{path}");
        assert!(body.contains("route_not_found"), "{body}");
    }
    assert_eq!(watched.ask("GET", "/v1/pets").0, 401);
    assert_eq!(watched.ask("POST", "/metrics").0, 405);
    assert_eq!(watched.server.client().get("/metrics").send().status, 404);
}

#[test]
fn requests_are_counted_by_route_method_and_status() {
    let watched = Watched::start(Kind::Memory);
    let client = watched.server.client();
    let before = watched.scrape();
    let id = id_of(&add(&client, &pet("counted")));
    for _ in 0..4 {
        client.get("/v1/pets?limit=7").send();
    }
    client.get(&format!("/v1/pets/{id}")).send();
    client.get("/v1/pets?limit=none").send();
    client.get("/nowhere/secret").send();
    client.call("SECRET", "/v1/pets").send();
    client.get("/docs").send();
    let after = watched.scrape();
    let table = [
        ("/v1/pets", "POST", "201", 1.0),
        ("/v1/pets", "GET", "200", 4.0),
        ("/v1/pets", "GET", "400", 1.0),
        ("/v1/pets/{petId}", "GET", "200", 1.0),
        ("none", "GET", "404", 1.0),
        ("/v1/pets", "other", "405", 1.0),
        ("{page}", "GET", "200", 1.0),
    ];
    for (route, method, status, count) in table {
        let labels = format!("method=\"{method}\",route=\"{route}\",status=\"{status}\"");
        let series = format!("petstore_http_requests_total{{{labels}}}");
        assert_grown(&series, count, &before, &after);
    }
    let durations = |part: &str| format!("petstore_http_request_duration_seconds{part}");
    assert_grown(&durations("_count{route=\"/v1/pets\"}"), 7.0, &before, &after);
    assert!(after.value(&durations("_sum{route=\"/v1/pets\"}")) > 0.0);
    // Three of the four pages came from the cache. The first page and the animal were not in it.
    assert_grown("petstore_page_cache_hits_total", 3.0, &before, &after);
    assert_grown("petstore_page_cache_misses_total", 2.0, &before, &after);
    assert_grown("petstore_page_cache_pages", 2.0, &before, &after);
    assert!(after.value("petstore_page_cache_bytes") > 100.0);

    watched.server.raw().send("no HTTP\r\n\r\n");
    let unread = "method=\"none\",route=\"none\",status=\"400\"";
    watched.until(&format!("petstore_http_requests_total{{{unread}}}"), 1.0);
    watched.until("petstore_http_requests_in_flight", 0.0);
}

#[test]
fn the_deprecated_operation_is_counted_by_the_name_of_the_key() {
    let watched = Watched::start(Kind::Sqlite);
    let store = &watched.store;
    let key = store.new_key("old-client");
    let client = watched.server.client();
    let id = id_of(&add(&client, &pet("old")));
    let address = format!("/v1/pets/{id}");
    for _ in 0..2 {
        client.get(&address).key(&key).send();
    }
    client.get(&address).send();
    let after = watched.scrape();
    let calls = |key: &str| format!("petstore_deprecated_requests_total{{key=\"{key}\"}}");
    assert!((after.value(&calls("old-client")) - 2.0).abs() < 0.5);
    assert!((after.value(&calls("service key")) - 1.0).abs() < 0.5);
    watched.until("petstore_live_keys", 1.0);

    // Calls are counted after the operation is removed too, whether the animal exists or not.
    let ended = Watched::with(Store::memory(), |launch| launch.flag("--get-pet-sunset", "now"));
    for target in [address.as_str(), "/v1/pets/abc"] {
        ended.server.client().get(target).send().is(410);
    }
    let after = ended.scrape();
    assert!((after.value(&calls("service key")) - 2.0).abs() < 0.5);
}

/// Waits until the pool has this number of connections, of idle connections and of waiting calls.
#[track_caller]
fn pool_has(watched: &Watched, [connections, idle]: [f64; 2], waiting: RangeInclusive<f64>) {
    wait::until(&format!("{connections} connections, {idle} idle, {waiting:?} waiting"), || {
        let scrape = watched.scrape();
        let sample = |what: &str| scrape.value(&format!("petstore_postgres_pool_{what}"));
        (sample("connections") - connections).abs() < 0.5
            && (sample("idle_connections") - idle).abs() < 0.5
            && waiting.contains(&sample("waiting_calls"))
    });
}

/// Locks the animals until a table `let_go` exists, for less than a minute.
const LOCK: &str = "DO $$ BEGIN LOCK TABLE pet IN ACCESS EXCLUSIVE MODE; \
    FOR turn IN 1..1000 LOOP \
        EXIT WHEN EXISTS (SELECT 1 FROM pg_class WHERE relname = 'let_go'); PERFORM pg_sleep(0.05); \
    END LOOP; END $$";

#[needs(postgres)]
#[test]
fn the_postgres_store_reports_the_load_of_its_pool() {
    let store = Store::postgres();
    let more = if store.url.contains('?') { '&' } else { '?' };
    let times = "pool_timeout=60000&call_timeout=60000&statement_timeout=60000";
    let patient = format!("{}{more}pool_size=2&{times}", store.url);
    let watched = Watched::with(Store::at(&patient), |launch| launch.flag("--page-cache", "0"));
    let client = watched.server.client();
    thread::scope(|scope| {
        scope.spawn(|| store.damage(LOCK));
        // Reads hang once the table is locked: two reads have a connection and one waits. Reads of the keys, of
        // expiring keys and of the database size may wait too.
        wait::beside(
            3,
            || drop(client.get("/v1/pets").send().is(200)),
            || {
                pool_has(&watched, [2.0, 0.0], 1.0..=4.0);
                store.damage("CREATE TABLE let_go ()");
            },
        );
    });
    pool_has(&watched, [2.0, 2.0], 0.0..=0.0);
    assert!(!Watched::start(Kind::Memory).scrape().has("petstore_postgres_pool_connections"));
}

#[test]
fn a_metric_reports_whether_the_next_store_is_reachable() {
    let (store, next) = (Store::sqlite(), Store::sqlite());
    let watched = Watched::with(store, |launch| launch.flag("--next-store", &next.url));
    watched.until("petstore_next_store_reachable", 0.0);
    assert!(!next.file().exists(), "a service never makes its next store");
    petstore(&["import", "--create", "--store", &next.url]).finish().succeeds();
    watched.until("petstore_next_store_reachable", 1.0);
    let log = watched.server.log();
    let said: Vec<_> =
        log.lines().filter(|line| line.contains("the next store cannot be opened yet")).collect();
    // The line names no command that fills the store, because a move requires an empty target.
    let place = next.file();
    let reason =
        format!("there is no store at {}; 'petstore store move' makes it", place.display());
    let is_it = said[0].contains(&format!("\"reason\":\"{reason}\""));
    assert!(said.len() == 1 && is_it, "{log}");
}

#[needs(postgres)]
#[test]
fn after_a_handover_the_metrics_describe_the_serving_store() {
    let next = Store::postgres();
    let watched = Watched::with(Store::sqlite(), |launch| launch.flag("--next-store", &next.url));
    let has = |family: &str| watched.scrape().has(family);
    for (from, to, is_at_next) in [(&watched.store, &next, true), (&next, &watched.store, false)] {
        assert!(has("petstore_sqlite_commits_total") == is_at_next);
        assert!(has("petstore_postgres_pool_connections") != is_at_next);
        petstore(&["store", "move", "--yes", "--from", &from.url, "--to", &to.url])
            .finish()
            .succeeds();
        watched.until("petstore_next_store_used", f64::from(u8::from(is_at_next)));
    }
    assert!(has("petstore_sqlite_commits_total") && !has("petstore_postgres_pool_connections"));
}

#[test]
fn counters_of_alerts_are_zero_before_the_first_request() {
    let watched = Watched::start(Kind::Memory);
    let before = watched.scrape();
    let openapi: Value =
        serde_json::from_str(include_str!("../../../crates/http/openapi.json")).unwrap();
    let codes = openapi["components"]["schemas"]["Error"]["properties"]["code"]["enum"].as_array();
    let codes = codes.unwrap().iter().map(|code| code.as_str().unwrap());
    assert!(codes.len() > 10);
    let rejected = codes.map(|code| format!("rejected_requests_total{{code=\"{code}\"}}"));
    let mut names: Vec<_> = rejected.collect();
    for (route, method, success) in [
        ("/v1/pets", "GET", "200"),
        ("/v1/pets", "POST", "201"),
        ("/v1/pets/{petId}", "GET", "200"),
        ("/v1/store/orders", "GET", "501"),
    ] {
        names.extend([success, "500", "503"].map(|status| {
            let labels = format!("method=\"{method}\",route=\"{route}\",status=\"{status}\"");
            format!("http_requests_total{{{labels}}}")
        }));
        let labels = format!("route=\"{route}\",le=\"0.5\"");
        names.push(format!("http_request_duration_seconds_bucket{{{labels}}}"));
    }
    let reasons =
        ["not_tls", "incompatible", "refused_by_client", "disconnected", "timeout", "other"];
    names.extend(
        reasons.map(|reason| format!("tls_handshake_failures_total{{reason=\"{reason}\"}}")),
    );
    names.push("deprecated_requests_total{key=\"service key\"}".to_owned());
    for name in names {
        assert!(before.is_at(&format!("petstore_{name}"), 0.0), "{name}");
    }
    // The service key is in no store, so it is never revoked.
    for absent in
        ["reloads_total", "tls_certificate_expiry_timestamp_seconds", "revoked_key_requests_total"]
    {
        assert!(!before.has(&format!("petstore_{absent}")), "{absent}");
    }
}

#[test]
fn the_metrics_report_an_unready_service_even_without_requests() {
    let watched = Watched::start(Kind::Sqlite);
    watched.until("petstore_ready", 1.0);
    let file = watched.store.file();
    let aside = file.with_extension("aside");
    fs::rename(&file, &aside).unwrap();
    wait::until("the service is not ready", || watched.scrape().is_at("petstore_ready", 0.0));
    assert!(watched.scrape().is_at("petstore_store_errors_total", 0.0));
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
