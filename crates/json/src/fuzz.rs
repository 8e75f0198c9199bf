//! The fuzz target of the reader, compiled only for tests and for cargo-fuzz.

use petstore_domain::{NewPet, Pet, PetId};
use serde_json::{Value, value::RawValue};

use crate::{
    draft::Record,
    reader::{ReadError, read_new_pet, read_record},
    writer::pet_to_json,
};

/// The upper bound for the length of a message about one animal, in bytes.
const MAX_MESSAGE: usize = 32 * 1024;

/// Reads `data` as the body of createPet and as a line of NDJSON.
///
/// # Panics
/// If a promise of the reader is broken.
pub fn body(data: &[u8]) {
    let (body, line) = (read_new_pet(data), read_record(data));
    match (&body, &line) {
        (Ok(pet), Ok(record)) => {
            assert_eq!((None, pet), (record.id, &record.pet), "HTTP and import disagree");
        }
        (Ok(_), Err(_)) => assert!(line.is_ok(), "HTTP accepts what import refuses: {line:?}"),
        // Only a line may have an identifier and the status `null`.
        (Err(_), Ok(Record { id, pet })) => {
            assert!(id.is_some() || pet.status.is_none(), "import accepts what HTTP refuses");
        }
        (Err(_), Err(_)) => {}
    }
    if let Ok(Record { id, pet }) = &line {
        assert_same_values(data, *id, pet);
        assert_round_trip(&pet.clone().with_id(id.unwrap_or(PetId(1))));
    }
    for error in [body.err(), line.err()].into_iter().flatten() {
        assert_explained(data, &error);
    }
}

/// Asserts that `serde_json` finds the same values and no further member.
fn assert_same_values(data: &[u8], id: Option<PetId>, pet: &NewPet) {
    let NewPet { name, category_id, status } = pet;
    let mut json: Value = serde_json::from_slice(data).unwrap_or_default();
    let mut take = |field| json.get_mut(field).map(Value::take);
    assert_eq!(take("name"), Some(name.as_str().into()));
    // `serde_json` reads `5.0` as a float, so the integers are compared as floats.
    let mut float = |field| take(field).and_then(|value| value.as_f64());
    assert_eq!(float("id"), id.and_then(|id| id.0.to_string().parse().ok()));
    assert_eq!(float("categoryId"), category_id.0.to_string().parse().ok());
    let given = take("status").filter(|status| !status.is_null());
    assert_eq!(given, status.map(|status| status.as_str().into()));
    let rest = json.as_object().map(|rest| rest.values().all(Value::is_null));
    assert_eq!(rest, Some(true), "a member was ignored: {json}");
}

fn assert_round_trip(pet: &Pet) {
    let written = pet_to_json(pet);
    let Pet { id, name, category_id, status } = pet.clone();
    let record = Record { id: Some(id), pet: NewPet { name, category_id, status } };
    assert_eq!(read_record(&written), Ok(record), "the written animal is read differently");
}

fn assert_explained(data: &[u8], error: &ReadError) {
    let is_json = serde_json::from_slice::<&RawValue>(data).is_ok();
    match error {
        ReadError::InvalidJson(_) => assert!(!is_json, "the text is JSON, but: {error}"),
        ReadError::InvalidPet(_) => assert!(is_json, "the text is not JSON, but: {error}"),
    }
    let message = error.to_string();
    assert!((1..MAX_MESSAGE).contains(&message.len()) && !message.contains(char::is_control));
}

#[cfg(test)]
mod tests {
    #[test]
    fn any_body_is_read_as_promised() {
        petstore_testing::fuzz("body", super::body);
    }
}
