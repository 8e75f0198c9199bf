//! How long an idempotency record counts.

use petstore_domain::{Added, Timestamp};

use crate::{
    Broken, Harness, Store,
    broken::{Checked, same},
    fresh::{Fresh, all, before, now},
    samples::{self, LIFETIME, at, attempt, rex},
};

pub(super) async fn a_record_counts_until_exactly_its_expiry(harness: &dyn Harness) -> Checked {
    let Fresh { store, place: _place, .. } = Fresh::of(harness).await?;
    for (key, age, counts) in
        [("a", LIFETIME - 1, true), ("b", LIFETIME, false), ("c", LIFETIME + 1, false)]
    {
        now(store.pets.add(rex(), Some(attempt(key, &rex(), 0))).await?)?;
        let again = store.pets.add(rex(), Some(attempt(key, &rex(), age))).await?;
        let repeat = matches!(again, Added::Replayed(_));
        same(format!("whether a record of {age} ms counts for {LIFETIME} ms"), &repeat, &counts)?;
    }
    Ok(())
}

pub(super) async fn an_expired_record_gives_way_to_a_new_one(harness: &dyn Harness) -> Checked {
    let Fresh { store, place: _place, .. } = Fresh::of(harness).await?;
    let bello = samples::pet("Bello", 2, None);
    let first = now(store.pets.add(rex(), Some(attempt("k", &rex(), 0))).await?)?;
    let second = now(store.pets.add(bello.clone(), Some(attempt("k", &bello, LIFETIME))).await?)?;
    let repeat =
        store.pets.add(bello.clone(), Some(attempt("k", &bello, 2 * LIFETIME - 1))).await?;
    same("the repeat of the second", &before(repeat)?, &second)?;
    same("the animals", &all(&store).await?, &vec![first, second])
}

/// Which of the attempts `0..count`, made at the moments of their numbers, still count.
async fn counting(store: &Store, count: i64) -> Result<Vec<i64>, Broken> {
    let mut counting = Vec::new();
    for number in 0..count {
        let again = attempt(&format!("key-{number}"), &rex(), 1000);
        if matches!(store.pets.add(rex(), Some(again)).await?, Added::Replayed(_)) {
            counting.push(number);
        }
    }
    Ok(counting)
}

pub(super) async fn forgetting_keeps_to_its_bound_and_its_moment(harness: &dyn Harness) -> Checked {
    let Fresh { store, place: _place, .. } = Fresh::of(harness).await?;
    for number in 0..10 {
        let attempt = attempt(&format!("key-{number}"), &rex(), number);
        now(store.pets.add(rex(), Some(attempt)).await?)?;
    }
    let forget = async |expired: Timestamp, at_most: u32, due: u32| {
        let forgotten = store.pets.purge_expired(expired, at_most).await?;
        same(format!("forgotten of {at_most} up to {expired:?}"), &forgotten, &due)
    };
    forget(at(-1), 100, 0).await?;
    forget(at(6), 0, 0).await?;
    for due in [3, 3, 1, 0] {
        forget(at(6), 3, due).await?;
    }
    same("the records left", &counting(&store, 10).await?, &vec![7, 8, 9])?;
    same("animals: none goes with its record", &all(&store).await?.len(), &17)
}
