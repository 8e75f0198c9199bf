//! Every promise, after a handover that the service was started behind.

petstore_conformance::conformance_tests!(crate::pair::Pairs { handed_over: true });
