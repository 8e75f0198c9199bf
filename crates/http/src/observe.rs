//! Observation of requests: log lines, metrics, and the ids that identify a request to the client and in the log.

pub(crate) mod ids;
pub(crate) mod log;
pub(crate) mod metrics;
pub(crate) mod samples;
