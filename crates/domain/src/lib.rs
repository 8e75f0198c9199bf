//! The domain of the animal store: values and their rules, ports, and use cases.
//!
//! One folder for each subject: `catalogue` (animals), `access` (API keys), `transfer` (moving a
//! whole store). Each holds its values and their rules, its ports, and its use cases.
//!
//! This crate does no I/O and reads no clock. What it needs is a driven port ([`PetRepository`],
//! [`KeyStore`], [`Archive`], [`Handover`], [`Clock`]); what it offers is a driving port ([`PetService`],
//! [`Authenticator`]). Values are built by
//! constructors that check them (`new`, `parse`), so that a value that exists is valid.
//!
//! With the feature `mocks` every port has a mock (`MockPetService`, …), `ManualClock` is a
//! clock that a test can move, and `mocks` has samples.

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
