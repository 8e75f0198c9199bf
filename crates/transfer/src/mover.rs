//! The mover.

mod observed;
mod step;

#[cfg(test)]
mod tests;
