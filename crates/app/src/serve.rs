//! The command `serve`: from the configuration to the last answer, and what the service says to people.

mod config;
mod figures;
mod first_key;
mod housekeeping;
mod listener;
mod reload;
mod served_store;
mod service_manager;
mod simulate;
mod tls;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use petstore_domain::{Catalogue, Clock, KeyRing, PetService};
use petstore_http::{
    DrainOutcome, GetPetSunset, KeyRingAuthenticator, Listener, Ports, Server, Settings,
};
use sd_notify::NotifyState;
use tokio::{net::TcpListener, task::JoinSet};

pub(crate) use self::config::{Config, DeploymentArgs, ServeArgs};
use self::{
    listener::BoundAddress,
    served_store::{Opening, ServedStore},
    service_manager::{notify, ping_watchdog},
    simulate::Simulated,
    tls::Tls,
};
use crate::{
    commands::import,
    stores::{StoreArg, driver::StoreLocation},
    system::{
        clock::{SystemClock, days_until, rfc3339},
        console::{Console, Output as _},
        failure::Failure,
        process::{self, Signals},
    },
};

/// Serves until a signal asks for a stop.
pub(crate) async fn run(mut config: Config) -> Result<(), Failure> {
    let (signals, hangups) = (Signals::take_over()?, process::hangups()?);
    let max_connections = &mut config.settings.limits.max_connections;
    *max_connections = process::raise_open_files(*max_connections)?;
    let (tls, certificate) = config.tls.take().map(Tls::new).transpose()?.unzip();
    let followed: Vec<_> = [certificate, config.key_file.take()].into_iter().flatten().collect();
    let reloads: Vec<_> = followed.iter().map(|files| Arc::clone(&files.reloads)).collect();
    let scheme = if tls.is_some() { "https" } else { "http" };
    let sockets =
        listener::listen(&config.args.listen.listen, config.args.listen_backlog, scheme).await?;
    let (listeners, addresses): (Vec<_>, Vec<_>) = sockets.into_iter().unzip();
    let metrics = listener::listen_for_metrics(config.args.metrics_listen.as_deref()).await?;
    let location = Arc::clone(&config.args.store.store.location);
    let opening = Opening {
        location: Arc::clone(&location),
        next: config.args.next_store.take().map(|next| next.location),
        upgrade: !config.args.no_upgrade,
        first_key: first_key(&config, &addresses),
    };
    let mut store = tokio::select! {
        store = ServedStore::open(opening) => store?,
        () = signals.clone().stop() => return Ok(()),
    };
    let monitored = &mut store.monitored;
    monitored.samples = figures::with_own(monitored.samples.clone(), tls.clone(), reloads);
    let served = async {
        if let (Some(file), Some(archive)) = (&config.args.seed, store.archive()) {
            tracing::info!("--seed: {}", import::all_of(file, &*archive, &signals).await?);
        }
        listening(&addresses, &*location, &config.settings);
        notify(&[NotifyState::Ready]);
        let mut tasks = JoinSet::new();
        tasks.spawn(reload::follow(followed, hangups));
        serve(&mut store, listeners, metrics, tls, config, signals, tasks).await
    };
    let served = served.await;
    store.close().await;
    served
}

/// Answers requests, and does what the service does besides, until the first signal.
async fn serve(
    store: &mut ServedStore,
    listeners: Vec<Listener>,
    metrics: Option<TcpListener>,
    tls: Option<Arc<Tls>>,
    config: Config,
    signals: Signals,
    mut tasks: JoinSet<()>,
) -> Result<(), Failure> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let catalogue = Arc::new(Catalogue::new(store.pets.clone(), clock.clone()));
    let key_ring = Arc::new(KeyRing::new(store.keys.clone(), clock.clone(), config.service_key));
    let authentication = Arc::new(KeyRingAuthenticator::new(key_ring.clone()));
    let pets: Arc<dyn PetService> = match config.args.simulate {
        None => catalogue.clone(),
        Some(simulation) => Arc::new(Simulated::new(catalogue.clone(), simulation)),
    };
    let ports = Ports { pets, authenticator: authentication.clone(), clock };
    tasks.spawn(async move { match authentication.keep_fresh().await {} });
    let mut server = match metrics {
        None => Server::new(ports, config.settings),
        Some(metrics) => {
            let monitored = store.monitored.clone();
            let (server, serving) =
                Server::with_metrics(ports, config.settings, metrics, monitored)
                    .map_err(Failure::runtime)?;
            tasks.spawn(async { match serving.await {} });
            server
        }
    };
    if let Some(tls) = tls {
        server = server.with_tls(tls.config()?);
        tasks.spawn(tls.remind());
    }
    tasks.spawn(ping_watchdog());
    let count = server.revoked_key_counter();
    tasks.spawn(housekeeping::run(Arc::clone(&key_ring), store.keys.clone(), catalogue, count));
    let mut failure = None;
    let stop = async {
        tokio::select! {
            () = signals.clone().stop() => {}
            Some(_) = tasks.join_next() => failure = Some(Failure::of_bug()),
            Some(why) = store.watching.join_next() => {
                failure = Some(why.unwrap_or_else(|_| Failure::of_bug()));
            }
        }
        notify(&[NotifyState::Stopping]);
    };
    let drained = server.run(listeners, stop).await;

    tasks.shutdown().await;
    housekeeping::finish(&key_ring).await;
    if signals.tell_ending() {
        report(drained);
    }
    failure.map_or(Ok(()), Err)
}

/// Returns how to make an API key and where to use it, unless the service has one of its own.
fn first_key(config: &Config, addresses: &[BoundAddress]) -> Option<(String, BoundAddress)> {
    let address = addresses.first().filter(|_| config.service_key.is_none())?;
    let StoreArg { location, is_persistent } = &config.args.store.store;
    let how = if *is_persistent {
        format!("make one with 'petstore keys create NAME --store {location}'")
    } else {
        "give one by PETSTORE_API_KEY or --api-key-file".to_owned()
    };
    Some((how, address.clone()))
}

fn report(drained: DrainOutcome) {
    match drained {
        DrainOutcome::Complete => tracing::info!("stopped: every request was answered"),
        DrainOutcome::CutOff { connections } => {
            tracing::warn!(connections, "stopped: the grace was over, connections were cut off");
        }
    }
}

/// Says on stdout and in the log where the service is.
fn listening(addresses: &[BoundAddress], store: &dyn StoreLocation, settings: &Settings) {
    let lines = addresses.iter().map(|address| format!("petstore listens on {address}\n"));
    if let Err(failure) = Console.print(&lines.collect::<String>()) {
        tracing::warn!("{failure}");
    }
    for address in addresses {
        tracing::info!(
            %address,
            %store,
            environment = settings.environment,
            version = env!("CARGO_PKG_VERSION"),
            "petstore listens"
        );
    }
    sunset_ahead(settings.get_pet_sunset);
}

/// Says how long getPet is still offered.
fn sunset_ahead(sunset: GetPetSunset) {
    match sunset.ends_at() {
        None => tracing::info!("getPet is deprecated; its end is postponed (--get-pet-sunset)"),
        Some(end) => match days_until(end, SystemClock.now()) {
            0 => tracing::info!("getPet has ended, or ends today: it is answered 410 then"),
            days_left => {
                let ends_at = rfc3339(end);
                tracing::info!(days_left, ends_at, "getPet is deprecated, and ends");
            }
        },
    }
}
