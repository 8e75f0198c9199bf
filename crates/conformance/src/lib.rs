//! The contract of the storage ports as runnable promises, for every adapter.
//!
//! [`PetRepository`](petstore_domain::PetRepository), [`KeyStore`] and [`Archive`] say in
//! words what a store promises. Here each promise is a function with a name, and an adapter keeps
//! the contract if it keeps them all. `docs/ADAPTERS.md` is the guide; in short:
//!
//! 1. Implement [`Harness`] and [`ScratchStore`] for the adapter.
//! 2. In `tests/conformance.rs` write `petstore_conformance::conformance_tests!(MyHarness);`. That
//!    makes one test for each promise.
//! 3. Declare in [`Harness::unsupported`] what the adapter does not support. The promises that need it are
//!    printed as not checked, never counted as kept. What is not declared is checked.
//!
//! # Where things are
//! `promises.rs` lists the promises; each is a function in the file of its subject. `run.rs` runs
//! one: [`check`] is the body of its test.
//!
//! [`KeyStore`]: petstore_domain::KeyStore
//! [`Archive`]: petstore_domain::Archive

mod calls;
mod elsewhere;
mod failure;
mod fixture;
mod harness;
mod model;
mod outcome;
mod promises;
mod random;
mod run;
mod samples;

pub use elsewhere::{act, act_as_child, act_in_child};
pub use failure::Failure;
pub use harness::{BoxError, Capability, Harness, ScratchStore, Store};
pub use outcome::Outcome;
pub use promises::{PROMISES, Promise};
pub use random::SEED_VARIABLE;
pub use run::{check, print_coverage, run};

/// Makes one test for each promise, and one that prints how many of them are not checked, and why:
/// the test runner counts those as passed. `$harness` is an expression for the
/// [`Harness`](crate::Harness) and is evaluated for each test. Attributes behind it, such as
/// `conformance_tests!(MyHarness; #[ignore = "no server"])`, stand above each test of a promise.
#[macro_export]
macro_rules! conformance_tests {
    ($harness:expr $(; $(#[$attribute:meta])+)?) => {
        $crate::__for_each_promise! { __promise_tests! { ($harness) [$($(#[$attribute])+)?] } }
    };
}

/// Makes the tests out of the list of promises.
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

/// Makes the test of one promise.
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
