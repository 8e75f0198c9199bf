//! One log line for a request, at most, with its cause if the service itself failed.
//!
//! A line names the route's template, never the path, the query or a header but the request id: an
//! API key cannot slip into it.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use hyper::{Method, StatusCode, header::HeaderValue};

use crate::{error::ApiError, judge::Target, settings::AccessLog, state::State};

/// How many lines about refused requests, and how many about failures, a second may have, unless
/// every request is logged: neither a client that does everything wrong nor a store that is gone
/// must fill the disk.
const LINES_PER_SECOND: u32 = 100;

/// What a line tells.
pub(crate) struct Line<'r> {
    pub(crate) request_id: &'r HeaderValue,
    /// `None` if it did not arrive.
    pub(crate) method: Option<&'r Method>,
    pub(crate) target: Target<'r>,
    pub(crate) began: Instant,
}

impl Line<'_> {
    pub(crate) fn write_success(&self, state: &State, status: StatusCode) {
        if state.settings.access_log == AccessLog::All {
            self.info(status, "");
        }
    }

    pub(crate) fn write_refusal(&self, state: &State, error: &ApiError) {
        let status = error.code.status();
        let failed = error.cause.is_some();
        let log = state.settings.access_log;
        if log == AccessLog::Off && !failed {
            return;
        }
        if log != AccessLog::All {
            let budget = if failed { &state.failure_lines } else { &state.refusal_lines };
            let Some(unwritten) = budget.take(self.began) else { return };
            if unwritten > 0 {
                tracing::warn!(unwritten, failed, "requests were not logged one by one");
            }
        }
        if failed {
            self.error(status, error);
        } else {
            self.info(status, error.code.as_str());
        }
    }

    fn error(&self, status: StatusCode, error: &ApiError) {
        tracing::error!(
            request_id = self.request_id(),
            method = self.method(),
            route = self.route(),
            status = status.as_u16(),
            code = error.code.as_str(),
            micros = self.micros(),
            cause = error.cause.as_deref().unwrap_or_default(),
            "request failed"
        );
    }

    fn info(&self, status: StatusCode, code: &str) {
        tracing::info!(
            request_id = self.request_id(),
            method = self.method(),
            route = self.route(),
            status = status.as_u16(),
            code,
            micros = self.micros(),
            "request"
        );
    }

    fn request_id(&self) -> &str {
        self.request_id.to_str().unwrap_or_default()
    }

    /// A method that no route knows is the client's own text, so it is not repeated.
    fn method(&self) -> &str {
        let known = [Method::GET, Method::HEAD, Method::POST, Method::OPTIONS];
        self.method.map_or(
            "none",
            |method| {
                if known.contains(method) { method.as_str() } else { "other" }
            },
        )
    }

    fn route(&self) -> &'static str {
        self.target.map_or("none", |(route, _)| route.template)
    }

    fn micros(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}

/// Counts the lines of the current second.
#[derive(Debug, Default)]
pub(crate) struct LineBudget(Mutex<Option<Second>>);

#[derive(Debug)]
struct Second {
    began: Instant,
    written: u32,
    unwritten: u64,
}

impl LineBudget {
    /// The right to one line, and how many got none before it, to be said now; `None` if this
    /// second has had its lines.
    fn take(&self, now: Instant) -> Option<u64> {
        let mut guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let second = guard.get_or_insert(Second { began: now, written: 0, unwritten: 0 });
        if now.saturating_duration_since(second.began) >= Duration::from_secs(1) {
            *second = Second { began: now, written: 0, unwritten: second.unwritten };
        }
        if second.written < LINES_PER_SECOND {
            second.written += 1;
            return Some(std::mem::take(&mut second.unwritten));
        }
        second.unwritten += 1;
        None
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{LINES_PER_SECOND, LineBudget};

    #[test]
    fn a_second_has_so_many_lines_and_the_next_tells_what_was_left_out() {
        let budget = LineBudget::default();
        let began = Instant::now();
        for _ in 0..LINES_PER_SECOND {
            assert_eq!(budget.take(began), Some(0));
        }
        for _ in 0..7 {
            assert_eq!(budget.take(began + Duration::from_millis(999)), None);
        }
        assert_eq!(budget.take(began + Duration::from_secs(1)), Some(7));
        assert_eq!(budget.take(began + Duration::from_secs(1)), Some(0));
    }
}
