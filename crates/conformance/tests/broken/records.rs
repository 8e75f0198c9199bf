//! Flaws of idempotency.

use async_trait::async_trait;
use petstore_domain::{
    AddError, Added, Archive, IdempotencyKey, IdempotencyRecord, IdempotencyRequest, KeyDigest,
    NewPet, PetRepository, Timestamp,
};
use petstore_memory::MemoryStore;
use tokio::task::yield_now;

use crate::{flawed::Flaw, is_caught_by};

type Outcome = Result<Added, AddError>;
type Attempt = Option<IdempotencyRequest>;

async fn honest(store: &MemoryStore, pet: NewPet, attempt: Attempt) -> Outcome {
    PetRepository::add(store, pet, attempt).await
}

/// Makes an adapter that changes the attempt by this function first, and the test that it is caught.
macro_rules! changed_attempt {
    ($test:ident, $flaw:ident, $change:expr, $due:expr) => {
        #[derive(Clone)]
        struct $flaw;

        #[async_trait]
        impl Flaw for $flaw {
            async fn add(&self, store: &MemoryStore, pet: NewPet, attempt: Attempt) -> Outcome {
                let change: fn(&mut IdempotencyRequest) = $change;
                let mut attempt = attempt;
                if let Some(attempt) = &mut attempt {
                    change(attempt);
                }
                honest(store, pet, attempt).await
            }
        }

        #[tokio::test(flavor = "multi_thread")]
        async fn $test() {
            is_caught_by($flaw, $due).await;
        }
    };
}

changed_attempt!(
    an_expired_record_that_still_counts_is_caught,
    Eternal,
    |attempt| attempt.cutoff = Timestamp(i64::MIN),
    ["a_record_counts_until_exactly_its_expiry", "an_expired_record_gives_way_to_a_new_one"]
);

changed_attempt!(
    a_record_that_counts_a_moment_too_long_is_caught,
    MomentTooLong,
    |attempt| attempt.cutoff.0 -= 1,
    ["a_record_counts_until_exactly_its_expiry", "an_expired_record_gives_way_to_a_new_one"]
);

changed_attempt!(
    a_record_that_counts_a_moment_too_short_is_caught,
    MomentTooShort,
    |attempt| attempt.cutoff.0 += 1,
    [
        "a_record_counts_until_exactly_its_expiry",
        "a_repeat_gets_the_first_animal_and_adds_nothing",
        "an_expired_record_gives_way_to_a_new_one"
    ]
);

changed_attempt!(
    a_key_that_is_shared_by_all_callers_is_caught,
    CallerIgnored,
    |attempt| attempt.idempotency.caller = KeyDigest([0; 32]),
    [
        "a_key_that_is_there_already_is_joined",
        "a_newer_record_replaces_the_one_there",
        "a_restore_brings_back_every_field",
        "a_restore_left_without_commit_leaves_nothing",
        "a_restore_may_be_repeated",
        "a_restore_names_what_is_in_its_way",
        "a_snapshot_does_not_see_later_writes",
        "a_snapshot_holds_all_in_ordered_batches",
        "identifiers_go_on_above_those_restored",
        "the_same_key_of_another_caller_is_another_key"
    ]
);

changed_attempt!(
    a_key_without_letter_case_is_caught,
    CaseFolded,
    |attempt| {
        let folded = attempt.idempotency.key.as_str().to_ascii_lowercase();
        attempt.idempotency.key = IdempotencyKey::parse(folded).unwrap();
    },
    [
        "a_key_that_is_there_already_is_joined",
        "a_newer_record_replaces_the_one_there",
        "a_restore_brings_back_every_field",
        "a_restore_left_without_commit_leaves_nothing",
        "a_restore_may_be_repeated",
        "a_restore_names_what_is_in_its_way",
        "a_snapshot_does_not_see_later_writes",
        "a_snapshot_holds_all_in_ordered_batches",
        "identifiers_go_on_above_those_restored",
        "the_same_key_of_another_caller_is_another_key"
    ]
);

/// Adds a second animal under a key that stands for another.
#[derive(Clone)]
struct ReuseAccepted;

#[async_trait]
impl Flaw for ReuseAccepted {
    async fn add(&self, store: &MemoryStore, pet: NewPet, attempt: Attempt) -> Outcome {
        match honest(store, pet.clone(), attempt).await {
            Err(AddError::IdempotencyKeyReused) => honest(store, pet, None).await,
            other => other,
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_accepted_for_another_animal_is_caught() {
    is_caught_by(
        ReuseAccepted,
        [
            "a_key_used_for_another_animal_is_refused",
            "of_different_animals_under_one_key_one_is_added",
            "random_commands_do_as_the_model_does",
        ],
    )
    .await;
}

/// The record of `attempt` as it is now.
async fn record(store: &MemoryStore, attempt: &IdempotencyRequest) -> Option<IdempotencyRecord> {
    let mut snapshot = store.snapshot().await.unwrap();
    let records = snapshot.idempotency_records(None, u32::MAX).await.unwrap();
    let counts = |record: &IdempotencyRecord| {
        record.idempotency == attempt.idempotency && record.at > attempt.cutoff
    };
    records.into_iter().find(counts)
}

/// Looks for a record, lets others go first, and then writes as if nobody had.
#[derive(Clone)]
struct Race;

#[async_trait]
impl Flaw for Race {
    async fn add(&self, store: &MemoryStore, pet: NewPet, attempt: Attempt) -> Outcome {
        let Some(attempt) = attempt else { return honest(store, pet, None).await };
        let looked = record(store, &attempt).await;
        yield_now().await;
        match honest(store, pet.clone(), Some(attempt)).await {
            Ok(Added::Replayed(_)) | Err(AddError::IdempotencyKeyReused) if looked.is_none() => {
                honest(store, pet, None).await
            }
            other => other,
        }
    }
}

// One thread: where a call lets others go first, each of them does.
#[tokio::test]
async fn a_race_that_makes_two_is_caught() {
    is_caught_by(Race, ["sixty_four_tasks_with_one_key_add_one_animal"]).await;
}

/// Writes the animal, and a moment later the record.
#[derive(Clone)]
struct Torn;

#[async_trait]
impl Flaw for Torn {
    async fn add(&self, store: &MemoryStore, pet: NewPet, attempt: Attempt) -> Outcome {
        let Some(attempt) = attempt else { return honest(store, pet, None).await };
        if record(store, &attempt).await.is_some() {
            return honest(store, pet, Some(attempt)).await;
        }
        let added = honest(store, pet, None).await?;
        yield_now().await;
        let Added::Created(pet) = &added else { return Ok(added) };
        let IdempotencyRequest { idempotency, fingerprint, at, .. } = attempt;
        let mut restore = store.restore().await.unwrap();
        let record = IdempotencyRecord { idempotency, fingerprint, pet: pet.id, at };
        if restore.idempotency_records(vec![record]).await.is_ok() {
            restore.commit().await?;
        }
        Ok(added)
    }
}

// One thread: where a call lets others go first, each of them does.
#[tokio::test]
async fn an_addition_in_two_steps_is_caught() {
    is_caught_by(
        Torn,
        [
            "a_dropped_addition_happens_whole_or_not_at_all",
            "sixty_four_tasks_with_one_key_add_one_animal",
        ],
    )
    .await;
}

#[derive(Clone)]
struct ForgetsAll;

#[async_trait]
impl Flaw for ForgetsAll {
    async fn forget(&self, store: &MemoryStore, expired: Timestamp, _: u32) -> u32 {
        store.purge_expired(expired, u32::MAX).await.unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn forgetting_more_than_was_asked_is_caught() {
    is_caught_by(ForgetsAll, ["forgetting_keeps_to_its_bound_and_its_moment"]).await;
}

#[derive(Clone)]
struct ForgetsTooSoon;

#[async_trait]
impl Flaw for ForgetsTooSoon {
    async fn forget(&self, store: &MemoryStore, expired: Timestamp, at_most: u32) -> u32 {
        store.purge_expired(Timestamp(expired.0 + 1), at_most).await.unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn forgetting_a_record_that_counts_is_caught() {
    is_caught_by(
        ForgetsTooSoon,
        ["forgetting_keeps_to_its_bound_and_its_moment", "reopening_keeps_every_record"],
    )
    .await;
}
