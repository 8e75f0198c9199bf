//! API keys: storing them.

use std::sync::Arc;

use petstore_domain::{
    AddKeyError, ApiKey, KeyId, KeyRights, NewApiKey, RollKeyError, StoreError, Timestamp,
};
use tokio::{sync::Barrier, task::JoinSet};

use crate::{
    broken::{Broken, Checked, ensure, same},
    fresh::{Fresh, join},
    harness::{Harness, Store},
    samples::{MANY, at, by_name, key, read_only_key},
};

/// Adds `key`, without a limit that matters.
pub(super) async fn add(store: &Store, key: NewApiKey) -> Result<ApiKey, Broken> {
    Ok(store.keys.add(key, MANY).await?)
}

pub(super) async fn listed(store: &Store) -> Result<Vec<ApiKey>, Broken> {
    Ok(store.keys.list().await?.into_all()?)
}

pub(super) fn names(keys: &[ApiKey]) -> Vec<&str> {
    keys.iter().map(|key| key.name.as_str()).collect()
}

pub(super) async fn a_key_comes_back_as_it_was_given(harness: &dyn Harness) -> Checked {
    let Fresh { store, scratch: _scratch, .. } = Fresh::new(harness).await?;
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
        let added = add(&store, new.clone()).await?;
        same("what adding returns", &added, &new.with_id(added.id))?;
        expected.push(added);
    }
    same("what listing returns", &listed(&store).await?, &expected)
}

pub(super) async fn a_key_that_may_only_read_stays_one(harness: &dyn Harness) -> Checked {
    let Fresh { store, scratch: _scratch, .. } = Fresh::new(harness).await?;
    add(&store, key(1, "web", 0, None)).await?;
    let added = add(&store, read_only_key(2, "report", 0)).await?;
    let rolled = store.keys.roll(read_only_key(3, "report", 1), at(9), MANY).await?;
    same("what adding returns", &added.rights, &KeyRights::ReadOnly)?;
    same("what rolling returns", &rolled.rights, &KeyRights::ReadOnly)?;
    // Its first characters say otherwise; they are for people only.
    let odd = NewApiKey { rights: KeyRights::ReadOnly, ..key(4, "odd", 0, None) };
    add(&store, odd).await?;
    let [full, read_only] = KeyRights::ALL;
    let expected = [full, read_only, read_only, read_only];
    let live = store.keys.live(at(5)).await?.into_all()?;
    for (what, keys) in [("the keys listed", listed(&store).await?), ("the keys live", live)] {
        let rights: Vec<_> = keys.iter().map(|key| key.rights).collect();
        same(what, &rights.as_slice(), &expected.as_slice())?;
    }
    Ok(())
}

pub(super) async fn every_key_there_ever_was_is_listed_in_order(harness: &dyn Harness) -> Checked {
    let Fresh { store, scratch: _scratch, .. } = Fresh::new(harness).await?;
    let mut expected = Vec::new();
    for seed in 0..30_u16 {
        let expires = (seed % 3 == 0).then_some(1);
        let added = add(&store, key(seed, &format!("k{}", 99 - seed), 0, expires)).await?.id;
        ensure!(
            expected.last() < Some(&added),
            "{added:?} was assigned after {:?}",
            expected.last()
        );
        expected.push(added);
    }
    store.keys.revoke(by_name("k98"), at(0)).await?;
    let actual: Vec<KeyId> = listed(&store).await?.iter().map(|key| key.id).collect();
    same("the keys, expired and revoked ones too", &actual, &expected)
}

pub(super) async fn a_name_is_taken_by_a_live_key_alone(harness: &dyn Harness) -> Checked {
    let Fresh { store, scratch: _scratch, .. } = Fresh::new(harness).await?;
    add(&store, key(1, "web", 0, Some(10))).await?;
    for created in [0, 9] {
        let refusal = store.keys.add(key(2, "web", created, None), MANY).await;
        ensure!(matches!(refusal, Err(AddKeyError::NameTaken)), "{refusal:?} is not NameTaken");
    }
    add(&store, key(3, "Web", 0, None)).await.map_err(|broken| broken.context("Web beside web"))?;
    let free = |broken: Broken| broken.context("the name of a key that has expired");
    add(&store, key(4, "web", 10, None)).await.map_err(free)?;
    store.keys.revoke(by_name("web"), at(11)).await?;
    let free = |broken: Broken| broken.context("the name of a key that was revoked");
    add(&store, key(5, "web", 11, None)).await.map_err(free)?;
    same("the names", &names(&listed(&store).await?), &vec!["web", "Web", "web", "web"])
}

pub(super) async fn no_more_keys_live_than_the_limit(harness: &dyn Harness) -> Checked {
    let Fresh { store, scratch: _scratch, .. } = Fresh::new(harness).await?;
    for (seed, name) in [(1, "a"), (2, "b")] {
        store.keys.add(key(seed, name, 0, Some(5)), 2).await?;
    }
    let refusal = store.keys.add(key(3, "c", 0, None), 2).await;
    ensure!(matches!(refusal, Err(AddKeyError::TooManyKeys(2))), "{refusal:?} beyond the limit");
    let refusal = store.keys.roll(key(3, "a", 0, None), at(1), 2).await;
    let refused = matches!(refusal, Err(RollKeyError::TooManyKeys(2)));
    ensure!(refused, "{refusal:?} from rolling beyond the limit");
    same("the keys after two refusals", &names(&listed(&store).await?), &vec!["a", "b"])?;
    store.keys.add(key(4, "c", 5, None), 1).await.map(drop)?;
    Ok(())
}

pub(super) async fn a_digest_stored_already_is_not_stored_again(harness: &dyn Harness) -> Checked {
    let Fresh { store, scratch: _scratch, .. } = Fresh::new(harness).await?;
    add(&store, key(1, "live", 0, None)).await?;
    add(&store, key(2, "expired", 0, Some(1))).await?;
    add(&store, key(3, "revoked", 0, None)).await?;
    store.keys.revoke(by_name("revoked"), at(1)).await?;
    let expected = listed(&store).await?;
    for seed in [1, 2, 3] {
        let end = store.keys.add(key(seed, "again", 5, None), MANY).await;
        let refused = matches!(end, Err(AddKeyError::Store(StoreError::Unavailable(_))));
        ensure!(refused, "the digest of key {seed} again: {end:?} instead of Unavailable");
        let end = store.keys.roll(key(seed, "live", 5, None), at(9), MANY).await;
        let refused = matches!(end, Err(RollKeyError::Store(StoreError::Unavailable(_))));
        ensure!(refused, "a roll to the digest of key {seed}: {end:?} instead of Unavailable");
    }
    same("the keys after the refusals", &listed(&store).await?, &expected)
}

pub(super) async fn keys_of_one_name_at_the_same_time_give_one(harness: &dyn Harness) -> Checked {
    let fresh = Fresh::new(harness).await?;
    let ends = concurrently(&fresh.store, |_| "web".to_owned(), MANY).await?;
    let added = ends.iter().filter(|end| end.is_ok()).count();
    let wrong = ends.iter().find(|end| !matches!(end, Ok(_) | Err(AddKeyError::NameTaken)));
    ensure!(wrong.is_none(), "{wrong:?} is neither a key nor NameTaken");
    same("added", &added, &1)?;
    same("keys", &listed(&fresh.store).await?.len(), &1)
}

pub(super) async fn keys_at_the_same_time_keep_to_the_limit(harness: &dyn Harness) -> Checked {
    let fresh = Fresh::new(harness).await?;
    let ends = concurrently(&fresh.store, |seed| format!("k{seed}"), 5).await?;
    let added = ends.iter().filter(|end| end.is_ok()).count();
    let wrong = ends.iter().find(|end| !matches!(end, Ok(_) | Err(AddKeyError::TooManyKeys(5))));
    ensure!(wrong.is_none(), "{wrong:?} is neither a key nor TooManyKeys(5)");
    same("added", &added, &5)?;
    same("keys", &listed(&fresh.store).await?.len(), &5)
}

/// Adds 16 keys at the same time, of which `max` may be live.
async fn concurrently(
    store: &Store,
    name: impl Fn(u16) -> String,
    max: u32,
) -> Result<Vec<Result<ApiKey, AddKeyError>>, Broken> {
    let start = Arc::new(Barrier::new(16));
    let mut tasks = JoinSet::new();
    for seed in 0..16 {
        let (store, new) = (store.clone(), key(seed, &name(seed), 0, None));
        let start = Arc::clone(&start);
        tasks.spawn(async move {
            start.wait().await;
            Ok(store.keys.add(new, max).await)
        });
    }
    join(tasks).await
}
