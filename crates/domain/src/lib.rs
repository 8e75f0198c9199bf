//! The domain of the animal store: values and their rules, ports, and use cases.
//!
//! ```
//! use petstore_domain::{CategoryId, NewPet, PetId, PetName, PetStatus};
//!
//! let name = PetName::parse("Rex")?;
//! let rex = NewPet { name, category_id: CategoryId(1), status: Some(PetStatus::Available) };
//! // A store assigns the identifier.
//! assert_eq!(rex.with_id(PetId(7)).name.as_str(), "Rex");
//!
//! let refusal = PetName::parse("").unwrap_err();
//! assert_eq!(refusal.to_string(), "must have 1 to 255 characters, but is empty");
//! # Ok::<(), petstore_domain::InvalidPetName>(())
//! ```
//!
//! Each folder has one subject: `catalogue` (animals), `access` (API keys), `transfer` (whole stores).
//! A folder holds the values of its subject with their rules, its ports, and its use cases. The use cases of `transfer`
//! are in the crate `petstore-transfer`.
//!
//! This crate does no I/O and reads no clock. It calls the outside through driven ports ([`PetRepository`],
//! [`KeyStore`], [`Archive`], [`Handover`], [`Clock`]). The outside calls the crate through driving ports
//! ([`PetService`], [`Authenticator`]), and through functions such as [`add_key`]. Constructors (`new`, `parse`) check
//! the rules of a value.
//!
//! With the feature `mocks`, every port has a mock (`MockPetService`, …), the module `mocks` has samples,
//! and `ManualClock` is a clock that a test sets.

mod access;
mod catalogue;
mod clock;
mod error;
#[cfg(any(test, feature = "mocks"))]
pub mod mocks;
mod plain_integer;
mod timestamp;
mod transfer;

pub use access::*;
pub use catalogue::*;
pub use clock::*;
pub use error::{Corruption, StoreError};
pub use timestamp::Timestamp;
pub use transfer::*;
