//! A consistent view of the store.

use async_trait::async_trait;
use petstore_domain::{
    ApiKey, Corruption, Fingerprint, Idempotency, IdempotencyKey, IdempotencyRecord, KeyDigest,
    Pet, PetId, Snapshot, StoreCounts, StoreError, Timestamp,
};
use tokio::time;
use tokio_postgres::{Row, types::FromSql};

use crate::{
    api_keys,
    connection::{ARCHIVE_PATIENCE, Connection, Values},
    error::{Failure, StoreFailure, corruption},
    pets, version,
};

const COUNTS: &str = "SELECT (SELECT count(*) FROM pet), (SELECT count(*) FROM api_key), \
     (SELECT count(*) FROM idempotency)";
const PETS: &str =
    "SELECT id, name, category_id, status FROM pet WHERE id >= $1 ORDER BY id LIMIT $2";
const ATTEMPTS: &str = "SELECT caller, key, fingerprint, pet_id, created_at FROM idempotency \
     WHERE (caller, key) > ($1, $2) ORDER BY caller, key LIMIT $3";

/// A transaction that sees one state for as long as it is open.
#[derive(Debug)]
pub(super) struct View(Connection);

impl View {
    /// The view begins with the first statement, so there is one.
    pub(super) async fn open(connection: Connection) -> Result<Self, StoreFailure> {
        let view = Self(connection);
        view.rows(version::SELECT, &[]).await?;
        Ok(view)
    }

    async fn rows(&self, sql: &'static str, values: Values<'_>) -> Result<Vec<Row>, StoreFailure> {
        let rows = time::timeout(ARCHIVE_PATIENCE, self.0.rows(sql, values)).await;
        Ok(rows.map_err(|_| StoreFailure::Deadline(ARCHIVE_PATIENCE))??)
    }

    async fn read<T>(
        &self,
        sql: &'static str,
        values: Values<'_>,
        decode: impl FnOnce(&[Row]) -> Result<T, Corruption>,
    ) -> Result<T, StoreError> {
        let rows = self.rows(sql, values).await;
        let rows = rows.map_err(|failure| Failure::<StoreError>::Store(failure).into_error())?;
        Ok(decode(&rows)?)
    }
}

#[async_trait]
impl Snapshot for View {
    async fn counts(&mut self) -> Result<StoreCounts, StoreError> {
        self.read(COUNTS, &[], |rows| {
            let count = |column| {
                let count = rows.first().and_then(|row| row.try_get::<_, i64>(column).ok());
                count.and_then(|count| u64::try_from(count).ok()).unwrap_or_default()
            };
            Ok(StoreCounts { pets: count(0), keys: count(1), idempotency_records: count(2) })
        })
        .await
    }

    async fn pets(&mut self, after: Option<PetId>, at_most: u32) -> Result<Vec<Pet>, StoreError> {
        let first = after.map_or(Some(i64::MIN), |id| id.0.checked_add(1));
        let Some(first) = first else { return Ok(Vec::new()) };
        self.read(PETS, &[&first, &i64::from(at_most)], |rows| {
            rows.iter().map(|row| pets::rows::pet(row, 0)).collect()
        })
        .await
    }

    async fn keys(&mut self) -> Result<Vec<ApiKey>, StoreError> {
        self.read(api_keys::rows::ALL, &[], api_keys::rows::keys).await
    }

    async fn idempotency_records(
        &mut self,
        after: Option<Idempotency>,
        at_most: u32,
    ) -> Result<Vec<IdempotencyRecord>, StoreError> {
        // No record has an empty name.
        let (caller, key) = after.as_ref().map_or((&[][..], &[][..]), |after| {
            (&after.caller.0[..], after.key.as_str().as_bytes())
        });
        self.read(ATTEMPTS, &[&caller, &key, &i64::from(at_most)], |rows| {
            rows.iter().map(attempt).collect()
        })
        .await
    }
}

/// The record of the five columns, through the doors of the domain.
pub(super) fn attempt(row: &Row) -> Result<IdempotencyRecord, Corruption> {
    let pet = PetId(column(row, 3, None)?);
    let of = |what| move |_| broken(Some(pet), what);
    let key = str::from_utf8(column(row, 1, Some(pet))?)
        .map_err(|_| broken(Some(pet), "its key is ASCII"))?;
    Ok(IdempotencyRecord {
        idempotency: Idempotency {
            caller: KeyDigest(bytes(row, 0, pet)?.map_err(of("its caller has 32 bytes"))?),
            // In quotes, so that quotes which are part of the key stay.
            key: IdempotencyKey::parse(key).map_err(|rule| broken(Some(pet), rule))?,
        },
        fingerprint: Fingerprint(bytes(row, 2, pet)?.map_err(of("its fingerprint has 32 bytes"))?),
        pet,
        at: Timestamp(column(row, 4, Some(pet))?),
    })
}

fn bytes(
    row: &Row,
    index: usize,
    pet: PetId,
) -> Result<Result<[u8; 32], std::array::TryFromSliceError>, Corruption> {
    Ok(column::<&[u8]>(row, index, Some(pet))?.try_into())
}

fn column<'a, T: FromSql<'a>>(
    row: &'a Row,
    index: usize,
    pet: Option<PetId>,
) -> Result<T, Corruption> {
    row.try_get(index).map_err(|error| broken(pet, error))
}

fn broken(pet: Option<PetId>, rule: impl std::fmt::Display) -> Corruption {
    let what = pet.map_or_else(
        || "an idempotency record".to_owned(),
        |pet| format!("an idempotency record of animal {pet}"),
    );
    corruption(what, rule)
}
