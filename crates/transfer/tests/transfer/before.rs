//! Checks every promise on a service before a handover.

petstore_conformance::conformance_tests!(crate::pair::Pairs { handed_over: false });
