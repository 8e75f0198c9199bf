//! A store that is moved while it is in use.

use std::collections::BTreeSet;

use petstore_domain::{
    Changes, Pet, Purged, Relocatable, Relocation, Role, StoreError, add_key, roll_key,
};
use tokio::task::JoinSet;

use super::keys;
use crate::{
    broken::{Broken, Checked, ensure, same},
    fresh::{Fresh, add, add_many, all, archive, created, join, replayed, still_works},
    harness::{Harness, Store},
    samples::{MANY, at, by_name, key, numbered, request, rex},
};

fn relocation(store: &Store) -> Result<&dyn Relocatable, Broken> {
    let missing = || Broken::new("there is no relocation, but the harness declares one");
    store.relocation.as_deref().ok_or_else(missing)
}

async fn change(store: &Store, from: &Relocation, role: Role) -> Result<Relocation, Broken> {
    let row = from.with_role(role);
    ensure!(relocation(store)?.change(from.revision, row.clone()).await?, "no change to {role:?}");
    Ok(row)
}

fn is_fenced<T, E: Into<AnyError>>(what: &str, done: Result<T, E>) -> Checked {
    let refused = done.is_err_and(|error| matches!(error.into(), AnyError(true)));
    ensure!(refused, "{what} is not refused by the fence");
    Ok(())
}

/// Whether an error is the refusal of a fence.
struct AnyError(bool);

impl From<StoreError> for AnyError {
    fn from(error: StoreError) -> Self {
        Self(matches!(error, StoreError::Fenced(_)))
    }
}

macro_rules! any_error {
    ($($error:ident),*) => {$(
        impl From<petstore_domain::$error> for AnyError {
            fn from(error: petstore_domain::$error) -> Self {
                Self(matches!(error, petstore_domain::$error::Store(StoreError::Fenced(_))))
            }
        }
    )*};
}
any_error!(AddError, AddKeyError, RollKeyError, RestoreError);

pub(super) async fn a_fenced_store_refuses_every_write(harness: &dyn Harness) -> Checked {
    let Fresh { store, scratch: _scratch, .. } = Fresh::new(harness).await?;
    add(&store, rex()).await?;
    let there = keys::add(&store, key(1, "there", 1, None)).await?;
    let mut row = Relocation::new(Role::Deciding, 1, "elsewhere");
    ensure!(relocation(&store)?.begin(row.clone()).await?, "a move cannot begin");
    add(&store, rex()).await?;
    for role in [Role::Draining, Role::Standby, Role::Moved] {
        row = change(&store, &row, role).await?;
        is_fenced("an addition", store.pets.add(rex(), None).await)?;
        let with_key = store.pets.add(rex(), Some(request("k", &rex(), 5))).await;
        is_fenced("an addition with a key", with_key)?;
        is_fenced("a purge", store.pets.purge_expired(at(0), 9).await)?;
        is_fenced("a new API key", add_key(&*store.keys, key(2, "b", 2, None)).await)?;
        is_fenced("a roll", roll_key(&*store.keys, key(3, "there", 3, None), at(9)).await)?;
        is_fenced("a revocation", keys::revoke(&store, by_name("there"), at(9)).await)?;
        is_fenced("a use", store.keys.note_uses(vec![(there.id, at(9))]).await)?;
        same("the animals", &all(&store).await?.len(), &2)?;
        same("the keys", &keys::listed(&store).await?, &vec![there.clone()])?;
    }
    Ok(())
}

pub(super) async fn a_row_changes_by_its_revision_alone(harness: &dyn Harness) -> Checked {
    let Fresh { store, scratch: _scratch, .. } = Fresh::new(harness).await?;
    same("the row before the move", &relocation(&store)?.relocation().await?, &None)?;
    let row = Relocation::new(Role::Deciding, 7, "elsewhere?password=x");
    ensure!(relocation(&store)?.begin(row.clone()).await?, "a move cannot begin");
    let again = relocation(&store)?.begin(Relocation::new(Role::Moved, 1, "")).await?;
    ensure!(!again, "a second move has begun");
    let wrong = relocation(&store)?.change(6, row.with_role(Role::Moved)).await?;
    ensure!(!wrong, "another revision is changed");
    same("the row", &relocation(&store)?.relocation().await?, &Some(row.clone()))?;
    let mut tasks = JoinSet::new();
    for number in 0..8 {
        let (store, row) = (store.clone(), row.clone());
        tasks.spawn(async move {
            let new = Relocation { peer: number.to_string(), ..row.with_role(Role::Draining) };
            // A lock that others hold may be a failure, never a change.
            Ok(relocation(&store)?.change(row.revision, new).await.unwrap_or(false))
        });
    }
    let changed = join(tasks).await?.into_iter().filter(|changed| *changed).count();
    same("how many of eight equal changes were made", &changed, &1)
}

pub(super) async fn changes_up_to_the_horizon_are_complete(harness: &dyn Harness) -> Checked {
    let fresh = Fresh::new(harness).await?;
    let handles = [fresh.store.clone(), fresh.second().await?];
    let row = Relocation::new(Role::Deciding, 1, "elsewhere");
    ensure!(relocation(&fresh.store)?.begin(row).await?, "a move cannot begin");
    let mut tasks = JoinSet::<Checked>::new();
    for writer in 0..6 {
        let store = handles[writer % 2].clone();
        tasks.spawn(async move {
            for number in 0..40 {
                let pet = numbered(writer * 100 + number);
                let key = format!("{writer}-{number}");
                let request = (writer < 3).then(|| request(&key, &pet, 5));
                created(store.pets.add(pet, request).await?)?;
            }
            Ok(())
        });
    }
    let (mut found, mut records) = (Vec::<Pet>::new(), 0);
    let mut ends = false;
    loop {
        // What is read after the last writer has ended is complete.
        let last = ends;
        ends = tasks.is_empty() || {
            while let Some(ended) = tasks.try_join_next() {
                ended.map_err(|error| Broken::new(format!("a call panicked: {error}")))??;
            }
            tasks.is_empty()
        };
        let store = relocation(&fresh.store)?;
        if let Ok(Some(horizon)) = store.horizon().await {
            loop {
                let changes = store.changes(found.last().map(|pet| pet.id), horizon, 7).await?;
                if changes.pets.is_empty() {
                    break;
                }
                ensure!(changes.pets.len() <= 7, "a batch of {}", changes.pets.len());
                records += changes.records.len();
                found.extend(changes.pets);
            }
        }
        if last {
            break;
        }
        tokio::task::yield_now().await;
    }
    same("the animals that were followed", &found, &all(&fresh.store).await?)?;
    same("the records that were followed", &records, &120)
}

pub(super) async fn what_is_applied_is_there(harness: &dyn Harness) -> Checked {
    let (source, target) = (Fresh::new(harness).await?, Fresh::new(harness).await?);
    let (from, to) = (&source.store, &target.store);
    add_many(from, 3).await?;
    created(from.pets.add(rex(), Some(request("once", &rex(), 5))).await?)?;
    let kept = keys::add(from, key(1, "kept", 1, None)).await?;
    let begun = relocation(from)?.begin(Relocation::new(Role::Deciding, 1, "to")).await?;
    let row = Relocation::new(Role::Standby, 0, "from");
    ensure!(begun && relocation(to)?.begin(row.clone()).await?, "a move cannot begin");
    let horizon = relocation(from)?.horizon().await?;
    let horizon = horizon.ok_or_else(|| Broken::new("the horizon of four animals is None"))?;
    let changes = relocation(from)?.changes(None, horizon, 100).await?;
    let changes = Changes { keys: vec![kept.clone()], ..changes };
    for _ in 0..2 {
        relocation(to)?.apply(changes.clone()).await?;
    }
    is_fenced("what a deciding store is to take", relocation(from)?.apply(changes).await)?;
    same("the animals", &all(to).await?, &all(from).await?)?;
    same("the keys", &keys::listed(to).await?, &vec![kept])?;
    same("the standby's horizon", &relocation(to)?.horizon().await?, &Some(horizon))?;
    change(to, &row, Role::Deciding).await?;
    replayed(to.pets.add(rex(), Some(request("once", &rex(), 6))).await?)?;
    let next = add(to, rex()).await?;
    ensure!(next.id > horizon, "{} is not above all that was applied", next.id);
    let ids: BTreeSet<_> = all(to).await?.into_iter().map(|pet| pet.id).collect();
    same("how many animals", &ids.len(), &5)
}

pub(super) async fn what_was_purged_is_purged_from_the_standby(harness: &dyn Harness) -> Checked {
    let (source, target) = (Fresh::new(harness).await?, Fresh::new(harness).await?);
    let (from, to) = (&source.store, &target.store);
    let mut ids = Vec::new();
    for (key, time) in [("old", 5), ("kept", 6), ("new", 7)] {
        let request = request(key, &rex(), time);
        ids.push(created(from.pets.add(rex(), Some(request)).await?)?.id);
    }
    let begun = relocation(from)?.begin(Relocation::new(Role::Deciding, 1, "to")).await?;
    let row = Relocation::new(Role::Standby, 0, "from");
    ensure!(begun && relocation(to)?.begin(row.clone()).await?, "a move cannot begin");
    let all_three = relocation(from)?.changes(None, ids[2], 100).await?;
    relocation(to)?.apply(all_three.clone()).await?;
    same("purged", &from.pets.purge_expired(at(5), MANY).await?, &1)?;
    let changes = relocation(from)?.changes(Some(ids[2]), ids[2], 100).await?;
    same("what is behind the last animal", &changes.pets, &vec![])?;
    let purged = Some(Purged { before: at(6), up_to: ids[2] });
    same("what the source has purged", &changes.purged, &purged)?;
    relocation(to)?.apply(changes).await?;
    // Of two followers one may be late: what it says of purges is no news of later animals.
    let late = Purged { before: at(7), up_to: ids[0] };
    let late = Changes { purged: Some(late), ..Changes::default() };
    relocation(to)?.apply(late).await?;
    let to_row = change(to, &row, Role::Deciding).await?;
    replayed(to.pets.add(rex(), Some(request("kept", &rex(), 6))).await?)?;
    same("the records up to the cutoff", &to.pets.purge_expired(at(6), MANY).await?, &1)?;
    same("the other records", &to.pets.purge_expired(at(7), MANY).await?, &1)?;
    change(to, &to_row, Role::Standby).await?;
    from.pets.purge_expired(at(7), MANY).await?;
    let changes = relocation(from)?.changes(Some(ids[2]), ids[2], 100).await?;
    let everything = Purged::new(None, ids[2]);
    same("what a source without records has purged", &changes.purged, &Some(everything))?;
    relocation(to)?.apply(Changes { purged: None, ..all_three }).await?;
    relocation(to)?.apply(changes).await?;
    change(to, &to_row.with_role(Role::Standby), Role::Deciding).await?;
    same("the records at last", &to.pets.purge_expired(at(7), MANY).await?, &0)
}

pub(super) async fn a_store_whose_move_has_ended_is_an_ordinary_one(
    harness: &dyn Harness,
) -> Checked {
    let Fresh { store, scratch: _scratch, .. } = Fresh::new(harness).await?;
    let row = Relocation::new(Role::Standby, 3, "elsewhere");
    ensure!(relocation(&store)?.begin(row).await?, "a move cannot begin");
    if store.archive.is_some() {
        is_fenced("a restore during the move", archive(&store)?.restore().await.map(drop))?;
    }
    ensure!(!relocation(&store)?.end(2).await?, "another revision is ended");
    ensure!(relocation(&store)?.end(3).await?, "the move cannot be ended");
    same("the row", &relocation(&store)?.relocation().await?, &None)?;
    is_fenced("a follower", relocation(&store)?.apply(Changes::default()).await)?;
    still_works(&store).await?;
    if store.archive.is_some() {
        let mut restore = archive(&store)?.restore().await?;
        restore.new_pets(vec![rex()]).await?;
        restore.commit().await?;
    }
    let again = Relocation::new(Role::Deciding, 1, "elsewhere");
    ensure!(relocation(&store)?.begin(again).await?, "no second move can begin");
    still_works(&store).await
}
