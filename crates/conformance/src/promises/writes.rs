//! Every kind of write, seen through every handle: what it changes, and what it leaves as it was.

use std::time::{Duration, Instant};

use petstore_domain::{Batch, CatalogueVersion, IdempotencyId, NewPet, Pet, PetId, PetStatus};
use tokio::time::sleep;

use super::{
    batches::write_all,
    snapshots::{Content, populate},
};
use crate::{
    broken::{Broken, Checked, ensure, same},
    fresh::{Fresh, add, all, archive, created, purge, version, walk, write_batch},
    harness::{Capability, Store},
    samples::{self, MANY, numbered, request, request_with, rex},
};

/// After that, what another handle has not noticed counts as never noticed.
const NEVER: Duration = Duration::from_secs(5);
/// How often a write that changes no animal is repeated if the version has changed meanwhile.
const MAX_TRIES: usize = 20;

/// A store through each of its handles.
pub(super) struct Handles {
    /// The first, and another one where the adapter supports it.
    pub(super) stores: Vec<Store>,
}

impl Handles {
    pub(super) async fn new(fresh: &Fresh) -> Result<Self, Broken> {
        let mut stores = vec![fresh.store.clone()];
        if fresh.harness.unsupported(Capability::SecondHandle).is_none() {
            stores.push(fresh.second().await?);
        }
        Ok(Self { stores })
    }

    /// Ends the promise unless every handle shows this and nothing else: in the walk of all animals and
    /// of each status, by their identifiers, and in the archive if there is one.
    pub(super) async fn require(&self, held: &Content) -> Checked {
        for (number, store) in self.stores.iter().enumerate() {
            let on_handle = |broken: Broken| broken.context(format!("handle {number}"));
            require(store, held).await.map_err(on_handle)?;
        }
        Ok(())
    }
}

async fn require(store: &Store, held: &Content) -> Checked {
    same("the list of all", &walk(store, 7, None).await?, &held.pets)?;
    for status in PetStatus::ALL {
        let expected = held.pets.iter().filter(|pet| pet.status == Some(status)).cloned();
        let actual = walk(store, 3, Some(status)).await?;
        same(format!("the list of {status}"), &actual, &expected.collect::<Vec<Pet>>())?;
    }
    for pet in &held.pets {
        let found = store.pets.find(pet.id).await?.map(|found| found.value);
        same(format!("animal {}", pet.id), &found.as_ref(), &Some(pet))?;
    }
    if store.archive.is_some() {
        let actual = Content::read(store).await?;
        same("the animals of the archive", &actual.pets, &held.pets)?;
        same("the records", &actual.records, &held.records)?;
        same("the keys", &actual.keys, &held.keys)?;
    }
    Ok(())
}

/// Returns nine animals from the identifier `first` on.
pub(super) fn nine(first: i64) -> Vec<Pet> {
    (first..).zip(samples::numbers(9)).map(|(id, pet)| pet.with_id(PetId(id))).collect()
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Write {
    Add,
    AddOnce,
    /// A repeat, and another animal under the same key.
    Repeat,
    Purge,
    Pets,
    NewPets,
    /// The animals that are there, and a new record.
    Again,
    /// A batch that is refused.
    Refuse,
}

use Write::{Add, AddOnce, Again, NewPets, Pets, Purge, Refuse, Repeat};

/// In this order, each by the next handle.
const WRITES: [Write; 15] = [
    Add, AddOnce, AddOnce, Repeat, Pets, Pets, Repeat, NewPets, NewPets, Purge, Refuse, Again,
    AddOnce, Add, Purge,
];

/// Repeats an addition, and sends another animal under its key.
async fn repeat(store: &Store, id: IdempotencyId, other: NewPet) -> Checked {
    store.pets.add(rex(), Some(request_with(id, &rex(), 9))).await?;
    let reused = store.pets.add(other.clone(), Some(request_with(id, &other, 9))).await;
    ensure!(reused.is_err(), "a key is used for another animal");
    Ok(())
}

/// A store to which every kind of write is made, and what it must hold.
struct Run {
    handles: Handles,
    held: Content,
    writes: u16,
}

impl Run {
    /// Makes the write, and notes what it must have changed.
    async fn make(&mut self, write: Write, store: &Store) -> Checked {
        self.writes += 1;
        let (pet, held) = (numbered(self.writes.into()), &mut self.held);
        match write {
            Add => {
                let id = add(store, pet.clone()).await?.id;
                held.pets.push(pet.with_id(id));
            }
            AddOnce => {
                let request =
                    request(&format!("once-{}", self.writes), &rex(), i64::from(self.writes) - 100);
                let added = created(store.pets.add(rex(), Some(request)).await?)?;
                held.records.push(request.into_record(added.id));
                held.pets.push(rex().with_id(added.id));
            }
            Repeat => repeat(store, held.records[0].id, pet).await?,
            Purge => {
                let cutoff = held.records.iter().map(|record| record.at).min();
                let cutoff = cutoff.unwrap_or(samples::at(0));
                purge(store, cutoff, MANY).await?;
                held.records.retain(|record| record.at > cutoff);
            }
            Pets => {
                // Each batch is below the one before, and above what was added.
                let pets = nine(1_000_000 - 1000 * i64::from(self.writes));
                write_batch(store, Batch { pets: pets.clone(), ..Batch::default() }).await?;
                held.pets.extend(pets);
            }
            NewPets => {
                let new_pets = samples::numbers(9).collect();
                write_batch(store, Batch { new_pets, ..Batch::default() }).await?;
                let new = all(store).await?.into_iter().skip(held.pets.len());
                held.pets
                    .extend(samples::numbers(9).zip(new).map(|(pet, new)| pet.with_id(new.id)));
            }
            Again => {
                let record = request("restored", &rex(), 50).into_record(held.pets[0].id);
                held.records.push(record);
                write_all(store, held).await?;
            }
            Refuse => {
                let mut pets = nine(2_000_000);
                pets.push(pet.clone().with_id(held.pets[0].id));
                let batch = Batch { pets, new_pets: vec![pet], ..Batch::default() };
                let end = archive(store)?.write(batch).await;
                ensure!(end.is_err(), "a batch with another animal is not refused");
            }
        }
        held.pets.sort_by_key(|pet| pet.id);
        held.records.sort_by_key(|record| record.id);
        Ok(())
    }

    async fn versions(&self) -> Result<Vec<CatalogueVersion>, Broken> {
        let mut versions = Vec::new();
        for store in &self.handles.stores {
            versions.push(version(store).await?);
        }
        Ok(versions)
    }

    /// Makes the write, and ends the promise unless the version changes as the animals do: at once by
    /// the handle `writer`, soon by the other.
    async fn make_under_version(&mut self, write: Write, writer: usize) -> Checked {
        let store = self.handles.stores[writer].clone();
        for _ in 0..MAX_TRIES {
            let before = self.versions().await?;
            self.make(write, &store).await?;
            let (written, mut now) = (Instant::now(), self.versions().await?);
            if matches!(write, Repeat | Purge | Refuse | Again) {
                if write == Again || now == before {
                    return Ok(());
                }
                continue;
            }
            ensure!(now[writer] != before[writer], "the writer keeps its version");
            while now.iter().zip(&before).any(|(now, before)| now == before) {
                ensure!(written.elapsed() < NEVER, "another handle keeps its version");
                sleep(Duration::from_millis(2)).await;
                now = self.versions().await?;
            }
            return Ok(());
        }
        Err(Broken::new("the version changes, and no animal has"))
    }
}

/// Makes every write that the store can make.
async fn each_write(fresh: Fresh, versions: bool) -> Checked {
    let handles = Handles::new(&fresh).await?;
    let held = populate(&handles.stores[0]).await?;
    let mut run = Run { handles, held, writes: 0 };
    for (number, write) in WRITES.into_iter().enumerate() {
        let writer = number % run.handles.stores.len();
        let store = run.handles.stores[writer].clone();
        if matches!(write, Pets | NewPets | Again | Refuse) && store.archive.is_none() {
            continue;
        }
        let end = if versions {
            run.make_under_version(write, writer).await
        } else {
            run.make(write, &store).await.and(run.handles.require(&run.held).await)
        };
        end.map_err(|broken| broken.context(format!("{write:?} by handle {writer}")))?;
    }
    Ok(())
}

/// Contract: the animals that match the query's status, whatever kind of write they came by.
pub(super) async fn a_write_shows_in_every_list_and_changes_nothing_else(fresh: Fresh) -> Checked {
    each_write(fresh, false).await
}

/// Contract: the version changes with every change of animals, and with nothing else.
pub(super) async fn the_version_changes_exactly_if_an_animal_does(fresh: Fresh) -> Checked {
    each_write(fresh, true).await
}
