//! The command `serve`: wires the service, runs it until a signal, and reports its start and its stop.

mod config;
mod first_key;
mod housekeeping;
mod listener;
mod reload;
mod samples;
mod served_store;
mod service_manager;
mod simulate;
mod tls;

#[cfg(test)]
mod tests;

use std::{
    future,
    io::{self, IsTerminal as _},
    sync::Arc,
};

use petstore_domain::{Catalogue, Clock, KeyRing, PetService};
use petstore_http::{DrainOutcome, KeyRingAuthenticator, Listener, Ports, SampleSource, Server};
use sd_notify::NotifyState;
use tokio::{net::TcpListener, task::JoinSet};

pub(crate) use self::config::{Config, DeploymentArgs, ServeArgs};
use self::{
    first_key::FirstKey,
    listener::BoundAddress,
    served_store::{Opening, ServedStore},
    service_manager::{notify, ping_watchdog},
    simulate::Simulated,
    tls::Tls,
};
use crate::{
    stores::{StoreArg, require_folder},
    system::{Console, Failure, Output as _, Signals, SystemClock, process},
};

/// Serves until a signal asks for a stop. `passwords` are the flags whose values on the command line contain a password.
pub(crate) async fn run(mut config: Config, passwords: Vec<String>) -> Result<(), Failure> {
    let (signals, hangups) = (Signals::take_over()?, process::hangups()?);
    let max_connections = &mut config.settings.limits.max_connections;
    *max_connections = process::raise_open_files(*max_connections)?;
    let (tls, certificate) = config.args.tls.take().map(Tls::new).transpose()?.unzip();
    let watched: Vec<_> = [certificate, config.key_file.take()].into_iter().flatten().collect();
    let reloads: Vec<_> = watched.iter().map(|files| files.reloads.clone()).collect();
    let scheme = if tls.is_some() { "https" } else { "http" };
    let opening = async {
        let ServeArgs { listen, listen_backlog, metrics_listen, .. } = &config.args;
        let sockets = listener::listen(listen, *listen_backlog, scheme).await?;
        let (listeners, addresses): (Vec<_>, Vec<_>) = sockets.into_iter().unzip();
        let metrics = listener::listen_for_metrics(metrics_listen.as_deref()).await?;
        require_folder(&*config.args.store.store.location)?;
        let opening = Opening {
            args: config.args.clone(),
            first_key: first_key(&config, &addresses),
            on_started: started(addresses, &config),
        };
        Ok::<_, Failure>((listeners, metrics, ServedStore::open(opening).await?))
    };
    let Some(opened) = signals.stop.run_until_cancelled(opening).await else { return Ok(()) };
    let (listeners, metrics, mut store) = opened?;
    for flag in passwords {
        tracing::warn!(
            "the process list shows the password in --{flag} to every user of this machine; use --{flag}-file"
        );
    }
    let samples = samples::source(store.stores.clone(), tls.clone(), reloads);
    let metrics = metrics.map(|listener| (listener, samples));
    let mut tasks = JoinSet::new();
    start(&mut tasks, "reload", reload::watch(watched, hangups));
    let served = serve(&mut store, listeners, metrics, tls, config, signals, tasks).await;
    store.close().await;
    served
}

/// Answers requests and runs the background tasks until the first signal, or until a task fails.
async fn serve(
    store: &mut ServedStore,
    listeners: Vec<Listener>,
    metrics: Option<(TcpListener, SampleSource)>,
    tls: Option<Arc<Tls>>,
    config: Config,
    signals: Signals,
    mut tasks: JoinSet<()>,
) -> Result<(), Failure> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let (pets, keys) = store.stores.ports();
    let catalogue = Arc::new(Catalogue::new(pets, clock.clone()));
    let key_ring = Arc::new(KeyRing::new(keys.clone(), clock.clone(), config.service_key));
    let authentication = Arc::new(KeyRingAuthenticator::new(key_ring.clone()));
    let pets: Arc<dyn PetService> = match config.args.simulate {
        None => catalogue.clone(),
        Some(simulation) => Arc::new(Simulated::new(catalogue.clone(), simulation)),
    };
    let ports = Ports { pets, authenticator: authentication.clone(), clock };
    start(&mut tasks, "key ring", async move { match authentication.keep_fresh().await {} });
    let mut server = match metrics {
        None => Server::new(ports, config.settings),
        Some((listener, samples)) => {
            let (server, serving) = Server::with_metrics(ports, config.settings, listener, samples)
                .map_err(Failure::runtime)?;
            start(&mut tasks, "metrics", async { match serving.await {} });
            server
        }
    };
    if let Some(tls) = tls {
        server = server.with_tls(tls.config()?);
        start(&mut tasks, "certificate", tls.remind());
    }
    start(&mut tasks, "watchdog", ping_watchdog());
    let count = server.revoked_key_counter();
    let housekeeping = housekeeping::run(Arc::clone(&key_ring), keys, catalogue, count);
    start(&mut tasks, "housekeeping", housekeeping);
    let mut failure = None;
    let stop = async {
        tokio::select! {
            () = signals.stop.cancelled() => {}
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
    if signals.end_logged.set(()).is_err() {
        // The signal task has logged that a second signal stopped the process. That task ends the process with exit
        // code 1.
        future::pending::<()>().await;
    }
    match drained {
        DrainOutcome::Complete => tracing::info!("stopped: every request was answered"),
        DrainOutcome::CutOff { connections } => {
            let cut_off = "stopped: the grace period was over, so connections were cut off";
            tracing::warn!(connections, "{cut_off}");
        }
    }
    failure.map_or(Ok(()), Err)
}

/// Starts a background task. A task that ends has failed.
fn start(tasks: &mut JoinSet<()>, name: &str, task: impl Future<Output = ()> + Send + 'static) {
    tasks.spawn(task);
    tracing::debug!(name, "a task runs beside the requests");
}

/// Returns the text that accompanies the first API key; `None` if the configuration has a key.
fn first_key(config: &Config, addresses: &[BoundAddress]) -> Option<FirstKey> {
    let address = addresses.first().filter(|_| config.service_key.is_none())?;
    let StoreArg { location, is_persistent } = &config.args.store.store;
    let how = if *is_persistent {
        format!("make one with 'petstore keys create NAME --store {location}'")
    } else {
        "give one by PETSTORE_API_KEY or --api-key-file".to_owned()
    };
    let url = address.url.as_ref().filter(|_| !config.settings.static_files.is_empty());
    let pages = url.map_or(String::new(), |url| {
        format!("In a browser: {url}/catalogue has the animals, {url}/docs the reference\n")
    });
    Some(FirstKey { how, target: format!("{}/v1/pets", address.curl), pages })
}

/// Returns a function that announces the addresses of the service on stdout and in the log, and notifies the service
/// manager. A terminal that shows both gets only the lines of stdout.
fn started(addresses: Vec<BoundAddress>, config: &Config) -> Box<dyn Fn() + Send + Sync> {
    let store = Arc::clone(&config.args.store.store.location);
    let environment = config.settings.environment.clone();
    Box::new(move || {
        let lines =
            addresses.iter().map(|address| format!("petstore listens on {}\n", address.shown));
        if let Err(failure) = Console.print(lines.collect::<String>()) {
            tracing::warn!("{failure}");
        }
        let is_seen = Console.is_terminal() && io::stderr().is_terminal();
        for BoundAddress { shown: address, .. } in addresses.iter().filter(|_| !is_seen) {
            let version = env!("CARGO_PKG_VERSION");
            tracing::info!(%address, %store, environment, version, "petstore listens");
        }
        notify(&[NotifyState::Ready]);
    })
}
