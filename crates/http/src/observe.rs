//! Observation of requests: lines in the log, numbers for a monitoring system, and the ids under which
//! both and the client know a request.

pub(crate) mod handshakes;
pub(crate) mod ids;
pub(crate) mod log;
pub(crate) mod metrics;
pub(crate) mod samples;
