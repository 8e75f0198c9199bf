//! The use cases over a store in memory, for behavior that mocks cannot show.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod faults;
mod faulty;
