//! The one writer of an animal's JSON.
//!
//! Most of what the service sends is animals, so their shape is written out by hand here: that
//! halves its cost against serde's derive. The price is that this file and not the compiler knows
//! the names of the fields. An animal is taken apart, so a new field does not compile until it is
//! written here.

use petstore_domain::Pet;

/// About as much as an animal with a short name takes, in bytes.
const TYPICAL_PET_BYTES: usize = 96;

/// Writes an animal (schema `Pet`).
#[must_use]
pub fn pet_to_json(pet: &Pet) -> Vec<u8> {
    let mut json = Vec::with_capacity(TYPICAL_PET_BYTES);
    write_pet(&mut json, pet);
    json
}

/// Writes animals (schema `Pets`): a bare array. The text has no spare capacity, as it may be cached.
#[must_use]
pub fn pets_to_json(pets: &[Pet]) -> Vec<u8> {
    let mut json = Vec::with_capacity(2 + pets.len() * TYPICAL_PET_BYTES);
    json.push(b'[');
    for (index, pet) in pets.iter().enumerate() {
        if index > 0 {
            json.push(b',');
        }
        write_pet(&mut json, pet);
    }
    json.push(b']');
    json.shrink_to_fit();
    json
}

/// Appends schema `Pet` to `json`. It has no line break.
pub fn write_pet(json: &mut Vec<u8>, pet: &Pet) {
    let Pet { id, name, category_id, status } = pet;
    json.extend_from_slice(b"{\"id\":");
    write_integer(json, id.0);
    json.extend_from_slice(b",\"name\":");
    // A string that is written to memory never fails.
    let _ = serde_json::to_writer(&mut *json, name.as_str());
    json.extend_from_slice(b",\"categoryId\":");
    write_integer(json, category_id.0);
    if let Some(status) = status {
        json.extend_from_slice(b",\"status\":\"");
        json.extend_from_slice(status.as_str().as_bytes());
        json.push(b'"');
    }
    json.push(b'}');
}

fn write_integer(json: &mut Vec<u8>, integer: i64) {
    json.extend_from_slice(itoa::Buffer::new().format(integer).as_bytes());
}

#[cfg(test)]
mod tests {
    use petstore_domain::{CategoryId, Pet, PetId, PetName, PetStatus};
    use proptest::{option, prelude::*, sample::select};
    use serde_json::{Value, json};

    use super::{pet_to_json, pets_to_json};

    fn rex(status: Option<PetStatus>) -> Pet {
        let name = PetName::parse("Rex \"🐕\"").unwrap();
        Pet { id: PetId(i64::MAX), name, category_id: CategoryId(i64::MIN), status }
    }

    #[test]
    fn an_absent_status_is_absent() {
        let json =
            r#"{"id":9223372036854775807,"name":"Rex \"🐕\"","categoryId":-9223372036854775808}"#;
        assert_eq!(pet_to_json(&rex(None)), json.as_bytes());
    }

    #[test]
    fn a_list_is_a_bare_array() {
        assert_eq!(pets_to_json(&[]), b"[]");
        let one = String::from_utf8(pet_to_json(&rex(Some(PetStatus::Sold)))).unwrap();
        assert!(one.ends_with(r#","status":"sold"}"#));
        let two = [rex(Some(PetStatus::Sold)), rex(Some(PetStatus::Sold))];
        assert_eq!(pets_to_json(&two), format!("[{one},{one}]").as_bytes());
    }

    proptest! {
        #[test]
        fn any_animal_is_written_as_json(
            id: i64,
            category: i64,
            name in "\\PC{1,40}",
            status in option::of(select(PetStatus::ALL.to_vec())),
        ) {
            prop_assume!(PetName::parse(name.clone()).is_ok());
            let animal = Pet {
                id: PetId(id),
                name: PetName::parse(name.clone()).unwrap(),
                category_id: CategoryId(category),
                status,
            };
            let mut expected = json!({ "id": id, "name": name, "categoryId": category });
            if let Some(status) = status {
                expected["status"] = json!(status.as_str());
            }
            let written: Value = serde_json::from_slice(&pet_to_json(&animal)).unwrap();
            prop_assert_eq!(written, expected);
        }
    }
}
