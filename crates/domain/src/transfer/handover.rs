//! Driven port: what a store offers so that it can be handed over to another one while services use it
//! (`docs/STORES.md`).

use std::fmt;

use async_trait::async_trait;

use crate::{
    catalogue::{
        idempotency::IdempotencyRecord,
        pet::{Pet, PetId},
    },
    error::StoreError,
};

/// The identity of one store: 16 random bytes that it was made with. A copy of a store has the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StoreId(pub [u8; 16]);

impl fmt::Display for StoreId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Whether a store takes writes, and whose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Services write to it.
    Open {
        /// The store that was handed over to this one, if one was.
        from: Option<StoreId>,
    },
    /// Only the mover writes to it, and nobody reads from it.
    Filling {
        /// The store that is copied.
        from: StoreId,
    },
    /// Nobody writes to it.
    Sealed {
        /// The store that it is handed over to.
        to: StoreId,
        /// That store's URL without its password, to be shown and never to connect by.
        label: String,
    },
}

impl Phase {
    /// Returns the phase as parts to be stored: its word, the other store, and the label.
    #[must_use]
    pub fn parts(&self) -> (&'static str, Option<StoreId>, Option<&str>) {
        match self {
            Self::Open { from } => ("open", *from, None),
            Self::Filling { from } => ("filling", Some(*from), None),
            Self::Sealed { to, label } => ("sealed", Some(*to), Some(label)),
        }
    }

    /// Returns the phase that has these parts, if one has.
    #[must_use]
    pub fn from_parts(word: &str, other: Option<StoreId>, label: Option<String>) -> Option<Self> {
        Some(match word {
            "open" => Self::Open { from: other },
            "filling" => Self::Filling { from: other? },
            "sealed" => Self::Sealed { to: other?, label: label? },
            _ => return None,
        })
    }

    /// Returns why a service may not use the store, in words that follow "the store"; `None` if it may.
    #[must_use]
    pub fn refusal(&self) -> Option<String> {
        match self {
            Self::Open { .. } => None,
            Self::Filling { .. } => Some(
                "is being filled from another one: 'petstore store move', or 'restore', opens it when it holds everything; run it again if it was stopped"
                    .to_owned(),
            ),
            Self::Sealed { label, .. } => Some(format!("was handed over to {label}; use that one")),
        }
    }
}

/// What a store says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreState {
    /// Which store it is.
    pub id: StoreId,
    /// Grows with each change of the state, and from each store to the one that it is handed over to: of two
    /// open stores, the one with the higher revision is the one that counts.
    pub revision: i64,
    /// How often animals were changed otherwise than by adding some under the next identifiers: past petstore, by a
    /// batch that has identifiers.
    pub rewrites: i64,
    /// Whether it takes writes.
    pub phase: Phase,
}

impl StoreState {
    /// Returns the next state, with another phase.
    #[must_use]
    pub fn with(&self, phase: Phase) -> Self {
        Self { revision: self.revision + 1, phase, ..self.clone() }
    }

    /// Returns whether this store is open because `other` was handed over to it.
    #[must_use]
    pub fn succeeds(&self, other: &Self) -> bool {
        self.phase == Phase::Open { from: Some(other.id) } && self.revision > other.revision
    }

    /// Returns whether `writer` may write to the store.
    ///
    /// # Errors
    /// [`StoreError::Sealed`].
    pub fn permit(&self, writer: Writer) -> Result<(), StoreError> {
        match (writer, &self.phase) {
            (Writer::Service, Phase::Open { .. }) => Ok(()),
            (Writer::Service, phase) => {
                Err(StoreError::Sealed(phase.refusal().unwrap_or_default()))
            }
            (Writer::Mover(revision), Phase::Filling { .. }) if revision == self.revision => Ok(()),
            (Writer::Mover(_), _) => {
                Err(StoreError::Sealed("is not being filled by this mover any more".to_owned()))
            }
        }
    }
}

/// Who writes to a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Writer {
    /// A service or a command.
    #[default]
    Service,
    /// The mover that has brought the store to this revision.
    Mover(i64),
}

/// Animals, and the idempotency records of these animals.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Ascending by identifier.
    pub pets: Vec<Pet>,
    /// In any order.
    pub records: Vec<IdempotencyRecord>,
}

/// What a store offers so that it can be handed over to another one, or take another one's place, while
/// services use it. Optional: a store without it is copied while nothing writes.
///
/// # Contract
/// - A write of a service to a store that is not [open](Phase::Open) fails with [`StoreError::Sealed`] and has
///   no effect, in all processes from the moment at which [`change_state`](Self::change_state) has returned,
///   which waits for writes under way. Only whoever opens the store again ends that.
/// - A read of animals from such a store fails likewise, and [`version`](crate::PetRepository::version) is
///   `None` 100 ms later. After [`read_while_sealed`](Self::read_while_sealed) a *sealed* store is read, with
///   `None` for the version of what is read.
/// - Idempotency records and keys can be read whatever the state is.
#[cfg_attr(any(test, feature = "mocks"), mockall::automock)]
#[async_trait]
pub trait Handover: Send + Sync {
    /// Returns the state.
    ///
    /// # Errors
    /// [`StoreError`].
    async fn state(&self) -> Result<StoreState, StoreError>;

    /// Replaces identity, revision and phase if the stored revision is `expected`. Returns whether it was. The
    /// rewrites stay.
    ///
    /// # Errors
    /// [`StoreError`]; whether it has happened is then not known.
    async fn change_state(&self, expected: i64, new: StoreState) -> Result<bool, StoreError>;

    /// Returns the first `limit` animals above `after`, with their records. No animal appears later at or below
    /// the last of them, unless by a change that is counted as a [rewrite](StoreState::rewrites).
    ///
    /// # Errors
    /// [`StoreError`].
    async fn changes(&self, after: Option<PetId>, limit: u32) -> Result<Changes, StoreError>;

    /// Lets reads through this handle go on while the store is sealed.
    fn read_while_sealed(&self);
}

#[cfg(test)]
mod tests {
    use super::{Phase, StoreId, StoreState, Writer};

    const ONE: StoreId = StoreId([1; 16]);
    const OTHER: StoreId = StoreId([2; 16]);

    fn phases() -> [Phase; 4] {
        [
            Phase::Open { from: None },
            Phase::Open { from: Some(OTHER) },
            Phase::Filling { from: OTHER },
            Phase::Sealed { to: OTHER, label: "elsewhere".to_owned() },
        ]
    }

    #[test]
    fn a_phase_comes_back_from_its_parts() {
        for phase in phases() {
            let (word, other, label) = phase.parts();
            let label = label.map(str::to_owned);
            assert_eq!(Phase::from_parts(word, other, label), Some(phase));
        }
        assert_eq!(Phase::from_parts("closed", None, None), None);
        assert_eq!(Phase::from_parts("filling", None, None), None);
    }

    #[test]
    fn one_kind_of_writer_is_permitted_at_most() {
        for (phase, service, mover) in phases()
            .into_iter()
            .zip([(true, false), (true, false), (false, true), (false, false)])
            .map(|(phase, (service, mover))| (phase, service, mover))
        {
            let state = StoreState { id: ONE, revision: 7, rewrites: 0, phase };
            assert_eq!(state.permit(Writer::Service).is_ok(), service, "{state:?}");
            assert_eq!(state.phase.refusal().is_none(), service, "{state:?}");
            assert_eq!(state.permit(Writer::Mover(7)).is_ok(), mover, "{state:?}");
            assert!(state.permit(Writer::Mover(6)).is_err(), "{state:?}");
        }
    }

    #[test]
    fn of_two_open_stores_the_later_one_succeeds_the_other() {
        let state = |id, revision, from| StoreState {
            id,
            revision,
            rewrites: 0,
            phase: Phase::Open { from },
        };
        let old = state(ONE, 7, Some(OTHER));
        assert!(state(OTHER, 8, Some(ONE)).succeeds(&old));
        assert!(!state(OTHER, 6, Some(ONE)).succeeds(&old), "it was handed over earlier");
        assert!(!state(OTHER, 8, None).succeeds(&old), "it is another store");
        assert!(!old.with(Phase::Filling { from: OTHER }).succeeds(&state(OTHER, 1, None)));
    }
}
