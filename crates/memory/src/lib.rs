//! The storage ports in memory, for tests and for the sandbox `--store memory:`.
//!
//! ```
//! use petstore_domain::{Added, CategoryId, NewPet, PetName, PetRepository};
//! use petstore_memory::MemoryStore;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let store = MemoryStore::new();
//! let name = PetName::parse("Rex")?;
//! let rex = NewPet { name, category_id: CategoryId(1), status: None };
//! let Added::Created(added) = PetRepository::add(&store, rex, None).await? else {
//!     unreachable!("there is no idempotency key");
//! };
//! assert_eq!(store.find(added.id).await?.value, Some(added));
//! # Ok(()) }
//! ```
//!
//! The smallest complete adapter of [`PetRepository`](petstore_domain::PetRepository),
//! [`KeyStore`](petstore_domain::KeyStore), [`Archive`](petstore_domain::Archive) and
//! [`Handover`](petstore_domain::Handover). It keeps every promise except durability: dropping the last handle of a
//! [`MemoryStore`] drops its data. Each method holds one lock for all its work, so each method is atomic and waits only
//! for that lock.

mod api_keys;
mod archive;
mod handover;
mod pets;

mod state;
mod store;

pub use store::MemoryStore;
