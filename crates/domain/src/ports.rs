//! The ports: what drives the domain, and what the domain needs.

mod api_key_repository;
mod archive;
mod authenticator;
mod clock;
mod pet_repository;
mod pet_service;

pub use api_key_repository::{ApiKeyRepository, KeySelector};
pub use archive::{Archive, AttemptRecord, Restore, Snapshot, StoreCounts};
pub use authenticator::{AuthenticationError, Authenticator, Caller};
pub use clock::Clock;
pub use pet_repository::{Added, PetRepository};
pub use pet_service::PetService;

#[cfg(any(test, feature = "mocks"))]
pub use self::{
    api_key_repository::MockApiKeyRepository,
    archive::{MockArchive, MockRestore, MockSnapshot},
    authenticator::MockAuthenticator,
    clock::{ManualClock, MockClock},
    pet_repository::MockPetRepository,
    pet_service::MockPetService,
};
