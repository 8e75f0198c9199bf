//! Flaws that show when a store is opened, reopened, or opened by another process.

use petstore_domain::{Phase, StoreId};

use crate::{
    flaw::Flaw,
    names::{ELSEWHERE, OPENED, REFUSES, REOPENED, REPLACED, WRITTEN},
};

pub(crate) const FLAWS: &[Flaw] = &[
    Flaw::new("an animal is lost by reopening", &[REOPENED], |it| {
        it.reopened = Some(Box::new(|rows, _| drop(rows.pets.pop())));
    }),
    Flaw::new("records are lost by reopening", &[REOPENED, WRITTEN], |it| {
        it.reopened = Some(Box::new(|rows, _| rows.records.clear()));
    }),
    Flaw::new("a key is lost by reopening", &[REOPENED, WRITTEN], |it| {
        it.reopened = Some(Box::new(|rows, _| drop(rows.keys.pop())));
    }),
    Flaw::new("a restart opens a store that is being filled", &[REFUSES, REPLACED], |it| {
        it.reopened = Some(Box::new(|_, state| {
            if matches!(state.phase, Phase::Filling { .. }) {
                state.phase = Phase::Open { from: None };
            }
        }));
    }),
    Flaw::new("a restart changes the identity", &[REPLACED], |it| {
        it.reopened = Some(Box::new(|_, state| state.id = StoreId([99; 16])));
    }),
    Flaw::new("each handle has an identity of its own", &[OPENED], |it| {
        it.state.edit_output(|store, (), state| state.id.0[0] ^= store.number);
    }),
    Flaw::new("two callers create a store each", &[OPENED], |it| it.made_twice = true),
    Flaw::new("animals that another process adds do not show", &[ELSEWHERE], |it| {
        it.list.edit_output(|store, _, list| {
            list.value.pets.retain(|pet| store.number > 1 || pet.category_id.0 != 2);
        });
    }),
    Flaw::new("keys that another process adds do not show", &[ELSEWHERE], |it| {
        it.load.edit_output(|_, _, loaded| {
            let keys = loaded.iter_mut().map(|loaded| &mut loaded.keys);
            keys.for_each(|keys| keys.retain(|key| key.name.as_str() != "elsewhere"));
        });
    }),
    Flaw::new("another process does not see the last animal", &[ELSEWHERE], |it| {
        it.list.edit_output(|store, _, list| {
            list.value.pets.retain(|pet| store.number < 2 || pet.category_id.0 != 3);
        });
    }),
];
