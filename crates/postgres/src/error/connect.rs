//! Why no host could be connected to.

use std::{error::Error as _, time::Duration};

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
    Postgres(tokio_postgres::Error),
    #[error("the server asks for a password, and the URL has none")]
    NoPassword,
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
            HostFailure::NoPassword => Some(&SqlState::INVALID_PASSWORD),
            HostFailure::Timeout(_) | HostFailure::Random(_) | HostFailure::Canceled => None,
        })
    }
}

impl From<tokio_postgres::Error> for HostFailure {
    fn from(error: tokio_postgres::Error) -> Self {
        // The driver has no other sign of it.
        let is_missing =
            error.source().is_some_and(|cause| cause.to_string() == "password missing");
        if is_missing { Self::NoPassword } else { Self::Postgres(error) }
    }
}

fn each(hosts: &[(HostPort, HostFailure)]) -> String {
    let hosts = hosts.iter().map(|(host, failure)| format!("{host}: {failure}"));
    hosts.collect::<Vec<_>>().join("; ")
}
