//! Flaws of writing rows: rows that do not show or show in parts, missing refusals, and other calls that fail or do not
//! end while rows are written.

use std::{
    mem,
    pin::Pin,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use petstore_domain::{
    AddError, Added, Archive, ArchiveError, NewPet, Pet, PetId, PetRepository, PetStatus, Rows,
    StoreError, Timestamp, WriterRole,
};
use petstore_memory::MemoryStore;
use tokio::time::sleep;

use crate::{
    faults::{Faults, Request},
    flaw::{Flaw, Notes},
};

type Wrote = Result<u64, ArchiveError>;
type Addition = Pin<Box<dyn Future<Output = Result<Added, AddError>> + Send>>;

/// Makes `write` the fault of `write_rows`. While it runs, the flag in the notes is `true`.
fn rows<F>(
    faults: Faults,
    notes: &Arc<Notes>,
    write: impl Fn(Arc<MemoryStore>, WriterRole, Rows) -> F + Clone + Send + Sync + 'static,
) -> Faults
where
    F: Future<Output = Wrote> + Send + 'static,
{
    let notes = Arc::clone(notes);
    faults.write_rows(move |store, (writer, rows)| {
        let (notes, write) = (Arc::clone(&notes), write.clone());
        async move {
            notes.flag.store(true, Ordering::SeqCst);
            let written = write(store, writer, rows).await;
            notes.flag.store(false, Ordering::SeqCst);
            written
        }
    })
}

/// Writes rows, and calls `refused` for the rows that the store refuses.
fn refused_rows<F>(
    refused: impl Fn(Arc<MemoryStore>, Rows, ArchiveError) -> F + Clone + Send + Sync + 'static,
) -> Faults
where
    F: Future<Output = Wrote> + Send + 'static,
{
    Faults::default().write_rows(move |store, (writer, rows)| {
        let refused = refused.clone();
        async move {
            match store.write_rows(writer, rows.clone()).await {
                Ok(written) => Ok(written),
                Err(error) => refused(store, rows, error).await,
            }
        }
    })
}

/// Returns `true` for every second handle that is opened.
fn is_another(notes: &Notes) -> bool {
    !notes.handles.fetch_add(1, Ordering::Relaxed).is_multiple_of(2)
}

async fn ids(store: &MemoryStore) -> Result<Vec<PetId>, StoreError> {
    let pets = store.snapshot().await?.pets(None, u32::MAX).await?;
    Ok(pets.into_iter().map(|pet| pet.id).collect())
}

fn of_anybody(_: WriterRole) -> bool {
    true
}

fn of_movers(writer: WriterRole) -> bool {
    writer != WriterRole::Service
}

/// Leaves the animals of some writers out of some lists: `by` selects the writers, and `hides` selects the lists by
/// their status.
fn hidden(
    notes: &Arc<Notes>,
    by: fn(WriterRole) -> bool,
    hides: fn(Option<PetStatus>) -> bool,
) -> Faults {
    let (listed, kept, adds) = (Arc::clone(notes), Arc::clone(notes), Arc::clone(notes));
    let faults = Faults::change_page(move |query, page| {
        let hidden = listed.hidden.lock().unwrap();
        page.pets.retain(|pet| !hides(query.status) || !hidden.contains(&pet.id));
    });
    let faults = rows(faults, notes, move |store, writer, rows| {
        let notes = Arc::clone(&kept);
        async move {
            let before = ids(&store).await?;
            let written = store.write_rows(writer, rows).await?;
            let new =
                ids(&store).await?.into_iter().filter(|id| by(writer) && !before.contains(id));
            notes.hidden.lock().unwrap().extend(new);
            Ok(written)
        }
    });
    faults.add_new(move |store, (pets, request)| {
        let notes = Arc::clone(&adds);
        async move {
            let before = ids(&store).await?;
            let added = store.add_new(pets, request).await?;
            let new = ids(&store).await?.into_iter();
            let new = new.filter(|id| by(WriterRole::Service) && !before.contains(id));
            notes.hidden.lock().unwrap().extend(new);
            Ok(added)
        }
    })
}

/// Versions that do not change when some writers write rows; `by` selects the writers. If `elsewhere`, only every second
/// handle shows such a version, and only for rows that another handle wrote.
fn unversioned(notes: &Arc<Notes>, by: fn(WriterRole) -> bool, elsewhere: bool) -> Faults {
    let (kept, shown) = (Arc::clone(notes), Arc::clone(notes));
    let shows_less = !elsewhere || is_another(notes);
    let faults = Faults::change_versions(move |version| {
        let missed = if shows_less { shown.offset.load(Ordering::SeqCst) } else { 0 };
        version.saturating_sub(u128::from(missed.unsigned_abs()))
    });
    rows(faults, notes, move |store, writer, rows| {
        let notes = Arc::clone(&kept);
        async move {
            let added = store.write_rows(writer, rows).await?;
            if by(writer) && added > 0 && !(elsewhere && shows_less) {
                notes.offset.fetch_add(1, Ordering::SeqCst);
            }
            Ok(added)
        }
    })
}

/// Writes rows in two calls: first the rows that `first` takes out, then the rest.
fn in_two(notes: &Arc<Notes>, first: fn(&mut Rows) -> Rows) -> Faults {
    rows(Faults::default(), notes, move |store, writer, mut rows| async move {
        let one = store.write_rows(writer, first(&mut rows)).await?;
        sleep(Duration::from_millis(5)).await;
        Ok(one + store.write_rows(writer, rows).await?)
    })
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

/// Delays every write of rows. An addition during the write calls `beside`.
fn adds_beside(
    notes: &Arc<Notes>,
    beside: fn(Arc<Notes>, Arc<MemoryStore>, NewPet, Request) -> Addition,
) -> Faults {
    let kept = Arc::clone(notes);
    let faults = Faults::default().add(move |store, (pet, request)| {
        let notes = Arc::clone(&kept);
        async move {
            if notes.flag.load(Ordering::SeqCst) {
                return beside(notes, store, pet, request).await;
            }
            PetRepository::add(&*store, pet, request).await
        }
    });
    rows(faults, notes, |store, writer, rows| async move {
        sleep(Duration::from_millis(2)).await;
        store.write_rows(writer, rows).await
    })
}

async fn for_ever() {
    sleep(Duration::from_hours(1)).await;
}

const EVERYWHERE: &[&str] = &["a_write_shows_everywhere_and_changes_nothing_else"];
const MOVERS: &[&str] = &["what_a_mover_writes_shows_when_the_store_opens"];
const OVERWRITES: &[&str] = &["rows_in_the_place_of_others_are_refused"];
const WHOLE: &[&str] = &["rows_show_as_a_whole_on_every_handle"];
const WRITERS: &[&str] = &["writers_go_on_beside_rows"];
pub(crate) const FLAWS: &[Flaw] = &[
    Flaw::new(
        "written animals are missing from every list that is filtered by status",
        EVERYWHERE,
        |notes| hidden(notes, of_anybody, |status| status.is_some()),
    ),
    Flaw::new("written animals are missing from the list of sold animals", EVERYWHERE, |notes| {
        hidden(notes, of_anybody, |status| status == Some(PetStatus::Sold))
    }),
    Flaw::new("every second handle lists no written animals", EVERYWHERE, |notes| {
        let hides: fn(_) -> bool = if is_another(notes) { |_| true } else { |_| false };
        hidden(notes, of_anybody, hides)
    }),
    Flaw::new("a written animal is not found by its identifier", EVERYWHERE, |notes| {
        let found = Arc::clone(notes);
        hidden(notes, of_anybody, |_| false).find(move |store, id| {
            let hidden = found.hidden.lock().unwrap().contains(&id);
            async move {
                let mut found = PetRepository::find(&*store, id).await?;
                found.value = found.value.filter(|_| !hidden);
                Ok(found)
            }
        })
    }),
    Flaw::new("rows with animals and without records delete every record", EVERYWHERE, |notes| {
        rows(Faults::default(), notes, |store, writer, rows| async move {
            if !rows.pets.is_empty() && rows.records.is_empty() {
                store.purge_expired(Timestamp(i64::MAX), u32::MAX).await?;
            }
            store.write_rows(writer, rows).await
        })
    }),
    Flaw::new("rows do not change the version", EVERYWHERE, |notes| {
        unversioned(notes, of_anybody, false)
    }),
    Flaw::new(
        "the version of a handle does not change with rows of another handle",
        EVERYWHERE,
        |notes| unversioned(notes, of_anybody, true),
    ),
    Flaw::new(
        "animals of a mover are missing from every list that is filtered by status",
        MOVERS,
        |notes| hidden(notes, of_movers, |status| status.is_some()),
    ),
    Flaw::new("rows of a mover do not change the version", MOVERS, |notes| {
        unversioned(notes, of_movers, false)
    }),
    Flaw::new(
        "two different animals with one identifier in one call are not refused",
        OVERWRITES,
        |_| {
            refused_rows(|store, rows, error| async move {
                match refused(&store, &rows, &error).await {
                    Some((_, None)) => Ok(0),
                    _ => Err(error),
                }
            })
        },
    ),
    Flaw::new("an animal that differs in its status counts as the same", OVERWRITES, |_| {
        refused_rows(|store, rows, error| async move {
            match refused(&store, &rows, &error).await {
                Some((pet, Some(stored)))
                    if stored.name == pet.name && stored.category_id == pet.category_id =>
                {
                    Ok(0)
                }
                _ => Err(error),
            }
        })
    }),
    Flaw::new("of refused rows, all animals but the last are stored", OVERWRITES, |_| {
        refused_rows(|store, mut rows, error| async move {
            rows.pets.pop();
            let rows = Rows { keys: vec![], records: vec![], ..rows };
            store.write_rows(WriterRole::Service, rows).await?;
            Err(error)
        })
    }),
    Flaw::new("a refusal does not name the animal", OVERWRITES, |_| {
        refused_rows(|_, _, error| {
            let unnamed = matches!(error, ArchiveError::OtherPet(_));
            let error = if unnamed { ArchiveError::conflict("animal") } else { error };
            async { Err(error) }
        })
    }),
    Flaw::new("animals are committed before keys and records", WHOLE, |notes| {
        in_two(notes, |rows| Rows { pets: mem::take(&mut rows.pets), ..Rows::default() })
    }),
    Flaw::new("keys are committed before animals", WHOLE, |notes| {
        in_two(notes, |rows| Rows { keys: mem::take(&mut rows.keys), ..Rows::default() })
    }),
    Flaw::new("records are committed after all the rest", WHOLE, |notes| {
        in_two(notes, |rows| {
            let records = mem::take(&mut rows.records);
            mem::replace(rows, Rows { records, ..Rows::default() })
        })
    }),
    Flaw::new("an addition during a write of rows does not end", WRITERS, |notes| {
        adds_beside(notes, |_, store, pet, request| {
            Box::pin(async move {
                for_ever().await;
                PetRepository::add(&*store, pet, request).await
            })
        })
    }),
    Flaw::new("a purge during a write of rows does not end", WRITERS, |notes| {
        let kept = Arc::clone(notes);
        let faults = Faults::default().purge(move |store, (cutoff, limit)| {
            let is_on = kept.flag.load(Ordering::SeqCst);
            async move {
                if is_on {
                    for_ever().await;
                }
                store.purge_expired(cutoff, limit).await
            }
        });
        rows(faults, notes, |store, writer, rows| async move {
            sleep(Duration::from_millis(2)).await;
            store.write_rows(writer, rows).await
        })
    }),
    Flaw::new("an addition during a write of rows is unavailable", WRITERS, |notes| {
        adds_beside(notes, |_, _, _, _| {
            Box::pin(async { Err(StoreError::unavailable("rows are being written").into()) })
        })
    }),
    Flaw::new("rows are lost if an animal is added during their write", WRITERS, |notes| {
        let kept = Arc::clone(notes);
        let faults = adds_beside(notes, |notes, store, pet, request| {
            notes.last_id.store(1, Ordering::SeqCst);
            Box::pin(async move { PetRepository::add(&*store, pet, request).await })
        });
        rows(faults, notes, move |store, writer, rows| {
            let notes = Arc::clone(&kept);
            async move {
                sleep(Duration::from_millis(2)).await;
                if notes.last_id.swap(0, Ordering::SeqCst) > 0 {
                    return Ok(0);
                }
                store.write_rows(writer, rows).await
            }
        })
    }),
];
