//! Idempotency records.

use std::collections::{HashMap, HashSet};

use petstore_domain::{IdempotencyKey, IdempotencyRecord, KeyDigest, RestoreError};

use super::{Restoring, conflict};
use crate::{
    archive::snapshot,
    connection::Values,
    error::{Failure, StoreFailure, corruption},
};

/// Replaces an older record: its key was used again when it had expired.
const WRITE: &str = "INSERT INTO idempotency (caller, key, fingerprint, pet_id, created_at) \
     SELECT * FROM unnest($1::bytea[], $2::bytea[], $3::bytea[], $4::bigint[], $5::bigint[]) \
     ON CONFLICT (caller, key) DO UPDATE SET fingerprint = excluded.fingerprint, \
       pet_id = excluded.pet_id, created_at = excluded.created_at \
     WHERE idempotency.created_at < excluded.created_at";
const FIND: &str = "SELECT i.caller, i.key, i.fingerprint, i.pet_id, i.created_at \
     FROM unnest($1::bytea[], $2::bytea[]) AS u (caller, key) \
     JOIN idempotency i ON i.caller = u.caller AND i.key = u.key";
const PETS: &str = "SELECT id FROM pet WHERE id = ANY($1)";

type Name = (KeyDigest, IdempotencyKey);

fn name(record: &IdempotencyRecord) -> Name {
    (record.idempotency.caller, record.idempotency.key.clone())
}

impl Restoring {
    pub(super) async fn restore_attempts(
        &mut self,
        attempts: Vec<IdempotencyRecord>,
    ) -> Result<(), Failure<RestoreError>> {
        self.lock().await?;
        // One statement writes a row once.
        let mut last: HashMap<Name, IdempotencyRecord> = HashMap::with_capacity(attempts.len());
        for record in attempts {
            match last.get(&name(&record)) {
                Some(known) if known.at > record.at || *known == record => {}
                Some(known) if known.at == record.at => return Err(refused(&record)),
                Some(_) | None => drop(last.insert(name(&record), record)),
            }
        }
        let attempts: Vec<IdempotencyRecord> = last.into_values().collect();
        self.must_exist(&attempts).await?;
        self.write(&attempts).await
    }

    /// Their animals must have been written before.
    async fn must_exist(
        &self,
        attempts: &[IdempotencyRecord],
    ) -> Result<(), Failure<RestoreError>> {
        let ids: Vec<i64> = attempts.iter().map(|record| record.pet.0).collect();
        let rows = self.rows(PETS, &[&ids]).await?;
        let there = rows.iter().map(|row| row.try_get(0)).collect::<Result<HashSet<i64>, _>>();
        let there = there.map_err(StoreFailure::from)?;
        match attempts.iter().find(|record| !there.contains(&record.pet.0)) {
            Some(record) => {
                let what = format!("an idempotency record of animal {}", record.pet);
                Err(corruption(what, "it exists").into())
            }
            None => Ok(()),
        }
    }

    async fn write(&self, attempts: &[IdempotencyRecord]) -> Result<(), Failure<RestoreError>> {
        let names = attempts.iter().map(|record| &record.idempotency);
        let (callers, keys): (Vec<&[u8]>, Vec<&[u8]>) =
            names.map(|name| (&name.caller.0[..], name.key.as_str().as_bytes())).unzip();
        let fingerprints: Vec<&[u8]> = attempts.iter().map(|one| &one.fingerprint.0[..]).collect();
        let pets: Vec<i64> = attempts.iter().map(|one| one.pet.0).collect();
        let times: Vec<i64> = attempts.iter().map(|one| one.at.0).collect();
        let values: Values<'_> = &[&callers, &keys, &fingerprints, &pets, &times];
        let written = self.execute(WRITE, values).await?;
        if usize::try_from(written) == Ok(attempts.len()) {
            return Ok(());
        }
        let rows = self.rows(FIND, &[&callers, &keys]).await?;
        let mut there: HashMap<Name, IdempotencyRecord> = HashMap::with_capacity(rows.len());
        for row in &rows {
            let record = snapshot::attempt(row)?;
            there.insert(name(&record), record);
        }
        match attempts.iter().find(|record| there.get(&name(record)) != Some(record)) {
            Some(record) => Err(refused(record)),
            None => Ok(()),
        }
    }
}

fn refused(record: &IdempotencyRecord) -> Failure<RestoreError> {
    conflict(format!("idempotency record '{}'", record.idempotency.key.as_str()))
}
