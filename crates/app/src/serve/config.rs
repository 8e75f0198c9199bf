//! The flags of `serve`, some of which `openapi` shares, and what they configure.

use std::{
    collections::BTreeSet,
    fs::File,
    num::{NonZeroU32, NonZeroUsize},
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
        reload::{self, Followed, KEY_VARIABLE},
        simulate::{self, Simulation},
        tls::{PairFiles, Tls},
    },
    stores::{StoreArg, StoreArgs, opening::require_folder},
    system::{
        failure::{Failure, quotable_path},
        log::{self, LogFormat},
    },
};

/// The flags of `serve`.
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Address and port where the service listens; with port 0, serve picks one and prints it. Or
    /// unix:PATH, a Unix socket. Given again, or with commas, for several.
    #[arg(long, value_name = "ADDRESS", default_value = LISTEN, value_delimiter = ',')]
    pub(crate) listen: Vec<ListenAddress>,

    /// Maximum number of connections that wait to be accepted [default: the system's limit].
    #[arg(long, value_name = "NUMBER", value_parser = values::number::<NonZeroU32>)]
    pub(crate) listen_backlog: Option<NonZeroU32>,

    /// Serve metrics for Prometheus on this address, as plain HTTP at /metrics, with /livez and /readyz;
    /// port 0 picks one and logs it [default: none].
    #[arg(long, value_name = "ADDRESS", value_parser = values::listen_address)]
    pub(crate) metrics_listen: Option<String>,

    /// Serve HTTPS with this certificate, and those between it and the authority: a PEM file, read
    /// again when it changes and at SIGHUP.
    #[arg(long, value_name = "PATH")]
    pub(crate) tls_cert: Option<PathBuf>,

    /// The private key of the certificate: a PEM file.
    #[arg(long, value_name = "PATH")]
    pub(crate) tls_key: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) store: StoreArgs,

    /// The store that this one will be handed over to by 'petstore store move', if it is; it need not be there
    /// yet [default: none]
    #[arg(id = "next-store", long)]
    pub(crate) next_store: Option<StoreArg>,

    /// A file of animals that the store begins with, as 'petstore import' reads it; only with '--store memory:'
    /// [default: none].
    #[arg(long, value_name = "FILE")]
    pub(crate) seed: Option<PathBuf>,

    /// How slow the store is for requests, and how many of them fail, to test clients, like
    /// latency=200ms,errors=5%; only with '--store memory:' [default: as it is].
    #[arg(long, value_name = "HOW", value_parser = simulate::parse)]
    pub(crate) simulate: Option<Simulation>,

    /// Refuse a store of an older schema, instead of upgrading it.
    #[arg(long)]
    pub(crate) no_upgrade: bool,

    /// A file that holds one more API key, of at least 16 characters: read again when it changes and at
    /// SIGHUP.
    #[arg(long, value_name = "PATH")]
    pub(crate) api_key_file: Option<PathBuf>,

    /// Maximum number of connections served at once; one more waits.
    #[arg(
        long,
        value_name = "NUMBER",
        default_value = "10000",
        value_parser = values::number::<NonZeroUsize>
    )]
    max_connections: NonZeroUsize,

    /// Maximum time from the first byte of a request until its header fields have arrived.
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = values::timeout)]
    header_timeout: Duration,

    /// Maximum time for which a connection waits for its next request: longer than a balancer keeps an idle one.
    #[arg(long, value_name = "DURATION", default_value = "75s", value_parser = values::timeout)]
    idle_timeout: Duration,

    /// Maximum time until the body of a request has arrived.
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = values::timeout)]
    body_timeout: Duration,

    /// Maximum time for which a client takes nothing of a response, or less than 1 KiB a second.
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = values::timeout)]
    write_timeout: Duration,

    /// Maximum time for a request as a whole; beyond it the answer is 503.
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = values::timeout)]
    request_timeout: Duration,

    /// Maximum size of a request body.
    #[arg(long, value_name = "SIZE", default_value = "64KiB", value_parser = values::body_size)]
    max_body: usize,

    /// Maximum size of all request bodies that are held at a time; beyond it the answer is 503.
    #[arg(long, value_name = "SIZE", default_value = "64MiB", value_parser = values::memory)]
    max_buffered_bodies: usize,

    /// Maximum size of all responses that wait for their clients; beyond it the slowest are ended.
    #[arg(long, value_name = "SIZE", default_value = "64MiB", value_parser = values::memory)]
    max_buffered_answers: usize,

    /// Maximum number of requests a second of each API key, and at once; beyond it the answer is 429
    /// [default: no limit].
    #[arg(long, value_name = "NUMBER", value_parser = values::number::<NonZeroU32>)]
    rate_limit: Option<NonZeroU32>,

    /// Memory for encoded pages and animals, which are sent again while the catalogue does not change.
    #[arg(
        long,
        alias = "kept-pages",
        value_name = "SIZE",
        default_value = "16MiB",
        value_parser = values::memory
    )]
    page_cache: usize,

    /// Time from the signal to stop until no connection is accepted any more: /readyz answers 503 and requests are
    /// served, as long as load balancers take to notice.
    #[arg(long, value_name = "DURATION", default_value = "500ms", value_parser = values::grace)]
    shutdown_delay: Duration,

    /// Maximum time from then on until open connections are cut off.
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = values::grace)]
    shutdown_grace: Duration,

    /// When the deprecated operation getPet ends: on its date, not yet, or now.
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

    /// Let pages of this origin, a scheme and a host, call the service from a browser (CORS); '*' is any.
    /// Given again, or with commas, for several [default: none].
    #[arg(long, value_name = "ORIGIN", value_delimiter = ',', value_parser = values::origin)]
    cors_origin: Vec<String>,

    /// Take a proxy's word about its client, for the log: a network like 10.0.0.0/8, an address, or 'unix' for those
    /// that connect over a Unix socket. Given again, or with commas, for several [default: none].
    #[arg(long, value_name = "NETWORK", value_delimiter = ',')]
    trusted_proxy: Vec<TrustedProxy>,

    /// Do not serve the browser pages /docs and /catalogue, nor / which leads there.
    #[arg(long)]
    no_docs: bool,

    /// Events that are logged, as directives like info or warn,hyper=debug [default: what operators need].
    #[arg(long, value_name = "DIRECTIVES", value_parser = log::filter)]
    pub(crate) log: Option<Targets>,

    /// Form of the log on stderr [default: text on a terminal, else json].
    #[arg(long, value_name = "FORMAT")]
    pub(crate) log_format: Option<LogFormat>,

    /// Which requests are logged: each, each but health checks that pass, those answered with 400 or above, or
    /// only failures of the service itself.
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
    /// Returns the settings of the HTTP adapter. A new one does not compile until it is here.
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

    /// Returns which flags contradict each other, if any do.
    fn contradiction(&self) -> Option<String> {
        let (store, next) = (&self.store.store, self.next_store.as_ref());
        let why = if store.is_persistent && self.seed.is_some() {
            "--seed is for --store memory: only; use 'petstore import --create' for this store"
        } else if store.is_persistent && self.simulate.is_some() {
            "--simulate is for --store memory: only, so that no data of value depends on it"
        } else if !store.is_persistent && next.is_some() {
            "--next-store: a store that ends with the process cannot be handed over"
        } else if next.is_some_and(|next| next.location.to_string() == store.location.to_string()) {
            "--next-store is --store; name two"
        } else if self.listen.len() > MAX_SOCKETS {
            return Some(format!("--listen may be given {MAX_SOCKETS} times at most"));
        } else {
            let addresses = self.listen.iter().map(ToString::to_string);
            let mut seen = BTreeSet::new();
            // At port 0, each listener has a port of its own.
            let twice = addresses
                .chain(self.metrics_listen.clone())
                .find(|address| !address.ends_with(":0") && !seen.insert(address.clone()));
            return twice.map(|address| format!("{address} is given for two listeners"));
        };
        Some(why.to_owned())
    }
}

/// The name of a deployment, and where it is reached.
#[derive(Clone, Debug, Args)]
pub(crate) struct DeploymentArgs {
    /// Name of this deployment, for logs, the OpenAPI document and the browser pages.
    #[arg(long, value_name = "NAME", value_parser = values::environment)]
    environment: Option<String>,

    /// URL of production, for the OpenAPI document; ends in /v1.
    #[arg(long, value_name = "URL", value_parser = values::service_url)]
    public_url: Option<String>,

    /// URL of staging, for the OpenAPI document; ends in /v1.
    #[arg(long, value_name = "URL", value_parser = values::service_url)]
    staging_url: Option<String>,
}

impl DeploymentArgs {
    /// Returns the settings that these flags decide, the others being the defaults.
    pub(crate) fn settings(self) -> Settings {
        let Self { environment, public_url, staging_url } = self;
        Settings { environment, public_url, staging_url, ..Settings::default() }
    }
}

/// The settings of `serve`, all of them checked.
pub(crate) struct Config {
    pub(crate) args: ServeArgs,
    /// `None` for plain HTTP.
    pub(super) tls: Option<PairFiles>,
    pub(super) service_key: Option<ServiceKey>,
    /// The file of that key, if it has one.
    pub(super) key_file: Option<Followed>,
    pub(super) settings: Settings,
    /// Flags of the command line that give a password.
    pub(crate) passwords: Vec<String>,
}

impl Config {
    /// Completes the flags by what only the environment and the key file can say.
    pub(crate) fn read(args: ServeArgs) -> Result<Self, Failure> {
        let settings = args.settings();
        if settings.limits.max_buffered_bodies < settings.limits.max_body {
            return Err(Failure::usage("--max-buffered-bodies must be at least --max-body"));
        }
        if let Some(why) = args.contradiction() {
            return Err(Failure::usage(why));
        }
        let (service_key, key_file) =
            reload::service_key(variable(KEY_VARIABLE).as_deref(), args.api_key_file.as_deref())?;
        Ok(Self {
            tls: PairFiles::given(args.tls_cert.clone(), args.tls_key.clone())?,
            service_key,
            key_file,
            settings,
            args,
            passwords: Vec::new(),
        })
    }

    /// Reads the files of TLS, as the service does when it starts, and looks for that of the seed.
    pub(crate) fn check(self) -> Result<(), Failure> {
        if let Some(file) = &self.args.seed {
            let cannot = |error| format!("--seed: cannot read {}: {error}", quotable_path(file));
            File::open(file).map_err(|error| Failure::usage(cannot(error)))?;
        }
        require_folder(&*self.args.store.store.location)?;
        self.tls.map(Tls::new).transpose().map(drop)
    }
}

/// Returns the browser pages, the reference first, with the name of this deployment.
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

/// Returns no pages: this program was built without them.
#[cfg(not(feature = "pages"))]
fn static_files(_: Option<&str>) -> Vec<StaticFile> {
    Vec::new()
}
