//! One JSON object a line.

use std::{borrow::Cow, fmt};

use petstore_domain::Pet;
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{MapAccess, Visitor},
};
use serde_json::value::RawValue;

use super::{Draft, FIELDS, Record};

/// The fields of a line, in their order.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Line<'p> {
    id: i64,
    name: &'p str,
    category_id: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'static str>,
}

pub(super) fn write(pet: &Pet, text: &mut String) {
    let Pet { id, name, category_id, status } = pet;
    let line = Line {
        id: id.0,
        name: name.as_str(),
        category_id: category_id.0,
        status: status.map(petstore_domain::PetStatus::as_str),
    };
    // Text and numbers always have a JSON form.
    text.push_str(&serde_json::to_string(&line).unwrap_or_default());
    text.push('\n');
}

pub(super) fn read(line: &str) -> Result<Record, String> {
    let Object(members) = serde_json::from_str(line)
        .map_err(|error| format!("the line must be one JSON object, but: {error}"))?;
    let mut draft = Draft::default();
    let mut seen = [false; FIELDS.len()];
    for Member { name, value } in members {
        let Some(place) = FIELDS.iter().position(|field| *field == name) else {
            draft
                .faults
                .push(format!("{name:?}: unknown field; allowed are {}", FIELDS.join(", ")));
            continue;
        };
        if std::mem::replace(&mut seen[place], true) {
            draft.faults.push(format!("`{name}`: must be given once"));
            continue;
        }
        take(&mut draft, &name, value);
    }
    for (field, seen) in ["name", "categoryId"].into_iter().zip([seen[1], seen[2]]) {
        if !seen {
            draft.faults.push(format!("`{field}`: is required"));
        }
    }
    draft.finish()
}

fn take(draft: &mut Draft, name: &str, value: &RawValue) {
    let value = value.get();
    match name {
        "id" => draft.id(value),
        "categoryId" => draft.category_id(value),
        _ => match serde_json::from_str::<Cow<'_, str>>(value) {
            Ok(text) if name == "name" => draft.name(text),
            Ok(text) => draft.status(&text),
            Err(_) => draft.faults.push(format!("`{name}`: must be a string")),
        },
    }
}

/// The members of an object, in order, repeated names included, each with its value as written.
struct Object<'l>(Vec<Member<'l>>);

struct Member<'l> {
    name: String,
    value: &'l RawValue,
}

impl<'l> Deserialize<'l> for Object<'l> {
    fn deserialize<D: Deserializer<'l>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Members)
    }
}

struct Members;

impl<'l> Visitor<'l> for Members {
    type Value = Object<'l>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'l>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::with_capacity(FIELDS.len());
        while let Some((name, value)) = map.next_entry()? {
            members.push(Member { name, value });
        }
        Ok(Object(members))
    }
}
