//! The rule for an animal's name.

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
        let broken = if is_plain(&text) { String::new() } else { broken_rules(&text) };
        if broken.is_empty() { Ok(Self(text)) } else { Err(InvalidPetName(broken)) }
    }

    /// Returns the name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Returns whether a name is short printable ASCII and begins with a visible character. Such a name breaks no rule, so
/// the other check is skipped.
fn is_plain(text: &str) -> bool {
    text.len() <= PetName::MAX_CHARS
        && text.bytes().next().is_some_and(|first| first != b' ')
        // `fold` never returns early, so the compiler makes a loop without branches.
        && text.bytes().fold(true, |plain, byte| plain & (b' '..=b'~').contains(&byte))
}

/// Returns every rule that a name breaks, in words that follow "name"; an empty text if the name breaks none.
fn broken_rules(text: &str) -> String {
    let (chars, max) = (text.chars().count(), PetName::MAX_CHARS);
    let mut rules = Vec::new();
    if chars == 0 {
        rules.push(format!("must have 1 to {max} characters, but is empty"));
    } else if text.chars().all(char::is_whitespace) {
        rules.push("must not be white space alone".to_owned());
    }
    if chars > max {
        rules.push(format!("must have 1 to {max} characters, but has {chars}"));
    }
    if let Some((index, found)) = text.chars().enumerate().find(|(_, c)| c.is_control()) {
        let code = u32::from(found);
        rules.push(format!(
            "must not have control characters, but has U+{code:04X} at index {index}"
        ));
    }
    rules.join(", and ")
}

/// The text is not the name of an animal. The message has every rule that the text breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidPetName(String);

#[cfg(test)]
mod tests {
    use super::PetName;

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
        let blank = "must not be white space alone";
        let control = |code, index| {
            format!("must not have control characters, but has U+{code} at index {index}")
        };
        for (text, rules) in [
            (String::new(), "must have 1 to 255 characters, but is empty".to_owned()),
            (" ".into(), blank.to_owned()),
            (" \u{2003}".into(), blank.to_owned()),
            ("a".repeat(256), "must have 1 to 255 characters, but has 256".to_owned()),
            ("a\0".into(), control("0000", 1)),
            ("\u{1f}a".into(), control("001F", 0)),
            ("ab\u{7f}".into(), control("007F", 2)),
            ("é\u{9f}".into(), control("009F", 1)),
            ("\n\t".into(), format!("{blank}, and {}", control("000A", 0))),
            (
                "\t".repeat(300),
                format!(
                    "{blank}, and must have 1 to 255 characters, but has 300, and {}",
                    control("0009", 0)
                ),
            ),
        ] {
            assert_eq!(PetName::parse(&*text).unwrap_err().to_string(), rules, "{text:?}");
        }
    }
}
