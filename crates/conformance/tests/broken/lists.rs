//! Flaws of listing animals.

use std::mem;

use petstore_domain::{PageLimit, PetId, PetRepository as _};
use tokio::task::yield_now;

use crate::{
    flaw::Flaw,
    names::{EVERYWHERE, FRESH, MODEL, PAGE, REOPENED, WALK},
};

pub(crate) const FLAWS: &[Flaw] = &[
    Flaw::new("an empty page says that more animals follow", &[FRESH, PAGE], |it| {
        it.list.edit_output(|_, _, list| list.value.more |= list.value.pets.is_empty());
    }),
    Flaw::new("a page is in descending order", &[PAGE, WALK, REOPENED], |it| {
        it.list.edit_output(|_, _, list| list.value.pets.reverse());
    }),
    Flaw::new("a page has at most 50 animals", &[PAGE], |it| {
        it.list.edit_input(|query| {
            query.limit = PageLimit::new(query.limit.get().min(50)).unwrap();
        });
    }),
    Flaw::new("after the highest identifier, the first page follows", &[PAGE], |it| {
        it.list.edit_input(|query| _ = query.after.take_if(|after| after.0 == i64::MAX));
    }),
    Flaw::new("`more` is always false", &[WALK, PAGE], |it| {
        it.list.edit_output(|_, _, list| list.value.more = false);
    }),
    Flaw::new("`more` is true for every full page", &[PAGE], |it| {
        it.list.edit_output(|_, query, list| {
            list.value.more = list.value.pets.len() == usize::from(query.limit.get());
        });
    }),
    Flaw::new("`more` is true for every page with a filter", &[PAGE], |it| {
        it.list.edit_output(|_, query, list| list.value.more |= query.status.is_some());
    }),
    Flaw::new("the filter is ignored", &[EVERYWHERE, PAGE, MODEL], |it| {
        it.list.edit_input(|query| query.status = None);
    }),
    Flaw::new("a page begins with the last animal of the previous page", &[PAGE, WALK], |it| {
        it.list.edit_input(|query| {
            query.after = query.after.map(|id| PetId(id.0.saturating_sub(1)));
        });
    }),
    Flaw::new("a later page lacks its first animal if another animal was added", &[WALK], |it| {
        it.list.replace(|store, query| async move {
            let mut list = store.list(query).await?;
            let seen = mem::replace(&mut store.own.seen.lock().unwrap().version, list.version);
            if query.after.is_some() && seen != list.version && !list.value.pets.is_empty() {
                list.value.pets.remove(0);
            }
            yield_now().await;
            Ok(list)
        });
    })
    .on_one_thread(),
];
