//! The handover of a store in use.

use std::time::Duration;

use petstore_domain::{
    Added, HighestIds, Pet, PetId, Phase, Rows, StoreError, StoreId, StoreState, WriterRole,
    add_key,
};
use tokio::time::sleep;

use crate::{
    calls::{
        Cause, add, add_at_once, add_many, all, archive, change_phase, change_state, created, find,
        handover, join, load, new_key, rows_of, start, still_works, version, write_rows,
    },
    content::{populate, read_all, require_all, require_held, write_all},
    failure::{Failure, PromiseResult, ensure, ensure_eq, ensure_eq_lists, tried},
    fixture::Fixture,
    harness::{Capability, Store},
    samples::{at, key, numbered, query, request, rex},
};

const OTHER: StoreId = StoreId([7; 16]);
const OPEN: Phase = Phase::Open { from: None };
const FILLING: Phase = Phase::Filling { from: OTHER };
/// The time after a seal for which a handle may still return a version.
const VERSION_AGE: Duration = Duration::from_millis(100);

fn sealed() -> Phase {
    Phase::Sealed { to: OTHER, label: "elsewhere".to_owned() }
}

fn ensure_sealed<T, E: Into<Cause>>(what: &str, done: Result<T, E>) -> PromiseResult {
    let refused = done.is_err_and(|error| matches!(error.into(), Cause(StoreError::Sealed(_))));
    ensure!(refused, "{what} does not fail as it must while a store is not open");
    Ok(())
}

/// Contract: while a store is not open, writes of services and reads of animals fail. The calls fail in all processes
/// from the change of the state on, also after the store was reopened. A failed call changes nothing, and uses up no
/// identifier.
pub(super) async fn a_store_that_is_not_open_refuses_everything(
    mut fixture: Fixture,
) -> PromiseResult {
    let held = populate(fixture.store()).await?;
    for (round, phase) in [FILLING, sealed(), FILLING, sealed()].into_iter().enumerate() {
        require_held(&fixture, &held).await?;
        fixture.handles.iter().for_each(|store| _ = store.pets.version());
        change_phase(fixture.handle(round), phase).await?;
        for store in &fixture.handles {
            refuses_everything(store, &held).await?;
        }
        sleep(VERSION_AGE).await;
        for store in &fixture.handles {
            ensure_eq("the version", &store.pets.version(), &None)?;
        }
        if round > 1 {
            fixture = fixture.reopened_if_supported().await?;
            refuses_everything(fixture.handle(1), &held).await?;
        }
        change_phase(fixture.handle(round + 1), OPEN).await?;
    }
    still_works(fixture.store()).await
}

/// Checks that reads of animals and writes of services are refused, and that keys and snapshots are still read. Begins
/// with reads, before the handle can refresh a cached state.
async fn refuses_everything(store: &Store, held: &Rows) -> PromiseResult {
    let highest = highest_ids(store).await?;
    ensure_sealed("a list", store.pets.list(query(9, None, None)).await)?;
    ensure_sealed("finding an animal", store.pets.find(held.pets[0].id).await)?;
    ensure_sealed("finding a missing animal", store.pets.find(PetId(77_000)).await)?;
    ensure_sealed("an addition", store.pets.add(rex(), None).await)?;
    let with_key = store.pets.add(rex(), Some(request("k", &rex(), 5))).await;
    ensure_sealed("an addition with a key", with_key)?;
    ensure_sealed("a purge", store.pets.purge_expired(at(10), 9).await)?;
    ensure_sealed("a new API key", add_key(&*store.keys, key(20, "b", 2, None)).await)?;
    let (revision, key) = (load(store).await?.revision, held.keys[0].id);
    ensure_sealed("a removal", store.keys.save(revision, vec![], vec![key]).await)?;
    ensure_sealed("a use", store.keys.note_uses(vec![(key, at(9))]).await)?;
    if store.archive.is_none() {
        return Ok(());
    }
    for rows in kinds_of_rows(held.pets[0].id, 900) {
        let what = format!("{rows:?}");
        ensure_sealed(&what, archive(store)?.write_rows(WriterRole::Service, rows).await)?;
    }
    ensure_sealed("adding many", archive(store)?.add_new(vec![rex()], None).await)?;
    // Snapshots are taken in any phase.
    require_all(store, held).await?;
    ensure_eq("the highest identifiers", &highest_ids(store).await?, &highest)
}

async fn highest_ids(store: &Store) -> PromiseResult<Option<HighestIds>> {
    let Some(archive) = &store.archive else { return Ok(None) };
    Ok(Some(archive.snapshot().await?.highest_ids().await?))
}

/// Returns an animal, a key and a record, each as separate rows. The record names the existing animal `there`.
fn kinds_of_rows(there: PetId, number: i64) -> [Rows; 3] {
    let record = request("rows", &rex(), 5).into_record(there);
    let key = key(30, "rows", 5, None).with_id(petstore_domain::KeyId(number));
    [
        rows_of(vec![rex().with_id(PetId(number))]),
        Rows { keys: vec![key], ..Rows::default() },
        Rows { records: vec![record], ..Rows::default() },
    ]
}

/// Contract: a handle opened with `reads_while_sealed` reads a sealed store, without a version.
pub(super) async fn a_sealed_store_is_read_by_handles_opened_for_it(
    fixture: Fixture,
) -> PromiseResult {
    let fixture = fixture.another_unopened().await?.opened(true).await?;
    let pets = add_many(fixture.store(), 3).await?;
    if fixture.supports(Capability::Version) {
        version(fixture.store()).await?;
    }
    change_phase(fixture.store(), sealed()).await?;
    for store in &fixture.handles {
        let page = store.pets.list(query(9, None, None)).await?;
        ensure_eq_lists("the page", &page.value.pets, &pets)?;
        ensure_eq("its version", &page.version, &None)?;
        for (id, expected) in [(pets[0].id, Some(&pets[0])), (PetId(77), None)] {
            let found = store.pets.find(id).await?;
            let found = (found.value.as_ref(), found.version);
            ensure_eq("an animal and its version", &found, &(expected, None))?;
        }
        ensure_sealed("an addition", store.pets.add(rex(), None).await)?;
    }
    sleep(VERSION_AGE).await;
    ensure_eq("the version", &fixture.store().pets.version(), &None)?;
    change_phase(fixture.store(), FILLING).await?;
    for store in &fixture.handles {
        let list = store.pets.list(query(9, None, None)).await;
        ensure_sealed("a list of a store that is being filled", list)?;
    }
    change_phase(fixture.handle(1), OPEN).await?;
    still_works(fixture.store()).await
}

/// Contract: a change replaces identity, revision and phase if the stored revision is `expected`. The new state is
/// stored unchanged, except for the rewrites, and survives reopening the store.
pub(super) async fn a_state_is_replaced_by_its_revision_and_lasts(
    mut fixture: Fixture,
) -> PromiseResult {
    let store = fixture.store();
    let begin = handover(store)?.state().await?;
    ensure_eq("the phase of a new store", &begin.phase, &OPEN)?;
    let other = fixture.another().await?;
    let id = handover(other.store())?.state().await?.id;
    ensure!(begin.id != id, "two stores have one identity");
    for wrong in [begin.revision - 1, begin.revision + 1] {
        // After a change, none of the eight changes below would be made.
        handover(store)?.change_state(wrong, begin.next(sealed())).await?;
    }
    let tasks = start(&fixture, 8, |number, store| {
        let new = begin.next(Phase::Sealed { to: OTHER, label: number.to_string() });
        // A call may fail because another writer holds a lock. It then counts as no change.
        async move { Ok(handover(&store)?.change_state(new.revision - 1, new).await.unwrap_or(false)) }
    });
    let changed = join(tasks).await?.into_iter().filter(|changed| *changed).count();
    ensure_eq("how many of eight changes of one revision were made", &changed, &1)?;
    // A new identity and a skipped revision are stored; the given rewrites are not.
    for (round, phase) in
        [OPEN, FILLING, sealed(), Phase::Open { from: Some(id) }].into_iter().enumerate()
    {
        let now = handover(fixture.store())?.state().await?;
        let id = StoreId([8 + u8::try_from(round)?; 16]);
        let new = StoreState { id, revision: now.revision + 5, rewrites: now.rewrites + 9, phase };
        change_state(fixture.handle(round), now.revision, new.clone()).await?;
        fixture = fixture.reopened_if_supported().await?;
        for store in &fixture.handles {
            let state = handover(store)?.state().await?;
            ensure_eq("the state", &state, &StoreState { rewrites: now.rewrites, ..new.clone() })?;
        }
    }
    still_works(fixture.store()).await
}

/// Adds animals, with and without a request, or writes rows, until a seal. Returns the acknowledged
/// identifiers.
async fn write_until_sealed(
    store: Store,
    writer: usize,
    round: usize,
) -> PromiseResult<Vec<PetId>> {
    let mut acknowledged = Vec::new();
    for number in 0.. {
        tokio::task::yield_now().await;
        if number % 4 == 0 {
            sleep(Duration::from_millis(1)).await;
        }
        let pet = numbered(number);
        // These identifiers are far above the identifiers of the additions.
        let id = PetId(i64::try_from((round + 1) * 1_000_000_000_000 + number * 1_000_000_000)?);
        let archive = archive(&store)?;
        let written = async {
            if writer == 0 {
                archive.write_rows(WriterRole::Service, rows_of(vec![pet.with_id(id)])).await?;
                return Ok(id);
            }
            let key = format!("{round}-{writer}-{number}");
            let request = (writer % 2 == 1).then(|| request(&key, &pet, 5));
            let (Added::Created(pet) | Added::Replayed(pet)) = store.pets.add(pet, request).await?;
            Ok(pet.id)
        };
        match written.await {
            Ok(id) => acknowledged.push(id),
            Err(Cause(StoreError::Sealed(_))) => return Ok(acknowledged),
            Err(Cause(error)) => return Err(error.into()),
        }
    }
    Ok(acknowledged)
}

/// Contract: a change of the state waits for writes that have begun. No write takes effect after the change.
pub(super) async fn nothing_is_added_after_any_of_many_seals(fixture: Fixture) -> PromiseResult {
    const SEALS: usize = 25;
    for round in 0..SEALS {
        let tasks = start(&fixture, 4, |writer, store| write_until_sealed(store, writer, round));
        sleep(Duration::from_millis(5)).await;
        let handover = handover(fixture.handle(round))?;
        let now = handover.state().await?;
        ensure!(handover.change_state(now.revision, now.next(sealed())).await?, "no seal");
        for store in &fixture.handles {
            ensure_sealed("a list after a seal", store.pets.list(query(9, None, None)).await)?;
            store.pets.version();
        }
        let then = read_all(fixture.store()).await?;
        let acknowledged = join(tasks).await?.concat();
        let is_missing = |id: &&PetId| then.pets.binary_search_by_key(*id, |pet| pet.id).is_err();
        let missing = acknowledged.iter().find(is_missing);
        ensure!(missing.is_none(), "{missing:?} was acknowledged, but is missing after the seal");
        sleep(Duration::from_millis(3)).await;
        tried(&format!("after seal {round}"), require_all(fixture.store(), &then).await)?;
        change_phase(fixture.handle(round + 1), OPEN).await?;
        if fixture.supports(Capability::Version) {
            let store = fixture.handle(round);
            let (before, pet) = (version(store).await?, add(store, rex()).await?);
            ensure!(version(store).await? != before, "after a seal an addition keeps the version");
            let found = find(fixture.handle(round + 1), pet.id).await?;
            ensure_eq("an animal after a seal", &found, &Some(pet))?;
        }
    }
    Ok(())
}

/// Contract: a snapshot is complete up to its last animal, also if other handles are adding animals. No animal with a
/// lower identifier appears later, except by a rewrite.
pub(super) async fn a_snapshot_is_complete_up_to_its_last_animal(
    fixture: Fixture,
) -> PromiseResult {
    let writers = add_at_once(&fixture, 6, 30, 3);
    let (writing, mut found) = (tokio::spawn(join(writers)), Vec::<Pet>::new());
    loop {
        // A read after the end of the last writer is complete.
        let last = writing.is_finished();
        let after = found.last().map(|pet| pet.id);
        found.extend(archive(fixture.store())?.snapshot().await?.pets(after, 1000).await?);
        if last {
            break;
        }
        tokio::task::yield_now().await;
    }
    writing.await??;
    ensure_eq_lists("the animals that were read", &found, &all(fixture.store()).await?)
}

/// Contract: rows of a mover are refused unless the store is being filled at the mover's revision.
pub(super) async fn a_mover_writes_only_to_the_store_that_it_fills(
    fixture: Fixture,
) -> PromiseResult {
    let source = fixture.another().await?;
    let (from, to) = (source.store(), fixture.store());
    let content = populate(from).await?;
    let first = content.pets[0].id;
    let refused = async |what: &str, revision| -> PromiseResult {
        for late in kinds_of_rows(first, 800) {
            let end = archive(to)?.write_rows(WriterRole::Mover(revision), late).await;
            ensure_sealed(what, end)?;
        }
        Ok(())
    };
    let open = handover(to)?.state().await?;
    refused("filling an open store", open.revision).await?;
    refused("filling a sealed store", change_phase(to, sealed()).await?.revision).await?;
    let filling = change_phase(to, FILLING).await?;
    refused("filling by an earlier mover", filling.revision - 1).await?;
    refused("filling by a later mover", filling.revision + 1).await?;
    write_all(to, WriterRole::Mover(filling.revision), &content).await?;
    let ended = change_phase(to, Phase::Open { from: Some(OTHER) }).await?;
    refused("a mover that continues", filling.revision).await?;
    refused("a mover of the open store", ended.revision).await?;
    require_held(&fixture, &content).await?;
    let (next, last) = (add(to, rex()).await?.id, content.pets.last().map(|pet| pet.id));
    ensure!(Some(next) > last, "{next} is not above all written animals");
    // The rules of the domain refuse an identifier that is not above those of all keys.
    new_key(to, key(60, "next", 30, None)).await.map(drop)
}

/// Contract: `rewrites` counts the transactions that changed animals in other ways than additions.
pub(super) async fn every_change_but_an_addition_is_a_rewrite(store: Store) -> PromiseResult {
    let rewrites = async || Ok::<_, Failure>(handover(&store)?.state().await?.rewrites);
    let before = rewrites().await?;
    add_many(&store, 2).await?;
    created(store.pets.add(rex(), Some(request("k", &rex(), 5))).await?)?;
    new_key(&store, key(1, "k", 1, None)).await?;
    store.pets.purge_expired(at(9), 9).await?;
    archive(&store)?.add_new(vec![rex()], None).await?;
    ensure_eq("the rewrites after additions", &rewrites().await?, &before)?;
    let rows = rows_of(vec![rex().with_id(PetId(1_000_000))]);
    write_rows(&store, rows.clone()).await?;
    let after = rewrites().await?;
    ensure!(after > before, "rows of animals are not counted");
    write_rows(&store, rows).await?;
    change_phase(&store, sealed()).await?;
    ensure_eq("the rewrites after equal rows and a change of the state", &rewrites().await?, &after)
}
