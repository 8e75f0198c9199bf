//! A copy, a move and a restore keep all animals, API keys and idempotency records. Before each, an operator has
//! deleted and changed rows by SQL or `etcdctl`.

use serde_json::Value;

use super::{
    animals::awkward,
    commands::{copy, exported, made, run, verify},
    live::commands::hand_over,
    restore::{backup, restore},
};
use crate::support::{
    answer::Answer,
    catalogue::{self, id_of, pet},
    client::Client,
    server::Launch,
    store::{Kind, Store, on_stores},
};

/// The positions in [`awkward`] of two animals without a status: the first is deleted, and the second is renamed.
const DELETED: usize = 4;
const RENAMED: usize = 8;

/// A store, and the content that its copy must have.
struct Source {
    store: Store,
    /// A live API key, and a revoked API key.
    key: String,
    revoked: String,
    /// The first answers to additions with idempotency keys.
    firsts: Vec<Answer>,
    /// The animals, as `export` writes them.
    animals: String,
    /// The highest identifier that was assigned. Its animal has since been deleted.
    highest: i64,
}

fn add(client: &Client, key: &str, number: usize, pet: &Value) -> Answer {
    client.add(pet).key(key).header("idempotency-key", format!("key-{number}")).send()
}

impl Source {
    fn new(kind: Kind) -> Self {
        let store = made(kind);
        let [key, revoked] = ["web", "old"].map(|name| store.new_key(name));
        store.keys(&["revoke", "old"]).succeeds();
        store.new_key("gone");
        let server = Launch::on(&store).start();
        let client = server.client();
        let pets = awkward();
        let added = pets.iter().enumerate().map(|(n, pet)| add(&client, &key, n, pet).is(201));
        let firsts: Vec<Answer> = added.collect();
        let highest = id_of(&catalogue::add(&client, &pet("Last")));
        server.stop();
        let [deleted, renamed] = [DELETED, RENAMED].map(|number| id_of(&firsts[number].json()));
        store.delete_pet(deleted);
        store.rename_pet(renamed, pets[RENAMED]["name"].as_str().unwrap(), "Other");
        store.delete_pet(highest);
        store.delete_key(3);
        let animals = exported(&store.url, "ndjson");
        assert_eq!(animals.lines().count(), pets.len() - 1);
        Self { store, key, revoked, firsts, animals, highest }
    }

    /// Asserts that `target` has every animal, API key and idempotency record, and never reuses an identifier.
    #[track_caller]
    fn is_equal_in(&self, target: &Store) {
        run(&["check", "--store", &target.url]).succeeds();
        assert_eq!(exported(&target.url, "ndjson"), self.animals);
        let server = Launch::on(target).start();
        let client = server.client();
        // This addition precedes the repeats below, because on PostgreSQL each repeat leaves a gap in the identifiers.
        assert_eq!(id_of(&catalogue::add(&client, &pet("Next"))), self.highest + 1);
        for (number, (first, pet)) in self.firsts.iter().zip(awkward()).enumerate() {
            let again = add(&client, &self.key, number, &pet).is(201);
            assert_eq!(again.must("idempotency-replayed"), "true");
            assert_eq!(
                (&again.body, again.must("location")),
                (&first.body, first.must("location"))
            );
        }
        add(&client, &self.key, 0, &pet("Reused")).refuses(422, "idempotency_key_reused");
        client.get("/v1/pets").key(&self.revoked).send().refuses(401, "unauthorized");
        server.stop();
        target.new_key("next");
        let keys = target.keys(&["list"]).succeeds();
        assert!(keys.lines().last().unwrap().starts_with("4 "), "{keys}");
    }
}

fn a_copy_brings_everything(kind: Kind) {
    let source = Source::new(kind);
    let (from, to) = (&source.store, Store::new(kind));
    let said = copy(&from.url, &to.url);
    let (count, records) = (source.animals.lines().count(), source.firsts.len());
    let rest = format!("2 API keys and {records} idempotency records\n");
    assert_eq!(said, format!("copied {count} animals (0 were there before), {rest}"));
    verify(&from.url, &to.url);
    let said = verify(&to.url, &from.url);
    assert_eq!(said, format!("the stores are equal: {count} animals, {rest}"));
    source.is_equal_in(&to);
    source.is_equal_in(from);
}

fn a_move_brings_everything(kinds: [Kind; 2]) {
    let source = Source::new(kinds[0]);
    let to = Store::new(kinds[1]);
    hand_over(&source.store, &to).succeeds();
    source.is_equal_in(&to);
}

fn a_restore_brings_everything(kind: Kind) {
    let source = Source::new(Kind::Sqlite);
    let (backup, to) = (backup(&source.store), Store::new(kind));
    restore(&backup, &to.url).succeeds();
    verify(&source.store.url, &to.url);
    if kind == Kind::Postgres {
        let names_no_other = "DO $$ BEGIN ASSERT (SELECT state = 'open' AND other IS NULL \
             FROM petstore_state); END $$";
        to.try_sql(names_no_other).unwrap();
    }
    source.is_equal_in(&to);
}

on_stores!(pairs: a_move_brings_everything);

on_stores!(lasting: a_copy_brings_everything, a_restore_brings_everything);
