//! What is there before a move.

use crate::{
    moving::{animals::many, commands::feed},
    support::{additions::Addition, catalogue::everything, server::Launch, store::Store},
};

/// Makes a store with so many animals, which count as acknowledged.
pub(crate) fn populate(store: &Store, count: usize) -> Vec<Addition> {
    feed(&["import", "--create", "--store", &store.url], &many(count)).succeeds();
    let server = Launch::on(store).start();
    let there = everything(&server.client()).into_iter().map(|pet| {
        let mut sent = pet.clone();
        sent.as_object_mut().unwrap().remove("id");
        Addition { pet: sent, key: None, api_key: None, acknowledged: Some(pet) }
    });
    there.collect()
}
