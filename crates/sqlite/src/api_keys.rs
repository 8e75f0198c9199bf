//! [`KeyStore`] on SQLite: the keys in the table `api_key`, and their revision in `petstore_state`.

use async_trait::async_trait;
use petstore_domain::{
    ApiKey, CorruptKey, KeyChanges, KeyId, KeyMark, KeyRevision, KeyStore, SaveOutcome, StoreError,
    StoredApiKey, StoredKeys, Timestamp,
};
use rusqlite::{Connection, Params, Row, params};

use crate::{
    error::{Failure, unreadable},
    store::SqliteStore,
};

/// Makes a statement that selects whole rows; the argument is the rest of the statement.
macro_rules! select {
    ($tail:literal) => {
        concat!(
            "SELECT id, name, digest, prefix, rights, created_at, expires_at, revoked_at, \
             last_used_at, stamp FROM api_key ",
            $tail
        )
    };
}

pub(crate) const ALL: &str = select!("ORDER BY id");
pub(crate) const BY_ID_OR_DIGEST: &str = select!("WHERE id = ?1 OR digest = ?2");
pub(crate) const SINCE: &str = select!("WHERE stamp > ?1 ORDER BY stamp");
/// Selects a sum over all keys: each key adds 1 and the lower 32 bits of its stamp. With whole stamps, the sum could
/// overflow.
pub(crate) const SUM: &str = "SELECT coalesce(sum(1 + (stamp & 0xffffffff)), 0) FROM api_key";
/// Selects the revision, and the highest identifier ever assigned or stored; 0 if there was none.
pub(crate) const HEAD: &str = "SELECT key_revision, max(coalesce((SELECT max(id) FROM api_key), 0), \
     coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'api_key'), 0)) \
     FROM petstore_state WHERE only = 1";
const RENEW: &str = "UPDATE petstore_state SET key_revision = randomblob(16) WHERE only = 1";
/// Writes a key with a new stamp, because triggers do not run on petstore's connections. A stored key keeps the time of
/// its last use.
pub(crate) const WRITE: &str = "INSERT INTO api_key \
     (id, name, digest, prefix, rights, created_at, expires_at, revoked_at, last_used_at, stamp) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, \
       1 + coalesce((SELECT max(stamp) FROM api_key), 0) + (random() & 0xffffffff)) \
     ON CONFLICT (id) DO UPDATE SET stamp = excluded.stamp, \
     name = excluded.name, digest = excluded.digest, prefix = excluded.prefix, rights = excluded.rights, \
     created_at = excluded.created_at, expires_at = excluded.expires_at, revoked_at = excluded.revoked_at";
pub(crate) const NOTE_USE: &str =
    "UPDATE api_key SET last_used_at = max(coalesce(last_used_at, ?2), ?2) WHERE id = ?1";
pub(crate) const REMOVE: &str = "DELETE FROM api_key WHERE id = ?1";

#[async_trait]
impl KeyStore for SqliteStore {
    async fn load(&self, unless: Option<KeyRevision>) -> Result<Option<StoredKeys>, StoreError> {
        let load = move |connection: &Connection| {
            let snapshot = connection.unchecked_transaction()?;
            let (revision, _) = head(&snapshot)?;
            if unless == Some(revision) { Ok(None) } else { all(&snapshot).map(Some) }
        };
        self.readers.read(load).await
    }

    async fn load_changes(&self, known: Option<KeyMark>) -> Result<KeyChanges, StoreError> {
        let load = move |connection: &Connection| {
            let snapshot = connection.unchecked_transaction()?;
            let (revision, _) = head(&snapshot)?;
            let position = known.map_or(i64::MIN, |known| known.position);
            let mut changes = KeyChanges::none_since(KeyMark { revision, position });
            if known == Some(changes.mark) {
                return Ok(changes);
            }
            let mut statement = snapshot.prepare_cached(SINCE)?;
            let mut rows = statement.query([position])?;
            while let Some(row) = rows.next()? {
                changes.mark.position = row.get(9)?;
                let stamp = 1 + (changes.mark.position.cast_unsigned() & 0xffff_ffff);
                changes.rows.push((api_key(row), stamp));
            }
            let sum: i64 = snapshot.prepare_cached(SUM)?.query_row([], |row| row.get(0))?;
            changes.sum = sum.cast_unsigned();
            Ok(changes)
        };
        self.readers.read(load).await
    }

    async fn save(
        &self,
        expected: KeyRevision,
        changed: Vec<ApiKey>,
        removed: Vec<KeyId>,
    ) -> Result<SaveOutcome, StoreError> {
        let save = move |connection: &Connection| {
            if head(connection)?.0 != expected {
                return Ok(SaveOutcome::Conflict);
            }
            for id in &removed {
                connection.prepare_cached(REMOVE)?.execute([id.0])?;
            }
            changed.iter().try_for_each(|key| write(connection, key))?;
            renew(connection)?;
            Ok(SaveOutcome::Saved)
        };
        self.writer()?.write(save).await
    }

    async fn note_uses(&self, uses: Vec<(KeyId, Timestamp)>) -> Result<(), StoreError> {
        let note = move |connection: &Connection| {
            Ok(uses.iter().try_for_each(|(id, at)| note_use(connection, *id, *at))?)
        };
        self.writer()?.write(note).await
    }
}

/// Returns the revision, and the highest identifier ever assigned or stored; 0 if there was none.
pub(crate) fn head(connection: &Connection) -> rusqlite::Result<(KeyRevision, i64)> {
    connection
        .prepare_cached(HEAD)?
        .query_row([], |row| Ok((KeyRevision(u128::from_be_bytes(row.get(0)?)), row.get(1)?)))
}

/// Returns every key, the revision, and the next identifier.
pub(crate) fn all(connection: &Connection) -> Result<StoredKeys, Failure> {
    let (revision, highest) = head(connection)?;
    let next_id = KeyId(highest.saturating_add(1));
    Ok(StoredKeys::new(revision, next_id, select(connection, ALL, [])?))
}

/// Returns the keys with the identifier or the digest of `key`.
pub(crate) fn find(connection: &Connection, key: &ApiKey) -> Result<Vec<ApiKey>, Failure> {
    let found = select(connection, BY_ID_OR_DIGEST, params![key.id.0, key.digest.0])?.into_iter();
    found.map(|key| Ok(key.map_err(|corrupt| corrupt.corruption)?)).collect()
}

/// Returns the keys that `sql` selects, and the corrupt rows.
fn select(
    connection: &Connection,
    sql: &str,
    params: impl Params,
) -> rusqlite::Result<Vec<Result<ApiKey, CorruptKey>>> {
    let mut statement = connection.prepare_cached(sql)?;
    statement.query_map(params, |row| Ok(api_key(row)))?.collect()
}

/// Stores a key under its own identifier. A stored key keeps the time of its last use.
pub(crate) fn write(connection: &Connection, key: &ApiKey) -> rusqlite::Result<()> {
    let values = params![
        key.id.0,
        key.name.as_str(),
        key.digest.0,
        key.prefix,
        key.rights.as_str(),
        key.created_at.0,
        key.expires_at.map(|at| at.0),
        key.revoked_at.map(|at| at.0),
        key.last_used_at.map(|at| at.0)
    ];
    connection.prepare_cached(WRITE)?.execute(values).map(drop)
}

/// Stores the time of a key's last use, unless a later time is stored. Skips a key that is not in the store.
pub(crate) fn note_use(connection: &Connection, id: KeyId, at: Timestamp) -> rusqlite::Result<()> {
    connection.prepare_cached(NOTE_USE)?.execute([id.0, at.0]).map(drop)
}

/// Renews the revision of the keys, in the transaction that changes them.
pub(crate) fn renew(connection: &Connection) -> rusqlite::Result<()> {
    connection.prepare_cached(RENEW)?.execute([]).map(drop)
}

/// Returns the key of a row.
fn api_key(row: &Row<'_>) -> Result<ApiKey, CorruptKey> {
    // `get_ref` takes fewer instructions than `get`.
    let stored = || -> rusqlite::Result<_> {
        Ok(StoredApiKey {
            id: row.get_ref(0)?.as_i64()?,
            name: row.get_ref(1)?.as_str()?,
            digest: row.get_ref(2)?.as_blob()?,
            prefix: row.get_ref(3)?.as_str()?,
            rights: row.get_ref(4)?.as_str()?,
            created_at: row.get_ref(5)?.as_i64()?,
            expires_at: row.get_ref(6)?.as_i64_or_null()?,
            revoked_at: row.get_ref(7)?.as_i64_or_null()?,
            last_used_at: row.get_ref(8)?.as_i64_or_null()?,
        })
    };
    let unreadable = |error| CorruptKey {
        id: row.get(0).ok().map(KeyId),
        name: row.get(1).ok(),
        corruption: unreadable(row, "API key", &error),
    };
    ApiKey::from_stored(stored().map_err(unreadable)?)
}
