//! The catalogue of animals: its values and their rules, the driving port [`PetService`], the driven port
//! [`PetRepository`], and the use case [`Catalogue`].

pub(crate) mod idempotency;
pub(crate) mod name;
pub(crate) mod page;
pub(crate) mod pet;
pub(crate) mod repository;
pub(crate) mod service;

pub use self::{idempotency::*, name::*, page::*, pet::*, repository::*, service::*};
