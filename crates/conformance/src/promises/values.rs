//! Stored values are returned unchanged. A new store is empty, and lacks what the harness declares unsupported.

use petstore_domain::{HighestIds, PetId, PetPage, StoreCounts};

use crate::{
    calls::{add, archive, find, rows_of},
    content::require_held,
    failure::{PromiseResult, ensure, ensure_eq},
    fixture::Fixture,
    harness::{Capability, Store},
    samples::{self, STATUSES},
};

/// Contract: the store lacks each capability that the harness declares unsupported.
///
/// Checks the visible capabilities: the version, the archive and the handover.
pub(super) async fn what_is_declared_unsupported_is_not_there(fixture: Fixture) -> PromiseResult {
    for (capability, there) in [
        (Capability::Version, fixture.store().pets.version().is_some()),
        (Capability::Archive, fixture.store().archive.is_some()),
        (Capability::Handover, fixture.store().handover.is_some()),
    ] {
        let declared = fixture.harness.unsupported(capability).is_some();
        ensure!(!(declared && there), "{capability:?} is declared unsupported, but it is there");
    }
    Ok(())
}

/// Contract: a new store holds no animal and no key, and has assigned no identifier.
pub(super) async fn a_fresh_store_is_empty(store: Store) -> PromiseResult {
    let first = store.pets.list(samples::query(1, None, None)).await?;
    ensure_eq("the first page", &first.value, &PetPage::default())?;
    if store.archive.is_some() {
        let mut snapshot = archive(&store)?.snapshot().await?;
        ensure_eq("the counts", &snapshot.counts().await?, &StoreCounts::default())?;
        let highest = snapshot.highest_ids().await?;
        ensure_eq("the highest identifiers", &highest, &HighestIds::default())?;
    }
    Ok(())
}

/// Returns names of the greatest length, and names that a store may normalize by mistake.
fn names() -> Vec<String> {
    let printable: String = (' '..='~').collect();
    let odd = [
        " Rex ",
        "\u{3000}Rex\u{3000}",
        "e\u{301}",
        "é",
        "ẞß",
        "İi",
        "'; DROP TABLE pet; --",
        "\u{feff}bom",
        "\u{fffd}\u{ffff}\u{10ffff}",
        "👩‍👩‍👧‍👦",
    ];
    let limits = ["🐕", "\u{10ffff}", "é", "n"].map(|character| character.repeat(255));
    odd.map(str::to_owned).into_iter().chain([printable]).chain(limits).collect()
}

/// Contract: values are returned unchanged by every kind of read on every handle: names of up to 255 characters of four
/// bytes, any int64 as category, each status, and no status.
pub(super) async fn an_animal_comes_back_as_it_was_given(fixture: Fixture) -> PromiseResult {
    let around = |edge: i64| [edge.saturating_sub(1), edge, edge.saturating_add(1)];
    let edges =
        [i64::MIN, i32::MIN.into(), -1, i32::MAX.into(), u32::MAX.into(), 1 << 53, i64::MAX];
    let pets = edges.into_iter().flat_map(around).zip(STATUSES.into_iter().cycle());
    let pets = pets.map(|(category, status)| samples::pet("Rex", category, status));
    let named = names().into_iter().map(|name| samples::pet(&name, 1, None));
    let pets = pets.chain(named);
    let mut expected = Vec::new();
    for (number, pet) in pets.enumerate() {
        let added = add(fixture.handle(number), pet.clone()).await?;
        ensure_eq("the result of adding", &added, &pet.with_id(added.id))?;
        expected.push(added);
    }
    require_held(&fixture, &rows_of(expected)).await?;
    for store in &fixture.handles {
        for id in [i64::MIN, -1, i64::MAX].map(PetId) {
            ensure_eq("an animal that is not there", &find(store, id).await?, &None)?;
        }
    }
    Ok(())
}
