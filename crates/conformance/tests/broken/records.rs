//! Flaws of idempotency.

use std::sync::atomic::Ordering;

use petstore_domain::{
    AddError, Added, Archive as _, IdempotencyRecord, IdempotencyRequest, NewPet, PetRepository,
    Purged, Rows, StoreError, Timestamp, WriterRole,
};
use petstore_memory::MemoryStore;
use tokio::task::yield_now;

use crate::{faults::Faults, flaw::Flaw};

async fn add(
    store: &MemoryStore,
    pet: NewPet,
    request: Option<IdempotencyRequest>,
) -> Result<Added, AddError> {
    PetRepository::add(store, pet, request).await
}

/// Returns the valid record for `request`.
async fn record(store: &MemoryStore, request: &IdempotencyRequest) -> Option<IdempotencyRecord> {
    let mut snapshot = store.snapshot().await.unwrap();
    let records = snapshot.records(None, u32::MAX).await.unwrap();
    let counts = |record: &IdempotencyRecord| record.id == request.id && record.at > request.cutoff;
    records.into_iter().find(counts)
}

/// Looks for a record, yields to other tasks, and then writes as if no task had written meanwhile.
async fn add_after_looking(
    store: &MemoryStore,
    pet: NewPet,
    request: IdempotencyRequest,
) -> Result<Added, AddError> {
    let found = record(store, &request).await;
    yield_now().await;
    match add(store, pet.clone(), Some(request)).await {
        Ok(Added::Replayed(_)) | Err(AddError::IdempotencyKeyReused) if found.is_none() => {
            add(store, pet, None).await
        }
        other => other,
    }
}

/// Writes the animal in one transaction, and its record in the next.
async fn add_in_two_transactions(
    store: &MemoryStore,
    pet: NewPet,
    request: IdempotencyRequest,
) -> Result<Added, AddError> {
    if record(store, &request).await.is_some() {
        return add(store, pet, Some(request)).await;
    }
    let added = add(store, pet, None).await?;
    yield_now().await;
    let Added::Created(pet) = &added else { return Ok(added) };
    let records = vec![request.into_record(pet.id)];
    // The write fails if another task has written a record with this id.
    let rows = Rows { records, ..Rows::default() };
    let _ = store.write_rows(WriterRole::Service, rows).await;
    Ok(added)
}

pub(crate) const FLAWS: &[Flaw] = &[
    Flaw::new("a record never expires", &["a_record_decides_until_exactly_its_expiry"], |_| {
        Faults::change_request(|request| request.cutoff = Timestamp(i64::MIN))
    }),
    Flaw::new(
        "a record expires a millisecond too late",
        &["a_record_decides_until_exactly_its_expiry"],
        |_| Faults::change_request(|request| request.cutoff.0 -= 1),
    ),
    Flaw::new(
        "a record expires a millisecond too early",
        &["a_record_decides_until_exactly_its_expiry"],
        |_| Faults::change_request(|request| request.cutoff.0 += 1),
    ),
    Flaw::new(
        "the last bit of a record's id is ignored",
        &["ids_that_differ_in_any_bit_are_two_records"],
        |_| Faults::change_request(|request| request.id.0[15] &= !1),
    ),
    Flaw::new(
        "ids of records that differ only in the case of letters are equal",
        &["ids_that_differ_in_any_bit_are_two_records"],
        |_| Faults::change_request(|request| request.id.0.make_ascii_lowercase()),
    ),
    Flaw::new(
        "a record's id ends at its first zero byte",
        &["ids_that_differ_in_any_bit_are_two_records"],
        |_| {
            Faults::change_request(|request| {
                if let Some(end) = request.id.0.iter().position(|byte| *byte == 0) {
                    request.id.0[end..].fill(0);
                }
            })
        },
    ),
    Flaw::new(
        "a handle knows only its own records",
        &[
            "rows_come_back_and_may_be_written_again",
            "a_snapshot_holds_everything_in_order",
            "reopening_keeps_what_was_acknowledged",
            "equal_requests_at_once_add_one_animal",
        ],
        |notes| {
            let handle = notes.handles.fetch_add(1, Ordering::Relaxed);
            Faults::change_request(move |request| request.id.0[0] ^= 100 + handle)
        },
    ),
    Flaw::new(
        "an idempotency key is accepted for another animal",
        &["a_record_decides_until_exactly_its_expiry", "random_commands_do_as_the_model_does"],
        |_| {
            Faults::default().add(|store, (pet, request)| async move {
                match add(&store, pet.clone(), request).await {
                    Err(AddError::IdempotencyKeyReused) => add(&store, pet, None).await,
                    other => other,
                }
            })
        },
    ),
    Flaw::new(
        "a record is looked up in one transaction and written in another",
        &["equal_requests_at_once_add_one_animal"],
        |_| {
            Faults::default().add(|store, (pet, request)| async move {
                match request {
                    None => add(&store, pet, None).await,
                    Some(request) => add_after_looking(&store, pet, request).await,
                }
            })
        },
    )
    .on_one_thread(),
    Flaw::new(
        "an animal and its record are written in two transactions",
        &[
            "a_dropped_addition_happens_whole_or_not_at_all",
            "an_animal_and_its_record_appear_together",
            "equal_requests_at_once_add_one_animal",
        ],
        |_| {
            Faults::default().add(|store, (pet, request)| async move {
                match request {
                    None => add(&store, pet, None).await,
                    Some(request) => add_in_two_transactions(&store, pet, request).await,
                }
            })
        },
    )
    .on_one_thread(),
    Flaw::new(
        "more records are purged than the limit",
        &["purging_keeps_to_its_limit_and_its_cutoff"],
        |_| {
            Faults::default().purge(|store, (cutoff, _)| async move {
                store.purge_expired(cutoff, u32::MAX).await
            })
        },
    ),
    Flaw::new(
        "a purge always says that no expired record is left",
        &["purging_keeps_to_its_limit_and_its_cutoff"],
        |_| purges(|purged| Purged { more: false, ..purged }),
    ),
    Flaw::new(
        "a purge always says that expired records are left",
        &["purging_keeps_to_its_limit_and_its_cutoff"],
        |_| purges(|purged| Purged { more: true, ..purged }),
    ),
    Flaw::new(
        "a purge deletes records a millisecond before their expiry",
        &["purging_keeps_to_its_limit_and_its_cutoff", "reopening_keeps_what_was_acknowledged"],
        |_| {
            Faults::default().purge(|store, (cutoff, limit)| async move {
                store.purge_expired(Timestamp(cutoff.0 + 1), limit).await
            })
        },
    ),
    Flaw::new(
        "a purge looks for expired records, and later deletes them even if they were replaced",
        &["a_purge_spares_a_record_that_is_replaced_meanwhile"],
        |_| {
            Faults::default().purge(|store, (cutoff, limit)| async move {
                let old = store.snapshot().await?.records(None, u32::MAX).await?;
                let is_old = old.iter().any(|record| record.at <= cutoff);
                yield_now().await;
                let cutoff = if is_old { Timestamp(i64::MAX) } else { cutoff };
                store.purge_expired(cutoff, limit).await
            })
        },
    )
    .on_one_thread(),
    Flaw::new(
        "a replay returns the present row, not the animal as the request added it",
        &["a_replay_returns_the_animal_of_its_request"],
        |_| replays(false),
    ),
    Flaw::new(
        "a replay fails if its animal has no row",
        &["a_replay_returns_the_animal_of_its_request", "a_record_outlasts_its_deleted_animal"],
        |_| replays(true),
    ),
];

/// Purges, but returns the outcome that `otherwise` makes of the true outcome.
fn purges(otherwise: fn(Purged) -> Purged) -> Faults {
    Faults::default().purge(move |store, (cutoff, limit)| async move {
        store.purge_expired(cutoff, limit).await.map(otherwise)
    })
}

/// Replays that read the row of the animal. With `needs_row`, a replay fails without the row.
fn replays(needs_row: bool) -> Faults {
    Faults::default().add(move |store, (pet, request)| async move {
        let added = add(&store, pet, request).await?;
        let Added::Replayed(pet) = added else { return Ok(added) };
        match store.find(pet.id).await?.value {
            Some(found) => Ok(Added::Replayed(found)),
            None if needs_row => Err(StoreError::corrupt("a record", "its animal exists").into()),
            None => Ok(Added::Replayed(pet)),
        }
    })
}
