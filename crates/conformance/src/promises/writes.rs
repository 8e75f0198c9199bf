//! The effects of every kind of write, seen through every handle.

use petstore_domain::{
    ApiKey, CatalogueVersion, IdempotencyRecord, IdempotencyRequest, PetId, Phase, Rows, StoreId,
    WriterRole,
};

use crate::{
    calls::{
        add, all, archive, change_phase, created, new_key, purge, replayed, rows_of, save, version,
        version_after,
    },
    content::{nine, populate, require_held, sort, write_all},
    failure::{PromiseResult, ensure, ensure_eq, tried},
    fixture::Fixture,
    harness::{Capability, Store},
    samples::{self, NO_LIMIT, at, key, numbered, request, rex},
};

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
    /// No write: the store is closed and opened again, if the adapter supports that.
    Reopen,
}

use Write::{Add, AddOnce, Again, Key, NewPets, OtherRows, Pets, Purge, Refuse, Reopen};

/// The writes of services in their order, each through the next handle.
const OF_SERVICES: [Write; 17] = [
    Add, AddOnce, Key, Pets, Add, NewPets, Pets, AddOnce, Again, OtherRows, Purge, Pets, Refuse,
    Add, NewPets, Purge, Reopen,
];
const OF_MOVERS: [Write; 9] =
    [Pets, OtherRows, Pets, Again, Refuse, Pets, OtherRows, Again, Reopen];
/// The writes before each of three restarts. The purge deletes only the oldest record.
const BEFORE_REOPENING: [Write; 7] = [Add, Key, AddOnce, AddOnce, Purge, Add, Reopen];

/// Makes the write with the number `number`, and applies the expected effect to `held`.
async fn make(
    write: Write,
    number: u16,
    writer: WriterRole,
    store: &Store,
    held: &mut Rows,
) -> PromiseResult {
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
            let added =
                new_key(store, key(500 + number, &format!("new-{number}"), 0, None)).await?;
            store.keys.note_uses(vec![(added.id, at(millis))]).await?;
            let removed = new_key(store, key(700 + number, "removed", 0, None)).await?.id;
            save(store, vec![], vec![removed]).await?;
            held.highest.key = Some(removed);
            held.keys.push(ApiKey { last_used_at: Some(at(millis)), ..added });
        }
        NewPets => {
            archive(store)?.add_new(samples::numbers(9).collect(), None).await?;
            let new = all(store).await?.split_off(held.pets.len());
            ensure_eq("how many new animals are listed", &new.len(), &9)?;
            let new = samples::numbers(9).zip(new).map(|(pet, new)| pet.with_id(new.id));
            held.pets.extend(new);
        }
        Pets => {
            // The identifiers are lower than the identifiers of earlier rows, and higher than the identifiers of
            // animals that were added before any rows.
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
            let rows = Rows { keys, records: records.to_vec(), ..Rows::default() };
            held.keys.extend(rows.keys.clone());
            held.records.extend(&rows.records);
            archive(store)?.write_rows(writer, rows).await?;
        }
        Again => drop(write_all(store, writer, held).await?),
        Refuse => {
            let mut pets = nine(2_000_000);
            pets.push(pet.with_id(held.pets[0].id));
            let end = archive(store)?.write_rows(writer, rows_of(pets)).await;
            ensure!(end.is_err(), "rows with another animal are not refused");
        }
        Reopen => {}
    }
    sort(held);
    Ok(())
}

/// Returns the version of each handle, if the adapter has versions.
async fn versions(fixture: &Fixture) -> PromiseResult<Vec<CatalogueVersion>> {
    let mut versions = Vec::new();
    for store in fixture.handles.iter().filter(|_| fixture.supports(Capability::Version)) {
        versions.push(version(store).await?);
    }
    Ok(versions)
}

/// Makes the writes, each through the next handle. With a mover, the store is being filled meanwhile. Breaks the promise
/// unless the store has the expected content after each write, and its version changes with the animals. The handle of
/// the writer must show the new version immediately, the other handle soon after.
async fn make_all(mut fixture: Fixture, writes: &[Write], by_mover: bool) -> PromiseResult {
    let mut held = populate(fixture.store()).await?;
    for (number, &write) in (1..).zip(writes) {
        if write == Reopen {
            fixture = fixture.reopened_if_supported().await?;
            repeats_are_replayed(fixture.store(), &held.records).await?;
        }
        let store = fixture.handle(number.into());
        if store.archive.is_none() && !matches!(write, Add | AddOnce | Purge | Key | Reopen) {
            continue;
        }
        let (before, animals) = (versions(&fixture).await?, held.pets.len());
        let mut role = WriterRole::Service;
        if by_mover {
            let filling = Phase::Filling { from: StoreId([7; 16]) };
            role = WriterRole::Mover(change_phase(store, filling).await?.revision);
        }
        let what = format!("{write:?} by handle {}", usize::from(number) % fixture.handles.len());
        tried(&what, make(write, number, role, store, &mut held).await)?;
        if by_mover {
            change_phase(store, Phase::Open { from: None }).await?;
        }
        if held.pets.len() > animals && !before.is_empty() {
            let is_new = !before.contains(&version(store).await?);
            ensure!(is_new, "{what}: the writer keeps its version");
            for (store, before) in fixture.handles.iter().zip(before) {
                version_after(store, before).await?;
            }
        }
        tried(&what, require_held(&fixture, &held).await)?;
    }
    Ok(())
}

/// Repeats the requests of `records`, which all have the animal [`rex`].
async fn repeats_are_replayed(store: &Store, records: &[IdempotencyRecord]) -> PromiseResult {
    for record in records {
        let repeat = IdempotencyRequest::new(record.id, &rex(), record.at);
        let repeat = replayed(store.pets.add(rex(), Some(repeat)).await?)?;
        ensure_eq("a repeat after reopening", &repeat, &rex().with_id(record.pet))?;
    }
    Ok(())
}

/// Contract: acknowledged writes are durable.
pub(super) async fn reopening_keeps_what_was_acknowledged(fixture: Fixture) -> PromiseResult {
    make_all(fixture, &BEFORE_REOPENING.repeat(3), false).await
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
