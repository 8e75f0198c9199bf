//! The JSON shapes that leave the service (interface, section 2). They are private to this crate
//! and built by taking the domain's values apart, so that a new field does not compile here until
//! someone has decided about it.

use bytes::Bytes;
use petstore_domain::{Pet, PetStatus};
use serde::{Serialize, Serializer};

use crate::error::{ApiError, ErrorCode};

/// About as much as an animal with a short name takes, in bytes.
const TYPICAL_PET: usize = 96;

#[derive(Serialize)]
struct PetJson<'a> {
    id: i64,
    name: &'a str,
    #[serde(rename = "categoryId")]
    category_id: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'static str>,
}

impl<'a> From<&'a Pet> for PetJson<'a> {
    fn from(pet: &'a Pet) -> Self {
        let Pet { id, name, category_id, status } = pet;
        Self {
            id: id.0,
            name: name.as_str(),
            category_id: category_id.0,
            status: status.map(PetStatus::as_str),
        }
    }
}

struct PetsJson<'a>(&'a [Pet]);

impl Serialize for PetsJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(PetJson::from))
    }
}

#[derive(Serialize)]
struct ErrorJson<'a> {
    code: &'static str,
    message: &'a str,
    status: u16,
}

/// Schema `Pet`.
pub(crate) fn pet(pet: &Pet) -> Result<Bytes, ApiError> {
    encode(&PetJson::from(pet), TYPICAL_PET)
}

/// Schema `Pets`: a bare array.
pub(crate) fn pets(pets: &[Pet]) -> Result<Bytes, ApiError> {
    encode(&PetsJson(pets), 2 + pets.len() * TYPICAL_PET)
}

/// Schema `Error`: exactly three fields.
pub(crate) fn error(code: ErrorCode, message: &str) -> Bytes {
    let status = code.status().as_u16();
    let json = ErrorJson { code: code.as_str(), message, status };
    encode(&json, 64 + message.len()).unwrap_or_default()
}

fn encode(value: &impl Serialize, capacity: usize) -> Result<Bytes, ApiError> {
    let mut buffer = Vec::with_capacity(capacity);
    serde_json::to_writer(&mut buffer, value).map_err(ApiError::internal)?;
    Ok(buffer.into())
}

#[cfg(test)]
mod tests {
    use petstore_domain::{CategoryId, Pet, PetId, PetName, PetStatus};

    use super::{error, pet, pets};
    use crate::error::ErrorCode;

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

    #[test]
    fn an_error_has_three_fields() {
        assert_eq!(
            error(ErrorCode::InvalidQuery, "say \"20\""),
            r#"{"code":"invalid_query","message":"say \"20\"","status":400}"#
        );
    }
}
