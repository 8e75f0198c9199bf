//! The operations on animals: listPets, createPet and getPet.
//!
//! A page or an animal is read and encoded once per version of the catalogue, then served from the page cache.

use std::sync::Arc;

use hyper::{
    HeaderMap,
    header::{HeaderName, HeaderValue, LOCATION},
};
use petstore_domain::{
    Added, CatalogueVersion, CursorPosition, Idempotency, PageLimit, PetId, Versioned,
};
use petstore_json::{pet_to_json, pets_to_json, read_new_pet};

use super::RequestContext;
use crate::{
    observe::metrics::Metrics,
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

/// Answers with a page of animals (listPets).
pub(crate) async fn list(context: RequestContext<'_>) -> Result<Response, ApiError> {
    let RequestContext { state, head, .. } = context;
    let query = query::list_pets(head.uri.query())?;
    let read = async {
        let Versioned { value: page, version } = state.ports.pets.list(query).await?;
        let next = CursorPosition::following(&page, &query)
            .map(|position| next_link(&state.public_base, query.limit, position))
            .transpose()?;
        Ok((Representation::json(pets_to_json(&page.pets), next), version))
    };
    answer(&context, Resource::Page(query), None, read).await
}

/// Answers with one animal (getPet).
pub(crate) async fn get(context: RequestContext<'_>) -> Result<Response, ApiError> {
    let not_found =
        || ApiError::new(ErrorCode::PetNotFound, "there is no animal with this identifier");
    let State { ports, pet_template, .. } = context.state;
    let id = PetId::parse(context.parameter).ok_or_else(not_found)?;
    let read = async {
        let Versioned { value: pet, version } = ports.pets.get(id).await?;
        let json = pet_to_json(&pet.ok_or_else(not_found)?);
        Ok((Representation::json(json, None), version))
    };
    answer(&context, Resource::Pet(id), Some(pet_template), read).await
}

/// Adds an animal, or answers a repeated request with the animal of the first (createPet).
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
    // After the removal of getPet, the address of the animal would answer 410.
    if deprecation::require_not_ended(state.settings.get_pet_sunset, &*state.ports.clock).is_ok() {
        let mut digits = itoa::Buffer::new();
        let location = [&state.public_base, "/pets/", digits.format(pet.id.0)].concat();
        headers.insert(LOCATION, HeaderValue::try_from(location).map_err(ApiError::internal)?);
    }
    Ok(response)
}

/// Answers with `resource`, from the cache if its entry has the current version of the catalogue. Otherwise reads the
/// resource, and caches it if the read has a version. A `template` replaces the usual headers.
async fn answer(
    context: &RequestContext<'_>,
    resource: Resource,
    template: Option<&HeaderMap>,
    read: impl Future<Output = Result<(Representation, Option<CatalogueVersion>), ApiError>>,
) -> Result<Response, ApiError> {
    let State { ports, page_cache, metrics, .. } = context.state;
    let version = ports.pets.version();
    let cached = version.and_then(|version| page_cache.get(resource, version));
    if let Some(Metrics { series, .. }) = metrics.as_deref() {
        if cached.is_some() { &series.page_hits } else { &series.page_misses }.inc();
    }
    let cached_size = cached.as_ref().map_or(0, |cached| cached.size());
    let (found, version) = match cached {
        Some(cached) => (cached, version),
        None => read.await.map(|(read, version)| (Arc::new(read), version))?,
    };
    let response = found.answer(&context.head.headers, template);
    // The representation is new, or was compressed for this response.
    if let (Some(version), true) = (version, found.size() != cached_size) {
        page_cache.insert(resource, version, found);
    }
    Ok(response)
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
