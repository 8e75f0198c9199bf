//! Sees the HTTP/2 heads that are too large.
//!
//! h2 answers each of them 431 by itself, and says so in its log alone. So that line is read here. It is
//! written while the connection is polled, on the thread that polls it: [`poll`] knows whose head it was.
//! Nothing else of h2's log is enabled, which leaves its other lines as cheap as before.

use std::{
    cell::Cell,
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use tracing::{
    Event, Level, Metadata, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{Layer, filter::filter_fn, layer, registry::LookupSpan};

/// The module of h2 that writes the line, and what the line contains.
const TARGET: &str = "h2::proto::streams::recv";
const LINE: &str = "recv_headers: frame is over size";

thread_local! {
    /// Heads that were refused on this thread since [`poll`] looked.
    static REFUSED: Cell<u32> = const { Cell::new(0) };
}

/// What a subscriber of the log needs for these heads to be counted and logged.
#[must_use]
pub fn oversized_heads<S>() -> impl Layer<S> + Send + Sync
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    let is_of_interest: fn(&Metadata<'_>) -> bool =
        |event| *event.level() == Level::DEBUG && event.target() == TARGET;
    OversizedHeads.with_filter(filter_fn(is_of_interest).with_max_level_hint(Level::DEBUG))
}

struct OversizedHeads;

impl<S: Subscriber> Layer<S> for OversizedHeads {
    fn on_event(&self, event: &Event<'_>, _: layer::Context<'_, S>) {
        let mut line = Line { is_refusal: false };
        event.record(&mut line);
        if line.is_refusal {
            REFUSED.set(REFUSED.get().saturating_add(1));
        }
    }
}

struct Line {
    is_refusal: bool,
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.is_refusal |= field.name() == "message" && format!("{value:?}").contains(LINE);
    }
}

/// Polls a connection, and calls `note` for each head that was refused meanwhile.
pub(super) fn poll<C: Future + Unpin>(
    connection: &mut C,
    context: &mut Context<'_>,
    mut note: impl FnMut(),
) -> Poll<C::Output> {
    let polled = Pin::new(connection).poll(context);
    for _ in 0..REFUSED.take() {
        note();
    }
    polled
}
