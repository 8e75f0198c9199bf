//! The log, the metrics, and the alerts.

mod logs;
mod metrics;
