//! The use cases: what implements the driving ports over the driven ones.

mod catalogue;
mod copy_store;
mod key_admin;
mod key_ring;
mod moving;
mod verify_stores;

pub use catalogue::Catalogue;
pub use copy_store::{Copied, CopyError, CopyStore};
pub use key_admin::KeyAdmin;
pub use key_ring::{InvalidServiceKey, KeyRing, ServiceKey};
pub use moving::{Difference, MoveProgress, MoveStep, Watch};
pub use verify_stores::{RangeDigest, Verified, VerifyError, VerifyStores};
