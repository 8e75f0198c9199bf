//! Requests by the name of an API key. Keys come and go, and their series stay: so there is a bound.

use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
};

use prometheus::IntCounterVec;

/// Names that get a series of their own.
const MAX_NAMES: usize = 1000;
/// The series of all others. No key is called so, as a name has no space.
const OTHERS: &str = "other keys";

#[derive(Debug)]
pub(super) struct ByKey {
    counts: IntCounterVec,
    names: Mutex<BTreeSet<String>>,
}

impl ByKey {
    /// `counts` has one label.
    pub(super) fn new(counts: IntCounterVec) -> Self {
        Self { counts, names: Mutex::default() }
    }

    /// So many more requests with the key that is called `name`.
    pub(super) fn inc_by(&self, name: &str, requests: u64) {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let own = names.contains(name) || names.len() < MAX_NAMES && names.insert(name.to_owned());
        self.counts.with_label_values(&[if own { name } else { OTHERS }]).inc_by(requests);
    }
}

#[cfg(test)]
mod tests {
    use prometheus::{IntCounterVec, Opts};

    use super::{ByKey, MAX_NAMES, OTHERS};

    #[test]
    fn a_thousand_names_have_series_of_their_own() {
        let counts = IntCounterVec::new(Opts::new("calls_total", "Calls."), &["key"]).unwrap();
        let calls = ByKey::new(counts.clone());
        for _ in 0..2 {
            for key in 0..MAX_NAMES + 3 {
                calls.inc_by(&format!("key-{key}"), 1);
            }
        }
        assert_eq!(counts.with_label_values(&["key-0"]).get(), 2);
        assert_eq!(counts.with_label_values(&["key-999"]).get(), 2);
        assert_eq!(counts.with_label_values(&[OTHERS]).get(), 6);
    }
}
