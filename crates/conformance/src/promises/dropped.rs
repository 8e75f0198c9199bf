//! Callers who go away.

use std::{
    pin::pin,
    task::{Context, Poll, Waker},
    time::Duration,
};

use petstore_domain::Added;
use tokio::time::timeout;

use crate::{
    broken::{Checked, ensure, same},
    fresh::{all, still_works},
    harness::Store,
    samples::{self, request},
};

/// How many futures are dropped.
const ROUNDS: u64 = 60;

/// Contract: whole or not at all, also when the future is dropped half way.
pub(super) async fn a_dropped_addition_happens_whole_or_not_at_all(store: Store) -> Checked {
    for round in 0..ROUNDS {
        let pet = samples::numbered(usize::try_from(round)?);
        let key = format!("key-{round}");
        let adding = pin!(store.pets.add(pet.clone(), Some(request(&key, &pet, 0))));
        abandon(adding, round).await;
    }
    // A repeat waits for what is still in flight, and then there must be one animal.
    let mut expected = Vec::new();
    for round in 0..ROUNDS {
        let pet = samples::numbered(usize::try_from(round)?);
        let again = request(&format!("key-{round}"), &pet, 1);
        let (Added::Created(added) | Added::Replayed(added)) =
            store.pets.add(pet.clone(), Some(again)).await?;
        same("the repeat of a dropped addition", &added, &pet.with_id(added.id))?;
        expected.push(added);
    }
    let there = all(&store).await?;
    let twice = there.iter().find(|pet| !expected.contains(pet));
    ensure!(twice.is_none(), "{twice:?} was added by a dropped call without its record");
    let lost = expected.iter().find(|pet| !there.contains(pet));
    ensure!(lost.is_none(), "the record of a dropped call names {lost:?}, which is not there");
    still_works(&store).await
}

/// Polls the future once, or for a time that grows with `round`, and drops it.
async fn abandon<F: Future>(mut future: std::pin::Pin<&mut F>, round: u64) {
    let once = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    if matches!(once, Poll::Pending) && !round.is_multiple_of(3) {
        let _ = timeout(Duration::from_micros(round * 40), future).await;
    }
}
