//! From the list of hosts to a connection.
//!
//! The hosts are tried in their order, beginning with the one that answered last. A host that does
//! not answer for [`HEAD_START`] is not waited for alone: the next one is tried beside it. So a
//! failover is found by the next call that connects.

mod handshake;
mod session;

#[cfg(test)]
mod tests;

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use self::handshake::Handshake;
pub(crate) use self::session::Purpose;
use crate::{
    config::{Address, HostPort, Parameters, PostgresConfig, SslMode},
    connection::Connection,
    error::{ConnectError, HostFailure},
    tls::{self, TlsFailure},
};
use tokio::{task::JoinSet, time};
use tokio_postgres::{
    Config,
    config::{SslMode as Negotiation, TargetSessionAttrs},
};

/// How long one host is given before the next one is tried beside it. A host that drops every packet
/// costs this much, not the whole connect timeout.
const HEAD_START: Duration = Duration::from_millis(500);
/// When a silent server is asked whether it is still there.
const KEEPALIVE: Duration = Duration::from_secs(10);

/// Makes connections.
pub(crate) struct Connector {
    hosts: Vec<(HostPort, Handshake)>,
    parameters: Arc<Parameters>,
    /// The host that answered last is the first to be asked.
    preferred: AtomicUsize,
}

impl Connector {
    pub(crate) fn new(config: &PostgresConfig) -> Result<Self, TlsFailure> {
        let PostgresConfig { address, parameters } = config;
        let (tls, parameters) = (tls::connector(parameters)?, Arc::new(parameters.clone()));
        let handshake = |host: &HostPort| Handshake {
            config: driver_config(address, host, &parameters),
            tls: tls.clone(),
            parameters: Arc::clone(&parameters),
            refuses_setting: Arc::default(),
            is_pgpool: Arc::default(),
        };
        Ok(Self {
            hosts: address.hosts.iter().map(|host| (host.clone(), handshake(host))).collect(),
            parameters,
            preferred: AtomicUsize::new(0),
        })
    }

    pub(crate) fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// A connection to the first host that answers and takes writes (unless `any` may be taken).
    pub(crate) async fn connect(&self, purpose: Purpose) -> Result<Connection, Arc<ConnectError>> {
        let preferred = self.preferred.load(Ordering::Relaxed);
        let mut untried = (0..self.hosts.len()).map(|step| (preferred + step) % self.hosts.len());
        // Dropping the set cancels whatever is still under way.
        let mut attempts = JoinSet::new();
        let mut hosts = Vec::new();
        loop {
            match untried.next() {
                Some(index) => drop(attempts.spawn(self.attempt(index, purpose))),
                None if attempts.is_empty() => return Err(Arc::new(ConnectError { hosts })),
                None => {}
            }
            let is_last = untried.len() == 0;
            let head_start = if is_last { Duration::MAX } else { HEAD_START };
            let Ok(Some(finished)) = time::timeout(head_start, attempts.join_next()).await else {
                continue;
            };
            match finished {
                Ok((index, Ok(connection))) => {
                    self.preferred.store(index, Ordering::Relaxed);
                    return Ok(connection);
                }
                Ok((index, Err(failure))) => hosts.push((self.hosts[index].0.clone(), failure)),
                Err(_) => hosts.push((self.hosts[preferred].0.clone(), HostFailure::Canceled)),
            }
        }
    }

    /// Connects to one host. The timeout is for all of it: the driver's own ends with the
    /// handshake of TCP.
    fn attempt(
        &self,
        index: usize,
        purpose: Purpose,
    ) -> impl Future<Output = (usize, Result<Connection, HostFailure>)> + Send + 'static {
        let handshake = self.hosts[index].1.clone();
        let timeout = self.parameters.connect_timeout;
        async move {
            let result = time::timeout(timeout, handshake.connect(purpose)).await;
            (index, result.unwrap_or(Err(HostFailure::Timeout(timeout))))
        }
    }
}

fn driver_config(address: &Address, host: &HostPort, parameters: &Parameters) -> Config {
    let mut driver = Config::new();
    driver.user(&address.user).dbname(&address.database).host(&host.host).port(host.port);
    driver.application_name("petstore");
    if let Some(password) = &address.password {
        driver.password(password);
    }
    driver.connect_timeout(parameters.connect_timeout);
    driver.tcp_user_timeout(parameters.tcp_user_timeout);
    driver.keepalives_idle(KEEPALIVE);
    driver.ssl_mode(match parameters.ssl_mode {
        _ if host.is_unix() => Negotiation::Disable,
        SslMode::Disable => Negotiation::Disable,
        SslMode::Prefer => Negotiation::Prefer,
        SslMode::VerifyFull => Negotiation::Require,
    });
    driver.target_session_attrs(if parameters.read_write {
        TargetSessionAttrs::ReadWrite
    } else {
        TargetSessionAttrs::Any
    });
    driver
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hosts = self.hosts.iter().map(|(host, _)| host);
        f.debug_list().entries(hosts).finish()
    }
}
