//! A value that is read when it is asked for.

use std::sync::Arc;

/// One value of a store, or of another part of the service, as it is at this moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figure {
    /// The whole name: `petstore_`, the kind of store, what it is, and its unit. That of a counter ends
    /// in `_total`.
    pub name: &'static str,
    /// One sentence.
    pub help: &'static str,
    /// How it changes.
    pub kind: FigureKind,
    /// The value.
    pub value: u64,
}

/// How a [`Figure`] changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FigureKind {
    /// It only grows while the process runs.
    Counter,
    /// It goes up and down.
    Gauge,
}

/// Reads the figures of a store. It must not wait.
pub type Figures = Arc<dyn Fn() -> Vec<Figure> + Send + Sync>;
