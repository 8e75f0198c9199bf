//! What goes in comes out.

use petstore_domain::{NewPet, Pet, PetStatus};

use super::keys;
use crate::{
    broken::{Broken, Checked, same},
    fresh::{add, all, page},
    harness::Store,
    samples::{self, STATUSES},
};

/// Contract: a new store holds no animal and no key.
pub(super) async fn a_fresh_store_is_empty(store: Store) -> Checked {
    let first = page(&store, samples::query(1, None, None)).await?;
    same("the first page", &first, &petstore_domain::PetPage::default())?;
    same("the API keys", &keys::listed(&store).await?, &Vec::new())
}

/// Names at the limits of the rule, and names that a store may be tempted to tidy up.
fn names() -> Vec<String> {
    let printable: String = (' '..='~').collect();
    let odd = [
        "a",
        " Rex ",
        "\u{3000}Rex\u{3000}",
        "Zoë",
        "e\u{301}",
        "é",
        "ẞß",
        "İi",
        "'; DROP TABLE pet; --",
        "\"quoted\"",
        "\\n\\u0041\\",
        "%s%20{}$1?",
        "NULL",
        "null",
        "0",
        "1e3",
        "true",
        "<b>&amp;</b>",
        "\u{feff}bom",
        "\u{200b}",
        "\u{202e}right to left",
        "\u{fffd}\u{ffff}\u{10ffff}",
        "👩‍👩‍👧‍👦",
        "a,b;c|d",
    ];
    let limits = ["🐕", "\u{10ffff}", "é", "n"].map(|character| character.repeat(255));
    odd.map(str::to_owned).into_iter().chain([printable]).chain(limits).collect()
}

/// Contract: values come back exactly as they were given: names, to 255 characters of four bytes.
pub(super) async fn a_name_comes_back_as_it_was_given(store: Store) -> Checked {
    let pets = names().into_iter().map(|name| samples::pet(&name, 1, Some(PetStatus::Available)));
    come_back(store, pets.collect()).await
}

/// Contract: values come back exactly as they were given: any int64 as category.
pub(super) async fn a_category_comes_back_as_it_was_given(store: Store) -> Checked {
    let around = |edge: i64| [edge.saturating_sub(1), edge, edge.saturating_add(1)];
    let edges =
        [i64::MIN, i32::MIN.into(), -1, i32::MAX.into(), u32::MAX.into(), 1 << 53, i64::MAX];
    let pets = edges.into_iter().flat_map(around);
    let pets = pets.map(|category| samples::pet("Rex", category, Some(PetStatus::Available)));
    come_back(store, pets.collect()).await
}

/// Contract: values come back exactly as they were given: each status, and none at all.
pub(super) async fn a_status_comes_back_and_none_is_made_up(store: Store) -> Checked {
    come_back(store, STATUSES.map(|status| samples::pet("Rex", 1, status)).into()).await
}

/// Adds the animals, and compares them with what each way of reading gives.
async fn come_back(store: Store, pets: Vec<NewPet>) -> Checked {
    let mut expected: Vec<Pet> = Vec::new();
    for pet in pets {
        let added = add(&store, pet.clone()).await?;
        same("what adding returns", &added, &pet.with_id(added.id))?;
        expected.push(added);
    }
    for pet in &expected {
        let found = store.pets.find(pet.id).await?;
        let found = found.ok_or_else(|| Broken::new(format!("{pet:?} is not found")))?.value;
        same("what finding returns", &found, pet)?;
    }
    for (actual, expected) in all(&store).await?.iter().zip(&expected) {
        same("what listing returns", actual, expected)?;
    }
    same("the number listed", &all(&store).await?.len(), &expected.len())
}
