//! The text format of Prometheus.

use prometheus::{IntCounter, IntGauge, Registry, TextEncoder};

use super::{
    figure::{Figure, FigureKind},
    register::register,
};

/// What `registry` knows, then `figures`.
pub(super) fn encode(registry: &Registry, figures: &[Figure]) -> prometheus::Result<String> {
    let own = Registry::new();
    for &Figure { name, help, kind, value } in figures {
        match kind {
            FigureKind::Counter => register(&own, IntCounter::new(name, help))?.inc_by(value),
            FigureKind::Gauge => {
                let value = i64::try_from(value).unwrap_or(i64::MAX);
                register(&own, IntGauge::new(name, help))?.set(value);
            }
        }
    }
    let mut families = registry.gather();
    families.extend(own.gather());
    TextEncoder::new().encode_to_string(&families)
}
