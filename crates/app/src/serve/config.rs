//! What `serve` is configured with.

use std::{num::NonZeroU32, sync::Arc};

use petstore_domain::ServiceKey;
use petstore_http::{Settings, StaticFile};
use petstore_pages::{FILES, File};

use crate::{
    cli::{self, ServeArgs, TlsArgs, addresses::ListenAddress},
    driver::StoreLocation,
    failure::Failure,
    logging::{self, LogConfig},
    serve::{reload::Followed, service_key, tls::pair::PairFiles},
};

/// What `serve` works with, all of it checked.
pub(crate) struct Config {
    pub(super) listen: Vec<ListenAddress>,
    pub(super) listen_backlog: Option<NonZeroU32>,
    /// `None` for no metrics.
    pub(super) metrics_listen: Option<String>,
    /// `None` for plain HTTP.
    pub(super) tls: Option<PairFiles>,
    pub(super) store: Arc<dyn StoreLocation>,
    /// The store that this one is handed over to, or may be.
    pub(super) next_store: Option<Arc<dyn StoreLocation>>,
    /// Whether it outlasts the service.
    pub(super) store_lasts: bool,
    /// Whether a store of an older schema is upgraded.
    pub(super) upgrade: bool,
    pub(super) service_key: Option<ServiceKey>,
    /// The file of that key, if it has one.
    pub(super) key_file: Option<Followed>,
    pub(super) settings: Settings,
}

impl Config {
    /// Completes the flags by what only the environment and the key file can say.
    pub(crate) fn read(args: ServeArgs) -> Result<(Self, LogConfig), Failure> {
        let mut settings = args.settings();
        if settings.limits.max_buffered_bodies < settings.limits.max_body {
            let message = "--max-buffered-bodies must be at least --max-body";
            return Err(Failure::usage(message.to_owned()));
        }
        if !args.no_docs {
            settings.static_files = static_files();
        }
        let log =
            LogConfig { format: args.log_format, filter: logging::filter(args.log.as_deref())? };
        let given = service_key::read(
            cli::variable(service_key::VARIABLE).as_deref(),
            args.api_key_file.as_deref(),
        )?;
        let (service_key, key_file) = given.unzip();
        let config = Self {
            listen: args.listen.listen,
            listen_backlog: args.listen_backlog,
            metrics_listen: args.metrics_listen,
            tls: pair_files(args.tls)?,
            store: args.store.store.0,
            store_lasts: args.store.store.1,
            next_store: args.next_store.map(|next| next.0),
            upgrade: !args.no_upgrade,
            service_key,
            key_file: key_file.flatten(),
            settings,
        };
        Ok((config, log))
    }
}

fn pair_files(TlsArgs { tls_cert, tls_key }: TlsArgs) -> Result<Option<PairFiles>, Failure> {
    let missing = match (tls_cert, tls_key) {
        (Some(certificate), Some(key)) => return Ok(Some(PairFiles { certificate, key })),
        (None, None) => return Ok(None),
        (Some(_), None) => "--tls-key",
        (None, Some(_)) => "--tls-cert",
    };
    Err(Failure::usage(format!("--tls-cert and --tls-key belong together: {missing} is missing")))
}

/// Returns every file of the browser pages, the reference first.
fn static_files() -> Vec<StaticFile> {
    let files = FILES.iter().map(|file| {
        let File { path, media_type, content_security_policy, tag, content, gzip } = *file;
        StaticFile { path, media_type, content_security_policy, tag, content, gzip }
    });
    files.collect()
}
