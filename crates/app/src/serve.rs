//! The command `serve`: from the configuration to the last answer, and what the service says to people and to the
//! service manager, by the protocol `sd_notify`.

mod config;
mod first_key;
mod housekeeping;
mod listener;
mod reload;
mod served_store;
mod simulate;
mod tls;

#[cfg(test)]
mod tests;

use std::{future, sync::Arc, time::Duration};

use petstore_domain::{Catalogue, Clock, KeyRing, PetService};
use petstore_http::{
    Authentication, Drained, GetPetSunset, Listener, Ports, Server, Settings, get_pet_end,
};
use sd_notify::NotifyState;
use tokio::{
    net::TcpListener,
    task::JoinSet,
    time::{MissedTickBehavior, interval},
};

pub(crate) use self::config::{Config, DeploymentArgs, ServeArgs};
use self::{listener::BoundAddress, served_store::ServedStore, simulate::Simulated, tls::Tls};
use crate::{
    clock::{SystemClock, days_until, rfc3339},
    console::{Console, Output as _},
    driver::{OpenMode, StoreLocation},
    failure::Failure,
    import,
    process::{self, Signals},
    stores::StoreArg,
    upgrade,
};

/// Serves until a signal asks for a stop.
pub(crate) async fn run(mut config: Config) -> Result<(), Failure> {
    let (signals, hangups) = (Signals::take_over()?, process::hangups()?);
    let max_connections = &mut config.settings.limits.max_connections;
    *max_connections = process::raise_open_files(*max_connections)?;
    let (tls, certificate) = config.tls.take().map(Tls::new).transpose()?.unzip();
    let followed: Vec<_> = [certificate, config.key_file.take()].into_iter().flatten().collect();
    let scheme = if tls.is_some() { "https" } else { "http" };
    let sockets =
        listener::listen(&config.args.listen.listen, config.args.listen_backlog, scheme).await?;
    let (listeners, addresses): (Vec<_>, Vec<_>) = sockets.into_iter().unzip();
    let metrics = listener::listen_for_metrics(config.args.metrics_listen.as_deref()).await?;
    let location = Arc::clone(&config.args.store.store.location);
    if !config.args.no_upgrade {
        upgrade::before_serving(&*location).await?;
    }
    let opened = tokio::select! {
        opened = location.open(OpenMode::Create) => opened.map_err(Failure::runtime)?,
        () = signals.clone().stop() => return Ok(()),
    };
    let served = async {
        let mut tasks = JoinSet::new();
        let next = config.args.next_store.take().map(|next| next.location);
        let store = ServedStore::new(&opened, &*location, next, &mut tasks).await?;
        let served = async {
            if let Some(file) = &config.args.seed {
                let no_archive = || Failure::usage("--seed: this kind of store takes no animals");
                let archive = opened.archive.as_deref().ok_or_else(no_archive)?;
                tracing::info!("--seed: {}", import::all_of(file, archive, &signals).await?);
            }
            prepare_keys(&store, &config, &addresses).await?;
            listening(&addresses, &*location, &config.settings);
            if let Some(store) = &opened.made_at {
                tracing::info!(store, "made a new store");
            }
            notify(NotifyState::Ready);
            tasks.spawn(reload::follow(followed, hangups));
            serve(&store, listeners, metrics, tls, config, signals, tasks).await
        };
        let served = served.await;
        store.close().await;
        served
    };
    let served = served.await;
    opened.close().await;
    served
}

/// Answers requests, and does what the service does besides, until the first signal.
async fn serve(
    store: &ServedStore,
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
    let authentication = Arc::new(Authentication::new(key_ring.clone()));
    let pets: Arc<dyn PetService> = match config.args.simulate {
        None => catalogue.clone(),
        Some(simulation) => Arc::new(Simulated::new(catalogue.clone(), simulation)),
    };
    let ports = Ports { pets, authenticator: authentication.clone(), clock };
    tasks.spawn(async move { match authentication.refresh().await {} });
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
    let mut is_broken = false;
    let stop = async {
        tokio::select! {
            () = signals.stop() => {}
            Some(_) = tasks.join_next() => is_broken = true,
            () = store.panicked.cancelled() => is_broken = true,
        }
        notify(NotifyState::Stopping);
    };
    let drained = server.run(listeners, stop).await;

    tasks.shutdown().await;
    housekeeping::finish(&key_ring).await;
    report(drained);
    if is_broken {
        let why = "a task of the service has ended by a bug, so the service has stopped; the log says where";
        return Err(Failure::runtime(why));
    }
    Ok(())
}

/// Makes the first key if there is none, or warns that no key is live.
async fn prepare_keys(
    store: &ServedStore,
    config: &Config,
    addresses: &[BoundAddress],
) -> Result<(), Failure> {
    let (None, Some(address)) = (&config.service_key, addresses.first()) else { return Ok(()) };
    let StoreArg { location, is_lasting } = &config.args.store.store;
    let how = if *is_lasting {
        format!("make one with 'petstore keys create NAME --store {location}'")
    } else {
        "give one by PETSTORE_API_KEY or --api-key-file".to_owned()
    };
    first_key::ensure(&*store.keys, location.key_file(), &how, address, &mut Console).await
}

fn report(drained: Drained) {
    match drained {
        Drained::Whole => tracing::info!("stopped: every request was answered"),
        Drained::CutOff { connections } => {
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
    match get_pet_end(sunset) {
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

/// Pings the watchdog, if there is one, twice in each of its intervals. Never ends. A runtime whose threads all hang
/// does not ping.
async fn ping_watchdog() {
    match sd_notify::watchdog_enabled() {
        Some(limit) => ping_every(limit, || notify(NotifyState::Watchdog)).await,
        None => future::pending().await,
    }
}

/// Pings twice in each `limit`.
async fn ping_every(limit: Duration, mut ping: impl FnMut()) {
    let mut tick = interval(limit / 2);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        ping();
    }
}

/// Tells the service manager about the service. What it cannot be told is logged and not tried again: a service works
/// without its manager.
fn notify(state: NotifyState<'_>) {
    if let Err(error) = sd_notify::notify(&[state]) {
        tracing::warn!(%error, "the service manager cannot be notified");
    }
}
