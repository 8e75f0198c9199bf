//! Flaws of adding and finding an animal.

use std::{sync::atomic::Ordering, thread, time::Duration};

use petstore_domain::{
    Archive as _, CategoryId, PetId, PetName, PetRepository as _, Rows, StoreError, WriterRole,
};

use crate::{
    faults::{Answer, Faults, refuse_equal_names},
    flaw::Flaw,
    names::{DELETED, DROPPED, EVERYWHERE, GIVEN, LATER, PAGE, REFUSED, WAITS, WALK},
};

type Rename = fn(&str) -> String;

/// Changes of names by a store.
const RENAMED: [(&str, Rename); 8] = [
    ("trimmed of ASCII white space", |name| name.trim_ascii().to_owned()),
    ("trimmed of other white space", |name| name.trim_matches('\u{3000}').to_owned()),
    ("cut to 255 bytes", |name| name[..name.floor_char_boundary(255)].to_owned()),
    ("cut to 765 bytes", |name| name[..name.floor_char_boundary(765)].to_owned()),
    ("composed", |name| name.replace("e\u{301}", "é")),
    ("stored without a byte order mark", |name| name.replace('\u{feff}', "")),
    ("stored without noncharacters", |name| name.replace('\u{ffff}', "\u{fffd}")),
    ("stored without invisible joiners", |name| name.replace('\u{200d}', "")),
];

/// Returns a flaw for each change of names.
pub(crate) fn flaws() -> Vec<Flaw> {
    let made = |(what, change): (&str, Rename)| {
        Flaw::made(format!("names are {what}"), &[GIVEN], move |it| {
            it.add.edit_input(move |(pet, _)| {
                pet.name = PetName::parse(change(pet.name.as_str())).unwrap();
            });
        })
    };
    RENAMED.map(made).into()
}

/// Returns `true` for every thirteenth animal, which is acknowledged and then lost.
fn is_lost(id: PetId) -> bool {
    id.0 % 13 == 0
}

/// Refuses a second animal with the same name. `refused` makes the error. The next addition fails too.
fn refuse(it: &mut Faults, refused: fn(StoreError) -> StoreError) {
    it.add.replace(move |store, (pet, request)| async move {
        if store.own.flag.swap(false, Ordering::Relaxed) {
            return Err(StoreError::unavailable("another was refused").into());
        }
        if let Err(error) = refuse_equal_names(&store, &pet).await {
            store.own.flag.store(true, Ordering::Relaxed);
            return Err(refused(error).into());
        }
        store.add(pet, request).await
    });
}

/// Refuses a second animal with the same name, but stores the record of its request.
fn record_refused(it: &mut Faults) {
    it.add.replace(move |store, (pet, request)| async move {
        let records = store.snapshot().await?.records(None, u32::MAX).await?;
        let is_known = request.is_some_and(|it| records.iter().any(|record| record.id == it.id));
        let end = refuse_equal_names(&store, &pet).await;
        let Some(error) = end.err().filter(|_| !is_known) else {
            return store.add(pet, request).await;
        };
        let record = request.map(|request| request.into_record(PetId(5_000_000)));
        let rows = Rows { records: record.into_iter().collect(), ..Rows::default() };
        let _ = store.write_rows(WriterRole::Service, rows).await;
        Err(error.into())
    });
}

pub(crate) const FLAWS: &[Flaw] = &[
    Flaw::new("a category is limited to 32 bits", &[GIVEN], |it| {
        it.add.edit_input(|(pet, _)| {
            let category = pet.category_id.0.clamp(i32::MIN.into(), i32::MAX.into());
            pet.category_id = CategoryId(category);
        });
    }),
    Flaw::new("a category is kept as a float, which cannot hold 2^53 + 1", &[GIVEN], |it| {
        it.add.edit_input(|(pet, _)| {
            pet.category_id.0 -= i64::from(pet.category_id.0 == (1 << 53) + 1);
        });
    }),
    Flaw::new("an animal is found by its negative identifier", &[GIVEN], |it| {
        it.find.edit_input(|id| id.0 = id.0.saturating_abs());
    }),
    Flaw::new("every thirteenth animal is lost", &[DROPPED, PAGE, EVERYWHERE, LATER, WALK], |it| {
        it.list.edit_output(|_, _, list| list.value.pets.retain(|pet| !is_lost(pet.id)));
        it.find.edit_output(|_, id, found| _ = found.value.take_if(|_| is_lost(*id)));
    }),
    Flaw::new("finding a missing animal panics", &[GIVEN, DELETED], |it| {
        it.find.edit_output(|_, id, found| assert!(found.value.is_some(), "no animal {id}"));
    }),
    Flaw::new("an addition blocks its thread", &[WAITS], |it| {
        it.add.replace(|store, (pet, request)| async move {
            thread::sleep(Duration::from_millis(150));
            store.add(pet, request).await
        });
    }),
    Flaw::new("an addition that has to wait blocks its thread", &[WAITS], |it| {
        it.answer = Box::new(|store, _, _| {
            if store.is_cut_off() {
                thread::sleep(Duration::from_millis(400));
                return Answer::Unavailable;
            }
            Answer::AsUsual
        });
    }),
    Flaw::new("a refused row fails the next addition", &[REFUSED], |it| refuse(it, |error| error)),
    Flaw::new("a refused row is reported as unavailable", &[REFUSED], |it| {
        refuse(it, StoreError::unavailable);
    }),
    Flaw::new("a refusal gives no reason", &[REFUSED], |it| {
        it.add.replace(|store, (pet, request)| async move {
            let refused = refuse_equal_names(&store, &pet).await;
            refused.map_err(|_| StoreError::refused(""))?;
            store.add(pet, request).await
        });
    }),
    Flaw::new("a refused animal is stored", &[REFUSED], |it| {
        it.add.replace(|store, (pet, request)| async move {
            let refused = refuse_equal_names(&store, &pet).await;
            let added = store.add(pet, request.filter(|_| refused.is_ok())).await?;
            refused.map(|()| added).map_err(Into::into)
        });
    }),
    Flaw::new("the record of a refused addition is stored", &[REFUSED], record_refused),
];
