//! What is wrong with an animal, field by field.

use std::fmt;

/// The faults that one message names; more are counted.
const MAX_FAULTS: usize = 32;
/// The longest name of a field that a message repeats, in characters.
const MAX_NAME_CHARS: usize = 40;

/// Every fault of one animal. Displayed on one line, whose length is bounded whatever was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    named: Vec<String>,
    /// Faults beyond [`MAX_FAULTS`].
    unnamed: usize,
}

impl Faults {
    /// Returns whether there is no fault.
    pub(crate) fn is_empty(&self) -> bool {
        self.named.is_empty()
    }

    /// Adds a fault of the field `name`, which may be anything that a client has sent.
    pub(crate) fn add(&mut self, name: &str, fault: &str) {
        if self.named.len() < MAX_FAULTS {
            self.named.push(format!("`{}`: {fault}", shortened(name)));
        } else {
            self.unnamed += 1;
        }
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.named.join("; "))?;
        if self.unnamed > 0 {
            write!(f, "; and {} more", self.unnamed)?;
        }
        Ok(())
    }
}

/// Returns as much of a field's name as a message repeats, without control characters.
fn shortened(name: &str) -> String {
    let mut chars = name.chars();
    let mut shown: String =
        chars.by_ref().take(MAX_NAME_CHARS).flat_map(char::escape_debug).collect();
    if chars.next().is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::{Faults, MAX_FAULTS};

    #[test]
    fn so_many_faults_are_named_and_only_further_ones_are_counted() {
        let mut faults = Faults::default();
        for _ in 0..MAX_FAULTS {
            faults.add("age", "it does not exist");
        }
        assert_eq!(faults.to_string().matches("`age`").count(), MAX_FAULTS);
        assert!(faults.to_string().ends_with("it does not exist"));
        faults.add("age", "it does not exist");
        assert!(faults.to_string().ends_with("; and 1 more"));
    }
}
