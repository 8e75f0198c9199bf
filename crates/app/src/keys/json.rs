//! The keys as `keys list --output json` shows them. A program reads this form: members are added to it,
//! and none is renamed or removed.

use petstore_domain::{ApiKey, KeyId, Timestamp};
use serde_json::{Value, json};

use crate::{clock::rfc3339, keys::state};

/// An array with an object for each key. Times are in UTC, `null` where there is none.
pub(super) fn array(keys: &[ApiKey], soon: &[KeyId], now: Timestamp) -> String {
    let keys: Vec<_> = keys.iter().map(|key| object(key, soon.contains(&key.id), now)).collect();
    format!("{:#}\n", Value::Array(keys))
}

fn object(key: &ApiKey, expires_soon: bool, now: Timestamp) -> Value {
    let ApiKey {
        id,
        name,
        digest: _,
        prefix,
        rights,
        created_at,
        expires_at,
        revoked_at,
        last_used_at,
    } = key;
    json!({
        "id": id.0,
        "name": name.as_str(),
        "prefix": prefix,
        "state": state::word(key, now),
        "rights": rights.as_str(),
        "expiresSoon": expires_soon,
        "createdAt": rfc3339(*created_at),
        "expiresAt": expires_at.map(rfc3339),
        "revokedAt": revoked_at.map(rfc3339),
        "lastUsedAt": last_used_at.map(rfc3339),
    })
}

#[cfg(test)]
mod tests {
    use petstore_domain::{ApiKeySecret, KeyId, KeyName, NewApiKey, Timestamp};
    use serde_json::{Value, json};

    use super::array;

    #[test]
    fn a_key_is_an_object_without_its_digest() {
        let secret = ApiKeySecret::from_entropy(&[0; 32]);
        let key = NewApiKey::new(
            KeyName::parse("web").unwrap(),
            &secret,
            Timestamp(0),
            Some(Timestamp(86_400_000)),
        );
        let text = array(&[key.with_id(KeyId(7))], &[KeyId(7)], Timestamp(5));
        let expected = json!([{
            "id": 7,
            "name": "web",
            "prefix": "pst_0000",
            "state": "live",
            "rights": "full",
            "expiresSoon": true,
            "createdAt": "1970-01-01T00:00:00Z",
            "expiresAt": "1970-01-02T00:00:00Z",
            "revokedAt": null,
            "lastUsedAt": null,
        }]);
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), expected);
        assert_eq!(array(&[], &[], Timestamp(0)), "[]\n");
    }
}
