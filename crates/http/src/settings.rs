//! What an operator can choose.

use std::{
    fmt,
    num::{NonZeroU32, NonZeroUsize},
    time::Duration,
};

use bytes::Bytes;

use crate::request::forwarded::TrustedProxy;

/// How the service presents itself and what it allows.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The name of this deployment, for the OpenAPI document and the log.
    pub environment: Option<String>,
    /// Where production is reached, for the OpenAPI document; it ends in `/v1`. Links begin with its path.
    pub public_url: Option<String>,
    /// Where staging is reached, for the OpenAPI document; it ends in `/v1`.
    pub staging_url: Option<String>,
    /// When getPet ends.
    pub get_pet_sunset: GetPetSunset,
    /// Which requests are logged.
    pub access_log: AccessLog,
    /// Proxies whose `Forwarded` or `X-Forwarded-For` says who their client is, for the log.
    pub trusted_proxies: Vec<TrustedProxy>,
    /// Limits and times.
    pub limits: Limits,
    /// Files for browsers. `/` leads to the first; without any there is no `/`.
    pub static_files: Vec<StaticFile>,
    /// Origins whose pages may call the service, as browsers send them (`https://app.example`); `*` is any.
    pub cors_origins: Vec<String>,
}

/// A file for browsers. It is served as it is to everyone who asks, without a credential.
#[derive(Clone, Default)]
pub struct StaticFile {
    /// Its address, outside `/v1`.
    pub path: &'static str,
    /// Its `Content-Type`.
    pub media_type: &'static str,
    /// Its `Content-Security-Policy`.
    pub content_security_policy: &'static str,
    /// The content, not compressed.
    pub content: Bytes,
}

impl fmt::Debug for StaticFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StaticFile").field("path", &self.path).finish_non_exhaustive()
    }
}

/// When the deprecated operation getPet ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GetPetSunset {
    /// On 5 December 2030, 00:00 UTC, as the interface says (section 4.3).
    #[default]
    Date,
    /// Not yet: the removal is postponed.
    Off,
    /// It has ended: the removal is rehearsed.
    Now,
}

/// Which requests get a log line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AccessLog {
    /// Every request.
    All,
    /// Requests answered with a status of 400 or above.
    #[default]
    Errors,
    /// Only failures of the service itself, with their causes.
    Off,
}

/// Limits and times of the server.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How long the head of a request may take to arrive, from its first byte, or from when its connection was accepted.
    pub header_timeout: Duration,
    /// How long a connection may wait for its next request.
    pub idle_timeout: Duration,
    /// How long the body of a request may take to arrive.
    pub body_timeout: Duration,
    /// How long a client may take nothing of a response, or less than 1 KiB a second.
    pub write_timeout: Duration,
    /// How long a request may take as a whole.
    pub request_timeout: Duration,
    /// The most connections that are served at once; one more waits in the accept queue.
    pub max_connections: NonZeroUsize,
    /// The largest request body, in bytes.
    pub max_body: usize,
    /// The most bytes of request bodies that are held at a time; beyond it the answer is 503. At least `max_body`, or the
    /// largest bodies never fit.
    pub max_buffered_bodies: usize,
    /// Requests a second of each API key, and as many at once; beyond it the answer is 429.
    pub rate_limit: Option<NonZeroU32>,
    /// The least time that a request without a live key waits for its answer. No option: only tests shorten it.
    pub refusal_delay: Duration,
    /// Memory for encoded pages and animals, in bytes; with 0 each is read from the store.
    pub page_cache: usize,
    /// How long connections are still accepted, and idle ones kept, after the service has turned not ready: as long as its
    /// load balancers take to notice that.
    pub shutdown_delay: Duration,
    /// How long the drain may then take until the connections that are left are cut off.
    pub shutdown_grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            header_timeout: Duration::from_secs(10),
            // Longer than the usual balancers keep a connection that they do not use.
            idle_timeout: Duration::from_secs(75),
            body_timeout: Duration::from_secs(10),
            write_timeout: Duration::from_secs(30),
            request_timeout: Duration::from_secs(30),
            max_connections: NonZeroUsize::new(10_000).unwrap_or(NonZeroUsize::MIN),
            max_body: 64 * 1024,
            max_buffered_bodies: 64 * 1024 * 1024,
            rate_limit: None,
            refusal_delay: Duration::from_millis(100),
            page_cache: 16 * 1024 * 1024,
            shutdown_delay: Duration::from_millis(500),
            shutdown_grace: Duration::from_secs(10),
        }
    }
}
