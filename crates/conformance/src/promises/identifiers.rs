//! Identifiers: the store assigns no identifier twice.

use std::collections::HashSet;

use petstore_domain::{
    AddError, ArchiveError, HighestIds, KeyId, PetId, Rows, StoreError, WriterRole,
};

use crate::{
    calls::{
        add, add_at_once, add_many, all, all_keys, archive, join, load, new_key, purge, rows_of,
        save, write_rows,
    },
    content::{nine, require_held},
    failure::{PromiseResult, ensure, ensure_eq, ensure_matches},
    fixture::Fixture,
    samples::{NO_LIMIT, at, key, numbers, request, rex},
};

/// Contract: identifiers grow in the order of acknowledgement, and none is assigned twice.
pub(super) async fn identifiers_grow_and_none_is_assigned_twice(fixture: Fixture) -> PromiseResult {
    let added = join(add_at_once(&fixture, 8, 25, 0)).await?.concat();
    let ids: HashSet<_> = added.iter().map(|pet| pet.id).collect();
    ensure_eq("the number of different identifiers", &ids.len(), &added.len())
}

/// Contract: the store assigns identifiers above the identifiers of all rows and above `Rows::highest`, also after it
/// was reopened.
pub(super) async fn no_identifier_of_a_copied_store_comes_back(
    mut fixture: Fixture,
) -> PromiseResult {
    // The copy lacks the last animal and the last key of the source, as if both had been deleted.
    let source = fixture.another().await?;
    let pets = add_many(source.store(), 3).await?;
    let left = new_key(source.store(), key(1, "left", 0, None)).await?;
    let gone = new_key(source.store(), key(2, "gone", 0, None)).await?.id;
    save(source.store(), vec![], vec![gone]).await?;
    let highest = archive(source.store())?.snapshot().await?.highest_ids().await?;
    let is_high = highest.pet >= Some(pets[2].id) && highest.key >= Some(gone);
    ensure!(is_high, "{highest:?}, but {} and {gone:?} were assigned", pets[2].id);
    let copied = Rows { pets: pets[..2].to_vec(), keys: vec![left], highest, ..Rows::default() };
    // Writes the copied rows, and rows with identifiers far above them. Then writes only highest identifiers: first far
    // above all rows, then below.
    let far = Rows {
        pets: vec![rex().with_id(PetId(1_000_000))],
        keys: vec![key(8, "far", 0, None).with_id(KeyId(5000))],
        ..Rows::default()
    };
    let of_far = HighestIds { pet: Some(PetId(1_000_000)), key: Some(KeyId(5000)) };
    let alone = HighestIds { pet: Some(PetId(3_000_000)), key: Some(KeyId(3_000_000)) };
    for (rows, above) in [
        (copied, highest),
        (far, of_far),
        (Rows { highest: alone, ..Rows::default() }, alone),
        (Rows { highest, ..Rows::default() }, alone),
    ] {
        write_rows(fixture.store(), rows).await?;
        fixture = fixture.reopened_if_supported().await?;
        for store in &fixture.handles {
            let highest = archive(store)?.snapshot().await?.highest_ids().await?;
            let is_above = highest.pet >= above.pet && highest.key >= above.key;
            ensure!(is_above, "the highest identifiers are {highest:?}, not at least {above:?}");
        }
        let before = all(fixture.store()).await?.len();
        archive(fixture.store())?.add_new(numbers(2).collect(), None).await?;
        add(fixture.store(), rex()).await?;
        let new = all(fixture.store()).await?.split_off(before);
        let is_above = new.len() == 3 && new.iter().all(|pet| Some(pet.id) > above.pet);
        ensure!(is_above, "{new:?} is not above {above:?}");
        let next = load(fixture.store()).await?.next_id;
        ensure!(Some(next) > above.key, "{next:?} is the next key, not above {above:?}");
    }
    Ok(())
}

/// Contract: after the highest possible identifier, every new animal is refused. All other calls still succeed.
pub(super) async fn where_no_identifier_is_left_all_else_goes_on(
    fixture: Fixture,
) -> PromiseResult {
    let first = add(fixture.store(), rex()).await?;
    let highest = rex().with_id(PetId(i64::MAX));
    write_rows(fixture.store(), rows_of(vec![highest.clone()])).await?;
    let mut held = rows_of(vec![first, highest]);
    for (round, store) in (0..).zip(&fixture.handles) {
        for request in [None, Some(request("none-left", &rex(), 0)), None] {
            let end = store.pets.add(rex(), request).await;
            let what = "an addition behind the highest identifier";
            ensure_matches!(what, end, Err(AddError::Store(StoreError::Refused(_))));
        }
        let end = archive(store)?.add_new(vec![rex()], None).await;
        let what = "new animals behind the highest identifier";
        ensure_matches!(what, end, Err(ArchiveError::Store(StoreError::Refused(_))));
        // Makes every other kind of write.
        let key = new_key(store, key(round, &format!("k{round}"), 0, None)).await?;
        store.keys.note_uses(vec![(key.id, at(1))]).await?;
        purge(store, at(-1), NO_LIMIT).await?;
        let pets = nine(2_000_000 + 1000 * i64::from(round));
        archive(store)?.write_rows(WriterRole::Service, rows_of(pets.clone())).await?;
        let before_the_last = held.pets.len() - 1;
        held.pets.splice(before_the_last..before_the_last, pets);
        held.keys = all_keys(store).await?;
        require_held(&fixture, &held).await?;
    }
    Ok(())
}
