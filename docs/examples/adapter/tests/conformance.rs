//! The contract of the storage ports, kept on one file.

use example_adapter::ScratchFiles;

petstore_conformance::conformance_tests!(ScratchFiles { archive: true });
