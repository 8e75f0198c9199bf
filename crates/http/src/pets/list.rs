//! Section 4.1, listPets.

use hyper::header::HeaderValue;
use petstore_domain::{CatalogueVersion, CursorPosition, PageLimit, Versioned};
use petstore_json::pets_to_json;

use super::cached;
use crate::{
    call::Call,
    conditional::{IfNoneMatch, Subject, Tags},
    cursor,
    error::ApiError,
    query,
    response::{self, Response},
};

/// A page of animals.
pub(crate) async fn handle(call: Call<'_>) -> Result<Response, ApiError> {
    let Call { state, head, .. } = call;
    let query = query::list_pets(head.uri.query())?;
    let subject = Subject::Page(query);
    let version = state.ports.pets.version();
    if let Some(cached) = cached::find(&call, subject, version) {
        return Ok(cached);
    }
    if let Some(unchanged) =
        unchanged(&state.tags, version, IfNoneMatch::of(&head.headers), subject)
    {
        return Ok(unchanged);
    }
    let Versioned { value: page, version } = state.ports.pets.list(query).await?;
    let next = CursorPosition::following(&page, &query)
        .map(|position| next_link(&state.public_base, query.limit, position))
        .transpose()?;
    Ok(cached::answer(&call, subject, version, pets_to_json(&page.pets), next))
}

/// 304 without a query, if the client names the tag of this page in this version of the catalogue. A
/// forged tag gains nothing: every page exists.
fn unchanged(
    tags: &Tags,
    version: Option<CatalogueVersion>,
    condition: Option<IfNoneMatch<'_>>,
    page: Subject,
) -> Option<Response> {
    let condition = condition?;
    let tag = tags.of_state(version?, page);
    condition.names(&tag).then(|| response::not_modified(tag))
}

/// The next page (RFC 8288), relative, with the limit and the filter of this one.
fn next_link(
    base: &str,
    limit: PageLimit,
    position: CursorPosition,
) -> Result<HeaderValue, ApiError> {
    let limit = limit.get();
    let status = position.status.map(|status| format!("&status={status}")).unwrap_or_default();
    let cursor = cursor::encode(position);
    let link = format!("<{base}/pets?limit={limit}{status}&cursor={cursor}>; rel=\"next\"");
    HeaderValue::try_from(link).map_err(ApiError::internal)
}

#[cfg(test)]
#[cfg(feature = "schedules")]
mod schedules;
