//! [`copy`](petstore_transfer::copy) over two stores.

use std::{ops::ControlFlow, sync::Arc, time::Duration};

use petstore_domain::{
    Archive, ArchiveError, Fingerprint, Handover, HighestIds, IdempotencyRecord, KeyId,
    KeySelector, PetId, Phase, Rows, StoreError, StoreId, Timestamp, load_keys, revoke_keys,
};
use petstore_memory::MemoryStore;
use petstore_transfer::{
    CopyPorts, CopySummary, OnProgress, TransferError, TransferProgress, TransferStep,
};

use crate::{
    faulty::{Fault, Faulty},
    pair::{Both, at_once, both, hand_over},
    stores::{START, add, fill, held, id, key, name, pet, restore, store, use_first_key, write},
};

async fn copy(from: &Arc<MemoryStore>, to: Arc<dyn Archive>) -> Result<CopySummary, TransferError> {
    copy_with(from, &*to, &mut |_| ControlFlow::Continue(())).await
}

/// Copies into a store without the port for a state.
async fn copy_with(
    from: &Arc<MemoryStore>,
    to: &dyn Archive,
    on_progress: OnProgress<'_>,
) -> Result<CopySummary, TransferError> {
    let source = CopyPorts { archive: &**from, handover: Some(&**from) };
    let target = CopyPorts { archive: to, handover: None };
    petstore_transfer::copy(source, target, START, on_progress).await
}

/// Copies into a store with the port for a state.
async fn copy_with_states(
    from: &MemoryStore,
    to: &(impl Archive + Handover),
) -> Result<CopySummary, TransferError> {
    let source = CopyPorts { archive: from, handover: Some(from) };
    let target = CopyPorts { archive: to, handover: Some(to) };
    petstore_transfer::copy(source, target, START, &mut |_| ControlFlow::Continue(())).await
}

#[tokio::test]
async fn a_copy_holds_all_but_expired_records_and_a_repeated_copy_changes_nothing() {
    let (from, to) = (store(), store());
    fill(&from, 3).await;
    let web = key(&from, 1, "web").await;
    let old = add(&from, "Old", Some((id(1), START.minus(Duration::from_hours(24))))).await;
    add(&from, "New", Some((id(2), START))).await;
    let highest = HighestIds { pet: Some(PetId(6)), key: Some(KeyId(8)) };
    write(&from, Rows { highest, ..Rows::default() }).await;

    let copied = copy(&from, to.clone()).await.unwrap();
    assert_eq!(copied, CopySummary { found: 0, pets: 5, keys: 1, records: 1, was_marked: false });
    let (ours, theirs) = (held(&*from).await, held(&*to).await);
    assert_eq!((&ours.0, &ours.1), (&theirs.0, &theirs.1));
    let ids: Vec<_> = theirs.2.iter().map(|record| record.id).collect();
    assert_eq!(ids, [id(2)], "the record of {old:?} has expired");
    let again = copy(&from, to.clone()).await.unwrap();
    assert_eq!(again, CopySummary { found: 5, pets: 0, ..copied });
    assert_eq!(held(&*to).await, theirs);
    assert_eq!(add(&to, "Next", None).await.id.0, 7);
    assert_eq!((web.id, key(&to, 2, "next").await.id), (KeyId(1), KeyId(9)));
}

#[tokio::test]
async fn more_records_than_a_batch_are_copied_and_counted_on_the_way() {
    const BATCH: u32 = 10_000;
    let (from, to) = (store(), store());
    let rex = add(&from, "Rex", None).await;
    let fingerprint = Fingerprint([7; 32]);
    let records = (0..=2 * BATCH).map(|number| {
        // The first record has expired.
        let at = if number == 0 { Timestamp(0) } else { START };
        IdempotencyRecord { id: id(number), fingerprint, pet: rex.id, at }
    });
    write(&from, Rows { records: records.collect(), ..Rows::default() }).await;

    let mut seen = Vec::new();
    let mut note = |TransferProgress { step, done, total }| {
        if step == TransferStep::CopyRecords {
            seen.push((done, total));
        }
        ControlFlow::Continue(())
    };
    let copied = copy_with(&from, &*to, &mut note).await.unwrap();
    assert_eq!(copied.records, u64::from(2 * BATCH));
    assert_eq!(held(&*from).await.2[1..], held(&*to).await.2);
    assert_eq!(seen, [(19_999, 20_001), (20_000, 20_001)]);
}

#[tokio::test]
async fn a_second_copy_brings_the_changes_of_a_key() {
    let (from, to) = (store(), store());
    key(&from, 1, "web").await;
    copy(&from, to.clone()).await.unwrap();
    use_first_key(&from, START.plus(Duration::from_secs(9))).await;
    revoke_keys(&*from, KeySelector::Name(name("web")), START).await.unwrap();
    key(&from, 2, "web").await;
    copy(&from, to.clone()).await.unwrap();
    assert_eq!(held(&*from).await, held(&*to).await);

    // A key revoked in the target stays revoked.
    revoke_keys(&*to, KeySelector::Id(KeyId(2)), START).await.unwrap();
    copy(&from, to.clone()).await.unwrap();
    assert_eq!(load_keys(&*to).await.unwrap().live(START).count(), 0);
}

#[tokio::test]
async fn a_reused_idempotency_key_belongs_to_the_later_animal() {
    let (from, to) = (store(), store());
    let earlier = START.minus(Duration::from_hours(23));
    add(&from, "First", Some((id(1), earlier))).await;
    copy(&from, to.clone()).await.unwrap();
    let later = add(&from, "Second", Some((id(1), earlier.plus(Duration::from_hours(25))))).await;
    copy(&from, to.clone()).await.unwrap();
    assert_eq!(held(&*to).await.2[0].pet, later.id);
}

#[tokio::test]
async fn a_target_with_an_equally_old_record_of_another_animal_is_refused() {
    for source_has_the_first in [true, false] {
        let (from, to) = (store(), store());
        for (store, first) in [(&from, source_has_the_first), (&to, !source_has_the_first)] {
            add(store, "Rex", first.then(|| (id(1), START))).await;
            add(store, "Tom", (!first).then(|| (id(1), START))).await;
        }
        let refusal = copy(&from, to.clone()).await.unwrap_err().to_string();
        assert!(
            refusal.contains(
                "idempotency record 00000000000000000000000000000001 differs (source: missing; "
            ),
            "{refusal}"
        );
    }
}

#[tokio::test]
async fn a_target_with_a_state_is_open_again_after_the_copy() {
    let (from, to) = (store(), store());
    fill(&from, 3).await;
    let state = to.state().await.unwrap();
    let open = Phase::Open { from: Some(StoreId([7; 16])) };
    assert!(to.change_state(state.revision, state.next(open.clone())).await.unwrap());
    assert_eq!(copy_with_states(&from, &*to).await.unwrap().pets, 3);
    assert_eq!(to.state().await.unwrap().phase, open);
    assert_eq!(held(&*from).await, held(&*to).await);
    // The target was compared before it was claimed.
    for fault in [Fault::GrowsBeforeClaim, Fault::ShrinksBeforeClaim] {
        let refusal = copy_with_states(&from, &*Faulty::new(&to, &to, fault)).await.unwrap_err();
        let refusal = refusal.to_string();
        assert!(refusal.starts_with("another program wrote to the target meanwhile"), "{refusal}");
        assert_eq!(to.state().await.unwrap().phase, open, "{fault:?}");
        assert_eq!(to.delete_pet(PetId(4)), fault == Fault::GrowsBeforeClaim);
    }
    assert_eq!(held(&*to).await.0.len(), 2, "the refused copies have written");
    let other = Faulty::new(&store(), &from, Fault::FailsToOpen);
    let lost = copy_with_states(&from, &*other).await.unwrap_err().to_string();
    assert_eq!(lost, "the target: the store cannot answer: the answer is lost");
}

#[tokio::test]
async fn a_target_with_other_rows_is_left_unchanged() {
    let source = store();
    restore(&source, vec![pet(1, "a"), pet(2, "b"), pet(4, "d")]).await;
    let table = [
        (vec![pet(1, "x")], "animal 1"),
        (vec![pet(2, "b")], "animal 1"),
        (vec![pet(1, "a"), pet(4, "d")], "animal 2"),
        (vec![pet(1, "a"), pet(2, "b"), pet(3, "c")], "animal 3"),
        (vec![pet(1, "a"), pet(2, "b"), pet(4, "d"), pet(9, "e")], "animal 9"),
        (vec![pet(0, "zero")], "animal 0"),
    ];
    for (pets, what) in table {
        let target = store();
        restore(&target, pets).await;
        let before = held(&*target).await;
        let refusal = copy(&source, target.clone()).await.unwrap_err();
        let TransferError::OtherData(difference) = &refusal else { panic!("{refusal}") };
        assert_eq!(difference.what, what);
        assert_eq!(held(&*target).await, before);
    }
    let target = store();
    key(&target, 7, "own").await;
    let refusal = copy(&source, target.clone()).await.unwrap_err().to_string();
    let start = "the target holds other data and was left as it is: API key 1 differs (source: \
                 missing; target: 'own' (pst_";
    assert!(refusal.starts_with(start), "{refusal}");
    assert_eq!(held(&*target).await.0, []);
}

#[tokio::test]
async fn a_copy_is_resumed_after_a_failure_of_the_target() {
    let (from, to) = (store(), store());
    fill(&from, 22_000).await;
    key(&from, 1, "web").await;
    let mut founds = Vec::new();
    for commits in [1, 0, 1] {
        let failing = Faulty::new(&to, &to, Fault::FailsAfter(commits));
        let failure = copy(&from, failing).await.unwrap_err();
        assert!(
            matches!(
                failure,
                TransferError::Target(ArchiveError::Store(StoreError::Unavailable(_)))
            ),
            "{failure}"
        );
        founds.push(held(&*to).await.0.len());
    }
    assert_eq!(founds, [10_000, 10_000, 20_000]);
    let copied = copy(&from, to.clone()).await.unwrap();
    assert_eq!(
        copied,
        CopySummary { found: 20_000, pets: 2_000, keys: 1, records: 0, was_marked: false }
    );
    assert_eq!(held(&*from).await, held(&*to).await);
}

#[tokio::test]
async fn the_observer_sees_every_batch_and_may_cancel_the_copy() {
    let (from, to) = (store(), store());
    fill(&from, 12_000).await;
    let mut steps = Vec::new();
    let stopped = copy_with(&from, &*to, &mut |progress| {
        steps.push(progress);
        if progress.done == 10_000 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
    .await;
    assert!(matches!(stopped, Err(TransferError::Canceled)));
    let state = |done| TransferProgress { step: TransferStep::CopyPets, done, total: 12_000 };
    assert_eq!(steps, [state(0), state(10_000)]);
    assert_eq!(held(&*to).await.0.len(), 10_000);
}

#[tokio::test]
async fn a_concurrent_write_to_the_target_is_noticed() {
    for (moment, expected) in [
        (0, "the target: the target already holds another animal 1"),
        (3, "another program wrote to the target meanwhile"),
    ] {
        let (from, to) = (store(), store());
        fill(&from, 3).await;
        let mut write_at_once = |progress: TransferProgress| {
            if progress.done == moment {
                at_once(add(&to, "Other", None));
            }
            ControlFlow::Continue(())
        };
        let copied = copy_with(&from, &*to, &mut write_at_once).await;
        let conflict = copied.unwrap_err().to_string();
        assert!(conflict.starts_with(expected), "{moment}: {conflict}");
    }
}

#[tokio::test]
async fn a_target_in_the_place_of_the_source_and_an_incomplete_source_are_refused() {
    let (from, to) = (store(), store());
    add(&from, "Rex", None).await;
    let (source, found) = (from.state().await.unwrap(), to.state().await.unwrap());
    let open = found.next(Phase::Open { from: Some(source.id) });
    assert!(to.change_state(found.revision, open.clone()).await.unwrap());
    let refusal = copy_with_states(&from, &*to).await.unwrap_err().to_string();
    assert_eq!(refusal, "the target has taken the place of the source, and may be in use");
    assert_eq!(to.state().await.unwrap(), open);
    let (filling, other) = (source.next(Phase::Filling { from: StoreId([7; 16]) }), store());
    assert!(from.change_state(source.revision, filling).await.unwrap());
    let refusal = copy_with_states(&from, &*other).await.unwrap_err().to_string();
    assert!(refusal.starts_with("the source is being filled from another store"), "{refusal}");
    assert_eq!(held(&*other).await.0, []);
}

#[tokio::test(start_paused = true)]
async fn a_store_is_copied_and_handed_over_to_a_store_with_small_batches() {
    let stores = both(0).await;
    let Both { old, new, from, .. } = &stores;
    for number in 0..40 {
        let request = (number % 3 > 0).then(|| (id(number), START));
        add(old, &format!("Rex {number}"), request).await;
    }
    for seed in 1..=15 {
        key(old, seed, &format!("key-{seed}")).await;
    }
    let copied = store();
    copy(old, Faulty::new(&copied, &copied, Fault::AcceptsSix)).await.unwrap();
    assert_eq!(held(&**old).await, held(&*copied).await);

    hand_over(from, &stores.faulty_target(Fault::AcceptsSix)).await.unwrap();
    assert_eq!(held(&**old).await, held(&**new).await);
}
