//! The flags of `serve`, and the checked configuration. The command `openapi` shares some of the flags.

use std::{
    collections::BTreeSet,
    fs::File,
    num::{NonZeroI32, NonZeroU32, NonZeroUsize},
    path::PathBuf,
    time::Duration,
};

use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser as _},
};
use petstore_domain::ServiceKey;
use petstore_http::{AccessLog, GetPetSunset, Limits, Settings, StaticFile, TrustedProxy};
use tracing_subscriber::filter::Targets;

use crate::{
    cli::values::{self, LISTEN, ListenAddress, variable},
    serve::{
        listener::MAX_SOCKETS,
        reload::{self, KEY_VARIABLE, WatchedFiles},
        simulate::{self, Simulation},
        tls::{PairFiles, Tls},
    },
    stores::{StoreArg, StoreArgs, require_folder},
    system::{Failure, LogFormat, log, quotable_path},
};

/// The flags of `serve`.
#[derive(Clone, Args)]
pub(crate) struct ServeArgs {
    /// Address and port to listen on, or unix:PATH for a Unix socket; with port 0, a free port, which is printed; may be
    /// repeated, also with commas
    #[arg(long, value_name = "ADDRESS", default_value = LISTEN, value_delimiter = ',')]
    pub(crate) listen: Vec<ListenAddress>,

    /// Maximum number of connections in the accept queue [default: the system's limit]
    #[arg(long, value_name = "NUMBER", value_parser = values::number::<NonZeroI32>)]
    pub(crate) listen_backlog: Option<NonZeroI32>,

    /// Address for Prometheus: plain HTTP with /metrics, /livez and /readyz; with port 0, a free port, which is logged
    /// [default: none]
    #[arg(long, value_name = "ADDRESS", value_parser = values::listen_address)]
    pub(crate) metrics_listen: Option<String>,

    /// `None` for plain HTTP.
    #[command(flatten)]
    pub(super) tls: Option<PairFiles>,

    #[command(flatten)]
    pub(crate) store: StoreArgs,

    /// Store that 'petstore store move' will hand this store over to; it need not exist yet [default: none]
    #[arg(id = "next-store", long)]
    pub(crate) next_store: Option<StoreArg>,

    /// File of animals to begin with, in a format of 'petstore import'; only with '--store memory:' [default: none]
    #[arg(long, value_name = "FILE")]
    pub(crate) seed: Option<PathBuf>,

    /// Latency and errors of the store, to test clients, such as latency=200ms,errors=5%; only with '--store memory:'
    /// [default: none]
    #[arg(long, value_name = "HOW", value_parser = simulate::parse)]
    pub(crate) simulate: Option<Simulation>,

    /// No upgrade: a store with an older schema is refused
    #[arg(long)]
    pub(crate) no_upgrade: bool,

    /// File with one more API key of 16 to 1024 characters, read again when it changes and at SIGHUP
    #[arg(long, value_name = "PATH")]
    pub(crate) api_key_file: Option<PathBuf>,

    /// Maximum number of connections; further connections wait
    #[arg(
        long,
        value_name = "NUMBER",
        default_value = "10000",
        value_parser = values::number::<NonZeroUsize>
    )]
    max_connections: NonZeroUsize,

    /// Time limit for the head of a request, from its first byte; for the first request, from the connection
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = values::timeout)]
    header_timeout: Duration,

    /// Time limit for an idle connection, longer than the limit of the load balancer
    #[arg(long, value_name = "DURATION", default_value = "75s", value_parser = values::timeout)]
    idle_timeout: Duration,

    /// Time limit for the body of a request
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = values::timeout)]
    body_timeout: Duration,

    /// Time limit for a client that reads nothing, or less than 1 KiB/s, of its response
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = values::timeout)]
    write_timeout: Duration,

    /// Time limit for a whole request; beyond it the response is 503
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = values::timeout)]
    request_timeout: Duration,

    /// Maximum size of a request body
    #[arg(long, value_name = "SIZE", default_value = "64KiB", value_parser = values::body_size)]
    max_body: usize,

    /// Maximum memory for request bodies; beyond it the response is 503
    #[arg(long, value_name = "SIZE", default_value = "64MiB", value_parser = values::memory)]
    max_buffered_bodies: usize,

    /// Maximum memory for responses that wait for their clients; beyond it the slowest responses are aborted
    #[arg(long, value_name = "SIZE", default_value = "64MiB", value_parser = values::memory)]
    max_buffered_answers: usize,

    /// Maximum number of requests per second, and at once, for each API key; beyond it the response is 429
    /// [default: no limit]
    #[arg(long, value_name = "NUMBER", value_parser = values::number::<NonZeroU32>)]
    rate_limit: Option<NonZeroU32>,

    /// Memory for the cache of encoded pages and animals
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "16MiB",
        value_parser = values::memory
    )]
    page_cache: usize,

    /// Time from the stop signal until the service accepts no more connections, for load balancers to notice; until
    /// then /readyz is 503 and requests are served
    #[arg(long, value_name = "DURATION", default_value = "500ms", value_parser = values::grace)]
    shutdown_delay: Duration,

    /// Time after --shutdown-delay until open connections are cut off
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = values::grace)]
    shutdown_grace: Duration,

    /// End of the deprecated operation getPet: on its date, postponed (off), or now
    #[arg(
        long,
        value_name = "WHEN",
        default_value = "date",
        value_parser = PossibleValuesParser::new(["date", "off", "now"]).map(|when| match &*when {
            "off" => GetPetSunset::Off,
            "now" => GetPetSunset::Now,
            _ => GetPetSunset::Date,
        })
    )]
    get_pet_sunset: GetPetSunset,

    #[command(flatten)]
    deployment: DeploymentArgs,

    /// Origin (a scheme and a host) whose pages may call the service (CORS), or '*' for any; may be repeated, also with
    /// commas [default: none]
    #[arg(long, value_name = "ORIGIN", value_delimiter = ',', value_parser = values::origin)]
    cors_origin: Vec<String>,

    /// Proxy whose forwarding headers name the client in the log: a network like 10.0.0.0/8, an address, or 'unix' for
    /// Unix sockets; may be repeated, also with commas [default: none]
    #[arg(long, value_name = "NETWORK", value_delimiter = ',')]
    trusted_proxy: Vec<TrustedProxy>,

    /// No browser pages (/docs, /catalogue, and / that redirects to them)
    #[arg(long)]
    no_docs: bool,

    /// Logged events, as directives like info or warn,hyper=debug [default: what operators need]
    #[arg(long, value_name = "DIRECTIVES", value_parser = log::filter)]
    pub(crate) log: Option<Targets>,

    /// Format of the log on stderr [default: text on a terminal, else json]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) log_format: Option<LogFormat>,

    /// Logged requests: all, all but successful health checks, those with a status of 400 or above, or only failures
    /// of the service itself
    #[arg(
        long,
        value_name = "WHICH",
        default_value = "errors",
        value_parser = PossibleValuesParser::new(["all", "all-but-probes", "errors", "off"])
            .map(|which| match &*which {
                "all" => AccessLog::All,
                "all-but-probes" => AccessLog::AllButProbes,
                "off" => AccessLog::Off,
                _ => AccessLog::Errors,
            })
    )]
    access_log: AccessLog,
}

impl ServeArgs {
    /// Returns the settings of the HTTP adapter. Sets each field by name, so that a new field is a compile error here.
    pub(crate) fn settings(&self) -> Settings {
        let DeploymentArgs { environment, public_url, staging_url } = self.deployment.clone();
        let files = (!self.no_docs).then(|| static_files(environment.as_deref()));
        Settings {
            static_files: files.unwrap_or_default(),
            environment,
            public_url,
            staging_url,
            get_pet_sunset: self.get_pet_sunset,
            access_log: self.access_log,
            limits: Limits {
                header_timeout: self.header_timeout,
                idle_timeout: self.idle_timeout,
                body_timeout: self.body_timeout,
                write_timeout: self.write_timeout,
                request_timeout: self.request_timeout,
                max_connections: self.max_connections,
                max_body: self.max_body,
                max_buffered_bodies: self.max_buffered_bodies,
                rate_limit: self.rate_limit,
                max_buffered_answers: self.max_buffered_answers,
                refusal_delay: Limits::default().refusal_delay,
                page_cache: self.page_cache,
                shutdown_delay: self.shutdown_delay,
                shutdown_grace: self.shutdown_grace,
            },
            trusted_proxies: self.trusted_proxy.clone(),
            cors_origins: self.cors_origin.clone(),
        }
    }

    /// Refuses flags that contradict each other.
    fn refuse_contradictions(&self) -> Result<(), Failure> {
        let (store, next) = (&self.store.store, self.next_store.as_ref());
        let why = if self.max_buffered_bodies < self.max_body {
            "--max-buffered-bodies must be at least --max-body"
        } else if store.is_persistent && self.seed.is_some() {
            "--seed is for --store memory: only; use 'petstore import --create' for this store"
        } else if store.is_persistent && self.simulate.is_some() {
            "--simulate is for --store memory: only, so that no data of value depends on it"
        } else if !store.is_persistent && next.is_some() {
            "--next-store: a store that ends with the process cannot be handed over"
        } else if next.is_some_and(|next| next.location.to_string() == store.location.to_string()) {
            "--store and --next-store name the same store; name two"
        } else if self.listen.len() > MAX_SOCKETS {
            &format!("--listen may be given {MAX_SOCKETS} times at most")
        } else {
            let addresses = self.listen.iter().map(ToString::to_string);
            let mut seen = BTreeSet::new();
            // At port 0, each listener has a port of its own.
            let twice = addresses
                .chain(self.metrics_listen.clone())
                .find(|address| !address.ends_with(":0") && !seen.insert(address.clone()));
            let Some(address) = twice else { return Ok(()) };
            &format!("{address} is given for two listeners")
        };
        Err(Failure::usage(why))
    }
}

/// The name and the URLs of a deployment.
#[derive(Clone, Debug, Args)]
pub(crate) struct DeploymentArgs {
    /// Name of the deployment, for logs, the OpenAPI document and the browser pages
    #[arg(long, value_name = "NAME", value_parser = values::environment)]
    environment: Option<String>,

    /// URL of production, for the OpenAPI document; ends in /v1
    #[arg(long, value_name = "URL", value_parser = values::service_url)]
    public_url: Option<String>,

    /// URL of staging, for the OpenAPI document; ends in /v1
    #[arg(long, value_name = "URL", value_parser = values::service_url)]
    staging_url: Option<String>,
}

impl DeploymentArgs {
    /// Returns the default settings with the values of these flags.
    pub(crate) fn settings(self) -> Settings {
        let Self { environment, public_url, staging_url } = self;
        Settings { environment, public_url, staging_url, ..Settings::default() }
    }
}

/// The checked settings of `serve`.
pub(crate) struct Config {
    pub(crate) args: ServeArgs,
    pub(super) service_key: Option<ServiceKey>,
    /// The file of `service_key`, if a file gives it.
    pub(super) key_file: Option<WatchedFiles>,
    pub(super) settings: Settings,
}

impl Config {
    /// Checks the flags, and reads the API key from the environment or from its file.
    pub(crate) fn read(args: ServeArgs) -> Result<Self, Failure> {
        args.refuse_contradictions()?;
        let settings = args.settings();
        let (service_key, key_file) =
            reload::service_key(variable(KEY_VARIABLE).as_deref(), args.api_key_file.as_deref())?;
        Ok(Self { args, service_key, key_file, settings })
    }

    /// Checks the TLS files, the seed file and the directory of the store.
    pub(crate) fn check(self) -> Result<(), Failure> {
        if let Some(file) = &self.args.seed {
            let cannot = format!("--seed: cannot read {}", quotable_path(file));
            File::open(file).map_err(Failure::context(cannot))?;
        }
        require_folder(&*self.args.store.store.location)?;
        self.args.tls.map(Tls::new).transpose().map(drop)
    }
}

/// Returns the browser pages of this deployment, the reference first.
#[cfg(feature = "pages")]
fn static_files(environment: Option<&str>) -> Vec<StaticFile> {
    let files = petstore_pages::pages(environment).into_iter().map(|page| StaticFile {
        path: page.path,
        media_type: "text/html; charset=utf-8",
        content_security_policy: page.content_security_policy,
        content: page.html.into(),
    });
    files.collect()
}

/// Returns no pages, because this program was built without them.
#[cfg(not(feature = "pages"))]
fn static_files(_: Option<&str>) -> Vec<StaticFile> {
    Vec::new()
}
