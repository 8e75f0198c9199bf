//! Who is calling: the bearer credential of a request (interface, section 5; RFC 6750).

use hyper::{HeaderMap, header::AUTHORIZATION};
use petstore_domain::{ApiKeySecret, AuthenticationError, Caller, KeyLabel};

use crate::{response::error::ApiError, state::State};

const SCHEME: &str = "bearer";

/// Returns the caller whose key the `Authorization` header carries. A key anywhere else is not looked at.
///
/// # Errors
/// 401, late; or what the keys could not be read for. If the key was live once, its label is put into `refused`.
pub(crate) async fn authenticate(
    state: &State,
    headers: &HeaderMap,
    refused: &mut Option<KeyLabel>,
) -> Result<Caller, ApiError> {
    let authenticator = &*state.ports.authenticator;
    let (refusal, key, label) = match credential(headers) {
        Credential::None => (ApiError::unauthorized(false), None, None),
        Credential::Malformed => (ApiError::unauthorized(true), None, None),
        Credential::Bearer(key) => match authenticator.authenticate(&key).await {
            Err(AuthenticationError::Refused(label)) => {
                (ApiError::unauthorized(true), Some(key), label)
            }
            known => return Ok(known?),
        },
    };
    let again = async {
        let key = key.as_ref().ok_or_else(|| refusal.clone())?;
        Ok(authenticator.authenticate_again(key).await?)
    };
    // In a box of its own size: it is not on the way of a good key.
    let late = Box::pin(state.refusals.wait(&state.drain, &refusal, again)).await;
    if late.is_err() {
        *refused = label;
    }
    late
}

/// What a request carries as its credential.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Credential {
    None,
    /// Something was sent, but not one bearer token.
    Malformed,
    Bearer(ApiKeySecret),
}

/// The credential in the `Authorization` header.
pub(crate) fn credential(headers: &HeaderMap) -> Credential {
    let mut sent = headers.get_all(AUTHORIZATION).iter();
    let Some(first) = sent.next() else { return Credential::None };
    if sent.next().is_some() {
        return Credential::Malformed;
    }
    let token = first.to_str().ok().and_then(bearer_token);
    token.map_or(Credential::Malformed, |token| Credential::Bearer(ApiKeySecret::new(token)))
}

fn bearer_token(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_at_checked(SCHEME.len())?;
    let token = token.strip_prefix(' ').filter(|_| scheme.eq_ignore_ascii_case(SCHEME))?;
    Some(token.trim_ascii()).filter(|token| !token.is_empty())
}

#[cfg(test)]
mod tests {
    use hyper::{
        HeaderMap,
        header::{AUTHORIZATION, HeaderValue},
    };

    use petstore_domain::ApiKeySecret;

    use super::{Credential, credential};

    #[test]
    fn a_credential_is_one_bearer_token() {
        let bearer = |token: &str| Credential::Bearer(ApiKeySecret::new(token));
        let table: [(&[&[u8]], Credential); 13] = [
            (&[], Credential::None),
            (&[b"Bearer abc"], bearer("abc")),
            (&[b"bearer abc"], bearer("abc")),
            (&[b"BEARER  abc "], bearer("abc")),
            (&[b"Bearer a b"], bearer("a b")),
            (&[b""], Credential::Malformed),
            (&[b"Bearer"], Credential::Malformed),
            (&[b"Bearer "], Credential::Malformed),
            (&[b"Basic abc"], Credential::Malformed),
            (&[b"abc"], Credential::Malformed),
            (&[b"Bearerabc"], Credential::Malformed),
            (&[b"Bearer caf\xc3\xa9"], Credential::Malformed),
            (&[b"Bearer abc", b"Bearer abc"], Credential::Malformed),
        ];
        for (sent, expected) in table {
            let mut headers = HeaderMap::new();
            for value in sent {
                headers.append(AUTHORIZATION, HeaderValue::from_bytes(value).unwrap());
            }
            assert_eq!(credential(&headers), expected, "{sent:?}");
        }
    }

    #[test]
    fn a_key_is_not_in_the_debug_form_of_its_credential() {
        let headers = HeaderMap::from_iter([(
            AUTHORIZATION,
            HeaderValue::from_static("Bearer canary-key-0123456789"),
        )]);
        let shown = format!("{:?}", credential(&headers));
        assert!(!shown.contains("canary"), "{shown}");
    }
}
