//! Section 4.1, listPets.

use std::sync::Arc;

use bytes::Bytes;
use hyper::header::HeaderValue;
use petstore_domain::{CatalogueVersion, CursorPosition, PageLimit, PetQuery, Versioned};
use petstore_json::pets_to_json;

use crate::{
    address::BASE_PATH,
    call::Call,
    conditional::{IfNoneMatch, Subject, tag, tag_of_state},
    cursor,
    error::ApiError,
    page_cache::EncodedPage,
    query,
    response::{self, Response},
};

/// A page of animals. What was encoded in this version of the catalogue is not read again.
pub(crate) async fn handle(call: Call<'_>) -> Result<Response, ApiError> {
    let Call { state, head, .. } = call;
    let query = query::list_pets(head.uri.query())?;
    let condition = IfNoneMatch::of(&head.headers);
    let version = state.ports.pets.version();
    let cached = version.and_then(|version| state.page_cache.get(&query, version));
    if let Some(metrics) = &state.metrics {
        metrics.page_looked_up(cached.is_some());
    }
    if let Some(page) = cached {
        return Ok(page.answer(condition));
    }
    if let Some(unchanged) = unchanged(version, condition, query) {
        return Ok(unchanged);
    }
    let Versioned { value: page, version } = state.ports.pets.list(query).await?;
    let content = Bytes::from(pets_to_json(&page.pets));
    let tag = tag(&content, version, Subject::Page(query));
    let next = CursorPosition::following(&page, &query)
        .map(|position| next_link(query.limit, position))
        .transpose()?;
    let page = Arc::new(EncodedPage { content, tag, next });
    if let Some(version) = version {
        state.page_cache.insert(query, version, Arc::clone(&page));
    }
    Ok(page.answer(condition))
}

/// 304 without a query, if the client names the tag of this page in this version of the catalogue. A
/// forged tag gains nothing: every page exists.
fn unchanged(
    version: Option<CatalogueVersion>,
    condition: Option<IfNoneMatch<'_>>,
    query: PetQuery,
) -> Option<Response> {
    let condition = condition?;
    let tag = tag_of_state(version?, Subject::Page(query));
    condition.names_a_form(&tag).then(|| response::not_modified(tag))
}

/// The next page (RFC 8288), relative, with the limit and the filter of this one.
fn next_link(limit: PageLimit, position: CursorPosition) -> Result<HeaderValue, ApiError> {
    let limit = limit.get();
    let status = position.status.map(|status| format!("&status={status}")).unwrap_or_default();
    let cursor = cursor::encode(position);
    let link = format!("<{BASE_PATH}/pets?limit={limit}{status}&cursor={cursor}>; rel=\"next\"");
    HeaderValue::try_from(link).map_err(ApiError::internal)
}

#[cfg(test)]
#[cfg(feature = "schedules")]
mod schedules;
