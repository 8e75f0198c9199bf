//! From the list of hosts to a connection.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{task::JoinSet, time};
use tokio_postgres::{
    Config,
    config::{SslMode as Negotiation, TargetSessionAttrs},
    error::SqlState,
};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::{
    config::{HostPort, Parameters, PostgresConfig, SslMode},
    connection::{Connection, Purpose},
    error::in_full,
    tls::{self, TlsFailure},
};

/// How long one host is given before the next one is tried besides. A host that drops every packet
/// costs this much, not the whole connect timeout.
const HEAD_START: Duration = Duration::from_millis(500);
/// When a silent peer is asked whether it is still there.
const KEEPALIVE: Duration = Duration::from_secs(10);

/// Makes connections.
pub(crate) struct Connector {
    hosts: Vec<(HostPort, Config)>,
    parameters: Arc<Parameters>,
    tls: MakeRustlsConnect,
    /// The host that answered last is the first to be asked.
    preferred: AtomicUsize,
}

/// No host could be connected to.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.shown())]
pub(crate) struct ConnectError {
    /// Each host with what is wrong there.
    hosts: Vec<(HostPort, HostFailure)>,
}

#[derive(Debug, thiserror::Error)]
enum HostFailure {
    #[error("no answer within {0:?}")]
    Timeout(Duration),
    #[error("{}", in_full(.0))]
    Postgres(tokio_postgres::Error),
    #[error("the attempt was broken off")]
    BrokenOff,
}

impl Connector {
    pub(crate) fn new(config: &PostgresConfig) -> Result<Self, TlsFailure> {
        let hosts = config.hosts.iter().map(|host| (host.clone(), driver_config(config, host)));
        Ok(Self {
            hosts: hosts.collect(),
            tls: tls::connector(&config.parameters)?,
            parameters: Arc::new(config.parameters.clone()),
            preferred: AtomicUsize::new(0),
        })
    }

    pub(crate) fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// A connection to the first host that answers and takes writes (unless `any` may be taken).
    pub(crate) async fn connect(&self, purpose: Purpose) -> Result<Connection, Arc<ConnectError>> {
        let preferred = self.preferred.load(Ordering::Relaxed);
        let mut waiting = (0..self.hosts.len()).map(|step| (preferred + step) % self.hosts.len());
        // Dropping the set breaks off whatever is still under way.
        let mut attempts = JoinSet::new();
        let mut failures = Vec::new();
        loop {
            match waiting.next() {
                Some(index) => drop(attempts.spawn(self.attempt(index, purpose))),
                None if attempts.is_empty() => {
                    return Err(Arc::new(ConnectError { hosts: failures }));
                }
                None => {}
            }
            let is_last = waiting.len() == 0;
            let head_start = if is_last { Duration::MAX } else { HEAD_START };
            let Ok(Some(finished)) = time::timeout(head_start, attempts.join_next()).await else {
                continue;
            };
            match finished {
                Ok((index, Ok(connection))) => {
                    self.preferred.store(index, Ordering::Relaxed);
                    return Ok(connection);
                }
                Ok((index, Err(failure))) => failures.push((self.hosts[index].0.clone(), failure)),
                Err(_) => failures.push((self.hosts[preferred].0.clone(), HostFailure::BrokenOff)),
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
        let (config, tls) = (self.hosts[index].1.clone(), self.tls.clone());
        let parameters = Arc::clone(&self.parameters);
        async move {
            let connect = async {
                let (client, wire) = config.connect(tls).await?;
                let connection = Connection::new(client, wire);
                connection.configure(&parameters, purpose).await?;
                Ok(connection)
            };
            let timeout = parameters.connect_timeout;
            let result = time::timeout(timeout, connect).await;
            (
                index,
                result.map_or(Err(HostFailure::Timeout(timeout)), |result| {
                    result.map_err(HostFailure::Postgres)
                }),
            )
        }
    }
}

fn driver_config(config: &PostgresConfig, host: &HostPort) -> Config {
    let PostgresConfig { user, password, database, parameters, .. } = config;
    let mut driver = Config::new();
    driver.user(user).dbname(database).host(&host.host).port(host.port);
    driver.application_name("petstore");
    if let Some(password) = password {
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

impl ConnectError {
    fn shown(&self) -> String {
        let hosts = self.hosts.iter().map(|(host, failure)| format!("{host}: {failure}"));
        format!("cannot connect ({})", hosts.collect::<Vec<_>>().join("; "))
    }

    /// What the server says, if one of them answered.
    pub(crate) fn sql_state(&self) -> Option<&SqlState> {
        self.hosts.iter().find_map(|(_, failure)| match failure {
            HostFailure::Postgres(error) => error.code(),
            HostFailure::Timeout(_) | HostFailure::BrokenOff => None,
        })
    }
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hosts = self.hosts.iter().map(|(host, _)| host);
        f.debug_list().entries(hosts).finish()
    }
}
