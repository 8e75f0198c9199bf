//! The log, the metrics, and the alerts.

mod logs;
pub(crate) mod metrics;
