//! Flaws of writing rows: rows that do not show or show in parts, missing refusals, and other calls that fail or do not
//! end while rows are written.

use std::{collections::BTreeSet, mem, sync::atomic::Ordering, time::Duration};

use petstore_domain::{
    AddError, Added, Archive as _, ArchiveError, NewPet, Pet, PetId, PetRepository as _, PetStatus,
    Rows, StoreError, WriterRole,
};
use petstore_memory::MemoryStore;
use tokio::time::sleep;

use crate::{
    faults::{Faults, Handle, Request},
    flaw::Flaw,
    names::{EVERYWHERE, MOVERS, OTHERS, WHOLE, WRITERS},
};

/// Writes rows, and calls `refused` for the rows that the store refuses.
fn refused_rows<C, F>(it: &mut Faults, refused: C)
where
    C: Fn(Handle, Rows, ArchiveError) -> F + Copy + Send + Sync + 'static,
    F: Future<Output = Result<u64, ArchiveError>> + Send + 'static,
{
    it.write_rows.replace(move |store, (writer, rows)| async move {
        match store.write_rows(writer, rows.clone()).await {
            Ok(written) => Ok(written),
            Err(error) => refused(store, rows, error).await,
        }
    });
}

/// Returns the animal because of which rows were refused, and the stored animal with its identifier.
async fn refused(
    store: &MemoryStore,
    rows: &Rows,
    error: &ArchiveError,
) -> Option<(Pet, Option<Pet>)> {
    let ArchiveError::OtherPet(id) = error else { return None };
    let stored = store.find(*id).await.unwrap().value;
    Some((rows.pets.iter().find(|pet| pet.id == *id)?.clone(), stored))
}

/// Accepts a refused animal that `is_same` as the stored one, and keeps the stored one.
fn accept_same(it: &mut Faults, is_same: fn(&Pet, &Pet) -> bool) {
    refused_rows(it, move |store, rows, error| async move {
        match refused(&store, &rows, &error).await {
            Some((pet, Some(stored))) if is_same(&pet, &stored) => Ok(0),
            _ => Err(error),
        }
    });
}

/// Stores the part of refused rows that `part` selects, without the last of several rows of a kind.
fn store_part(it: &mut Faults, part: fn(Rows) -> Rows) {
    refused_rows(it, move |store, mut rows, error| async move {
        let Rows { pets, keys, records, .. } = &mut rows;
        pets.truncate(1.max(pets.len() - 1));
        keys.truncate(1.max(keys.len() - 1));
        records.truncate(1.max(records.len() - 1));
        store.write_rows(WriterRole::Service, part(rows)).await?;
        Err(error)
    });
}

async fn ids(store: &MemoryStore) -> Result<BTreeSet<PetId>, StoreError> {
    let pets = store.snapshot().await?.pets(None, u32::MAX).await?;
    Ok(pets.into_iter().map(|pet| pet.id).collect())
}

/// Notes the animals that `write` adds, which some reads then leave out.
async fn hiding(
    store: &Handle,
    write: impl Future<Output = Result<u64, ArchiveError>>,
) -> Result<u64, ArchiveError> {
    let before = ids(store).await?;
    let written = write.await?;
    let new = ids(store).await?.into_iter().filter(|id| !before.contains(id));
    store.notes.hidden.lock().unwrap().extend(new);
    Ok(written)
}

/// Leaves written animals out of the lists that `hides` selects by their status.
fn hide(it: &mut Faults, hides: fn(Option<PetStatus>) -> bool) {
    it.list.replace(move |store, query| async move {
        let mut list = store.list(query).await?;
        if hides(query.status) {
            let hidden = store.notes.hidden.lock().unwrap();
            list.value.pets.retain(|pet| !hidden.contains(&pet.id));
        }
        Ok(list)
    });
    it.write_rows.replace(|store, (writer, rows)| async move {
        hiding(&store, store.write_rows(writer, rows)).await
    });
    it.add_new.replace(|store, (pets, request)| async move {
        hiding(&store, store.add_new(pets, request)).await
    });
}

/// Writes rows in two calls: first the rows that `first` takes out, then the rest.
fn in_two(it: &mut Faults, first: fn(&mut Rows) -> Rows) {
    it.write_rows.replace(move |store, (writer, mut rows)| async move {
        store.notes.flag.store(true, Ordering::SeqCst);
        let one = store.write_rows(writer, first(&mut rows)).await?;
        sleep(Duration::from_millis(20)).await;
        let added = one + store.write_rows(writer, rows).await?;
        store.notes.flag.store(false, Ordering::SeqCst);
        Ok(added)
    });
}

/// Delays every write of rows. The flag in the notes is `true` meanwhile.
fn write_slowly(it: &mut Faults) {
    it.write_rows.replace(|store, (writer, rows)| async move {
        store.notes.flag.store(true, Ordering::SeqCst);
        sleep(Duration::from_millis(2)).await;
        let written = store.write_rows(writer, rows).await;
        store.notes.flag.store(false, Ordering::SeqCst);
        written
    });
}

/// Delays every write of rows. An addition during the write calls `beside`.
fn add_beside<F>(it: &mut Faults, beside: fn(Handle, NewPet, Request) -> F)
where
    F: Future<Output = Result<Added, AddError>> + Send + 'static,
{
    it.add.replace(move |store, (pet, request)| async move {
        if store.notes.flag.load(Ordering::SeqCst) {
            return beside(store, pet, request).await;
        }
        store.add(pet, request).await
    });
    write_slowly(it);
}

async fn for_ever() {
    sleep(Duration::from_hours(1)).await;
}

pub(crate) const FLAWS: &[Flaw] = &[
    Flaw::new("written animals are missing from the sold ones", &[EVERYWHERE, MOVERS], |it| {
        hide(it, |status| status == Some(PetStatus::Sold));
    }),
    Flaw::new("a list of all lacks written animals", &[EVERYWHERE, MOVERS, WHOLE, WRITERS], |it| {
        hide(it, |status| status.is_none());
    }),
    Flaw::new("rows do not change the version", &[EVERYWHERE, MOVERS], |it| {
        it.versions = |store, version| {
            let missed = store.notes.count.load(Ordering::SeqCst);
            version.saturating_sub(u128::from(missed.unsigned_abs()))
        };
        it.write_rows.edit_output(|store, _, added| {
            store.notes.count.fetch_add(i64::from(*added > 0), Ordering::SeqCst);
        });
    }),
    Flaw::new("one call may have two animals with one identifier", &[OTHERS], |it| {
        refused_rows(it, |store, rows, error| async move {
            match refused(&store, &rows, &error).await {
                Some((_, None)) => Ok(0),
                _ => Err(error),
            }
        });
    }),
    Flaw::new("an animal that differs in its status counts as the same", &[OTHERS], |it| {
        accept_same(it, |a, b| a.name == b.name && a.category_id == b.category_id);
    }),
    Flaw::new("an animal that differs in its name counts as the same", &[OTHERS], |it| {
        accept_same(it, |a, b| a.category_id == b.category_id && a.status == b.status);
    }),
    Flaw::new("an animal that differs in its category counts as the same", &[OTHERS], |it| {
        accept_same(it, |a, b| a.name == b.name && a.status == b.status);
    }),
    Flaw::new("of refused rows, all animals but the last are stored", &[OTHERS], |it| {
        store_part(it, |rows| Rows { pets: rows.pets, ..Rows::default() });
    }),
    Flaw::new("of refused rows, all keys but the last are stored", &[OTHERS], |it| {
        store_part(it, |rows| Rows { keys: rows.keys, ..Rows::default() });
    }),
    Flaw::new("of refused rows, all records but the last are stored", &[OTHERS], |it| {
        store_part(it, |rows| Rows { records: rows.records, ..Rows::default() });
    }),
    Flaw::new("a refusal names another animal", &[OTHERS], |it| {
        refused_rows(it, |_, _, error| async {
            let ArchiveError::OtherPet(PetId(id)) = error else { return Err(error) };
            Err(ArchiveError::OtherPet(PetId(id + 1)))
        });
    }),
    Flaw::new("a refusal does not name the key", &[OTHERS], |it| {
        refused_rows(it, |_, rows, error| async move {
            Err(if rows.keys.len() > 1 { ArchiveError::conflict("") } else { error })
        });
    }),
    Flaw::new("a refusal does not name the record", &[OTHERS], |it| {
        refused_rows(it, |_, rows, error| async move {
            Err(if rows.records.len() > 1 { ArchiveError::conflict("") } else { error })
        });
    }),
    Flaw::new("a record that is older than the stored one is skipped", &[OTHERS], |it| {
        refused_rows(it, |_, rows, error| async move {
            let is_older = rows.records.get(1).is_some_and(|record| record.at.0 % 10 == 6);
            if is_older { Ok(0) } else { Err(error) }
        });
    }),
    Flaw::new("animals are committed before keys and records", &[WHOLE], |it| {
        in_two(it, |rows| Rows { pets: mem::take(&mut rows.pets), ..Rows::default() });
    }),
    Flaw::new("keys are committed before animals", &[WHOLE], |it| {
        in_two(it, |rows| Rows { keys: mem::take(&mut rows.keys), ..Rows::default() });
    }),
    Flaw::new("records are committed after all the rest, as another handle sees", &[WHOLE], |it| {
        in_two(it, |rows| {
            let records = mem::take(&mut rows.records);
            mem::replace(rows, Rows { records, ..Rows::default() })
        });
        it.snapshot.replace(|store, ()| async move {
            while !store.is_another() && store.notes.flag.load(Ordering::SeqCst) {
                sleep(Duration::from_millis(1)).await;
            }
            store.snapshot().await
        });
    }),
    Flaw::new("an addition during a write of rows does not end", &[WRITERS], |it| {
        add_beside(it, |store, pet, request| async move {
            if request.is_none() {
                for_ever().await;
            }
            store.add(pet, request).await
        });
    }),
    Flaw::new("a purge during a write of rows does not end", &[WRITERS], |it| {
        it.purge.replace(|store, (cutoff, limit)| async move {
            if store.notes.flag.load(Ordering::SeqCst) {
                for_ever().await;
            }
            store.purge_expired(cutoff, limit).await
        });
        write_slowly(it);
    }),
    Flaw::new("a request is unavailable during a write of rows", &[WRITERS], |it| {
        add_beside(it, |store, pet, request| async move {
            if request.is_some() {
                return Err(StoreError::unavailable("rows are being written").into());
            }
            store.add(pet, request).await
        });
    }),
];
