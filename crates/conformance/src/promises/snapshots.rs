//! Snapshots of an archive.

use std::time::Duration;

use petstore_domain::{IdempotencyId, IdempotencyRequest, PetId, Rows, StoreCounts, revoke_keys};

use crate::{
    calls::{add, all, archive, new_key, purge, write_rows},
    content::{populate, read_batches, require, sort},
    failure::{PromiseResult, ensure_eq, tried},
    fixture::Fixture,
    samples::{self, NO_LIMIT, at, by_name, key, request, rex},
};

/// Contract: a snapshot has every row of the store in ascending order. Records of one animal ascend by the bytes of
/// their ids. Records of deleted animals are included.
pub(super) async fn a_snapshot_holds_everything_in_order(fixture: Fixture) -> PromiseResult {
    let mut expected = populate(fixture.store()).await?;
    // Several records of one animal that does not exist.
    let records = [[255; 16], [0; 16], [127; 16], [128; 16]].map(|id: [u8; 16]| {
        let id = IdempotencyId(id.map(|byte| byte ^ 1));
        IdempotencyRequest::new(id, &rex(), at(9)).into_record(PetId(77_000))
    });
    expected.records.extend(records);
    sort(&mut expected);
    write_rows(fixture.store(), Rows { records: records.to_vec(), ..Rows::default() }).await?;
    for (number, limit) in [1, 4, 1000].into_iter().enumerate() {
        let mut snapshot = archive(fixture.handle(number))?.snapshot().await?;
        let Rows { pets, keys, records, .. } = &expected;
        let [pets, keys, records] = [pets.len(), keys.len(), records.len()].map(|n| n as u64);
        let counts = StoreCounts { pets, keys, records };
        ensure_eq("the counts", &snapshot.counts().await?, &counts)?;
        require(&read_batches(&mut *snapshot, limit).await?, &expected)?;
    }
    Ok(())
}

/// Contract: a snapshot never shows later writes, and blocks no writer.
pub(super) async fn a_snapshot_does_not_see_later_writes(fixture: Fixture) -> PromiseResult {
    let (store, other) = (fixture.handle(0), fixture.handle(1));
    let expected = populate(store).await?;
    let counts = archive(store)?.snapshot().await?.counts().await?;
    let highest = archive(store)?.snapshot().await?.highest_ids().await?;
    let mut snapshot = archive(store)?.snapshot().await?;
    for number in 0..20 {
        add(other, samples::numbered(number)).await?;
    }
    other.pets.add(rex(), Some(request("later", &rex(), 8))).await?;
    purge(other, at(7), NO_LIMIT).await?;
    new_key(other, key(9, "later", 5, None)).await?;
    revoke_keys(&*other.keys, by_name("web"), at(6)).await?;
    tokio::time::sleep(Duration::from_millis(2500)).await;
    ensure_eq("the counts", &snapshot.counts().await?, &counts)?;
    ensure_eq("the highest identifiers", &snapshot.highest_ids().await?, &highest)?;
    let actual = tried("a snapshot of 2.5 s ago", read_batches(&mut *snapshot, 10).await)?;
    tried("after later writes", require(&actual, &expected))?;
    let meanwhile = all(store).await?.len();
    ensure_eq("the number of animals in the store", &meanwhile, &(expected.pets.len() + 21))
}
