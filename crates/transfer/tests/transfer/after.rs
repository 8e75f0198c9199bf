//! Checks every promise on a service that starts after a handover.

petstore_conformance::conformance_tests!(crate::pair::Pairs { handed_over: true });
