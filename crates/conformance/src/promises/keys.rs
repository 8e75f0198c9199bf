//! API keys: what a store holds of them, and under which identifiers.

use petstore_domain::{
    ApiKey, KeyId, KeyRevision, KeyRights, KeySelector, MAX_KEYS_PER_SAVE, NewApiKey, Saved,
    StoreError, StoredKeys, Timestamp, add_key, load_keys, revoke_keys, roll_key,
};

use crate::{
    broken::{Broken, Checked, ensure, same},
    harness::Store,
    samples::{at, by_name, key, read_only_key},
};

pub(super) async fn add(store: &Store, key: NewApiKey) -> Result<ApiKey, Broken> {
    Ok(add_key(&*store.keys, key).await?)
}

pub(super) async fn roll(
    store: &Store,
    key: NewApiKey,
    retire_at: Timestamp,
) -> Result<ApiKey, Broken> {
    Ok(roll_key(&*store.keys, key, retire_at).await?)
}

pub(super) async fn revoke(
    store: &Store,
    selector: KeySelector,
    at: Timestamp,
) -> Result<Vec<ApiKey>, StoreError> {
    revoke_keys(&*store.keys, selector, at).await
}

pub(super) async fn loaded(store: &Store) -> Result<StoredKeys, StoreError> {
    load_keys(&*store.keys).await
}

pub(super) async fn listed(store: &Store) -> Result<Vec<ApiKey>, Broken> {
    Ok(loaded(store).await?.into_all()?)
}

/// Saves over what is there now.
pub(super) async fn save(
    store: &Store,
    changed: Vec<ApiKey>,
    removed: Vec<KeyId>,
) -> Result<(), Broken> {
    let saved = store.keys.save(loaded(store).await?.revision, changed, removed).await?;
    ensure!(saved == Saved::Yes, "{saved:?}, and nobody else changes keys");
    Ok(())
}

/// Saves when keys were last used, over whatever is there.
pub(super) async fn note_uses(store: &Store, uses: &[(KeyId, i64)]) -> Checked {
    for _ in 0..100 {
        let stored = loaded(store).await?;
        let noted = uses.iter().filter_map(|(id, now)| {
            let key = stored.keys.iter().find(|key| key.id == *id)?;
            Some(ApiKey { last_used_at: Some(at(*now)), ..key.clone() })
        });
        if store.keys.save(stored.revision, noted.collect(), vec![]).await? == Saved::Yes {
            return Ok(());
        }
    }
    Err(Broken::new("a save of uses was lost a hundred times"))
}

/// Contract: values come back exactly as they were given.
pub(super) async fn a_key_comes_back_as_it_was_given(store: Store) -> Checked {
    let longest = "n".repeat(64);
    let first = Timestamp(i64::MIN);
    let mut expected = Vec::new();
    for (seed, (name, created_at, expires_at)) in [
        ("a", at(0), None),
        ("Web-shop.v2_EU", at(0), Some(at(1))),
        (&longest, first, Some(Timestamp(i64::MAX))),
        ("web-shop.v2_EU", Timestamp(i64::MAX - 1), None),
    ]
    .into_iter()
    .enumerate()
    {
        let new = key(u16::try_from(seed)?, name, 0, None);
        let new = NewApiKey { created_at, expires_at, ..new };
        expected.push(add(&store, new).await?);
    }
    let ended =
        ApiKey { revoked_at: Some(at(3)), last_used_at: Some(at(2)), ..expected[0].clone() };
    save(&store, vec![ended.clone()], vec![]).await?;
    expected[0] = ended;
    let id = loaded(&store).await?.next_id;
    let ended = ApiKey { id, digest: key(9, "a", 0, None).digest, ..expected[0].clone() };
    save(&store, vec![ended.clone()], vec![]).await?;
    expected.push(ended);
    same("the keys", &listed(&store).await?, &expected)
}

/// Contract: values come back exactly as they were given: the prefix too, which says a key's rights.
pub(super) async fn a_key_that_may_only_read_stays_one(store: Store) -> Checked {
    add(&store, key(1, "web", 0, None)).await?;
    add(&store, read_only_key(2, "report", 0)).await?;
    roll(&store, read_only_key(3, "report", 1), at(9)).await?;
    // Its first characters say otherwise; they are for people only.
    let odd = NewApiKey { rights: KeyRights::ReadOnly, ..key(4, "odd", 0, None) };
    add(&store, odd).await?;
    let [full, read_only] = KeyRights::ALL;
    let expected = vec![full, read_only, read_only, read_only];
    let rights: Vec<_> = listed(&store).await?.iter().map(|key| key.rights).collect();
    same("the rights", &rights, &expected)
}

/// Contract: every key, live or not, ascending by identifier.
pub(super) async fn every_key_is_listed_in_order_live_or_not(store: Store) -> Checked {
    let mut expected = Vec::new();
    for seed in 0..30_u16 {
        let expires = (seed % 3 == 0).then_some(1);
        expected.push(add(&store, key(seed, &format!("k{}", 99 - seed), 0, expires)).await?.id);
    }
    revoke(&store, by_name("k98"), at(0)).await?;
    let removed = vec![expected.remove(7), expected.remove(20), KeyId(i64::MAX - 1)];
    save(&store, vec![], removed).await?;
    let actual: Vec<KeyId> = listed(&store).await?.iter().map(|key| key.id).collect();
    same("the keys", &actual, &expected)
}

/// Contract: `None` if the revision is still `unless`.
pub(super) async fn nothing_is_loaded_that_has_not_changed(store: Store) -> Checked {
    let empty = loaded(&store).await?;
    same("the keys of a new store", &store.keys.load(Some(empty.revision)).await?, &None)?;
    add(&store, key(1, "web", 0, None)).await?;
    let one = loaded(&store).await?;
    same("the keys again", &store.keys.load(Some(one.revision)).await?, &None)?;
    for other in [empty.revision, KeyRevision(0)] {
        let loaded = store.keys.load(Some(other)).await?;
        same("the keys to somebody who knows others", &loaded.as_ref(), &Some(&one))?;
    }
    Ok(())
}

/// Contract: no identifier is assigned twice, also when its key was removed.
pub(super) async fn no_identifier_of_a_key_is_assigned_twice(store: Store) -> Checked {
    let mut highest = KeyId(0);
    for seed in 0..9 {
        let id = add(&store, key(seed, &format!("k{seed}"), 0, None)).await?.id;
        ensure!(id > highest, "{id:?} was assigned after {highest:?}");
        highest = id;
        // The highest one, and then all of them.
        match seed % 4 {
            2 => save(&store, vec![], vec![id]).await?,
            3 => {
                let ids = listed(&store).await?.iter().map(|key| key.id).collect();
                save(&store, vec![], ids).await?;
            }
            _ => {}
        }
        let next = loaded(&store).await?.next_id;
        ensure!(next > highest, "{next:?} is the next identifier after {highest:?}");
    }
    // The next one need not be the one that is taken.
    let skipping = key(50, "far", 0, None).with_id(KeyId(highest.0 + 1000));
    save(&store, vec![skipping.clone()], vec![]).await?;
    let next = loaded(&store).await?.next_id;
    ensure!(next > skipping.id, "{next:?} is the next identifier after {:?}", skipping.id);
    Ok(())
}

/// Contract: at most `MAX_KEYS_PER_SAVE` of `changed` and `removed` together.
pub(super) async fn a_save_takes_a_hundred_keys(store: Store) -> Checked {
    let max = u16::try_from(MAX_KEYS_PER_SAVE)?;
    let next = loaded(&store).await?.next_id.0;
    let new =
        |seed: u16| key(seed, &format!("k{seed}"), 0, None).with_id(KeyId(next + i64::from(seed)));
    let mut expected: Vec<_> = (0..max).map(new).collect();
    save(&store, expected.clone(), vec![]).await?;
    same("a hundred new keys", &listed(&store).await?, &expected)?;
    let removed: Vec<_> = expected.drain(..usize::from(max) / 3).map(|key| key.id).collect();
    for key in &mut expected {
        key.revoked_at = Some(at(1));
    }
    save(&store, expected.clone(), removed).await?;
    same("those that were not removed", &listed(&store).await?, &expected)
}

/// Contract: the digests of two keys differ; a save is atomic.
pub(super) async fn a_digest_stored_already_is_not_stored_again(store: Store) -> Checked {
    add(&store, key(1, "live", 0, None)).await?;
    add(&store, key(2, "revoked", 0, None)).await?;
    revoke(&store, by_name("revoked"), at(1)).await?;
    let expected = loaded(&store).await?;
    for seed in [1, 2] {
        let new = |seed, id| key(seed, "again", 5, None).with_id(KeyId(expected.next_id.0 + id));
        let changed = vec![new(3, 0), new(seed, 1)];
        let end = store.keys.save(expected.revision, changed, vec![]).await;
        ensure!(end.is_err(), "the digest of key {seed} again: {end:?} instead of an error");
        // Not even the first of the two.
        same("the keys after a refusal", &loaded(&store).await?.keys, &expected.keys)?;
    }
    Ok(())
}
