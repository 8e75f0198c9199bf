//! Changes of API keys over a store in memory.

use std::{sync::Arc, time::Duration};

use petstore_domain::{
    ApiKeySecret, KeyChangeError, KeyId, KeyRights, KeySelector, KeyState, NewApiKey, StoreError,
    add_first_key,
};

use crate::support::{KeyAdmin, START, TestClock, name, parts, secret};

const A_DAY: Duration = Duration::from_hours(24);

fn admin() -> (KeyAdmin, Arc<TestClock>) {
    let (store, clock) = parts();
    (KeyAdmin { keys: store, clock: Arc::clone(&clock) }, clock)
}

async fn states(admin: &KeyAdmin) -> Vec<KeyState> {
    let (keys, now) = admin.list().await.unwrap();
    keys.keys.iter().map(|key| key.state(now)).collect()
}

async fn rights(admin: &KeyAdmin, called: &str) -> KeyRights {
    let (stored, now) = admin.list().await.unwrap();
    stored.rights_of(&name(called), now)
}

#[tokio::test]
async fn a_key_is_stored_as_its_digest_and_first_characters() {
    let (admin, _clock) = admin();
    let key = admin.create(name("web"), &secret(1), Some(A_DAY)).await.unwrap();
    assert_eq!((key.id, key.digest), (KeyId(1), secret(1).digest()));
    assert_eq!(key.prefix, secret(1).expose()[..8]);
    assert_eq!((key.created_at, key.expires_at), (START, Some(START.plus(A_DAY))));
    let (stored, now) = admin.list().await.unwrap();
    assert_eq!((stored.keys, now), (vec![key], START));
}

#[tokio::test]
async fn the_first_key_is_made_only_in_a_store_without_keys() {
    let (admin, _clock) = admin();
    let key = |seed| NewApiKey::new(name("default"), &secret(seed), START, None);
    assert!(add_first_key(&*admin.keys, key(1)).await.unwrap().is_some());
    assert!(add_first_key(&*admin.keys, key(2)).await.unwrap().is_none());
    admin.revoke(KeySelector::Name(name("default"))).await.unwrap();
    let again = add_first_key(&*admin.keys, key(3)).await.unwrap();
    assert!(again.is_none(), "revoked keys count");
}

#[tokio::test]
async fn a_name_belongs_to_one_live_key() {
    let (admin, clock) = admin();
    admin.create(name("web"), &secret(1), Some(A_DAY)).await.unwrap();
    let taken = admin.create(name("web"), &secret(2), None).await;
    assert!(matches!(taken, Err(KeyChangeError::NameTaken)));
    clock.advance(A_DAY);
    admin.create(name("web"), &secret(2), None).await.unwrap();
    assert_eq!(states(&admin).await, [KeyState::Expired, KeyState::Live]);
}

#[tokio::test]
async fn a_stored_digest_is_refused_whether_its_key_is_live_or_not() {
    let (admin, _clock) = admin();
    admin.create(name("web"), &secret(1), None).await.unwrap();
    for _ in 0..2 {
        let known = admin.create(name("app"), &secret(1), None).await;
        assert!(matches!(known, Err(KeyChangeError::Store(StoreError::Refused(_)))));
        admin.revoke(KeySelector::Name(name("web"))).await.unwrap();
    }
}

#[tokio::test]
async fn both_keys_of_a_roll_live_for_the_overlap() {
    let (admin, clock) = admin();
    let nobody = admin.roll(name("web"), &secret(1), A_DAY).await;
    assert!(matches!(nobody, Err(KeyChangeError::NoSuchKey)));
    admin.create(name("web"), &secret(1), None).await.unwrap();
    admin.roll(name("web"), &secret(2), A_DAY).await.unwrap();
    assert_eq!(states(&admin).await, [KeyState::Live, KeyState::Live]);
    clock.advance(A_DAY);
    assert_eq!(states(&admin).await, [KeyState::Expired, KeyState::Live]);
}

#[tokio::test]
async fn revoking_a_name_revokes_both_keys_of_a_roll() {
    let (admin, _clock) = admin();
    admin.create(name("web"), &secret(1), None).await.unwrap();
    admin.roll(name("web"), &secret(2), A_DAY).await.unwrap();
    let revoked = admin.revoke(KeySelector::Name(name("web"))).await.unwrap();
    assert_eq!(revoked.len(), 2);
    assert!(revoked.iter().all(|key| key.revoked_at == Some(START)));
    assert_eq!(states(&admin).await, [KeyState::Revoked, KeyState::Revoked]);
    assert!(admin.revoke(KeySelector::Name(name("web"))).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_name_has_the_rights_of_its_live_key_and_without_one_only_reads() {
    let (admin, _clock) = admin();
    assert_eq!(rights(&admin, "web").await, KeyRights::ReadOnly);
    let reads = ApiKeySecret::with_rights(&[9; 32], KeyRights::ReadOnly);
    admin.create(name("web"), &reads, None).await.unwrap();
    admin.create(name("app"), &secret(1), None).await.unwrap();
    assert_eq!(rights(&admin, "web").await, KeyRights::ReadOnly);
    assert_eq!(rights(&admin, "app").await, KeyRights::Full);
    admin.revoke(KeySelector::Name(name("app"))).await.unwrap();
    assert_eq!(rights(&admin, "app").await, KeyRights::ReadOnly);
}
