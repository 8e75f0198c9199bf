//! The page `/catalogue`.

mod adding;
mod finding;
mod key;
mod list;
mod view;
