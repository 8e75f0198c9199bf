//! Why a TLS handshake has failed, in the words of the metrics and of the log.

use std::io;

use tokio_rustls::rustls::{Error, InvalidMessage};

/// Why a TLS handshake has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HandshakeFailure {
    /// The client did not speak TLS: mostly plain HTTP.
    NotTls,
    /// It offers no version, cipher suite or protocol that the service has.
    Incompatible,
    /// It has sent an alert: mostly, it does not trust the certificate.
    RefusedByClient,
    /// It went away, as the probes of balancers do.
    Disconnected,
    /// It was not done in the time for a head.
    Timeout,
    /// The client broke the rules of TLS, or the service is at fault.
    Other,
}

impl HandshakeFailure {
    pub(crate) const ALL: [Self; 6] = [
        Self::NotTls,
        Self::Incompatible,
        Self::RefusedByClient,
        Self::Disconnected,
        Self::Timeout,
        Self::Other,
    ];

    /// Returns the value of the label `reason`.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::NotTls => "not_tls",
            Self::Incompatible => "incompatible",
            Self::RefusedByClient => "refused_by_client",
            Self::Disconnected => "disconnected",
            Self::Timeout => "timeout",
            Self::Other => "other",
        }
    }
}

impl From<&io::Error> for HandshakeFailure {
    fn from(error: &io::Error) -> Self {
        let cause = error.get_ref().and_then(|cause| cause.downcast_ref::<Error>());
        match cause {
            // The connection has failed, or has ended too soon.
            None => Self::Disconnected,
            Some(Error::InvalidMessage(InvalidMessage::InvalidContentType)) => Self::NotTls,
            Some(Error::PeerIncompatible(_) | Error::NoApplicationProtocol) => Self::Incompatible,
            Some(Error::AlertReceived(_)) => Self::RefusedByClient,
            Some(_) => Self::Other,
        }
    }
}
