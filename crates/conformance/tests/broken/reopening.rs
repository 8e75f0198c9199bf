//! Flaws that show when a store is opened, reopened, or opened by another process.

use petstore_domain::{Phase, StoreId};

use crate::flaw::Flaw;

const ELSEWHERE: &[&str] = &["what_another_process_does_shows_here"];
const KEEPS: &[&str] = &["reopening_keeps_what_was_acknowledged"];

pub(crate) const FLAWS: &[Flaw] = &[
    Flaw::new("an animal is lost by reopening", KEEPS, |it| {
        it.reopened = Some(|rows, _| drop(rows.pets.pop()));
    }),
    Flaw::new("records are lost by reopening", KEEPS, |it| {
        it.reopened = Some(|rows, _| rows.records.clear());
    }),
    Flaw::new("a revocation is lost by reopening", KEEPS, |it| {
        it.reopened = Some(|rows, _| rows.keys.iter_mut().for_each(|key| key.revoked_at = None));
    }),
    Flaw::new(
        "reopening a store changes its phase to open",
        &[
            "a_store_that_is_not_open_refuses_everything",
            "a_state_is_replaced_by_its_revision_and_lasts",
        ],
        |it| it.reopened = Some(|_, state| state.phase = Phase::Open { from: None }),
    ),
    Flaw::new(
        "reopening a store changes its identity",
        &["a_state_is_replaced_by_its_revision_and_lasts"],
        |it| it.reopened = Some(|_, state| state.id = StoreId([99; 16])),
    ),
    Flaw::new(
        "two callers that open a new store at once create a store each",
        &["two_that_open_a_new_store_at_once_open_the_same"],
        |it| it.made_twice = true,
    ),
    Flaw::new("animals that another process adds do not show", ELSEWHERE, |it| {
        it.list.edit_output(|_, _, list| list.value.pets.retain(|pet| pet.category_id.0 != 2));
    }),
    Flaw::new("keys that another process adds do not show", ELSEWHERE, |it| {
        it.load.edit_output(|_, _, loaded| {
            let keys = loaded.iter_mut().map(|loaded| &mut loaded.keys);
            keys.for_each(|keys| keys.retain(|key| key.name.as_str() != "elsewhere"));
        });
    }),
    Flaw::new("another process does not see the last animal", ELSEWHERE, |it| {
        it.list.edit_output(|store, _, list| {
            list.value.pets.retain(|pet| store.number < 2 || pet.category_id.0 != 3);
        });
    }),
];
