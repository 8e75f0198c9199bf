//! The bearer credential of a request (RFC 6750).
//!
//! A request without a live key is refused after 100 ms at least, so a client that tries keys is slow. Before the
//! refusal, the key is checked again with keys that were read since the request arrived. So a new key works at its
//! first use. A waiting refusal holds a permit; without a permit, the answer is 429 at once.

use hyper::{HeaderMap, header::AUTHORIZATION};
use petstore_domain::{ApiKeySecret, Caller, KeyLabel};
use tokio::time::{sleep, timeout};

use super::only;
use crate::{response::error::ApiError, settings::Limits, state::State};

const SCHEME: &str = "bearer";

/// The outcome of the check of a request's key, for the log. At most one of the fields is set.
#[derive(Debug, Default)]
pub(crate) struct Credential {
    /// The caller; `None` without a live key.
    pub(crate) caller: Option<Caller>,
    /// The label of a key that is revoked or expired.
    pub(crate) refused: Option<KeyLabel>,
}

/// Returns the bearer token in the `Authorization` header, if there is exactly one such header.
pub(crate) fn bearer_token(headers: &HeaderMap) -> Option<ApiKeySecret> {
    let sent = only(headers, &AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = sent.split_at_checked(SCHEME.len())?;
    let token = token.strip_prefix(' ').filter(|_| scheme.eq_ignore_ascii_case(SCHEME))?;
    Some(token.trim_ascii()).filter(|token| !token.is_empty()).map(ApiKeySecret::new)
}

/// Returns the output of `again`, the second check, after the delay of a refusal.
///
/// # Errors
/// The error of `again`; `refusal` if the drain closes idle connections or the request timeout is near; 429 if too many
/// refusals wait.
pub(crate) async fn check_late<T>(
    state: &State,
    refusal: &ApiError,
    again: impl Future<Output = Result<T, ApiError>>,
) -> Result<T, ApiError> {
    let Limits { refusal_delay, request_timeout, .. } = state.settings.limits;
    let _permit = state.refusal_permits.try_acquire().map_err(|_| ApiError::rate_limited())?;
    let late = async { tokio::join!(again, sleep(refusal_delay)).0 };
    tokio::select! {
        // Ends before the request timeout, which would answer 503.
        outcome = timeout(request_timeout * 9 / 10, late) => {
            outcome.unwrap_or_else(|_| Err(refusal.clone()))
        }
        () = state.drain.last_call() => Err(refusal.clone()),
    }
}

#[cfg(test)]
mod tests;
