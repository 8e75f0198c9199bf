//! Why no host could be connected to.

use std::time::Duration;

use tokio_postgres::error::SqlState;

use super::in_full::in_full;
use crate::config::HostPort;

/// No host could be connected to.
#[derive(Debug, thiserror::Error)]
#[error("cannot connect ({})", each(hosts))]
pub(crate) struct ConnectError {
    /// Each host with what is wrong there.
    pub(crate) hosts: Vec<(HostPort, HostFailure)>,
}

/// Why one host could not be connected to.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HostFailure {
    #[error("no answer within {0:?}")]
    Timeout(Duration),
    #[error("{}", in_full(.0))]
    Postgres(#[from] tokio_postgres::Error),
    #[error("no random bytes: {0}")]
    Random(getrandom::Error),
    #[error("connecting was canceled")]
    Canceled,
}

impl ConnectError {
    /// Whether a server was reached that allows no more connections.
    pub(crate) fn is_full(&self) -> bool {
        self.sql_state() == Some(&SqlState::TOO_MANY_CONNECTIONS)
    }

    /// What the server says, if one of them answered.
    pub(crate) fn sql_state(&self) -> Option<&SqlState> {
        self.hosts.iter().find_map(|(_, failure)| match failure {
            HostFailure::Postgres(error) => error.code(),
            HostFailure::Timeout(_) | HostFailure::Random(_) | HostFailure::Canceled => None,
        })
    }
}

fn each(hosts: &[(HostPort, HostFailure)]) -> String {
    let hosts = hosts.iter().map(|(host, failure)| format!("{host}: {failure}"));
    hosts.collect::<Vec<_>>().join("; ")
}
