//! Section 4.3, getPet.

use petstore_domain::{PetId, Versioned};
use petstore_json::pet_to_json;

use super::cached;
use crate::{
    call::Call,
    conditional::Subject,
    error::{ApiError, ErrorCode},
    response::Response,
};

/// One animal. It is found even if the client names its tag: a tag can be made up, and there is no 304
/// for an animal that does not exist.
pub(crate) async fn handle(call: Call<'_>) -> Result<Response, ApiError> {
    let pets = &call.state.ports.pets;
    let id = PetId::parse(call.parameter).map_err(|_| not_found())?;
    let subject = Subject::Pet(id);
    if let Some(cached) = cached::find(&call, subject, pets.version()) {
        return Ok(cached);
    }
    let Versioned { value: pet, version } = pets.get(id).await?.ok_or_else(not_found)?;
    Ok(cached::answer(&call, subject, version, pet_to_json(&pet), None))
}

fn not_found() -> ApiError {
    ApiError::new(ErrorCode::PetNotFound, "there is no animal of this identifier")
}
