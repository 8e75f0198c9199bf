//! The version of the catalogue.

/// Identifies one state of the catalogue. Two reads of one version give the same answer; a version
/// never comes back for another state, restarts included. Versions have no order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CatalogueVersion(pub u128);

/// What was read, with the version of the very state that it was read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Versioned<T> {
    /// What was read.
    pub value: T,
    /// `None` when the store has no cheap way to know the version.
    pub version: Option<CatalogueVersion>,
}
