//! The operations on animals (interface, section 4).
//!
//! A page or an animal is read and encoded once per version of the catalogue, then served from the page cache.

use std::sync::Arc;

use hyper::header::{HeaderName, HeaderValue, LOCATION};
use petstore_domain::{
    Added, CatalogueVersion, CursorPosition, Idempotency, PageLimit, PetId, Versioned,
};
use petstore_json::{pet_to_json, pets_to_json, read_new_pet};

use super::RequestContext;
use crate::{
    request::{cursor, headers, query},
    response::{
        self, Response,
        cache::Resource,
        deprecation,
        error::{ApiError, ErrorCode},
        representation::Representation,
    },
    state::State,
};

const IDEMPOTENCY_REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// Answers with a page of animals (section 4.1, listPets).
pub(crate) async fn list(context: RequestContext<'_>) -> Result<Response, ApiError> {
    let RequestContext { state, head, .. } = context;
    let query = query::list_pets(head.uri.query())?;
    let resource = Resource::Page(query);
    if let Some(cached) = cached(&context, resource) {
        return Ok(cached);
    }
    let Versioned { value: page, version } = state.ports.pets.list(query).await?;
    let next = CursorPosition::following(&page, &query)
        .map(|position| next_link(&state.public_base, query.limit, position))
        .transpose()?;
    let read = Representation::json(pets_to_json(&page.pets), next);
    Ok(cache_and_answer(&context, resource, version, read))
}

/// Answers with one animal (section 4.3, getPet).
pub(crate) async fn get(context: RequestContext<'_>) -> Result<Response, ApiError> {
    let not_found =
        || ApiError::new(ErrorCode::PetNotFound, "there is no animal with this identifier");
    let pets = &context.state.ports.pets;
    let id = PetId::parse(context.parameter).map_err(|_| not_found())?;
    let resource = Resource::Pet(id);
    if let Some(cached) = cached(&context, resource) {
        return Ok(cached);
    }
    let Versioned { value: pet, version } = pets.get(id).await?;
    let pet = pet.ok_or_else(not_found)?;
    let read = Representation::json(pet_to_json(&pet), None);
    Ok(cache_and_answer(&context, resource, version, read))
}

/// Adds an animal, or answers a repeated request with the first answer (section 4.2, createPet).
pub(crate) async fn create(context: RequestContext<'_>) -> Result<Response, ApiError> {
    let RequestContext { state, head, success, caller, ref body, .. } = context;
    let caller = caller.ok_or_else(|| ApiError::unauthorized(false))?.digest;
    let key = headers::idempotency_key(&head.headers)?;
    let pet = read_new_pet(body)?;
    let idempotency = key.map(|key| Idempotency { caller, key });
    let (pet, replayed) = match state.ports.pets.add(pet, idempotency).await? {
        Added::Created(pet) => (pet, false),
        Added::Replayed(pet) => (pet, true),
    };
    let mut response = response::json(success, pet_to_json(&pet));
    let headers = response.headers_mut();
    if replayed {
        headers.insert(IDEMPOTENCY_REPLAYED, HeaderValue::from_static("true"));
    }
    // After the end of getPet, the address could not be fetched.
    if !deprecation::has_ended(state.settings.get_pet_sunset, &*state.ports.clock) {
        let mut digits = itoa::Buffer::new();
        let location = [&state.public_base, "/pets/", digits.format(pet.id.0)].concat();
        headers.insert(LOCATION, HeaderValue::try_from(location).map_err(ApiError::internal)?);
    }
    Ok(response)
}

/// Returns the answer from the cache, if it holds `resource` in the current version of the catalogue.
fn cached(context: &RequestContext<'_>, resource: Resource) -> Option<Response> {
    let State { ports, page_cache, metrics, .. } = context.state;
    let version = ports.pets.version();
    let cached = version.and_then(|version| Some((version, page_cache.get(resource, version)?)));
    if let Some(metrics) = metrics {
        metrics.page_looked_up(cached.is_some());
    }
    let (version, cached) = cached?;
    let size = cached.size();
    let response = answer(context, resource, &cached);
    if cached.size() != size {
        page_cache.weigh_again(resource, version, cached);
    }
    Some(response)
}

/// Answers with the representation of `resource`, and caches it under `version`. A read without a version is not cached.
fn cache_and_answer(
    context: &RequestContext<'_>,
    resource: Resource,
    version: Option<CatalogueVersion>,
    read: Representation,
) -> Response {
    let response = answer(context, resource, &read);
    if let Some(version) = version {
        context.state.page_cache.insert(resource, version, Arc::new(read));
    }
    response
}

/// Answers with a page or an animal. An animal has the headers that announce the deprecation of getPet.
fn answer(context: &RequestContext<'_>, resource: Resource, read: &Representation) -> Response {
    let template = matches!(resource, Resource::Pet(_)).then_some(&context.state.pet_template);
    read.answer(&context.head.headers, template)
}

/// Returns the relative link to the next page (RFC 8288), with the limit and the filter of this page.
fn next_link(
    base: &str,
    limit: PageLimit,
    position: CursorPosition,
) -> Result<HeaderValue, ApiError> {
    let mut digits = itoa::Buffer::new();
    let (name, status) = position.status.map_or(("", ""), |status| ("&status=", status.as_str()));
    let (limit, cursor) = (digits.format(limit.get()), cursor::encode(position));
    let cursor = str::from_utf8(&cursor).map_err(ApiError::internal)?;
    let link =
        ["<", base, "/pets?limit=", limit, name, status, "&cursor=", cursor, ">; rel=\"next\""];
    HeaderValue::try_from(link.concat()).map_err(ApiError::internal)
}

#[cfg(test)]
#[cfg(feature = "schedules")]
mod schedules;
