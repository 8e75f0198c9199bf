//! How long an idempotency record counts.

use petstore_domain::Added;

use crate::{
    broken::{Broken, Checked, same},
    fresh::{all, created, purge, replayed},
    harness::Store,
    samples::{self, LIFETIME, at, request, rex},
};

/// Contract: a record counts that is younger than `request.cutoff`.
pub(super) async fn a_record_counts_until_exactly_its_expiry(store: Store) -> Checked {
    for (key, age, counts) in
        [("a", LIFETIME - 1, true), ("b", LIFETIME, false), ("c", LIFETIME + 1, false)]
    {
        created(store.pets.add(rex(), Some(request(key, &rex(), 0))).await?)?;
        let again = store.pets.add(rex(), Some(request(key, &rex(), age))).await?;
        let repeat = matches!(again, Added::Replayed(_));
        same(format!("whether a record of {age} ms counts for {LIFETIME} ms"), &repeat, &counts)?;
    }
    Ok(())
}

/// Contract: an expired record is replaced.
pub(super) async fn an_expired_record_is_replaced_by_a_new_one(store: Store) -> Checked {
    let bello = samples::pet("Bello", 2, None);
    let first = created(store.pets.add(rex(), Some(request("k", &rex(), 0))).await?)?;
    let second =
        created(store.pets.add(bello.clone(), Some(request("k", &bello, LIFETIME))).await?)?;
    let repeat =
        store.pets.add(bello.clone(), Some(request("k", &bello, 2 * LIFETIME - 1))).await?;
    same("the repeat of the second", &replayed(repeat)?, &second)?;
    same("the animals", &all(&store).await?, &vec![first, second])
}

/// Returns which of the requests `0..count`, made at the moments of their numbers, still count.
async fn counting(store: &Store, count: i64) -> Result<Vec<i64>, Broken> {
    let mut counting = Vec::new();
    for number in 0..count {
        let again = request(&format!("key-{number}"), &rex(), 1000);
        if matches!(store.pets.add(rex(), Some(again)).await?, Added::Replayed(_)) {
            counting.push(number);
        }
    }
    Ok(counting)
}

/// Contract: deletes up to `limit` records made at `cutoff` or before, and says how many and whether there may be more.
pub(super) async fn purging_keeps_to_its_limit_and_its_cutoff(store: Store) -> Checked {
    for number in 0..10 {
        let request = request(&format!("key-{number}"), &rex(), number);
        created(store.pets.add(rex(), Some(request)).await?)?;
    }
    same("purged, when none is so old", &purge(&store, at(-1), 100).await?, &0)?;
    let none = store.pets.purge_expired(at(6), 0).await?.deleted;
    same("purged, with a limit of none", &none, &0)?;
    same("purged, three at a time", &purge(&store, at(6), 3).await?, &7)?;
    same("purged, when there are no more", &purge(&store, at(6), 3).await?, &0)?;
    same("the records left", &counting(&store, 10).await?, &vec![7, 8, 9])?;
    same("animals: none goes with its record", &all(&store).await?.len(), &17)
}
