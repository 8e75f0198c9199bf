//! Makes a metric known to a registry.

use prometheus::{Registry, core::Collector};

/// What was made, once `registry` knows it.
pub(super) fn register<C: Collector + Clone + 'static>(
    registry: &Registry,
    made: prometheus::Result<C>,
) -> prometheus::Result<C> {
    let metric = made?;
    registry.register(Box::new(metric.clone()))?;
    Ok(metric)
}
