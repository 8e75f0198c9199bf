//! What is said where both URLs name one store.

pub(super) const SAME_STORE: &str = "--from and --to name the same store; name two";
