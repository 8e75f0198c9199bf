//! Entity tags: asking only for what has changed.

use crate::support::{
    catalogue::{add, id_of, pet, pet_with_status},
    client::Client,
    server::{Launch, Server},
    store::{Kind, Store, on_stores},
};

on_stores! {
    every:
    the_same_state_has_the_same_tag_and_an_addition_changes_it,
}

on_stores! {
    lasting:
    a_tag_outlives_a_restart_as_nothing_has_changed,
}

#[track_caller]
fn tag(client: &Client, target: &str) -> String {
    client.get(target).send().is(200).must("etag").to_owned()
}

fn the_same_state_has_the_same_tag_and_an_addition_changes_it(kind: Kind) {
    let store = Store::new(kind);
    let server = Launch::on(&store).start();
    let client = server.client();
    add(&client, &pet("first"));
    for target in ["/v1/pets", "/v1/pets?limit=100"] {
        let before = tag(&client, target);
        assert_eq!(tag(&client, target), before);
        assert_eq!(tag(&server.http2(), target), before);
        assert_eq!(client.head(target).send().must("etag"), before);

        add(&client, &pet("another"));
        let after = client.get(target).header("if-none-match", &before).send().is(200);
        assert_ne!(after.must("etag"), before);
    }
}

#[test]
fn a_tag_belongs_to_one_representation() {
    let (_store, server) = Server::in_memory();
    let client = server.client();
    for n in 0..3 {
        add(&client, &pet_with_status(&format!("n{n}"), "sold"));
    }
    let one = tag(&client, "/v1/pets?limit=1");
    for target in ["/v1/pets?limit=2", "/v1/pets/1"] {
        let other = client.get(target).send().is(200);
        let same = other.text() == client.get("/v1/pets?limit=1").send().text();
        assert!(same || other.must("etag") != one, "{target}");
    }
}

#[test]
fn a_known_tag_is_answered_without_a_body() {
    let store = Store::memory();
    let server = Launch::on(&store).start();
    let client = server.client();
    let id = id_of(&add(&client, &pet("known")));
    for target in ["/v1/pets".to_owned(), format!("/v1/pets/{id}")] {
        let tag = tag(&client, &target);
        for known in [
            tag.clone(),
            tag.strip_prefix("W/").unwrap().to_owned(),
            format!("\"other\", {tag}"),
            format!("\"other\",{tag} , \"x,y\""),
            "*".to_owned(),
        ] {
            for call in [client.get(&target), client.head(&target)] {
                let answer = call.header("if-none-match", &known).send();
                assert_eq!(answer.status, 304, "{known}: {answer:?}");
                assert_eq!(answer.must("etag"), tag);
            }
        }
        let lines = client.get(&target).header("if-none-match", "\"other\"");
        lines.header("if-none-match", &tag).send().is(304);
    }
}

#[test]
fn an_unknown_tag_gets_the_whole_answer() {
    let (_store, server) = Server::in_memory();
    let client = server.client();
    let id = id_of(&add(&client, &pet("unknown")));
    for target in ["/v1/pets".to_owned(), format!("/v1/pets/{id}")] {
        let tag = tag(&client, &target);
        let opaque = tag.trim_matches('"');
        for unknown in ["\"other\"", "\"\"", "", "nonsense", opaque, &format!("\"{opaque}x\"")] {
            let answer = client.get(&target).header("if-none-match", unknown).send();
            assert_eq!(answer.status, 200, "{unknown}: {answer:?}");
            assert!(!answer.body.is_empty());
        }
    }
}

#[test]
fn a_forged_tag_matches_no_animal_that_does_not_exist() {
    let (_store, server) = Server::in_memory();
    let client = server.client();
    let id = id_of(&add(&client, &pet("only")));
    let tag = tag(&client, &format!("/v1/pets/{id}"));
    let forged = tag.replace(&format!(".{id}\""), &format!(".{}\"", id + 1));
    assert_ne!(forged, tag);
    let absent = client.get(&format!("/v1/pets/{}", id + 1));
    absent.header("if-none-match", &forged).send().refuses(404, "pet_not_found");
}

fn a_tag_outlives_a_restart_as_nothing_has_changed(kind: Kind) {
    let (store, server) = Server::start(kind);
    let id = id_of(&add(&server.client(), &pet("lasting")));
    let targets = ["/v1/pets".to_owned(), format!("/v1/pets/{id}")];
    let tags = targets.each_ref().map(|target| tag(&server.client(), target));
    server.stop();

    let server = Launch::on(&store).start();
    for (target, tag) in targets.iter().zip(&tags) {
        server.client().get(target).header("if-none-match", tag).send().is(304);
    }
    add(&server.client(), &pet("newer"));
    server.client().get(&targets[0]).header("if-none-match", &tags[0]).send().is(200);
}

#[test]
fn there_is_nothing_to_match_on_an_error() {
    let (_store, server) = Server::in_memory();
    let client = server.client();
    for (target, status, code) in [
        ("/v1/pets/0", 404, "pet_not_found"),
        ("/v1/pets/abc", 404, "pet_not_found"),
        ("/v1/pets?limit=0", 400, "invalid_query"),
        ("/v1/nope", 404, "route_not_found"),
    ] {
        let refusal = client.get(target).header("if-none-match", "*").send();
        assert_eq!(refusal.header("etag"), None, "{refusal:?}");
        refusal.refuses(status, code);
        client.get(target).header("if-none-match", "*").anonymous().send().is(401);
    }
}
