//! Flaws that show when a store is opened again.

use crate::{
    faults::{Content, Faults},
    flaw::Flaw,
};

pub(crate) fn losing(change: fn(&mut Content)) -> Faults {
    Faults { reopened: Some(change), ..Faults::default() }
}

pub(crate) const FLAWS: &[Flaw] = &[
    Flaw::new(
        "an animal is lost by reopening",
        &[
            "identifiers_go_on_growing_after_reopening",
            "reopening_keeps_every_animal",
            "reopening_keeps_every_record",
        ],
        |_| {
            losing(|Content { pets, records, .. }| {
                let lost = pets.pop();
                records.retain(|record| Some(record.pet) != lost.as_ref().map(|pet| pet.id));
            })
        },
    ),
    Flaw::new("records are lost by reopening", &["reopening_keeps_every_record"], |_| {
        losing(|content| content.records.clear())
    }),
    Flaw::new("a key is lost by reopening", &["reopening_keeps_every_key"], |_| {
        losing(|content| drop(content.keys.pop()))
    }),
    Flaw::new("a revocation is lost by reopening", &["reopening_keeps_every_key"], |_| {
        losing(|content| content.keys.iter_mut().for_each(|key| key.revoked_at = None))
    }),
];
