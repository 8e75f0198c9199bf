//! API keys: one list with a revision.

use std::{collections::BTreeSet, sync::Arc};

use petstore_domain::{
    ApiKey, Clock, KeyId, KeyLabel, KeyMark, KeyRevision, KeyRing, KeyState, MAX_KEYS_PER_SAVE,
    NamedKey, SaveOutcome, StoreError, Timestamp, revoke_keys, roll_key,
};

use crate::{
    calls::{add, all_keys, join, load, new_key, save, start},
    failure::{PromiseResult, ensure, ensure_eq, ensure_eq_lists, ensure_matches},
    fixture::Fixture,
    harness::Store,
    samples::{at, by_name, key, read_only_key, rex},
};

/// Contract: a key is returned unchanged, also if its rights differ from the prefix of its secret.
pub(super) async fn a_key_comes_back_as_it_was_given(store: Store) -> PromiseResult {
    let longest = "n".repeat(64);
    let in_2096 = Timestamp(4_000_000_000_000);
    let mut expected = Vec::new();
    for (seed, (name, created_at, expires_at, revoked_at, last_used_at)) in [
        ("a", at(0), None, Some(at(3)), None),
        ("Web-shop.v2_EU", at(0), Some(at(1)), None, Some(at(4))),
        (&longest, Timestamp(i64::MIN), Some(Timestamp(i64::MAX)), None, None),
        ("web-shop.v2_EU", Timestamp(i64::MAX - 1), None, None, None),
        ("later", in_2096, Some(in_2096), Some(at(9)), Some(in_2096)),
    ]
    .into_iter()
    .enumerate()
    {
        let id = load(&store).await?.next_id;
        let new = key(u16::try_from(seed)?, name, 0, None).with_id(id);
        let new = ApiKey { created_at, expires_at, revoked_at, last_used_at, ..new };
        save(&store, vec![new.clone()], vec![]).await?;
        expected.push(new);
    }
    expected.push(new_key(&store, read_only_key(10, "report", 0)).await?);
    expected.push(roll_key(&*store.keys, read_only_key(11, "report", 1), at(9)).await?);
    expected[5].expires_at = Some(at(9));
    ensure_eq_lists("the keys", &all_keys(&store).await?, &expected)
}

/// Contract: a save accepts `MAX_KEYS_PER_SAVE` keys in `changed` and `removed` together. `note_uses` accepts as many
/// uses. A changed key is stored whole, except for its last use.
pub(super) async fn a_save_takes_a_hundred_keys(store: Store) -> PromiseResult {
    let max = u16::try_from(MAX_KEYS_PER_SAVE)?;
    let next = load(&store).await?.next_id.0;
    let new =
        |seed: u16| key(seed, &format!("k{seed}"), 0, None).with_id(KeyId(next + i64::from(seed)));
    let mut expected: Vec<_> = (0..max).map(new).collect();
    save(&store, expected.clone(), vec![]).await?;
    ensure_eq_lists("a hundred new keys", &all_keys(&store).await?, &expected)?;
    store.keys.note_uses(expected.iter().map(|key| (key.id, at(3))).collect()).await?;
    let removed: Vec<_> = expected.drain(..usize::from(max) / 3).map(|key| key.id).collect();
    for (key, seed) in expected.iter_mut().zip(max..) {
        let other = read_only_key(seed, "other", 7).with_id(key.id);
        *key = ApiKey { revoked_at: Some(at(1)), last_used_at: Some(at(3)), ..other };
    }
    save(&store, expected.clone(), removed).await?;
    ensure_eq_lists("the keys that were not removed", &all_keys(&store).await?, &expected)
}

/// Contract: the digests of two keys differ. A removed key may be added again, also in the save that removes it. A save
/// is atomic.
pub(super) async fn a_digest_of_another_key_is_refused(store: Store) -> PromiseResult {
    let live = new_key(&store, key(1, "live", 0, None)).await?;
    let revoked = new_key(&store, key(2, "revoked", 0, None)).await?;
    revoke_keys(&*store.keys, by_name("revoked"), at(1)).await?;
    let expected = load(&store).await?;
    // The digests of a live key, of a revoked key, and of the other new key.
    for seed in [1, 2, 3] {
        let new = |seed, id| key(seed, "again", 5, None).with_id(KeyId(expected.next_id.0 + id));
        let changed = vec![new(3, 0), new(seed, 1)];
        let end = store.keys.save(expected.revision, changed, vec![]).await;
        let what = format!("the digest of key {seed} again");
        ensure_matches!(what, end, Err(StoreError::Refused(_)));
        // Not even the first of the two keys was saved.
        ensure_eq_lists("the keys after a refusal", &load(&store).await?.keys, &expected.keys)?;
    }
    save(&store, vec![], vec![live.id]).await?;
    let moved = key(2, "moved", 5, None).with_id(expected.next_id);
    let back = ApiKey { id: KeyId(expected.next_id.0 + 1), ..live };
    save(&store, vec![moved, back.clone()], vec![revoked.id]).await?;
    ensure_eq("the key that came back", &all_keys(&store).await?.last(), &Some(&back))
}

/// Contract: each save changes the revision of the list, and a use does not. A revision is random, so it never occurs
/// again, not even in another store.
pub(super) async fn a_revision_never_comes_back(fixture: Fixture) -> PromiseResult {
    let mut seen = BTreeSet::new();
    for round in 0..2 {
        let other = fixture.another().await?;
        let store = other.store();
        let mut known = None;
        let mut is_new = async |what: &str| -> PromiseResult {
            known = store.keys.load(known).await?.map(|loaded| loaded.revision);
            let is_new = known.is_some_and(|revision| seen.insert(revision.0));
            ensure!(is_new, "{what} kept the revision, or brought back an older one");
            Ok(())
        };
        is_new("a new store").await?;
        for seed in 0..10 {
            // Only two keys alternate, so a revision that is computed from the keys comes back.
            let added = new_key(store, key(seed % 2, "web", 0, None)).await?;
            is_new("a new key").await?;
            save(store, vec![ApiKey { revoked_at: Some(at(1)), ..added.clone() }], vec![]).await?;
            is_new("a revocation").await?;
            save(store, vec![], vec![added.id]).await?;
            is_new("a removal").await?;
        }
        let kept = new_key(store, key(50, "app", 0, None)).await?;
        let known = load(store).await?.revision;
        for now in [4, 4, 1] {
            store.keys.note_uses(vec![(kept.id, at(now + round))]).await?;
        }
        add(store, rex()).await?;
        ensure_eq(
            "the keys after uses and an animal",
            &store.keys.load(Some(known)).await?,
            &None,
        )?;
    }
    Ok(())
}

/// Contract: a changed key is stored completely, except its last use. The later of two uses is kept, and removed keys
/// are skipped.
pub(super) async fn a_save_keeps_the_latest_use(fixture: Fixture) -> PromiseResult {
    let (store, other) = (fixture.handle(0), fixture.handle(1));
    let one = new_key(store, key(1, "a", 0, None)).await?;
    let two = new_key(store, key(2, "b", 0, None)).await?;
    let uses = async |noted: &[(KeyId, i64)], expected: [Option<i64>; 2]| -> PromiseResult {
        let what = format!("the last uses after {noted:?}");
        let noted = noted.iter().map(|(id, millis)| (*id, at(*millis))).collect();
        other.keys.note_uses(noted).await?;
        let actual: Vec<_> = all_keys(store).await?.iter().map(|key| key.last_used_at).collect();
        ensure_eq_lists(what, &actual, &expected.map(|millis| millis.map(at)))
    };
    uses(&[], [None, None]).await?;
    uses(&[(one.id, 5)], [Some(5), None]).await?;
    uses(&[(one.id, 4), (two.id, 6)], [Some(5), Some(6)]).await?;
    uses(&[(two.id, 8), (KeyId(i64::MAX - 1), 9), (one.id, 6)], [Some(6), Some(8)]).await?;
    let saved = ApiKey { revoked_at: Some(at(30)), last_used_at: Some(at(7)), ..one };
    save(store, vec![saved.clone()], vec![]).await?;
    let expected = [
        ApiKey { last_used_at: Some(at(6)), ..saved },
        ApiKey { last_used_at: Some(at(8)), ..two },
    ];
    ensure_eq_lists("the keys after a save", &all_keys(other).await?, &expected)
}

/// Contract: a save writes and removes keys if the revision is still `expected`.
pub(super) async fn of_saves_over_one_revision_one_is_kept(fixture: Fixture) -> PromiseResult {
    const RACERS: usize = 16;
    for round in 0..3 {
        let before = load(fixture.store()).await?;
        let (revision, id) = (before.revision, before.next_id);
        let tasks = start(&fixture, RACERS, move |racer, store| async move {
            let key = key(u16::try_from(round * RACERS + racer)?, "web", 0, None).with_id(id);
            Ok(store.keys.save(revision, vec![key], vec![]).await?)
        });
        let kept = join(tasks).await?.into_iter().filter(|end| *end == SaveOutcome::Saved).count();
        ensure_eq("the number of saves that were kept", &kept, &1)?;
        for other in [revision, KeyRevision(0)] {
            let removal = fixture.store().keys.save(other, vec![], vec![id]).await?;
            ensure_eq("a removal over another revision", &removal, &SaveOutcome::Conflict)?;
        }
        for store in &fixture.handles {
            ensure_eq("how many keys", &all_keys(store).await?.len(), &(before.keys.len() + 1))?;
        }
    }
    Ok(())
}

/// A clock that always shows the same time.
struct Stopped;

impl Clock for Stopped {
    fn now(&self) -> Timestamp {
        at(0)
    }
}

/// Contract: with the changes that `load_changes` returns, a key ring names exactly the live keys of the store.
pub(super) async fn a_key_ring_follows_every_change(fixture: Fixture) -> PromiseResult {
    let (store, other) = (fixture.handle(0), fixture.handle(1));
    let ring = KeyRing::new(Arc::clone(&store.keys), Arc::new(Stopped), None);
    let next = load(store).await?.next_id.0;
    let new =
        |seed: u16| key(seed, &format!("k{seed}"), 0, None).with_id(KeyId(next + i64::from(seed)));
    let revoked = ApiKey { revoked_at: Some(at(0)), ..new(0) };
    let renamed = ApiKey { name: new(9).name, ..new(1) };
    for (changed, removed) in [
        (vec![new(0), new(1)], vec![]),
        (vec![revoked, new(2)], vec![]),
        (vec![new(0)], vec![new(2).id]),
        (vec![renamed, new(3)], vec![new(0).id]),
        (vec![], vec![new(1).id, new(3).id]),
        (vec![new(4)], vec![]),
    ] {
        let what = format!("a ring after {changed:?} and without {removed:?}");
        save(other, changed, removed).await?;
        ring.refresh().await?;
        let live =
            all_keys(other).await?.into_iter().filter(|key| key.state(at(0)) == KeyState::Live);
        let live = live
            .map(|key| NamedKey { label: KeyLabel::Stored(key.name), expires_at: key.expires_at });
        ensure_eq_lists(what, &ring.named_keys(), &live.collect::<Vec<_>>())?;
    }
    // A caller may know a state that the store has lost, for example in a restore, or a state of another store.
    let whole = store.keys.load_changes(None).await?;
    for position in [0, whole.mark.position, i64::MAX] {
        let known = KeyMark { revision: KeyRevision(1), position };
        let found = store.keys.load_changes(Some(known)).await?;
        let [found, expected] = [&found, &whole].map(|keys| (keys.mark.revision, keys.sum));
        ensure_eq(format!("the keys since {known:?}"), &found, &expected)?;
    }
    Ok(())
}
