//! API keys: who may save, what becomes of a key that is there, and the revision.

use std::{collections::BTreeSet, sync::Arc};

use petstore_domain::{ApiKey, KeyId, KeyRevision, Saved, add_key};
use tokio::{sync::Barrier, task::JoinSet};

use super::keys::{add, listed, loaded, note_uses, revoke, roll, save};
use crate::{
    broken::{Broken, Checked, ensure, same},
    fresh::{self, Fresh, join},
    harness::Store,
    samples::{at, by_name, key, rex},
};

/// Keys that are changed at the same time.
const RACERS: u16 = 16;

/// Contract: every change of keys gives the list another revision, and a use gives it none.
pub(super) async fn the_revision_changes_exactly_with_the_keys(store: Store) -> Checked {
    let mut seen = Vec::new();
    let mut is_new = async |what: &str| -> Checked {
        let KeyRevision(revision) = loaded(&store).await?.revision;
        ensure!(!seen.contains(&revision), "{what} has left the revision, or given an older one");
        seen.push(revision);
        Ok(())
    };
    is_new("nothing").await?;
    let web = add(&store, key(1, "web", 0, None)).await?;
    is_new("a new key").await?;
    roll(&store, key(2, "web", 1, None), at(9)).await?;
    is_new("a roll").await?;
    revoke(&store, by_name("web"), at(2)).await?;
    is_new("a revocation").await?;
    save(&store, vec![], vec![web.id]).await?;
    is_new("a removal").await?;
    let app = add(&store, key(3, "app", 0, None)).await?;
    is_new("another key").await?;
    let ended = ApiKey { revoked_at: Some(at(2)), last_used_at: Some(at(2)), ..app };
    save(&store, vec![ended.clone()], vec![]).await?;
    is_new("a revocation with a use").await?;
    let new = key(4, "new", 0, None).with_id(loaded(&store).await?.next_id);
    save(&store, vec![ApiKey { last_used_at: Some(at(3)), ..ended }, new], vec![]).await?;
    is_new("a use with a new key").await?;
    let known = loaded(&store).await?;
    for (use_, now) in [("a use", 4), ("the same use", 4), ("an earlier use", 1)] {
        let used = known.keys.iter().map(|key| (key.id, now)).collect::<Vec<_>>();
        note_uses(&store, &used).await?;
        let after = store.keys.load(Some(known.revision)).await?;
        same(format!("the keys after {use_}"), &after, &None)?;
    }
    fresh::add(&store, rex()).await?;
    same("the keys after an animal", &store.keys.load(Some(known.revision)).await?, &None)
}

/// Contract: a revision never comes again, in no other store either.
pub(super) async fn no_two_stores_have_one_revision(fresh: Fresh) -> Checked {
    let mut seen = BTreeSet::new();
    for _ in 0..2 {
        let fresh = fresh.another().await?;
        for seed in 0..3 {
            let revision = loaded(&fresh.store).await?.revision.0;
            ensure!(seen.insert(revision), "a new store has a revision that another one had");
            add(&fresh.store, key(seed, &format!("k{seed}"), 0, None)).await?;
        }
    }
    Ok(())
}

/// Contract: writes and removes keys if the revision is still `expected`.
pub(super) async fn a_save_over_other_keys_is_lost(store: Store) -> Checked {
    let old = loaded(&store).await?.revision;
    let web = add(&store, key(1, "web", 0, None)).await?;
    let expected = loaded(&store).await?;
    for other in [old, KeyRevision(0)] {
        let revoked = ApiKey { revoked_at: Some(at(1)), ..web.clone() };
        let new = key(2, "app", 0, None).with_id(expected.next_id);
        let saved = store.keys.save(other, vec![revoked, new], vec![]).await?;
        same("a save over another revision", &saved, &Saved::Lost)?;
        let saved = store.keys.save(other, vec![], vec![web.id]).await?;
        same("a removal over another revision", &saved, &Saved::Lost)?;
        same("the keys", &loaded(&store).await?, &expected)?;
    }
    Ok(())
}

/// Contract: of a key that is there, it becomes what both say.
pub(super) async fn no_save_undoes_a_revocation_or_a_use(store: Store) -> Checked {
    let other = add(&store, key(1, "other", 0, None)).await?;
    let live = add(&store, key(2, "web", 0, None)).await?;
    let ends = |expires: Option<i64>, revoked: Option<i64>, used: Option<i64>| ApiKey {
        expires_at: expires.map(at),
        revoked_at: revoked.map(at),
        last_used_at: used.map(at),
        ..live.clone()
    };
    note_uses(&store, &[(live.id, 3)]).await?;
    for (saved, expected) in [
        (ends(None, None, None), ends(None, None, Some(3))),
        (ends(Some(50), None, Some(2)), ends(Some(50), None, Some(3))),
        (ends(None, Some(20), Some(4)), ends(Some(50), Some(20), Some(4))),
        (ends(Some(60), Some(30), None), ends(Some(50), Some(20), Some(4))),
        (ends(Some(40), Some(10), Some(9)), ends(Some(40), Some(10), Some(9))),
        (ends(None, None, None), ends(Some(40), Some(10), Some(9))),
    ] {
        save(&store, vec![saved.clone()], vec![]).await?;
        same(
            format!("the keys after {saved:?}"),
            &listed(&store).await?,
            &vec![other.clone(), expected],
        )?;
    }
    Ok(())
}

/// Contract: passes over an unknown identifier, and a time before the one already noted.
pub(super) async fn the_latest_use_is_kept(store: Store) -> Checked {
    let one = add(&store, key(1, "a", 0, None)).await?.id;
    let two = add(&store, key(2, "b", 0, None)).await?.id;
    let uses = async |noted: &[(KeyId, i64)], expected: &[Option<i64>]| -> Checked {
        let what = format!("the last uses after {noted:?}");
        note_uses(&store, noted).await?;
        let keys = listed(&store).await?;
        let actual: Vec<_> = keys.iter().map(|key| key.last_used_at).collect();
        let expected: Vec<_> = expected.iter().map(|use_| use_.map(at)).collect();
        same(what, &actual, &expected)
    };
    uses(&[], &[None, None]).await?;
    uses(&[(one, 5)], &[Some(5), None]).await?;
    uses(&[(one, 4), (two, 6)], &[Some(5), Some(6)]).await?;
    uses(&[(two, 8), (one, 6)], &[Some(6), Some(8)]).await?;
    uses(&[(two, 7)], &[Some(6), Some(8)]).await?;

    let before = loaded(&store).await?;
    save(&store, vec![], vec![two]).await?;
    let noted = before.keys.into_iter().map(|key| ApiKey { last_used_at: Some(at(9)), ..key });
    let saved = store.keys.save(before.revision, noted.collect(), vec![]).await?;
    same("uses of keys of which one was removed", &saved, &Saved::Lost)?;
    uses(&[], &[Some(6)]).await
}

/// Contract: writes and removes keys if the revision is still `expected`.
pub(super) async fn of_saves_over_one_revision_one_is_kept(store: Store) -> Checked {
    one_is_kept(&[&store]).await
}

/// Contract: writes and removes keys if the revision is still `expected`.
pub(super) async fn of_saves_of_two_handles_one_is_kept(fresh: Fresh) -> Checked {
    let other = fresh.second().await?;
    one_is_kept(&[&fresh.store, &other]).await
}

/// Saves another key over one revision, many at once, and several times.
async fn one_is_kept(handles: &[&Store]) -> Checked {
    for round in 0..3 {
        let before = loaded(handles[0]).await?;
        let (revision, id) = (before.revision, before.next_id);
        let ends = concurrently(handles, |store, seed| async move {
            let key = key(round * RACERS + seed, "web", 0, None).with_id(id);
            store.keys.save(revision, vec![key], vec![]).await
        });
        let mut kept = 0;
        for end in ends.await? {
            kept += u32::from(end? == Saved::Yes);
        }
        same("saves that were kept", &kept, &1)?;
        for handle in handles {
            same("keys", &listed(handle).await?.len(), &(before.keys.len() + 1))?;
        }
    }
    Ok(())
}

/// Contract: what has been acknowledged, every later read sees.
pub(super) async fn keys_added_at_the_same_time_are_all_there(store: Store) -> Checked {
    all_are_there(&[&store]).await
}

/// Contract: what has been acknowledged, every later read sees.
pub(super) async fn keys_added_by_two_handles_are_all_there(fresh: Fresh) -> Checked {
    let other = fresh.second().await?;
    all_are_there(&[&fresh.store, &other]).await
}

/// Adds keys, many at once, while another one is used. Every handle sees them as soon as they are added.
async fn all_are_there(handles: &[&Store]) -> Checked {
    let used = add(handles[0], key(999, "used", 0, None)).await?;
    let before = loaded(handles[0]).await?.revision;
    let ends = concurrently(handles, |store, seed| async move {
        note_uses(&store, &[(used.id, i64::from(seed))]).await?;
        let added = add_key(&*store.keys, key(seed, &format!("k{seed}"), 0, None)).await?;
        let loaded = store.keys.load(Some(before)).await?;
        let keys = loaded.map(|loaded| loaded.keys).unwrap_or_default();
        ensure!(keys.contains(&added), "{added:?} is not there after it was added");
        Ok::<_, Broken>(added)
    });
    let mut expected = Vec::new();
    for end in ends.await? {
        expected.push(end?);
    }
    expected.sort_by_key(|key| key.id);
    expected.insert(0, ApiKey { last_used_at: Some(at(i64::from(RACERS) - 1)), ..used });
    for handle in handles {
        let loaded = handle.keys.load(Some(before)).await?;
        same("the keys", &loaded.map(|loaded| loaded.keys).as_ref(), &Some(&expected))?;
    }
    Ok(())
}

/// Runs [`RACERS`] calls at the same time, on each of `handles` in turn.
async fn concurrently<T, F>(
    handles: &[&Store],
    call: impl Fn(Store, u16) -> F,
) -> Result<Vec<T>, Broken>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let start = Arc::new(Barrier::new(RACERS.into()));
    let mut tasks = JoinSet::new();
    for seed in 0..RACERS {
        let store = handles[usize::from(seed) % handles.len()];
        let (start, call) = (Arc::clone(&start), call(store.clone(), seed));
        tasks.spawn(async move {
            start.wait().await;
            Ok(call.await)
        });
    }
    join(tasks).await
}
