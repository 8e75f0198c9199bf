//! Why a TLS handshake has failed, in the words of the metrics and of the log.

use std::io;

use tokio_rustls::rustls::Error;

/// The client sent something that is not TLS: mostly plain HTTP.
pub(crate) const NOT_TLS: &str = "not_tls";
/// The handshake was not done in the time for a head.
pub(crate) const TIMEOUT: &str = "timeout";
/// The client went away, as the probes of balancers do.
pub(crate) const DISCONNECTED: &str = "disconnected";
/// The client offers no version, cipher suite or protocol that the service has.
const INCOMPATIBLE: &str = "incompatible";
/// The client has sent an alert: mostly, it does not trust the certificate.
const REFUSED_BY_CLIENT: &str = "refused_by_client";
/// The client breaks the rules of TLS, or the service is at fault.
const OTHER: &str = "other";

/// The values of the label `reason`.
pub(crate) const REASONS: [&str; 6] =
    [NOT_TLS, INCOMPATIBLE, REFUSED_BY_CLIENT, DISCONNECTED, TIMEOUT, OTHER];

/// Returns the reason for which a handshake that began as TLS has failed.
pub(crate) fn reason(error: &io::Error) -> &'static str {
    match error.get_ref().and_then(|cause| cause.downcast_ref::<Error>()) {
        // The connection has failed, or has ended too soon.
        None => DISCONNECTED,
        Some(Error::PeerIncompatible(_) | Error::NoApplicationProtocol) => INCOMPATIBLE,
        Some(Error::AlertReceived(_)) => REFUSED_BY_CLIENT,
        Some(_) => OTHER,
    }
}
