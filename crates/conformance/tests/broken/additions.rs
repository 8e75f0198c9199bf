//! Flaws of adding an animal.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use async_trait::async_trait;
use petstore_domain::{
    AddError, Added, CategoryId, IdempotencyRequest, NewPet, Pet, PetId, PetName, PetPage,
    PetQuery, PetRepository, PetStatus, StoreError, Versioned,
};
use petstore_memory::MemoryStore;

use crate::{flawed::Flaw, is_caught_by};

type Outcome = Result<Added, AddError>;
type Attempt = Option<IdempotencyRequest>;

async fn honest(store: &MemoryStore, pet: NewPet, attempt: Attempt) -> Outcome {
    PetRepository::add(store, pet, attempt).await
}

/// Makes an adapter that stores what this function makes of an animal, and the test that it is
/// caught.
macro_rules! changed_animal {
    ($test:ident, $flaw:ident, $change:expr, $due:expr) => {
        #[derive(Clone)]
        struct $flaw;

        #[async_trait]
        impl Flaw for $flaw {
            async fn add(&self, store: &MemoryStore, pet: NewPet, attempt: Attempt) -> Outcome {
                let change: fn(NewPet) -> NewPet = $change;
                honest(store, change(pet), attempt).await
            }
        }

        #[tokio::test(flavor = "multi_thread")]
        async fn $test() {
            is_caught_by($flaw, $due).await;
        }
    };
}

fn renamed(pet: &NewPet, name: &str) -> NewPet {
    NewPet { name: PetName::parse(name).unwrap(), ..pet.clone() }
}

changed_animal!(
    a_trimmed_name_is_caught,
    Trimmed,
    |pet| renamed(&pet, pet.name.as_str().trim()),
    ["a_name_comes_back_as_it_was_given"]
);

changed_animal!(
    a_name_cut_to_255_bytes_is_caught,
    Cut,
    |pet| {
        let name = pet.name.as_str();
        renamed(&pet, &name[..name.floor_char_boundary(255)])
    },
    ["a_name_comes_back_as_it_was_given"]
);

changed_animal!(
    a_status_that_is_made_up_is_caught,
    MadeUp,
    |pet| NewPet { status: pet.status.or(Some(PetStatus::Available)), ..pet },
    [
        "a_dropped_addition_happens_whole_or_not_at_all",
        "a_filter_lets_its_status_through_alone",
        "a_status_comes_back_and_none_is_made_up",
        "more_is_true_exactly_if_another_follows",
        "ten_thousand_animals_walk_out_as_they_went_in"
    ]
);

changed_animal!(
    a_category_cut_to_32_bits_is_caught,
    Narrow,
    |pet| {
        let category = pet.category_id.0.clamp(i32::MIN.into(), i32::MAX.into());
        NewPet { category_id: CategoryId(category), ..pet }
    },
    ["a_category_comes_back_as_it_was_given"]
);

/// Acknowledges every seventh animal under the identifier of the one before.
#[derive(Clone, Default)]
struct Reuses(Arc<AtomicI64>);

#[async_trait]
impl Flaw for Reuses {
    async fn add(&self, store: &MemoryStore, pet: NewPet, attempt: Attempt) -> Outcome {
        let before = self.0.load(Ordering::Relaxed);
        if attempt.is_none() && before % 7 == 6 {
            self.0.fetch_add(1, Ordering::Relaxed);
            return Ok(Added::Created(pet.with_id(PetId(before))));
        }
        let added = honest(store, pet, attempt).await;
        if let Ok(Added::Created(pet)) = &added {
            self.0.store(pet.id.0, Ordering::Relaxed);
        }
        added
    }

    fn fresh(&self) -> Self {
        Self::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reused_identifier_is_caught() {
    is_caught_by(
        Reuses::default(),
        [
            "a_category_comes_back_as_it_was_given",
            "a_filter_lets_its_status_through_alone",
            "a_key_that_is_there_already_is_joined",
            "a_mark_never_comes_back",
            "a_name_comes_back_as_it_was_given",
            "a_newer_record_replaces_the_one_there",
            "a_page_has_its_limit_in_ascending_order",
            "a_restore_brings_back_every_field",
            "a_restore_left_without_commit_leaves_nothing",
            "a_restore_may_be_repeated",
            "a_restore_names_what_is_in_its_way",
            "a_snapshot_does_not_see_later_writes",
            "a_snapshot_holds_all_in_ordered_batches",
            "another_handle_sees_what_was_acknowledged",
            "every_addition_changes_the_mark",
            "every_later_read_sees_an_acknowledged_animal",
            "identifiers_go_on_above_those_restored",
            "identifiers_go_on_growing_after_reopening",
            "identifiers_grow_and_none_is_assigned_twice",
            "more_is_true_exactly_if_another_follows",
            "no_mark_comes_back_after_reopening",
            "reopening_keeps_every_animal",
            "ten_thousand_animals_walk_out_as_they_went_in",
        ],
    )
    .await;
}

/// Acknowledges every thirteenth animal, and it is never seen again.
#[derive(Clone)]
struct Lossy;

fn is_lost(id: PetId) -> bool {
    id.0 % 13 == 0
}

#[async_trait]
impl Flaw for Lossy {
    async fn find(
        &self,
        store: &MemoryStore,
        id: PetId,
    ) -> Result<Option<Versioned<Pet>>, StoreError> {
        if is_lost(id) { Ok(None) } else { store.find(id).await }
    }

    async fn list(
        &self,
        store: &MemoryStore,
        query: PetQuery,
    ) -> Result<Versioned<PetPage>, StoreError> {
        let mut page = PetRepository::list(store, query).await?;
        page.value.pets.retain(|pet| !is_lost(pet.id));
        Ok(page)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_write_is_caught() {
    is_caught_by(
        Lossy,
        [
            "a_category_comes_back_as_it_was_given",
            "a_dropped_addition_happens_whole_or_not_at_all",
            "a_filter_lets_its_status_through_alone",
            "a_name_comes_back_as_it_was_given",
            "a_page_has_its_limit_in_ascending_order",
            "a_restore_brings_back_every_field",
            "a_snapshot_does_not_see_later_writes",
            "another_handle_sees_what_was_acknowledged",
            "every_later_read_sees_an_acknowledged_animal",
            "forgetting_keeps_to_its_bound_and_its_moment",
            "new_pets_get_identifiers_in_their_order",
            "reopening_keeps_every_animal",
            "ten_thousand_animals_walk_out_as_they_went_in",
        ],
    )
    .await;
}
