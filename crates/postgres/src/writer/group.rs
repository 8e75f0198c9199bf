//! One transaction for a whole group of additions.
//!
//! All of it is sent at once and takes one round trip. It begins with the lock that every writer takes first, so
//! that the server decides alone who is first with a key, and nobody waits for this process meanwhile.

use std::collections::HashMap;

use petstore_domain::{
    AddError, Added, Corruption, IdempotencyDecision, IdempotencyRequest, NewPet, PetId, PetStatus,
    StoreError,
};
use petstore_storage::StoredVersion;
use tokio::{sync::oneshot, time::Instant};
use tokio_postgres::{Error, Row};

use crate::{
    connection::{APPENDING, Connection},
    error::StoreFailure,
    pets::{idempotency, rows},
    values::Values,
    version,
};

/// An animal to be added, and who waits for it.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) pet: NewPet,
    pub(super) request: Option<IdempotencyRequest>,
    /// Until then its caller waits.
    pub(super) deadline: Instant,
    /// How often it has been tried.
    pub(super) tries: u32,
    /// Whether an earlier try may have been committed: its answer was lost. Then its record is to
    /// be looked for until the deadline.
    pub(super) in_doubt: bool,
    pub(super) caller: oneshot::Sender<Result<Added, AddError>>,
}

impl Job {
    pub(super) fn answer(self, answer: Result<Added, AddError>) {
        // The caller's future may have been dropped; the addition has happened whole all the same.
        let _ = self.caller.send(answer);
    }
}

/// What became of an addition. `None` if it is to be tried again: another one of its group has the same key, or the
/// record has expired or is gone since.
pub(super) type Outcome = Option<Result<Added, AddError>>;

/// What became of a group. It is committed.
pub(super) struct Written {
    /// One for each addition, in their order.
    pub(super) outcomes: Vec<Outcome>,
    /// The version that the group has left.
    pub(super) version: Option<StoredVersion>,
}

/// A group was not written, or it is not known whether it was.
pub(super) struct Failed {
    pub(super) failure: StoreFailure,
    /// Whether it may have been committed nevertheless.
    pub(super) in_doubt: bool,
}

impl Failed {
    pub(super) fn in_doubt(failure: StoreFailure) -> Self {
        Self { failure, in_doubt: true }
    }
}

/// Before the commit has been sent, a failure of whatever kind means that nothing has happened.
impl<E: Into<StoreFailure>> From<E> for Failed {
    fn from(error: E) -> Self {
        Self { failure: error.into(), in_doubt: false }
    }
}

pub(super) async fn write(connection: &Connection, group: &[Job]) -> Result<Written, Failed> {
    // A statement that had to be prepared first would be sent behind the commit that is sent beside it.
    for sql in [
        version::LOCK,
        idempotency::PURGE_IDS,
        idempotency::FIND,
        rows::ADD,
        version::RENEW,
        rows::INSERT,
    ] {
        connection.prepare(sql).await?;
    }
    let requests = || group.iter().map(|job| job.request.as_ref());
    let names: Vec<&str> = group.iter().map(|job| job.pet.name.as_str()).collect();
    let categories: Vec<i64> = group.iter().map(|job| job.pet.category_id.0).collect();
    let statuses: Vec<_> = group.iter().map(|job| job.pet.status.map(PetStatus::as_str)).collect();
    let keys: Vec<_> = requests().map(|request| Some(&request?.id.0[..])).collect();
    let prints: Vec<_> = requests().map(|request| Some(&request?.fingerprint.0[..])).collect();
    let times: Vec<_> = requests().map(|request| Some(request?.at.0)).collect();
    let ids: Vec<&[u8]> = requests().flatten().map(|request| &request.id.0[..]).collect();
    let cutoffs: Vec<i64> = requests().flatten().map(|request| request.cutoff.0).collect();
    let version = version::random()?;
    let (version, renewed) = (version.as_slice(), Some(version.as_slice()));
    let (known, expired): (Values<'_>, Values<'_>) = (&[&ids], &[&ids, &cutoffs]);
    let (renewal, plain): (Values<'_>, Values<'_>) =
        (&[&renewed], &[&names, &categories, &statuses]);
    let keyed: Values<'_> = &[&names, &categories, &statuses, &keys, &prints, &times, &version];
    // Both begin with the lock, under which identifiers are drawn. What has no key is added in any case.
    let (lock, add) = if ids.is_empty() {
        ((version::RENEW, renewal), (rows::INSERT, plain))
    } else {
        ((version::LOCK, &[][..]), (rows::ADD, keyed))
    };
    let (begun, locked, purged, found, added, committed) = tokio::join!(
        biased;
        connection.begin(APPENDING),
        connection.query(lock.0, lock.1),
        unless(ids.is_empty(), connection.query(idempotency::PURGE_IDS, expired)),
        unless(ids.is_empty(), connection.query(idempotency::FIND, known)),
        connection.query(add.0, add.1),
        connection.commit(),
    );
    // A statement that the server refuses takes the commit with it; one whose answer got lost
    // does not.
    let refused =
        |failure: StoreFailure| Failed { in_doubt: failure.sql_state().is_none(), failure };
    begun.map_err(refused)?;
    locked.map_err(refused)?;
    purged.map_err(refused)?;
    let found = found.map_err(refused)?;
    let added = added.map_err(refused)?;
    committed.map_err(|failure| {
        let in_doubt = !failure.is_conflict() && !failure.is_refusal();
        Failed { failure, in_doubt }
    })?;
    let outcomes = outcomes(group, &found, &added);
    Ok(Written {
        outcomes: outcomes.map_err(|error| Failed::in_doubt(error.into()))?,
        version: version::from_row(added.first()).ok(),
    })
}

/// Rows, or none without asking where there is nothing to ask for.
async fn unless(
    nothing: bool,
    query: impl Future<Output = Result<Vec<Row>, StoreFailure>>,
) -> Result<Vec<Row>, StoreFailure> {
    if nothing { Ok(Vec::new()) } else { query.await }
}

/// Returns what became of each addition, by the records that were there before and what was added.
fn outcomes(group: &[Job], found: &[Row], added: &[Row]) -> Result<Vec<Outcome>, Error> {
    let (mut records, mut ids) = (HashMap::new(), HashMap::new());
    for row in found {
        records.insert(row.try_get::<_, &[u8]>(0)?, row);
    }
    for row in added {
        ids.insert(row.try_get::<_, Option<i64>>(2)?, row.try_get::<_, Option<i64>>(3)?);
    }
    let outcomes = (1_i64..).zip(group).map(|(place, job)| {
        match (ids.remove(&Some(place)).flatten(), &job.request) {
            (Some(id), _) => Some(Ok(Added::Created(job.pet.clone().with_id(PetId(id))))),
            (None, Some(request)) => {
                by_record(request, records.get(&request.id.0[..]).copied()?).transpose()
            }
            // There is no catalogue.
            (None, None) => Some(Err(version::from_row(added.first()).err()?.into())),
        }
    });
    Ok(outcomes.collect())
}

/// Returns what the record with the id of `request` means for it.
fn by_record(request: &IdempotencyRequest, row: &Row) -> Result<Option<Added>, AddError> {
    let corrupt = |error: Corruption| StoreError::from(error);
    let record = idempotency::record(row).map_err(corrupt)?;
    match request.decide(Some((record.fingerprint, record.pet, record.at))) {
        IdempotencyDecision::Create => Ok(None),
        IdempotencyDecision::Replay(_) => {
            let pet = idempotency::pet_of_record(row, &record).map_err(corrupt)?;
            Ok(Some(Added::Replayed(pet)))
        }
        IdempotencyDecision::Reused => Err(AddError::IdempotencyKeyReused),
    }
}
