//! The page `/catalogue`.

mod adding;
mod counts;
mod key;
mod list;
