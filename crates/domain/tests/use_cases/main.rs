//! The use cases over a store in memory: what the mocks of the unit tests cannot show.

#![expect(clippy::unwrap_used, reason = "tests")]

mod catalogue;
mod faults;
mod faulty;
mod key_admin;
mod key_ring;
mod model;
mod support;
