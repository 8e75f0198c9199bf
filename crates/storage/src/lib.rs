//! Parts that adapters of the storage ports share. Each part is optional.
//!
//! ```
//! use std::convert::Infallible;
//!
//! use petstore_domain::{Added, CategoryId, NewPet, PetId, PetName};
//! use petstore_storage::writer::{Add, Answers, Job, channel};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // `Infallible`: this store writes nothing but additions.
//! let (writer, mut jobs) = channel::<Infallible>(64, None);
//! // One task owns the store. It takes a group, writes it in one transaction, and then answers.
//! tokio::spawn(async move {
//!     let mut last = 0;
//!     while let Some(group) = jobs.next(0).await {
//!         let mut answers = Answers::default();
//!         for job in group {
//!             let Job::Add(Add { pet, reply, .. }) = job;
//!             last += 1;
//!             answers.add(reply, Ok(Added::Created(pet.with_id(PetId(last)))));
//!         }
//!         answers.send();
//!     }
//! });
//! let name = PetName::parse("Rex")?;
//! let rex = NewPet { name, category_id: CategoryId(1), status: None };
//! assert!(matches!(writer.add(rex, None).await?, Added::Created(pet) if pet.id == PetId(1)));
//! # Ok(()) }
//! ```
//!
//! | part | use |
//! |---|---|
//! | [`writer`] | every store: a bounded queue for one writing task or thread, groups, deadlines, answers |
//! | [`VersionCache`], [`watch`] | `PetRepository::version` without a call to the store |
//! | [`StoreTasks`], [`OpenSettings`] | stores on a network: the writing task, the task that reads the version, and the settings |
//! | [`PanicGuard`] | a signal to the program that a thread or a task has panicked |
//! | [`Step`], [`require_known`] | schema versions, upgrades, and the check whether a store may be opened |
//! | [`Finding`], [`Upgrade`] | the output of `petstore check` and `petstore upgrade` |
//! | [`opening_error`], [`error_chain`] | errors for the log and for `serve`, which waits for an unavailable store |
//! | [`url`], [`tls`] | the URL of a store on a network, and the certificate authorities that it trusts |
//!
//! # Schema versions
//! The steps that upgrade an old store also create a new store, so both stores have the same schema. A released step
//! never changes; each change of the schema is a new step.
//!
//! A store records two schema versions: the one that it has, and the oldest one that a release must know to use it. A
//! release refuses a store whose oldest version it does not know, and a store whose schema is not upgraded yet. So an
//! older release keeps using an upgraded store, unless a step of the upgrade is incompatible. An incompatible step must
//! break the statements of older releases, for example by renaming a table, because an older release may still have the
//! store open.

mod failure;
mod panics;
mod schema;
mod tasks;
pub mod tls;
mod upkeep;
pub mod url;
mod version_cache;
pub mod writer;

pub use failure::{error_chain, opening_error};
pub use panics::PanicGuard;
pub use schema::{SchemaError, Step, require_known};
pub use tasks::{OpenSettings, StoreTasks};
pub use upkeep::{Finding, Severity, Upgrade, UpgradeMode};
pub use version_cache::{StoredVersion, VersionCache, watch};
