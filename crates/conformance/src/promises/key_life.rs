//! API keys: rolling, revoking, expiring, being used.

use petstore_domain::{ApiKey, KeyId, KeySelector, RollKeyError};

use super::keys::{add, listed, names};
use crate::{
    broken::{Broken, Checked, ensure, same},
    fresh::Fresh,
    harness::Harness,
    samples::{MANY, at, by_name, key},
};

pub(super) async fn a_key_lives_until_exactly_its_expiry(harness: &dyn Harness) -> Checked {
    let Fresh { store, scratch: _scratch, .. } = Fresh::new(harness).await?;
    for (seed, name, expires) in
        [(1, "d", Some(10)), (2, "c", None), (3, "b", Some(20)), (4, "a", None)]
    {
        add(&store, key(seed, name, 0, expires)).await?;
    }
    store.keys.revoke(by_name("a"), at(5)).await?;
    for (now, expected) in [
        (9, vec!["d", "c", "b"]),
        (10, vec!["c", "b"]),
        (19, vec!["c", "b"]),
        (20, vec!["c"]),
        (1 << 40, vec!["c"]),
    ] {
        let live = store.keys.live(at(now)).await?.into_all()?;
        same(format!("the keys live at {now}"), &names(&live), &expected)?;
    }
    let kept = listed(&store).await?;
    let live = store.keys.live(at(9)).await?.into_all()?;
    ensure!(live.iter().all(|key| kept.contains(key)), "live ones are not as they are listed");
    Ok(())
}

pub(super) async fn a_roll_retires_its_name_and_no_other(harness: &dyn Harness) -> Checked {
    let Fresh { store, scratch: _scratch, .. } = Fresh::new(harness).await?;
    let expiries = async || -> Result<Vec<_>, Broken> {
        let keys = listed(&store).await?;
        Ok(keys.iter().map(|key| key.expires_at).collect())
    };
    add(&store, key(1, "web", 0, None)).await?;
    add(&store, key(2, "other", 0, None)).await?;
    let new = key(3, "web", 1, Some(500));
    let rolled = store.keys.roll(new.clone(), at(10), MANY).await?;
    same("what rolling returns", &rolled, &new.with_id(rolled.id))?;
    same("the expiries", &expiries().await?, &vec![Some(at(10)), None, Some(at(500))])?;
    // Both keys of the name live: the first expires before, the second after.
    store.keys.roll(key(4, "web", 5, None), at(50), MANY).await?;
    let expected = vec![Some(at(10)), None, Some(at(50)), None];
    same("the expiries after another roll", &expiries().await?, &expected)?;
    // Those that no longer live stay as they are.
    store.keys.revoke(KeySelector::Id(rolled.id), at(20)).await?;
    store.keys.roll(key(5, "web", 30, None), at(5), MANY).await?;
    let expected = vec![Some(at(10)), None, Some(at(50)), Some(at(5)), None];
    same("the expiries after a roll into the past", &expiries().await?, &expected)
}

pub(super) async fn a_roll_needs_a_live_key(harness: &dyn Harness) -> Checked {
    let Fresh { store, scratch: _scratch, .. } = Fresh::new(harness).await?;
    add(&store, key(1, "expired", 0, Some(5))).await?;
    add(&store, key(2, "revoked", 0, None)).await?;
    store.keys.revoke(by_name("revoked"), at(1)).await?;
    for name in ["nobody", "expired", "revoked", "Expired"] {
        let refusal = store.keys.roll(key(3, name, 5, None), at(10), MANY).await;
        let refused = matches!(refusal, Err(RollKeyError::NoSuchKey));
        ensure!(refused, "rolling '{name}': {refusal:?} is not NoSuchKey");
    }
    same("the keys", &names(&listed(&store).await?), &vec!["expired", "revoked"])
}

pub(super) async fn revoking_returns_what_it_has_revoked(harness: &dyn Harness) -> Checked {
    let Fresh { store, scratch: _scratch, .. } = Fresh::new(harness).await?;
    let expired = add(&store, key(1, "web", 0, Some(1))).await?;
    let live = add(&store, key(2, "web", 1, None)).await?;
    let other = add(&store, key(3, "other", 0, None)).await?;
    let revoke = async |selector, now| store.keys.revoke(selector, at(now)).await;

    let revoked_at = Some(at(5));
    let expected = vec![ApiKey { revoked_at, ..expired }, ApiKey { revoked_at, ..live }];
    same("revoked by name, the expired one too", &revoke(by_name("web"), 5).await?, &expected)?;
    let untouched = vec![expected[0].clone(), expected[1].clone(), other.clone()];
    same("the keys", &listed(&store).await?, &untouched)?;
    for selector in [
        by_name("web"),
        by_name("WEB"),
        by_name("nobody"),
        KeySelector::Id(KeyId(i64::MAX)),
        KeySelector::Id(expected[0].id),
    ] {
        same(format!("revoked by {selector:?}"), &revoke(selector, 6).await?, &Vec::new())?;
    }
    same("the keys after revoking nothing", &listed(&store).await?, &untouched)?;
    let expected = vec![ApiKey { revoked_at: Some(at(7)), ..other }];
    let actual = revoke(KeySelector::Id(expected[0].id), 7).await?;
    same("revoked by identifier", &actual, &expected)?;
    same("the live keys", &store.keys.live(at(7)).await?.into_all()?, &Vec::new())
}

pub(super) async fn the_latest_use_is_kept(harness: &dyn Harness) -> Checked {
    let Fresh { store, scratch: _scratch, .. } = Fresh::new(harness).await?;
    let one = add(&store, key(1, "a", 0, None)).await?.id;
    let two = add(&store, key(2, "b", 0, None)).await?.id;
    let unknown = KeyId(two.0 + 1000);
    let uses = async |noted: Vec<(KeyId, i64)>, expected: [Option<i64>; 2]| -> Checked {
        let what = format!("the last uses after {noted:?}");
        store.keys.note_use(noted.into_iter().map(|(id, now)| (id, at(now))).collect()).await?;
        let keys = listed(&store).await?;
        let actual: Vec<_> = keys.iter().map(|key| key.last_used_at).collect();
        same(what, &actual, &expected.map(|use_| use_.map(at)).to_vec())
    };
    uses(vec![], [None, None]).await?;
    uses(vec![(one, 5)], [Some(5), None]).await?;
    uses(vec![(one, 4), (unknown, 9), (two, 6)], [Some(5), Some(6)]).await?;
    uses(vec![(two, 8), (two, 7), (one, 6)], [Some(6), Some(8)]).await
}
