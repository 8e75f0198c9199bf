//! The JSON form of an animal (interface, section 2): one reader and one writer, which the HTTP
//! adapter and the commands `import` and `export` share.
//!
//! The reader is strict and names every fault in one message. Its rules of a single field are in
//! [`Draft`], so that other formats, CSV for example, read the same fields with the same faults.

mod draft;
mod faults;
mod field;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod integer;
mod reader;
mod writer;

pub use draft::{Draft, Record};
pub use faults::Faults;
pub use field::Field;
pub use reader::{ReadError, read_new_pet, read_record};
pub use writer::{pet_to_json, pets_to_json, write_pet};
