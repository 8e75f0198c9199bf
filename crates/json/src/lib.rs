//! The JSON form of an animal (interface, section 2): one reader and one writer, which the HTTP
//! adapter and the commands `import` and `export` share.
//!
//! The reader is strict and names every field error in one message. The rules of a single field are
//! in [`Draft`], so that other formats, CSV for example, refuse the same values with the same words.

mod draft;
mod field;
mod field_errors;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod integer;
mod reader;
mod writer;

pub use draft::{Draft, Record};
pub use field::Field;
pub use field_errors::FieldErrors;
pub use reader::{ReadError, read_new_pet, read_record};
pub use writer::{pet_to_json, pets_to_json, write_pet};
