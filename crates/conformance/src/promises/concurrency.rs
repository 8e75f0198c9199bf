//! Calls that run beside other calls.

use std::{
    pin::pin,
    time::{Duration, Instant},
};

use tokio::{
    runtime,
    task::{JoinSet, spawn_blocking, yield_now},
    time::timeout,
};

use crate::{
    calls::{add, add_many, all, archive, in_time, join, rows_of, start, write_rows},
    content::{foreign, nine, read_all, require_held},
    failure::{PromiseResult, ensure, tried},
    fixture::Fixture,
    harness::Capability,
    samples::{NO_LIMIT, at, request, rex},
};

/// Contract: a read on any handle returns all rows of one write, or none of them.
pub(super) async fn rows_show_as_a_whole_on_every_handle(fixture: Fixture) -> PromiseResult {
    let store = fixture.store();
    let before = rows_of(add_many(store, 5).await?);
    let mut rows = foreign(&fixture).await?;
    // Every store can write this many rows in one call.
    rows.pets.drain(..rows.pets.len() - 8);
    rows.keys.truncate(3);
    rows.records.retain(|record| rows.pets.iter().any(|pet| pet.id == record.pet));
    let mut after = rows.clone();
    after.pets.splice(0..0, before.pets.clone());
    let mut watchers = JoinSet::new();
    for store in &fixture.handles {
        let (store, before, after) = (store.clone(), before.clone(), after.clone());
        watchers.spawn(async move {
            loop {
                let seen = read_all(&store).await?;
                if seen == after {
                    return Ok(());
                }
                ensure!(seen == before, "a part of the rows shows: {} animals", seen.pets.len());
                yield_now().await;
            }
        });
    }
    yield_now().await;
    write_rows(store, rows).await?;
    require_held(&fixture, &after).await?;
    in_time("showing the rows", Duration::from_mins(1), join(watchers)).await?.map(drop)
}

/// Contract: other writers wait only until a running write of rows has ended.
pub(super) async fn writers_go_on_beside_rows(fixture: Fixture) -> PromiseResult {
    const BATCHES: i64 = 20;
    let limit = fixture.harness.time_limit() / 4;
    let batches = start(&fixture, 1, |_, store| async move {
        for number in 1..=BATCHES {
            write_rows(&store, rows_of(nine(number * 1_000_000))).await?;
            archive(&store)?.add_new(vec![rex()], None).await?;
            yield_now().await;
        }
        Ok(())
    });
    let (batches, other) = (tokio::spawn(join(batches)), fixture.handle(1));
    let writing = async {
        for number in 0.. {
            // The last round of writes begins after the last rows.
            let is_last = batches.is_finished();
            let request = request(&format!("beside-{number}"), &rex(), 0);
            other.pets.add(rex(), None).await?;
            other.pets.add(rex(), Some(request)).await?;
            other.pets.purge_expired(at(-1), NO_LIMIT).await?;
            if is_last {
                break;
            }
            yield_now().await;
        }
        batches.await?
    };
    in_time("writing beside rows", limit, writing).await??;
    let listed = all(fixture.store()).await?;
    let mut expected = (1..=BATCHES).flat_map(|number| nine(number * 1_000_000));
    ensure!(expected.all(|pet| listed.contains(&pet)), "not all that was written is listed");
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
    let add_some = async || {
        for _ in 0..10 {
            add(store, rex()).await?;
        }
        PromiseResult::Ok(())
    };
    // A busy machine may delay a thread, so the promise is broken only if all three tries are slow.
    let mut gap = longest_gap(add_some()).await?;
    for _ in 0..2 {
        if gap.is_some() {
            gap = longest_gap(add_some()).await?;
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
async fn longest_gap(call: impl Future<Output = PromiseResult>) -> PromiseResult<Option<Duration>> {
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
