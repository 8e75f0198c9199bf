//! What happens between the steps of a flip.

use std::{
    ops::ControlFlow,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicI64, Ordering},
    },
};

use async_trait::async_trait;
use petstore_domain::{
    CategoryId, Changes, Differences, KeyDigest, KeyName, KeyRights, KeySelector, MockRelocatable,
    NewApiKey, NewPet, PetId, PetName, PetQuery, PetRepository, Relocatable, Relocation,
    RestoreError, Role, StoreError, Timestamp, add_key, load_keys, revoke_keys,
};
use petstore_memory::MemoryStore;

use super::{CAUGHT_UP, MAX_PASSES};
use crate::{decision::Place, error::MoveError, mover::Mover, side::Side};

type Done = Pin<Box<dyn Future<Output = ()> + Send>>;
type Event = fn(Arc<MemoryStore>) -> Done;

/// A store to which something happens right before it changes to a role for the first time.
struct Eventful {
    store: Arc<MemoryStore>,
    event: Mutex<Option<(Role, Event)>>,
}

#[async_trait]
impl Relocatable for Eventful {
    async fn change(&self, expected: i64, row: Relocation) -> Result<bool, StoreError> {
        let event = self.event.lock().unwrap().take_if(|(role, _)| *role == row.role);
        if let Some((_, event)) = event {
            event(Arc::clone(&self.store)).await;
        }
        self.store.change(expected, row).await
    }

    async fn relocation(&self) -> Result<Option<Relocation>, StoreError> {
        self.store.relocation().await
    }

    async fn begin(&self, row: Relocation) -> Result<bool, StoreError> {
        self.store.begin(row).await
    }

    async fn end(&self, expected: i64) -> Result<bool, StoreError> {
        self.store.end(expected).await
    }

    async fn note_differences(&self, differences: Differences) -> Result<(), StoreError> {
        self.store.note_differences(differences).await
    }

    async fn horizon(&self) -> Result<Option<PetId>, StoreError> {
        self.store.horizon().await
    }

    async fn changes(
        &self,
        after: Option<PetId>,
        up_to: PetId,
        limit: u32,
    ) -> Result<Changes, StoreError> {
        self.store.changes(after, up_to, limit).await
    }

    async fn apply(&self, changes: Changes) -> Result<(), RestoreError> {
        self.store.apply(changes).await
    }
}

fn pet(name: &str) -> NewPet {
    let name = PetName::parse(name).unwrap();
    NewPet { name, category_id: CategoryId(1), status: None }
}

fn key() -> NewApiKey {
    NewApiKey {
        name: KeyName::parse("partner").unwrap(),
        digest: KeyDigest([7; 32]),
        prefix: "ps".to_owned(),
        rights: KeyRights::Full,
        created_at: Timestamp(0),
        expires_at: None,
    }
}

/// A move that has begun, from a store with an animal and a key to the one that is returned. `event` happens to
/// the first one before it changes to its role.
async fn begun(event: Option<(Role, Event)>) -> (Mover, Arc<MemoryStore>) {
    let [store, other] = [(); 2].map(|()| Arc::new(MemoryStore::new()));
    PetRepository::add(&*store, pet("Rex"), None).await.unwrap();
    add_key(&*store, key()).await.unwrap();
    let event = Mutex::new(event);
    let relocation = Arc::new(Eventful { store: Arc::clone(&store), event });
    let own = Side { relocation, ..Side::new(store) };
    let there = Side::new(Arc::clone(&other));
    let mut mover = Mover::new((own, "own".to_owned()), (there, "other".to_owned()), str::to_owned);
    mover.begin().await.unwrap();
    (mover, other)
}

async fn flip(mover: &mut Mover) -> Result<(), MoveError> {
    mover.flip(Place::Other, &mut |_| ControlFlow::Continue(())).await
}

/// Where the flip goes to, while `event` happens.
async fn flipped(role: Role, event: Event) -> Arc<MemoryStore> {
    let (mut mover, other) = begun(Some((role, event))).await;
    flip(&mut mover).await.unwrap();
    assert_eq!(mover.status().await.unwrap().decides, Place::Other);
    other
}

/// A mover from a store to which more is added while each batch of it is copied.
fn outrun() -> Mover {
    let row = |role, peer| move || Ok(Some(Relocation::new(role, 1, peer)));
    let more = i64::try_from(CAUGHT_UP).unwrap() + 1;
    let highest = Arc::new(AtomicI64::new(0));
    let copied = Arc::clone(&highest);
    let [mut from, mut to] = [(); 2].map(|()| MockRelocatable::new());
    from.expect_relocation().returning(row(Role::Deciding, "other"));
    from.expect_horizon()
        .returning(move || Ok(Some(PetId(highest.fetch_add(more, Ordering::Relaxed) + more))));
    from.expect_changes().returning(|after, up_to, _| {
        let ids = after.map_or(1, |after| after.0 + 1)..=up_to.0;
        let pets = ids.map(|id| pet("Rex").with_id(PetId(id))).collect();
        Ok(Changes { pets, ..Changes::default() })
    });
    to.expect_relocation().returning(row(Role::Standby, "own"));
    to.expect_horizon().returning(move || {
        let copied = copied.load(Ordering::Relaxed);
        Ok((copied > 0).then_some(PetId(copied)))
    });
    to.expect_apply().returning(|_| Ok(()));
    let side = |relocation| {
        let store = Arc::new(MemoryStore::new());
        Side { relocation: Arc::new(relocation), ..Side::new(store) }
    };
    let (from, to) = ((side(from), "own".to_owned()), (side(to), "other".to_owned()));
    Mover::new(from, to, str::to_owned)
}

#[tokio::test(start_paused = true)]
async fn a_follower_that_never_catches_up_gives_the_flip_up() {
    let mut passes = 0;
    let mut mover = outrun();
    let mut on_progress = |_| {
        passes += 1;
        // A flip without a limit would never end.
        if passes < 4 * MAX_PASSES { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let refused = mover.flip(Place::Other, &mut on_progress).await.unwrap_err();
    assert!(matches!(refused, MoveError::Outrun), "{refused}");
    // A batch and its end are reported in each.
    assert_eq!(passes, 2 * MAX_PASSES);
}

async fn animals(store: &MemoryStore) -> usize {
    PetRepository::list(store, PetQuery::default()).await.unwrap().value.pets.len()
}

#[tokio::test]
async fn what_is_acknowledged_right_before_the_fence_is_in_the_other_store() {
    let change = |store: Arc<MemoryStore>| -> Done {
        Box::pin(async move {
            PetRepository::add(&*store, pet("Max"), None).await.unwrap();
            let name = KeySelector::Name(KeyName::parse("partner").unwrap());
            revoke_keys(&*store, name, Timestamp(1)).await.unwrap();
        })
    };
    let other = flipped(Role::Draining, change).await;
    assert_eq!(animals(&other).await, 2);
    assert_eq!(load_keys(&*other).await.unwrap().live(Timestamp(2)).count(), 0);
}

/// As a service does that waits for longer than a mover drains.
#[tokio::test]
async fn a_flip_that_another_party_has_undone_begins_again() {
    let undo = |store: Arc<MemoryStore>| -> Done {
        Box::pin(async move {
            let row = store.relocation().await.unwrap().unwrap();
            assert_eq!(row.role, Role::Draining);
            store.change(row.revision, row.with_role(Role::Deciding)).await.unwrap();
            PetRepository::add(&*store, pet("Max"), None).await.unwrap();
        })
    };
    let other = flipped(Role::Standby, undo).await;
    assert_eq!(animals(&other).await, 2);
}

#[tokio::test]
async fn stores_that_differ_do_not_flip() {
    let (mut mover, other) = begun(None).await;
    let found = Differences { count: 2, last: Some("animal 7".to_owned()) };
    other.note_differences(found).await.unwrap();
    let refused = flip(&mut mover).await.unwrap_err();
    assert!(matches!(refused, MoveError::Different { count: 2, .. }), "{refused}");
    assert_eq!(mover.status().await.unwrap().decides, Place::Own);
}
