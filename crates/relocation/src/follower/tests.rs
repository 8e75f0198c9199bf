//! How fast the follower works.

use std::{ops::ControlFlow, sync::Arc, thread, time::Duration};

use petstore_domain::{CategoryId, Changes, MockRelocatable, NewPet, PetId, PetName};
use petstore_memory::MemoryStore;
use tokio::time::Instant;

use super::{Follower, Pace};
use crate::{decision::Place, side::Side};

/// How long a batch takes, at least.
const BATCH: Duration = Duration::from_millis(20);

fn side(relocation: MockRelocatable) -> Side {
    Side { relocation: Arc::new(relocation), ..Side::new(Arc::new(MemoryStore::new())) }
}

/// A store with three animals, which gives one at a time.
fn source() -> Side {
    let mut store = MockRelocatable::new();
    store.expect_horizon().returning(|| Ok(Some(PetId(3))));
    store.expect_changes().returning(|after, _, _| {
        let id = PetId(after.map_or(1, |id| id.0 + 1));
        let name = PetName::parse("Rex").unwrap();
        let pet = NewPet { name, category_id: CategoryId(1), status: None }.with_id(id);
        Ok(Changes { pets: vec![pet], ..Changes::default() })
    });
    side(store)
}

fn slow_target() -> Side {
    let mut store = MockRelocatable::new();
    store.expect_horizon().returning(|| Ok(None));
    store.expect_apply().returning(|_| {
        thread::sleep(BATCH);
        Ok(())
    });
    side(store)
}

/// The clock of the runtime stands still but for rests.
async fn rested(pace: Pace) -> Duration {
    let (began, mut follower) = (Instant::now(), Follower::default());
    let (from, to) = (source(), slow_target());
    let mut on_progress = |_| ControlFlow::Continue(());
    let pass = follower.pass((&from, &to), Place::Own, pace, &mut on_progress);
    assert_eq!(pass.await.unwrap(), 3);
    began.elapsed()
}

#[tokio::test(start_paused = true)]
async fn the_follower_rests_as_long_as_each_batch_took_unless_writes_wait_for_it() {
    assert!(rested(Pace::Gentle).await >= 2 * BATCH, "after all but the last");
    assert_eq!(rested(Pace::Full).await, Duration::ZERO);
}
