//! Writes animals as JSON.
//!
//! Hand-written JSON takes half the time of serde's derive, and most bytes that the service sends are animals. After
//! `Pet` gets a new field, `write_pet` does not compile until it names the field.

use petstore_domain::Pet;

/// The initial capacity for the JSON of one animal, in bytes. An animal with a short name fits.
const TYPICAL_PET_BYTES: usize = 96;

/// Returns the JSON of an animal (schema `Pet`).
#[must_use]
pub fn pet_to_json(pet: &Pet) -> Vec<u8> {
    let mut json = Vec::with_capacity(TYPICAL_PET_BYTES);
    write_pet(&mut json, pet);
    json
}

/// Returns the JSON of animals (schema `Pets`): a bare array. The vector has no spare capacity, because it may be
/// cached.
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

/// Appends the JSON of an animal, without a line break.
pub fn write_pet(json: &mut Vec<u8>, pet: &Pet) {
    let Pet { id, name, category_id, status } = pet;
    json.extend_from_slice(b"{\"id\":");
    write_integer(json, id.0);
    json.extend_from_slice(b",\"name\":");
    write_string(json, name.as_str());
    json.extend_from_slice(b",\"categoryId\":");
    write_integer(json, category_id.0);
    if let Some(status) = status {
        json.extend_from_slice(b",\"status\":\"");
        json.extend_from_slice(status.as_str().as_bytes());
        json.push(b'"');
    }
    json.push(b'}');
}

/// Appends a string. Most names need no escapes and are copied whole.
fn write_string(json: &mut Vec<u8>, text: &str) {
    let needs_escape = |byte| matches!(byte, ..b' ' | b'"' | b'\\');
    // `fold` never returns early, so the compiler makes a loop without branches.
    if text.bytes().fold(false, |found, byte| found | needs_escape(byte)) {
        // Writing a string to memory never fails.
        let _ = serde_json::to_writer(json, text);
    } else {
        json.push(b'"');
        json.extend_from_slice(text.as_bytes());
        json.push(b'"');
    }
}

fn write_integer(json: &mut Vec<u8>, integer: i64) {
    json.extend_from_slice(itoa::Buffer::new().format(integer).as_bytes());
}

#[cfg(test)]
mod tests {
    use petstore_domain::{CategoryId, Pet, PetId, PetName, PetStatus};

    use super::{pet_to_json, pets_to_json};

    #[test]
    fn an_absent_status_is_omitted_and_a_list_is_a_bare_array() {
        let name = PetName::parse("Rex \"🐕\"").unwrap();
        let rex =
            Pet { id: PetId(i64::MAX), name, category_id: CategoryId(i64::MIN), status: None };
        let json =
            r#"{"id":9223372036854775807,"name":"Rex \"🐕\"","categoryId":-9223372036854775808}"#;
        assert_eq!(pet_to_json(&rex), json.as_bytes());
        let sold = Pet { status: Some(PetStatus::Sold), ..rex.clone() };
        let with_status = json.replace('}', r#","status":"sold"}"#);
        let list = pets_to_json(&[sold, rex]);
        assert_eq!(list, format!("[{with_status},{json}]").as_bytes());
        assert_eq!(list.capacity(), list.len());
        assert_eq!(pets_to_json(&[]), b"[]");
    }
}
