//! The command `serve`: from the configuration to the last answer.

mod announcement;
mod config;
mod first_key;
mod housekeeping;
mod listener;
mod reload;
mod served_store;
mod tls;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use petstore_domain::{Catalogue, Clock, KeyRing};
use petstore_http::{Authentication, Drained, Listener, Ports, Server};
use sd_notify::NotifyState;
use tokio::{net::TcpListener, task::JoinSet};

pub(crate) use self::config::Config;
use self::{listener::BoundAddress, served_store::ServedStore, tls::Tls};
use crate::{
    cli::store_arg::StoreArg,
    clock::SystemClock,
    console::Console,
    driver::OpenMode,
    failure::Failure,
    resource_limits,
    signals::{self, Signals},
    upgrade,
};

/// Serves until a signal asks for a stop.
pub(crate) async fn run(mut config: Config) -> Result<(), Failure> {
    let (signals, hangups) = (Signals::take_over()?, signals::hangups()?);
    let max_connections = &mut config.settings.limits.max_connections;
    *max_connections = resource_limits::raise_open_files(*max_connections)?;
    let (tls, certificate) = config.tls.take().map(Tls::new).transpose()?.unzip();
    let followed: Vec<_> = [certificate, config.key_file.take()].into_iter().flatten().collect();
    let scheme = if tls.is_some() { "https" } else { "http" };
    let sockets =
        listener::listen(&config.args.listen.listen, config.args.listen_backlog, scheme).await?;
    let (listeners, addresses): (Vec<_>, Vec<_>) = sockets.into_iter().unzip();
    let metrics = listener::listen_for_metrics(config.args.metrics_listen.as_deref()).await?;
    let location = Arc::clone(&config.args.store.store.0);
    if !config.args.no_upgrade {
        upgrade::before_serving(&*location).await?;
    }
    let opened = location.open(OpenMode::Create).await.map_err(Failure::runtime)?;
    let served = async {
        let mut tasks = JoinSet::new();
        let next = config.args.next_store.take().map(|next| next.0);
        let store = ServedStore::new(&opened, &*location, next, &mut tasks).await?;
        let served = async {
            prepare_keys(&store, &config, &addresses).await?;
            announcement::listening(&addresses, &*location, &config.settings);
            if let Some(store) = &opened.made_at {
                tracing::info!(store, "made a new store");
            }
            announcement::notify(NotifyState::Ready);
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
    let ports = Ports { pets: catalogue.clone(), authenticator: authentication.clone(), clock };
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
    tasks.spawn(announcement::ping_watchdog());
    let count = server.revoked_key_counter();
    tasks.spawn(housekeeping::run(Arc::clone(&key_ring), store.keys.clone(), catalogue, count));
    let mut is_broken = false;
    let stop = async {
        tokio::select! {
            () = signals.stop() => {}
            Some(_) = tasks.join_next() => is_broken = true,
            () = store.panicked.cancelled() => is_broken = true,
        }
        announcement::notify(NotifyState::Stopping);
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
    let StoreArg(location, is_lasting) = &config.args.store.store;
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
