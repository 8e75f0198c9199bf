//! [`KeyRing`] over a store in memory whose keys change.

use std::{sync::Arc, time::Duration};

use petstore_domain::{Clock, KeyRing, KeySelector};

use crate::support::{KeyAdmin, START, TestClock, name, parts, secret};

const A_DAY: Duration = Duration::from_hours(24);

fn ring_and_admin() -> (KeyRing, KeyAdmin, Arc<TestClock>) {
    let (store, clock) = parts();
    let ring = KeyRing::new(Arc::clone(&store) as _, Arc::clone(&clock) as _, None);
    (ring, KeyAdmin { keys: store, clock: Arc::clone(&clock) }, clock)
}

/// Refreshes the ring and returns whether a key is live.
async fn admits(ring: &KeyRing, seed: u8) -> bool {
    ring.refresh().await.unwrap();
    ring.check(&secret(seed), Some(Duration::ZERO)).is_ok()
}

#[tokio::test]
async fn a_new_key_is_accepted_and_a_revoked_one_refused() {
    let (ring, admin, _clock) = ring_and_admin();
    assert!(!admits(&ring, 1).await);
    admin.create(name("web"), &secret(1), None).await.unwrap();
    assert!(admits(&ring, 1).await);
    assert!(!admits(&ring, 2).await);
    admin.revoke(KeySelector::Name(name("web"))).await.unwrap();
    assert!(!admits(&ring, 1).await);
}

#[tokio::test]
async fn a_rolled_key_is_accepted_until_the_overlap_is_over() {
    let (ring, admin, clock) = ring_and_admin();
    admin.create(name("web"), &secret(1), None).await.unwrap();
    admin.roll(name("web"), &secret(2), A_DAY).await.unwrap();
    clock.advance(A_DAY);
    clock.set_back(Duration::from_millis(1));
    assert!(admits(&ring, 1).await && admits(&ring, 2).await);
    clock.advance(Duration::from_millis(1));
    assert!(!admits(&ring, 1).await && admits(&ring, 2).await);
}

#[tokio::test]
async fn the_last_use_is_written_back() {
    let (ring, admin, clock) = ring_and_admin();
    admin.create(name("used"), &secret(1), None).await.unwrap();
    admin.create(name("unused"), &secret(2), None).await.unwrap();
    assert!(admits(&ring, 1).await);
    ring.write_back_uses().await.unwrap();
    clock.advance(Duration::from_mins(2));
    assert!(admits(&ring, 1).await);
    ring.write_back_uses().await.unwrap();

    let (keys, _) = admin.list().await.unwrap();
    let uses: Vec<_> = keys.keys.iter().map(|key| key.last_used_at).collect();
    assert_eq!(uses, [Some(clock.now()), None]);
    assert_eq!(clock.now(), START.plus(Duration::from_mins(2)));
}
