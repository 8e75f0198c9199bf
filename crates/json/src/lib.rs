//! The JSON form of an animal (`docs/INTERFACE.md`, "Animals"): one reader and one writer, for HTTP, import and export.
//!
//! ```
//! use petstore_domain::PetId;
//! use petstore_json::{pet_to_json, read_new_pet};
//!
//! let pet = read_new_pet(br#"{"name":"Rex","categoryId":1}"#)?.with_id(PetId(7));
//! assert_eq!(pet_to_json(&pet), br#"{"id":7,"name":"Rex","categoryId":1}"#);
//!
//! let error = read_new_pet(br#"{"name":"Rex","age":3}"#).unwrap_err();
//! let message = "`age`: unknown field; allowed are name, categoryId and status; `categoryId`: is required";
//! assert_eq!(error.to_string(), message);
//! # Ok::<(), petstore_json::ReadError>(())
//! ```
//!
//! The reader is strict and names every field error in one message. [`Draft`] has the rules of single fields, so that
//! other formats, such as CSV, refuse the same values with the same messages.

mod draft;
mod field_errors;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod integer;
mod reader;
mod writer;

pub use draft::{Draft, Field, Record};
pub use field_errors::FieldErrors;
pub use reader::{ReadError, read_new_pet, read_record};
pub use writer::{pet_to_json, pets_to_json, write_pet};
