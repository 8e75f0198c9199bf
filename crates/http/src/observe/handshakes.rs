//! The reasons of failed TLS handshakes, as metrics and log name them.

use std::io;

use tokio_rustls::rustls::Error;

/// The client does not speak TLS; mostly it sends plain HTTP.
pub(crate) const NOT_TLS: &str = "not_tls";
/// The handshake was not complete within the header timeout.
pub(crate) const TIMEOUT: &str = "timeout";
/// The client closed the connection, as probes of load balancers do.
pub(crate) const DISCONNECTED: &str = "disconnected";
/// The client offers no version, cipher suite or protocol that the service supports.
const INCOMPATIBLE: &str = "incompatible";
/// The client has sent an alert; mostly it does not trust the certificate.
const REFUSED_BY_CLIENT: &str = "refused_by_client";
/// The client violates TLS, or the service is at fault.
const OTHER: &str = "other";

/// The values of the label `reason`.
pub(crate) const REASONS: [&str; 6] =
    [NOT_TLS, INCOMPATIBLE, REFUSED_BY_CLIENT, DISCONNECTED, TIMEOUT, OTHER];

/// Returns the reason of a failed handshake that began with the first byte of TLS.
pub(crate) fn reason(error: &io::Error) -> &'static str {
    match error.get_ref().and_then(|cause| cause.downcast_ref::<Error>()) {
        // No error of TLS: the connection has failed or ended.
        None => DISCONNECTED,
        Some(Error::PeerIncompatible(_) | Error::NoApplicationProtocol) => INCOMPATIBLE,
        Some(Error::AlertReceived(_)) => REFUSED_BY_CLIENT,
        Some(_) => OTHER,
    }
}
