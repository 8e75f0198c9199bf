//! How many promises ended how.

use std::fmt;

use crate::{harness::Capability, verdict::Verdict};

/// How many promises ended how. Its text is one line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Checked and kept.
    pub kept: usize,
    /// Checked and broken.
    pub broken: usize,
    /// Not checked.
    pub not_checked: usize,
    /// The capabilities for want of which promises were not checked, each once.
    pub unsupported: Vec<Capability>,
}

impl Summary {
    /// Whether the adapter keeps the contract, as far as it was checked. Where nothing was, it does
    /// not.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.broken == 0 && self.kept > 0
    }

    pub(crate) fn count(&mut self, verdict: &Verdict) {
        match verdict {
            Verdict::Kept(_) => self.kept += 1,
            Verdict::Broken(_) => self.broken += 1,
            Verdict::NotChecked { unsupported, .. } => self.count_unsupported(*unsupported),
        }
    }

    pub(crate) fn count_unsupported(&mut self, capability: Capability) {
        self.not_checked += 1;
        if !self.unsupported.contains(&capability) {
            self.unsupported.push(capability);
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kept, broken, not_checked, unsupported } = self;
        let total = kept + broken + not_checked;
        write!(f, "{total} promises: {kept} kept, {broken} broken, {not_checked} not checked")?;
        if unsupported.is_empty() {
            return Ok(());
        }
        let unsupported: Vec<_> = unsupported.iter().map(Capability::to_string).collect();
        write!(f, " (unsupported: {})", unsupported.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::Summary;
    use crate::{harness::Capability, verdict::Verdict};

    #[test]
    fn the_line_has_the_total_and_what_is_unsupported() {
        let mut summary = Summary { kept: 39, ..Summary::default() };
        assert_eq!(summary.to_string(), "39 promises: 39 kept, 0 broken, 0 not checked");
        for unsupported in [Capability::Reopen, Capability::Outage, Capability::Reopen] {
            summary.count(&Verdict::NotChecked { unsupported, reason: "it is a test" });
        }
        assert_eq!(
            summary.to_string(),
            "42 promises: 39 kept, 0 broken, 3 not checked (unsupported: reopening, an outage)"
        );
    }
}
