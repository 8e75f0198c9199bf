//! The output of `keys list`: a table for people, JSON for programs.

use std::iter;

use clap::ValueEnum;
use petstore_domain::{ApiKey, KeyState, StoredKeys, Timestamp};
use serde_json::{Value, json};

use crate::system::{columns, rfc3339};

/// The format of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListForm {
    /// Columns, for people
    Table,
    /// JSON objects in an array, for programs
    Json,
}

/// The headings of the table, and the JSON members that they show.
const COLUMNS: [(&str, &str); 8] = [
    ("ID", "id"),
    ("NAME", "name"),
    ("PREFIX", "prefix"),
    ("STATE", "state"),
    ("CREATED", "createdAt"),
    ("EXPIRES", "expiresAt"),
    ("LAST USED", "lastUsedAt"),
    ("RIGHTS", "rights"),
];

/// Returns the list of the keys that are not corrupt.
pub(super) fn text(form: ListForm, stored: &StoredKeys, now: Timestamp) -> String {
    let soon: Vec<_> = stored.expiring_soon(now).map(|key| key.id).collect();
    let keys = stored.keys.iter().map(|key| object(key, soon.contains(&key.id), now));
    match form {
        ListForm::Table => {
            let head = COLUMNS.map(|(heading, _)| heading.to_owned());
            columns(&iter::once(head).chain(keys.map(|key| row(&key))).collect::<Vec<_>>())
        }
        ListForm::Json => format!("{:#}\n", keys.collect::<Value>()),
    }
}

/// Returns a key as JSON. Programs read the members, so no member is renamed or removed. Times are in UTC, or `null`.
fn object(key: &ApiKey, expires_soon: bool, now: Timestamp) -> Value {
    let state = match key.state(now) {
        KeyState::Live => "live",
        KeyState::Expired => "expired",
        KeyState::Revoked => "revoked",
    };
    json!({
        "id": key.id.0,
        "name": key.name.as_str(),
        "prefix": key.prefix,
        "state": state,
        "rights": key.rights.as_str(),
        "expiresSoon": expires_soon,
        "createdAt": rfc3339(key.created_at),
        "expiresAt": key.expires_at.map(rfc3339),
        "revokedAt": key.revoked_at.map(rfc3339),
        "lastUsedAt": key.last_used_at.map(rfc3339),
    })
}

/// Returns the cells of a key in the table.
fn row(key: &Value) -> [String; COLUMNS.len()] {
    COLUMNS.map(|(_, member)| match (member, &key[member]) {
        (_, Value::Null) => "-".to_owned(),
        ("prefix", Value::String(prefix)) => format!("{prefix}…"),
        ("expiresAt", Value::String(at)) if key["expiresSoon"] == true => format!("{at} (soon)"),
        (_, Value::String(text)) => text.clone(),
        (_, value) => value.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use petstore_domain::{ApiKey, ApiKeySecret, KeyId, KeyName, KeyRights, NewApiKey, Timestamp};

    use super::{ListForm, text};

    fn key(id: i64, name: &str, rights: KeyRights, expires_at: Option<i64>) -> ApiKey {
        let secret = ApiKeySecret::with_rights(&[0; 32], rights);
        let name = KeyName::parse(name).unwrap();
        NewApiKey::new(name, &secret, Timestamp(0), expires_at.map(Timestamp)).with_id(KeyId(id))
    }

    #[test]
    fn keys_are_listed_in_columns() {
        assert_eq!(text(ListForm::Table, &vec![].into(), Timestamp(0)).lines().count(), 1);
        let mut keys = [
            key(9, "web", KeyRights::Full, None),
            key(10, "warehouse", KeyRights::Full, Some(86_400_000)),
            key(11, "x", KeyRights::ReadOnly, None),
            key(12, "soon", KeyRights::Full, Some(3 * 86_400_000 + 5_000)),
        ];
        keys[0].last_used_at = Some(Timestamp(5_000));
        keys[2].revoked_at = Some(Timestamp(1));
        assert_eq!(
            text(ListForm::Table, &Vec::from(keys).into(), Timestamp(86_400_000)),
            "\
ID  NAME       PREFIX     STATE    CREATED               EXPIRES                      LAST USED             RIGHTS
9   web        pst_0000…  live     1970-01-01T00:00:00Z  -                            1970-01-01T00:00:05Z  full
10  warehouse  pst_0000…  expired  1970-01-01T00:00:00Z  1970-01-02T00:00:00Z         -                     full
11  x          psr_0000…  revoked  1970-01-01T00:00:00Z  -                            -                     read-only
12  soon       pst_0000…  live     1970-01-01T00:00:00Z  1970-01-04T00:00:05Z (soon)  -                     full
"
        );
    }
}
