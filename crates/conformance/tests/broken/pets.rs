//! Flaws of adding and finding an animal.

use std::sync::{Arc, atomic::Ordering};

use petstore_domain::{Added, CategoryId, NewPet, PetId, PetName, PetRepository, PetStatus};

use crate::{faults::Faults, flaw::Flaw};

fn renamed(pet: &NewPet, name: &str) -> NewPet {
    NewPet { name: PetName::parse(name).unwrap(), ..pet.clone() }
}

/// Returns `true` for every thirteenth animal, which is acknowledged and then lost.
fn is_lost(id: PetId) -> bool {
    id.0 % 13 == 0
}

pub(crate) const FLAWS: &[Flaw] = &[
    Flaw::new("a name is trimmed", &["an_animal_comes_back_as_it_was_given"], |_| {
        Faults::change_pet(|pet| renamed(&pet, pet.name.as_str().trim()))
    }),
    Flaw::new("a name is cut to 255 bytes", &["an_animal_comes_back_as_it_was_given"], |_| {
        Faults::change_pet(|pet| {
            let name = pet.name.as_str();
            renamed(&pet, &name[..name.floor_char_boundary(255)])
        })
    }),
    Flaw::new(
        "a status is made up",
        &["an_animal_comes_back_as_it_was_given", "a_walk_meets_what_was_there_exactly_once"],
        |_| {
            Faults::change_pet(|pet| NewPet {
                status: pet.status.or(Some(PetStatus::Available)),
                ..pet
            })
        },
    ),
    Flaw::new(
        "a category is limited to 32 bits",
        &["an_animal_comes_back_as_it_was_given"],
        |_| {
            Faults::change_pet(|pet| {
                let category = pet.category_id.0.clamp(i32::MIN.into(), i32::MAX.into());
                NewPet { category_id: CategoryId(category), ..pet }
            })
        },
    ),
    Flaw::new(
        "every seventh animal is acknowledged with the previous identifier, and not stored",
        &[
            "a_write_shows_everywhere_and_changes_nothing_else",
            "identifiers_grow_and_none_is_assigned_twice",
            "reopening_keeps_what_was_acknowledged",
            "a_walk_meets_what_was_there_exactly_once",
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
            "a_page_is_the_query_s_and_says_whether_more_follow",
            "a_write_shows_everywhere_and_changes_nothing_else",
            "a_walk_meets_what_was_there_exactly_once",
        ],
        |_| {
            Faults::change_page(|_, page| page.pets.retain(|pet| !is_lost(pet.id))).find(
                |store, id| async move {
                    let mut found = store.find(id).await?;
                    found.value = found.value.filter(|_| !is_lost(id));
                    Ok(found)
                },
            )
        },
    ),
    Flaw::new("finding a missing animal panics", &["an_animal_comes_back_as_it_was_given"], |_| {
        Faults::default().find(|store, id| async move {
            let found = store.find(id).await?;
            assert!(found.value.is_some(), "no animal {id}");
            Ok(found)
        })
    }),
    Flaw::new(
        "an addition blocks its thread",
        &["a_write_that_waits_holds_up_no_other_task"],
        |_| {
            Faults::default().add(|store, (pet, request)| async move {
                std::thread::sleep(std::time::Duration::from_millis(150));
                PetRepository::add(&*store, pet, request).await
            })
        },
    ),
    Flaw::new(
        "an addition that has to wait blocks its thread",
        &["a_write_that_waits_holds_up_no_other_task"],
        |_| {
            Faults::default().unreachable(|_, ()| async {
                std::thread::sleep(std::time::Duration::from_millis(400));
                Err(petstore_domain::StoreError::unavailable("the lock is held"))
            })
        },
    ),
    Flaw::new(
        "a refused row fails the next addition",
        &["a_refused_row_fails_its_own_request_only"],
        |_| refusing(|error| error),
    ),
    Flaw::new(
        "a refused row is reported as unavailable",
        &["a_refused_row_fails_its_own_request_only"],
        |_| refusing(petstore_domain::StoreError::unavailable),
    ),
];

/// Refuses a second animal with the same name. `refused` makes the error. The next addition fails too.
fn refusing(
    refused: impl Fn(petstore_domain::StoreError) -> petstore_domain::StoreError
    + Clone
    + Send
    + Sync
    + 'static,
) -> Faults {
    let broken = Arc::new(std::sync::atomic::AtomicBool::new(false));
    Faults::default().add(move |store, (pet, request)| {
        let (refused, broken) = (refused.clone(), Arc::clone(&broken));
        async move {
            if broken.swap(false, Ordering::Relaxed) {
                return Err(petstore_domain::StoreError::unavailable("another was refused").into());
            }
            if let Err(error) = crate::faulty::refuse_equal_names(&store, &pet).await {
                let error = refused(error);
                broken.store(true, Ordering::Relaxed);
                return Err(error.into());
            }
            PetRepository::add(&*store, pet, request).await
        }
    })
}
