//! The state mark of a catalogue.

/// Marks one state of the catalogue. Two reads under one mark give the same answer; a mark never
/// comes back for another state, restarts included. Marks have no order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CatalogueVersion(pub u128);

/// What was read, with the mark of the very state that it was read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Versioned<T> {
    /// What was read.
    pub value: T,
    /// `None` when the store cannot tell the mark cheaply.
    pub version: Option<CatalogueVersion>,
}
