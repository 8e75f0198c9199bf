//! One transaction for a whole group of additions.
//!
//! Statements that do not wait for one another are sent together, so that a group of additions
//! without idempotency keys takes one round trip, any other two.

use std::collections::{BTreeMap, HashMap};

use petstore_domain::{
    AddError, Added, Corruption, IdempotencyDecision, IdempotencyId, IdempotencyRequest, NewPet,
    PetId, StoreError,
};
use tokio::{sync::oneshot, time::Instant};
use tokio_postgres::{Error, Row};

use crate::{
    connection::{Connection, WRITING},
    error::StoreFailure,
    pets::{
        idempotency,
        rows::{self, Columns},
    },
    values::Values,
    version::{self, StoredVersion},
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
    prepare(connection).await?;
    // The first request of each id. All instances go through the ids in this order, so that they wait for
    // one another in a line and not in a circle.
    let mut first = BTreeMap::new();
    for request in group.iter().filter_map(|job| job.request.as_ref()) {
        first.entry(request.id).or_insert(request);
    }
    let requests: Vec<&IdempotencyRequest> = first.into_values().collect();
    let mut reserved = HashMap::new();
    if !requests.is_empty() {
        reserved = reserve(connection, &requests).await?;
    }
    let step = |job: &'_ Job| match &job.request {
        None => Step::Insert(None),
        Some(request) => reserved
            .remove(&request.id)
            .map_or(Step::FindRecord(*request), |id| Step::Insert(Some(id))),
    };
    let steps: Vec<Step> = group.iter().map(step).collect();
    finish(connection, group, &steps, !requests.is_empty()).await
}

/// A statement that had to be prepared first would be sent behind the commit that is sent beside it.
async fn prepare(connection: &Connection) -> Result<(), Error> {
    for sql in [
        idempotency::PURGE_IDS,
        idempotency::RESERVE,
        idempotency::FIND,
        rows::INSERT,
        version::RENEW,
    ] {
        connection.prepare(sql).await?;
    }
    Ok(())
}

/// Begins, and reserves the ids that are free. Returns these, each with the identifier of its animal.
async fn reserve(
    connection: &Connection,
    requests: &[&IdempotencyRequest],
) -> Result<HashMap<IdempotencyId, PetId>, StoreFailure> {
    let ids: Vec<&[u8]> = requests.iter().map(|request| &request.id.0[..]).collect();
    let cutoffs: Vec<i64> = requests.iter().map(|request| request.cutoff.0).collect();
    let times: Vec<i64> = requests.iter().map(|request| request.at.0).collect();
    let fingerprints: Vec<&[u8]> = requests.iter().map(|one| &one.fingerprint.0[..]).collect();
    let expired: Values<'_> = &[&ids, &cutoffs];
    let new: Values<'_> = &[&ids, &fingerprints, &times];
    let (begun, purged, reserved) = tokio::join!(
        biased;
        connection.begin(WRITING),
        connection.query(idempotency::PURGE_IDS, expired),
        connection.query(idempotency::RESERVE, new),
    );
    begun?;
    purged?;
    let mut ids = HashMap::new();
    for row in reserved? {
        if let Ok(id) = row.try_get::<_, &[u8]>(0)?.try_into() {
            ids.insert(IdempotencyId(id), PetId(row.try_get(1)?));
        }
    }
    Ok(ids)
}

/// Begins if that is still to do, inserts the animals, reads the records of the others, renews the version, and commits.
async fn finish(
    connection: &Connection,
    group: &[Job],
    steps: &[Step],
    has_begun: bool,
) -> Result<Written, Failed> {
    let (mut columns, mut repeats) = (Columns::default(), Vec::<&[u8]>::new());
    for (job, step) in group.iter().zip(steps) {
        match step {
            Step::Insert(id) => columns.push(*id, &job.pet),
            Step::FindRecord(request) => repeats.push(&request.id.0),
        }
    }
    let version = (!columns.ids.is_empty()).then(version::random).transpose()?;
    let version = version.as_ref().map(<[u8; 16]>::as_slice);
    let Columns { ids, names, categories, statuses } = &columns;
    let animals: Values<'_> = &[ids, names, categories, statuses];
    let (records, renewal): (Values<'_>, Values<'_>) = (&[&repeats], &[&version]);
    let (begun, inserted, found, renewed, committed) = tokio::join!(
        biased;
        async { if has_begun { Ok(()) } else { connection.begin(WRITING).await } },
        rows_unless(ids.is_empty(), connection, rows::INSERT, animals),
        rows_unless(repeats.is_empty(), connection, idempotency::FIND, records),
        connection.query(version::RENEW, renewal),
        connection.commit(),
    );
    // A statement that the server refuses takes the commit with it; one whose answer got lost
    // does not.
    let refused =
        |failure: StoreFailure| Failed { in_doubt: failure.sql_state().is_none(), failure };
    begun.map_err(refused)?;
    let inserted = inserted.map_err(refused)?;
    let found = found.map_err(refused)?;
    let renewed = renewed.map_err(refused)?;
    committed.map_err(|failure| {
        let in_doubt = !failure.is_conflict() && !failure.is_refusal();
        Failed { failure, in_doubt }
    })?;
    let outcomes = outcomes(group, steps, &inserted, &found);
    Ok(Written {
        outcomes: outcomes.map_err(|error| Failed::in_doubt(error.into()))?,
        version: StoredVersion::from_row(renewed.first()).ok(),
    })
}

/// Rows, or none without asking where there is nothing to ask for.
async fn rows_unless(
    nothing: bool,
    connection: &Connection,
    sql: &'static str,
    values: Values<'_>,
) -> Result<Vec<Row>, StoreFailure> {
    if nothing { Ok(Vec::new()) } else { connection.query(sql, values).await }
}

/// What one addition is to do.
#[derive(Clone, Copy)]
enum Step {
    /// Insert the animal, under the identifier that was reserved with its id if it has one.
    Insert(Option<PetId>),
    /// Find the record with its id, which another addition has stored: one of another instance, an
    /// earlier one, or one of this group.
    FindRecord(IdempotencyRequest),
}

/// What became of one addition.
pub(super) enum Outcome {
    Answer(Result<Added, AddError>),
    /// The record with its id has expired or is gone since.
    Retry,
}

/// Returns what became of each addition, by the identifiers of the animals inserted, in their order, and
/// the records found.
fn outcomes(
    group: &[Job],
    steps: &[Step],
    inserted: &[Row],
    found: &[Row],
) -> Result<Vec<Outcome>, Error> {
    let mut inserted = inserted.iter();
    let mut records = HashMap::new();
    for row in found {
        records.insert(row.try_get::<_, &[u8]>(0)?, row);
    }
    let mut outcomes = Vec::with_capacity(group.len());
    for (job, step) in group.iter().zip(steps) {
        outcomes.push(match step {
            Step::Insert(_) => match inserted.next() {
                Some(row) => {
                    let pet = job.pet.clone().with_id(PetId(row.try_get(0)?));
                    Outcome::Answer(Ok(Added::Created(pet)))
                }
                None => Outcome::Answer(Err(StoreFailure::Contention.into())),
            },
            Step::FindRecord(request) => {
                by_record(request, records.get(&request.id.0[..]).copied())
            }
        });
    }
    Ok(outcomes)
}

/// What the record with the id of `request` means for it.
fn by_record(request: &IdempotencyRequest, row: Option<&Row>) -> Outcome {
    let replay = |row| -> Result<Outcome, Corruption> {
        let record = idempotency::record(row)?;
        let stored = (record.fingerprint, record.pet, record.at);
        Ok(match request.decide(Some(stored)) {
            IdempotencyDecision::Create => Outcome::Retry,
            IdempotencyDecision::Replay(_) => {
                let pet = idempotency::pet_of_record(row, &record)?;
                Outcome::Answer(Ok(Added::Replayed(pet)))
            }
            IdempotencyDecision::Reused => Outcome::Answer(Err(AddError::IdempotencyKeyReused)),
        })
    };
    let corrupt = |error| Outcome::Answer(Err(StoreError::from(error).into()));
    row.map_or(Outcome::Retry, |row| replay(row).unwrap_or_else(corrupt))
}
