//! Idempotent additions.

use petstore_domain::{
    AddError, Added, IdempotencyId, IdempotencyRequest, PetId, Rows, StoreCounts,
};

use crate::{
    calls::{
        add, add_at_once, all, archive, created, find, join, purge, replayed, rows_of, start,
        watch, write_rows,
    },
    content::require_held,
    failure::{PromiseResult, ensure, ensure_eq, ensure_eq_lists, ensure_matches, tried},
    fixture::Fixture,
    harness::Store,
    samples::{self, LIFETIME, NO_LIMIT, at, numbered, request, rex},
};

/// Contract: a record is valid if it is younger than `request.cutoff`. A request with its id is then a repeat if the
/// animal is equal, and otherwise fails with `IdempotencyKeyReused`. An expired record is replaced.
pub(super) async fn a_record_decides_until_exactly_its_expiry(fixture: Fixture) -> PromiseResult {
    let others = [samples::pet("Bello", 1, rex().status), samples::pet("Rex", 2, rex().status)];
    let others = [&others[..], &[samples::pet("Rex", 1, None)]].concat();
    for (number, other) in others.into_iter().enumerate() {
        let (store, key) = (fixture.handle(number), format!("key-{number}"));
        created(store.pets.add(rex(), Some(request(&key, &rex(), 0))).await?)?;
        let store = fixture.handle(number + 1);
        for later in [0, 1, LIFETIME - 1] {
            store.pets.add(rex(), Some(request(&key, &rex(), later))).await?;
            let refusal = store.pets.add(other.clone(), Some(request(&key, &other, later))).await;
            let what = format!("{other:?} {later} ms later");
            ensure_matches!(what, refusal, Err(AddError::IdempotencyKeyReused));
        }
        let expired = Some(request(&key, &other, LIFETIME));
        store.pets.add(other.clone(), expired).await?;
        let repeat = Some(request(&key, &other, 2 * LIFETIME - 1));
        store.pets.add(other, repeat).await?;
    }
    // Each expired record has added a second animal, and no repeat has added one.
    ensure_eq("how many animals", &all(fixture.store()).await?.len(), &6)
}

/// Contract: a record is stored under all 16 bytes of the request's id.
pub(super) async fn ids_that_differ_in_any_bit_are_two_records(store: Store) -> PromiseResult {
    // A store that keeps ids as text may end them at a zero byte, or ignore the bit for the case of a letter.
    let bases = [[0; 16], *b"An id of letters"].map(u128::from_be_bytes);
    let near = |base| (0..128).map(move |bit| base ^ 1_u128 << bit).chain([base]);
    for id in bases.into_iter().flat_map(near) {
        let id = IdempotencyId(id.to_be_bytes());
        let added = store.pets.add(rex(), Some(IdempotencyRequest::new(id, &rex(), at(0)))).await?;
        tried(&format!("the id {id}"), created(added))?;
    }
    Ok(())
}

/// Contract: equal requests that run at the same time add one animal.
pub(super) async fn equal_requests_at_once_add_one_animal(fixture: Fixture) -> PromiseResult {
    let tasks = start(&fixture, 24, |_, store| async move {
        Ok(store.pets.add(rex(), Some(request("once", &rex(), 0))).await?)
    });
    let added = join(tasks).await?;
    let new = added.iter().filter(|added| matches!(added, Added::Created(_))).count();
    let there = all(fixture.store()).await?;
    ensure_eq("animals added by 24 equal requests", &there.len(), &1)?;
    for Added::Created(pet) | Added::Replayed(pet) in added {
        ensure_eq("the animal of each request", &pet, &there[0])?;
    }
    ensure_eq("how many were answered Created", &new, &1)
}

/// Contract: an animal and its idempotency record are added in one transaction.
///
/// In this promise, every animal is added with a record. A snapshot with unequal numbers was taken between the
/// transaction of an animal and the transaction of its record.
pub(super) async fn an_animal_and_its_record_appear_together(fixture: Fixture) -> PromiseResult {
    let writers = add_at_once(&fixture, 4, 100, 4);
    // The readers start after the writers. On a runtime with one thread, they then run whenever every writer waits.
    let counts_are_equal = |store: Store| async move {
        let counts = archive(&store)?.snapshot().await?.counts().await?;
        let StoreCounts { pets, records, .. } = counts;
        ensure!(pets == records, "a snapshot holds {pets} animals and {records} records");
        Ok(())
    };
    watch(&fixture, 2, writers, counts_are_equal).await
}

/// Contract: a replay returns the animal of the request under the recorded identifier, even if the row was changed or
/// deleted since.
pub(super) async fn a_replay_returns_the_animal_of_its_request(fixture: Fixture) -> PromiseResult {
    let (store, bello) = (fixture.store(), samples::pet("Bello", 2, None));
    let other = add(store, bello).await?;
    // After these records are written, the first animal seems to have been changed since, and the second deleted.
    for (number, pet) in [(0, other.id), (1, PetId(5_000_000))] {
        let request = request(&format!("key-{number}"), &rex(), 0);
        let records = vec![request.into_record(pet)];
        write_rows(store, Rows { records, ..Rows::default() }).await?;
        for store in &fixture.handles {
            let repeat = replayed(store.pets.add(rex(), Some(request)).await?)?;
            ensure_eq("the replay", &repeat, &rex().with_id(pet))?;
        }
    }
    ensure_eq_lists("the animals", &all(store).await?, &[other])
}

/// Contract: a replay succeeds even if the row of the animal was deleted since.
pub(super) async fn a_record_outlasts_its_deleted_animal(fixture: Fixture) -> PromiseResult {
    let store = fixture.store();
    let kept = add(store, numbered(1)).await?;
    let request = request("once", &rex(), 0);
    let first = created(store.pets.add(rex(), Some(request)).await?)?;
    tried("the harness cannot delete a row", fixture.scratch.delete_pet(first.id).await)?;
    let records = vec![request.into_record(first.id)];
    require_held(&fixture, &Rows { records, ..rows_of(vec![kept]) }).await?;
    for store in &fixture.handles {
        ensure_eq("the deleted animal", &find(store, first.id).await?, &None)?;
        let repeat = replayed(store.pets.add(rex(), Some(request)).await?)?;
        ensure_eq("the replay", &repeat, &first)?;
    }
    if store.archive.is_some() {
        let highest = archive(store)?.snapshot().await?.highest_ids().await?.pet;
        ensure!(highest >= Some(first.id), "the highest id is {highest:?}, below {}", first.id);
    }
    let new = add(store, rex()).await?.id;
    ensure!(new > first.id, "{new} is assigned after {} was deleted", first.id);
    Ok(())
}

/// Contract: a purge deletes up to `limit` records made at `cutoff` or before. The call returns their number, and
/// whether more may be left.
pub(super) async fn purging_keeps_to_its_limit_and_its_cutoff(store: Store) -> PromiseResult {
    for number in 0..10 {
        let request = request(&format!("key-{number}"), &rex(), number);
        created(store.pets.add(rex(), Some(request)).await?)?;
    }
    let none = store.pets.purge_expired(at(6), 0).await?.deleted;
    ensure_eq("purged records, with a limit of 0", &none, &0)?;
    ensure_eq("purged records, three at a time", &purge(&store, at(6), 3).await?, &7)?;
    for number in 0..10 {
        let again = request(&format!("key-{number}"), &rex(), 1000);
        let counts = matches!(store.pets.add(rex(), Some(again)).await?, Added::Replayed(_));
        ensure_eq(format!("whether record {number} is left"), &counts, &(number > 6))?;
    }
    ensure_eq("how many animals, which no purge deletes", &all(&store).await?.len(), &17)
}

/// Contract: a purge skips younger records, also a record that replaces an expired record meanwhile.
pub(super) async fn a_purge_spares_a_record_that_is_replaced_meanwhile(
    fixture: Fixture,
) -> PromiseResult {
    const ROUNDS: i64 = 10;
    const KEYS: u32 = 4;
    let add_all = async |store: &Store, millis: i64| {
        for key in 0..KEYS {
            let request = request(&format!("key-{key}"), &rex(), millis);
            created(store.pets.add(rex(), Some(request)).await?)?;
        }
        PromiseResult::Ok(())
    };
    add_all(fixture.store(), 0).await?;
    for round in 1..=ROUNDS {
        let purging = async {
            for _ in 0..KEYS {
                fixture.handle(0).pets.purge_expired(at((round - 1) * LIFETIME), NO_LIMIT).await?;
            }
            PromiseResult::Ok(())
        };
        let adding = add_all(fixture.handle(1), round * LIFETIME);
        tokio::try_join!(purging, adding)?;
        for key in 0..KEYS {
            let again = request(&format!("key-{key}"), &rex(), round * LIFETIME + 1);
            replayed(fixture.store().pets.add(rex(), Some(again)).await?)?;
        }
    }
    Ok(())
}
