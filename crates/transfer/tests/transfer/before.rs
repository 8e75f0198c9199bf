//! Every promise, before a handover.

petstore_conformance::conformance_tests!(crate::pair::Pairs { handed_over: false });
