use std::{
    ffi::OsString,
    fs,
    sync::{Arc, OnceLock},
    time::Duration,
};

use petstore_domain::{MockKeyStore, ServiceKey};
use petstore_memory::MemoryStore;
use tokio::time::{self, timeout};
use tokio_util::sync::CancellationToken;

use super::{
    Config, first_key,
    listener::BoundAddress,
    run,
    service_manager::{extending, ping_every},
    tls::tests::{Files, record_events},
};
use crate::{
    cli::{self, Command, tests},
    stores::{OpenStore, StoreArg, tests::OpensWith},
    system::Failure,
};

/// Returns a store whose keys panic when they are loaded.
fn with_broken_keys() -> OpenStore {
    let mut keys = MockKeyStore::new();
    keys.expect_load_changes().returning(|_| panic!("a bug"));
    let mut store = OpenStore::new(Arc::new(MemoryStore::new()));
    store.keys = Arc::new(keys);
    store
}

/// Returns a store with the ports of a handover.
fn sound() -> OpenStore {
    let store = Arc::new(MemoryStore::new());
    OpenStore::new(store.clone()).with_archive(store.clone()).with_handover(store)
}

/// Returns a store one of whose own tasks has panicked.
fn with_broken_task() -> OpenStore {
    let panicked = CancellationToken::new();
    panicked.cancel();
    sound().with_panic_token(panicked)
}

/// Names a store. If it `is_late`, attempts to open it fail for a moment.
fn opening(store: fn() -> OpenStore, is_late: bool) -> StoreArg {
    let (first, moment) = (OnceLock::new(), Duration::from_millis(100));
    let fails = move || is_late && first.get_or_init(time::Instant::now).elapsed() < moment;
    let open = move || if fails() { Err("it is away".into()) } else { Ok(store()) };
    StoreArg { location: Arc::new(OpensWith(open)), is_persistent: true }
}

#[tokio::test]
async fn a_service_stops_with_a_failure_if_a_task_panics() {
    for (store, next) in [
        (with_broken_keys as fn() -> _, None),
        (with_broken_task, None),
        (sound, Some(with_broken_task as fn() -> _)),
    ] {
        let mut config = config("petstore serve --listen 127.0.0.1:0");
        config.args.store.store = opening(store, false);
        config.args.next_store = next.map(|next| opening(next, true));
        config.service_key = ServiceKey::parse("a-key-of-24-characters-x").ok();
        let ended = time::timeout(Duration::from_mins(1), run(config, Vec::new())).await;
        let Ok(Err(Failure::Runtime(why))) = ended else {
            panic!("it does not end with a runtime failure: {ended:?}")
        };
        assert!(why.contains("a bug has ended a task of the service"), "{why}");
    }
}

pub(super) fn config(words: &str) -> Config {
    let words: Vec<_> = words.split_whitespace().map(OsString::from).collect();
    let settings = cli::Sources::read(&words, &tests::definition()).unwrap();
    let Command::Serve(args) = cli::parse(&settings).unwrap() else { panic!() };
    Config::read(*args).unwrap()
}

/// Returns the configuration of a command line as text. The pattern names every field of `Config`, so that a new field
/// is a compile error here.
fn configured(words: &str) -> String {
    let Config { args, service_key, key_file, settings } = config(words);
    let next_store = args.next_store.map(|next| next.location.to_string());
    let sockets = (args.listen, args.listen_backlog, args.metrics_listen);
    let stores = (args.store.store.location.to_string(), next_store, args.no_upgrade);
    let key = (service_key, key_file.map(|file| file.paths));
    let for_tests = (args.seed, args.simulate);
    let log = (args.log_format, args.log);
    format!("{sockets:?} {:?} {stores:?} {for_tests:?} {key:?} {settings:?} {log:?}", args.tls)
}

#[test]
fn a_first_key_comes_with_the_pages_that_are_served() {
    for (flag, pages) in [("", 1), ("--no-docs", 0)] {
        let address = BoundAddress::tcp("http", ([127, 0, 0, 1], 1).into());
        let first_key = first_key(&config(&format!("petstore serve {flag}")), &[address]).unwrap();
        assert_eq!(first_key.pages.matches(" http://127.0.0.1:1/docs ").count(), pages, "{flag}");
    }
}

/// Returns the text of a settings file with the same settings as `flags`.
fn as_settings(flags: &str) -> String {
    let settings = flags.split("--").skip(1).map(|setting| match setting.trim().split_once(' ') {
        Some((name, value)) => format!("{name} = \"{value}\"\n"),
        None => format!("{} = true\n", setting.trim()),
    });
    settings.collect()
}

/// A flag for each limit, a value that is not the default, a value that is too large, and the allowed values.
const LIMITS: [(&str, &str, [&str; 2]); 13] = [
    ("header-timeout", "7s", ["25h", "1ms to 24h"]),
    ("idle-timeout", "7s", ["25h", "1ms to 24h"]),
    ("body-timeout", "7s", ["25h", "1ms to 24h"]),
    ("write-timeout", "7s", ["25h", "1ms to 24h"]),
    ("request-timeout", "7s", ["25h", "1ms to 24h"]),
    ("shutdown-delay", "7s", ["25h", "0s to 24h"]),
    ("shutdown-grace", "7s", ["25h", "0s to 24h"]),
    ("max-connections", "70000", ["1000001", "1 to 1000000"]),
    ("max-body", "70000", ["17MiB", "1B to 16MiB"]),
    ("max-buffered-bodies", "70000", ["65GiB", "0 to 64GiB"]),
    ("max-buffered-answers", "70000", ["65GiB", "0 to 64GiB"]),
    ("page-cache", "70000", ["65GiB", "0 to 64GiB"]),
    ("rate-limit", "70000", ["1000001", "1 to 1000000"]),
];

#[test]
fn the_flag_of_a_limit_sets_the_field_of_its_name() {
    for (flag, value, [too_large, allowed]) in LIMITS {
        let limits = config(&format!("petstore serve --{flag} {value}")).settings.limits;
        let shown = format!("{limits:?}").replace("Some(", "");
        let field = format!(" {}: {value}", flag.replace('-', "_"));
        assert!(shown.contains(&field), "{shown} lacks {field}");
        let refusal = tests::refusal(&format!("petstore serve --{flag} {too_large}"));
        assert!(refusal.contains(&format!(" must be {allowed}")), "{flag}: {refusal}");
    }
    let all = LIMITS.map(|(flag, value, _)| format!("--{flag} {value}")).join(" ");
    assert_eq!(config(&format!("petstore serve {all}")).settings.limits.max_body, 70_000);
}

#[test]
fn each_flag_of_serve_configures_something_and_is_a_key_of_the_settings_file() {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), "a-key-of-24-characters-x").unwrap();
    let key_file = format!("--api-key-file {}", file.path().display());
    let config = tempfile::NamedTempFile::new().unwrap();
    let limits = LIMITS.map(|(flag, value, _)| format!("--{flag} {value}"));
    let others = [
        "--listen localhost:1",
        "--listen-backlog 7",
        "--metrics-listen localhost:2",
        "--tls-cert /cert --tls-key /key",
        "--store sqlite:other",
        "--next-store sqlite:next",
        "--store memory: --seed pets.ndjson",
        "--store memory: --simulate errors=5%",
        "--no-upgrade",
        &key_file,
        "--get-pet-sunset off",
        "--environment staging",
        "--public-url https://a.example/v1",
        "--staging-url https://b.example/v1",
        "--cors-origin https://c.example",
        "--trusted-proxy 10.0.0.0/8",
        "--no-docs",
        "--log debug",
        "--log-format text",
        "--access-log all",
    ];
    let flags: Vec<_> = limits.iter().map(String::as_str).chain(others).collect();
    let [file_store, memory] =
        ["", "--store memory:"].map(|flag| configured(&format!("petstore serve {flag}")));
    for flag in &flags {
        let without = if flag.starts_with("--store memory:") { &memory } else { &file_store };
        let by_flag = configured(&format!("petstore serve {flag}"));
        assert_ne!(&by_flag, without, "{flag}");
        fs::write(config.path(), as_settings(flag)).unwrap();
        let by_file = configured(&format!("petstore serve --config {}", config.path().display()));
        assert_eq!(by_file, by_flag);
    }
    let definition = tests::definition();
    let serve = definition.find_subcommand("serve").unwrap().get_arguments();
    let all = serve
        .filter_map(|arg| arg.get_long())
        .filter(|name| !["help", "config", "store-file", "next-store-file"].contains(name));
    let words: Vec<_> = flags.iter().flat_map(|flag| flag.split(' ')).collect();
    for name in all {
        assert!(words.contains(&format!("--{name}").as_str()), "--{name} is not in the table");
    }
}

#[tokio::test]
async fn each_task_beside_the_requests_is_started() {
    let pair = Files::generated();
    for (flags, more) in [
        ("--simulate latency=1ms", None),
        ("--metrics-listen 127.0.0.1:0", Some("metrics")),
        (&*pair.flags(), Some("certificate")),
    ] {
        let (log, _guard) = record_events();
        let words = format!("petstore serve --store memory: --listen 127.0.0.1:0 {flags}");
        let passwords = ["store", "next-store"].map(String::from);
        let serving = run(config(&words), passwords.into());
        let started = async {
            let names = ["reload", "key ring", "watchdog", "housekeeping"].into_iter().chain(more);
            let lines =
                names.map(|name| format!("a task runs beside the requests name=\"{name}\""));
            let mut lines: Vec<_> = lines.collect();
            while !lines.is_empty() {
                let text = log.text();
                lines.retain(|line| !text.contains(line));
                time::sleep(Duration::from_millis(10)).await;
            }
            let text = log.text();
            assert_eq!(text.matches("shows the password in --").count(), 2, "{text}");
            let simulates = "makes the store slow or fail latency=1ms errors_percent=0";
            assert_eq!(text.contains(simulates), flags.contains("--simulate"), "{text}");
            let all = log.take("a task runs beside the requests");
            assert_eq!(all, 4 + more.iter().count(), "{flags}");
        };
        let started = timeout(Duration::from_mins(1), started);
        tokio::select! {
            ended = serving => panic!("{flags}: {ended:?}"),
            started = started => started.unwrap(),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_watchdog_is_pinged_twice_in_each_of_its_intervals() {
    let (limit, mut pings) = (Duration::from_secs(30), 0);
    let almost_ten = Duration::from_secs(10 * 30 - 1);
    let _ = timeout(almost_ten, ping_every(limit, || pings += 1)).await;
    assert_eq!(pings, 20);
}

#[tokio::test(start_paused = true)]
async fn a_start_is_extended_at_the_end_of_each_interval_in_which_it_advances() {
    let (mut intervals, mut extensions) = (0, 0);
    let advances = || {
        intervals += 1;
        intervals % 2 == 0
    };
    extending(time::sleep(Duration::from_secs(26)), advances, || extensions += 1).await;
    assert_eq!((intervals, extensions), (5, 2));
}
