//! What was acknowledged stays.

use petstore_domain::Pet;

use super::keys;
use crate::{
    broken::{Broken, Checked, same},
    fresh::{Fresh, add, add_many, all, created, page, purge, replayed},
    harness::Store,
    samples::{self, MANY, at, by_name, key, request, rex},
};

async fn require_readable(store: &Store, pet: &Pet) -> Checked {
    let found = store.pets.find(pet.id).await?.map(|found| found.value);
    same("finding what was acknowledged", &found.as_ref(), &Some(pet))?;
    let before = Some(petstore_domain::PetId(pet.id.0 - 1));
    let listed = page(store, samples::query(1, pet.status, before)).await?.pets;
    same("listing what was acknowledged", &listed.first(), &Some(pet))
}

/// Contract: what has been acknowledged, every later read sees.
pub(super) async fn every_later_read_sees_an_acknowledged_animal(store: Store) -> Checked {
    for number in 0..50 {
        let added = add(&store, samples::numbered(number)).await?;
        require_readable(&store, &added).await?;
    }
    same("animals", &all(&store).await?.len(), &50)
}

/// Contract: what has been acknowledged, every later read sees.
pub(super) async fn another_handle_sees_what_was_acknowledged(fresh: Fresh) -> Checked {
    let handles = [fresh.store.clone(), fresh.second().await?];
    for number in 0..20 {
        let (one, other) = (&handles[number % 2], &handles[(number + 1) % 2]);
        let added = add(one, samples::numbered(number)).await?;
        require_readable(other, &added).await?;
    }
    same("both views", &all(&handles[0]).await?, &all(&handles[1]).await?)?;
    let [one, other] = &handles;
    let added = keys::add(one, key(1, "web", 0, None)).await?;
    same("the keys of the other", &keys::listed(other).await?, &vec![added])?;
    keys::revoke(other, by_name("web"), at(1)).await?;
    let revoked: Vec<_> = keys::listed(one).await?.iter().map(|key| key.revoked_at).collect();
    same("the keys after the other revoked", &revoked, &vec![Some(at(1))])
}

/// Contract: what has been acknowledged is durable.
pub(super) async fn reopening_keeps_every_animal(mut fresh: Fresh) -> Checked {
    let mut expected = Vec::new();
    for _ in 0..3 {
        expected.extend(add_many(&fresh.store, 30).await?);
        fresh = fresh.reopened().await?;
        same("the animals after reopening", &all(&fresh.store).await?, &expected)?;
    }
    Ok(())
}

/// Contract: what has been acknowledged is durable.
pub(super) async fn reopening_keeps_every_record(fresh: Fresh) -> Checked {
    let mut expected = Vec::new();
    for number in 0..10 {
        let request = request(&format!("key-{number}"), &rex(), number);
        expected.push(created(fresh.store.pets.add(rex(), Some(request)).await?)?);
    }
    same("purged", &purge(&fresh.store, at(4), MANY).await?, &5)?;
    let fresh = fresh.reopened().await?;
    for (number, pet) in expected.iter().enumerate().skip(5) {
        let again = request(&format!("key-{number}"), &rex(), 10);
        let again = replayed(fresh.store.pets.add(rex(), Some(again)).await?);
        same(
            "a repeat after reopening",
            &again.map_err(|broken| broken.context("reopened"))?,
            pet,
        )?;
    }
    let purged = request("key-0", &rex(), 10);
    created(fresh.store.pets.add(rex(), Some(purged)).await?)
        .map(drop)
        .map_err(|broken| broken.context("a purged record after reopening"))
}

/// Contract: what has been acknowledged is durable.
pub(super) async fn reopening_keeps_every_key(fresh: Fresh) -> Checked {
    let store = &fresh.store;
    for (seed, name, expires) in [(1, "a", None), (2, "b", Some(50)), (3, "c", None)] {
        keys::add(store, key(seed, name, 0, expires)).await?;
    }
    keys::roll(store, key(4, "a", 1, None), at(100)).await?;
    keys::revoke(store, by_name("c"), at(2)).await?;
    let removed = keys::add(store, key(6, "removed", 3, None)).await?.id;
    keys::save(store, vec![], vec![removed]).await?;
    let used = keys::listed(store).await?.first().map(|key| key.id);
    let used = used.ok_or_else(|| Broken::new("no key is listed"))?;
    keys::note_uses(store, &[(used, 3)]).await?;
    let expected = keys::listed(store).await?;
    let fresh = fresh.reopened().await?;
    same("the keys after reopening", &keys::listed(&fresh.store).await?, &expected)?;
    let next = keys::add(&fresh.store, key(5, "d", 5, None)).await?;
    same("whether the next key is above", &(next.id > removed), &true)
}
