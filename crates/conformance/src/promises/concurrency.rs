//! Calls that run at the same time as a write.

use std::{
    pin::pin,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::{
    runtime,
    task::{JoinSet, spawn_blocking, yield_now},
    time::timeout,
};

use crate::{
    calls::{add_many, all, archive, in_time, rows_of, watch, write_rows},
    content::{foreign, nine, read_all, require_held},
    failure::{PromiseResult, ensure, tried},
    fixture::Fixture,
    harness::{Capability, Store},
    samples::{NO_LIMIT, at, request, rex},
};

/// Contract: a read on any handle returns all rows of one write, or none of them.
pub(super) async fn rows_show_as_a_whole_on_every_handle(fixture: Fixture) -> PromiseResult {
    let store = fixture.store();
    let before = rows_of(add_many(store, 5).await?);
    let mut rows = foreign(&fixture).await?;
    // Keeps so few rows that every store can write them in one call.
    rows.pets.drain(..rows.pets.len() - 8);
    rows.keys.truncate(3);
    rows.records.retain(|record| rows.pets.iter().any(|pet| pet.id == record.pet));
    let mut after = rows.clone();
    after.pets.splice(0..0, before.pets.clone());
    let (mut writers, writer) = (JoinSet::new(), store.clone());
    writers.spawn(async move { write_rows(&writer, rows).await });
    let states = Arc::new([before, after.clone()]);
    let shows_a_state = move |store: Store| {
        let states = Arc::clone(&states);
        async move {
            let seen = read_all(&store).await?;
            let is_whole = states.contains(&seen);
            ensure!(is_whole, "a part of the rows shows: {} animals", seen.pets.len());
            Ok(())
        }
    };
    watch(&fixture, fixture.handles.len(), writers, shows_a_state).await?;
    require_held(&fixture, &after).await
}

/// Contract: other writers wait only until a running write of rows has ended.
pub(super) async fn writers_go_on_beside_rows(fixture: Fixture) -> PromiseResult {
    const BATCHES: i64 = 20;
    let limit = fixture.harness.time_limit() / 4;
    let (mut batches, store) = (JoinSet::new(), fixture.handle(1).clone());
    batches.spawn(async move {
        for number in 1..=BATCHES {
            write_rows(&store, rows_of(nine(number * 1_000_000))).await?;
            archive(&store)?.add_new(vec![rex()], None).await?;
            yield_now().await;
        }
        Ok(())
    });
    let write = |store: Store| async move {
        let request = request(&format!("beside-{}", fastrand::u64(..)), &rex(), 0);
        store.pets.add(rex(), None).await?;
        store.pets.add(rex(), Some(request)).await?;
        store.pets.purge_expired(at(-1), NO_LIMIT).await?;
        Ok(())
    };
    in_time("writing beside rows", limit, watch(&fixture, 1, batches, write)).await??;
    let listed = all(fixture.store()).await?;
    let mut expected = (1..=BATCHES).flat_map(|number| nine(number * 1_000_000));
    ensure!(expected.all(|pet| listed.contains(&pet)), "a written animal is not in the list");
    Ok(())
}

/// Contract: methods are asynchronous. A write that waits for the store blocks no other task of its thread.
pub(super) async fn a_write_that_waits_holds_up_no_other_task(fixture: Fixture) -> PromiseResult {
    let check = move || {
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        let result = runtime.block_on(on_one_thread(&fixture));
        runtime.shutdown_background();
        result
    };
    spawn_blocking(check).await?
}

async fn on_one_thread(fixture: &Fixture) -> PromiseResult {
    let fixture = fixture.another().await?;
    let store = fixture.store();
    // A busy machine may delay a thread, so additions break the promise only if all three tries are slow.
    let mut gap = longest_gap(add_many(store, 10)).await?;
    for _ in 0..2 {
        if gap.is_some() {
            gap = longest_gap(add_many(store, 10)).await?;
        }
    }
    if gap.is_none() && fixture.supports(Capability::Outage) {
        tried("the harness cannot cut off the store", fixture.scratch.cut_off().await)?;
        let refused = async {
            let _ = timeout(Duration::from_secs(2), store.pets.add(rex(), None)).await;
            Ok(())
        };
        gap = longest_gap(refused).await?;
        tried("the harness cannot reconnect the store", fixture.scratch.reconnect().await)?;
    }
    ensure!(gap.is_none(), "a write has held up its thread for {gap:?}");
    Ok(())
}

/// Runs `call` beside a timer. Returns the longest gap between two ticks if the call is slow and most of its time is in
/// this gap.
async fn longest_gap<T>(
    call: impl Future<Output = PromiseResult<T>>,
) -> PromiseResult<Option<Duration>> {
    const LONG: Duration = Duration::from_millis(100);
    let (begun, mut last, mut longest) = (Instant::now(), Instant::now(), Duration::ZERO);
    let mut call = pin!(call);
    let took = loop {
        let end = timeout(Duration::from_millis(2), &mut call).await;
        longest = longest.max(last.elapsed());
        last = Instant::now();
        if let Ok(end) = end {
            end?;
            break begun.elapsed();
        }
    };
    Ok((took > LONG && longest > took / 2).then_some(longest))
}
