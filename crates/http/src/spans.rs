//! Requests as spans of traces, for whoever exports them.

use std::{sync::Arc, time::Duration};

/// A request whose answer is known, as a span.
#[derive(Clone, Copy, Debug)]
pub struct RequestSpan<'r> {
    /// The trace that it belongs to: its client's, or a new one.
    pub trace_id: u128,
    /// Its own identifier.
    pub span_id: u64,
    /// The client's span, if the trace is the client's.
    pub parent_id: Option<u64>,
    /// The id under which the log has it.
    pub request_id: &'r str,
    /// `other` if HTTP does not define it.
    pub method: &'static str,
    /// The template of its route; `none` if it has none.
    pub route: &'static str,
    /// Of the answer.
    pub status: u16,
    /// The error's code; `None` if there was none.
    pub code: Option<&'static str>,
    /// From its head until its answer was known.
    pub took: Duration,
}

/// Takes each finished request that is part of a recorded trace. It must not wait.
pub type Spans = Arc<dyn Fn(&RequestSpan<'_>) + Send + Sync>;
