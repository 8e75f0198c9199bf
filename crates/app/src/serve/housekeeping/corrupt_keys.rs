//! The API keys that cannot be read, for the log.

use std::collections::HashSet;

use petstore_domain::Corruption;

/// Corrupt keys that one round names; the rest are counted.
const MAX_NAMED: usize = 10;

/// The corrupt keys of the round before, which are not logged again.
#[derive(Debug, Default)]
pub(super) struct CorruptKeys {
    known: HashSet<Corruption>,
}

impl CorruptKeys {
    /// Logs those of `current` that the round before did not have.
    pub(super) fn log_new(&mut self, current: Vec<Corruption>) {
        let new = self.take_new(current);
        for corruption in new.iter().take(MAX_NAMED) {
            tracing::error!(%corruption, "an API key cannot be read, so it is refused");
        }
        if new.len() > MAX_NAMED {
            let more = new.len() - MAX_NAMED;
            tracing::error!(more, "more API keys cannot be read, so they are refused");
        }
    }

    /// Those of `current` that were not among the ones before.
    fn take_new(&mut self, current: Vec<Corruption>) -> Vec<Corruption> {
        let new = current.iter().filter(|key| !self.known.contains(key)).cloned().collect();
        self.known = current.into_iter().collect();
        new
    }
}

#[cfg(test)]
mod tests {
    use petstore_domain::Corruption;

    use super::CorruptKeys;

    #[test]
    fn a_corrupt_key_is_logged_once_and_again_after_it_was_mended() {
        let [one, two, otherwise] = [("API key 1", "a"), ("API key 2", "a"), ("API key 1", "b")]
            .map(|(key, rule)| Corruption::new(key, rule));
        let mut keys = CorruptKeys::default();
        let rounds = [
            (vec![], vec![]),
            (vec![one.clone()], vec![one.clone()]),
            (vec![one.clone()], vec![]),
            (vec![one.clone(), two.clone()], vec![two.clone()]),
            (vec![otherwise.clone(), two.clone()], vec![otherwise]),
            (vec![two.clone()], vec![]),
            (vec![one.clone(), two], vec![one]),
        ];
        for (current, new) in rounds {
            assert_eq!(keys.take_new(current), new);
        }
    }
}
