//! The JSON shapes that leave the service (interface, section 2). They are private to this crate
//! and built by taking the domain's values apart, so that a new field does not compile here until
//! someone has decided about it.

use bytes::Bytes;
use petstore_domain::Pet;

use crate::error::ApiError;

/// About as much as an animal with a short name takes, in bytes.
const TYPICAL_PET: usize = 96;

/// Schema `Pet`.
pub(crate) fn pet(pet: &Pet) -> Result<Bytes, ApiError> {
    let mut json = Vec::with_capacity(TYPICAL_PET);
    write_pet(&mut json, pet)?;
    Ok(json.into())
}

/// Schema `Pets`: a bare array.
pub(crate) fn pets(pets: &[Pet]) -> Result<Bytes, ApiError> {
    let mut json = Vec::with_capacity(2 + pets.len() * TYPICAL_PET);
    json.push(b'[');
    for (index, pet) in pets.iter().enumerate() {
        if index > 0 {
            json.push(b',');
        }
        write_pet(&mut json, pet)?;
    }
    json.push(b']');
    json.shrink_to_fit(); // It may be kept.
    Ok(json.into())
}

/// Most of what the service sends is animals, so their shape is written out here rather than
/// derived: that halves its cost.
fn write_pet(json: &mut Vec<u8>, pet: &Pet) -> Result<(), ApiError> {
    let Pet { id, name, category_id, status } = pet;
    json.extend_from_slice(b"{\"id\":");
    write_integer(json, id.0);
    json.extend_from_slice(b",\"name\":");
    serde_json::to_writer(&mut *json, name.as_str()).map_err(ApiError::internal)?;
    json.extend_from_slice(b",\"categoryId\":");
    write_integer(json, category_id.0);
    if let Some(status) = status {
        json.extend_from_slice(b",\"status\":\"");
        json.extend_from_slice(status.as_str().as_bytes());
        json.push(b'"');
    }
    json.push(b'}');
    Ok(())
}

fn write_integer(json: &mut Vec<u8>, integer: i64) {
    json.extend_from_slice(itoa::Buffer::new().format(integer).as_bytes());
}

#[cfg(test)]
mod tests {
    use petstore_domain::{CategoryId, Pet, PetId, PetName, PetStatus};

    use proptest::{option, prelude::*, sample::select};
    use serde_json::{Value, json};

    use super::{pet, pets};

    fn rex(status: Option<PetStatus>) -> Pet {
        let name = PetName::parse("Rex \"🐕\"").unwrap();
        Pet { id: PetId(i64::MAX), name, category_id: CategoryId(i64::MIN), status }
    }

    #[test]
    fn an_absent_status_is_absent() {
        assert_eq!(
            pet(&rex(None)).unwrap(),
            r#"{"id":9223372036854775807,"name":"Rex \"🐕\"","categoryId":-9223372036854775808}"#
        );
    }

    #[test]
    fn a_list_is_a_bare_array() {
        assert_eq!(pets(&[]).unwrap(), "[]");
        let one = pet(&rex(Some(PetStatus::Sold))).unwrap();
        let one = std::str::from_utf8(&one).unwrap();
        assert!(one.ends_with(r#","status":"sold"}"#));
        let two = [rex(Some(PetStatus::Sold)), rex(Some(PetStatus::Sold))];
        assert_eq!(pets(&two).unwrap(), format!("[{one},{one}]"));
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
            let written: Value = serde_json::from_slice(&pet(&animal).unwrap()).unwrap();
            prop_assert_eq!(written, expected);
        }
    }
}
