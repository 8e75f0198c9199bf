//! Connects to the first host that answers and satisfies `target_session_attrs`.
//!
//! The connector tries the hosts in the order of the URL, starting with the host of the last connection. If a host does
//! not answer for [`HEAD_START`], the connector also tries the next host, and retries the hosts that refused. A call
//! that started to connect before a failover therefore finds the new primary. The driver by itself would try one host
//! at a time, and each host once.

mod handshake;

#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, VecDeque},
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use self::handshake::Handshake;
pub(crate) use self::handshake::Purpose;
use crate::{config::PostgresConfig, connection::Connection, error::StoreFailure, tls};
use petstore_storage::{tls::TlsFailure, url::HostPort};
use tokio::{task::JoinSet, time};
use tokio_postgres::{Config, config::SslMode};

/// The time after which the next host is tried beside a silent host. A host that drops every packet delays a call by
/// this time, not by the whole connect timeout.
const HEAD_START: Duration = Duration::from_millis(500);

/// Connects to the hosts of a store URL.
pub(crate) struct Connector {
    hosts: Vec<(HostPort, Handshake)>,
    pub(crate) config: Arc<PostgresConfig>,
    /// The index of the host of the last connection. This host is tried first.
    preferred: AtomicUsize,
}

impl Connector {
    pub(crate) fn new(config: &PostgresConfig) -> Result<Self, TlsFailure> {
        let (tls, config) = (tls::connector(config)?, Arc::new(config.clone()));
        let handshake = |host: &HostPort| Handshake {
            driver: driver_config(&config, host),
            tls: tls.clone(),
            config: Arc::clone(&config),
            refuses_setting: Arc::default(),
        };
        let hosts = config.hosts.iter().map(|host| (host.clone(), handshake(host))).collect();
        Ok(Self { hosts, config, preferred: AtomicUsize::new(0) })
    }

    /// Returns a connection to the first host that answers and satisfies `target_session_attrs`. The future is boxed so
    /// that its callers compile without the driver.
    pub(crate) fn connect(
        &self,
        purpose: Purpose,
    ) -> Pin<Box<dyn Future<Output = Result<Connection, StoreFailure>> + Send + '_>> {
        Box::pin(self.connect_to_first(purpose))
    }

    async fn connect_to_first(&self, purpose: Purpose) -> Result<Connection, StoreFailure> {
        let preferred = self.preferred.load(Ordering::Relaxed);
        let (count, timeout) = (self.hosts.len(), self.config.connect_timeout);
        let mut untried: VecDeque<_> = (0..count).map(|step| (preferred + step) % count).collect();
        // The last failure of each host, and the hosts that failed without a timeout. Only hosts in `refused` are tried
        // again.
        let (mut failures, mut refused) = (BTreeMap::new(), VecDeque::new());
        // Dropping the set cancels all running attempts.
        let mut attempts = JoinSet::new();
        loop {
            if let Some(index) = untried.pop_front() {
                let handshake = self.hosts[index].1.clone();
                // Limits the whole handshake; the driver's own timeout covers TCP alone.
                attempts.spawn(async move {
                    let result = time::timeout(timeout, handshake.connect(purpose)).await;
                    (index, result.unwrap_or(Err(StoreFailure::Deadline(timeout))))
                });
            } else if attempts.is_empty() {
                return Err(StoreFailure::Connect(failures.into_values().collect()));
            }
            let is_last = untried.is_empty() && refused.is_empty();
            let head_start = if is_last { Duration::MAX } else { HEAD_START };
            let Ok(Some(finished)) = time::timeout(head_start, attempts.join_next()).await else {
                // A host is silent. Meanwhile a host that refused may have become the primary.
                untried.append(&mut refused);
                continue;
            };
            match finished {
                Ok((index, Ok(connection))) => {
                    self.preferred.store(index, Ordering::Relaxed);
                    return Ok(connection);
                }
                Ok((index, Err(failure))) => {
                    if !matches!(failure, StoreFailure::Deadline(_)) {
                        refused.push_back(index);
                    }
                    failures.insert(index, (self.hosts[index].0.clone(), failure));
                }
                // The attempt panicked. The panic hook has reported the panic.
                Err(_) => {}
            }
        }
    }
}

fn driver_config(config: &PostgresConfig, host: &HostPort) -> Config {
    let mut driver = config.driver.clone();
    driver.host(&host.host).port(host.port).connect_timeout(config.connect_timeout);
    if host.is_unix() {
        driver.ssl_mode(SslMode::Disable);
    }
    driver
}
