//! API keys.

use petstore_domain::{
    AddKeyError, ApiKey, ApiKeyRepository, KeyId, KeyName, KeySelector, NewApiKey, RollKeyError,
    StoreError,
};
use petstore_memory::MemoryStore;

use crate::support::{at, ids, new_key};

const MOST: u32 = 100;

async fn add(store: &MemoryStore, key: NewApiKey) -> Result<ApiKey, AddKeyError> {
    ApiKeyRepository::add(store, key, MOST).await
}

async fn listed(store: &MemoryStore) -> Vec<ApiKey> {
    ApiKeyRepository::list(store).await.unwrap()
}

fn by_name(name: &str) -> KeySelector {
    KeySelector::Name(KeyName::parse(name).unwrap())
}

#[tokio::test]
async fn a_name_is_free_again_when_its_key_no_longer_lives() {
    let store = MemoryStore::new();
    let first = add(&store, new_key(1, "web", Some(at(10)))).await.unwrap();
    assert_eq!(first, new_key(1, "web", Some(at(10))).with_id(KeyId(1)));
    assert!(matches!(add(&store, new_key(2, "web", None)).await, Err(AddKeyError::NameTaken)));
    add(&store, new_key(2, "Web", None)).await.unwrap();
    let later = NewApiKey { created_at: at(10), ..new_key(3, "web", None) };
    add(&store, later).await.unwrap();
    store.revoke(by_name("Web"), at(0)).await.unwrap();
    add(&store, new_key(4, "Web", None)).await.unwrap();
    assert_eq!(ids(&listed(&store).await), [1, 2, 3, 4], "no key is ever deleted");
    assert_eq!(ids(&store.live(at(9)).await.unwrap()), [1, 3, 4]);
    assert_eq!(ids(&store.live(at(10)).await.unwrap()), [3, 4]);
}

#[tokio::test]
async fn no_more_keys_live_than_may() {
    let store = MemoryStore::new();
    for (seed, name) in [(1, "a"), (2, "b")] {
        ApiKeyRepository::add(&store, new_key(seed, name, Some(at(5))), 2).await.unwrap();
    }
    let full = ApiKeyRepository::add(&store, new_key(3, "c", None), 2).await;
    assert!(matches!(full, Err(AddKeyError::TooManyKeys(2))));
    let full = store.roll(new_key(3, "a", None), at(1), 2).await;
    assert!(matches!(full, Err(RollKeyError::TooManyKeys(2))));
    let later = NewApiKey { created_at: at(5), ..new_key(3, "c", None) };
    ApiKeyRepository::add(&store, later, 1).await.unwrap();
}

#[tokio::test]
async fn a_roll_lets_the_old_key_live_for_the_overlap_and_never_longer() {
    let store = MemoryStore::new();
    let nobody = store.roll(new_key(9, "web", None), at(10), MOST).await;
    assert!(matches!(nobody, Err(RollKeyError::NoSuchKey)));

    add(&store, new_key(1, "web", Some(at(5)))).await.unwrap();
    add(&store, new_key(2, "other", None)).await.unwrap();
    store.roll(new_key(3, "web", None), at(10), MOST).await.unwrap();
    let later = |seed| NewApiKey { created_at: at(20), ..new_key(seed, "web", None) };
    store.roll(later(4), at(30), MOST).await.unwrap();
    let expiries: Vec<_> = listed(&store).await.iter().map(|key| key.expires_at).collect();
    assert_eq!(expiries, [Some(at(5)), None, Some(at(30)), None]);
    assert_eq!(ids(&store.live(at(29)).await.unwrap()), [2, 3, 4]);
    assert_eq!(ids(&store.live(at(30)).await.unwrap()), [2, 4]);
}

#[tokio::test]
async fn revoking_tells_which_keys_it_has_revoked() {
    let store = MemoryStore::new();
    let first = add(&store, new_key(1, "web", Some(at(1)))).await.unwrap();
    let second = add(&store, NewApiKey { created_at: at(1), ..new_key(2, "web", None) }).await;
    add(&store, new_key(3, "other", None)).await.unwrap();

    let revoked = store.revoke(by_name("web"), at(5)).await.unwrap();
    let revoked_at = Some(at(5));
    assert_eq!(
        revoked,
        [ApiKey { revoked_at, ..first }, ApiKey { revoked_at, ..second.unwrap() }],
        "the expired one too"
    );
    assert_eq!(listed(&store).await[..2], revoked);
    for selector in [by_name("web"), by_name("nobody"), KeySelector::Id(KeyId(77))] {
        assert_eq!(store.revoke(selector, at(6)).await.unwrap(), []);
    }
    assert_eq!(ids(&store.revoke(KeySelector::Id(KeyId(3)), at(6)).await.unwrap()), [3]);
}

#[tokio::test]
async fn the_latest_use_is_kept() {
    let store = MemoryStore::new();
    add(&store, new_key(1, "a", None)).await.unwrap();
    add(&store, new_key(2, "b", None)).await.unwrap();
    store.note_use(vec![(KeyId(1), at(5)), (KeyId(77), at(5)), (KeyId(2), at(6))]).await.unwrap();
    store.note_use(vec![(KeyId(1), at(4)), (KeyId(2), at(7))]).await.unwrap();
    let uses: Vec<_> = listed(&store).await.iter().map(|key| key.last_used_at).collect();
    assert_eq!(uses, [Some(at(5)), Some(at(7))]);
}

#[tokio::test]
async fn a_key_that_is_already_stored_is_refused() {
    let store = MemoryStore::new();
    add(&store, new_key(1, "a", None)).await.unwrap();
    let refusal = add(&store, new_key(1, "b", None)).await;
    assert!(matches!(refusal, Err(AddKeyError::Store(StoreError::Unavailable(_)))));
    let refusal = store.roll(new_key(1, "a", None), at(9), MOST).await;
    assert!(matches!(refusal, Err(RollKeyError::Store(StoreError::Unavailable(_)))));
    assert_eq!(listed(&store).await[0].expires_at, None, "nothing of the roll has happened");
}
