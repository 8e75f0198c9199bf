//! The state that all requests share.

use std::{fmt, sync::Arc};

use hyper::{HeaderMap, header::HeaderValue};
use petstore_domain::{Authenticator, Clock, KeyDigest, PetService};
use tokio::sync::Semaphore;

use crate::{
    connection::{ending::Drain, waiting::WaitingBodies},
    handlers::readiness::Readiness,
    observe::{ids::RequestIds, metrics::Metrics, samples::SampleSource},
    rate_limit::{BURST, LineBudget, RateLimit},
    request::address::public_base,
    response::{
        cache::PageCache,
        deprecation,
        openapi::openapi_document,
        representation::{Representation, template},
    },
    settings::Settings,
};

/// The largest number of waiting refusals, unless a quarter of `max_connections` is less.
pub(crate) const MAX_WAITING_REFUSALS: usize = 4096;

/// The ports that the server drives.
#[derive(Clone)]
pub struct Ports {
    /// The catalogue.
    pub pets: Arc<dyn PetService>,
    /// The check of API keys.
    pub authenticator: Arc<dyn Authenticator>,
    /// The clock for the sunset of getPet, and for `Date` except where hyper writes it over HTTP/1.
    pub clock: Arc<dyn Clock>,
}

impl fmt::Debug for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ports").finish_non_exhaustive()
    }
}

/// The sources of the metrics.
pub(crate) struct Monitor {
    /// The state of the service.
    pub(crate) service: Arc<State>,
    pub(crate) metrics: Arc<Metrics>,
    /// Returns samples of the store and of the process.
    pub(crate) samples: SampleSource,
}

/// The state that all connections of the service share, or all connections of its metrics listener.
pub(crate) struct State {
    pub(crate) ports: Ports,
    pub(crate) settings: Settings,
    /// The base path in the URLs that clients use.
    pub(crate) public_base: String,
    /// The headers that announce the deprecation of getPet.
    pub(crate) deprecation: HeaderMap,
    /// The headers of a 200 with one animal, including the headers of `deprecation`.
    pub(crate) pet_template: HeaderMap,
    pub(crate) request_ids: RequestIds,
    pub(crate) page_cache: PageCache,
    /// The memory for request bodies: one permit per byte.
    pub(crate) body_memory: Semaphore,
    /// The memory for requests of HTTP/2 and for responses that wait for their clients.
    pub(crate) waiting_bodies: Arc<WaitingBodies>,
    /// The bound of waiting refusals: one permit per refusal.
    pub(crate) refusal_permits: Semaphore,
    /// The rate limit of each API key; `None` without a limit.
    pub(crate) key_rate: Option<RateLimit<KeyDigest>>,
    /// The limits of log lines about refused requests, failures, and failed TLS handshakes.
    pub(crate) refusal_lines: LineBudget,
    pub(crate) failure_lines: LineBudget,
    pub(crate) handshake_lines: LineBudget,
    /// `None` for a server without metrics.
    pub(crate) metrics: Option<Arc<Metrics>>,
    /// The OpenAPI document of this deployment.
    pub(crate) openapi: Representation,
    /// The static files, in the order of the settings.
    pub(crate) static_files: Vec<Representation>,
    /// The readiness of the store.
    pub(crate) readiness: Readiness,
    /// The drain of the service.
    pub(crate) drain: Drain,
    /// `None` except in the state of the metrics listener.
    pub(crate) monitor: Option<Monitor>,
}

impl State {
    /// Creates the state of a server.
    pub(crate) fn new(ports: Ports, settings: Settings, metrics: Option<Arc<Metrics>>) -> Self {
        let openapi = Representation::json(openapi_document(&settings), None);
        let static_files = settings.static_files.iter().map(|file| {
            let media_type = HeaderValue::from_static(file.media_type);
            Representation::new(media_type, file.content.clone(), None)
        });
        let static_files = static_files.collect();
        let public_base = public_base(settings.public_url.as_deref()).to_owned();
        let deprecation = deprecation::announcement(settings.get_pet_sunset, &public_base);
        let page_cache = PageCache::new(settings.limits.page_cache);
        let max_refusals = settings.limits.max_connections.get() / 4;
        let max_refusals = max_refusals.clamp(1, MAX_WAITING_REFUSALS);
        let max_bytes = settings.limits.max_buffered_bodies.min(Semaphore::MAX_PERMITS);
        Self {
            ports,
            request_ids: RequestIds::new(),
            pet_template: template(deprecation.clone()),
            deprecation,
            public_base,
            page_cache,
            body_memory: Semaphore::new(max_bytes),
            waiting_bodies: WaitingBodies::new(settings.limits.max_buffered_answers),
            refusal_permits: Semaphore::new(max_refusals),
            key_rate: settings.limits.rate_limit.map(|rate| RateLimit::new(rate, BURST)),
            refusal_lines: LineBudget::new(),
            failure_lines: LineBudget::new(),
            handshake_lines: LineBudget::new(),
            metrics,
            openapi,
            static_files,
            readiness: Readiness::default(),
            drain: Drain::new(settings.limits.shutdown_delay),
            monitor: None,
            settings,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
