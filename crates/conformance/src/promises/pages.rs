//! Pages and walks.

use petstore_domain::{Pet, PetId, PetPage, PetQuery};

use crate::{
    calls::{add_at_once, add_many, join, rows_of, walk},
    content::require_held,
    failure::{PromiseResult, ensure_eq, ensure_eq_lists},
    fixture::Fixture,
    harness::Store,
    samples::{STATUSES, query},
};

/// Two full pages of the largest size, and five animals more.
const ANIMALS: usize = 205;

/// Contract: a page has the matching animals, ascending by identifier, at most `query.limit`. The page also says
/// whether another matching animal follows.
pub(super) async fn a_page_is_the_query_s_and_says_whether_more_follow(
    store: Store,
) -> PromiseResult {
    let pets = add_many(&store, ANIMALS).await?;
    for limit in [1, 2, 20, 99, 100] {
        let near_the_end =
            [0, 1, 2, 4, 5].map(|more| ANIMALS.checked_sub(usize::from(limit) + more));
        let starts = [0, 99, ANIMALS - 2, ANIMALS - 1].into_iter();
        let starts = starts.chain(near_the_end.into_iter().flatten());
        let afters = starts.map(|index| Some(pets[index].id));
        let last = pets[ANIMALS - 1].id.0;
        let edges = [i64::MIN, last + 1, i64::MAX].map(|id| Some(PetId(id)));
        for after in afters.chain(edges).chain([None]) {
            for status in STATUSES {
                let query = query(limit, status, after);
                let (actual, expected) =
                    (store.pets.list(query).await?.value, selected(&pets, &query));
                let what = format!("limit {limit} after {after:?} of status {status:?}");
                ensure_eq_lists(&what, &ids(&actual.pets), &ids(&expected.pets))?;
                ensure_eq(format!("more, {what}"), &actual.more, &expected.more)?;
            }
        }
    }
    Ok(())
}

/// Returns the page that `query` selects from all animals.
fn selected(pets: &[Pet], query: &PetQuery) -> PetPage {
    let mut matching = pets.iter().filter(|pet| {
        Some(pet.id) > query.after && (query.status.is_none() || pet.status == query.status)
    });
    let pets = matching.by_ref().take(query.limit.get().into()).cloned().collect();
    PetPage { pets, more: matching.next().is_some() }
}

fn ids<'a>(pets: impl IntoIterator<Item = &'a Pet>) -> Vec<i64> {
    pets.into_iter().map(|pet| pet.id.0).collect()
}

/// Contract: a walk yields every animal that existed when it began exactly once.
pub(super) async fn a_walk_meets_what_was_there_exactly_once(fixture: Fixture) -> PromiseResult {
    let there = add_many(fixture.store(), 60).await?;
    let writers = add_at_once(&fixture, 8, 60, 0);
    for (number, limit) in [1, 7, 100].into_iter().enumerate() {
        let walked = walk(fixture.handle(number), limit, None).await?;
        let old = walked.iter().filter(|pet| pet.id <= there[59].id);
        let what = format!("the older animals in a walk by {limit}");
        ensure_eq_lists(what, &ids(old), &ids(&there))?;
    }
    let mut expected = [there, join(writers).await?.concat()].concat();
    expected.sort_by_key(|pet| pet.id);
    require_held(&fixture, &rows_of(expected)).await
}
