//! Requests by route, method and status; their durations by route.

use std::{array, sync::OnceLock, time::Duration};

use hyper::StatusCode;
use prometheus::{Histogram, HistogramVec, IntCounter, IntCounterVec};

/// Routes that keep their series; there are fewer. Those of others are looked up each time.
const MAX_ROUTES: usize = 16;
/// Pairs of a method and a status that a route keeps. Those of others are looked up each time.
const MAX_OUTCOMES: usize = 16;

#[derive(Debug)]
pub(super) struct Requests {
    counts: IntCounterVec,
    durations: HistogramVec,
    /// In the order in which they were first used.
    routes: [OnceLock<RouteSeries>; MAX_ROUTES],
}

#[derive(Debug)]
struct RouteSeries {
    route: &'static str,
    duration: Histogram,
    /// In the order in which they first came.
    outcomes: [OnceLock<OutcomeSeries>; MAX_OUTCOMES],
}

#[derive(Debug)]
struct OutcomeSeries {
    method: &'static str,
    status: StatusCode,
    count: IntCounter,
}

impl Requests {
    /// `counts` has the labels route, method and status, `durations` has route.
    pub(super) fn new(counts: IntCounterVec, durations: HistogramVec) -> Self {
        Self { counts, durations, routes: array::from_fn(|_| OnceLock::new()) }
    }

    /// A request has its answer.
    pub(super) fn finished(
        &self,
        route: &'static str,
        method: &'static str,
        status: StatusCode,
        took: Duration,
    ) {
        let known = self.routes.iter().find_map(|slot| {
            let series = slot.get_or_init(|| self.route_series(route));
            (series.route == route).then_some(series)
        });
        let Some(series) = known else {
            self.durations.with_label_values(&[route]).observe(took.as_secs_f64());
            return self.count(route, method, status).inc();
        };
        series.duration.observe(took.as_secs_f64());
        let known = series.outcomes.iter().find_map(|slot| {
            let count = || self.count(route, method, status);
            let outcome = slot.get_or_init(|| OutcomeSeries { method, status, count: count() });
            ((outcome.status, outcome.method) == (status, method)).then_some(&outcome.count)
        });
        match known {
            Some(count) => count.inc(),
            None => self.count(route, method, status).inc(),
        }
    }

    fn count(&self, route: &str, method: &str, status: StatusCode) -> IntCounter {
        self.counts.with_label_values(&[route, method, status.as_str()])
    }

    fn route_series(&self, route: &'static str) -> RouteSeries {
        RouteSeries {
            route,
            duration: self.durations.with_label_values(&[route]),
            outcomes: array::from_fn(|_| OnceLock::new()),
        }
    }
}
