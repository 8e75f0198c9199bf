//! A guard that ends the processes and threads beside a test. A failed test unwinds and drops the guard, so the test
//! does not hang.

use std::{
    ops::{Deref, DerefMut},
    process::{Child, ExitStatus},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use crate::processes;

/// A process or threads beside a test, which can be ended.
pub trait End {
    /// Ends the process or the threads. May be called again after the end.
    fn end(&mut self);
}

/// Kills the process and its descendants, unless it has ended, and waits for its end.
impl End for Child {
    fn end(&mut self) {
        if !matches!(self.try_wait(), Ok(None)) {
            return;
        }
        let mut all = vec![self.id().to_string()];
        let mut next = 0;
        while next < all.len() {
            all.extend(processes::children_of(&all[next]));
            next += 1;
        }
        // The call fails only if the process has ended already.
        let _ = self.kill();
        all.iter().skip(1).for_each(|descendant| {
            let _ = processes::send("KILL", std::slice::from_ref(descendant));
        });
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

impl EndOnDrop<Child> {
    /// Waits until the process ends by itself.
    ///
    /// # Errors
    /// The process does not end within a minute.
    pub fn exit(&mut self) -> Result<ExitStatus, String> {
        let mut status = None;
        processes::wait_until("the process ends", || {
            status = self.0.try_wait().unwrap_or_default();
            status.is_some()
        })?;
        status.ok_or_else(String::new)
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
    use crate::processes::{children_of, runs, wait_until};

    #[test]
    fn a_panic_ends_a_guarded_process_with_its_child_and_sets_a_guarded_flag() {
        let (stop, mut all) = (AtomicBool::new(false), [const { String::new() }; 2]);
        let failed = catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _threads = EndOnDrop::new(&stop);
            let shell = Command::new("sh").args(["-c", "sleep 600 & wait"]).spawn().unwrap();
            let shell = EndOnDrop::new(shell);
            let child = || children_of(&shell.id().to_string()).pop();
            wait_until("the shell has a child", || child().is_some()).unwrap();
            all = [shell.id().to_string(), child().unwrap()];
            assert!(!runs(&all[0]), "an assertion that fails");
        }));
        assert!(failed.is_err() && stop.load(Ordering::SeqCst));
        assert!(!all.iter().any(String::is_empty), "a process did not start: {all:?}");
        // The system reaps the child of the shell a moment after the kill.
        wait_until("both processes are gone", || !all.iter().any(|process| runs(process))).unwrap();
    }
}
