//! Keeping API keys.

use std::sync::Arc;

use petstore_domain::{
    AddKeyError, ApiKey, ApiKeyRepository, KeyId, KeyName, KeySelector, NewApiKey, RollKeyError,
    StoreError, Timestamp,
};
use petstore_sqlite::SqliteStore;

use crate::support::{NOW, Place, ids, new_key};

const MOST: u32 = 100;

fn at(millis: i64) -> Timestamp {
    Timestamp(NOW.0 + millis)
}

async fn add(store: &SqliteStore, key: NewApiKey) -> Result<ApiKey, AddKeyError> {
    ApiKeyRepository::add(store, key, MOST).await
}

async fn listed(store: &SqliteStore) -> Vec<ApiKey> {
    ApiKeyRepository::list(store).await.unwrap()
}

fn by_name(name: &str) -> KeySelector {
    KeySelector::Name(KeyName::parse(name).unwrap())
}

#[tokio::test]
async fn every_field_comes_back_as_it_was_given_and_outlasts_the_process() {
    let place = Place::new();
    let store = place.open();
    let mut kept = Vec::new();
    for (seed, expires_at) in [(1, None), (2, Some(i64::MAX)), (3, Some(NOW.0 + 1))] {
        let name = if seed == 1 { "n".repeat(64) } else { format!("key.{seed}_-") };
        let key = new_key(seed, &name, expires_at);
        let stored = add(&store, key.clone()).await.unwrap();
        assert_eq!(stored, key.with_id(KeyId(i64::from(seed))));
        kept.push(stored);
    }
    assert_eq!(listed(&store).await, kept);
    drop(store);
    assert_eq!(listed(&place.open()).await, kept);
}

#[tokio::test]
async fn a_name_is_free_again_when_its_key_no_longer_lives() {
    let place = Place::new();
    let store = place.open();
    add(&store, new_key(1, "web", Some(NOW.0 + 10))).await.unwrap();
    assert!(matches!(add(&store, new_key(2, "web", None)).await, Err(AddKeyError::NameTaken)));
    add(&store, new_key(2, "Web", None)).await.unwrap();
    let later = NewApiKey { created_at: at(10), ..new_key(3, "web", None) };
    add(&store, later).await.unwrap();
    store.revoke(by_name("Web"), NOW).await.unwrap();
    add(&store, new_key(4, "Web", None)).await.unwrap();
    assert_eq!(ids(&listed(&store).await), [1, 2, 3, 4]);
}

#[tokio::test]
async fn no_more_keys_live_than_may() {
    let place = Place::new();
    let store = place.open();
    for (seed, name) in [(1, "a"), (2, "b")] {
        ApiKeyRepository::add(&store, new_key(seed, name, Some(NOW.0 + 5)), 2).await.unwrap();
    }
    let full = ApiKeyRepository::add(&store, new_key(3, "c", None), 2).await;
    assert!(matches!(full, Err(AddKeyError::TooManyKeys(2))));
    let full = store.roll(new_key(3, "a", None), at(1), 2).await;
    assert!(matches!(full, Err(RollKeyError::TooManyKeys(2))));
    // Expired and revoked ones do not count.
    let later = NewApiKey { created_at: at(5), ..new_key(3, "c", None) };
    ApiKeyRepository::add(&store, later, 1).await.unwrap();
    store.revoke(by_name("c"), at(5)).await.unwrap();
    let later = NewApiKey { created_at: at(6), ..new_key(4, "d", None) };
    ApiKeyRepository::add(&store, later, 1).await.unwrap();
}

#[tokio::test]
async fn a_key_lives_until_the_moment_it_expires_or_is_revoked() {
    let place = Place::new();
    let store = place.open();
    add(&store, new_key(1, "a", Some(NOW.0 + 10))).await.unwrap();
    add(&store, new_key(2, "b", None)).await.unwrap();
    assert_eq!(ids(&store.live(at(9)).await.unwrap()), [1, 2]);
    assert_eq!(ids(&store.live(at(10)).await.unwrap()), [2]);
    store.revoke(KeySelector::Id(KeyId(2)), at(3)).await.unwrap();
    assert_eq!(ids(&store.live(at(9)).await.unwrap()), [1]);
    assert_eq!(ids(&listed(&store).await), [1, 2], "no key is ever deleted");
}

#[tokio::test]
async fn a_roll_lets_the_old_key_live_for_the_overlap() {
    let place = Place::new();
    let store = place.open();
    let nobody = store.roll(new_key(9, "web", None), at(10), MOST).await;
    assert!(matches!(nobody, Err(RollKeyError::NoSuchKey)));

    add(&store, new_key(1, "web", None)).await.unwrap();
    add(&store, new_key(2, "other", None)).await.unwrap();
    let rolled = store.roll(new_key(3, "web", None), at(10), MOST).await.unwrap();
    assert_eq!(rolled, new_key(3, "web", None).with_id(KeyId(3)));
    assert_eq!(ids(&store.live(at(9)).await.unwrap()), [1, 2, 3]);
    assert_eq!(ids(&store.live(at(10)).await.unwrap()), [2, 3]);
}

#[tokio::test]
async fn a_roll_never_lengthens_a_life() {
    let place = Place::new();
    let store = place.open();
    add(&store, new_key(1, "web", Some(NOW.0 + 5))).await.unwrap();
    store.roll(new_key(2, "web", None), at(10), MOST).await.unwrap();
    assert_eq!(listed(&store).await[0].expires_at, Some(at(5)));

    // Neither one that has ended already.
    let later = |seed| NewApiKey { created_at: at(20), ..new_key(seed, "web", None) };
    store.roll(later(3), at(30), MOST).await.unwrap();
    let expiries: Vec<_> = listed(&store).await.iter().map(|key| key.expires_at).collect();
    assert_eq!(expiries, [Some(at(5)), Some(at(30)), None]);

    // An overlap of nothing ends it at once; a revoked key stays as it was.
    store.revoke(KeySelector::Id(KeyId(2)), at(21)).await.unwrap();
    store.roll(later(4), at(20), MOST).await.unwrap();
    let expiries: Vec<_> = listed(&store).await.iter().map(|key| key.expires_at).collect();
    assert_eq!(expiries, [Some(at(5)), Some(at(30)), Some(at(20)), None]);
    assert_eq!(ids(&store.live(at(20)).await.unwrap()), [4]);
}

#[tokio::test]
async fn revoking_tells_which_keys_it_has_revoked() {
    let place = Place::new();
    let store = place.open();
    let first = add(&store, new_key(1, "web", Some(NOW.0 + 1))).await.unwrap();
    let second = store.roll(new_key(2, "web", None), at(9), MOST).await.unwrap();
    add(&store, new_key(3, "other", None)).await.unwrap();

    let revoked = store.revoke(by_name("web"), at(5)).await.unwrap();
    let revoked_at = Some(at(5));
    assert_eq!(
        revoked,
        [ApiKey { revoked_at, ..first }, ApiKey { revoked_at, ..second }],
        "the expired one too"
    );
    assert_eq!(listed(&store).await[..2], revoked);
    for selector in [by_name("web"), by_name("nobody"), KeySelector::Id(KeyId(1))] {
        assert_eq!(store.revoke(selector, at(6)).await.unwrap(), []);
    }
    assert_eq!(store.revoke(KeySelector::Id(KeyId(77)), at(6)).await.unwrap(), []);
    assert_eq!(ids(&store.revoke(KeySelector::Id(KeyId(3)), at(6)).await.unwrap()), [3]);
}

#[tokio::test]
async fn the_latest_use_is_kept() {
    let place = Place::new();
    let store = place.open();
    add(&store, new_key(1, "a", None)).await.unwrap();
    add(&store, new_key(2, "b", None)).await.unwrap();
    store.note_use(vec![]).await.unwrap();
    store.note_use(vec![(KeyId(1), at(5)), (KeyId(77), at(5)), (KeyId(2), at(6))]).await.unwrap();
    store.note_use(vec![(KeyId(1), at(4)), (KeyId(2), at(7))]).await.unwrap();
    let uses: Vec<_> = listed(&store).await.iter().map(|key| key.last_used_at).collect();
    assert_eq!(uses, [Some(at(5)), Some(at(7))]);
}

#[tokio::test]
async fn a_key_that_is_already_stored_is_refused_and_harms_no_other_write() {
    let place = Place::new();
    let store = place.open();
    add(&store, new_key(1, "a", None)).await.unwrap();
    let (refused, added) =
        tokio::join!(add(&store, new_key(1, "b", None)), add(&store, new_key(2, "c", None)));
    assert!(matches!(refused, Err(AddKeyError::Store(StoreError::Unavailable(_)))));
    added.unwrap();
    assert_eq!(listed(&store).await.len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_keys_added_at_once_under_one_name_one_is_stored() {
    let place = Place::new();
    let stores = [Arc::new(place.open()), Arc::new(place.open())];
    let tasks = (0..16).map(|seed: u8| {
        let store = Arc::clone(&stores[usize::from(seed % 2)]);
        tokio::spawn(async move { add(&store, new_key(seed, "web", None)).await })
    });
    let mut added = 0;
    for task in tasks.collect::<Vec<_>>() {
        match task.await.unwrap() {
            Ok(_) => added += 1,
            Err(AddKeyError::NameTaken) => {}
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!((added, listed(&stores[0]).await.len()), (1, 1));
}
