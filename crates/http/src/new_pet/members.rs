//! The members of a JSON object, in order, each with its value as it was written.

use std::fmt;

use serde::{
    Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::value::RawValue;

/// One `name: value` of an object.
pub(super) struct Member<'b> {
    pub(super) name: String,
    value: &'b RawValue,
}

/// What a JSON value is; displayed with its article.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Null,
    Boolean,
    Number,
    String,
    Array,
    Object,
}

/// The members of the object that `text` is, repeated names included.
///
/// serde's derive would take an array for a struct, stop at the first fault and keep one of two
/// members of the same name; this takes the object apart and judges nothing.
pub(super) fn of(text: &str) -> serde_json::Result<Vec<Member<'_>>> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let members = deserializer.deserialize_map(Members)?;
    deserializer.end()?;
    Ok(members)
}

impl Member<'_> {
    pub(super) fn kind(&self) -> Kind {
        kind_of(self.value.get())
    }

    /// The value as it was written.
    pub(super) fn text(&self) -> &str {
        self.value.get()
    }

    pub(super) fn string(&self) -> Result<String, String> {
        let kind = self.kind();
        if kind != Kind::String {
            return Err(format!("must be a string, but is {kind}"));
        }
        serde_json::from_str(self.text()).map_err(|_| {
            "must be a string of Unicode characters, but has half a surrogate pair".into()
        })
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Null => "null",
            Self::Boolean => "a boolean",
            Self::Number => "a number",
            Self::String => "a string",
            Self::Array => "an array",
            Self::Object => "an object",
        })
    }
}

/// Of a value that is known to be JSON, the first character tells.
pub(super) fn kind_of(value: &str) -> Kind {
    match value.as_bytes().first() {
        Some(b'{') => Kind::Object,
        Some(b'[') => Kind::Array,
        Some(b'"') => Kind::String,
        Some(b't' | b'f') => Kind::Boolean,
        Some(b'n') | None => Kind::Null,
        Some(_) => Kind::Number,
    }
}

struct Members;

impl<'b> Visitor<'b> for Members {
    type Value = Vec<Member<'b>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'b>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some((name, value)) = map.next_entry()? {
            members.push(Member { name, value });
        }
        Ok(members)
    }
}
