//! The bearer credential of a request (interface, section 5; RFC 6750). A request without a live key is refused late.
//!
//! A refusal waits for 100 ms at least, and until the key was checked again by keys that were read after the request
//! arrived. So a new key works at its first use, and a client that tries keys is slow. Each refusal that waits holds a
//! permit; without a permit, the answer is 429 at once.

use hyper::{HeaderMap, header::AUTHORIZATION};
use petstore_domain::{ApiKeySecret, AuthenticationError, Authenticator, Caller, KeyLabel};
use tokio::{
    sync::Semaphore,
    time::{sleep, timeout},
};

use crate::{connection::ending::Drain, response::error::ApiError, settings::Limits};

const SCHEME: &str = "bearer";
/// The largest number of refusals that wait at once; a quarter of `max_connections` if that is less.
const MAX_WAITING: usize = 4096;

/// The key of a request, as far as it is known.
#[derive(Debug, Default)]
pub(crate) struct Credential {
    /// The client of a live key.
    pub(crate) caller: Option<Caller>,
    /// The label of a key that is revoked or expired.
    pub(crate) refused: Option<KeyLabel>,
}

/// Returns the caller whose key the `Authorization` header carries, and fills `credential`. A key anywhere else is
/// ignored.
///
/// # Errors
/// 401, late; or the error of the key store.
pub(crate) async fn authenticate<'p>(
    headers: &HeaderMap,
    authenticator: &dyn Authenticator,
    refusals: &LateRefusals,
    drain: &Drain,
    credential: &'p mut Credential,
) -> Result<&'p Caller, ApiError> {
    let (key, label) = match bearer_token(headers) {
        None => (None, None),
        Some(key) => match authenticator.authenticate(&key).await {
            Err(AuthenticationError::Refused(label)) => (Some(key), label),
            known => return Ok(credential.caller.insert(known?)),
        },
    };
    let refusal = ApiError::unauthorized(headers.contains_key(AUTHORIZATION));
    let again = async {
        let key = key.as_ref().ok_or_else(|| refusal.clone())?;
        Ok(authenticator.authenticate_again(key).await?)
    };
    // In a box of its own size: it is not on the way of a live key.
    let late = Box::pin(refusals.wait(drain, &refusal, again)).await;
    if late.is_err() {
        credential.refused = label;
    }
    Ok(credential.caller.insert(late?))
}

/// Returns the API key in the `Authorization` header, if that is there once and carries a bearer token.
pub(crate) fn bearer_token(headers: &HeaderMap) -> Option<ApiKeySecret> {
    let mut sent = headers.get_all(AUTHORIZATION).iter();
    let only = sent.next().filter(|_| sent.next().is_none())?;
    let (scheme, token) = only.to_str().ok()?.split_at_checked(SCHEME.len())?;
    let token = token.strip_prefix(' ').filter(|_| scheme.eq_ignore_ascii_case(SCHEME))?;
    Some(token.trim_ascii()).filter(|token| !token.is_empty()).map(ApiKeySecret::new)
}

/// Bounds the refusals that wait.
#[derive(Debug)]
pub(crate) struct LateRefusals {
    /// A permit for each that waits.
    permits: Semaphore,
    limits: Limits,
}

impl LateRefusals {
    /// Creates a bound of a quarter of the connections.
    pub(crate) fn new(limits: Limits) -> Self {
        let permits = (limits.max_connections.get() / 4).clamp(1, MAX_WAITING);
        Self { permits: Semaphore::new(permits), limits }
    }

    /// Returns the output of `again`, but not before the delay; `refusal` when `drain` closes idle connections, or the
    /// time for the request runs out.
    ///
    /// # Errors
    /// The error of `again`, or `refusal`; 429 if too many wait.
    pub(crate) async fn wait<T>(
        &self,
        drain: &Drain,
        refusal: &ApiError,
        again: impl Future<Output = Result<T, ApiError>>,
    ) -> Result<T, ApiError> {
        let _permit = self.permits.try_acquire().map_err(|_| ApiError::rate_limited())?;
        let late = async { tokio::join!(again, sleep(self.limits.refusal_delay)).0 };
        // Before the time for the request as a whole is over, which would be 503.
        let time = self.limits.request_timeout * 9 / 10;
        tokio::select! {
            outcome = timeout(time, late) => outcome.unwrap_or_else(|_| Err(refusal.clone())),
            () = drain.last_call() => Err(refusal.clone()),
        }
    }
}

#[cfg(test)]
mod tests;
