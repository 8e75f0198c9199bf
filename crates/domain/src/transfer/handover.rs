//! Driven port: the state of a store. Changes of the state hand the store over to another store while services use both
//! (`docs/STORES.md`).

use std::fmt;

use async_trait::async_trait;

use crate::error::{Corruption, StoreError};

/// The identity of a store: 16 random bytes, drawn when the store is made, and again when it is released as a separate
/// store. A copy of the store's files has the same identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StoreId(pub [u8; 16]);

impl fmt::Display for StoreId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The phase of a store: decides who may read and write the store.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Services read and write.
    Open {
        /// The store whose [successor](StoreState::is_successor_of) this store is; `None` for a separate store.
        from: Option<StoreId>,
    },
    /// A command that copies or moves a store writes. No service reads animals.
    Filling {
        /// The store that is copied.
        from: StoreId,
    },
    /// No process writes. Only a handle that was opened with `reads_while_sealed` reads animals.
    Sealed {
        /// The store that replaces this store.
        to: StoreId,
        /// The URL of that store without its password: shown to people, never used to connect.
        label: String,
    },
}

impl Phase {
    /// Returns the parts of the phase that a store keeps: the word, the other store, and the label.
    #[must_use]
    pub fn parts(&self) -> (&'static str, Option<StoreId>, Option<&str>) {
        match self {
            Self::Open { from } => ("open", *from, None),
            Self::Filling { from } => ("filling", Some(*from), None),
            Self::Sealed { to, label } => ("sealed", Some(*to), Some(label)),
        }
    }

    /// Makes the phase from its [parts](Self::parts).
    ///
    /// # Errors
    /// If no phase has these parts.
    pub fn from_parts(
        word: &str,
        other: Option<StoreId>,
        label: Option<String>,
    ) -> Result<Self, Corruption> {
        match (word, other, label) {
            ("open", from, _) => Ok(Self::Open { from }),
            ("filling", Some(from), _) => Ok(Self::Filling { from }),
            ("sealed", Some(to), Some(label)) => Ok(Self::Sealed { to, label }),
            _ => Err(Corruption::new("the state of the store", "it is open, filling or sealed")),
        }
    }

    /// Returns whether services read and write the store.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        matches!(self, Self::Open { .. })
    }

    /// Returns the reason why a service may not use the store, in words that follow "the store"; `None` if the store is
    /// open.
    #[must_use]
    pub fn refusal(&self) -> Option<String> {
        match self {
            Self::Open { .. } => None,
            Self::Filling { .. } => Some(
                "is being filled from another store and is not complete: run the same 'petstore store copy', \
                 'store move' or 'restore' again"
                    .to_owned(),
            ),
            Self::Sealed { label, .. } => Some(format!("was handed over to {label}; use that one")),
        }
    }
}

/// The state of a store, which is stored with its rows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StoreState {
    /// The identity of the store.
    pub id: StoreId,
    /// Increases with each change of the state. A successor has a higher revision than the store that it replaces. Of
    /// two open stores, the store with the higher revision is in use.
    pub revision: i64,
    /// The number of transactions that changed animals in another way than by adding animals under new identifiers.
    /// Such changes come from SQL of another program, or from [`write_rows`](crate::Archive::write_rows).
    pub rewrites: i64,
    /// The phase of the store.
    pub phase: Phase,
}

impl StoreState {
    /// Returns the state with the next revision and another phase.
    #[must_use]
    pub fn next(&self, phase: Phase) -> Self {
        Self { revision: self.revision + 1, phase, ..self.clone() }
    }

    /// Returns whether `other` was handed over to this store, which is open.
    #[must_use]
    pub fn is_successor_of(&self, other: &Self) -> bool {
        self.phase == Phase::Open { from: Some(other.id) } && self.revision > other.revision
    }

    /// Checks whether `writer` may write to the store. An adapter calls this method in the transaction of the write.
    ///
    /// # Errors
    /// [`StoreError::Sealed`] if `writer` may not write.
    pub fn permit_write(&self, writer: WriterRole) -> Result<(), StoreError> {
        let is_filling = matches!(self.phase, Phase::Filling { .. });
        let refusal = match writer {
            WriterRole::Service => self.phase.refusal(),
            WriterRole::Mover(revision) if is_filling && revision == self.revision => None,
            WriterRole::Mover(_) => Some("is no longer being filled by this command".to_owned()),
        };
        refusal.map_or(Ok(()), |reason| Err(StoreError::Sealed(reason)))
    }

    /// Checks whether animals may be read through a handle that was opened with or without `reads_while_sealed`. An
    /// adapter calls this method in the snapshot of the read. Returns whether the read has a
    /// [version](crate::CatalogueVersion): a read of a sealed store has none.
    ///
    /// # Errors
    /// [`StoreError::Sealed`] if animals may not be read.
    pub fn permit_read(&self, reads_while_sealed: bool) -> Result<bool, StoreError> {
        if reads_while_sealed && matches!(self.phase, Phase::Sealed { .. }) {
            return Ok(false);
        }
        self.phase.refusal().map_or(Ok(true), |reason| Err(StoreError::Sealed(reason)))
    }
}

/// The role in which a caller writes to a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WriterRole {
    /// A service or a command.
    #[default]
    Service,
    /// The command that copies or moves a store to this store. Its change to [`Phase::Filling`] has this revision.
    Mover(i64),
}

/// Reads and replaces the state of a store, so that one store can replace another while services use them. Optional: a
/// store without this port can be copied only while nothing writes to the store.
///
/// # Contract
/// - The state is durable, and every process sees it.
/// - A write of a service to a store that is not [open](Phase::Open) fails with
///   [`StoreError::Sealed`] and has no effect. This holds in all processes once
///   [`change_state`](Self::change_state) has returned, which waits for writes that have begun.
/// - A read of animals from a store that is not open fails in the same way, in all processes. Within 100 ms,
///   [`version`](crate::PetRepository::version) is `None`.
/// - A handle that was opened with `reads_while_sealed` still reads a *sealed* store, without a version.
/// - [Keys](crate::KeyStore::load) and [snapshots](crate::Archive::snapshot) can be read in any phase.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait Handover: Send + Sync {
    /// Returns the state.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn state(&self) -> Result<StoreState, StoreError>;

    /// Replaces identity, revision and phase if the stored revision is `expected`. Returns whether the state was
    /// replaced. The store ignores the [`rewrites`](StoreState::rewrites) of `new`, and keeps its own.
    ///
    /// # Errors
    /// [`StoreError`]; the state may or may not be replaced.
    async fn change_state(&self, expected: i64, new: StoreState) -> Result<bool, StoreError>;
}

#[cfg(test)]
mod tests {
    use super::{Phase, StoreId, StoreState};

    const ONE: StoreId = StoreId([1; 16]);
    const OTHER: StoreId = StoreId([2; 16]);

    fn sealed() -> Phase {
        Phase::Sealed { to: OTHER, label: "elsewhere".to_owned() }
    }

    fn state(id: StoreId, revision: i64, phase: Phase) -> StoreState {
        StoreState { id, revision, rewrites: 0, phase }
    }

    #[test]
    fn a_phase_can_be_rebuilt_from_its_parts() {
        let open = [None, Some(OTHER)].map(|from| Phase::Open { from });
        for phase in open.into_iter().chain([Phase::Filling { from: OTHER }, sealed()]) {
            let (word, other, label) = phase.parts();
            let label = label.map(str::to_owned);
            assert_eq!(Phase::from_parts(word, other, label), Ok(phase));
        }
        for (word, other) in [("closed", None), ("filling", None), ("sealed", Some(OTHER))] {
            assert!(Phase::from_parts(word, other, None).is_err(), "{word}");
        }
    }

    #[test]
    fn the_phase_decides_who_may_read() {
        for (phase, read, read_while_sealed) in [
            (Phase::Open { from: None }, Some(true), Some(true)),
            (Phase::Open { from: Some(OTHER) }, Some(true), Some(true)),
            (Phase::Filling { from: OTHER }, None, None),
            (sealed(), None, Some(false)),
        ] {
            let state = state(ONE, 7, phase);
            // The value of a permitted read is whether the read has a version.
            assert_eq!(state.permit_read(false).ok(), read, "{state:?}");
            assert_eq!(state.permit_read(true).ok(), read_while_sealed, "{state:?}");
        }
    }

    #[test]
    fn the_open_store_with_the_higher_revision_is_the_successor() {
        let open = |id, revision, from| state(id, revision, Phase::Open { from });
        let old = open(ONE, 7, Some(OTHER));
        assert!(open(OTHER, 8, Some(ONE)).is_successor_of(&old));
        assert!(!open(OTHER, 7, Some(ONE)).is_successor_of(&old), "ONE has replaced it since");
        assert!(!open(OTHER, 8, None).is_successor_of(&old), "it is a separate store");
        assert!(!old.next(Phase::Filling { from: OTHER }).is_successor_of(&open(OTHER, 1, None)));
    }
}
