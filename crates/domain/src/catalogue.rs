//! The catalogue of animals: its values and their rules, the driving port [`PetService`], the driven port
//! [`PetRepository`], and the use case [`Catalogue`].

pub(crate) mod cursor;
pub(crate) mod idempotency;
pub(crate) mod name;
pub(crate) mod page;
pub(crate) mod pet;
pub(crate) mod repository;
pub(crate) mod service;
pub(crate) mod status;
pub(crate) mod use_case;

pub use self::{
    cursor::{CursorMismatch, CursorPosition},
    idempotency::{
        Fingerprint, Idempotency, IdempotencyDecision, IdempotencyId, IdempotencyKey,
        IdempotencyRecord, IdempotencyRequest, InvalidIdempotencyKey,
    },
    name::{InvalidPetName, PetName},
    page::{InvalidPageLimit, PageLimit, PetPage, PetQuery},
    pet::{CategoryId, InvalidCategoryId, InvalidPetId, NewPet, Pet, PetId},
    repository::{AddError, Added, CatalogueVersion, PetRepository, Purged, Versioned},
    service::PetService,
    status::{InvalidPetStatus, PetStatus},
    use_case::Catalogue,
};

#[cfg(any(test, feature = "mocks"))]
pub use self::{repository::MockPetRepository, service::MockPetService};
