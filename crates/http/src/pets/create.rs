//! Section 4.2, createPet.

use hyper::{
    StatusCode,
    header::{HeaderName, HeaderValue, LOCATION},
};
use petstore_domain::{Added, Idempotency, PetId};
use petstore_json::{pet_to_json, read_new_pet};

use crate::{
    call::Call,
    deprecation,
    error::ApiError,
    idempotency_key,
    response::{self, Response},
};

const IDEMPOTENCY_REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// Adds an animal, or answers a repeat as the first time.
pub(crate) async fn handle(call: Call<'_>) -> Result<Response, ApiError> {
    let caller = call.caller()?.digest;
    let Call { state, head, ref body, .. } = call;
    let key = idempotency_key::read(&head.headers)?;
    let pet = read_new_pet(body)?;
    let idempotency = key.map(|key| Idempotency { caller, key });
    let (pet, replayed) = match state.ports.pets.add(pet, idempotency).await? {
        Added::Created(pet) => (pet, false),
        Added::Replayed(pet) => (pet, true),
    };
    let mut response = response::json(StatusCode::CREATED, pet_to_json(&pet));
    let headers = response.headers_mut();
    if replayed {
        headers.insert(IDEMPOTENCY_REPLAYED, HeaderValue::from_static("true"));
    }
    // An address that can no longer be fetched is not given.
    if !deprecation::GET_PET.has_ended(state.settings.get_pet_sunset, &*state.ports.clock) {
        headers.insert(LOCATION, location(&state.public_base, pet.id)?);
    }
    Ok(response)
}

fn location(base: &str, id: PetId) -> Result<HeaderValue, ApiError> {
    HeaderValue::try_from(format!("{base}/pets/{id}")).map_err(ApiError::internal)
}
