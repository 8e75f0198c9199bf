//! The polls of a service over two stores.

use std::{
    future,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use petstore_domain::{
    Handover, PetQuery, PetRepository, Phase, StoreError, StoreState, mocks::new_pet,
};
use petstore_memory::MemoryStore;
use tokio::{
    task::JoinSet,
    time::{Instant, sleep, timeout},
};

use crate::pair::{service, side};

/// Counts the calls, and answers none while it is frozen.
struct Watched {
    store: Arc<MemoryStore>,
    calls: AtomicUsize,
    is_frozen: AtomicBool,
}

#[async_trait]
impl Handover for Watched {
    async fn state(&self) -> Result<StoreState, StoreError> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        if self.is_frozen.load(Ordering::SeqCst) {
            future::pending::<()>().await;
        }
        self.store.state().await
    }

    async fn change_state(&self, expected: i64, new: StoreState) -> Result<bool, StoreError> {
        self.store.change_state(expected, new).await
    }
}

fn watched(store: &Arc<MemoryStore>) -> Arc<Watched> {
    let (calls, is_frozen) = (AtomicUsize::new(0), AtomicBool::new(false));
    Arc::new(Watched { store: store.clone(), calls, is_frozen })
}

/// Lets `new` be filled from `old`, which is sealed, as a mover does.
async fn seal(old: &MemoryStore, new: &MemoryStore) -> StoreState {
    let (state, other) = (old.state().await.unwrap(), new.state().await.unwrap());
    let filling = other.next(Phase::Filling { from: state.id });
    assert!(new.change_state(other.revision, filling).await.unwrap());
    let sealed = state.next(Phase::Sealed { to: other.id, label: "new".to_owned() });
    assert!(old.change_state(state.revision, sealed.clone()).await.unwrap());
    sealed
}

#[tokio::test(start_paused = true)]
async fn many_requests_that_wait_for_a_stuck_seal_do_not_multiply_the_polls() {
    const STUCK: Duration = Duration::from_secs(5);
    let (old, new) = (Arc::<MemoryStore>::default(), Arc::<MemoryStore>::default());
    let states = [watched(&old), watched(&new)];
    let [from, to] = [(&old, &states[0], "old"), (&new, &states[1], "new")]
        .map(|(store, state, label)| side(store, Some(state.clone()), label));
    let both = service(&from, &to).await;
    seal(&old, &new).await;
    let mut waiting = JoinSet::new();
    for _ in 0..300 {
        let both = both.clone();
        waiting.spawn(async move { timeout(STUCK, both.add(new_pet("Rex"), None)).await.is_err() });
    }
    let began = Instant::now();
    assert!(waiting.join_all().await.into_iter().all(|waits| waits), "one was answered");
    // One poll in 20 ms, and the first ones.
    let most = usize::try_from(began.elapsed().as_millis()).unwrap() / 20 + 5;
    for state in states {
        let calls = state.calls.load(Ordering::SeqCst);
        assert!((most / 2..=most).contains(&calls), "{calls} calls in {:?}", began.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn a_frozen_next_store_does_not_delay_the_return_to_the_first_one() {
    let (old, new) = (Arc::<MemoryStore>::default(), Arc::<MemoryStore>::default());
    let state = watched(&new);
    let (from, to) = (side(&old, None, "old"), side(&new, Some(state.clone()), "new"));
    let both = service(&from, &to).await;
    let sealed = seal(&old, &new).await;
    sleep(Duration::from_millis(700)).await;
    state.is_frozen.store(true, Ordering::SeqCst);
    let adding = tokio::spawn({
        let both = both.clone();
        async move { both.add(new_pet("Rex"), None).await.map(|_| Instant::now()) }
    });
    let reading = tokio::spawn(async move { both.list(PetQuery::default()).await.map(drop) });
    sleep(Duration::from_millis(300)).await;
    let opened = sealed.next(Phase::Open { from: None });
    assert!(old.change_state(sealed.revision, opened).await.unwrap());
    let opened_at = Instant::now();
    let delay = adding.await.unwrap().unwrap() - opened_at;
    assert!(delay < Duration::from_millis(50), "{delay:?}");
    reading.await.unwrap().unwrap();
}
