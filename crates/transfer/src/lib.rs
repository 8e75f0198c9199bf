//! x
mod mover;
mod switch;
