//! A guard that ends what runs beside a test. A test that fails unwinds, drops the guard, and so ends too.

use std::{
    ops::{Deref, DerefMut},
    process::Child,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

/// Something that runs beside a test and can be told to end.
pub trait End {
    /// Ends it. May be called after it has ended by itself.
    fn end(&mut self);
}

/// Kills the process and waits for its end.
impl End for Child {
    fn end(&mut self) {
        // Both fail only if the process has ended.
        let _ = self.kill();
        let _ = self.wait();
    }
}

/// Sets the flag, which threads read as "stop".
impl End for &AtomicBool {
    fn end(&mut self) {
        self.store(true, Ordering::SeqCst);
    }
}

/// Sets the flag, which threads read as "stop".
impl End for Arc<AtomicBool> {
    fn end(&mut self) {
        self.store(true, Ordering::SeqCst);
    }
}

/// Ends a process, or the threads that read a flag, when it is dropped.
#[derive(Debug)]
pub struct EndOnDrop<T: End>(T);

impl<T: End> EndOnDrop<T> {
    /// Guards `running`.
    pub const fn new(running: T) -> Self {
        Self(running)
    }
}

impl<T: End> Deref for EndOnDrop<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: End> DerefMut for EndOnDrop<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T: End> Drop for EndOnDrop<T> {
    fn drop(&mut self) {
        self.0.end();
    }
}

#[cfg(test)]
mod tests {
    use std::{
        panic::catch_unwind,
        process::Command,
        sync::atomic::{AtomicBool, Ordering},
    };

    use super::EndOnDrop;
    use crate::processes::runs;

    #[test]
    fn a_panic_ends_what_is_guarded() {
        let (stop, mut process) = (AtomicBool::new(false), String::new());
        let failed = catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _threads = EndOnDrop::new(&stop);
            let sleep = EndOnDrop::new(Command::new("sleep").arg("60").spawn().unwrap());
            process = sleep.id().to_string();
            assert!(!runs(&process), "an assertion that fails");
        }));
        assert!(failed.is_err() && stop.load(Ordering::SeqCst) && !runs(&process));
    }
}
