//! The command `serve`: from the configuration to the last answer.

mod announcement;
mod first_key;
mod housekeeping;
mod listener;
mod movable_store;
mod pages;
mod service_key;
mod systemd;
mod tls;

use std::{net::SocketAddr, num::NonZeroU32, sync::Arc};

use petstore_domain::{Catalogue, Clock, KeyAdmin, KeyRing, KeyState, ServiceKey};
use petstore_http::{Drained, Ports, Server, Settings};
use tokio::net::TcpListener;

use self::{
    housekeeping::Housekeeping,
    listener::Socket,
    movable_store::MovableStore,
    tls::{Tls, pair::PairFiles},
};
use crate::{
    cli::{ListenAddress, ServeArgs, TlsArgs},
    clock::SystemClock,
    console::Console,
    driver::{IfMissing, StoreLocation},
    failure::Failure,
    file_limit,
    logging::{self, LogConfig},
    registry::Registry,
    signals::Signals,
    store::with_store,
};

/// What `serve` works with, all of it checked.
pub(crate) struct Config {
    listen: ListenAddress,
    listen_backlog: Option<NonZeroU32>,
    /// `None` for no metrics.
    metrics_listen: Option<ListenAddress>,
    /// `None` for plain HTTP.
    tls: Option<PairFiles>,
    store: Arc<dyn StoreLocation>,
    /// The stores that are known: the other store of a move may be of another kind.
    stores: Arc<Registry>,
    service_key: Option<ServiceKey>,
    settings: Settings,
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
            settings.pages = pages::all();
        }
        let log = LogConfig {
            format: args.log_format,
            environment: settings.environment.clone(),
            filter: logging::filter(args.log.as_deref())?,
        };
        let service_key = service_key::read(
            std::env::var_os(service_key::VARIABLE).as_deref(),
            args.api_key_file.as_deref(),
        )?;
        let config = Self {
            listen: args.listen.listen,
            listen_backlog: args.listen_backlog,
            metrics_listen: args.metrics_listen,
            tls: pair_files(args.tls),
            store: args.store.0,
            stores: args.store.1,
            service_key,
            settings,
        };
        Ok((config, log))
    }
}

/// The sockets that are served.
struct Listeners {
    clients: TcpListener,
    /// `None` for no metrics.
    metrics: Option<TcpListener>,
}

fn pair_files(TlsArgs { tls_cert, tls_key }: TlsArgs) -> Option<PairFiles> {
    Some(PairFiles { certificate: tls_cert?, key: tls_key? })
}

/// Serves until a signal asks for a stop.
pub(crate) async fn run(mut config: Config) -> Result<(), Failure> {
    let signals = Signals::take_over()?;
    let max_connections = &mut config.settings.limits.max_connections;
    *max_connections = file_limit::raise_for(*max_connections)?;
    let tls = config.tls.take().map(Tls::new).transpose()?;
    let scheme = if tls.is_some() { "https" } else { "http" };
    let Socket { listener, address, shared } =
        listener::listen(&config.listen, config.listen_backlog).await?;
    config.settings.shared_listener = shared;
    let metrics = listener::listen_for_metrics(config.metrics_listen.as_ref()).await?;
    let location = Arc::clone(&config.store);
    let drained = with_store(&*location, IfMissing::Create, async |opened| {
        let store = MovableStore::new(opened, &config.stores).await?;
        prepare_keys(&store, config.service_key.is_some(), scheme, address).await?;
        announcement::listening(scheme, address, &*config.store, &config.settings);
        if let Some(store) = &opened.made_at {
            tracing::info!(store, "made a new store");
        }
        systemd::note_ready();
        let listeners = Listeners { clients: listener, metrics };
        let drained = serve(&store, listeners, tls, config, signals).await;
        store.close().await;
        drained
    });
    report(drained.await?);
    Ok(())
}

/// Answers requests, and does what the service does besides, until the first signal.
async fn serve(
    store: &MovableStore,
    listeners: Listeners,
    tls: Option<Tls>,
    config: Config,
    signals: Signals,
) -> Result<Drained, Failure> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let catalogue = Arc::new(Catalogue::new(store.pets.clone(), clock.clone()));
    let key_ring = Arc::new(KeyRing::new(store.keys.clone(), clock.clone(), config.service_key));
    let admin = KeyAdmin::new(store.keys.clone(), clock.clone());
    let ports = Ports { pets: catalogue.clone(), authenticator: key_ring.clone(), clock };
    let Listeners { clients, metrics } = listeners;
    let mut server = match metrics {
        None => Server::new(ports, config.settings),
        Some(metrics) => {
            Server::with_metrics(ports, config.settings, metrics, Arc::clone(&store.figures))
                .map_err(Failure::runtime)?
        }
    };
    if let Some(tls) = &tls {
        server = server.with_tls(tls.config()?);
    }
    // From here on nothing fails, so each task is ended below.
    let housekeeping = Housekeeping::start(key_ring, admin, catalogue);
    let following = tls.map(Tls::follow);
    let watchdog = systemd::ping_watchdog();
    let stop = async {
        signals.stop().await;
        systemd::note_stopping();
    };
    let drained = server.run(clients, stop).await;

    for task in [following, watchdog].into_iter().flatten() {
        task.abort();
    }
    housekeeping.stop().await;
    Ok(drained)
}

/// Makes the first key if there is none, or warns that no key is live.
async fn prepare_keys(
    store: &MovableStore,
    has_service_key: bool,
    scheme: &str,
    address: SocketAddr,
) -> Result<(), Failure> {
    if has_service_key {
        return Ok(());
    }
    let admin = KeyAdmin::new(store.keys.clone(), Arc::new(SystemClock));
    first_key::ensure(&admin, scheme, address, &mut Console).await?;
    let (stored, now) = admin.list().await.map_err(Failure::runtime)?;
    if !stored.keys.iter().any(|key| key.state(now) == KeyState::Live) {
        tracing::warn!("no API key is live: make one with 'petstore keys create NAME'");
    }
    Ok(())
}

fn report(drained: Drained) {
    match drained {
        Drained::Whole => tracing::info!("stopped: every request was answered"),
        Drained::CutOff { connections } => {
            tracing::warn!(connections, "stopped: the grace was over, connections were cut off");
        }
    }
}
