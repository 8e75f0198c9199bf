//! The operation of `/metrics`, which only the metrics listener has, in the text format of Prometheus.
//!
//! The metrics listener needs no key, so it belongs on an address that only the monitoring system reaches. It runs
//! until the drain has ended.

use std::{collections::BTreeMap, num::NonZeroUsize, time::Duration};

use hyper::{StatusCode, header::HeaderValue};
use petstore_domain::{KeyLabel, NamedKey};
use tokio::time::timeout;

use super::public::readyz;
use crate::{
    observe::{metrics::MAX_NAMES, samples::Sample},
    response::{self, Response, error::ApiError},
    settings::{AccessLog, Limits, Settings},
    state::{Monitor, State},
};

/// The largest number of open connections. A monitoring system needs one or two.
pub(crate) const MAX_CONNECTIONS: NonZeroUsize = NonZeroUsize::new(32).unwrap();
/// The idle timeout of a connection. Usual scrape intervals are 15 s to 60 s.
pub(crate) const IDLE_TIMEOUT: Duration = Duration::from_secs(90);
/// The time limit for a request. Prometheus waits for 10 s.
pub(crate) const REQUEST_TIMEOUT: Duration = Duration::from_secs(6);
/// The time limit for the reads of the store and of the keys. Shorter than [`REQUEST_TIMEOUT`], so that a scrape gets
/// the remaining samples even if the store hangs.
const READ_TIMEOUT: Duration = Duration::from_secs(5);
const TEXT: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4");

impl Monitor {
    /// Creates the state of the metrics listener. The listener has the limits that are constants of this file, no page
    /// cache, and the other limits of the service. It logs only failures.
    pub(crate) fn into_state(self) -> State {
        let Settings { environment, limits, .. } = &self.service.settings;
        let limits = Limits {
            idle_timeout: IDLE_TIMEOUT,
            request_timeout: REQUEST_TIMEOUT,
            max_connections: MAX_CONNECTIONS,
            page_cache: 0,
            ..*limits
        };
        let (environment, access_log) = (environment.clone(), AccessLog::Off);
        let settings = Settings { environment, access_log, limits, ..Settings::default() };
        let state = State::new(self.service.ports.clone(), settings, None);
        State { monitor: Some(self), ..state }
    }

    /// Returns the samples of this scrape. Samples of keys are omitted if the keys cannot be read.
    async fn samples(&self) -> Vec<Sample> {
        let State { ports, page_cache, .. } = &*self.service;
        let (ready, live) = tokio::join!(
            timeout(READ_TIMEOUT, readyz(&self.service)),
            timeout(READ_TIMEOUT, ports.authenticator.live_keys()),
        );
        let ready = ready.is_ok_and(|ready| ready.is_ok()).into();
        let (pages, bytes) = page_cache.size();
        let mut samples = (self.samples)();
        let gauges = [
            ("petstore_ready", "1 if /readyz is 200.", ready),
            ("petstore_page_cache_pages", "Pages and animals in the cache.", pages),
            ("petstore_page_cache_bytes", "Memory of the cached pages and animals.", bytes),
        ];
        samples.extend(gauges.map(|(name, help, value)| Sample::gauge(name, help, value)));
        if let Ok(Ok(count)) = live {
            let help = "Live API keys in the store.";
            samples.push(Sample::gauge("petstore_live_keys", help, count as u64));
            let keys = ports.authenticator.named_keys();
            // Creates the counters with value 0, so that Prometheus sees the first request as an increase.
            let series = &self.metrics.series;
            for NamedKey { label, .. } in &keys {
                self.metrics.of_key(&series.deprecated, label.as_str());
                if let KeyLabel::Stored(name) = label {
                    self.metrics.of_key(&series.revoked, name.as_str());
                }
            }
            samples.extend(expiries(&keys));
        }
        samples
    }
}

/// Answers with the metrics.
pub(crate) async fn metrics(state: &State) -> Result<Response, ApiError> {
    let monitor = state.monitor.as_ref().ok_or_else(ApiError::route_not_found)?;
    let text = monitor.metrics.to_text(monitor.samples().await).map_err(ApiError::internal)?;
    Ok(response::with_body(StatusCode::OK, TEXT, text))
}

/// Returns the expiry of each key name, for the [`MAX_NAMES`] names that expire first.
fn expiries(keys: &[NamedKey]) -> impl Iterator<Item = Sample> {
    // While a key is replaced, two keys have the same name. The later entry is the newer key.
    let ends: BTreeMap<_, _> =
        keys.iter().map(|NamedKey { label, expires_at }| (label.as_str(), *expires_at)).collect();
    let ending = ends.into_iter().filter_map(|(name, end)| Some((end?.0 / 1000, name)));
    let mut ending: Vec<_> = ending.collect();
    ending.sort_unstable();
    let name = "petstore_key_expiry_timestamp_seconds";
    let help = "When the newest live API key of a name expires, in seconds since 1970.";
    ending.into_iter().take(MAX_NAMES).map(move |(seconds, key)| {
        Sample::gauge(name, help, u64::try_from(seconds).unwrap_or(0)).with_label("key", key)
    })
}

#[cfg(test)]
mod tests;
