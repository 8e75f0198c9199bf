//! The rule for an animal's name.

use std::fmt;

/// The name of an animal: 1 to 255 Unicode scalar values, kept byte for byte. A name is not only white space, and has
/// no control characters (U+0000..=U+001F and U+007F..=U+009F).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PetName(String);

impl PetName {
    /// The longest name, in Unicode scalar values.
    pub const MAX_CHARS: usize = 255;

    /// Takes `text` as it is, neither trimmed nor normalized.
    ///
    /// # Errors
    /// [`InvalidPetName`] has every rule that `text` breaks.
    pub fn parse(text: impl Into<String>) -> Result<Self, InvalidPetName> {
        let text = text.into();
        let violations = if is_plain(&text) { Vec::new() } else { violations(&text) };
        if violations.is_empty() { Ok(Self(text)) } else { Err(InvalidPetName { violations }) }
    }

    /// Returns the name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Returns whether a name is printable ASCII and begins with a visible character. Such a name breaks no other rule.
fn is_plain(text: &str) -> bool {
    text.len() <= PetName::MAX_CHARS
        && text.bytes().next().is_some_and(|first| first != b' ')
        // Without an early return, the compiler makes a loop without branches.
        && text.bytes().fold(true, |plain, byte| plain & (b' '..=b'~').contains(&byte))
}

fn violations(text: &str) -> Vec<PetNameViolation> {
    let chars = text.chars().count();
    let control = text.chars().enumerate().find(|(_, c)| c.is_control());
    let mut violations = Vec::new();
    if chars == 0 {
        violations.push(PetNameViolation::Empty);
    } else if text.chars().all(char::is_whitespace) {
        violations.push(PetNameViolation::Blank);
    }
    if chars > PetName::MAX_CHARS {
        violations.push(PetNameViolation::TooLong { chars });
    }
    if let Some((index, found)) = control {
        violations.push(PetNameViolation::Control { index, found });
    }
    violations
}

/// The rules that a name breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct InvalidPetName {
    /// The broken rules, at least one.
    pub violations: Vec<PetNameViolation>,
}

impl fmt::Display for InvalidPetName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, violation) in self.violations.iter().enumerate() {
            let separator = if index == 0 { "" } else { ", and " };
            write!(f, "{separator}{violation}")?;
        }
        Ok(())
    }
}

/// One rule that a name breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PetNameViolation {
    /// The name is empty.
    #[error("must have 1 to {} characters, but is empty", PetName::MAX_CHARS)]
    Empty,
    /// The name has more than [`PetName::MAX_CHARS`] characters.
    #[error("must have 1 to {} characters, but has {chars}", PetName::MAX_CHARS)]
    TooLong {
        /// The length in Unicode scalar values.
        chars: usize,
    },
    /// The name is only white space.
    #[error("must not be white space alone")]
    Blank,
    /// The name has a control character.
    #[error("must not have control characters, but has U+{:04X} at index {index}", u32::from(*found))]
    Control {
        /// The index of the first control character, in Unicode scalar values from 0.
        index: usize,
        /// The first control character.
        found: char,
    },
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{InvalidPetName, PetName, PetNameViolation};

    #[test]
    fn names_are_kept_byte_for_byte() {
        let longest = "🐕".repeat(PetName::MAX_CHARS);
        for text in
            ["a", " Rex ", "Zoë", "e\u{301}", "<b>&amp;\"\\", "\u{200b}", "\u{feff}x", &longest]
        {
            assert_eq!(PetName::parse(text).unwrap().as_str(), text);
        }
    }

    #[test]
    fn every_broken_rule_is_named() {
        let control = |index, found| PetNameViolation::Control { index, found };
        let table = [
            (String::new(), vec![PetNameViolation::Empty]),
            (" ".into(), vec![PetNameViolation::Blank]),
            (" \u{2003}".into(), vec![PetNameViolation::Blank]),
            ("a".repeat(256), vec![PetNameViolation::TooLong { chars: 256 }]),
            ("a\0".into(), vec![control(1, '\0')]),
            ("\u{1f}a".into(), vec![control(0, '\u{1f}')]),
            ("ab\u{7f}".into(), vec![control(2, '\u{7f}')]),
            ("é\u{9f}".into(), vec![control(1, '\u{9f}')]),
            ("\n\t".into(), vec![PetNameViolation::Blank, control(0, '\n')]),
            (
                "\t".repeat(300),
                vec![
                    PetNameViolation::Blank,
                    PetNameViolation::TooLong { chars: 300 },
                    control(0, '\t'),
                ],
            ),
        ];
        for (text, violations) in table {
            assert_eq!(
                PetName::parse(text.clone()),
                Err(InvalidPetName { violations }),
                "{text:?}"
            );
        }
    }

    #[test]
    fn the_message_has_every_rule_that_is_broken() {
        let refusal = PetName::parse("a\u{85}".repeat(200)).unwrap_err();
        assert_eq!(
            refusal.to_string(),
            "must have 1 to 255 characters, but has 400, and \
             must not have control characters, but has U+0085 at index 1"
        );
    }

    proptest! {
        #[test]
        fn a_name_is_accepted_exactly_when_the_rule_holds(text in "\\PC{0,300}|[\\s\\PC]{0,10}|.{0,4}") {
            let rule = (1..=255).contains(&text.chars().count())
                && text.chars().any(|c| !c.is_whitespace())
                && !text.chars().any(|c| matches!(c, '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}'));
            prop_assert_eq!(PetName::parse(text).is_ok(), rule);
        }
    }
}
