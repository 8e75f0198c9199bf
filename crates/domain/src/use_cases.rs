//! The use cases: what implements the driving ports over the driven ones.

mod catalogue;
mod key_admin;
mod key_ring;

pub use catalogue::Catalogue;
pub use key_admin::KeyAdmin;
pub use key_ring::{InvalidServiceKey, KeyRing, ServiceKey};
