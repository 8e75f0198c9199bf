//! Well-formed keys that were refused, until it is looked up whether they are revoked ones.

use std::{
    collections::HashMap,
    mem,
    sync::{Mutex, PoisonError},
};

use crate::access::secret::KeyDigest;

/// Keys that are held at a time. The uses of one more are not counted: whoever makes keys up may crowd out
/// the revoked ones, but fills no memory.
const MAX: usize = 1024;

/// How often each was presented.
#[derive(Debug, Default)]
pub(super) struct RefusedKeys(Mutex<HashMap<KeyDigest, u64>>);

impl RefusedKeys {
    /// One more was refused.
    pub(super) fn note(&self, digest: KeyDigest) {
        self.add(digest, 1);
    }

    /// All of them; they are held no longer.
    pub(super) fn take(&self) -> HashMap<KeyDigest, u64> {
        mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes back what could not be looked up.
    pub(super) fn put_back(&self, refused: HashMap<KeyDigest, u64>) {
        for (digest, uses) in refused {
            self.add(digest, uses);
        }
    }

    fn add(&self, digest: KeyDigest, uses: u64) {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if held.len() < MAX || held.contains_key(&digest) {
            *held.entry(digest).or_default() += uses;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX, RefusedKeys};
    use crate::KeyDigest;

    #[test]
    fn only_so_many_keys_are_held() {
        let refused = RefusedKeys::default();
        for number in 0..2 * u16::try_from(MAX).unwrap() {
            let mut digest = [0; 32];
            digest[..2].copy_from_slice(&number.to_be_bytes());
            refused.note(KeyDigest(digest));
            refused.note(KeyDigest([0; 32]));
        }
        let held = refused.take();
        assert_eq!((held.len(), held[&KeyDigest([0; 32])]), (MAX, 2 * MAX as u64 + 1));
        assert!(refused.take().is_empty());
        refused.put_back(held);
        assert_eq!(refused.take().len(), MAX);
    }
}
