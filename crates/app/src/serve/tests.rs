use std::{ffi::OsString, fmt, fs, sync::Arc, time::Duration};

use async_trait::async_trait;
use petstore_domain::{MockKeyStore, ServiceKey};
use petstore_memory::MemoryStore;
use tokio::time::{self, timeout};
use tokio_util::sync::CancellationToken;

use super::{Config, run, service_manager::ping_every, tls::tests::Log};
use crate::{
    cli::{self, Command},
    stores::{self, BoxError, OpenOptions, OpenStore, Registry, StoreArg, StoreLocation},
    system::Failure,
};

/// A broken store.
#[derive(Clone, Copy)]
enum Broken {
    /// Loading its keys panics.
    Keys,
    /// One of its own tasks has panicked.
    Task,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("broken:")
    }
}

#[async_trait]
impl StoreLocation for Broken {
    async fn open(&self, _: OpenOptions) -> Result<OpenStore, BoxError> {
        let mut store = OpenStore::new(Arc::new(MemoryStore::new()));
        match self {
            Self::Keys => {
                let mut keys = MockKeyStore::new();
                keys.expect_load_changes().returning(|_| panic!("a bug"));
                store.keys = Arc::new(keys);
                Ok(store)
            }
            Self::Task => {
                let panicked = CancellationToken::new();
                panicked.cancel();
                Ok(store.with_panic_token(panicked))
            }
        }
    }
}

#[tokio::test]
async fn a_service_stops_with_a_failure_if_a_task_panics() {
    for broken in [Broken::Keys, Broken::Task] {
        stops_with_a_failure(broken).await;
    }
}

async fn stops_with_a_failure(broken: Broken) {
    let mut config = config("petstore serve --listen 127.0.0.1:0");
    config.args.store.store = StoreArg { location: Arc::new(broken), is_persistent: true };
    config.service_key = ServiceKey::parse("a-key-of-24-characters-x").ok();
    let ended = time::timeout(Duration::from_mins(1), run(config, Vec::new())).await;
    let Ok(Err(Failure::Runtime(why))) = ended else {
        panic!("it does not end with a runtime failure: {ended:?}")
    };
    assert!(why.contains("a bug has ended a task of the service"), "{why}");
}

pub(super) fn config(words: &str) -> Config {
    let definition = cli::definition(&Arc::new(Registry(stores::BUILT_IN.into())));
    let words: Vec<_> = words.split_whitespace().map(OsString::from).collect();
    let settings = cli::Sources::read(&words, &definition).unwrap();
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

/// Returns the text of a settings file with the same settings as `flags`.
fn as_settings(flags: &str) -> String {
    let settings = flags.split("--").skip(1).map(|setting| match setting.trim().split_once(' ') {
        Some((name, value)) => format!("{name} = \"{value}\"\n"),
        None => format!("{} = true\n", setting.trim()),
    });
    settings.collect()
}

#[test]
fn each_flag_of_serve_configures_something_and_is_a_key_of_the_settings_file() {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), "a-key-of-24-characters-x").unwrap();
    let key_file = format!("--api-key-file {}", file.path().display());
    let config = tempfile::NamedTempFile::new().unwrap();
    let flags = [
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
        "--max-connections 8",
        "--header-timeout 1s",
        "--idle-timeout 6s",
        "--body-timeout 2s",
        "--write-timeout 3s",
        "--request-timeout 4s",
        "--max-body 9",
        "--max-buffered-bodies 65536",
        "--max-buffered-answers 12",
        "--rate-limit 11",
        "--page-cache 13",
        "--shutdown-delay 7s",
        "--shutdown-grace 5s",
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
    for flag in flags {
        let memory = "--store memory:";
        let others = if flag.starts_with(memory) { memory } else { "" };
        let without = configured(&format!("petstore serve {others}"));
        let by_flag = configured(&format!("petstore serve {flag}"));
        assert_ne!(by_flag, without, "{flag}");
        fs::write(config.path(), as_settings(flag)).unwrap();
        let by_file = configured(&format!("petstore serve --config {}", config.path().display()));
        assert_eq!(by_file, by_flag);
    }
    let definition = cli::definition(&Arc::new(Registry(stores::BUILT_IN.into())));
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
    let folder = tempfile::tempdir().unwrap();
    let [certificate, key] = ["cert.pem", "key.pem"].map(|name| folder.path().join(name));
    let pair = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    fs::write(&certificate, pair.cert.pem()).unwrap();
    fs::write(&key, pair.signing_key.serialize_pem()).unwrap();
    let tls = format!("--tls-cert {} --tls-key {}", certificate.display(), key.display());
    for (flags, more) in [
        ("", None),
        ("--metrics-listen 127.0.0.1:0", Some("metrics")),
        (&*tls, Some("certificate")),
    ] {
        let (log, _guard) = Log::start();
        let words = format!("petstore serve --store memory: --listen 127.0.0.1:0 {flags}");
        let serving = run(config(&words), Vec::new());
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
