//! The settings of a server.

use std::{
    num::{NonZeroU32, NonZeroUsize},
    time::Duration,
};

use bytes::Bytes;
use petstore_domain::Timestamp;

use crate::request::forwarded::TrustedProxy;

/// The settings of a server. The default serves the interface without browser pages.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The name of this deployment, for the OpenAPI document and the log.
    pub environment: Option<String>,
    /// The URL of production, which ends in `/v1`, for the OpenAPI document. `Link` and `Location` begin with its path
    /// prefix.
    pub public_url: Option<String>,
    /// The URL of staging, which ends in `/v1`, for the OpenAPI document.
    pub staging_url: Option<String>,
    /// The end of the deprecated operation getPet.
    pub get_pet_sunset: GetPetSunset,
    /// The requests that get a log line.
    pub access_log: AccessLog,
    /// The proxies whose `X-Forwarded-For` header names the client for the log.
    pub trusted_proxies: Vec<TrustedProxy>,
    /// Limits and timeouts.
    pub limits: Limits,
    /// Static files for browsers. `/` redirects to the first file and is 404 without files.
    pub static_files: Vec<StaticFile>,
    /// The origins whose pages may call the service (CORS): `https://app.example`, as browsers send it, or `*` for
    /// every origin.
    pub cors_origins: Vec<String>,
}

/// A static file for browsers, served without a credential.
#[derive(Clone, Debug, Default)]
pub struct StaticFile {
    /// The path, outside `/v1`: for example `/docs`.
    pub path: &'static str,
    /// The `Content-Type`.
    pub media_type: &'static str,
    /// The `Content-Security-Policy`.
    pub content_security_policy: &'static str,
    /// The content, not compressed.
    pub content: Bytes,
}

/// The end of the deprecated operation getPet. From then on, the operation is answered with 410.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GetPetSunset {
    /// 5 December 2030, 00:00 UTC.
    #[default]
    Date,
    /// Never: the removal is postponed.
    Off,
    /// Already: the removal is rehearsed.
    Now,
}

impl GetPetSunset {
    /// Returns when getPet ends: `None` for [`Off`](Self::Off), the earliest time for [`Now`](Self::Now).
    #[must_use]
    pub const fn ends_at(self) -> Option<Timestamp> {
        match self {
            Self::Date => Some(Timestamp(1_922_659_200_000)),
            Self::Off => None,
            Self::Now => Some(Timestamp(i64::MIN)),
        }
    }
}

/// The requests that get a log line. With [`Errors`](Self::Errors) and [`Off`](Self::Off), the number of lines per
/// second is limited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AccessLog {
    /// Every request.
    All,
    /// Every request except a `/livez` or `/readyz` that is answered with 200.
    AllButProbes,
    /// Requests answered with a status of 400 or above.
    #[default]
    Errors,
    /// Only failures of the service itself, with their causes.
    Off,
}

/// Limits and timeouts of a server.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The time limit for a request head. It begins with the first byte of the head, or for the first request when the
    /// connection is accepted.
    pub header_timeout: Duration,
    /// The longest time between two requests of a connection.
    pub idle_timeout: Duration,
    /// The time limit for a request body.
    pub body_timeout: Duration,
    /// The time limit for a client that reads nothing, or less than 1 KiB/s, of its response.
    pub write_timeout: Duration,
    /// The time limit for a whole request. Then the answer is 503.
    pub request_timeout: Duration,
    /// The largest number of open connections. Further connections wait in the accept queue.
    pub max_connections: NonZeroUsize,
    /// The largest request body, in bytes.
    pub max_body: usize,
    /// The memory for all request bodies together, in bytes. Without room, the answer is 503. If the limit is below
    /// `max_body`, the largest bodies never fit.
    pub max_buffered_bodies: usize,
    /// The memory for requests over HTTP/2, and for answers that wait for their clients, of all connections, in bytes.
    /// Above half of this limit, a client must read something within a second. At the limit, the answers that have been
    /// unread for longest end, and requests over HTTP/2 are refused. Connections that hold less than an equal share are
    /// not affected.
    pub max_buffered_answers: usize,
    /// The largest number of requests per second of each API key. The requests of one second may come at once. The
    /// answer to further requests is 429. `None` means no limit.
    pub rate_limit: Option<NonZeroU32>,
    /// The shortest delay of an answer to a request without a live key. Only tests shorten it.
    pub refusal_delay: Duration,
    /// The memory for encoded pages and animals, in bytes. With 0, each request reads from the store.
    pub page_cache: usize,
    /// The time from the start of a shutdown to the last accepted connection. `/readyz` is 503 meanwhile, so that load
    /// balancers notice the shutdown.
    pub shutdown_delay: Duration,
    /// The time limit for remaining requests after `shutdown_delay`. Then their connections are cut off.
    pub shutdown_grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            header_timeout: Duration::from_secs(10),
            // Longer than the idle timeout of common load balancers.
            idle_timeout: Duration::from_secs(75),
            body_timeout: Duration::from_secs(10),
            write_timeout: Duration::from_secs(30),
            request_timeout: Duration::from_secs(30),
            max_connections: NonZeroUsize::new(10_000).unwrap_or(NonZeroUsize::MIN),
            max_body: 64 * 1024,
            max_buffered_bodies: 64 * 1024 * 1024,
            max_buffered_answers: 64 * 1024 * 1024,
            rate_limit: None,
            refusal_delay: Duration::from_millis(100),
            page_cache: 16 * 1024 * 1024,
            shutdown_delay: Duration::from_millis(500),
            shutdown_grace: Duration::from_secs(10),
        }
    }
}
