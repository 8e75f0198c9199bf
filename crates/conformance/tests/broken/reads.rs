//! Flaws of reading.

use async_trait::async_trait;
use petstore_domain::{
    PageLimit, Pet, PetId, PetPage, PetQuery, PetRepository, StoreError, Versioned,
};
use petstore_memory::MemoryStore;

use crate::{flawed::Flaw, is_caught_by};

type Page = Result<Versioned<PetPage>, StoreError>;

async fn honest(store: &MemoryStore, query: PetQuery) -> Page {
    PetRepository::list(store, query).await
}

/// Makes an adapter that answers a list by this function, and the test that it is caught.
macro_rules! wrong_list {
    ($test:ident, $flaw:ident, $list:expr, $due:expr) => {
        #[derive(Clone)]
        struct $flaw;

        #[async_trait]
        impl Flaw for $flaw {
            async fn list(&self, store: &MemoryStore, query: PetQuery) -> Page {
                let answer: fn(PetQuery, PetPage) -> PetPage = $list;
                let honest = honest(store, query).await?;
                let value = answer(query, honest.value);
                Ok(Versioned { value, ..honest })
            }
        }

        #[tokio::test(flavor = "multi_thread")]
        async fn $test() {
            is_caught_by($flaw, $due).await;
        }
    };
}

wrong_list!(
    a_page_in_descending_order_is_caught,
    Descending,
    |_, mut page| {
        page.pets.reverse();
        page
    },
    [
        "a_category_comes_back_as_it_was_given",
        "a_dropped_addition_happens_whole_or_not_at_all",
        "a_filter_lets_its_status_through_alone",
        "a_name_comes_back_as_it_was_given",
        "a_page_has_its_limit_in_ascending_order",
        "a_repeat_gets_the_first_animal_and_adds_nothing",
        "a_restore_brings_back_every_field",
        "a_snapshot_does_not_see_later_writes",
        "a_status_comes_back_and_none_is_made_up",
        "a_walk_meets_what_was_there_exactly_once",
        "an_expired_record_gives_way_to_a_new_one",
        "another_handle_sees_what_was_acknowledged",
        "every_later_read_sees_an_acknowledged_animal",
        "forgetting_keeps_to_its_bound_and_its_moment",
        "identifiers_go_on_growing_after_reopening",
        "new_pets_get_identifiers_in_their_order",
        "reopening_keeps_every_animal",
        "ten_thousand_animals_walk_out_as_they_went_in",
        "the_same_key_of_another_caller_is_another_key"
    ]
);

wrong_list!(
    more_that_is_always_false_is_caught,
    NeverMore,
    |_, page| PetPage { more: false, ..page },
    [
        "a_walk_meets_what_was_there_exactly_once",
        "more_is_true_exactly_if_another_follows",
        "ten_thousand_animals_walk_out_as_they_went_in"
    ]
);

wrong_list!(
    more_that_is_true_for_every_full_page_is_caught,
    FullMeansMore,
    |query, page| PetPage { more: page.pets.len() == usize::from(query.limit.get()), ..page },
    ["more_is_true_exactly_if_another_follows"]
);

wrong_list!(
    a_page_one_short_is_caught,
    OneShort,
    |_, mut page| {
        page.more |= page.pets.len() > 1 && page.pets.pop().is_some();
        page
    },
    [
        "a_filter_lets_its_status_through_alone",
        "a_page_has_its_limit_in_ascending_order",
        "a_page_past_the_end_is_empty",
        "more_is_true_exactly_if_another_follows"
    ]
);

/// Turns every second page around its middle.
#[derive(Clone, Default)]
struct Unstable(std::sync::Arc<std::sync::atomic::AtomicBool>);

#[async_trait]
impl Flaw for Unstable {
    async fn list(&self, store: &MemoryStore, query: PetQuery) -> Page {
        let mut page = honest(store, query).await?;
        if self.0.fetch_not(std::sync::atomic::Ordering::Relaxed) {
            let middle = page.value.pets.len() / 2;
            page.value.pets.rotate_left(middle);
        }
        Ok(page)
    }

    fn fresh(&self) -> Self {
        Self::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unstable_order_is_caught() {
    is_caught_by(
        Unstable::default(),
        [
            "a_category_comes_back_as_it_was_given",
            "a_filter_lets_its_status_through_alone",
            "a_name_comes_back_as_it_was_given",
            "a_page_has_its_limit_in_ascending_order",
            "a_restore_brings_back_every_field",
            "a_status_comes_back_and_none_is_made_up",
            "another_handle_sees_what_was_acknowledged",
            "new_pets_get_identifiers_in_their_order",
            "reopening_keeps_every_animal",
            "ten_thousand_animals_walk_out_as_they_went_in",
        ],
    )
    .await;
}

/// Gives one animal more than was asked for.
#[derive(Clone)]
struct LimitOffByOne;

#[async_trait]
impl Flaw for LimitOffByOne {
    async fn list(&self, store: &MemoryStore, query: PetQuery) -> Page {
        let larger = (query.limit.get() + 1).min(100);
        let limit = PageLimit::parse(&larger.to_string()).unwrap();
        honest(store, PetQuery { limit, ..query }).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_off_by_one_is_caught() {
    is_caught_by(
        LimitOffByOne,
        ["a_page_has_its_limit_in_ascending_order", "more_is_true_exactly_if_another_follows"],
    )
    .await;
}

#[derive(Clone)]
struct FilterIgnored;

#[async_trait]
impl Flaw for FilterIgnored {
    async fn list(&self, store: &MemoryStore, query: PetQuery) -> Page {
        honest(store, PetQuery { status: None, ..query }).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ignored_filter_is_caught() {
    is_caught_by(
        FilterIgnored,
        [
            "a_filter_lets_its_status_through_alone",
            "more_is_true_exactly_if_another_follows",
            "random_commands_do_as_the_model_does",
        ],
    )
    .await;
}

/// Begins a page with the animal that the page before ended with.
#[derive(Clone)]
struct AfterIncluded;

#[async_trait]
impl Flaw for AfterIncluded {
    async fn list(&self, store: &MemoryStore, query: PetQuery) -> Page {
        let after = query.after.map(|id| PetId(id.0.saturating_sub(1)));
        honest(store, PetQuery { after, ..query }).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_repeats_the_last_animal_is_caught() {
    is_caught_by(
        AfterIncluded,
        [
            "a_filter_lets_its_status_through_alone",
            "a_page_has_its_limit_in_ascending_order",
            "a_page_past_the_end_is_empty",
            "a_walk_meets_what_was_there_exactly_once",
            "another_handle_sees_what_was_acknowledged",
            "every_later_read_sees_an_acknowledged_animal",
            "more_is_true_exactly_if_another_follows",
            "ten_thousand_animals_walk_out_as_they_went_in",
        ],
    )
    .await;
}

/// Takes it for a fault of its own that an animal is not there.
#[derive(Clone)]
struct PanicsWithoutAnimal;

#[async_trait]
impl Flaw for PanicsWithoutAnimal {
    async fn find(
        &self,
        store: &MemoryStore,
        id: PetId,
    ) -> Result<Option<Versioned<Pet>>, StoreError> {
        let found = store.find(id).await?;
        assert!(found.is_some(), "no animal {id}");
        Ok(found)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_where_none_should_be_is_caught() {
    is_caught_by(PanicsWithoutAnimal, ["an_identifier_never_assigned_names_no_animal"]).await;
}
