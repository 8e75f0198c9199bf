//! The use cases over a store in memory, for behavior that mocks cannot show.

#![expect(clippy::unwrap_used, reason = "tests")]

mod catalogue;
mod faults;
mod faulty;
mod key_admin;
mod key_ring;
mod model;
mod support;
