//! Flaws of listing animals.

use std::sync::{Arc, atomic::Ordering};

use petstore_domain::{CategoryId, NewPet, PageLimit, PetId, PetName, PetPage, PetQuery};

use crate::{faults::Faults, flaw::Flaw};

fn rex() -> NewPet {
    NewPet { name: PetName::parse("Rex").unwrap(), category_id: CategoryId(1), status: None }
}

pub(crate) const FLAWS: &[Flaw] = &[
    Flaw::new(
        "an empty page shows an animal that does not exist",
        &["a_fresh_store_is_empty", "a_page_is_the_query_s_and_says_whether_more_follow"],
        |_| {
            Faults::change_page(|_, PetPage { pets, .. }| {
                if pets.is_empty() {
                    pets.push(rex().with_id(PetId(1)));
                }
            })
        },
    ),
    Flaw::new(
        "a page is in descending order",
        &[
            "a_page_is_the_query_s_and_says_whether_more_follow",
            "a_walk_meets_what_was_there_exactly_once",
            "reopening_keeps_what_was_acknowledged",
        ],
        |_| Faults::change_page(|_, page| page.pets.reverse()),
    ),
    Flaw::new(
        "every second page is rotated by half",
        &[
            "a_page_is_the_query_s_and_says_whether_more_follow",
            "a_write_shows_everywhere_and_changes_nothing_else",
            "a_walk_meets_what_was_there_exactly_once",
        ],
        |notes| {
            let notes = Arc::clone(notes);
            Faults::change_page(move |_, page| {
                if notes.flag.fetch_not(Ordering::Relaxed) {
                    let middle = page.pets.len() / 2;
                    page.pets.rotate_left(middle);
                }
            })
        },
    ),
    Flaw::new(
        "`more` is always false",
        &[
            "a_walk_meets_what_was_there_exactly_once",
            "a_page_is_the_query_s_and_says_whether_more_follow",
        ],
        |_| Faults::change_page(|_, page| page.more = false),
    ),
    Flaw::new(
        "`more` is true for every full page",
        &["a_page_is_the_query_s_and_says_whether_more_follow"],
        |_| {
            Faults::change_page(|query, page| {
                page.more = page.pets.len() == usize::from(query.limit.get());
            })
        },
    ),
    Flaw::new(
        "`more` is true for every page with a filter",
        &["a_page_is_the_query_s_and_says_whether_more_follow"],
        |_| Faults::change_page(|query, page| page.more |= query.status.is_some()),
    ),
    Flaw::new(
        "a page of two animals or more lacks its last one",
        &["a_page_is_the_query_s_and_says_whether_more_follow"],
        |_| {
            Faults::change_page(|_, page| {
                page.more |= page.pets.len() > 1 && page.pets.pop().is_some();
            })
        },
    ),
    Flaw::new(
        "a page has one animal more than its limit",
        &["a_page_is_the_query_s_and_says_whether_more_follow"],
        |_| {
            Faults::change_query(|query| {
                let limit = PageLimit::new((query.limit.get() + 1).min(100)).unwrap();
                PetQuery { limit, ..query }
            })
        },
    ),
    Flaw::new(
        "the filter is ignored",
        &[
            "a_write_shows_everywhere_and_changes_nothing_else",
            "a_page_is_the_query_s_and_says_whether_more_follow",
            "random_commands_do_as_the_model_does",
        ],
        |_| Faults::change_query(|query| PetQuery { status: None, ..query }),
    ),
    Flaw::new(
        "a page begins with the last animal of the previous page",
        &[
            "a_page_is_the_query_s_and_says_whether_more_follow",
            "a_walk_meets_what_was_there_exactly_once",
        ],
        |_| {
            Faults::change_query(|query| {
                let after = query.after.map(|id| PetId(id.0.saturating_sub(1)));
                PetQuery { after, ..query }
            })
        },
    ),
];
