//! The three operations on animals (interface, section 4).

use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use hyper::{
    StatusCode,
    header::{ETAG, HeaderName, HeaderValue, LOCATION},
    http::request::Parts,
};
use petstore_domain::{
    Added, Caller, CatalogueVersion, CursorPosition, Idempotency, PageLimit, PetId, Versioned,
};
use petstore_json::{pet_to_json, pets_to_json, read_new_pet};

use crate::{
    conditional::{IfNoneMatch, Subject, tag_of_content, tag_of_state},
    cursor, deprecation,
    error::{ApiError, ErrorCode},
    idempotency_key,
    kept_pages::EncodedPage,
    query,
    response::{self, Response, Template},
    route::BASE_PATH,
    state::State,
};

/// An animal that was found; its tag is still to be filled in.
static FOUND: LazyLock<Template> =
    LazyLock::new(|| Template::new(HeaderValue::from_static("\"\""), deprecation::ANNOUNCEMENT));

const IDEMPOTENCY_REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// Section 4.1, listPets. A page that was encoded in this state of the catalogue is not read again.
pub(crate) async fn list(state: &State, head: &Parts) -> Result<Response, ApiError> {
    let query = query::list_pets(head.uri.query())?;
    let condition = IfNoneMatch::of(&head.headers);
    let version = state.ports.pets.version();
    if let Some(page) = version.and_then(|version| state.kept_pages.find(&query, version)) {
        return Ok(page.answer(condition));
    }
    let subject = Subject::Page(query);
    if let Some(unchanged) = unchanged(version, condition, subject) {
        return Ok(unchanged);
    }
    let Versioned { value: page, version } = state.ports.pets.list(query).await?;
    let content = Bytes::from(pets_to_json(&page.pets));
    let tag = tag(&content, version, subject);
    let next = CursorPosition::following(&page, &query)
        .map(|position| next_link(query.limit, position))
        .transpose()?;
    let page = Arc::new(EncodedPage::new(content, tag, next));
    if let Some(version) = version {
        state.kept_pages.keep(query, version, Arc::clone(&page));
    }
    Ok(page.answer(condition))
}

/// Section 4.2, createPet.
pub(crate) async fn create(
    state: &State,
    head: &Parts,
    body: &[u8],
    caller: &Caller,
) -> Result<Response, ApiError> {
    let key = idempotency_key::read(&head.headers)?;
    let pet = read_new_pet(body)?;
    let idempotency = key.map(|key| Idempotency { caller: caller.digest, key });
    let (pet, replayed) = match state.ports.pets.add(pet, idempotency).await? {
        Added::Created(pet) => (pet, false),
        Added::Replayed(pet) => (pet, true),
    };
    let mut response = response::json(StatusCode::CREATED, pet_to_json(&pet));
    let headers = response.headers_mut();
    if replayed {
        headers.insert(IDEMPOTENCY_REPLAYED, HeaderValue::from_static("true"));
    }
    if !deprecation::has_ended(state.settings.get_pet_sunset, &*state.ports.clock) {
        let mut digits = itoa::Buffer::new();
        let address = [BASE_PATH, "/pets/", digits.format(pet.id.0)].concat();
        headers.insert(LOCATION, HeaderValue::try_from(address).map_err(ApiError::internal)?);
    }
    Ok(response)
}

/// Section 4.3, getPet.
pub(crate) async fn get(state: &State, head: &Parts, id: &str) -> Result<Response, ApiError> {
    let not_found =
        || ApiError::new(ErrorCode::PetNotFound, "there is no animal of this identifier");
    let id = PetId::parse(id).map_err(|_| not_found())?;
    let subject = Subject::Pet(id);
    let condition = IfNoneMatch::of(&head.headers);
    let version = condition.and_then(|_| state.ports.pets.version());
    if let Some(unchanged) = unchanged(version, condition, subject) {
        return Ok(unchanged);
    }
    let found = state.ports.pets.get(id).await?;
    let Versioned { value: pet, version } = found.ok_or_else(not_found)?;
    let content = Bytes::from(pet_to_json(&pet));
    let tag = tag(&content, version, subject);
    if condition.is_some_and(|condition| condition.matches(&tag)) {
        return Ok(response::not_modified(tag));
    }
    let mut response = FOUND.answer(content);
    response.headers_mut().insert(ETAG, tag);
    Ok(response)
}

/// 304 without a query, if the client holds `subject` as it is in this state of the catalogue. It
/// can only have the tag from a 200, so the subject exists.
fn unchanged(
    version: Option<CatalogueVersion>,
    condition: Option<IfNoneMatch<'_>>,
    subject: Subject,
) -> Option<Response> {
    let condition = condition?;
    let tag = tag_of_state(version?, subject);
    condition.names(&tag).then(|| response::not_modified(tag))
}

fn tag(content: &[u8], version: Option<CatalogueVersion>, subject: Subject) -> HeaderValue {
    match version {
        Some(version) => tag_of_state(version, subject),
        None => tag_of_content(content),
    }
}

/// The next page (RFC 8288), relative, with the limit and the filter of this one.
fn next_link(limit: PageLimit, position: CursorPosition) -> Result<HeaderValue, ApiError> {
    let limit = limit.get();
    let status = position.status.map(|status| format!("&status={status}")).unwrap_or_default();
    let cursor = cursor::encode(position);
    let link = format!("<{BASE_PATH}/pets?limit={limit}{status}&cursor={cursor}>; rel=\"next\"");
    HeaderValue::try_from(link).map_err(ApiError::internal)
}
