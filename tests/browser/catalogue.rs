//! The page `/catalogue`.

mod adding;
pub(crate) mod conditions;
mod copying;
mod counts;
mod finding;
mod key;
mod layout;
mod list;
mod outage;
mod sending;
