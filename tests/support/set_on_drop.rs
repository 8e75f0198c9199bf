//! A flag that ends other threads, also if this one panics: a test that fails must not hang.

use std::sync::atomic::{AtomicBool, Ordering};

/// Sets the flag when it is dropped.
pub(crate) struct SetOnDrop<'f>(pub(crate) &'f AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}
