//! Flaws of adding and finding an animal.

use std::sync::{Arc, atomic::Ordering};

use petstore_domain::{Added, CategoryId, NewPet, PetId, PetName, PetRepository, PetStatus};

use crate::{faults::Faults, flaw::Flaw};

fn renamed(pet: &NewPet, name: &str) -> NewPet {
    NewPet { name: PetName::parse(name).unwrap(), ..pet.clone() }
}

/// Every thirteenth animal is acknowledged and never seen again.
fn is_lost(id: PetId) -> bool {
    id.0 % 13 == 0
}

pub(crate) const FLAWS: &[Flaw] = &[
    Flaw::new("a name is trimmed", &["a_name_comes_back_as_it_was_given"], |_| {
        Faults::change_pet(|pet| renamed(&pet, pet.name.as_str().trim()))
    }),
    Flaw::new("a name is cut to 255 bytes", &["a_name_comes_back_as_it_was_given"], |_| {
        Faults::change_pet(|pet| {
            let name = pet.name.as_str();
            renamed(&pet, &name[..name.floor_char_boundary(255)])
        })
    }),
    Flaw::new(
        "a status is made up",
        &[
            "a_status_comes_back_and_none_is_made_up",
            "ten_thousand_animals_walk_out_as_they_went_in",
        ],
        |_| {
            Faults::change_pet(|pet| NewPet {
                status: pet.status.or(Some(PetStatus::Available)),
                ..pet
            })
        },
    ),
    Flaw::new("a category is cut to 32 bits", &["a_category_comes_back_as_it_was_given"], |_| {
        Faults::change_pet(|pet| {
            let category = pet.category_id.0.clamp(i32::MIN.into(), i32::MAX.into());
            NewPet { category_id: CategoryId(category), ..pet }
        })
    }),
    Flaw::new(
        "every seventh animal is acknowledged under the identifier of the one before",
        &[
            "every_later_read_sees_an_acknowledged_animal",
            "identifiers_go_on_above_those_of_a_batch",
            "identifiers_go_on_growing_after_reopening",
            "identifiers_grow_and_none_is_assigned_twice",
            "reopening_keeps_every_animal",
            "ten_thousand_animals_walk_out_as_they_went_in",
        ],
        |notes| {
            let notes = Arc::clone(notes);
            Faults::default().add(move |store, (pet, request)| {
                let notes = Arc::clone(&notes);
                async move {
                    let before = notes.last_id.load(Ordering::Relaxed);
                    if request.is_none() && before % 7 == 6 {
                        notes.last_id.fetch_add(1, Ordering::Relaxed);
                        return Ok(Added::Created(pet.with_id(PetId(before))));
                    }
                    let added = PetRepository::add(&*store, pet, request).await;
                    if let Ok(Added::Created(pet)) = &added {
                        notes.last_id.store(pet.id.0, Ordering::Relaxed);
                    }
                    added
                }
            })
        },
    ),
    Flaw::new(
        "every thirteenth animal is lost",
        &[
            "a_dropped_addition_happens_whole_or_not_at_all",
            "a_page_has_its_limit_in_ascending_order",
            "another_handle_sees_what_was_acknowledged",
            "every_later_read_sees_an_acknowledged_animal",
            "a_write_shows_in_every_list_and_changes_nothing_else",
            "ten_thousand_animals_walk_out_as_they_went_in",
        ],
        |_| {
            Faults::change_page(|_, page| page.pets.retain(|pet| !is_lost(pet.id))).find(
                |store, id| async move {
                    if is_lost(id) { Ok(None) } else { store.find(id).await }
                },
            )
        },
    ),
    Flaw::new(
        "finding an animal that is not there panics",
        &["an_identifier_never_assigned_names_no_animal"],
        |_| {
            Faults::default().find(|store, id| async move {
                let found = store.find(id).await?;
                assert!(found.is_some(), "no animal {id}");
                Ok(found)
            })
        },
    ),
];
