//! The words, the rules, the ports and the use cases of the animal store.
//!
//! This crate does no I/O and reads no clock: whatever it needs from the outside it names as a
//! driven port ([`PetRepository`], [`ApiKeyRepository`], [`Clock`]). Whatever the outside asks of
//! it goes through a driving port ([`PetService`], [`Authenticator`]). Values are built through one
//! door each (`parse`), so that a value that exists is valid.
//!
//! With the feature `mocks` every port has a mock (`MockPetService`, …), and `ManualClock` is a
//! clock that a test can move.

mod api_key;
mod cursor;
mod error;
mod idempotency;
mod page;
mod pet;
mod pet_name;
mod plain_integer;
mod ports;
mod timestamp;
mod use_cases;
mod version;

pub use api_key::{
    ApiKey, ApiKeySecret, InvalidKeyName, KeyDigest, KeyId, KeyName, KeyState, NewApiKey,
};
pub use cursor::{CursorMismatch, CursorPosition};
pub use error::{
    AddError, AddKeyError, Corruption, ReadError, RestoreError, RollKeyError, Unavailable,
};
pub use idempotency::{
    Fingerprint, Idempotency, IdempotencyAttempt, IdempotencyKey, InvalidIdempotencyKey,
};
pub use page::{InvalidPageLimit, PageLimit, PetPage, PetQuery};
pub use pet::{CategoryId, InvalidPetId, InvalidPetStatus, NewPet, Pet, PetId, PetStatus};
pub use pet_name::{InvalidPetName, PetName, PetNameFault};
pub use ports::{
    Added, ApiKeyRepository, Archive, AttemptRecord, AuthenticationError, Authenticator, Caller,
    Clock, KeySelector, PetRepository, PetService, Restore, Snapshot, StoreCounts,
};
pub use timestamp::Timestamp;
pub use use_cases::{
    Catalogue, Copied, CopyError, CopyStore, Difference, InvalidServiceKey, KeyAdmin, KeyRing,
    MoveProgress, MoveStep, RangeDigest, ServiceKey, Verified, VerifyError, VerifyStores, Watch,
};
pub use version::{CatalogueVersion, Versioned};

#[cfg(any(test, feature = "mocks"))]
pub use ports::{
    ManualClock, MockApiKeyRepository, MockArchive, MockAuthenticator, MockClock,
    MockPetRepository, MockPetService, MockRestore, MockSnapshot,
};
