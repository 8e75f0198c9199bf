//! Section 4.3, getPet.

use bytes::Bytes;
use hyper::{StatusCode, header::ETAG};
use petstore_domain::{PetId, Versioned};
use petstore_json::pet_to_json;

use crate::{
    call::Call,
    conditional::{IfNoneMatch, Subject, tag},
    error::{ApiError, ErrorCode},
    response::{self, Response},
};

/// One animal. It is read even if the client names its tag: a tag can be made up, and there is no 304
/// for an animal that does not exist.
pub(crate) async fn handle(call: Call<'_>) -> Result<Response, ApiError> {
    let Call { state, head, parameter, .. } = call;
    let id = PetId::parse(parameter).map_err(|_| not_found())?;
    let found = state.ports.pets.get(id).await?;
    let Versioned { value: pet, version } = found.ok_or_else(not_found)?;
    let content = Bytes::from(pet_to_json(&pet));
    let tag = tag(&content, version, Subject::Pet(id));
    if IfNoneMatch::of(&head.headers).is_some_and(|condition| condition.matches(&tag)) {
        return Ok(response::not_modified(tag));
    }
    let mut response = response::json(StatusCode::OK, content);
    response.headers_mut().insert(ETAG, tag);
    Ok(response)
}

fn not_found() -> ApiError {
    ApiError::new(ErrorCode::PetNotFound, "there is no animal of this identifier")
}
