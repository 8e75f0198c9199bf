//! Shadow reads: a share of the reads is repeated on the standby, in the background, and compared.
//!
//! Only animals up to the horizon of the standby are compared that was known before the read: it holds
//! those, and none of them can be added any more.

use std::{
    mem,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
};

use petstore_domain::{Differences, Pet, PetId, PetQuery, StoreError};
use tokio::sync::Semaphore;

use crate::{route::Route, side::Side};

/// One read in so many is shadowed.
const SHARE: u32 = 16;
/// Shadow reads that may run at a time; one more is left out.
const MAX_RUNNING: usize = 2;

/// What was read from the store that decides.
pub(crate) enum Read {
    Find(PetId, Option<Pet>),
    List(PetQuery, Vec<Pet>),
}

/// Counts the reads, and what they have found.
pub(crate) struct Shadow {
    versions: AtomicU32,
    reads: AtomicU32,
    /// Whether the next read is shadowed, whatever its number.
    due: AtomicBool,
    running: Arc<Semaphore>,
    differences: Arc<Mutex<Differences>>,
}

impl Default for Shadow {
    fn default() -> Self {
        let (running, differences) = (Arc::new(Semaphore::new(MAX_RUNNING)), Arc::default());
        let [versions, reads] = [0, 0].map(AtomicU32::new);
        Self { versions, reads, due: AtomicBool::new(false), running, differences }
    }
}

impl Shadow {
    /// Whether whoever asks for the version is to read the store instead of a cache, so that what is read
    /// often is compared too.
    pub(crate) fn wants_read(&self, route: &Route) -> bool {
        let wanted = route.standby.is_some()
            && route.horizon.is_some()
            && self.versions.fetch_add(1, Ordering::Relaxed).is_multiple_of(SHARE);
        if wanted {
            self.due.store(true, Ordering::Relaxed);
        }
        wanted
    }

    /// Repeats a read of `route` on its standby, if its turn has come.
    pub(crate) fn note(&self, route: &Route, read: impl FnOnce() -> Read) {
        let (Some(standby), Some(horizon)) = (&route.standby, route.horizon) else { return };
        let has_its_turn = self.reads.fetch_add(1, Ordering::Relaxed).is_multiple_of(SHARE);
        if !self.due.swap(false, Ordering::Relaxed) && !has_its_turn {
            return;
        }
        let Ok(turn) = Arc::clone(&self.running).try_acquire_owned() else { return };
        let (standby, read) = (standby.clone(), read());
        let differences = Arc::clone(&self.differences);
        tokio::spawn(async move {
            // What the standby cannot answer is no difference.
            if let Ok(Some(difference)) = compare(&standby, &read, horizon).await {
                tracing::warn!(difference, "the stores of the move differ");
                let mut all = differences.lock().unwrap_or_else(PoisonError::into_inner);
                *all = Differences { count: all.count + 1, last: Some(difference) };
            }
            drop(turn);
        });
    }

    /// What was found since this was called last.
    pub(crate) fn take(&self) -> Differences {
        mem::take(&mut *self.differences.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts back what could not be written down.
    pub(crate) fn put_back(&self, Differences { count, last }: Differences) {
        let mut all = self.differences.lock().unwrap_or_else(PoisonError::into_inner);
        *all = Differences { count: all.count + count, last: all.last.take().or(last) };
    }
}

/// The first difference, in words.
async fn compare(side: &Side, read: &Read, horizon: PetId) -> Result<Option<String>, StoreError> {
    let up_to =
        |pets: Vec<Pet>| -> Vec<Pet> { pets.into_iter().filter(|pet| pet.id <= horizon).collect() };
    let (here, there) = match read {
        Read::Find(id, _) if *id > horizon => return Ok(None),
        Read::Find(id, here) => {
            let there = side.pets.find(*id).await?.map(|found| found.value);
            (here.iter().cloned().collect(), there.into_iter().collect())
        }
        Read::List(query, here) => {
            let there = side.pets.list(*query).await?.value.pets;
            (up_to(here.clone()), up_to(there))
        }
    };
    let ids = |pets: &[Pet]| pets.iter().map(|pet| pet.id.0).collect::<Vec<_>>();
    let first = here.iter().find(|pet| !there.contains(pet));
    let first = first.or_else(|| there.iter().find(|pet| !here.contains(pet)));
    Ok(match first {
        Some(pet) => Some(format!("animal {}", pet.id)),
        None if here != there => Some(format!("the order {:?} and {:?}", ids(&here), ids(&there))),
        None => None,
    })
}
