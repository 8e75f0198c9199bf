//! A store that is handed over while it is in use.

use std::{collections::BTreeSet, time::Duration};

use petstore_domain::{
    ApiKey, Batch, Handover, KeyId, Pet, PetId, Phase, RestoreError, StoreError, StoreId,
    StoreState, Writer, add_key, roll_key,
};
use tokio::{task::JoinSet, time::sleep};

use super::keys;
use crate::{
    broken::{Broken, Checked, ensure, same},
    fresh::{
        Fresh, add, add_many, all, archive, created, join, replayed, still_works, write_batch,
    },
    harness::{Capability, Store},
    samples::{at, by_name, key, numbered, query, request, rex},
};

const OTHER: StoreId = StoreId([7; 16]);
/// How long the version of a store that is sealed may still be given.
const VERSION_AGE: Duration = Duration::from_millis(100);

fn handover(store: &Store) -> Result<&dyn Handover, Broken> {
    let missing = || Broken::new("there is no handover, but the harness declares one");
    store.handover.as_deref().ok_or_else(missing)
}

fn sealed() -> Phase {
    Phase::Sealed { to: OTHER, label: "elsewhere".to_owned() }
}

/// Brings the store into another phase.
async fn change(store: &Store, phase: Phase) -> Result<StoreState, Broken> {
    let handover = handover(store)?;
    let now = handover.state().await?;
    let new = now.with(phase);
    ensure!(handover.change_state(now.revision, new.clone()).await?, "no change to {new:?}");
    let stored = handover.state().await?;
    // Others may rewrite animals until then.
    same("the state", &stored, &StoreState { rewrites: stored.rewrites, ..new })?;
    Ok(stored)
}

fn is_sealed<T, E: Into<AnyError>>(what: &str, done: Result<T, E>) -> Checked {
    let refused = done.is_err_and(|error| matches!(error.into(), AnyError(true)));
    ensure!(refused, "{what} is not refused as on a store that is not open");
    Ok(())
}

/// Whether an error says that the store is not open.
struct AnyError(bool);

impl From<StoreError> for AnyError {
    fn from(error: StoreError) -> Self {
        Self(matches!(error, StoreError::Sealed(_)))
    }
}

macro_rules! any_error {
    ($($error:ident),*) => {$(
        impl From<petstore_domain::$error> for AnyError {
            fn from(error: petstore_domain::$error) -> Self {
                Self(matches!(error, petstore_domain::$error::Store(StoreError::Sealed(_))))
            }
        }
    )*};
}
any_error!(AddError, KeyChangeError, RestoreError);

/// Contract: a write of a service to a store that is not open fails and has no effect.
pub(super) async fn a_store_that_is_not_open_refuses_everything(store: Store) -> Checked {
    let pet = created(store.pets.add(rex(), Some(request("there", &rex(), 5))).await?)?;
    let there = keys::add(&store, key(1, "there", 1, None)).await?;
    let known = keys::loaded(&store).await?.revision;
    for phase in [Phase::Filling { from: OTHER }, sealed()] {
        change(&store, phase).await?;
        refuses_writes(&store, pet.id).await?;
        let used = ApiKey { last_used_at: Some(at(9)), ..there.clone() };
        is_sealed("a use", store.keys.save(known, vec![used], vec![]).await)?;
        is_sealed("a list", store.pets.list(query(9, None, None)).await)?;
        for id in [pet.id, PetId(77)] {
            is_sealed("finding an animal", store.pets.find(id).await)?;
        }
        sleep(VERSION_AGE).await;
        same("the version", &store.pets.version(), &None)?;
        same("the keys", &keys::listed(&store).await?, &vec![there.clone()])?;
        change(&store, Phase::Open { from: None }).await?;
        same("the animals", &all(&store).await?, &vec![pet.clone()])?;
        replayed(store.pets.add(rex(), Some(request("there", &rex(), 6))).await?)?;
    }
    still_works(&store).await
}

/// Batches of one kind of rows only. `there` is an animal.
fn kinds_of_batches(there: PetId) -> [Batch; 4] {
    let record = request("batch", &rex(), 5).into_record(there);
    [
        Batch { pets: vec![rex().with_id(PetId(99))], ..Batch::default() },
        Batch { new_pets: vec![rex()], ..Batch::default() },
        Batch { keys: vec![key(5, "batch", 5, None).with_id(KeyId(9))], ..Batch::default() },
        Batch { records: vec![record], ..Batch::default() },
    ]
}

async fn refuses_writes(store: &Store, there: PetId) -> Checked {
    is_sealed("an addition", store.pets.add(rex(), None).await)?;
    let with_key = store.pets.add(rex(), Some(request("k", &rex(), 5))).await;
    is_sealed("an addition with a key", with_key)?;
    is_sealed("a purge", store.pets.purge_expired(at(10), 9).await)?;
    is_sealed("a new API key", add_key(&*store.keys, key(2, "b", 2, None)).await)?;
    is_sealed("a roll", roll_key(&*store.keys, key(3, "there", 3, None), at(9)).await)?;
    is_sealed("a revocation", keys::revoke(store, by_name("there"), at(9)).await)?;
    let Some(archive) = &store.archive else { return Ok(()) };
    for batch in kinds_of_batches(there) {
        let what = format!("{batch:?}");
        is_sealed(&what, archive.write(batch).await)?;
    }
    Ok(())
}

/// Contract: lets reads through this handle go on while the store is sealed.
pub(super) async fn a_sealed_store_is_read_by_who_asks_for_it(store: Store) -> Checked {
    let pets = add_many(&store, 3).await?;
    handover(&store)?.read_while_sealed();
    change(&store, sealed()).await?;
    let page = store.pets.list(query(9, None, None)).await?;
    same("the page", &page.value.pets, &pets)?;
    same("its version", &page.version, &None)?;
    let found = store.pets.find(pets[0].id).await?;
    let found = found.ok_or_else(|| Broken::new("an animal is not found"))?;
    same("the animal and its version", &(&found.value, found.version), &(&pets[0], None))?;
    same("one that is not there", &store.pets.find(PetId(77)).await?, &None)?;
    is_sealed("an addition", store.pets.add(rex(), None).await)?;
    change(&store, Phase::Filling { from: OTHER }).await?;
    is_sealed("a list of a store that is being filled", store.pets.list(query(9, None, None)).await)
}

/// Contract: replaces the state if the stored revision is `expected`.
pub(super) async fn a_state_changes_by_its_revision_alone(fresh: Fresh) -> Checked {
    let store = fresh.store.clone();
    let other = fresh.another().await?;
    let begin = handover(&store)?.state().await?;
    same("the phase of a new store", &begin.phase, &Phase::Open { from: None })?;
    let id = handover(&other.store)?.state().await?.id;
    ensure!(begin.id != id, "two stores have one identity");
    let wrong = handover(&store)?.change_state(begin.revision - 1, begin.with(sealed())).await?;
    ensure!(!wrong, "another revision is changed");
    same("the state", &handover(&store)?.state().await?, &begin)?;
    let mut tasks = JoinSet::new();
    for number in 0..8 {
        let (store, begin) = (store.clone(), begin.clone());
        tasks.spawn(async move {
            let label = number.to_string();
            let new = begin.with(Phase::Sealed { to: OTHER, label });
            // A lock that others hold may be a failure, never a change.
            Ok(handover(&store)?.change_state(begin.revision, new).await.unwrap_or(false))
        });
    }
    let changed = join(tasks).await?.into_iter().filter(|changed| *changed).count();
    same("how many of eight equal changes were made", &changed, &1)?;
    let now = handover(&store)?.state().await?;
    let released = StoreState { id: OTHER, ..now.with(Phase::Open { from: Some(id) }) };
    ensure!(handover(&store)?.change_state(now.revision, released.clone()).await?, "not released");
    same("another identity", &handover(&store)?.state().await?, &released)?;
    still_works(&store).await
}

/// Contract: a change of the state waits for writes under way.
pub(super) async fn nothing_is_added_after_a_seal(fresh: Fresh) -> Checked {
    let two = fresh.harness.unsupported(Capability::SecondHandle).is_none();
    let other = if two { fresh.second().await? } else { fresh.store.clone() };
    let handles = [fresh.store.clone(), other];
    add(&fresh.store, rex()).await?;
    let mut tasks = JoinSet::new();
    for writer in 0..6 {
        let store = handles[writer % 2].clone();
        tasks.spawn(async move {
            let mut added = Vec::new();
            for number in 0..20_000 {
                tokio::task::yield_now().await;
                let pet = numbered(writer * 1000 + number);
                let request = (writer < 3).then(|| request(&format!("{writer}-{number}"), &pet, 5));
                match store.pets.add(pet, request).await {
                    Ok(pet) => added.push(created(pet)?.id),
                    Err(petstore_domain::AddError::Store(StoreError::Sealed(_))) => {
                        return Ok(added);
                    }
                    Err(error) => return Err(error.into()),
                }
            }
            Err(Broken::new("a seal keeps no addition out"))
        });
    }
    if fresh.store.archive.is_some() {
        let store = fresh.store.clone();
        tasks.spawn(async move {
            let mut added = Vec::new();
            // Far above what is added meanwhile.
            for id in (1..=5_000).map(|number| PetId(number * 1_000_000)) {
                sleep(Duration::from_millis(1)).await;
                let pets = vec![rex().with_id(id)];
                match archive(&store)?.write(Batch { pets, ..Batch::default() }).await {
                    Ok(_) => added.push(id),
                    Err(RestoreError::Store(StoreError::Sealed(_))) => return Ok(added),
                    Err(error) => return Err(error.into()),
                }
            }
            Err(Broken::new("a seal keeps no batch out"))
        });
    }
    sleep(Duration::from_millis(50)).await;
    handover(&fresh.store)?.read_while_sealed();
    change(&fresh.store, sealed()).await?;
    let then: BTreeSet<PetId> = all(&fresh.store).await?.iter().map(|pet| pet.id).collect();
    let acknowledged = join(tasks).await?.concat();
    let missing = acknowledged.iter().find(|id| !then.contains(id));
    ensure!(missing.is_none(), "{missing:?} was acknowledged and not there when the seal was");
    let now: BTreeSet<PetId> = all(&fresh.store).await?.iter().map(|pet| pet.id).collect();
    same("the animals later", &now, &then)
}

/// Contract: no animal appears later at or below the last of them.
pub(super) async fn changes_are_complete(fresh: Fresh) -> Checked {
    let handles = [fresh.store.clone(), fresh.second().await?];
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
        loop {
            let after = found.last().map(|pet| pet.id);
            let changes = handover(&fresh.store)?.changes(after, 7).await?;
            ensure!(changes.pets.len() <= 7, "a batch of {}", changes.pets.len());
            if changes.pets.is_empty() {
                break;
            }
            records += changes.records.len();
            found.extend(changes.pets);
        }
        if last {
            break;
        }
        tokio::task::yield_now().await;
    }
    same("the animals that were read", &found, &all(&fresh.store).await?)?;
    same("their records", &records, &120)
}

/// Contract: a batch of the mover is refused unless the store is filling at its revision.
pub(super) async fn a_mover_writes_to_what_it_fills_alone(fresh: Fresh) -> Checked {
    let (source, target) = (&fresh, fresh.another().await?);
    let (from, to) = (&source.store, &target.store);
    add_many(from, 3).await?;
    created(from.pets.add(rex(), Some(request("once", &rex(), 5))).await?)?;
    let kept = keys::add(from, key(1, "kept", 1, None)).await?;
    let changes = handover(from)?.changes(None, 100).await?;
    same("the records", &changes.records.len(), &1)?;
    let batch = |revision| Batch {
        writer: Writer::Mover(revision),
        pets: changes.pets.clone(),
        keys: vec![kept.clone()],
        records: changes.records.clone(),
        ..Batch::default()
    };
    is_sealed("filling an open store", archive(to)?.write(batch(0)).await)?;
    let filling = change(to, Phase::Filling { from: OTHER }).await?;
    let other = batch(filling.revision - 1);
    is_sealed("filling by another mover", archive(to)?.write(other).await)?;
    for _ in 0..2 {
        write_batch(to, batch(filling.revision)).await?;
    }
    same("what is there", &handover(to)?.changes(None, 100).await?, &changes)?;
    change(to, Phase::Open { from: Some(OTHER) }).await?;
    for late in kinds_of_batches(changes.pets[0].id) {
        let late = Batch { writer: Writer::Mover(filling.revision), ..late };
        is_sealed("a batch of a mover that goes on", archive(to)?.write(late).await)?;
    }
    same("the animals", &all(to).await?, &all(from).await?)?;
    same("the keys", &keys::listed(to).await?, &vec![kept])?;
    replayed(to.pets.add(rex(), Some(request("once", &rex(), 6))).await?)?;
    let (next, last) = (add(to, rex()).await?.id, changes.pets.last().map(|pet| pet.id));
    ensure!(Some(next) > last, "{next} is not above all that was written");
    Ok(())
}

/// Contract: how often animals were changed otherwise than by adding one.
pub(super) async fn every_change_but_an_addition_is_a_rewrite(store: Store) -> Checked {
    let rewrites = async || Ok::<_, Broken>(handover(&store)?.state().await?.rewrites);
    let before = rewrites().await?;
    add_many(&store, 2).await?;
    created(store.pets.add(rex(), Some(request("k", &rex(), 5))).await?)?;
    keys::add(&store, key(1, "k", 1, None)).await?;
    store.pets.purge_expired(at(9), 9).await?;
    write_batch(&store, Batch { new_pets: vec![rex()], ..Batch::default() }).await?;
    same("the rewrites after additions", &rewrites().await?, &before)?;
    let pets = vec![rex().with_id(PetId(1_000_000))];
    write_batch(&store, Batch { pets, ..Batch::default() }).await?;
    ensure!(rewrites().await? > before, "a batch of animals with identifiers is not counted");
    change(&store, sealed()).await?;
    ensure!(rewrites().await? > before, "a change of the state forgets the rewrites");
    Ok(())
}
