//! The effects of every kind of write, seen through every handle.

use std::time::{Duration, Instant};

use petstore_domain::{CatalogueVersion, Pet, PetId, PetStatus, Phase, Rows, StoreId, WriterRole};
use tokio::time::sleep;

use super::{
    keys,
    snapshots::{populate, require_all, sort, write_all},
};
use crate::{
    calls::{add, all, archive, change_phase, created, find, purge, rows_of, version, walk},
    failure::{PromiseResult, ensure, ensure_eq, ensure_eq_lists, tried},
    fixture::Fixture,
    harness::{Capability, Store},
    samples::{self, NO_LIMIT, at, key, numbered, request, rex},
};

/// The time after which a write that does not show counts as lost.
const NEVER: Duration = Duration::from_secs(5);

/// Ends the promise unless every handle shows exactly this content: in walks of all animals and of each status, by
/// identifier, and in a snapshot of the archive.
pub(super) async fn require_held(fixture: &Fixture, held: &Rows) -> PromiseResult {
    for (number, store) in fixture.handles.iter().enumerate() {
        tried(&format!("handle {number}"), require(store, held).await)?;
    }
    Ok(())
}

async fn require(store: &Store, held: &Rows) -> PromiseResult {
    ensure_eq_lists("the list of all", &walk(store, 7, None).await?, &held.pets)?;
    for status in PetStatus::ALL {
        let expected = held.pets.iter().filter(|pet| pet.status == Some(status)).cloned();
        let expected: Vec<Pet> = expected.collect();
        let actual = walk(store, 3, Some(status)).await?;
        ensure_eq_lists(format!("the list of {status}"), &actual, &expected)?;
    }
    for pet in &held.pets {
        let found = find(store, pet.id).await?;
        ensure_eq(format!("animal {}", pet.id), &found.as_ref(), &Some(pet))?;
    }
    ensure_eq_lists("the keys", &keys::listed(store).await?, &held.keys)?;
    if store.archive.is_some() { require_all(store, held).await } else { Ok(()) }
}

/// Returns nine animals from the identifier `first` on.
pub(super) fn nine(first: i64) -> Vec<Pet> {
    (first..).zip(samples::numbers(9)).map(|(id, pet)| pet.with_id(PetId(id))).collect()
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Write {
    Add,
    AddOnce,
    Purge,
    Key,
    NewPets,
    /// Animals under their own identifiers.
    Pets,
    /// A key, a record of an existing animal, and a record of a missing animal.
    OtherRows,
    /// Rows that the store holds already.
    Again,
    /// Rows that the store refuses.
    Refuse,
}

use Write::{Add, AddOnce, Again, Key, NewPets, OtherRows, Pets, Purge, Refuse};

/// The writes in their order, each by the next handle.
const OF_SERVICES: [Write; 16] = [
    Add, AddOnce, Key, Pets, Add, NewPets, Pets, AddOnce, Again, OtherRows, Purge, Pets, Refuse,
    NewPets, Add, Purge,
];
const OF_MOVERS: [Write; 8] = [Pets, OtherRows, Pets, Again, Refuse, Pets, OtherRows, Again];

/// A store, and the content that it must have.
struct Run {
    fixture: Fixture,
    held: Rows,
    writes: u16,
}

impl Run {
    /// Makes the write, and notes its expected effect.
    async fn make(&mut self, write: Write, writer: WriterRole, store: &Store) -> PromiseResult {
        self.writes += 1;
        let (number, held) = (self.writes, &mut self.held);
        let (pet, millis) = (numbered(number.into()), i64::from(number));
        match write {
            Add => held.pets.push(add(store, pet).await?),
            AddOnce => {
                let request = request(&format!("once-{number}"), &rex(), millis - 100);
                let added = created(store.pets.add(rex(), Some(request)).await?)?;
                held.records.push(request.into_record(added.id));
                held.pets.push(added);
            }
            Purge => {
                let cutoff = held.records.iter().map(|record| record.at).min();
                let cutoff = cutoff.unwrap_or(at(0));
                purge(store, cutoff, NO_LIMIT).await?;
                held.records.retain(|record| record.at > cutoff);
            }
            Key => {
                let added = keys::add(store, key(500 + number, "new", 0, None)).await?;
                store.keys.note_uses(vec![(added.id, at(millis))]).await?;
                held.keys = keys::listed(store).await?;
            }
            NewPets => {
                archive(store)?.add_new(samples::numbers(9).collect(), None).await?;
                let new = all(store).await?.split_off(held.pets.len());
                let new = samples::numbers(9).zip(new).map(|(pet, new)| pet.with_id(new.id));
                held.pets.extend(new);
            }
            Pets => {
                // The identifiers are lower than the identifiers of earlier rows, and higher than the identifiers of
                // additions.
                let pets = nine(1_000_000 - 1000 * millis);
                archive(store)?.write_rows(writer, rows_of(pets.clone())).await?;
                held.pets.extend(pets);
            }
            OtherRows => {
                let id = petstore_domain::KeyId(9000 + millis);
                let keys = vec![key(900 + number, &format!("k{number}"), 5, None).with_id(id)];
                let records = [held.pets[0].id, PetId(5_000_000 + millis)].map(|pet| {
                    request(&format!("restored-{number}-{pet}"), &rex(), 50).into_record(pet)
                });
                let records = records.to_vec();
                held.keys.extend(keys.clone());
                held.records.extend(&records);
                let rows = Rows { keys, records, ..Rows::default() };
                archive(store)?.write_rows(writer, rows).await?;
            }
            Again => drop(write_all(store, writer, held).await?),
            Refuse => {
                let mut pets = nine(2_000_000);
                pets.push(pet.with_id(held.pets[0].id));
                let end = archive(store)?.write_rows(writer, rows_of(pets)).await;
                ensure!(end.is_err(), "rows with another animal are not refused");
            }
        }
        sort(held);
        Ok(())
    }

    async fn versions(&self) -> PromiseResult<Vec<CatalogueVersion>> {
        let (mut versions, fixture) = (Vec::new(), &self.fixture);
        for store in fixture.handles.iter().filter(|_| fixture.supports(Capability::Version)) {
            versions.push(version(store).await?);
        }
        Ok(versions)
    }

    /// Ends the promise unless the store has the expected content, and its version changed with the animals. The handle
    /// `writer` must show the new version immediately, the other handle soon after.
    async fn require(
        &self,
        before: &[CatalogueVersion],
        animals: usize,
        writer: usize,
    ) -> PromiseResult {
        let (written, mut now) = (Instant::now(), self.versions().await?);
        if self.held.pets.len() > animals && !now.is_empty() {
            ensure!(now[writer] != before[writer], "the writer keeps its version");
            while now.iter().zip(before).any(|(now, before)| now == before) {
                ensure!(written.elapsed() < NEVER, "another handle keeps its version");
                sleep(Duration::from_millis(2)).await;
                now = self.versions().await?;
            }
        }
        require_held(&self.fixture, &self.held).await
    }
}

/// Makes the writes, each by the next handle. With a mover, the store is being filled meanwhile.
async fn make_all(fixture: Fixture, writes: &[Write], by_mover: bool) -> PromiseResult {
    let held = populate(fixture.store()).await?;
    let mut run = Run { fixture, held, writes: 0 };
    for (number, &write) in writes.iter().enumerate() {
        let handle = number % run.fixture.handles.len();
        let store = run.fixture.handles[handle].clone();
        if store.archive.is_none() && !matches!(write, Add | AddOnce | Purge | Key) {
            continue;
        }
        let (before, animals) = (run.versions().await?, run.held.pets.len());
        let mut role = WriterRole::Service;
        if by_mover {
            let filling = Phase::Filling { from: StoreId([7; 16]) };
            role = WriterRole::Mover(change_phase(&store, filling).await?.revision);
        }
        let mut end = run.make(write, role, &store).await;
        if by_mover {
            change_phase(&store, Phase::Open { from: None }).await?;
        }
        if end.is_ok() {
            end = run.require(&before, animals, handle).await;
        }
        tried(&format!("{write:?} by handle {handle}"), end)?;
    }
    run.fixture = run.fixture.reopened_if_supported().await?;
    require_held(&run.fixture, &run.held).await
}

/// Contract: every later read on every handle shows a write of any kind. Every change of animals changes the version.
pub(super) async fn a_write_shows_everywhere_and_changes_nothing_else(
    fixture: Fixture,
) -> PromiseResult {
    make_all(fixture, &OF_SERVICES, false).await
}

/// Contract: writes of a mover have the same effects as writes of a service.
pub(super) async fn what_a_mover_writes_shows_when_the_store_opens(
    fixture: Fixture,
) -> PromiseResult {
    make_all(fixture, &OF_MOVERS, true).await
}
