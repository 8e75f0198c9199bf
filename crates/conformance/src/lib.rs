//! The contract of petstore's storage ports as promises, each a test that any adapter runs.
//!
//! An adapter implements [`Harness`] and [`ScratchStore`] in its `tests/conformance.rs`. There,
//! `conformance_tests!(Memory);` makes a test for each promise; [`check`] is the body of each test:
//!
//! ```
//! use std::sync::Arc;
//!
//! use petstore_conformance::{BoxError, Capability, Harness, ScratchStore, Store, check};
//! use petstore_memory::MemoryStore;
//!
//! struct Memory;
//!
//! #[async_trait::async_trait]
//! impl Harness for Memory {
//!     async fn fresh(&self) -> Result<Box<dyn ScratchStore>, BoxError> {
//!         Ok(Box::new(Place(Arc::default())))
//!     }
//!
//!     // A promise that needs an unsupported capability is printed as not checked.
//!     fn unsupported(&self, capability: Capability) -> Option<&'static str> {
//!         (capability == Capability::Reopen).then_some("a closed store is empty")
//!     }
//! }
//!
//! /// Where one throw-away store keeps its data: here a value in memory.
//! struct Place(Arc<MemoryStore>);
//!
//! #[async_trait::async_trait]
//! impl ScratchStore for Place {
//!     async fn open(&self, reads_while_sealed: bool) -> Result<Store, BoxError> {
//!         Ok(Store::with_archive(Arc::new(self.0.handle(reads_while_sealed))))
//!     }
//! }
//!
//! check(Memory, "identifiers_grow_and_none_is_assigned_twice").unwrap();
//! ```
//!
//! `docs/ADAPTERS.md` is the guide for authors. `promises.rs` lists the promises.

mod calls;
mod content;
mod elsewhere;
mod failure;
mod fixture;
mod harness;
mod promises;
mod run;
mod samples;

pub use elsewhere::{act, act_as_child, act_in_child};
pub use failure::Failure;
pub use harness::{BoxError, Capability, Harness, ScratchStore, Store};
pub use promises::{PROMISES, Promise, model::SEED_VARIABLE};
pub use run::{Outcome, check, print_coverage, run};

/// Defines one test for each promise. One more test prints how many promises are not checked, and why: without it, an
/// unchecked promise would look like a kept one.
///
/// Each test evaluates `$harness`, an expression for a [`Harness`](crate::Harness). Attributes after the expression
/// apply to each test of a promise: `conformance_tests!(MyHarness; #[ignore = "no server"])`.
#[macro_export]
macro_rules! conformance_tests {
    ($harness:expr $(; $(#[$attribute:meta])+)?) => {
        $crate::__for_each_promise! { __promise_tests! { ($harness) [$($(#[$attribute])+)?] } }
    };
}

/// Defines the tests from the list of promises.
#[doc(hidden)]
#[macro_export]
macro_rules! __promise_tests {
    ({ ($harness:expr) $attributes:tt }
     $($subject:ident :: $name:ident [$($need:ident),*];)*) => {
        $($crate::__promise_test! { ($harness) $attributes $name })*

        #[test]
        fn coverage_is_printed() -> ::core::result::Result<(), $crate::Failure> {
            $crate::print_coverage(&$harness)
        }
    };
}

/// Defines the test of one promise.
#[doc(hidden)]
#[macro_export]
macro_rules! __promise_test {
    (($harness:expr) [$(#[$attribute:meta])*] $name:ident) => {
        $(#[$attribute])*
        #[test]
        fn $name() -> ::core::result::Result<(), $crate::Failure> {
            $crate::check($harness, ::core::stringify!($name))
        }
    };
}
